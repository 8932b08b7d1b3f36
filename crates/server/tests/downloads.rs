//! What is read is what was written: over a real socket, from real files, whole and by range, also when the blob is replaced or
//! deleted under the reader.

use std::io::{BufReader, Read, Write};

use lazuli_testkit::chance::{Chance, seed};
use lazuli_testkit::client::{ACCOUNT, Client, account_sas, connect, read_answer};
use lazuli_testkit::process::{Directory, Server};

const LENGTH: usize = 9 << 20;

/// Bytes of which no two stretches are alike.
fn content(seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(seed);
    (0..LENGTH / 8).flat_map(|_| chance.draw().to_le_bytes()).collect()
}

struct Fixture {
    server: Server,
    _directory: Directory,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), name);
        let server = Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]).expect("the server starts");
        let made = Client::new(server.address).send("PUT", "down", "restype=container", &[], &[]).expect("it answers");
        assert_eq!(made.status, 201, "{}", made.code());
        Self { server, _directory: directory }
    }

    fn put(&self, name: &str, content: &[u8]) {
        let headers = [("x-ms-blob-type", "BlockBlob")];
        let put = Client::new(self.server.address).send("PUT", &format!("down/{name}"), "", &headers, content);
        assert_eq!(put.expect("it answers").status, 201);
    }
}

#[test]
fn any_range_of_a_large_blob_is_what_was_written() {
    let fixture = Fixture::new("ranges");
    let bytes = content(3);
    fixture.put("large", &bytes);
    let mut client = Client::new(fixture.server.address);
    let whole = client.send("GET", "down/large", "", &[], &[]).expect("it answers");
    assert!(whole.status == 200 && whole.body == bytes);
    let mut chance = Chance::new(seed(5));
    for _ in 0..100 {
        let from = chance.below(LENGTH);
        let to = from + chance.below((LENGTH - from).min(3 << 20));
        let range = format!("bytes={from}-{to}");
        let part = client.send("GET", "down/large", "", &[("x-ms-range", &range)], &[]).expect("it answers");
        assert!(part.status == 206 && part.body == bytes[from..=to], "{range}");
    }
}

/// Several requests sent at once on one connection are answered in order, each with its own bytes.
#[test]
fn answers_to_requests_in_a_row_do_not_mix() {
    let fixture = Fixture::new("row");
    let contents: Vec<Vec<u8>> = (0..3).map(content).collect();
    contents.iter().enumerate().for_each(|(at, bytes)| fixture.put(&format!("b{at}"), bytes));
    let mut stream = connect(fixture.server.address).expect("it accepts");
    let order = [0, 1, 2, 1, 0];
    for at in order {
        let head = format!("GET /{ACCOUNT}/down/b{at}?{} HTTP/1.1\r\nHost: a\r\n\r\n", account_sas());
        stream.write_all(head.as_bytes()).expect("it takes the request");
    }
    let mut answers = BufReader::new(stream);
    for at in order {
        let (answer, _) = read_answer(&mut answers, false).expect("it answers");
        assert!(answer.status == 200 && answer.body == contents[at], "b{at}");
    }
}

/// A reader that began has its blob, whatever becomes of the name meanwhile.
#[test]
fn a_slow_reader_gets_what_it_began_to_read() {
    let fixture = Fixture::new("slow-reader");
    let bytes = content(7);
    for delete in [true, false] {
        fixture.put("going", &bytes);
        let mut stream = connect(fixture.server.address).expect("it accepts");
        let head = format!("GET /{ACCOUNT}/down/going?{} HTTP/1.1\r\nHost: a\r\n\r\n", account_sas());
        stream.write_all(head.as_bytes()).expect("it takes the request");
        let mut first = vec![0; 1 << 10];
        stream.read_exact(&mut first).expect("it begins to answer");
        let mut client = Client::new(fixture.server.address);
        if delete {
            let deleted = client.send("DELETE", "down/going", "", &[], &[]).expect("it answers");
            assert_eq!(deleted.status, 202, "{}", deleted.code());
        } else {
            fixture.put("going", &content(8));
        }
        // Work for the sweeper: what was let go would be given back by now, if nobody held it.
        (0..50).for_each(|_| fixture.put("other", &bytes[..100_000]));
        let mut answer = BufReader::new(first.as_slice().chain(stream));
        let (answer, _) = read_answer(&mut answer, false).expect("it answers to the end");
        assert!(answer.status == 200 && answer.body == bytes, "deleted: {delete}");
    }
}
