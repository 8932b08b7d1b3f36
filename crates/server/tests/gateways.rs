//! Three gateways on a Ceph cluster, clients that use any of them for any request, and bad days: gateways are killed and stopped, OSDs
//! die. What every client saw must have an order in which it is true, so nothing acknowledged is lost, nothing happens twice, and
//! nothing refused is seen.
//!
//! Needs `conformance/ceph up`, and LAZULI_CEPH_CONF and LAZULI_POOL from `conformance/ceph env`. LAZULI_TORTURE_SECONDS says how long each bad
//! day lasts; LAZULI_CEPH, where the cluster's files are (for killing OSDs).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::Client;
use lazuli_testkit::linear::{Event, Specification, check_within};
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
const GATEWAYS: usize = 3;
const WORKERS: usize = 6;
/// Blobs that are fought over at once.
const BLOBS: usize = 3;
/// Calls to one blob, before another one takes its place: what the judge can take in.
const CALLS: usize = 100;
const JUDGE_TRIES: usize = 5_000_000;

#[derive(Clone, Debug)]
enum Call {
    Put(u64),
    /// Puts the second if the blob holds the first.
    Replace(u64, u64),
    Create(u64),
    Delete,
    Read,
}

#[derive(Clone, Debug, PartialEq)]
enum Said {
    Done,
    Refused,
    Holds(Option<u64>),
}

/// A blob: nothing, or a number.
struct Register;

impl Specification for Register {
    type State = Option<u64>;
    type Op = Call;
    type Answer = Said;

    fn initial(&self) -> Option<u64> {
        None
    }

    fn step(&self, state: &Option<u64>, call: &Call, said: Option<&Said>) -> Vec<Option<u64>> {
        let (after, expected) = match call {
            Call::Put(value) => (Some(*value), Said::Done),
            Call::Replace(old, new) if *state == Some(*old) => (Some(*new), Said::Done),
            Call::Create(value) if state.is_none() => (Some(*value), Said::Done),
            Call::Delete if state.is_some() => (None, Said::Done),
            Call::Replace(..) | Call::Create(_) | Call::Delete => (*state, Said::Refused),
            Call::Read => (*state, Said::Holds(*state)),
        };
        if said.is_none_or(|said| *said == expected) { vec![after] } else { Vec::new() }
    }

    fn is_inert(&self, call: &Call, said: &Said) -> bool {
        matches!((call, said), (Call::Read, _) | (_, Said::Refused))
    }
}

/// A blob, what it was asked, and what it said.
struct Blob {
    name: String,
    begun: AtomicUsize,
    events: Mutex<Vec<Event<Call, Said>>>,
    /// The number that an ETag stands for.
    etags: Mutex<HashMap<u64, String>>,
}

struct World {
    container: String,
    gateways: Mutex<Vec<Option<Server>>>,
    addresses: Mutex<Vec<SocketAddr>>,
    directory: Directory,
    blobs: Mutex<Vec<Arc<Blob>>>,
    all: Mutex<Vec<Arc<Blob>>>,
    clock: AtomicU64,
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    longest_millis: AtomicU64,
    stop: AtomicBool,
}

fn cluster(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: see conformance/ceph env"))
}

