//! Who won, as the record tells it: every refusal names the request that caused it.

mod client;

use std::sync::Arc;

use client::{Answer, Client, Server, start};
use lazuli_http::Service;
use lazuli_http::recorder::{Explanation, Recorder, Why, explain, hot, in_flight, leases};
use lazuli_model::Timestamp;

const LEASE: &str = "00000000-1111-2222-3333-444444444444";
const OTHER: &str = "00000000-1111-2222-3333-555555555555";
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

struct World {
    server: Server,
    recorder: Arc<Recorder>,
}

fn world() -> World {
    let server = start();
    let recorder = server.record(1 << 20);
    World { server, recorder }
}

fn id(answer: &Answer) -> String {
    answer.header("x-ms-request-id").unwrap().to_owned()
}

/// Says its version with each request.
struct Signed(Client);

impl Signed {
    async fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let headers = [&[("x-ms-version", "2021-12-02")], headers].concat();
        self.0.send(method, target, &headers, body).await
    }
}

impl World {
    fn client(&self, service: Service) -> Signed {
        Signed(Client::to_service(&self.server, service))
    }

    fn explain(&self, refused: &Answer) -> Explanation {
        explain(&self.recorder.records(), &id(refused)).expect("the refusal is in the record")
    }

    /// That `refused` was refused because of `winner`.
    fn expect(&self, refused: &Answer, status: u16, why: Why, winner: Option<&Answer>) {
        assert_eq!(refused.status, status, "{}", refused.text());
        let told = self.explain(refused);
        assert_eq!(told.why, why, "{}", told.text);
        assert_eq!(told.winner.map(|winner| winner.request_id), winner.map(id), "{}", told.text);
        assert_eq!(told.certain, why != Why::Unknown);
    }
}

#[tokio::test]
async fn conditions_name_the_change_that_ended_the_etag() {
    let world = world();
    let mut blob = world.client(Service::Blob);
    blob.send("PUT", "/con?restype=container", &[], b"").await;
    let first = blob.send("PUT", "/con/b", &[BLOCK], b"one").await;
    let etag = first.header("etag").unwrap().to_owned();
    let again = blob.send("PUT", "/con/b", &[BLOCK, ("if-none-match", "*")], b"").await;
    world.expect(&again, 409, Why::Created, Some(&first));
    // A lease and tags leave the ETag as it is, so they ended nothing.
    blob.send("PUT", "/con/b?comp=tags", &[], b"<Tags><TagSet/></Tags>").await;
    let same = blob.send("GET", "/con/b", &[("if-none-match", &etag)], b"").await;
    world.expect(&same, 304, Why::Unchanged, Some(&first));
    let second = blob.send("PUT", "/con/b?comp=metadata", &[("x-ms-meta-a", "1")], b"").await;
    let third = blob.send("PUT", "/con/b", &[BLOCK], b"three").await;
    let refused = blob.send("PUT", "/con/b", &[BLOCK, ("if-match", &etag)], b"late").await;
    world.expect(&refused, 412, Why::Replaced, Some(&second));
    let text = world.explain(&refused).text;
    assert!(text.contains("If-Match named") && text.contains("SetBlobMetadata by 127.0.0.1 (key)"), "{text}");
    let read = blob.send("GET", "/con/b", &[("if-match", &etag)], b"").await;
    world.expect(&read, 412, Why::Replaced, Some(&second));
    let gone = third.header("etag").unwrap().to_owned();
    let deleted = blob.send("DELETE", "/con/b", &[], b"").await;
    let refused = blob.send("PUT", "/con/b", &[BLOCK, ("if-match", &gone)], b"late").await;
    world.expect(&refused, 412, Why::Deleted, Some(&deleted));
    // Its new life has another maker.
    let anew = blob.send("PUT", "/con/b", &[BLOCK], b"four").await;
    let refused = blob.send("PUT", "/con/b", &[BLOCK, ("if-none-match", "*")], b"").await;
    world.expect(&refused, 409, Why::Created, Some(&anew));
    let nobody = blob.send("PUT", "/con/b", &[BLOCK, ("if-match", "\"0x1\"")], b"").await;
    world.expect(&nobody, 412, Why::Replaced, Some(&anew));
    assert_eq!(world.explain(&anew).why, Why::Applied);
    let hottest = hot(&world.recorder.records(), Timestamp::from_ticks(0));
    assert_eq!((hottest[0].object.as_str(), hottest[0].refusals), ("blob/devstoreaccount1/con/b", 7));
    assert_eq!(hottest[0].by_code["ConditionNotMet"], 5);
}

