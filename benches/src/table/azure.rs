//! A table of Azure's, over HTTP.

use super::{BATCH, Connection, PARTITION, Peer, WANTED, Work};
use crate::azure::{self, Call};
use crate::request::{self, ACCOUNT, Request, Table};
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;

/// Azurite takes no others than such as the SDKs make.
const BATCH_MARK: &str = "batch_2f1c1e2a-6f0a-4b7e-9d53-0d8c7a1b2c3d";
const CHANGES_MARK: &str = "changeset_8a4d7c36-1b5e-4f92-8c1d-5e6f7a8b9c0d";

pub struct Azure {
    name: &'static str,
    at: SocketAddr,
}

impl Azure {
    /// Creates the tables: one to read, one to write.
    pub fn new(name: &'static str, at: SocketAddr) -> io::Result<Self> {
        let mut client = Client::connect(at)?;
        for table in ["bench", "writes"] {
            let body = format!("{{\"TableName\":\"{table}\"}}");
            client.ask("POST", "Tables", "", "application/json", body.as_bytes(), 201)?;
        }
        Ok(Self { name, at })
    }
}

impl Peer for Azure {
    fn name(&self) -> &'static str {
        self.name
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(Client::connect(self.at)?))
    }

    fn requests(&self, work: Work, entities: u64) -> Option<(SocketAddr, Request)> {
        let request = match work {
            Work::Get => Table("bench").get(entities, PARTITION),
            Work::Insert => Table("writes").insert(&keyed("i00", "0000000000", 0)),
            // Their answers have to be looked at.
            Work::Batch | Work::Partition | Work::Scan | Work::Search => return None,
        };
        Some((self.at, request))
    }

    fn fill(&self, numbers: Range<u64>) -> io::Result<()> {
        const CLIENTS: u64 = 16;
        std::thread::scope(|scope| {
            let fill = move |client: u64| {
                let mut connection = Client::connect(self.at)?;
                let mut batches =
                    (numbers.start / BATCH..numbers.end / BATCH).filter(|batch| batch % CLIENTS == client);
                batches.try_for_each(|batch| {
                    let numbers = batch * BATCH..(batch + 1) * BATCH;
                    connection.submit("bench", numbers.map(entity))
                })
            };
            let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || fill(client))).collect();
            clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
        })
    }
}

/// An entity of the table that is read.
fn entity(number: u64) -> String {
    keyed(&format!("{:08}", number / PARTITION), &format!("{number:010}"), number)
}

fn keyed(partition: &str, row: &str, number: u64) -> String {
    format!(
        "{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"Number\":{},\"Name\":\"{}\",\"Flag\":{},\"Ratio\":{}.5,\
         \"When\":\"2026-01-01T00:00:00Z\",\"When@odata.type\":\"Edm.DateTime\"}}",
        number % WANTED,
        "x".repeat(100),
        number.is_multiple_of(2),
        number % 100
    )
}

struct Client {
    http: azure::Client,
    /// Where the last page said to go on.
    next: Option<(String, String)>,
}

impl Client {
    fn connect(at: SocketAddr) -> io::Result<Self> {
        Ok(Self { http: azure::Client::connect(at)?, next: None })
    }

    fn ask(
        &mut self,
        method: &str,
        path: &str,
        query: &str,
        kind: &str,
        body: &[u8],
        status: u16,
    ) -> io::Result<String> {
        let headers = &format!(
            "Accept: application/json;odata=nometadata\r\nContent-Type: {kind}\r\nPrefer: return-no-content\r\n"
        );
        // Who makes something is asked to say no more than that it was made.
        let statuses: &[u16] = if status == 201 { &[201, 204] } else { &[status] };
        let (mut partition, mut row) = (None, None);
        let answer = self.http.ask(&Call { method, path, query, headers, body, statuses }, |name, value| {
            if name.eq_ignore_ascii_case("x-ms-continuation-NextPartitionKey") {
                partition = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("x-ms-continuation-NextRowKey") {
                row = Some(value.to_owned());
            }
        })?;
        self.next = partition.map(|partition| (partition, row.unwrap_or_default()));
        Ok(answer)
    }

    fn submit(&mut self, table: &str, entities: impl Iterator<Item = String>) -> io::Result<()> {
        let mut body = format!("--{BATCH_MARK}\r\nContent-Type: multipart/mixed; boundary={CHANGES_MARK}\r\n\r\n");
        for entity in entities {
            let _ = write!(
                body,
                "--{CHANGES_MARK}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 POST http://127.0.0.1/{ACCOUNT}/{table} HTTP/1.1\r\nContent-Type: application/json\r\n\
                 Accept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\n\r\n{entity}\r\n"
            );
        }
        let _ = write!(body, "--{CHANGES_MARK}--\r\n--{BATCH_MARK}--\r\n");
        let kind = format!("multipart/mixed; boundary={BATCH_MARK}");
        let answer = self.ask("POST", "$batch", "", &kind, body.as_bytes(), 202)?;
        if answer.contains("odata.error") { Err(io::Error::other(answer)) } else { Ok(()) }
    }

    /// All pages of a query; how many entities were on them.
    fn pages(&mut self, filter: &str) -> io::Result<u64> {
        let filter = format!("$filter={}&", request::encode(filter));
        let (mut from, mut count) = (String::new(), 0);
        loop {
            let page = self.ask("GET", "bench()", &format!("{filter}{from}"), "application/json", b"", 200)?;
            count += page.matches("\"RowKey\"").count() as u64;
            let Some((partition, row)) = self.next.take() else { return Ok(count) };
            let (partition, row) = (request::encode(&partition), request::encode(&row));
            from = format!("NextPartitionKey={partition}&NextRowKey={row}&");
        }
    }
}

impl Connection for Client {
    fn batch(&mut self, number: u64) -> io::Result<()> {
        let one = |row: u64| keyed(&format!("b{number:010}"), &format!("{row:03}"), row);
        self.submit("writes", (0..BATCH).map(one))
    }

    fn partition(&mut self, number: u64) -> io::Result<u64> {
        self.pages(&format!("PartitionKey eq '{number:08}'"))
    }

    fn scan(&mut self) -> io::Result<u64> {
        self.pages("Number eq 7 and Flag eq false")
    }

    fn search(&mut self) -> io::Result<u64> {
        self.pages(&format!("Name ne '{}'", "x".repeat(100)))
    }
}
