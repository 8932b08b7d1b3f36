//! Three gateways on a Ceph cluster, clients that use any of them for any request, and bad days: gateways are killed and stopped, their
//! clocks differ, OSDs die, the monitor dies, the pool is full, the network is cut. What every client saw must have an order in which it
//! is true, so nothing acknowledged is lost, nothing happens twice, and nothing refused is seen.
//!
//! `conformance/histories` runs it. Needs LAZULI_CEPH_CONF, LAZULI_POOL and LAZULI_CEPH, where the cluster's files are: `conformance/ceph env` says
//! them. LAZULI_TORTURE_SECONDS says how long each bad day lasts; LAZULI_BINARY is the gateway, if it is not the one that was built for this test.

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
    /// How each gateway is started.
    starts: Vec<Start>,
    blobs: Mutex<Vec<Arc<Blob>>>,
    all: Mutex<Vec<Arc<Blob>>>,
    clock: AtomicU64,
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    longest_millis: AtomicU64,
    /// The longest time in which no change was acknowledged, and when that was last.
    silence_millis: AtomicU64,
    last_change: Mutex<Instant>,
    stop: AtomicBool,
}

fn binary() -> String {
    std::env::var("LAZULI_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_lazuli").into())
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

/// What stands before a gateway's command, and flags of its own.
#[derive(Clone, Debug, Default)]
struct Start {
    before: Vec<String>,
    flags: Vec<String>,
}

