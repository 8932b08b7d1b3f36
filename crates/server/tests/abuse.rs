//! Bad input of every kind against the real binary: it answers properly, or hangs up; it never dies, never grows, and goes on
//! serving others meanwhile.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::{ACCOUNT, Client, account_sas, connect, read_answer};
use lazuli_testkit::ledger::pause;
use lazuli_testkit::process::{Directory, Server};

/// No abuse here may make the server hold more than this, its program aside: 300 MiB with the program, of which 27 are resident in an unoptimised build.
const HELD_MAX_KIB: u64 = 273 << 10;

struct Fixture {
    server: Server,
    _directory: Directory,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), name);
        let server = Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]).expect("the server starts");
        let answer =
            Client::new(server.address).send("PUT", "abuse", "restype=container", &[], &[]).expect("it answers");
        assert_eq!(answer.status, 201, "{}", answer.code());
        Self { server, _directory: directory }
    }

    fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// After all that, an honest client is served and memory is where it should be.
    fn still_well(&self) {
        let mut client = Client::new(self.address());
        let put = client
            .send("PUT", "abuse/well", "", &[("x-ms-blob-type", "BlockBlob")], b"still here")
            .expect("it answers");
        assert_eq!(put.status, 201, "{}", put.code());
        let got = client.send("GET", "abuse/well", "", &[], &[]).expect("it answers");
        assert_eq!((got.status, got.body.as_slice()), (200, &b"still here"[..]));
        let held = self.server.held_kib();
        assert!(held < HELD_MAX_KIB, "{held} KiB are held");
    }
}

/// Sends raw bytes, says no more, and gives the status of the answer, if there is one.
fn raw(address: SocketAddr, bytes: &[u8]) -> Option<(u16, String)> {
    let mut stream = connect(address).expect("it accepts");
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let (answer, _) = read_answer(&mut BufReader::new(stream), false).ok()?;
    Some((answer.status, answer.code().to_owned()))
}

