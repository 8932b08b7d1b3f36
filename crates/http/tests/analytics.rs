//! Storage analytics as clients see it: what is asked for by service properties, and read from `$logs` and the tables of metrics.

mod client;

use client::{Answer, Client, Server, account_sas, start};
use lazuli_http::Service;

const VERSION: (&str, &str) = ("x-ms-version", "2021-12-02");
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.header("x-ms-error-code").unwrap_or_default())
}

fn asked(version: &str, read: bool, write: bool, delete: bool, metrics: bool) -> String {
    let retention = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
    let apis = if metrics { "<IncludeAPIs>true</IncludeAPIs>" } else { "" };
    let counted = format!("<Version>1.0</Version><Enabled>{metrics}</Enabled>{apis}{retention}");
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>{version}</Version><Delete>{delete}</Delete>\
         <Read>{read}</Read><Write>{write}</Write>{retention}</Logging><HourMetrics>{counted}</HourMetrics><MinuteMetrics>{counted}</MinuteMetrics>\
         </StorageServiceProperties>"
    )
}

async fn ask_for(client: &mut Client, document: &str) {
    let set = client.send("PUT", "/?restype=service&comp=properties", &[VERSION], document.as_bytes()).await;
    assert_eq!(set.status, 202, "{}", set.text());
}

/// The lines of all logs, each as its fields.
async fn logged(server: &Server, client: &mut Client) -> Vec<Vec<String>> {
    server.flush_analytics().await;
    let listed = client.send("GET", "/$logs?restype=container&comp=list", &[VERSION], b"").await.text();
    let mut lines = Vec::new();
    for part in listed.split("<Name>").skip(1) {
        let name = part.split("</Name>").next().unwrap();
        let log = client.send("GET", &format!("/$logs/{name}"), &[VERSION], b"").await.text();
        lines.extend(log.lines().map(|line| line.split(';').map(str::to_owned).collect::<Vec<_>>()));
    }
    lines
}

#[tokio::test]
async fn requests_are_logged_as_the_properties_ask() {
    let server = start();
    let mut client = Client::to(&server);
    client.send("PUT", "/box?restype=container", &[VERSION], b"").await;
    assert_eq!(client.send("GET", "/$logs?restype=container&comp=list", &[VERSION], b"").await.status, 404);
    ask_for(&mut client, &asked("1.0", true, true, false, false)).await;
    let id = ("x-ms-client-request-id", "me; \"myself\"");
    client.send("PUT", "/box/a", &[VERSION, BLOCK, id], b"hello").await;
    client.send("GET", "/box/a", &[VERSION], b"").await;
    client.send("GET", "/box/none", &[VERSION], b"").await;
    client.send("DELETE", "/box/a", &[VERSION], b"").await;
    let mut by_sas = Client::unsigned(&server);
    by_sas.send("GET", &format!("/box/none?{}", account_sas()), &[VERSION], b"").await;
    by_sas.send("GET", "/box/none", &[VERSION], b"").await;
    ask_for(&mut client, &asked("1.0", false, false, false, false)).await;
    client.send("GET", "/box/none", &[VERSION], b"").await;
    let lines = logged(&server, &mut client).await;
    let seen: Vec<_> = lines.iter().map(|line| [line[2].as_str(), &line[3], &line[4], &line[7]]).collect();
    assert_eq!(
        seen,
        [
            ["SetServiceProperties", "Success", "202", "authenticated"],
            ["PutBlob", "Success", "201", "authenticated"],
            ["GetBlob", "Success", "200", "authenticated"],
            ["GetBlob", "ClientOtherError", "404", "authenticated"],
            ["GetBlob", "SASClientOtherError", "404", "sas"],
            ["SetServiceProperties", "Success", "202", "authenticated"],
        ][1..]
    );
    let put = &lines[0];
    assert_eq!((put[0].as_str(), put[9].as_str(), put[10].as_str()), ("1.0", "devstoreaccount1", "blob"));
    assert_eq!((put[12].as_str(), put[18].as_str(), put[21].as_str()), ("\"/devstoreaccount1/box/a\"", "5", "5"));
    assert!(put[11].starts_with("\"http://127.0.0.1/devstoreaccount1/box/a"), "{put:?}");
    assert!(put.join(";").ends_with(";\"me; &quot;myself&quot;\""), "{put:?}");
    let sas = lines.iter().find(|line| line[7] == "sas").unwrap().join(";");
    assert!(sas.contains("sig=XXXXX") && !sas.contains("sig=s"), "{sas}");
}

#[tokio::test]
async fn the_second_format_has_eight_fields_more() {
    let server = start();
    let mut client = Client::to(&server);
    ask_for(&mut client, &asked("2.0", true, false, false, false)).await;
    client.send("GET", "/?comp=list", &[VERSION], b"").await;
    let lines = logged(&server, &mut client).await;
    assert_eq!((lines[0][0].as_str(), lines[0][2].as_str(), lines[0].len()), ("2.0", "ListContainers", 38));
}

#[tokio::test]
async fn only_the_service_writes_logs_and_metrics() {
    let server = start();
    let mut client = Client::to(&server);
    ask_for(&mut client, &asked("1.0", true, true, true, true)).await;
    client.send("GET", "/?comp=list", &[VERSION], b"").await;
    server.flush_analytics().await;
    let refused = (403, "InsufficientAccountPermissions");
    assert_eq!(code(&client.send("PUT", "/$logs/blob/x", &[VERSION, BLOCK], b"x").await), refused);
    assert_eq!(code(&client.send("DELETE", "/$logs?restype=container", &[VERSION], b"").await), refused);
    let made = client.send("PUT", "/$logs?restype=container", &[VERSION], b"").await;
    assert_eq!(code(&made), (409, "ContainerAlreadyExists"));
    let listed = client.send("GET", "/$logs?restype=container&comp=list", &[VERSION], b"").await.text();
    let name = listed.split("<Name>").nth(1).unwrap().split("</Name>").next().unwrap();
    assert_eq!(client.send("DELETE", &format!("/$logs/{name}"), &[VERSION], b"").await.status, 202);
    let mut tables = Client::to_service(&server, Service::Table);
    let json = [
        ("x-ms-version", "2019-02-02"),
        ("accept", "application/json;odata=nometadata"),
        ("content-type", "application/json"),
    ];
    let found = tables.send("GET", "/$MetricsHourPrimaryTransactionsBlob()", &json, b"").await;
    assert_eq!(found.status, 200, "{}", found.text());
    assert!(
        found.text().contains("\"RowKey\":\"user;All\"") && found.text().contains("\"RowKey\":\"user;ListContainers\""),
        "{}",
        found.text()
    );
    let minute = tables.send("GET", "/$MetricsMinutePrimaryTransactionsBlob()", &json, b"").await;
    assert!(minute.text().contains("\"TotalRequests\""), "{}", minute.text());
    let entity = br#"{"PartitionKey":"a","RowKey":"b"}"#;
    let insert = tables.send("POST", "/$MetricsHourPrimaryTransactionsBlob", &json, entity).await;
    assert_eq!(insert.status, 403, "{}", insert.text());
    let create = tables.send("POST", "/Tables", &json, br#"{"TableName":"$MetricsHourPrimaryTransactionsBlob"}"#).await;
    assert_eq!(create.status, 400, "{}", create.text());
    assert_eq!(tables.send("GET", "/Tables", &json, b"").await.text(), "{\"value\":[]}");
}