impl World {
    fn new(name: &str, starts: Vec<Start>, chance: &mut Chance) -> Arc<Self> {
        let container = format!("h{:x}-{}", chance.draw() ^ u64::from(std::process::id()), name);
        let world = Self {
            container,
            gateways: Mutex::default(),
            addresses: Mutex::default(),
            directory: Directory::new(env!("CARGO_TARGET_TMPDIR"), &format!("gateways-{name}")),
            starts,
            blobs: Mutex::default(),
            all: Mutex::default(),
            clock: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            longest_millis: AtomicU64::new(0),
            silence_millis: AtomicU64::new(0),
            last_change: Mutex::new(now()),
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
        let Start { before, flags } = self.starts.get(n).cloned().unwrap_or_default();
        let mut all = vec!["--engine", "rados", "--ceph-conf", &conf, "--pool", &pool, "--web-port", "0"];
        all.extend(flags.iter().map(String::as_str));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let directory = self.directory.0.join(n.to_string());
        std::fs::create_dir_all(&directory).expect("a directory");
        // A cluster in trouble may not let one in at once.
        for _ in 0..20 {
            match Server::launch(Server::command(&before, &binary(), &directory, &all)) {
                Ok(server) => return server,
                Err(error) => println!("a gateway did not start: {error}"),
            }
            rest(1_000);
        }
        panic!("a gateway does not start");
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
                self.changed();
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

    fn changed(&self) {
        let mut last = self.last_change.lock().unwrap();
        let silence = last.elapsed().as_millis() as u64;
        *last = now();
        self.silence_millis.fetch_max(silence, SeqCst);
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
            "{} calls were answered and {} not, the longest in {} ms; {} ms was the longest time without any change; {} histories, \
             {undecided} too long to judge",
            self.acknowledged.load(SeqCst),
            self.unknown.load(SeqCst),
            self.longest_millis.load(SeqCst),
            self.silence_millis.load(SeqCst),
            self.all.lock().unwrap().len(),
        );
        assert!(self.acknowledged.load(SeqCst) > 100, "too little happened");
    }
}

/// Lets clients work while `fault` is done again and again; then looks at every blob once more, and judges.
fn endure(name: &str, starts: Vec<Start>, mut fault: impl FnMut(&World, &mut Chance)) {
    let mut chance = Chance::new(seed(1));
    let world = World::new(name, starts, &mut chance);
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
    print!("{name}: ");
    world.judge();
}

fn restart(world: &World, n: usize) {
    let server = world.gateways.lock().unwrap()[n].take().expect("it runs");
    server.kill().expect("it was still there");
    let server = world.start(n);
    world.addresses.lock().unwrap()[n] = server.address;
    world.gateways.lock().unwrap()[n] = Some(server);
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command runs");
    assert!(status.success(), "{command:?}");
}

/// `conformance/ceph` with these words.
fn ceph(words: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/ceph");
    run(Command::new(script).args(words).arg(cluster("LAZULI_CEPH")));
}

#[test]
fn gateways_are_killed() {
    endure("killed", Vec::new(), |world, chance| restart(world, chance.below(GATEWAYS)));
}

#[test]
fn gateways_are_stopped() {
    endure("stopped", Vec::new(), |world, chance| {
        let n = chance.below(GATEWAYS);
        let signal =
            |name| world.gateways.lock().unwrap()[n].as_ref().expect("it runs").signal(name).expect("it is there");
        signal("STOP");
        rest(500 + chance.below(3_000) as u64);
        signal("CONT");
    });
}

/// One gateway's clock is five seconds ahead of the first one's, another's five seconds behind; and they are killed.
#[test]
fn clocks_are_apart() {
    // Not by the program faketime: it starts the gateway as a child, so that a kill would leave the gateway running.
    let library = "LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1";
    let shifted = |by: &str| Start {
        before: ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", &format!("FAKETIME={by}"), library].map(String::from).into(),
        ..Start::default()
    };
    let starts = vec![Start::default(), shifted("+5s"), shifted("-5s")];
    endure("clocks", starts, |world, chance| restart(world, chance.below(GATEWAYS)));
}

/// One at a time: the next one dies when all copies are whole again.
#[test]
fn osds_are_killed() {
    endure("osds", Vec::new(), |_, chance| {
        let osd = chance.below(3).to_string();
        ceph(&["osd", "kill", &osd]);
        rest(4_000);
        ceph(&["osd", "start", &osd]);
        ceph(&["clean"]);
    });
}

#[test]
fn the_monitor_restarts() {
    endure("monitor", Vec::new(), |_, chance| {
        ceph(&["mon", "kill"]);
        rest(500 + chance.below(3_000) as u64);
        ceph(&["mon", "start"]);
        ceph(&["clean"]);
    });
}

/// Writes are refused until there is room again; none of them happens later.
#[test]
fn the_pool_is_full() {
    let pool = cluster("LAZULI_POOL");
    endure("full", Vec::new(), |_, chance| {
        ceph(&["quota", &pool, "1"]);
        rest(6_000 + chance.below(3_000) as u64);
        ceph(&["quota", &pool, "0"]);
        rest(6_000);
    });
}

/// Each gateway is in a network of its own, with one link to the cluster and another to clients. Needs root, and a cluster that other
/// networks reach: conformance/histories makes one.
#[test]
fn the_network_is_cut() {
    let networks: Vec<Network> = (0..GATEWAYS).map(|n| Network::new(n, &cluster("LAZULI_CEPH_ADDRESS"))).collect();
    let starts = networks.iter().map(Network::start).collect();
    endure("network", starts, |_, chance| {
        let network = chance.pick(&networks);
        network.link("down");
        rest(500 + chance.below(12_000) as u64);
        network.link("up");
    });
}

struct Network(usize);

impl Network {
    fn new(n: usize, cluster: &str) -> Self {
        let this = Self(n);
        this.remove();
        ip(&format!("netns add lazuli{n}"));
        for (link, net) in [("c", 70), ("g", 80)] {
            ip(&format!("link add lz{link}{n} type veth peer name {link} netns lazuli{n}"));
            ip(&format!("addr add 10.231.{}.1/24 dev lz{link}{n}", net + n));
            ip(&format!("link set lz{link}{n} up"));
            ip(&format!("-n lazuli{n} addr add 10.231.{}.2/24 dev {link}", net + n));
            ip(&format!("-n lazuli{n} link set {link} up"));
        }
        ip(&format!("-n lazuli{n} link set lo up"));
        ip(&format!("-n lazuli{n} route add {cluster}/32 via 10.231.{}.1", 70 + n));
        this
    }

    fn start(&self) -> Start {
        let Self(n) = self;
        Start {
            before: ["ip", "netns", "exec", &format!("lazuli{n}")].map(String::from).into(),
            flags: vec!["--host".into(), format!("10.231.{}.2", 80 + n)],
        }
    }

    fn link(&self, state: &str) {
        ip(&format!("link set lzc{} {state}", self.0));
    }

    fn remove(&self) {
        // At first there is none, which is as good.
        let _ = Command::new("ip").args(["netns", "del", &format!("lazuli{}", self.0)]).output();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.remove();
    }
}

fn ip(words: &str) {
    run(Command::new("ip").args(words.split(' ')));
}
