//! The Table service as a client meets it: bytes in, bytes out, over a pipe, with the store on the memory engine.

mod client;

use client::{Answer, Client, start};
use lazuli_http::Service;

const VERSION: (&str, &str) = ("x-ms-version", "2019-02-02");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const BARE: (&str, &str) = ("Accept", "application/json;odata=nometadata");
const AT: &str = "/tab(PartitionKey='p',RowKey='r')";

async fn with_table() -> Client {
    let mut client = Client::to_service(&start(), Service::Table);
    let created = client.send("POST", "/Tables", &[VERSION, JSON], br#"{"TableName":"tab"}"#).await;
    assert_eq!(created.status, 201, "{}", created.text());
    client
}

fn code(answer: &Answer) -> String {
    let text = answer.text();
    let code = text.split("\"code\":\"").nth(1).or_else(|| text.split("<m:code>").nth(1)).unwrap_or_default();
    code.split(['"', '<']).next().unwrap_or_default().to_owned()
}

/// One request after the other, each with the status and code that it must get.
#[tokio::test]
async fn answers_and_refusals_in_the_order_of_a_story() {
    let mut client = with_table().await;
    let star = ("If-Match", "*");
    let stale = ("If-Match", "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"");
    let entity = r#"{"PartitionKey":"p","RowKey":"r","a":1}"#;
    type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str);
    let table: &[Row<'_>] = &[
        ("POST", "/Tables", &[JSON], r#"{"TableName":"TAB"}"#, 409, "TableAlreadyExists"),
        ("POST", "/Tables", &[JSON], r#"{"TableName":"a_b"}"#, 400, "InvalidResourceName"),
        ("POST", "/Tables", &[JSON], "{}", 400, "PropertiesNeedValue"),
        ("GET", "/Tables('none')", &[], "", 404, "ResourceNotFound"),
        ("GET", "/Tables('tab')", &[], "", 200, ""),
        ("DELETE", "/Tables('none')", &[], "", 404, "ResourceNotFound"),
        ("POST", "/none", &[JSON], entity, 404, "TableNotFound"),
        ("POST", "/tab", &[JSON], entity, 201, ""),
        ("POST", "/tab", &[JSON], entity, 409, "EntityAlreadyExists"),
        ("POST", "/tab", &[JSON], r#"{"RowKey":"r"}"#, 400, "PropertiesNeedValue"),
        ("POST", "/tab", &[JSON], "{", 400, "InvalidInput"),
        ("POST", "/tab", &[("Content-Type", "text/plain")], entity, 415, "MediaTypeNotSupported"),
        ("POST", "/tab", &[("Content-Type", "application/atom+xml")], "<entry/>", 415, "AtomFormatNotSupported"),
        ("GET", AT, &[("Accept", "application/atom+xml")], "", 415, "AtomFormatNotSupported"),
        (
            "POST",
            "/tab",
            &[("Content-Type", "application/json;odata=verbose")],
            "{}",
            415,
            "JsonVerboseFormatNotSupported",
        ),
        ("GET", AT, &[("Accept", "application/json;odata=verbose")], "", 415, "JsonVerboseFormatNotSupported"),
        ("GET", AT, &[], "", 200, ""),
        ("GET", "/tab(PartitionKey='p',RowKey='x')", &[], "", 404, "ResourceNotFound"),
        ("GET", "/tab(PartitionKey='p')", &[], "", 400, "InvalidInput"),
        ("GET", "/tab(PartitionKey='p%2Fq',RowKey='x')", &[], "", 400, "OutOfRangeInput"),
        ("PUT", AT, &[JSON, stale], r#"{"a":2}"#, 412, "UpdateConditionNotSatisfied"),
        ("PUT", AT, &[JSON, ("If-Match", "banana")], "{}", 400, "InvalidInput"),
        ("PUT", AT, &[JSON, ("If-None-Match", "*")], "{}", 400, "InvalidInput"),
        ("PUT", AT, &[JSON, star], r#"{"a":2}"#, 204, ""),
        ("PATCH", AT, &[JSON, star], r#"{"b":3}"#, 204, ""),
        ("MERGE", AT, &[JSON, star], r#"{"c":4}"#, 204, ""),
        ("POST", AT, &[JSON, star, ("X-HTTP-Method", "MERGE")], r#"{"d":5}"#, 204, ""),
        ("POST", AT, &[JSON, star, ("X-HTTP-Method", "COPY")], "{}", 400, "XMethodIncorrectValue"),
        ("PUT", AT, &[JSON, star, ("X-HTTP-Method", "MERGE")], "{}", 400, "XMethodNotUsingPost"),
        ("PATCH", "/tab(PartitionKey='p',RowKey='new')", &[JSON], r#"{"b":3}"#, 204, ""),
        ("PATCH", "/tab(PartitionKey='p',RowKey='none')", &[JSON, star], r#"{"b":3}"#, 404, "ResourceNotFound"),
        ("DELETE", AT, &[], "", 400, "MissingRequiredHeader"),
        ("DELETE", AT, &[stale], "", 412, "UpdateConditionNotSatisfied"),
        ("GET", "/tab()?$filter=a%20eq%202%20and%20d%20eq%205", &[], "", 200, ""),
        ("GET", "/tab()?$filter=a%20is%202", &[], "", 400, "InvalidInput"),
        ("GET", "/tab()?$filter=startswith(a,'x')", &[], "", 501, "NotImplemented"),
        ("GET", "/tab()?$orderby=a", &[], "", 501, "NotImplemented"),
        ("GET", "/tab()?$top=1001", &[], "", 400, "InvalidInput"),
        ("GET", "/tab()?$top=x", &[], "", 400, "InvalidInput"),
        ("GET", "/tab()?NextPartitionKey=banana", &[], "", 400, "InvalidInput"),
        ("GET", "/tab?comp=acl", &[], "", 200, ""),
        ("GET", "/none?comp=acl", &[], "", 404, "ResourceNotFound"),
        ("DELETE", AT, &[star], "", 204, ""),
        ("DELETE", "/Tables('tab')", &[], "", 204, ""),
        ("GET", AT, &[], "", 404, "TableNotFound"),
    ];
    for (method, target, headers, body, status, expected) in table {
        let headers: Vec<_> = [VERSION].iter().chain(*headers).copied().collect();
        let answer = client.send(method, target, &headers, body.as_bytes()).await;
        assert_eq!(
            (answer.status, code(&answer).as_str()),
            (*status, *expected),
            "{method} {target}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn nobody_gets_in_without_a_key() {
    let server = start();
    let mut client = Client::to_service(&server, Service::Table);
    client.send("POST", "/Tables", &[VERSION, JSON], br#"{"TableName":"tab"}"#).await;
    let mut stranger = Client::unsigned_to(&server, Service::Table);
    for (method, target) in
        [("GET", "/Tables"), ("GET", "/tab"), ("GET", AT), ("POST", "/$batch"), ("GET", "/tab?comp=acl")]
    {
        let answer = stranger.send(method, target, &[VERSION], b"").await;
        assert_eq!(
            (answer.status, answer.header("x-ms-error-code")),
            (403, Some("AuthenticationFailed")),
            "{method} {target}"
        );
    }
}

#[tokio::test]
async fn an_insert_says_as_much_as_is_wanted() {
    let mut client = with_table().await;
    let entity = br#"{"PartitionKey":"it's","RowKey":"a b","n":1.5}"#;
    let quiet = client.send("POST", "/tab", &[VERSION, JSON, ("Prefer", "return-no-content")], entity).await;
    assert_eq!(quiet.status, 204);
    let place = "http://127.0.0.1/devstoreaccount1/tab(PartitionKey='it''s',RowKey='a%20b')";
    for (name, value) in [("location", place), ("dataserviceid", place), ("preference-applied", "return-no-content")] {
        assert_eq!(quiet.header(name), Some(value));
    }
    let tag = quiet.header("etag").unwrap().to_owned();
    let got = client.send("GET", "/tab(PartitionKey='it''s',RowKey='a%20b')", &[VERSION], b"").await;
    assert_eq!(got.header("etag"), Some(tag.as_str()));
    assert_eq!(got.header("content-type"), Some("application/json;odata=minimalmetadata;streaming=true;charset=utf-8"));
    assert!(
        got.text().starts_with("{\"odata.metadata\":\"http://127.0.0.1/devstoreaccount1/$metadata#tab/@Element\""),
        "{}",
        got.text()
    );
    let bare = client.send("GET", "/tab()?$select=n,absent", &[VERSION, BARE], b"").await;
    assert_eq!(bare.text(), r#"{"value":[{"n":1.5,"absent":null}]}"#);
}

/// A change set of these requests, each with its body.
fn change_set(operations: &[(&str, &str, &str, &str)]) -> Vec<u8> {
    let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
    for (method, path, headers, entity) in operations {
        body += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
        body += &format!(
            "{method} http://127.0.0.1/devstoreaccount1{path} HTTP/1.1\r\nContent-Type: application/json\r\n{headers}\r\n{entity}\r\n"
        );
    }
    body += "--c--\r\n--b--\r\n";
    body.into_bytes()
}

async fn submit(client: &mut Client, body: &[u8]) -> Answer {
    client.send("POST", "/$batch", &[VERSION, ("Content-Type", "multipart/mixed; boundary=b")], body).await
}

fn statuses(answer: &Answer) -> Vec<u16> {
    let text = answer.text();
    text.split("HTTP/1.1 ").skip(1).map(|rest| rest[..3].parse().unwrap()).collect()
}

#[tokio::test]
async fn batches_happen_or_do_not() {
    let mut client = with_table().await;
    let row = |row: &str| format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
    let quiet = "Prefer: return-no-content\r\n";
    let both = change_set(&[
        ("POST", "/tab", "", &row("a")),
        ("POST", "/tab", quiet, &row("b")),
        ("PUT", "/tab(PartitionKey='p',RowKey='c')", "Content-ID: 7\r\n", "{}"),
    ]);
    let answer = submit(&mut client, &both).await;
    assert_eq!((answer.status, statuses(&answer)), (202, vec![201, 204, 204]), "{}", answer.text());
    assert!(answer.text().contains("Content-ID: 7\r\n"), "{}", answer.text());

    let many: Vec<String> = (0..101).map(|n| row(&format!("n{n}"))).collect();
    let many: Vec<_> = many.iter().map(|entity| ("POST", "/tab", "", entity.as_str())).collect();
    let delete = ("DELETE", "/tab(PartitionKey='p',RowKey='a')", "If-Match: *\r\n", "");
    let (a, d, e) = (row("a"), row("d"), row("e"));
    let elsewhere = r#"{"PartitionKey":"q","RowKey":"e"}"#;
    let table: [(Vec<u8>, u16, &str, &str); 9] = [
        (
            change_set(&[delete, ("POST", "/tab", "", &d), ("POST", "/tab", "", &row("b"))]),
            409,
            "EntityAlreadyExists",
            "2:",
        ),
        (change_set(&[("POST", "/tab", "", &a)]), 409, "EntityAlreadyExists", "The specified"),
        (
            change_set(&[("POST", "/tab", "", &d), ("POST", "/tab", "", elsewhere)]),
            400,
            "CommandsInBatchActOnDifferentPartitions",
            "1:",
        ),
        (change_set(&[("POST", "/tab", "", &d), ("POST", "/tab", "", &d)]), 400, "InvalidDuplicateRow", "1:"),
        (change_set(&[("POST", "/tab", "", &d), ("POST", "/tab", "", "{")]), 400, "InvalidInput", "1:"),
        (change_set(&[("POST", "/none", "", &d)]), 404, "TableNotFound", "0:"),
        (
            change_set(&[("POST", "/tab", "", &d), ("POST", "/another", "", &e)]),
            400,
            "CommandsInBatchActOnDifferentPartitions",
            "1:",
        ),
        (change_set(&many), 400, "InvalidInput", "99:"),
        (change_set(&[delete, ("GET", AT, "", "")]), 405, "MethodNotAllowed", "1:"),
    ];
    for (body, status, expected, beginning) in table {
        let answer = submit(&mut client, &body).await;
        assert_eq!((answer.status, statuses(&answer)), (202, vec![status]), "{}", answer.text());
        assert_eq!(code(&answer), expected);
        assert!(answer.text().contains(&format!("\"value\":\"{beginning}")), "{}", answer.text());
    }
    let rows = client.send("GET", "/tab()?$select=RowKey", &[VERSION, BARE], b"").await;
    assert_eq!(rows.text(), r#"{"value":[{"RowKey":"a"},{"RowKey":"b"},{"RowKey":"c"}]}"#);
}

#[tokio::test]
async fn a_batch_may_be_one_query_and_nothing_odd() {
    let mut client = with_table().await;
    client.send("POST", "/tab", &[VERSION, JSON], br#"{"PartitionKey":"p","RowKey":"r"}"#).await;
    let query = |path: &str| {
        format!(
            "--b\r\nContent-Type: application/http\r\n\r\nGET /devstoreaccount1{path} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n\r\n\r\n--b--\r\n"
        )
    };
    for (path, status) in [("/tab()?$filter=RowKey eq 'r'", 200), (AT, 200), ("/tab(PartitionKey='p',RowKey='x')", 404)]
    {
        let answer = submit(&mut client, query(path).as_bytes()).await;
        assert_eq!((answer.status, statuses(&answer)), (202, vec![status]), "{}", answer.text());
    }
    let good = change_set(&[("POST", "/tab", "", r#"{"PartitionKey":"p","RowKey":"s"}"#)]);
    let text = String::from_utf8(good.clone()).unwrap();
    let two = text.replace("--b--\r\n", "") + &text;
    for bad in [
        "",
        "--b--",
        "--b\r\n\r\n--b--",
        "nonsense",
        &text.replace("--b--", ""),
        &text.replace("--c--", "--d--"),
        &two,
        &text.replace("POST http", "POST"),
        &text.replace(" HTTP/1.1", ""),
        &text.replace("/tab HTTP", "/Tables HTTP"),
        &text.replace("application/http", "text/plain"),
        &text.replace("Content-Type: application/json", "nonsense"),
    ] {
        let answer = submit(&mut client, bad.as_bytes()).await;
        assert_eq!((answer.status, code(&answer).as_str()), (400, "InvalidInput"), "{bad}: {}", answer.text());
    }
    assert_eq!(statuses(&submit(&mut client, &good).await), [201]);
}

#[tokio::test]
async fn old_versions_speak_atom() {
    let mut client = with_table().await;
    let old = ("x-ms-version", "2014-02-14");
    let entry = r#"<entry xmlns:m="m" xmlns:d="d"><content><m:properties><d:PartitionKey>p</d:PartitionKey><d:RowKey>r</d:RowKey><d:n m:type="Edm.Int32">7</d:n></m:properties></content></entry>"#;
    let atom = ("Content-Type", "application/atom+xml");
    let inserted = client.send("POST", "/tab", &[old, atom], entry.as_bytes()).await;
    assert_eq!(inserted.status, 201, "{}", inserted.text());
    let feed = client.send("GET", "/tab()", &[old], b"").await.text();
    assert!(feed.contains("<feed") && feed.contains("<d:n m:type=\"Edm.Int32\">7</d:n>"), "{feed}");
    let refused = client.send("POST", "/tab", &[old, atom], entry.as_bytes()).await;
    assert_eq!((refused.status, code(&refused).as_str()), (409, "EntityAlreadyExists"));
    let tables = client.send("GET", "/Tables", &[old], b"").await.text();
    assert!(tables.contains("<d:TableName>tab</d:TableName>"), "{tables}");
    let json = client.send("GET", AT, &[old, BARE], b"").await.text();
    assert!(json.contains("\"n\":7"), "{json}");
}

/// H6: names that nobody has are written as null for each entity, so a page ends by what is sent; and what is left out comes on the next one.
#[tokio::test]
async fn a_page_ends_by_what_is_sent() {
    let mut client = with_table().await;
    const ROWS: usize = 300;
    for row in 0..ROWS {
        let entity = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:04}\"}}");
        assert_eq!(client.send("POST", "/tab", &[VERSION, JSON], entity.as_bytes()).await.status, 201);
    }
    let names: Vec<String> = (0..240).map(|at| format!("z{at}{}", "x".repeat(200))).collect();
    let select = format!("$select=RowKey,{}", names.join(","));
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = client.send("GET", &format!("/tab()?{select}{next}"), &[VERSION, BARE], b"").await;
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(page.body.len() < 9 << 20, "{} bytes", page.body.len());
        seen.push(page.text().matches("\"RowKey\"").count());
        let Some(row) = page.header("x-ms-continuation-nextrowkey") else { break };
        let partition = page.header("x-ms-continuation-nextpartitionkey").unwrap();
        next = format!("&NextPartitionKey={partition}&NextRowKey={row}");
    }
    assert!(seen.len() > 1 && seen.iter().sum::<usize>() == ROWS, "{seen:?}");
    let many: Vec<String> = (0..300).map(|at| format!("z{at}")).collect();
    let refused = client.send("GET", &format!("/tab()?$select={}", many.join(",")), &[VERSION, BARE], b"").await;
    assert_eq!((refused.status, code(&refused).as_str()), (400, "InvalidInput"));
}
