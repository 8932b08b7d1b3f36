//! Query Blob Contents as a client meets it: bytes in, bytes out, over a pipe, with the store on the memory engine. The runtime has one
//! thread, so whatever a query did on it would keep everybody else from being answered.

mod client;

use client::{Client, start};

const VERSION: (&str, &str) = ("x-ms-version", "2023-11-03");
const BLOCK_BLOB: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

fn document(sql: &str, input: &str) -> Vec<u8> {
    format!(
        "<QueryRequest><QueryType>SQL</QueryType><Expression>{sql}</Expression><InputSerialization><Format><Type>{input}</Type>\
         </Format></InputSerialization></QueryRequest>"
    )
    .into_bytes()
}

async fn with_blob(content: &[u8]) -> (client::Server, Client) {
    let server = start();
    let mut client = Client::to(&server);
    assert_eq!(client.send("PUT", "/box?restype=container", &[VERSION], b"").await.status, 201);
    assert_eq!(client.send("PUT", "/box/blob", &[VERSION, BLOCK_BLOB], content).await.status, 201);
    (server, client)
}

#[tokio::test]
async fn records_are_answered() {
    let (_server, mut client) = with_blob(b"1,a\n2,b\n3,c\n").await;
    let sql = "SELECT _2 FROM BlobStorage WHERE _1 &gt; 1";
    let answer = client.send("POST", "/box/blob?comp=query", &[VERSION], &document(sql, "delimited")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("avro/binary")));
    assert!(answer.text().contains("b\nc\n"), "{}", answer.text());
    let long = document(sql, "delimited");
    let long = String::from_utf8(long).unwrap().replace(
        "</Type></Format></InputSerialization>",
        &format!(
            "</Type><DelimitedTextConfiguration><RecordSeparator>{}</RecordSeparator></DelimitedTextConfiguration></Format></InputSerialization>",
            "a".repeat(1000)
        ),
    );
    assert_eq!(client.send("POST", "/box/blob?comp=query", &[VERSION], long.as_bytes()).await.status, 400);
}

/// C2: a list in a list in a list of the metadata ended the process; so did a long path behind the table's name.
#[tokio::test]
async fn deep_input_is_refused_or_damage() {
    let metadata = vec![0x19_u8; 100_001];
    let file = [b"PAR1", &metadata[..], &(metadata.len() as u32).to_le_bytes(), b"PAR1"].concat();
    let (_server, mut client) = with_blob(&file).await;
    let query = document("SELECT * FROM BlobStorage", "parquet");
    let answer = client.send("POST", "/box/blob?comp=query", &[VERSION], &query).await;
    assert!(answer.status == 200 && answer.text().contains("ParseError"), "{}", answer.text());
    let query = document(&format!("SELECT * FROM BlobStorage{}", "[*]".repeat(80_000)), "json");
    assert_eq!(client.send("POST", "/box/blob?comp=query", &[VERSION], &query).await.status, 400);
}

/// C3: while a query that is as dear as can be is under way, others are answered; and one that nobody waits for does not stay.
#[tokio::test]
async fn others_are_answered_beside_a_dear_query() {
    let (server, mut client) = with_blob(&[b'a'; 2 << 20]).await;
    let sql = format!("SELECT * FROM BlobStorage WHERE _1 LIKE '%{}_b%'", "a".repeat(200_000));
    let query = document(&sql, "delimited");
    let mut hostile = Client::to(&server);
    let mut gone = Client::to(&server);
    let head = gone.head("POST", "/box/blob?comp=query", &[VERSION], query.len());
    gone.write(head.as_bytes()).await;
    gone.write(&query).await;
    drop(gone);
    let dear = hostile.send("POST", "/box/blob?comp=query", &[VERSION], &query);
    let honest = async {
        for _ in 0..20 {
            assert_eq!(client.send("HEAD", "/box/blob", &[VERSION], b"").await.status, 200);
        }
    };
    let (answer, ()) = tokio::join!(dear, honest);
    assert!(answer.status == 200 && answer.text().contains("QueryTooComplex"), "{}", answer.text());
}
