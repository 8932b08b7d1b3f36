//! Tables.

use crate::client::{ACCOUNT, Answer, Client, Server, accounts, start};
use crate::{Headers, done};
use lazuli_http::Service;

const V: &str = "2019-02-02";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const BARE: (&str, &str) = ("Accept", "application/json;odata=nometadata");

async fn with_entity(server: &Server) -> Client {
    let mut client = Client::to_service(server, Service::Table);
    done(&mut client, V, ("POST", "/Tables", &[JSON], r#"{"TableName":"tab"}"#)).await;
    for key in ["a", "b"] {
        let entity = format!(r#"{{"PartitionKey":"{key}","RowKey":"r"}}"#);
        done(&mut client, V, ("POST", "/tab", &[JSON], &entity)).await;
    }
    client
}

async fn asked(client: &mut Client, method: &str, target: &str, headers: Headers<'_>, body: &str) -> Answer {
    let headers = [headers, &[("x-ms-version", V)]].concat();
    client.send(method, target, &headers, body.as_bytes()).await
}

fn code(answer: &Answer) -> String {
    let text = answer.text();
    text.split("\"code\":\"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default().to_owned()
}

/// A SAS for a table, to read, and for a range of keys if there is one.
fn sas(permissions: &str, from: &str, to: &str) -> String {
    let (version, end) = ("2019-02-02", "2099-01-01T00:00:00Z");
    let text = format!("{permissions}\n\n{end}\n/table/{ACCOUNT}/tab\n\n\n\n{version}\n{from}\n\n{to}\n");
    let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let keys = if from.is_empty() { String::new() } else { format!("&spk={from}&epk={to}") };
    format!("sv={version}&sp={permissions}&se={end}&tn=tab{keys}&sig={signature}")
}

#[tokio::test]
async fn t1_who_is_known_is_refused_like_any_other() {
    let server = start();
    with_entity(&server).await;
    let mut client = Client::unsigned_to(&server, Service::Table);
    let full = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";
    let entity = r#"{"PartitionKey":"c","RowKey":"r"}"#;
    let refused = asked(&mut client, "POST", &format!("/tab?{}", sas("r", "", "")), &[JSON], entity).await;
    assert_eq!((refused.status, code(&refused).as_str()), (403, "AuthorizationPermissionMismatch"));
    let seen = (refused.header("content-type"), refused.header("cache-control"));
    assert_eq!(seen, (Some(full), Some("no-cache")));
    let unknown = asked(&mut client, "GET", "/tab", &[], "").await;
    assert_eq!((unknown.status, code(&unknown).as_str()), (403, "AuthenticationFailed"));
    let seen = (unknown.header("content-type"), unknown.header("cache-control"));
    assert_eq!(seen, (Some("application/json"), None));
}

#[tokio::test]
async fn t2_what_is_outside_a_range_of_keys_is_not_there() {
    let server = start();
    with_entity(&server).await;
    let mut client = Client::unsigned_to(&server, Service::Table);
    let rights = sas("rau", "b", "c");
    let at = |key: &str| format!("/tab(PartitionKey='{key}',RowKey='r')?{rights}");
    let refused = asked(&mut client, "GET", &at("a"), &[], "").await;
    assert_eq!((refused.status, code(&refused).as_str()), (404, "ResourceNotFound"), "{}", refused.text());
    assert_eq!(asked(&mut client, "GET", &at("b"), &[], "").await.status, 200);
    let query = asked(&mut client, "GET", &format!("/tab?{rights}"), &[BARE], "").await.text();
    assert!(query.contains("\"b\"") && !query.contains("\"a\""), "{query}");
    let written = asked(&mut client, "PUT", &at("a"), &[JSON], "{}").await;
    assert_eq!((written.status, code(&written).as_str()), (403, "AuthorizationFailure"));
}

#[tokio::test]
async fn t3_a_preference_is_applied_to_refusals_too() {
    let mut client = with_entity(&start()).await;
    for (prefer, body, expected) in [
        ("return-no-content", r#"{"TableName":"tab"}"#, "TableAlreadyExists"),
        ("return-content", r#"{"TableName":"tab"}"#, "TableAlreadyExists"),
        ("return-no-content", "{}", "PropertiesNeedValue"),
    ] {
        let refused = asked(&mut client, "POST", "/Tables", &[JSON, ("Prefer", prefer)], body).await;
        assert_eq!(code(&refused), expected);
        assert_eq!(refused.header("preference-applied"), Some(prefer));
    }
    let refused = asked(&mut client, "POST", "/Tables", &[JSON], "{}").await;
    assert_eq!(refused.header("preference-applied"), None);
}

#[tokio::test]
async fn t4_a_table_has_no_tables() {
    let mut client = with_entity(&start()).await;
    let refused = asked(&mut client, "GET", "/tab/Tables", &[], "").await;
    assert_eq!((refused.status, code(&refused).as_str()), (501, "NotImplemented"), "{}", refused.text());
    assert!(refused.text().contains("The requested operation is not implemented on the specified resource."));
    let posted = asked(&mut client, "POST", "/tab/Tables", &[JSON], r#"{"TableName":"new"}"#).await;
    assert_eq!((posted.status, code(&posted).as_str()), (400, "PropertiesNeedValue"));
    let deleted = asked(&mut client, "DELETE", "/tab/Tables('x')", &[], "").await;
    assert_eq!((deleted.status, code(&deleted).as_str()), (400, "InvalidInput"));
}

#[tokio::test]
async fn t5_who_says_nothing_is_asked() {
    let mut client = Client::unsigned_to(&start(), Service::Table);
    for (version, status, expected) in
        [("2019-02-02", 403, "AuthenticationFailed"), ("2020-12-06", 401, "NoAuthenticationInformation")]
    {
        let refused = client.send("GET", "/Tables", &[("x-ms-version", version)], b"").await;
        assert_eq!((refused.status, code(&refused).as_str()), (status, expected), "{version}");
    }
}

#[tokio::test]
async fn a13_statistics_are_the_secondarys() {
    let mut client = Client::to_service(&start(), Service::Table);
    let refused = asked(&mut client, "GET", "/?restype=service&comp=stats", &[], "").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (400, Some("InvalidQueryParameterValue")));
}

#[tokio::test]
async fn a14_entities_have_weak_tags() {
    let mut client = with_entity(&start()).await;
    let at = "/tab(PartitionKey='a',RowKey='r')";
    for (tag, status, expected) in [
        ("\"0x1\"", 400, "InvalidInput"),
        ("w/\"x\"", 400, "InvalidInput"),
        ("W/\"a\",W/\"b\"", 400, "InvalidInput"),
        ("W/\"x\"", 412, "UpdateConditionNotSatisfied"),
        ("*", 204, ""),
    ] {
        let answer = asked(&mut client, "DELETE", at, &[("If-Match", tag)], "").await;
        assert_eq!((answer.status, code(&answer).as_str()), (status, expected), "{tag}");
    }
}

#[tokio::test]
async fn a15_none_can_be_asked_for() {
    let mut client = with_entity(&start()).await;
    let answer = asked(&mut client, "GET", "/tab?$top=0", &[BARE], "").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"value":[]}"#));
    assert_eq!(answer.header("x-ms-continuation-nextpartitionkey"), None);
}

/// C# writes them so.
#[tokio::test]
async fn booleans_of_a_filter_in_any_case() {
    let mut client = with_entity(&start()).await;
    done(&mut client, V, ("POST", "/tab", &[JSON], r#"{"PartitionKey":"c","RowKey":"r","on":true}"#)).await;
    for word in ["true", "True", "TRUE"] {
        let answer = asked(&mut client, "GET", &format!("/tab?$filter=on%20eq%20{word}"), &[BARE], "").await;
        assert!(answer.text().contains("\"c\""), "{word}: {}", answer.text());
    }
}
