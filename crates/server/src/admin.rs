//! How commands reach a running server: `POST /account` on its console, with a token that only those who can read the data
//! directory know. Held true: the file with the token is readable by its owner alone, and the token is new at each start.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::account::Ask;
use crate::ids;

const FILE: &str = "console.json";
pub const PATH: &str = "/account";
pub const MOST_BYTES: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// What the file says.
#[derive(Clone, Serialize, Deserialize)]
pub struct Door {
    address: SocketAddr,
    token: String,
}

impl Door {
    pub fn new(address: SocketAddr, token: String) -> Self {
        Self { address: reachable(address), token }
    }

    /// Of the server that uses `directory`.
    pub fn of(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(directory.join(FILE)).ok()?).ok()
    }
}

/// The server's side. The file goes with it.
pub struct Admin {
    token: String,
    file: Option<PathBuf>,
}

impl Admin {
    /// Writes the file into `directory`; without one, nobody learns the token, unless `given` is it.
    pub fn open(directory: Option<&Path>, console: SocketAddr, given: Option<&str>) -> Result<Self, String> {
        let token = given.map_or_else(ids::key, str::to_owned);
        let Some(directory) = directory else { return Ok(Self { token, file: None }) };
        let file = directory.join(FILE);
        let door = Door { address: reachable(console), token: token.clone() };
        let text = serde_json::to_vec(&door).map_err(|error| error.to_string())?;
        write_private(&file, &text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(Self { token, file: Some(file) })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether `header` (of Authorization) has the token, and the peer is this machine.
    pub fn admits(&self, header: Option<&str>, peer: IpAddr, own: IpAddr) -> bool {
        let given = header.and_then(|header| header.strip_prefix("Bearer ")).unwrap_or_default();
        is_local(peer, own) && same(given.as_bytes(), self.token.as_bytes())
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // It names a door that is shut; the next start replaces it anyway.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Whether a peer is this machine.
pub fn is_local(peer: IpAddr, own: IpAddr) -> bool {
    peer.to_canonical().is_loopback() || peer == own
}

/// In a time that does not tell where they differ.
pub fn same(given: &[u8], token: &[u8]) -> bool {
    given.len() == token.len() && given.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}

pub fn write_private(file: &Path, text: &[u8]) -> std::io::Result<()> {
    let new = file.with_extension("new");
    // An older one might be readable by others.
    let _ = std::fs::remove_file(&new);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&new)?;
    out.write_all(text)?;
    out.sync_all()?;
    std::fs::rename(&new, file)
}

/// The answer of the server that uses `directory`; `None` if none does.
pub fn ask_running(directory: &Path, ask: &Ask) -> Option<Result<String, String>> {
    let door = Door::of(directory)?;
    // The file of a server that was killed: nobody answers there, or somebody else.
    let socket = TcpStream::connect_timeout(&door.address, PATIENCE).ok()?;
    let body = match serde_json::to_vec(ask) {
        Ok(body) => body,
        Err(error) => return Some(Err(error.to_string())),
    };
    match exchange(socket, &door, "POST", PATH, &body) {
        Ok((200, body)) => Some(Ok(body)),
        Ok((400, body)) => Some(Err(body.trim_end().to_string())),
        Ok((_, _)) => None,
        Err(error) => Some(Err(format!("the server on {} did not answer: {error}", door.address))),
    }
}

/// What the server answers to the operator: a status and a text.
pub fn ask(door: &Door, method: &str, path: &str, body: &[u8]) -> Result<(u16, String), String> {
    let failed = |error: std::io::Error| format!("the server on {} did not answer: {error}", door.address);
    let socket = TcpStream::connect_timeout(&door.address, PATIENCE).map_err(failed)?;
    exchange(socket, door, method, path, body).map_err(failed)
}

fn exchange(
    mut socket: TcpStream,
    door: &Door,
    method: &str,
    path: &str,
    body: &[u8],
) -> std::io::Result<(u16, String)> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let (address, token, length) = (door.address, &door.token, body.len());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = String::new();
    socket.take(1 << 20).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other("no HTTP"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or_else(|| std::io::Error::other("no status"))?, body.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_from_this_machine_is_admitted() {
        let admin = Admin { token: "secret".into(), file: None };
        let (local, own, far) =
            (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for (header, peer, admitted) in [
            (Some("Bearer secret"), local, true),
            (Some("Bearer secret"), own, true),
            (Some("Bearer secret"), far, false),
            (Some("Bearer secreT"), local, false),
            (Some("Bearer "), local, false),
            (Some("secret"), local, false),
            (None, local, false),
        ] {
            assert_eq!(admin.admits(header, peer, own), admitted, "{header:?} {peer}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("lazuli-admin-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let admin = Admin::open(Some(&directory), SocketAddr::from(([0, 0, 0, 0], 1)), None).unwrap();
        let file = directory.join(FILE);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&file).unwrap().contains("127.0.0.1:1"));
        drop(admin);
        assert!(!file.exists());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
