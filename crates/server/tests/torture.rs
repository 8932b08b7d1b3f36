//! The real binary on a bad day: stopped, starved of disk, descriptors and honest clients, with a clock that jumps. After each: nothing
//! acknowledged is lost, nothing refused is there, the server serves again, and it never held more memory than it may.
//!
//! `./torture` runs this for longer. `LAZULI_TORTURE_SECONDS` says how long each fault lasts, `LAZULI_SEED` where to begin, and
//! `LAZULI_TORTURE_ALL` that a fault which this machine does not allow is a failure, instead of being passed over.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::{
    ACCOUNT, Answer, Client, KEY, account_sas, account_sas_until, connect, read_answer, real_time, shared_key,
};
use lazuli_testkit::faults::{Clock, Disk};
use lazuli_testkit::ledger::{self, Worker, pause, under_load};
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
/// No fault here may make the server hold more than this: its caches, what is yet to be written out, and a little for requests.
const RESIDENT_MAX_KIB: u64 = 1 << 20;
const WORKERS: usize = 6;

struct World {
    chance: Chance,
    workers: Vec<Worker>,
    directory: Directory,
}

impl World {
    fn new(name: &str) -> Self {
        let seed = seed(1);
        println!("LAZULI_SEED={seed} LAZULI_TORTURE_SECONDS={}", seconds());
        let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), &format!("torture-{name}"));
        let mut chance = Chance::new(seed);
        Self { workers: Worker::several(WORKERS, chance.draw()), chance, directory }
    }

    /// Load, while `fault` is done to the server again and again.
    fn endure(&mut self, address: SocketAddr, mut fault: impl FnMut(&mut Chance)) {
        let chance = &mut self.chance;
        under_load(&mut self.workers, address, || {
            let until = now() + Duration::from_secs(seconds());
            while now() < until {
                pause(chance);
                fault(chance);
            }
        });
    }

    fn troubled(&mut self, troubled: bool) {
        self.workers.iter_mut().for_each(|worker| worker.troubled = troubled);
    }

    fn acknowledged(&self) -> u64 {
        self.workers.iter().map(|worker| worker.acknowledged).sum()
    }

    fn troubles(&self) -> u64 {
        self.workers.iter().map(|worker| worker.troubles).sum()
    }
}

fn seconds() -> u64 {
    number("LAZULI_TORTURE_SECONDS", 3)
}

#[expect(clippy::disallowed_methods, reason = "how long to torture is real time; nothing is asserted about it")]
fn now() -> Instant {
    Instant::now()
}

fn well(server: &Server) {
    let peak = server.peak_kib();
    assert!(peak > 0 && peak < RESIDENT_MAX_KIB, "{peak} KiB were resident");
    println!("{peak} KiB resident at most");
}

/// What this machine does not allow is passed over, unless all was asked for.
fn allowed<T>(what: &str, got: std::io::Result<T>) -> Option<T> {
    match got {
        Ok(value) => Some(value),
        Err(error) if std::env::var_os("LAZULI_TORTURE_ALL").is_some() => panic!("{what}: {error}"),
        Err(error) => {
            println!("passed over: {what}: {error}");
            None
        }
    }
}

fn start(before: &[String], directory: &Path) -> Server {
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    Server::launch(Server::command(&before, BINARY, directory, &[])).expect("it starts")
}

#[test]
fn stopped_and_continued() {
    let mut world = World::new("stopped");
    let server = start(&[], &world.directory.0);
    ledger::create(&mut Client::new(server.address));
    world.endure(server.address, |chance| {
        server.signal("STOP").expect("it runs");
        pause(chance);
        server.signal("CONT").expect("it is stopped");
    });
    println!("{} changes acknowledged", world.acknowledged());
    ledger::verify(&mut world.workers, server.address);
    well(&server);
    server.signal("STOP").expect("it runs");
    server.kill().expect("also what is stopped can be killed");
    let server = start(&[], &world.directory.0);
    ledger::verify(&mut world.workers, server.address);
}