#[expect(clippy::disallowed_methods, reason = "how long a bad day lasts")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "between two faults")]
fn rest(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

impl World {
    fn new(name: &str, chance: &mut Chance) -> Arc<Self> {
        let container = format!("h{:x}-{}", chance.draw() ^ u64::from(std::process::id()), name);
        let world = Self {
            container,
            gateways: Mutex::default(),
            addresses: Mutex::default(),
            directory: Directory::new(env!("CARGO_TARGET_TMPDIR"), &format!("gateways-{name}")),
            blobs: Mutex::default(),
            all: Mutex::default(),
            clock: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            longest_millis: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        for n in 0..GATEWAYS {
            let server = world.start(n);
            world.addresses.lock().unwrap().push(server.address);
            world.gateways.lock().unwrap().push(Some(server));
        }
        let made = Client::new(world.addresses.lock().unwrap()[0]).send(
            "PUT",
            &world.container,
            "restype=container",
            &[],
            &[],
        );
        assert_eq!(made.expect("a gateway answers").status, 201);
        for _ in 0..BLOBS {
            let blob = world.new_blob();
            world.blobs.lock().unwrap().push(blob);
        }
        Arc::new(world)
    }

    fn start(&self, n: usize) -> Server {
        let (conf, pool) = (cluster("LAZULI_CEPH_CONF"), cluster("LAZULI_POOL"));
        let flags =
            ["--engine", "rados", "--ceph-conf", &conf, "--pool", &pool, "--ceph-user", "admin", "--web-port", "0"];
        let directory = self.directory.0.join(n.to_string());
        std::fs::create_dir_all(&directory).expect("a directory");
        Server::start(BINARY, &directory, &flags).expect("a gateway starts")
    }

    fn new_blob(&self) -> Arc<Blob> {
        let number = self.all.lock().unwrap().len();
        let blob = Arc::new(Blob {
            name: format!("{}/b{number}", self.container),
            begun: AtomicUsize::new(0),
            events: Mutex::default(),
            etags: Mutex::default(),
        });
        self.all.lock().unwrap().push(blob.clone());
        blob
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    /// A blob that can still be asked something.
    fn blob(&self, chance: &mut Chance) -> Arc<Blob> {
        let at = chance.below(BLOBS);
        let mut blobs = self.blobs.lock().unwrap();
        if blobs[at].begun.fetch_add(1, SeqCst) >= CALLS {
            blobs[at] = self.new_blob();
            blobs[at].begun.fetch_add(1, SeqCst);
        }
        blobs[at].clone()
    }

    fn work(&self, id: usize, mut chance: Chance) {
        let mut clients: HashMap<SocketAddr, Client> = HashMap::new();
        while !self.stop.load(SeqCst) {
            let blob = self.blob(&mut chance);
            let address = *chance.pick(&self.addresses.lock().unwrap());
            let client = clients.entry(address).or_insert_with(|| Client::new(address));
            self.call(id, &blob, client, &mut chance);
        }
    }

    fn call(&self, id: usize, blob: &Blob, client: &mut Client, chance: &mut Chance) {
        let value = self.tick() + 1;
        let known: Vec<(u64, String)> = blob.etags.lock().unwrap().iter().map(|(n, etag)| (*n, etag.clone())).collect();
        let old = known.iter().max();
        let (call, headers) = match (chance.below(10), old) {
            (0..=1, _) => (Call::Put(value), vec![]),
            (2..=5, Some((old, etag))) => (Call::Replace(*old, value), vec![("If-Match", etag.as_str())]),
            (6, _) => (Call::Create(value), vec![("If-None-Match", "*")]),
            (7, _) => (Call::Delete, vec![]),
            (_, _) => (Call::Read, vec![]),
        };
        let mut headers = headers;
        headers.push(("x-ms-blob-type", "BlockBlob"));
        let method = match &call {
            Call::Put(_) | Call::Replace(..) | Call::Create(_) => "PUT",
            Call::Delete => "DELETE",
            Call::Read => "GET",
        };
        // Some are inline, some are objects of their own.
        let mut body = format!("{value} ").into_bytes();
        if value.is_multiple_of(5) {
            body.resize(40_000, b' ');
        }
        let body = if method == "PUT" { &body[..] } else { &[] };
        let (called, begun) = (self.tick(), now());
        let answer = client.send(method, &blob.name, "", &headers, body);
        let took = begun.elapsed().as_millis() as u64;
        self.longest_millis.fetch_max(took, SeqCst);
        let said = answer.as_ref().ok().and_then(|answer| match (answer.status, &call) {
            (200, Call::Read) => {
                let text = String::from_utf8_lossy(&answer.body);
                let value = text.trim().parse().unwrap_or_else(|_| panic!("{} holds {text:?}", blob.name));
                blob.etags.lock().unwrap().insert(value, answer.header("etag").unwrap_or_default().into());
                Some(Said::Holds(Some(value)))
            }
            (404, Call::Read) => Some(Said::Holds(None)),
            (201 | 202, _) => {
                if let (Some(etag), Call::Put(_) | Call::Replace(..) | Call::Create(_)) = (answer.header("etag"), &call)
                {
                    blob.etags.lock().unwrap().insert(value, etag.into());
                }
                Some(Said::Done)
            }
            (404 | 409 | 412, _) => Some(Said::Refused),
            (500.., _) => None,
            (status, _) => panic!("{call:?} of {}: {status} {}", blob.name, answer.code()),
        });
        match &said {
            Some(_) => self.acknowledged.fetch_add(1, SeqCst),
            None => self.unknown.fetch_add(1, SeqCst),
        };
        if said.is_none() && matches!(call, Call::Read) {
            return;
        }
        let returned = said.map(|said| (said, self.tick()));
        blob.events.lock().unwrap().push(Event { client: id, op: call, called, returned });
        if answer.is_err() {
            rest(50);
        }
    }

    fn judge(&self) {
        let mut undecided = 0;
        for blob in self.all.lock().unwrap().iter() {
            let events = blob.events.lock().unwrap();
            match check_within(&Register, &events, JUDGE_TRIES) {
                Ok(true) => {}
                Ok(false) => undecided += 1,
                Err(violation) => panic!("{}: {violation:?}", blob.name),
            }
        }
        println!(
            "{} calls were answered and {} not, the longest in {} ms; {} histories, {undecided} too long to judge",
            self.acknowledged.load(SeqCst),
            self.unknown.load(SeqCst),
            self.longest_millis.load(SeqCst),
            self.all.lock().unwrap().len(),
        );
        assert!(self.acknowledged.load(SeqCst) > 100, "too little happened");
    }
}

/// Lets clients work while `fault` is done again and again; then looks at every blob once more, and judges.
fn endure(name: &str, mut fault: impl FnMut(&World, &mut Chance)) {
    let mut chance = Chance::new(seed(1));
    let world = World::new(name, &mut chance);
    let workers: Vec<_> = (0..WORKERS)
        .map(|id| {
            let (world, chance) = (world.clone(), Chance::new(chance.draw()));
            std::thread::spawn(move || world.work(id, chance))
        })
        .collect();
    let until = now() + Duration::from_secs(number("LAZULI_TORTURE_SECONDS", 15));
    while now() < until {
        rest(300 + chance.below(700) as u64);
        fault(&world, &mut chance);
    }
    rest(2_000);
    world.stop.store(true, SeqCst);
    workers.into_iter().for_each(|worker| worker.join().expect("a worker saw nothing that cannot be"));
    world.judge();
}

#[test]
fn gateways_are_killed() {
    endure("killed", |world, chance| {
        let n = chance.below(GATEWAYS);
        let server = world.gateways.lock().unwrap()[n].take().expect("it runs");
        server.kill().expect("it was still there");
        let server = world.start(n);
        world.addresses.lock().unwrap()[n] = server.address;
        world.gateways.lock().unwrap()[n] = Some(server);
    });
}

#[test]
fn gateways_are_stopped() {
    endure("stopped", |world, chance| {
        let n = chance.below(GATEWAYS);
        let signal =
            |name| world.gateways.lock().unwrap()[n].as_ref().expect("it runs").signal(name).expect("it is there");
        signal("STOP");
        rest(500 + chance.below(3_000) as u64);
        signal("CONT");
    });
}

#[test]
fn osds_are_killed() {
    let Ok(ceph) = std::env::var("LAZULI_CEPH") else {
        println!("passed over: LAZULI_CEPH does not say where the cluster's files are");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/ceph");
    endure("osds", |_, chance| {
        let osd = chance.below(3).to_string();
        let run = |word| {
            let status = Command::new(&script).args(["osd", word, &osd, &ceph]).status().expect("the script runs");
            assert!(status.success());
        };
        run("kill");
        rest(4_000);
        run("start");
        rest(6_000);
    });
}
