//! Clients that nobody has let in, and that mean no good, over a pipe. The time is in the test's hands.

use bytes::Bytes;
use lazuli_engine::{Memory, content};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::*;
use crate::packet::compound::Encoded;
use crate::packet::logon::SetupRequest;
use crate::packet::negotiate::{self, Capabilities, Dialect, SecurityMode};
use crate::packet::{Header, Request, frame};

/// Longer than anything here takes, in turns of the one thread.
const TURNS: usize = 2_000;

struct Trial {
    gateway: Arc<Gateway>,
    rings: Arc<Notify>,
    _stop: watch::Sender<bool>,
    stopping: watch::Receiver<bool>,
}

impl Trial {
    fn new() -> Self {
        let rings = Arc::new(Notify::new());
        let alarm: Alarm = {
            let rings = rings.clone();
            Arc::new(move |after| {
                let rings = rings.clone();
                Box::pin(async move {
                    match after == LIMITS.look {
                        true => rings.notified().await,
                        false => std::future::pending().await,
                    }
                })
            })
        };
        let store = Store::new(Arc::new(Memory::new()), Arc::new(content::Memory::new()));
        let gateway = Gateway::new(Settings {
            store,
            gateway: 1,
            accounts: Arc::new(|_, _| Box::pin(async { Admission::Unknown })),
            random: Arc::new(|| 7),
            alarm,
            encryption: Encryption::Offered,
            name: "lazuli".into(),
            observer: None,
        });
        let (_stop, stopping) = watch::channel(false);
        Self { gateway, rings, _stop, stopping }
    }

    fn connect(&self) -> (DuplexStream, JoinHandle<()>) {
        let (here, there) = tokio::io::duplex(4096);
        let peer: std::net::SocketAddr = "192.0.2.1:5000".parse().expect("an address");
        (here, tokio::spawn(self.gateway.clone().serve(there, peer, self.stopping.clone())))
    }
}

fn framed(request: &Request, id: u64) -> Vec<u8> {
    let header = Header { credits: 4, ..Header::request(request.command(), id) };
    let Encoded { head, payload } = request.encode(&header);
    let whole = [&head[..], &payload[..]].concat();
    [&frame::head(whole.len())[..], &whole].concat()
}

fn negotiates() -> Request {
    Request::Negotiate(negotiate::Request {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities(0),
        client: [6; 16],
        dialects: vec![Dialect::Smb210.code()],
        contexts: Vec::new(),
    })
}

fn logs_on() -> Request {
    Request::SessionSetup(SetupRequest { token: Bytes::from_static(b"who knows"), ..Default::default() })
}

/// `None` if it does not come to an end though everybody else had their turns.
async fn soon<T>(work: impl Future<Output = T>) -> Option<T> {
    let patience = async {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = patience => None,
    }
}

#[tokio::test]
async fn a_client_that_leaves_its_answers_is_read_no_further_and_then_left() {
    let trial = Trial::new();
    let (mut client, serving) = trial.connect();
    client.write_all(&framed(&negotiates(), 0)).await.expect("room");
    let mut taken = 0;
    while soon(client.write_all(&framed(&logs_on(), taken + 1))).await.is_some() {
        taken += 1;
        assert!(taken < 2 * LIMITS.answers as u64, "answers pile up");
    }
    assert!(taken >= LIMITS.answers as u64, "only {taken} were read");
    for _ in 0..LIMITS.looks {
        trial.rings.notify_waiters();
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }
    soon(serving).await.expect("it is left").expect("no panic");
}

#[tokio::test]
async fn a_frame_that_does_not_go_on_is_not_waited_for() {
    let trial = Trial::new();
    let (mut client, serving) = trial.connect();
    let whole = framed(&negotiates(), 0);
    client.write_all(&whole[..whole.len() - 1]).await.expect("room");
    for _ in 0..LIMITS.looks {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        trial.rings.notify_waiters();
    }
    soon(serving).await.expect("it is left").expect("no panic");
}

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_out() {
    let trial = Trial::new();
    let mut silent = Vec::new();
    for _ in 0..LIMITS.strangers {
        silent.push(trial.connect());
        tokio::task::yield_now().await;
    }
    let (mut client, _serving) = trial.connect();
    client.write_all(&framed(&negotiates(), 0)).await.expect("room");
    let mut head = [0; 4];
    soon(client.read_exact(&mut head)).await.expect("it is answered").expect("an answer");
    let (_, oldest) = silent.remove(0);
    soon(oldest).await.expect("the oldest made room").expect("no panic");
    assert_eq!(trial.gateway.counts.connections.load(Ordering::Relaxed), LIMITS.strangers as u64);
}
