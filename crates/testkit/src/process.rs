//! The real binary as a child process: started on free ports, asked, stopped or killed.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    /// Of the blob service.
    pub address: SocketAddr,
    banner: String,
}

/// A directory of a test's own, gone with it.
pub struct Directory(pub PathBuf);

impl Directory {
    /// Inside `base`, which is best beside the other build products: that is a real disk.
    pub fn new(base: &str, name: &str) -> Self {
        let path = PathBuf::from(base).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory for the test");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Server {
    /// Starts `binary` on `directory` and waits until it says where its blob service listens.
    pub fn start(binary: &str, directory: &Path, more: &[&str]) -> io::Result<Self> {
        Self::launch(Self::command(&[], binary, directory, more))
    }

    /// How it is started: `binary` on `directory` and on free ports, run by the words `before` it, if there are any.
    pub fn command(before: &[&str], binary: &str, directory: &Path, more: &[&str]) -> Command {
        let ports = [
            "--blob-port",
            "--queue-port",
            "--table-port",
            "--file-port",
            "--dfs-port",
            "--smb-port",
            "--console-port",
        ];
        let mut command = Command::new(before.first().unwrap_or(&binary));
        if let Some(rest) = before.get(1..) {
            command.args(rest).arg(binary);
        }
        command
            .arg("serve")
            .arg("--location")
            .arg(directory)
            .args(ports.iter().flat_map(|port| [*port, "0"]))
            .args(more);
        command
    }

    /// Runs what [`Server::command`] made, with an environment or standard error of the test's own if it likes. Whatever stands before
    /// the binary has to become it, so that signals reach it.
    pub fn launch(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().expect("stdout was piped"));
        let announced = announced(&mut lines).and_then(|banner| Ok((endpoint(&banner, "Blob")?, banner)));
        let (address, banner) = announced.inspect_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
        })?;
        // Keep reading, so that the server never waits for a full pipe.
        std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        Ok(Self { child, address, banner })
    }

    /// Where a service listens, by its name in a connection string: `Blob`, `Queue`…
    pub fn endpoint(&self, service: &str) -> SocketAddr {
        endpoint(&self.banner, service).expect("every service that listens is announced")
    }

    /// What it said at its start, up to the connection string.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Where health and metrics are.
    pub fn console(&self) -> SocketAddr {
        let rest = self.banner.split_once("Console").and_then(|(_, rest)| rest.split_once("http://"));
        let address = rest.and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or_default();
        address.parse().expect("the console is announced")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As the kernel would on a bad day. Fails if the server had ended by itself.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        match self.child.wait()?.signal() {
            Some(9) => Ok(()),
            other => Err(io::Error::other(format!("it was not the kill that ended the server, but {other:?}"))),
        }
    }

    /// As an operator would.
    pub fn stop(mut self) -> io::Result<std::process::ExitStatus> {
        self.signal("TERM")?;
        self.child.wait()
    }

    /// By the signal's name, without `SIG`.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status()?;
        if sent.success() { Ok(()) } else { Err(io::Error::other(format!("SIG{name} did not reach the server"))) }
    }

    /// What the server holds in memory, in KiB, without the program itself: an unoptimised one is tens of MiB, and no client can change that.
    pub fn held_kib(&self) -> u64 {
        self.status_kib("RssAnon:")
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    /// The most that was ever resident, in KiB.
    pub fn peak_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The banner, up to its connection string.
fn announced(lines: &mut impl BufRead) -> io::Result<String> {
    let mut banner = String::new();
    loop {
        let before = banner.len();
        if lines.read_line(&mut banner)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server ended before it said where it listens",
            ));
        }
        if banner[before..].contains("BlobEndpoint=http://") {
            return Ok(banner);
        }
    }
}

fn endpoint(connection_string: &str, service: &str) -> io::Result<SocketAddr> {
    let rest = connection_string.split_once(&format!("{service}Endpoint=http://")).map(|(_, rest)| rest);
    let address = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    address.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, connection_string.to_owned()))
}
