//! The real binary as a child process: started on free ports, asked, stopped or killed.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts `binary` on `directory` and waits until it says where its blob service listens.
    pub fn start(binary: &str, directory: &Path, more: &[&str]) -> io::Result<Self> {
        let ports = [
            "--blob-port",
            "--queue-port",
            "--table-port",
            "--file-port",
            "--dfs-port",
            "--smb-port",
            "--console-port",
        ];
        let mut command = Command::new(binary);
        command
            .arg("serve")
            .arg("--location")
            .arg(directory)
            .args(ports.iter().flat_map(|port| [*port, "0"]))
            .args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().expect("stdout was piped"));
        let address = announced(&mut lines).inspect_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
        })?;
        // Keep reading, so that the server never waits for a full pipe.
        std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        Ok(Self { child, address })
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
        Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        self.child.wait()
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The banner carries a connection string; its blob endpoint is where the tests go.
fn announced(lines: &mut impl BufRead) -> io::Result<SocketAddr> {
    let mut line = String::new();
    while lines.read_line(&mut line)? != 0 {
        if let Some((_, rest)) = line.split_once("BlobEndpoint=http://") {
            let address = rest.split('/').next().unwrap_or_default();
            return address.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, line.clone()));
        }
        line.clear();
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server ended before it said where it listens"))
}