#[test]
fn a_full_disk() {
    let mut world = World::new("full");
    let Some(disk) = allowed("a small disk", Disk::small(&world.directory.0, 256)) else { return };
    let data = disk.path().join("data");
    let server = start(&disk.inside(), &data);
    ledger::create(&mut Client::new(server.address));
    world.endure(server.address, |_| {});
    let before = world.acknowledged();
    disk.fill().expect("a disk can be filled");
    world.troubled(true);
    world.endure(server.address, |_| {});
    assert!(world.troubles() > 0, "nobody noticed that the disk is full");
    println!("{before} changes acknowledged before, {} in all, {} refused", world.acknowledged(), world.troubles());
    // Reads go on, and so do deletes.
    ledger::verify(&mut world.workers, server.address);
    disk.empty().expect("and emptied");
    let mut client = Client::new(server.address);
    let again = eventually(|| {
        let put = client.send("PUT", "ledger/again", "", &[("x-ms-blob-type", "BlockBlob")], &[b'x'; 100_000]);
        put.is_ok_and(|answer| answer.status == 201)
    });
    assert!(again, "there is room again, and nothing is written");
    world.endure(server.address, |_| {});
    well(&server);
    server.kill().expect("it ran all the while");
    let server = start(&disk.inside(), &data);
    ledger::verify(&mut world.workers, server.address);
    server.stop().expect("it stops");
}

#[test]
fn a_disk_that_turns_read_only() {
    let mut world = World::new("read-only");
    let Some(disk) = allowed("an ext4 of its own", Disk::fragile(&world.directory.0, 512)) else { return };
    let data = disk.path().join("data");
    let server = start(&disk.inside(), &data);
    ledger::create(&mut Client::new(server.address));
    world.endure(server.address, |_| {});
    if allowed("an error in an ext4", disk.break_it()).is_none() {
        return;
    }
    world.troubled(true);
    world.endure(server.address, |_| {});
    assert!(world.troubles() > 0, "nobody noticed that the disk is read-only");
    println!("{} changes acknowledged, {} refused", world.acknowledged(), world.troubles());
    well(&server);
    server.kill().expect("it ran all the while");
    disk.repair().expect("the disk can be repaired");
    let server = start(&disk.inside(), &data);
    ledger::verify(&mut world.workers, server.address);
    server.stop().expect("it stops");
}

/// Tries for a while; nothing is asserted about how long.
fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let mut chance = Chance::new(1);
    (0..60).any(|_| {
        let well = done();
        if !well {
            pause(&mut chance);
        }
        well
    })
}

const HOUR: i64 = 3600;

fn put(client: &mut Client, headers: &[(&str, &str)]) -> Answer {
    let headers = [&[("x-ms-blob-type", "BlockBlob")], headers].concat();
    client.send("PUT", "ledger/clock", "", &headers, b"tick").expect("it answers")
}

/// ETags are times, and never go back.
fn tag(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 201, "{}", answer.code());
    let digits = answer.header("etag").and_then(|tag| tag.trim_matches('"').strip_prefix("0x")).unwrap_or_default();
    u64::from_str_radix(digits, 16).expect("a tag of ours")
}

