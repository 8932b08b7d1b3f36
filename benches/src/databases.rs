//! The databases that tables and queues are raced against, started with their data below the scratch directory and with every
//! commit on disk before it is answered, as Lazuli's are.

use crate::clock::{now, pause};
use crate::process::Process;
use crate::server::free_port;
use rustix::process::Signal;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// A process that ends with this value.
pub struct Database {
    pub port: u16,
    pub process: Process,
    child: Child,
}

impl Database {
    fn start(command: &[&str], port: u16, mut answers: impl FnMut() -> bool) -> io::Result<Self> {
        let (program, arguments) = command.split_first().expect("a command has a program");
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let process = Process::of(&child);
        let mut database = Self { port, process, child };
        let began = now();
        while !answers() {
            if let Some(status) = database.child.try_wait()? {
                return Err(io::Error::other(format!("{program} ended at its start: {status}")));
            }
            if now() - began > PATIENCE {
                return Err(io::Error::other(format!("{program} does not answer")));
            }
            pause(Duration::from_millis(20));
        }
        Ok(database)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SIGINT ends both at once and in order; what they stored goes with the scratch directory.
        let _ = self.process.release().and_then(|()| self.process.signal(Signal::INT));
        let _ = self.child.wait();
    }
}

/// Redis with `appendfsync always`: an answer means that it is on disk.
pub fn redis(scratch: &Path) -> io::Result<Database> {
    let directory = scratch.join("redis");
    fs::create_dir_all(&directory)?;
    let port = free_port()?;
    let text = port.to_string();
    let command = [
        "redis-server",
        "--port",
        &text,
        "--bind",
        "127.0.0.1",
        "--dir",
        text_of(&directory),
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--save",
        "",
        "--daemonize",
        "no",
    ];
    Database::start(&command, port, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())
}

/// PostgreSQL as Debian has it, with `synchronous_commit` as it is by default, and memory for what is asked of it.
pub fn postgres(scratch: &Path) -> io::Result<Database> {
    let binaries = newest_postgres()?;
    let directory = scratch.join("postgres");
    fs::create_dir_all(&directory)?;
    let (data, initdb, server) = (directory.join("data"), binaries.join("initdb"), binaries.join("postgres"));
    // It refuses to run as root.
    let root = rustix::process::geteuid().is_root();
    let as_user: &[&str] =
        if root { &["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] } else { &[] };
    if root {
        run(&["chown", "-R", "postgres", text_of(&directory)])?;
        // The directories above need only be passed through.
        for above in directory.ancestors().skip(1).filter(|path| path.parent().is_some()) {
            run(&["chmod", "o+x", text_of(above)])?;
        }
    }
    run(&[as_user, &[text_of(&initdb), "-D", text_of(&data), "-U", "bench", "-A", "trust", "--no-sync"]].concat())?;
    let port = free_port()?;
    let text = port.to_string();
    let settings = [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
        "-c",
        "shared_buffers=512MB",
        "-c",
        "max_connections=100",
    ];
    let start = [as_user, &[text_of(&server), "-D", text_of(&data), "-p", &text], &settings].concat();
    Database::start(&start, port, || connect_postgres(port).is_ok())
}

pub fn connect_postgres(port: u16) -> io::Result<postgres::Client> {
    let address = format!("host=127.0.0.1 port={port} user=bench dbname=postgres");
    postgres::Client::connect(&address, postgres::NoTls).map_err(io::Error::other)
}

fn newest_postgres() -> io::Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").map_err(|_| missing())?;
    let mut versions: Vec<PathBuf> = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    versions.sort();
    versions.pop().ok_or_else(missing)
}

fn missing() -> io::Error {
    io::Error::other("PostgreSQL is not installed: run conformance/install --bench")
}

fn run(command: &[&str]) -> io::Result<()> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{program}: {}", String::from_utf8_lossy(&output.stderr))))
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("paths of the benchmark are UTF-8")
}