#[tokio::test]
async fn leases_name_their_holder_and_who_ended_them() {
    let world = world();
    let mut blob = world.client(Service::Blob);
    blob.send("PUT", "/con?restype=container", &[], b"").await;
    blob.send("PUT", "/con/b", &[BLOCK], b"one").await;
    let action = |what| ("x-ms-lease-action", what);
    let at = "/con/b?comp=lease";
    let acquire = [
        action("acquire"),
        ("x-ms-lease-duration", "60"),
        ("x-ms-proposed-lease-id", LEASE),
        ("x-ms-client-request-id", "me"),
    ];
    let held = blob.send("PUT", at, &acquire, b"").await;
    let renewed = blob.send("PUT", at, &[action("renew"), ("x-ms-lease-id", LEASE)], b"").await;
    assert_eq!((held.status, renewed.status), (201, 200));
    let missing = blob.send("PUT", "/con/b", &[BLOCK], b"two").await;
    world.expect(&missing, 412, Why::Leased, Some(&held));
    let wrong = blob.send("PUT", "/con/b", &[BLOCK, ("x-ms-lease-id", OTHER)], b"two").await;
    world.expect(&wrong, 412, Why::Leased, Some(&held));
    let taken = blob.send("PUT", at, &[action("acquire"), ("x-ms-lease-duration", "15")], b"").await;
    world.expect(&taken, 409, Why::Leased, Some(&held));
    let records = world.recorder.records();
    let live = leases(&records, records.last().unwrap().at);
    assert_eq!(live.len(), 1);
    assert_eq!((live[0].id.as_str(), live[0].state, live[0].renewals, live[0].refused.len()), (LEASE, "leased", 1, 3));
    assert_eq!(live[0].holder.client_request_id, "me");
    assert!(live[0].seconds_left.unwrap() > 50.0);
    let changed = blob
        .send("PUT", at, &[action("change"), ("x-ms-lease-id", LEASE), ("x-ms-proposed-lease-id", OTHER)], b"")
        .await;
    let wrong = blob.send("PUT", "/con/b", &[BLOCK, ("x-ms-lease-id", LEASE)], b"two").await;
    world.expect(&wrong, 412, Why::Leased, Some(&changed));
    let broken = blob.send("PUT", at, &[action("break"), ("x-ms-lease-break-period", "0")], b"").await;
    assert_eq!(broken.status, 202);
    let lost = blob.send("PUT", "/con/b", &[BLOCK, ("x-ms-lease-id", OTHER)], b"two").await;
    world.expect(&lost, 412, Why::Broken, Some(&broken));
    assert!(leases(&world.recorder.records(), records.last().unwrap().at).is_empty());
}

#[tokio::test]
async fn receipts_name_who_took_the_message() {
    let world = world();
    let mut queue = world.client(Service::Queue);
    queue.send("PUT", "/que", &[], b"").await;
    let text = b"<QueueMessage><MessageText>x</MessageText></QueueMessage>";
    queue.send("POST", "/que/messages", &[], text).await;
    let took = queue.send("GET", "/que/messages?visibilitytimeout=30", &[], b"").await;
    let of = |answer: &Answer, name: &str| {
        let text = answer.text();
        text.split(&format!("<{name}>")).nth(1).unwrap().split('<').next().unwrap().to_owned()
    };
    let (message, receipt) = (of(&took, "MessageId"), of(&took, "PopReceipt").replace('+', "%2B").replace('=', "%3D"));
    let records = world.recorder.records();
    let flying = in_flight(&records, records.last().unwrap().at);
    assert_eq!((flying.len(), flying[0].dequeues, flying[0].holder.request_id.clone()), (1, 1, id(&took)));
    assert!(!serde_json::to_string(&records).unwrap().contains(&of(&took, "PopReceipt")), "receipts are not recorded");
    let at = format!("/que/messages/{message}?popreceipt={receipt}");
    let hidden = queue.send("PUT", &format!("{at}&visibilitytimeout=60"), &[], b"").await;
    assert_eq!(hidden.status, 204);
    let late = queue.send("DELETE", &at, &[], b"").await;
    world.expect(&late, 404, Why::Taken, Some(&hidden));
    let receipt = hidden.header("x-ms-popreceipt").unwrap().replace('+', "%2B").replace('=', "%3D");
    let at = format!("/que/messages/{message}?popreceipt={receipt}");
    let deleted = queue.send("DELETE", &at, &[], b"").await;
    let twice = queue.send("DELETE", &at, &[], b"").await;
    world.expect(&twice, 404, Why::Deleted, Some(&deleted));
    assert!(in_flight(&world.recorder.records(), records.last().unwrap().at).is_empty());
    // An empty queue that is polled is not worth a record.
    let before = world.recorder.records().len();
    queue.send("GET", "/que/messages", &[], b"").await;
    assert_eq!(world.recorder.records().len(), before);
}

