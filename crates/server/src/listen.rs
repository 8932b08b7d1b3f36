//! Listeners and their connections. Held true:
//! * a listener never dies of a passing trouble (no file handles left, a client gone before it was accepted);
//! * there is a cap on connections, below what the process may open, so that the engine always finds a file handle; connections that do
//!   nothing make room for others (`crowd.rs`);
//! * after a stop no connection is accepted, and those that exist finish the request they are in.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_http::{Edge, Service};
use lazuli_model::account::{TlsVersion, Transport};
use rustls::ProtocolVersion;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::crowd::{Crowd, Watched};

/// File handles kept for the engine, the console and the log.
const RESERVED_HANDLES: u64 = 512;
/// Each may hold the beginning of a head, some 32 KiB with all that belongs to it, before anybody knows who it is.
const CONNECTIONS_MAX: u64 = 20_000;
/// How long a connection has to have been quiet to make room for others.
pub const QUIET: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Everything a connection shares with the others. When the last clone is dropped, all connections have ended.
#[derive(Clone)]
pub struct Shared {
    pub edge: Arc<Edge>,
    pub smb: Arc<lazuli_smb::serve::Gateway>,
    pub tls: Option<TlsAcceptor>,
    pub crowd: Arc<Crowd>,
    pub stop: watch::Receiver<bool>,
    pub _alive: mpsc::Sender<()>,
}

/// Binds, or says why not and what to do. `flag` is the one that chooses the port.
#[expect(clippy::wildcard_enum_match_arm, reason = "errors of the system, of which three have a remedy")]
pub async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "something listens there already; stop it, or choose another port with {flag} (0 picks a free one)"
            ),
            ErrorKind::PermissionDenied => format!("ports below 1024 need privileges; choose a higher one with {flag}"),
            ErrorKind::AddrNotAvailable => {
                "no interface of this machine has that address; use 127.0.0.1, or 0.0.0.0 for all".to_string()
            }
            _ => error.to_string(),
        };
        format!("cannot listen on {address}: {advice}")
    })
}

/// How many connections there may be, after asking the system for as many file handles as it gives.
pub fn connection_slots() -> usize {
    let most = file_handles().saturating_sub(RESERVED_HANDLES).clamp(64, CONNECTIONS_MAX);
    usize::try_from(most).unwrap_or(64)
}

#[cfg(unix)]
fn file_handles() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}

#[cfg(not(unix))]
fn file_handles() -> u64 {
    8_192
}

/// Returns when the server is to stop, or the sender of that signal is gone.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without its value, which would hold the channel's lock.
    drop(stop.wait_for(|stop| *stop).await);
}

/// What comes in through a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Api(Service),
    Website,
    Smb,
}

impl Door {
    pub fn name(self) -> &'static str {
        match self {
            Door::Api(Service::Blob) => "Blob",
            Door::Api(Service::Queue) => "Queue",
            Door::Api(Service::Table) => "Table",
            Door::Api(Service::File) => "File",
            Door::Api(Service::Dfs) => "Data Lake",
            Door::Website => "Website",
            Door::Smb => "SMB",
        }
    }
}

/// Accepts until the stop.
pub async fn accept(listener: TcpListener, door: Door, mut shared: Shared) {
    loop {
        let slot = tokio::select! {
            slot = shared.crowd.free() => slot,
            () = stopped(&mut shared.stop) => return,
        };
        let Some(slot) = slot else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut shared.stop) => return,
        };
        match accepted {
            Ok((socket, peer)) => {
                let shared = shared.clone();
                // Small answers must not wait for more to come.
                let _ = socket.set_nodelay(true);
                if door == Door::Smb {
                    // It signs and encrypts by itself, and sends away strangers by itself.
                    let ends = lazuli_smb::serve::Ends { peer, local: socket.local_addr().ok() };
                    tokio::spawn(async move {
                        Box::pin(shared.smb.clone().serve(socket, ends, shared.stop.clone())).await;
                        drop(slot);
                    });
                    continue;
                }
                let place = shared.crowd.seat(slot);
                tokio::spawn(async move {
                    tokio::select! {
                        () = connection(place.watch(socket), peer, door, shared) => {}
                        () = place.leaves() => tracing::debug!(%peer, "a connection that was quiet made room for others"),
                    }
                });
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections for now");
                // A wait that a stop cuts short.
                let _ = timeout(PAUSE, stopped(&mut shared.stop)).await;
            }
        }
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}

/// Both ways on are boxed: the future of a connection that still waits is small, and most connections wait.
async fn connection(socket: Watched<TcpStream>, peer: SocketAddr, door: Door, shared: Shared) {
    match shared.tls.clone() {
        Some(tls) => Box::pin(encrypted(tls, socket, peer, door, shared)).await,
        None => Box::pin(admit(socket, peer, door, Transport::Plain, &shared)).await,
    }
}

async fn encrypted(tls: TlsAcceptor, socket: Watched<TcpStream>, peer: SocketAddr, door: Door, mut shared: Shared) {
    let shaken = tokio::select! {
        shaken = timeout(HANDSHAKE, tls.accept(socket)) => shaken,
        () = stopped(&mut shared.stop) => return,
    };
    match shaken {
        Ok(Ok(socket)) => {
            let transport = Transport::Tls(version(&socket));
            Box::pin(admit(socket, peer, door, transport, &shared)).await;
        }
        Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
    }
}

/// What the two agreed on. Nothing older than 1.2 is offered.
fn version(socket: &TlsStream<Watched<TcpStream>>) -> TlsVersion {
    match socket.get_ref().1.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => TlsVersion::V1_3,
        Some(_) | None => TlsVersion::V1_2,
    }
}

async fn admit<I>(socket: I, peer: SocketAddr, door: Door, transport: Transport, shared: &Shared)
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    match door {
        Door::Api(service) => shared.edge.serve(socket, peer, service, transport, shared.stop.clone()).await,
        Door::Smb => {}
        Door::Website => shared.edge.serve_website(socket, peer, transport, shared.stop.clone()).await,
    }
}