#[test]
fn broken_requests_get_the_proper_refusal() {
    let fixture = Fixture::new("broken");
    let sas = account_sas();
    let ask = |method: &str, path: &str, query: &str, headers: &str, body: &str| {
        let head = format!(
            "{method} /{ACCOUNT}/{path}?{query}&{sas} HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2023-11-03\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (status, code) = raw(fixture.address(), head.as_bytes()).expect("a well-formed request is answered");
        format!("{status} {code}")
    };
    let block_blob = "x-ms-blob-type: BlockBlob\r\n";
    let long = "n".repeat(1025);
    let table = [
        ("PUT", "UPPER", "restype=container", "", "", "400 InvalidResourceName"),
        ("PUT", "ab", "restype=container", "", "", "400 OutOfRangeInput"),
        ("PUT", "a--b", "restype=container", "", "", "400 InvalidResourceName"),
        ("PUT", &format!("abuse/{long}"), "", block_blob, "x", "400 OutOfRangeInput"),
        ("PUT", "abuse/b", "", "x-ms-blob-type: Nonsense\r\n", "x", "400 InvalidHeaderValue"),
        ("PUT", "abuse/b", "", "x-ms-blob-type: BlockBlob\r\nContent-MD5: AAAA\r\n", "x", "400 InvalidMd5"),
        (
            "PUT",
            "abuse/b",
            "",
            "x-ms-blob-type: BlockBlob\r\nContent-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
            "x",
            "400 Md5Mismatch",
        ),
        (
            "PUT",
            "abuse/b",
            "",
            "x-ms-blob-type: BlockBlob\r\nx-ms-content-crc64: AAAAAAAAAAA=\r\n",
            "x",
            "400 Crc64Mismatch",
        ),
        ("PUT", "abuse/b", "comp=block&blockid=%21%21", "", "x", "400 InvalidQueryParameterValue"),
        ("PUT", "abuse/b", "comp=blocklist", "", "<BlockList><Latest>", "400 InvalidXmlDocument"),
        (
            "PUT",
            "abuse/b",
            "comp=blocklist",
            "",
            "<!DOCTYPE x [<!ENTITY a \"b\">]><BlockList>&a;</BlockList>",
            "400 InvalidXmlDocument",
        ),
        (
            "PUT",
            "abuse/b",
            "comp=blocklist",
            "",
            "<BlockList><Latest>AAAA</Latest></BlockList>",
            "400 InvalidBlockList",
        ),
        (
            "PUT",
            "abuse/b",
            "comp=lease",
            "x-ms-lease-action: acquire\r\nx-ms-lease-duration: 7\r\n",
            "",
            "400 InvalidHeaderValue",
        ),
        ("GET", "abuse", "restype=container&comp=list&maxresults=0", "", "", "400 OutOfRangeQueryParameterValue"),
        ("GET", "abuse/none", "", "", "", "404 BlobNotFound"),
        ("GET", "nowhere/none", "", "", "", "404 ContainerNotFound"),
        ("GET", "abuse/none", "snapshot=yesterday", "", "", "400 InvalidQueryParameterValue"),
        ("GET", "abuse/%FF%FE", "", "", "", "400 InvalidUri"),
        ("GET", "abuse/a%00b", "", "", "", "400 InvalidResourceName"),
        ("DELETE", "abuse/none", "", "x-ms-delete-snapshots: perhaps\r\n", "", "400 InvalidHeaderValue"),
    ];
    for (method, path, query, headers, body, expected) in table {
        assert_eq!(ask(method, path, query, headers, body), expected, "{method} {path} {query} {headers:?} {body:?}");
    }
    fixture.still_well();
}

#[test]
fn nobody_gets_in_with_a_bad_credential() {
    let fixture = Fixture::new("credential");
    let ask = |query: &str, header: &str| {
        let head = format!(
            "GET /{ACCOUNT}/abuse?restype=container&comp=list{query} HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2023-11-03\r\n{header}\r\n"
        );
        raw(fixture.address(), head.as_bytes()).expect("it is answered").0
    };
    let sas = account_sas();
    assert_eq!(ask(&format!("&{sas}"), ""), 200);
    let mut chance = Chance::new(seed(7));
    for _ in 0..200 {
        let mut bytes = sas.clone().into_bytes();
        let at = chance.below(bytes.len());
        bytes[at] = *chance.pick(b"0123456789abcdefghijklmnopqrstuvwxyz%&=-");
        let mutated = String::from_utf8(bytes).expect("it stays ASCII");
        if mutated != sas {
            let status = ask(&format!("&{mutated}"), "");
            assert!((400..500).contains(&status), "{status} with {mutated}");
        }
    }
    for header in [
        "Authorization: SharedKey x\r\n",
        "Authorization: SharedKey devstoreaccount1:AAAA\r\n",
        "Authorization: Bearer x\r\n",
        "Authorization: \u{7f}\r\n",
        "",
    ] {
        assert!((400..500).contains(&ask("", header)), "{header:?}");
    }
    fixture.still_well();
}

#[test]
fn random_bytes_and_mutated_requests_do_no_harm() {
    let fixture = Fixture::new("mutated");
    let seed = seed(11);
    println!("LAZULI_SEED={seed}");
    let mut chance = Chance::new(seed);
    let sas = account_sas();
    let seeds: Vec<Vec<u8>> = [
        format!("PUT /{ACCOUNT}/abuse/m?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-blob-type: BlockBlob\r\nx-ms-meta-a: b\r\nIf-Match: \"0x8D\"\r\nContent-Length: 4\r\n\r\nabcd"),
        format!("PUT /{ACCOUNT}/abuse/m?comp=blocklist&{sas} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n<BlockList></BlockList>    \r\n0\r\n\r\n"),
        format!("GET /{ACCOUNT}/abuse/m?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-range: bytes=0-3\r\nx-ms-range-get-content-md5: true\r\n\r\n"),
        format!("GET /{ACCOUNT}/abuse?restype=container&comp=list&prefix=%41&marker=x&delimiter=/&{sas} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("PUT /{ACCOUNT}/abuse?restype=container&comp=acl&{sas} HTTP/1.1\r\nHost: a\r\nContent-Length: 63\r\n\r\n<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifi"),
        format!("PUT /{ACCOUNT}/abuse/m?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-blob-type: BlockBlob\r\nx-ms-structured-body: XSM/1.0; properties=crc64\r\nx-ms-structured-content-length: 5\r\nContent-Length: 20\r\n\r\n\x01abcdefghijklmnopqrs"),
    ]
    .into_iter()
    .map(String::into_bytes)
    .collect();
    for _ in 0..number("LAZULI_MUTATIONS", 3_000) {
        let mut bytes = chance.pick(&seeds).clone();
        for _ in 0..1 + chance.below(6) {
            mutate(&mut bytes, &mut chance);
        }
        if let Some((status, code)) = raw(fixture.address(), &bytes) {
            assert_ne!(status, 500, "{code} for {:?}", String::from_utf8_lossy(&bytes));
        }
    }
    fixture.still_well();
}

fn mutate(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len().max(1));
    match chance.below(5) {
        0 => bytes[at] = chance.draw() as u8,
        1 => drop(bytes.drain(at..(at + 1 + chance.below(8)).min(bytes.len()))),
        2 => bytes.insert(at, *chance.pick(b"\0\r\n%&=:/'\"<>+ \xff")),
        3 => bytes.truncate(at),
        _ => bytes.extend_from_within(at..(at + chance.below(64)).min(bytes.len())),
    }
    if bytes.is_empty() {
        bytes.push(b'G');
    }
}

#[test]
fn giant_heads_are_refused_within_bounds() {
    let fixture = Fixture::new("giant");
    let sas = account_sas();
    let name = format!("GET /{ACCOUNT}/abuse/{}?{sas} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(1 << 20));
    let header =
        format!("GET /{ACCOUNT}/abuse/a?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-meta-a: {}\r\n\r\n", "x".repeat(1 << 20));
    let many =
        format!("GET /{ACCOUNT}/abuse/a?{sas} HTTP/1.1\r\nHost: a\r\n{}\r\n", "x-ms-meta-a: b\r\n".repeat(10_000));
    for request in [name, header, many] {
        if let Some((status, code)) = raw(fixture.address(), request.as_bytes()) {
            assert!((400..500).contains(&status), "{status} {code}");
        }
    }
    let deep = format!("{}{}", "<BlockList>".repeat(100_000), "</BlockList>".repeat(100_000));
    let answer = Client::new(fixture.address())
        .send("PUT", "abuse/deep", "comp=blocklist", &[], deep.as_bytes())
        .expect("it answers");
    assert_eq!(answer.status, 400, "{}", answer.code());
    fixture.still_well();
}

/// H4: a head is at most 64 KiB, and long ones that are not finished share a pool. 1,500 of 480 kB took 1.6 GB.
#[test]
fn unfinished_heads_share_a_pool() {
    let fixture = Fixture::new("heads");
    raise_file_limit(10_500);
    let head = |bytes: usize| format!("GET /{ACCOUNT}/abuse?a={}", "x".repeat(bytes));
    let refused = raw(fixture.address(), format!("{} HTTP/1.1\r\nHost: a\r\n\r\n", head(70_000)).as_bytes());
    assert_eq!(refused.map(|(status, _)| status), Some(431));
    let long = raw(fixture.address(), format!("{} HTTP/1.1\r\nHost: a\r\n\r\n", head(60_000)).as_bytes());
    assert!(long.is_some_and(|(status, _)| status != 431), "a head of 60 kB is read");
    let before = fixture.server.resident_kib();
    let hold = |bytes: usize, count: usize| -> Vec<TcpStream> {
        let head = head(bytes);
        let open = |_| {
            let mut stream = connect(fixture.address()).expect("it accepts");
            stream.set_nonblocking(true).expect("a socket");
            // It may not take all of it, or hang up.
            let _ = stream.write(head.as_bytes());
            stream
        };
        (0..count).map(open).collect()
    };
    let held = (hold(60_000, 1_500), hold(480_000, 500));
    fixture.still_well();
    let grown = fixture.server.peak_kib().saturating_sub(before) >> 10;
    assert!(grown < 160, "{grown} MiB for heads");
    drop(held);
    fixture.still_well();
}

/// A body that stops, and one that was announced and never came: nothing is stored, nothing is kept.
#[test]
fn abandoned_bodies_leave_no_trace() {
    let fixture = Fixture::new("abandoned");
    let sas = account_sas();
    for (said, sent) in [(1_000usize, 10usize), (100_000, 50_000), (8 << 20, 6 << 20)] {
        for _ in 0..20 {
            let mut stream = connect(fixture.address()).expect("it accepts");
            let head = format!(
                "PUT /{ACCOUNT}/abuse/half?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: {said}\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b'x'; sent]);
            drop(stream);
        }
    }
    let answer = Client::new(fixture.address()).send("GET", "abuse/half", "", &[], &[]).expect("it answers");
    assert_eq!((answer.status, answer.code()), (404, "BlobNotFound"));
    fixture.still_well();
}

/// Connections that say nothing, or a little, cost little and keep nobody else out.
#[test]
fn ten_thousand_idle_connections() {
    let fixture = Fixture::new("idle");
    let wanted = number("LAZULI_CONNECTIONS", 10_000) as usize;
    raise_file_limit(wanted as u64 + 500);
    let mut idle: Vec<TcpStream> = Vec::with_capacity(wanted);
    for at in 0..wanted {
        let mut stream = connect(fixture.address()).unwrap_or_else(|error| panic!("connection {at}: {error}"));
        if at % 2 == 0 {
            stream.write_all(b"GET /devstoreaccount1/abuse?comp=li").expect("it takes a few bytes");
        }
        idle.push(stream);
    }
    fixture.still_well();
    drop(idle);
    fixture.still_well();
}

/// When all places are taken, connections that do nothing make room: long before their time is up, which is a minute, and ten seconds at the console.
#[test]
fn places_that_nobody_uses_are_given_to_others() {
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "places");
    let limited = ["sh", "-c", "ulimit -n 640; exec \"$0\" \"$@\""];
    let command = Server::command(&limited, env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]);
    let server = Server::launch(command).expect("the server starts");
    for (address, held, path, patience) in
        [(server.address, 140, "/devstoreaccount1/none", 30), (server.console(), 80, "/healthz", 8)]
    {
        let half = |_| {
            let mut stream = connect(address).expect("it is taken by the server, or by the kernel for it");
            stream.write_all(b"GET / HT").expect("a few bytes are taken");
            stream
        };
        let idle: Vec<TcpStream> = (0..held).map(half).collect();
        let mut stream = connect(address).expect("one more");
        stream.set_read_timeout(Some(Duration::from_secs(patience))).expect("a time");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it is taken");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it is answered while the others hold their places");
        assert!(answer.starts_with(b"HTTP/1.1"), "{path}");
        drop(idle);
    }
}

