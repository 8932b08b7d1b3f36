//! Blob Batch over the edge: each part is authorised and answered by itself, and a batch that cannot be taken says why.

mod client;

use client::{Client, start};

const VERSION: (&str, &str) = ("x-ms-version", "2021-08-06");
const KIND: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

/// A batch of heads, as clients write it.
fn batch(heads: &[String]) -> String {
    let part = |(at, head): (usize, &String)| {
        format!(
            "--b\r\nContent-Type: application/http\r\nContent-ID: {at}\r\n\r\n{}\r\n",
            head.replace("host: 127.0.0.1\r\n", "")
        )
    };
    heads.iter().enumerate().map(part).collect::<String>() + "--b--\r\n"
}

/// The statuses and codes of the parts.
fn outcomes(text: &str) -> Vec<String> {
    let code =
        |part: &str| part.split("x-ms-error-code: ").nth(1).and_then(|rest| rest.lines().next().map(str::to_owned));
    text.split("HTTP/1.1 ").skip(1).map(|part| format!("{} {}", &part[..3], code(part).unwrap_or_default())).collect()
}

async fn send(client: &mut Client, target: &str, heads: &[String]) -> client::Answer {
    let body = batch(heads);
    client.send("POST", target, &[VERSION, ("Content-Type", "multipart/mixed; boundary=b")], body.as_bytes()).await
}

#[tokio::test]
async fn every_part_is_judged_by_itself() {
    let server = start();
    let mut client = Client::to(&server);
    let stranger = Client::unsigned(&server);
    assert_eq!(client.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
    for name in ["a", "b", "c"] {
        assert_eq!(client.send("PUT", &format!("/con/{name}"), &[VERSION, KIND], b"x").await.status, 201);
    }
    let delete = |client: &Client, name: &str| client.head("DELETE", &format!("/con/{name}"), &[], 0);
    let heads = [delete(&client, "a"), delete(&client, "none"), delete(&stranger, "b"), delete(&client, "c")];
    let answer = send(&mut client, "/con?restype=container&comp=batch", &heads).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert!(answer.header("content-type").unwrap().starts_with("multipart/mixed; boundary=batchresponse_"));
    let expected = ["202 ", "404 BlobNotFound", "401 NoAuthenticationInformation", "202 "];
    assert_eq!(outcomes(&answer.text()), expected, "{}", answer.text());
    assert!(answer.text().contains("Content-ID: 3\r\n"));
    for (name, status) in [("a", 404), ("b", 200), ("c", 404)] {
        assert_eq!(client.send("HEAD", &format!("/con/{name}"), &[VERSION], b"").await.status, status, "{name}");
    }
}

#[tokio::test]
async fn a_batch_that_cannot_be_taken_changes_nothing() {
    let server = start();
    let mut client = Client::to(&server);
    client.send("PUT", "/con?restype=container", &[VERSION], b"").await;
    client.send("PUT", "/con/a", &[VERSION, KIND], b"x").await;
    let delete = client.head("DELETE", "/con/a", &[], 0);
    let tier = client.head("PUT", "/con/a?comp=tier", &[], 0);
    let elsewhere = client.head("DELETE", "/other/a", &[], 0);
    let read = client.head("GET", "/con/a", &[], 0);
    let table = [
        (vec![delete.clone(); 257], "400 ExceedsMaxBatchRequestCount"),
        (vec![delete.clone(), tier], "400 AllBatchSubRequestsShouldBeSameApi"),
        (vec![delete.clone(), read], "400 InvalidInput"),
        (vec![delete.clone(), elsewhere], "400 InvalidInput"),
        (vec![delete.clone(), "nonsense".to_owned()], "400 InvalidInput"),
    ];
    for (heads, expected) in table {
        let answer = send(&mut client, "/con?restype=container&comp=batch", &heads).await;
        assert_eq!((answer.status, outcomes(&answer.text())), (202, vec![expected.to_owned()]));
        assert!(!answer.text().contains("Content-ID"), "{}", answer.text());
    }
    assert_eq!(client.send("HEAD", "/con/a", &[VERSION], b"").await.status, 200);
    let unframed = client.send("POST", "/?comp=batch", &[VERSION], b"x").await;
    assert_eq!((unframed.status, outcomes(&unframed.text())), (202, vec!["400 InvalidHeaderValue".to_owned()]));
}
