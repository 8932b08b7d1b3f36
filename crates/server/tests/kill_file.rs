//! Files whose server is killed again and again: a range is written whole or not at all, a rename leaves one of two names, a
//! directory moves with everything in it, and what was deleted stays so.
//!
//! Each worker owns a few files, which it writes, moves between directories and deletes; one more moves a full directory to and fro.
//! `LAZULI_KILLS` sets how often, `LAZULI_SEED` where to begin.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::Client;
use lazuli_testkit::killing::{Killing, Possible};
use lazuli_testkit::process::Directory;

const WORKERS: usize = 5;
const FILES: usize = 4;
const DIRECTORIES: usize = 3;
/// In the directory that moves.
const CARGO: usize = 12;

/// Where a file is, and what it holds: a number, over and over.
type File = Option<(usize, u64)>;

enum Worker {
    Writer {
        id: usize,
        chance: Chance,
        files: Vec<Possible<File>>,
        serial: u64,
    },
    /// Which of two names the directory has.
    Mover(Possible<usize>),
}

impl Worker {
    fn work(&mut self, client: &mut Client, stop: &AtomicBool) -> io::Result<()> {
        self.verify(client)?;
        while !stop.load(Ordering::Relaxed) {
            match self {
                Worker::Writer { id, chance, files, serial } => {
                    *serial += 1;
                    let file = chance.below(FILES);
                    write(client, chance, &mut files[file], *id, file, *serial)?;
                }
                Worker::Mover(name) => {
                    let (from, to) = (name.certain, 1 - name.certain);
                    name.become_by(to, || {
                        rename(client, &format!("m{from}"), &format!("m{to}"), "restype=directory&")?;
                        Ok(true)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn verify(&mut self, client: &mut Client) -> io::Result<()> {
        match self {
            Worker::Writer { id, files, .. } => {
                for (file, possible) in files.iter_mut().enumerate() {
                    let seen = find(client, *id, file)?;
                    possible.settle(&format!("w{id}-{file}"), seen);
                }
            }
            Worker::Mover(name) => {
                let counts = [count(client, "m0")?, count(client, "m1")?];
                let seen = counts.iter().position(|count| *count == Some(CARGO)).unwrap_or(9);
                assert_eq!(counts.iter().flatten().count(), 1, "{counts:?}");
                name.settle("the directory", seen);
            }
        }
        Ok(())
    }
}

/// Some are small enough to be kept in rows.
fn length(file: usize) -> usize {
    if file.is_multiple_of(2) { 4096 } else { 40_000 }
}

fn path(directory: usize, id: usize, file: usize) -> String {
    format!("kill/d{directory}/w{id}-{file}")
}

fn write(
    client: &mut Client,
    chance: &mut Chance,
    possible: &mut Possible<File>,
    id: usize,
    file: usize,
    serial: u64,
) -> io::Result<()> {
    let Some((directory, held)) = possible.certain else {
        let directory = chance.below(DIRECTORIES);
        let size = length(file).to_string();
        let headers = [("x-ms-type", "file"), ("x-ms-content-length", size.as_str())];
        return possible.become_by(Some((directory, 0)), || {
            done(client.send("PUT", &path(directory, id, file), "", &headers, &[])?, 201)
        });
    };
    let at = path(directory, id, file);
    match chance.below(10) {
        0..=4 => possible.become_by(Some((directory, serial)), || {
            let range = format!("bytes=0-{}", length(file) - 1);
            let headers = [("x-ms-write", "update"), ("x-ms-range", range.as_str())];
            let body = serial.to_le_bytes().repeat(length(file) / 8);
            done(client.send("PUT", &at, "comp=range", &headers, &body)?, 201)
        }),
        5..=7 => {
            let other = (directory + 1 + chance.below(DIRECTORIES - 1)) % DIRECTORIES;
            possible.become_by(Some((other, held)), || {
                rename(client, &at["kill/".len()..], &path(other, id, file)["kill/".len()..], "")?;
                Ok(true)
            })
        }
        _ => possible.become_by(None, || done(client.send("DELETE", &at, "", &[], &[])?, 202)),
    }
}

fn rename(client: &mut Client, from: &str, to: &str, kind: &str) -> io::Result<()> {
    let source = format!("http://127.0.0.1/devstoreaccount1/kill/{from}");
    let headers = [("x-ms-file-rename-source", source.as_str())];
    done(client.send("PUT", &format!("kill/{to}"), &format!("{kind}comp=rename"), &headers, &[])?, 200).map(drop)
}

fn done(answer: lazuli_testkit::client::Answer, status: u16) -> io::Result<bool> {
    assert_eq!(answer.status, status, "{} {}", answer.code(), String::from_utf8_lossy(&answer.body));
    Ok(true)
}

/// In one directory or none, with bytes of one write.
fn find(client: &mut Client, id: usize, file: usize) -> io::Result<File> {
    let mut found = None;
    for directory in 0..DIRECTORIES {
        let answer = client.send("GET", &path(directory, id, file), "", &[], &[])?;
        if answer.status == 404 {
            continue;
        }
        assert_eq!((answer.status, answer.body.len()), (200, length(file)), "{}", answer.code());
        let held: [u8; 8] = *answer.body.first_chunk().expect("it is not empty");
        assert!(answer.body.chunks(8).all(|part| part == held), "w{id}-{file} is half of two writes");
        let before = found.replace((directory, u64::from_le_bytes(held)));
        assert_eq!(before, None, "w{id}-{file} has two names");
    }
    Ok(found)
}

fn count(client: &mut Client, directory: &str) -> io::Result<Option<usize>> {
    let answer = client.send("GET", &format!("kill/{directory}"), "restype=directory&comp=list", &[], &[])?;
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    match answer.status {
        200 => Ok(Some(body.matches("<File>").count())),
        404 => Ok(None),
        other => panic!("{directory}: {other} {}", answer.code()),
    }
}

fn set_up(client: &mut Client) {
    let mut put = |path: &str, query: &str, headers: &[(&str, &str)]| {
        let answer = client.send("PUT", path, query, headers, &[]).expect("it answers");
        assert_eq!(answer.status, 201, "{path} {}", answer.code());
    };
    put("kill", "restype=share", &[]);
    for directory in ["d0", "d1", "d2", "m0"] {
        put(&format!("kill/{directory}"), "restype=directory", &[]);
    }
    for file in 0..CARGO {
        put(&format!("kill/m0/{file}"), "", &[("x-ms-type", "file"), ("x-ms-content-length", "0")]);
    }
}

#[test]
fn files_survive_kill_9_whole_and_under_one_name() {
    let (seed, kills) = (seed(1), number("LAZULI_KILLS", 12));
    println!("LAZULI_SEED={seed} LAZULI_KILLS={kills}");
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "kill-file");
    let binary = env!("CARGO_BIN_EXE_lazuli");
    let killing = Killing { binary, directory: &directory.0, service: "File", kills, seed };
    let writer = |id| Worker::Writer {
        id,
        chance: Chance::new(seed ^ id as u64),
        files: vec![Possible::new(None); FILES],
        serial: 0,
    };
    let mut workers: Vec<Worker> = (0..WORKERS).map(writer).chain([Worker::Mover(Possible::new(0))]).collect();
    let server = killing.run(&mut workers, set_up, |worker, _, client, stop| worker.work(client, stop));
    let mut client = Client::new(server.endpoint("File"));
    workers.iter_mut().for_each(|worker| worker.verify(&mut client).expect("it answers"));
    // And nothing is there that nobody put.
    let known = workers.iter().filter_map(|worker| match worker {
        Worker::Writer { files, .. } => Some(files.iter().filter(|file| file.certain.is_some()).count()),
        Worker::Mover(_) => None,
    });
    let listed = (0..DIRECTORIES).filter_map(|at| count(&mut client, &format!("d{at}")).expect("it answers"));
    assert_eq!(known.sum::<usize>(), listed.sum::<usize>());
    let written: u64 =
        workers.iter().map(|worker| if let Worker::Writer { serial, .. } = worker { *serial } else { 0 }).sum();
    println!("{written} changes, {kills} kills");
    assert!(written > kills, "nothing was done");
}
