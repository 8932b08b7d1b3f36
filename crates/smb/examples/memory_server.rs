//! An SMB server over memory, with nothing around it: for smbtorture and for profiles, since it builds in a minute.
//!
//!     cargo run -p lazuli-smb --example memory_server -- PORT [SHARE ...]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Memory, content};
use lazuli_model::AccountName;
use lazuli_model::file::{CreateShare, Protocol, ShareName, ShareSettings};
use lazuli_smb::serve::{Admission, Gateway, Settings};
use lazuli_smb::session::negotiation::Encryption;
use lazuli_store::{ShareAt, Store};

const USER: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

fn admission(name: &str) -> Admission {
    match name {
        USER => {
            Admission::Known { keys: [KEY.to_owned(), KEY.to_owned()], encryption: Encryption::Offered, bound: false }
        }
        _ => Admission::Unknown,
    }
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "a program of its own")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().and_then(|port| port.parse().ok()).unwrap_or(10445);
    let shares: Vec<String> = arguments.collect();
    let shares = if shares.is_empty() { vec!["share".to_owned()] } else { shares };
    let engine = Memory::new();
    let alarm: lazuli_store::Alarm = Arc::new(|after| Box::pin(tokio::time::sleep(after)));
    let store = Store::new(Arc::new(engine), Arc::new(content::Memory::new())).waking_by(alarm.clone());
    let account = AccountName::parse(USER).expect("a name");
    for (number, name) in shares.iter().enumerate() {
        let at = ShareAt { account: account.clone(), share: ShareName::parse(name).expect("a share's name") };
        let settings = ShareSettings::default();
        let create =
            CreateShare { id: number as u128 + 1, metadata: Default::default(), settings, protocol: Protocol::Smb };
        store.create_share(&at, create).await.expect("a new share");
    }
    let next = AtomicU64::new(1);
    let random = Arc::new(move || {
        u128::from(next.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    });
    let accounts: lazuli_smb::serve::Accounts = Arc::new(|name, _| Box::pin(async move { admission(name.as_str()) }));
    let gateway = Gateway::new(Settings {
        store: store.clone(),
        gateway: 1,
        accounts,
        random,
        alarm,
        encryption: Encryption::Offered,
        name: "lazuli".into(),
        observer: None,
    });
    tokio::spawn(gateway.clone().attend());
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            while store.sweep_step().await.is_ok_and(|more| more) {}
        }
    });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
    let (_stop, stopping) = tokio::sync::watch::channel(false);
    println!("listening on {port}");
    loop {
        let (socket, peer) = listener.accept().await.expect("a connection");
        let _ = socket.set_nodelay(true);
        tokio::spawn(gateway.clone().serve(socket, peer, stopping.clone()));
    }
}