#[tokio::test]
async fn entities_are_told_apart_also_in_batches() {
    let world = world();
    let mut table = world.client(Service::Table);
    let json = ("content-type", "application/json");
    table.send("POST", "/Tables", &[json], br#"{"TableName":"cats"}"#).await;
    table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"a b"}"#).await;
    let second = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"b"}"#).await;
    let again = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"b"}"#).await;
    world.expect(&again, 409, Why::Created, Some(&second));
    let etag = second.header("etag").unwrap().to_owned();
    let at = "/cats(PartitionKey='p',RowKey='b')";
    let merged = table.send("PATCH", at, &[json, ("if-match", "*")], br#"{"n":1}"#).await;
    let late = table.send("PATCH", at, &[json, ("if-match", &etag)], br#"{"n":2}"#).await;
    world.expect(&late, 412, Why::Replaced, Some(&merged));
    assert_eq!(world.explain(&late).record.object, "table/devstoreaccount1/cats/p/b");
}

/// In a batch each entity has its own story: what it was before, which ETag it named, whether it went.
#[tokio::test]
async fn each_entity_of_a_batch_is_told_apart() {
    let world = world();
    let mut table = world.client(Service::Table);
    let json = ("content-type", "application/json");
    table.send("POST", "/Tables", &[json], br#"{"TableName":"cats"}"#).await;
    let old = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"old"}"#).await;
    let stale = old.header("etag").unwrap().to_owned();
    let batch = |parts: &[(&str, &str, &str, &str)]| {
        let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
        for (method, path, wanted, entity) in parts {
            body += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
            body += &format!("{method} http://127.0.0.1/devstoreaccount1{path} HTTP/1.1\r\n");
            body += &format!("Content-Type: application/json\r\n{wanted}\r\n{entity}\r\n");
        }
        body + "--c--\r\n--b--\r\n"
    };
    let row = |name: &str| format!("/cats(PartitionKey='p',RowKey='{name}')");
    let mixed = ("content-type", "multipart/mixed; boundary=b");
    let (old_row, new_row) = (row("old"), row("new"));
    let both = batch(&[("PUT", &new_row, "", "{\"n\":1}"), ("MERGE", &old_row, "If-Match: *\r\n", "{\"n\":1}")]);
    let first = table.send("POST", "/$batch", &[mixed], both.as_bytes()).await;
    assert_eq!(first.status, 202, "{}", first.text());
    table.send("MERGE", &old_row, &[json, ("if-match", "*")], b"{\"n\":2}").await;
    // The batch made one of them and changed the other; later changes are not what ended the ETag.
    let exists = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"new"}"#).await;
    world.expect(&exists, 409, Why::Created, Some(&first));
    let exists = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"old"}"#).await;
    world.expect(&exists, 409, Why::Created, Some(&old));
    let late = batch(&[("MERGE", &old_row, &format!("If-Match: {stale}\r\n"), "{\"n\":3}")]);
    let late = table.send("POST", "/$batch", &[mixed], late.as_bytes()).await;
    let told = world.explain(&late);
    assert_eq!(
        (told.why, told.winner.map(|winner| winner.request_id)),
        (Why::Replaced, Some(id(&first))),
        "{}",
        told.text
    );
    let gone = batch(&[("DELETE", &new_row, "If-Match: *\r\n", "")]);
    let gone = table.send("POST", "/$batch", &[mixed], gone.as_bytes()).await;
    assert_eq!(gone.status, 202, "{}", gone.text());
    let anew = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"new"}"#).await;
    let exists = table.send("POST", "/cats", &[json], br#"{"PartitionKey":"p","RowKey":"new"}"#).await;
    world.expect(&exists, 409, Why::Created, Some(&anew));
}

/// Only the lab lets a lease expire before its time: no header asks for it.
#[tokio::test]
async fn no_client_lets_a_lease_expire() {
    let world = world();
    let mut blob = world.client(Service::Blob);
    blob.send("PUT", "/con?restype=container", &[], b"").await;
    blob.send("PUT", "/con/b", &[BLOCK], b"one").await;
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "60"), ("x-ms-proposed-lease-id", LEASE)];
    assert_eq!(blob.send("PUT", "/con/b?comp=lease", &acquire, b"").await.status, 201);
    let expire = [("x-ms-lease-action", "expire"), ("x-ms-lease-id", LEASE), ("user-agent", "lazuli-lab")];
    assert_eq!(blob.send("PUT", "/con/b?comp=lease", &expire, b"").await.status, 400);
    assert_eq!(blob.send("HEAD", "/con/b", &[], b"").await.header("x-ms-lease-state"), Some("leased"));
    assert!(world.recorder.records().iter().all(|record| record.operation != "ExpireLease"));
}