fn raise_file_limit(to: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: Some(to), maximum: limit.maximum.map(|maximum| maximum.max(to)) };
    setrlimit(Resource::Nofile, wanted).expect("room for the test's own connections");
}

/// Bytes on disk, holes left out.
fn used(directory: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory.join("extents")).expect("the extents");
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.blocks() * 512)).sum()
}

/// H3. A client that does not read its download keeps no space from coming back but that of its blob, and gets its bytes when it
/// goes on.
#[test]
fn a_stalled_reader_holds_only_what_it_reads() {
    const MIB: usize = 1 << 20;
    let fixture = Fixture::new("stalled-reader");
    let mut client = Client::new(fixture.address());
    let kind = [("x-ms-blob-type", "BlockBlob")];
    let bytes: Vec<u8> = (0..32 * MIB).map(|at| ((at * 13) >> 7) as u8).collect();
    let put = client.send("PUT", "abuse/read", "", &kind, &bytes).expect("it answers");
    assert_eq!(put.status, 201, "{}", put.code());
    let mut reader = BufReader::new(connect(fixture.address()).expect("it accepts"));
    let head = format!("GET /{ACCOUNT}/abuse/read?{} HTTP/1.1\r\nHost: a\r\n\r\n", account_sas());
    reader.get_mut().write_all(head.as_bytes()).expect("it takes the request");
    let mut first = [0; 12];
    reader.get_mut().peek(&mut first).expect("it begins to answer");

    let other = vec![b'o'; 16 * MIB];
    for _ in 0..12 {
        assert_eq!(client.send("PUT", "abuse/other", "", &kind, &other).expect("it answers").status, 201);
        assert_eq!(client.send("DELETE", "abuse/other", "", &[], &[]).expect("it answers").status, 202);
    }
    for number in 0..400 {
        let name = format!("abuse/small{}", number % 4);
        assert_eq!(client.send("PUT", &name, "", &kind, &other[..70_000]).expect("it answers").status, 201);
    }
    assert_eq!(client.send("DELETE", "abuse/read", "", &[], &[]).expect("it answers").status, 202);
    let mut chance = Chance::new(1);
    let mut falls_below = |bytes: usize| {
        (0..100).any(|_| {
            let done = used(&fixture._directory.0) < bytes as u64;
            if !done {
                pause(&mut chance);
            }
            done
        })
    };
    assert!(falls_below(40 * MIB), "{} bytes are held by who reads 32 MiB", used(&fixture._directory.0));
    assert!(used(&fixture._directory.0) >= 32 * MIB as u64, "what is read is there");
    let (answer, _) = read_answer(&mut reader, false).expect("it goes on");
    assert!(answer.status == 200 && answer.body == bytes, "the reader gets exactly its bytes");
    assert!(falls_below(8 * MIB), "{} bytes are held by nobody", used(&fixture._directory.0));
}