#[test]
fn a_clock_that_jumps() {
    let mut world = World::new("clock");
    let Some(clock) = allowed("a clock of its own", Clock::new(&world.directory.0)) else { return };
    let data = world.directory.0.join("data");
    let start = || {
        let mut command = Server::command(&[], BINARY, &data, &[]);
        clock.rules(&mut command);
        Server::launch(command).expect("it starts")
    };
    let server = start();
    ledger::create(&mut Client::new(server.address));
    let mut client = Client::new(server.address);
    let mut last = tag(&put(&mut client, &[]));
    let mut latest = 0;
    world.endure(server.address, |chance| {
        let offset = (chance.below(200) as i64 - 100) * HOUR / 4;
        latest = latest.max(offset);
        clock.set(offset).expect("the clock can be set");
        let next = tag(&put(&mut client, &[]));
        assert!(next > last, "time went back from {last:X} to {next:X} with the clock at {offset} s");
        last = next;
    });
    // A lease lasts as long as it lasts, and no clock that is put back or ahead makes that longer or shorter.
    clock.set(latest).expect("the clock can be set");
    let lease = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "30")];
    let leased = client.send("PUT", "ledger/clock", "comp=lease", &lease, &[]).expect("it answers");
    assert_eq!(leased.status, 201, "{}", leased.code());
    clock.set(latest - 24 * HOUR).expect("the clock can be set");
    assert_eq!(put(&mut client, &[]).code(), "LeaseIdMissing", "a clock that is put back does not end a lease");
    clock.set(latest + 24 * HOUR).expect("the clock can be set");
    assert_eq!(put(&mut client, &[]).code(), "LeaseIdMissing", "nor does one that jumps ahead");
    clock.set(latest - 24 * HOUR).expect("the clock can be set");
    server.kill().expect("it ran all the while");
    let server = start();
    let mut client = Client::new(server.address);
    assert_eq!(put(&mut client, &[]).code(), "LeaseIdMissing", "nor does a restart with such a clock");
    let ended = (0..5).any(|_| eventually(|| put(&mut client, &[]).status == 201));
    assert!(ended && tag(&put(&mut client, &[])) > last, "the lease has run out, and time has gone on");
    ledger::verify(&mut world.workers, server.address);
    well(&server);
}

const YEAR: i64 = 365 * 24 * HOUR;
const MESSAGE: &[u8] = b"<QueueMessage><MessageText>tick</MessageText></QueueMessage>";

/// How clients sign in earnest: by the time of day, with keys and signatures that soon end.
fn sign_in(server: &Server) -> [u16; 2] {
    let headers = shared_key("GET", "ledger", "restype=container", real_time());
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut by_key = Client::with_sas(server.address, String::new());
    let by_key = by_key.send("GET", "ledger", "restype=container", &headers, &[]).expect("it answers");
    let until = real_time().plus_seconds(30 * 24 * 3600).to_iso_seconds();
    let mut by_sas = Client::with_sas(server.address, account_sas_until(ACCOUNT, KEY, &until));
    let by_sas = by_sas.send("GET", "ledger", "restype=container", &[], &[]).expect("it answers");
    [by_key.status, by_sas.status]
}

fn messages(server: &Server) -> String {
    let mut queues = Client::new(server.endpoint("Queue"));
    let peeked = queues.send("GET", "clock/messages", "peekonly=true", &[], &[]).expect("it answers");
    assert_eq!(peeked.status, 200, "{}", peeked.code());
    String::from_utf8(peeked.body).expect("XML")
}

/// H2. A clock that jumps ahead for a moment locks nobody out and lets nothing expire, then or after a restart.
#[test]
fn a_clock_that_jumps_for_a_moment() {
    let world = World::new("moment");
    let Some(clock) = allowed("a clock of its own", Clock::new(&world.directory.0)) else { return };
    let data = world.directory.0.join("data");
    let start = || {
        let mut command = Server::command(&[], BINARY, &data, &[]);
        clock.rules(&mut command);
        Server::launch(command).expect("it starts")
    };
    let server = start();
    ledger::create(&mut Client::new(server.address));
    let mut queues = Client::new(server.endpoint("Queue"));
    assert_eq!(queues.send("PUT", "clock", "", &[], &[]).expect("it answers").status, 201);
    let week = queues.send("POST", "clock/messages", "messagettl=604800", &[], MESSAGE).expect("it answers");
    assert_eq!(week.status, 201, "{}", week.code());
    let before = tag(&put(&mut Client::new(server.address), &[]));
    assert_eq!(sign_in(&server), [200, 200]);

    clock.set(YEAR).expect("the clock can be set");
    let mut stranger = Client::with_sas(server.address, String::new());
    let refused = stranger.send("GET", "ledger/clock", "", &[], &[]).expect("it answers");
    assert!((400..500).contains(&refused.status), "{}", refused.status);
    let meanwhile = tag(&put(&mut Client::new(server.address), &[]));
    assert!(before < meanwhile && meanwhile - before < YEAR as u64 * 10_000_000 / 2, "the jump was not followed");
    assert_eq!(sign_in(&server), [403, 403], "credentials are judged by the clock of the moment");
    let metrics = Client::with_sas(server.console(), String::new()).page("/metrics").expect("it answers");
    assert!(metrics.contains("lazuli_clock_jumps_total 1"), "{metrics}");
    clock.set(0).expect("the clock can be set");
    assert_eq!(sign_in(&server), [200, 200], "the clock is right again");
    assert!(messages(&server).contains("tick"), "a week has not passed");

    server.kill().expect("it ran all the while");
    let server = start();
    assert_eq!(sign_in(&server), [200, 200], "and so it is after a restart");
    assert!(messages(&server).contains("tick"), "a week has not passed");
    assert!(tag(&put(&mut Client::new(server.address), &[])) > meanwhile);
    well(&server);
}

