//! A damaged data directory, as an operator meets it: the server says what is damaged and does not start, nothing is changed meanwhile, `lazuli check`
//! lists it, and `lazuli salvage` saves the rest.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lazuli_testkit::client::Client;
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
const BLOBS: usize = 60;

/// Some are in rows, some in extents.
fn content(number: usize) -> Vec<u8> {
    let length = if number.is_multiple_of(5) { 40_000 } else { 400 };
    (0..length).map(|at| (1 + (number * 7 + at) % 250) as u8).collect()
}

fn fill(server: &Server) {
    let mut client = Client::new(server.address);
    assert_eq!(client.send("PUT", "kept", "restype=container", &[], &[]).expect("it answers").status, 201);
    for number in 0..BLOBS {
        let headers = [("x-ms-blob-type", "BlockBlob")];
        let put = client.send("PUT", &format!("kept/blob{number}"), "", &headers, &content(number));
        assert_eq!(put.expect("it answers").status, 201);
    }
}

/// How many blobs are there, each as it was.
fn count(server: &Server) -> usize {
    let mut client = Client::new(server.address);
    let is_there = |number: &usize| {
        let got = client.send("GET", &format!("kept/blob{number}"), "", &[], &[]).expect("it answers");
        assert!(got.status == 404 || got.body == content(*number), "blob{number}");
        got.status == 200
    };
    (0..BLOBS).filter(is_there).count()
}

fn run(words: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(BINARY).args(words).output().expect("it runs");
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut left) = (Vec::new(), vec![path.to_owned()]);
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(at).expect("lists").flatten() {
            match entry.path() {
                path if path.is_dir() => left.push(path),
                path => found.push((path.clone(), std::fs::read(&path).expect("reads"))),
            }
        }
    }
    found.sort();
    found
}

/// C1 and its rescue, after a kill and after a stop.
#[test]
fn a_damaged_log_is_refused_listed_and_salvaged() {
    for killed in [true, false] {
        let directory =
            Directory::new(env!("CARGO_TARGET_TMPDIR"), if killed { "rescue-killed" } else { "rescue-stopped" });
        let (data, saved) = (directory.0.join("data"), directory.0.join("saved"));
        let text = |path: &Path| path.display().to_string();
        let server = Server::start(BINARY, &data, &[]).expect("it starts");
        fill(&server);
        // Its keys are sealed under a key file beside the data.
        let (made, said) = run(&["account", "--location", &text(&data), "create", "sealed1"]);
        assert!(made, "{said}");
        if killed {
            server.kill().expect("it was alive")
        } else {
            assert!(server.stop().expect("it stops").success())
        }
        let (sound, said) = run(&["check", "--location", &text(&data)]);
        assert!(sound && said.contains("nothing is damaged") && said.contains("12 pieces"), "{said}");

        // The length of a batch in the middle.
        let log = data.join("keys/log/00000001.log");
        let whole = std::fs::read(&log).expect("a log");
        let word = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().expect("8 bytes"));
        let batch = (0..30).fold(64, |at, _| at + 64 + word(at + 8).next_multiple_of(8) as usize);
        let mut flipped = whole.clone();
        flipped[batch + 8] ^= 1;
        std::fs::write(&log, flipped).expect("writes");
        let before = files(&data);
        for _ in 0..2 {
            let (started, said) = run(&["serve", "--location", &text(&data), "--blob-port", "0"]);
            assert!(!started && said.contains("is damaged") && said.contains("00000001.log"), "{said}");
            assert!(said.contains("lazuli check") && said.contains("lazuli salvage"), "{said}");
        }
        let (sound, said) = run(&["check", "--location", &text(&data)]);
        assert!(!sound && said.contains(&format!("at byte {batch}, batch 30 has a head")), "{said}");
        let within = data.join("saved");
        let (saved_some, said) = run(&["salvage", "--location", &text(&data), "--to", &text(&within)]);
        assert!(!saved_some && said.contains("which is only read") && !within.exists(), "{said}");
        let (saved_some, said) = run(&["salvage", "--location", &text(&data), "--to", &text(&saved)]);
        assert!(saved_some && said.contains("batches 30 to 30 are lost"), "{said}");
        assert!(files(&data) == before, "neither the server nor the commands changed anything");
        let server = Server::start(BINARY, &saved, &[]).expect("it starts");
        assert_eq!(count(&server), BLOBS - 1, "all but the blob of that batch");
        let key = std::fs::metadata(saved.join("secrets.key")).expect("it was copied");
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
        let keys = |at: &Path| run(&["account", "--location", &text(at), "show", "sealed1", "--keys"]).1;
        let shown = keys(&saved);
        assert!(shown.contains("=="), "{shown}");
        server.stop().expect("it stops");

        std::fs::write(&log, whole).expect("writes");
        let server = Server::start(BINARY, &data, &[]).expect("it starts");
        assert_eq!(count(&server), BLOBS);
    }
}
