//! Object replication as clients see it: what came of it at the source, and a destination that only the service writes.

mod client;

use client::{Answer, Client, start};

const VERSION: (&str, &str) = ("x-ms-version", "2021-12-02");
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.header("x-ms-error-code").unwrap_or_default())
}

#[tokio::test]
async fn the_source_tells_what_came_of_each_rule() {
    let server = start();
    let mut client = Client::to(&server);
    let policy = r#"{"policyId":"p1","sourceAccount":"devstoreaccount1","destinationAccount":"elsewhere","rules":[{"ruleId":"r1","sourceContainer":"from","destinationContainer":"to1"}]}"#;
    server.set(&[("versioning", "on"), ("change-feed", "on"), ("object-replication", policy)]).await;
    assert_eq!(client.send("PUT", "/from?restype=container", &[VERSION], b"").await.status, 201);
    assert_eq!(client.send("PUT", "/from/b", &[VERSION, BLOCK], b"x").await.status, 201);
    assert_eq!(client.send("HEAD", "/from/b", &[VERSION], b"").await.header("x-ms-or-p1_r1"), None);
    server.replicate().await;
    for method in ["HEAD", "GET"] {
        let answer = client.send(method, "/from/b", &[VERSION], b"").await;
        assert_eq!(answer.header("x-ms-or-p1_r1"), Some("failed"), "there is no such account");
        let old = client.send(method, "/from/b", &[("x-ms-version", "2019-07-07")], b"").await;
        assert_eq!(old.header("x-ms-or-p1_r1"), None);
    }
    let listed = client.send("GET", "/from?restype=container&comp=list", &[VERSION], b"").await.text();
    assert!(listed.contains("<OrMetadata><or-p1_r1>failed</or-p1_r1></OrMetadata>"), "{listed}");
}

#[tokio::test]
async fn a_destination_is_written_by_the_service_alone() {
    let server = start();
    let mut client = Client::to(&server);
    assert_eq!(client.send("PUT", "/to1?restype=container", &[VERSION], b"").await.status, 201);
    assert_eq!(client.send("PUT", "/to1/b", &[VERSION, BLOCK], b"x").await.status, 201);
    let policy = r#"{"policyId":"p1","sourceAccount":"elsewhere","destinationAccount":"devstoreaccount1","rules":[{"ruleId":"r1","sourceContainer":"from","destinationContainer":"to1"}]}"#;
    server.set(&[("versioning", "on"), ("object-replication", policy)]).await;
    let refused = (409, "BlobOperationNotSupported");
    let meta = ("x-ms-meta-a", "1");
    let tags = b"<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tags>";
    let list = b"<BlockList></BlockList>";
    for (method, target, headers, body) in [
        ("PUT", "/to1/b", &[VERSION, BLOCK][..], &b"y"[..]),
        ("PUT", "/to1/new", &[VERSION, BLOCK], b"y"),
        ("PUT", "/to1/b?comp=block&blockid=AAAA", &[VERSION], b"y"),
        ("PUT", "/to1/b?comp=blocklist", &[VERSION], list),
        ("PUT", "/to1/b?comp=metadata", &[VERSION, meta], b""),
        ("PUT", "/to1/b?comp=properties", &[VERSION], b""),
        ("PUT", "/to1/b?comp=snapshot", &[VERSION], b""),
        ("PUT", "/to1/b?comp=tags", &[VERSION], tags),
        ("PUT", "/to1/c", &[VERSION, ("x-ms-copy-source", "http://127.0.0.1/devstoreaccount1/to1/b")], b""),
    ] {
        assert_eq!(code(&client.send(method, target, headers, body).await), refused, "{method} {target}");
    }
    assert_eq!(client.send("GET", "/to1/b", &[VERSION], b"").await.text(), "x");
    let tier = [VERSION, ("x-ms-access-tier", "Cool")];
    assert_eq!(client.send("PUT", "/to1/b?comp=tier", &tier, b"").await.status, 200);
    let lease = [VERSION, ("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15")];
    let leased = client.send("PUT", "/to1/b?comp=lease", &lease, b"").await;
    assert_eq!(leased.status, 201);
    let id = leased.header("x-ms-lease-id").unwrap().to_owned();
    assert_eq!(client.send("DELETE", "/to1/b", &[VERSION, ("x-ms-lease-id", &id)], b"").await.status, 202);
    server.set(&[("object-replication", "off")]).await;
    assert_eq!(client.send("PUT", "/to1/b", &[VERSION, BLOCK], b"y").await.status, 201);
}