/// H2. A directory that was written by a clock far ahead is served, says so, and can be set back.
#[test]
fn a_directory_from_the_future() {
    let world = World::new("future");
    let Some(clock) = allowed("a clock of its own", Clock::new(&world.directory.0)) else { return };
    let data = world.directory.0.join("data");
    let start = || {
        let mut command = Server::command(&[], BINARY, &data, &[]);
        clock.rules(&mut command);
        Server::launch(command).expect("it starts")
    };
    clock.set(YEAR).expect("the clock can be set");
    let server = start();
    ledger::create(&mut Client::new(server.address));
    let future = tag(&put(&mut Client::new(server.address), &[]));
    let mut queues = Client::new(server.endpoint("Queue"));
    assert_eq!(queues.send("PUT", "clock", "", &[], &[]).expect("it answers").status, 201);
    let taken = queues.send("POST", "clock/messages", "", &[], MESSAGE).expect("it answers");
    assert_eq!(taken.status, 201, "{}", taken.code());
    let got = queues.send("GET", "clock/messages", "visibilitytimeout=600000", &[], &[]).expect("it answers");
    assert_eq!(got.status, 200, "{}", got.code());
    server.kill().expect("it ran all the while");
    clock.set(0).expect("the clock can be set");

    let server = start();
    assert_eq!(sign_in(&server), [200, 200], "who signs by the time of day is let in");
    assert!(tag(&put(&mut Client::new(server.address), &[])) > future, "time does not go back");
    server.stop().expect("it stops");
    let lazuli = |words: &[&str]| {
        let run = Command::new(BINARY).args(words).arg("--location").arg(&data).output().expect("it runs");
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    assert!(lazuli(&["clock"]).1.contains("is ahead"));
    assert!(lazuli(&["clock", "set-back"]).0, "it is set back");
    assert!(!lazuli(&["clock", "set-back"]).0, "there is nothing more to set back");
    let server = start();
    assert_eq!(sign_in(&server), [200, 200]);
    let now = tag(&put(&mut Client::new(server.address), &[]));
    assert!(now < future && now > real_time().ticks() - 10_000_000 * 3600, "new times are right");
    let mut queues = Client::new(server.endpoint("Queue"));
    let sent = queues.send("POST", "clock/messages", "", &[], MESSAGE).expect("it answers");
    assert_eq!(sent.status, 201, "{}", sent.code());
    let got = queues.send("GET", "clock/messages", "", &[], &[]).expect("it answers");
    assert!(String::from_utf8_lossy(&got.body).contains("tick"), "a queue hands out what was put after that");
}

/// H4. Uploads that stall hold no more memory together than is stated, and one that goes on is served.
#[test]
fn stalled_uploads() {
    const LENGTH: usize = 4 << 20;
    let world = World::new("stalled");
    let server = start(&[], &world.directory.0);
    let address = server.address;
    ledger::create(&mut Client::new(address));
    let sas = account_sas();
    let bytes: Vec<u8> = (0..LENGTH).map(|at| ((at * 7) >> 3) as u8).collect();
    let mut stalled: Vec<TcpStream> = (0..400)
        .map(|number| {
            let mut stream = connect(address).expect("it accepts");
            let head = format!(
                "PUT /{ACCOUNT}/ledger/stalled{number}?comp=block&blockid=QUFB&{sas} HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).expect("it takes the head");
            stream.write_all(&bytes[..1_600_000]).expect("it takes part of a body");
            stream
        })
        .collect();
    let mut client = Client::new(address);
    let put = client.send("PUT", "ledger/goes-on", "", &[("x-ms-blob-type", "BlockBlob")], &bytes).expect("it answers");
    assert_eq!(put.status, 201, "{}", put.code());
    println!("{} KiB resident with 400 stalled uploads", server.resident_kib());
    let mut last = stalled.pop().expect("there are 400");
    last.write_all(&bytes[1_600_000..]).expect("it takes the rest");
    let (answer, _) = read_answer(&mut BufReader::new(last), false).expect("it answers");
    assert_eq!(answer.status, 201, "{}", answer.code());
    let list = b"<BlockList><Latest>QUFB</Latest></BlockList>";
    let committed = client.send("PUT", "ledger/stalled399", "comp=blocklist", &[], list).expect("it answers");
    assert_eq!(committed.status, 201, "{}", committed.code());
    let got = client.send("GET", "ledger/stalled399", "", &[], &[]).expect("it answers");
    assert!(got.status == 200 && got.body == bytes, "what stalled and went on is whole");
    well(&server);
    drop(stalled);
}

#[test]
fn too_few_descriptors() {
    let mut world = World::new("descriptors");
    let limited = ["sh", "-c", "ulimit -n 128; exec \"$0\" \"$@\""].map(str::to_owned);
    let server = start(&limited, &world.directory.0);
    let address = server.address;
    ledger::create(&mut Client::new(address));
    world.troubled(true);
    world.endure(address, |chance| {
        // More than it can have: some wait in the kernel, with the workers, until that has no room for them either.
        let knock = |_| TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
        let mut held: Vec<TcpStream> = (0..300).map_while(knock).collect();
        for stream in &mut held {
            let _ = stream.write_all(b"GET /devstoreaccount1/ledger?comp=li");
        }
        pause(chance);
    });
    println!("{} changes acknowledged, {} refused", world.acknowledged(), world.troubles());
    let mut client = Client::new(address);
    assert!(eventually(|| client.send("GET", "ledger", "restype=container", &[], &[]).is_ok()), "it serves again");
    ledger::verify(&mut world.workers, address);
    world.endure(address, |_| {});
    well(&server);
    server.kill().expect("it ran all the while");
    let server = start(&[], &world.directory.0);
    ledger::verify(&mut world.workers, server.address);
}

/// Heads and bodies that come a byte at a time keep nobody else out, and leave nothing behind.
#[test]
fn slow_senders() {
    let mut world = World::new("slow");
    let server = start(&[], &world.directory.0);
    let address = server.address;
    ledger::create(&mut Client::new(address));
    let sas = account_sas();
    let head = format!(
        "PUT /{ACCOUNT}/ledger/slow?{sas} HTTP/1.1\r\nHost: a\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 1000000\r\n\r\n"
    );
    let mut senders: Vec<TcpStream> = (0..400).map(|_| connect(address).expect("it accepts")).collect();
    let mut sent = 0;
    let whole = head.len();
    world.endure(address, |_| {
        for (at, sender) in senders.iter_mut().enumerate() {
            // Half of them never end their head; the others go on with a body that never ends.
            let next = match at % 2 {
                0 => head.as_bytes()[sent % (whole - 4)..].first().copied().into_iter().collect(),
                _ if sent == 0 => head.clone().into_bytes(),
                _ => b"x".to_vec(),
            };
            let _ = sender.write_all(&next);
        }
        sent += 1;
    });
    drop(senders);
    ledger::verify(&mut world.workers, address);
    let gone = Client::new(address).send("GET", "ledger/slow", "", &[], &[]).expect("it answers");
    assert_eq!((gone.status, gone.code()), (404, "BlobNotFound"));
    well(&server);
}

/// Writes itself in parts, for as long as somebody takes them.
type Document = fn(&mut dyn FnMut(&[u8]) -> bool);

/// A document that is small on the wire and large in a careless reader, or large on the wire and nothing in it.
struct Bomb {
    name: &'static str,
    document: Document,
}

const BLANKS: usize = 100 << 20;

const BOMBS: &[Bomb] = &[
    Bomb {
        name: "entities within entities",
        document: |write| {
            write(b"<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY x0 \"boom\">");
            for level in 1..30 {
                write(format!("<!ENTITY x{level} \"&x{0};&x{0};&x{0};&x{0};\">", level - 1).as_bytes());
            }
            write(b"]><a>&x29;</a>");
        },
    },
    Bomb { name: "a million elements within each other", document: |write| while_it_takes(write, 1_000_000, b"<a>") },
    Bomb { name: "a million elements", document: |write| while_it_takes(write, 1_000_000, b"<a/>") },
    Bomb {
        name: "an element with a million attributes",
        document: |write| {
            write(b"<a ");
            while_it_takes(write, 1_000_000, b"b=\"c\" ");
        },
    },
    Bomb {
        name: "blanks",
        document: |write| {
            write(b"<BlockList>");
            while_it_takes(write, BLANKS >> 16, &[b' '; 1 << 16]);
        },
    },
    Bomb { name: "arrays within each other", document: |write| while_it_takes(write, 2_000_000, b"[") },
    Bomb { name: "objects within each other", document: |write| while_it_takes(write, 1_000_000, b"{\"a\":") },
    Bomb {
        name: "a million parts",
        document: |write| {
            while_it_takes(write, 500_000, b"--b\r\nContent-Type: application/http\r\n\r\n");
        },
    },
];

fn while_it_takes(write: &mut dyn FnMut(&[u8]) -> bool, times: usize, piece: &[u8]) {
    // In pieces that are worth a call.
    let many = (64 << 10) / piece.len() + 1;
    let block = piece.repeat(many.min(times));
    for _ in 0..times.div_ceil(many) {
        if !write(&block) {
            return;
        }
    }
}

#[test]
fn documents_that_explode() {
    let world = World::new("documents");
    let server = start(&[], &world.directory.0);
    ledger::create(&mut Client::new(server.address));
    let (blob, queue, table, file) =
        (server.address, server.endpoint("Queue"), server.endpoint("Table"), server.endpoint("File"));
    let json = "Content-Type: application/json\r\nAccept: application/json\r\n";
    let atom = "Content-Type: application/atom+xml\r\nx-ms-version: 2013-08-15\r\n";
    let mixed = "Content-Type: multipart/mixed; boundary=b\r\n";
    let places = [
        (blob, "PUT", "ledger/b?comp=blocklist", ""),
        (blob, "PUT", "ledger?restype=container&comp=acl", ""),
        (blob, "PUT", "ledger/b?comp=tags", ""),
        (blob, "PUT", "?restype=service&comp=properties", ""),
        (blob, "POST", "ledger/b?comp=query", ""),
        (blob, "POST", "?comp=batch", mixed),
        (queue, "POST", "q/messages?", ""),
        (queue, "PUT", "q?comp=acl", ""),
        (table, "POST", "Tables?", json),
        (table, "POST", "t?", json),
        (table, "POST", "t?", atom),
        (table, "POST", "$batch?", mixed),
        (file, "PUT", "s?restype=share&comp=filepermission", ""),
        (file, "PUT", "s?restype=share&comp=acl", ""),
    ];
    for (address, method, target, headers) in places {
        for bomb in BOMBS {
            let answer = throw(address, method, target, headers, bomb);
            // It may hang up on a client that goes on.
            if let Some(answer) = answer {
                let refused = (400..500).contains(&answer.status) || answer.status == 202;
                assert!(refused, "{} at {method} {target}: {} {}", bomb.name, answer.status, answer.code());
            }
        }
        let resident = server.peak_kib();
        assert!(resident < RESIDENT_MAX_KIB, "{method} {target}: {resident} KiB resident");
    }
    deep_expressions(blob, table);
    well(&server);
    let got = Client::new(blob).send("GET", "ledger", "restype=container", &[], &[]).expect("it answers");
    assert_eq!(got.status, 200);
}

/// Chunked, so that nothing says how long it will be.
fn throw(address: SocketAddr, method: &str, target: &str, headers: &str, bomb: &Bomb) -> Option<Answer> {
    let mut stream = connect(address).expect("it accepts");
    let version = if headers.contains("x-ms-version") { "" } else { "x-ms-version: 2023-11-03\r\n" };
    let head = format!(
        "{method} /{ACCOUNT}/{target}&{} HTTP/1.1\r\nHost: a\r\n{version}{headers}Transfer-Encoding: chunked\r\n\r\n",
        account_sas()
    );
    stream.write_all(head.as_bytes()).expect("it takes a head");
    let mut going = true;
    (bomb.document)(&mut |piece| {
        let framed = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        going = going && stream.write_all(&framed).is_ok();
        going
    });
    let _ = stream.write_all(b"0\r\n\r\n");
    read_answer(&mut BufReader::new(stream), false).ok().map(|(answer, _)| answer)
}

/// Small languages nested as deep as a head has room for, and a query over what is nested.
fn deep_expressions(blob: SocketAddr, table: SocketAddr) {
    let (mut blobs, mut tables) = (Client::new(blob), Client::new(table));
    let deep = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(20_000), close.repeat(20_000));
    let filters = [deep("(", "a", ")"), deep("not%20", "a", ""), format!("a{}", "%20or%20a".repeat(20_000))];
    for filter in filters {
        let answer = tables.send("GET", "t()", &format!("$filter={filter}"), &[], &[]).expect("it answers");
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    for search in [deep("(", "a%3D'b'", ")"), format!("a%3D'b'{}", "%20AND%20a%3D'b'".repeat(10_000))] {
        let answer = blobs.send("GET", "", &format!("comp=blobs&where={search}"), &[], &[]).expect("it answers");
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    let nested = deep("[", "1", "]");
    let put = blobs.send("PUT", "ledger/deep", "", &[("x-ms-blob-type", "BlockBlob")], nested.as_bytes());
    assert_eq!(put.expect("it answers").status, 201);
    let long = format!("SELECT 1{} FROM BlobStorage", "+1".repeat(100_000));
    let wide = format!("SELECT * FROM BlobStorage WHERE _1 = 1{}", " OR _1 = 1".repeat(20_000));
    for expression in [long.as_str(), wide.as_str(), "SELECT * FROM BlobStorage"] {
        let document = format!(
            "<QueryRequest><QueryType>SQL</QueryType><Expression>{expression}</Expression><InputSerialization><Format>\
             <Type>json</Type></Format></InputSerialization></QueryRequest>"
        );
        let answer = blobs.send("POST", "ledger/deep", "comp=query", &[], document.as_bytes()).expect("it answers");
        assert!(answer.status < 500, "{}", answer.status);
    }
}

/// With all faults asked for, what is missing is told before anything runs.
#[test]
fn what_torture_needs() {
    if std::env::var_os("LAZULI_TORTURE_ALL").is_none() {
        return;
    }
    for tool in ["unshare", "nsenter", "mkfs.ext4", "e2fsck", "findmnt", "cc"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().expect("a shell");
        assert!(found.status.success(), "torture needs {tool}");
    }
}