/// An answer that nobody reads does not pile up in memory.
#[test]
fn slow_readers_do_not_grow_the_server() {
    let fixture = Fixture::new("slow");
    let mut client = Client::new(fixture.address());
    let big = vec![b'z'; 32 << 20];
    let put = client.send("PUT", "abuse/big", "", &[("x-ms-blob-type", "BlockBlob")], &big).expect("it answers");
    assert_eq!(put.status, 201, "{}", put.code());
    let sas = account_sas();
    let readers: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = connect(fixture.address()).expect("it accepts");
            let head = format!("GET /{ACCOUNT}/abuse/big?{sas} HTTP/1.1\r\nHost: a\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("it takes the request");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("it begins to answer");
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    fixture.still_well();
    drop(readers);
}

/// The record of changes and refusals keeps its bound, however many clients race for one blob, and however long their names and headers are.
#[test]
fn the_record_keeps_its_bound() {
    const BYTES_MAX: u64 = 256 << 10;
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "record-bound");
    let flags = ["--recorder", &BYTES_MAX.to_string()];
    let server = Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &flags).expect("the server starts");
    let (address, console) = (server.address, server.console());
    Client::new(address).send("PUT", "abuse", "restype=container", &[], &[]).expect("it answers");
    let long = "a".repeat(900);
    let number = |name: &str, metrics: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{name} is missing from:\n{metrics}"))
    };
    let metrics = || {
        let mut stream = connect(console).expect("it accepts");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    };
    std::thread::scope(|scope| {
        for client in 0..4 {
            let long = &long;
            scope.spawn(move || {
                let mut client_of = Client::new(address);
                for turn in 0..300 {
                    let (agent, id) = ("b".repeat(4_000), format!("{client}-{turn}-{}", "c".repeat(800)));
                    let headers = [
                        ("x-ms-blob-type", "BlockBlob"),
                        ("user-agent", agent.as_str()),
                        ("x-ms-client-request-id", id.as_str()),
                        ("if-none-match", "*"),
                    ];
                    let path = format!(
                        "abuse/{}-{long}",
                        if turn % 2 == 0 { "raced".into() } else { id[..8].replace('c', "d") }
                    );
                    let answer = client_of.send("PUT", &path, "", &headers, b"x").expect("it answers");
                    assert!([201, 400, 409].contains(&answer.status), "{} {}", answer.status, answer.code());
                }
            });
        }
        for _ in 0..40 {
            let kept = number("lazuli_recorder_bytes ", &metrics());
            assert!(kept <= BYTES_MAX, "{kept} bytes are kept");
        }
    });
    let after = metrics();
    assert!(number("lazuli_recorder_bytes ", &after) <= BYTES_MAX);
    assert!(number("lazuli_recorder_dropped_total ", &after) > 0, "the record was never full");
    assert!(number("lazuli_recorder_records ", &after) > 50);
}
