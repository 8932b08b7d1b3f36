//! SESSION_SETUP. Who the client says that it is is looked up before the proof is checked, and as much is done for a name that nobody has.

use std::sync::Arc;

use crate::packet::Response;
use crate::packet::error::ErrorData;
use crate::packet::logon::SetupRequest;
use crate::serve::{Admission, Client};
use crate::session::connection::{LogonInput, Setup};
use crate::session::negotiation::Encryption;
use crate::session::{Close, Received, Reply};
use crate::status::Status;

pub(crate) async fn run(client: &Arc<Client>, received: &Received, request: &SetupRequest) -> Result<Reply, Close> {
    let gateway = &client.gateway;
    let name = client.with_connection(|connection| connection.asks_for(received, request));
    let admission = match name {
        Some(name) => gateway.admission(&name, client.peer.ip()).await,
        None => Admission::Unknown,
    };
    let (passwords, encryption) = match admission {
        Admission::Unknown => (None, Encryption::Offered),
        Admission::Known { keys, encryption, bound: _ } => (Some(keys), encryption),
        Admission::NotFromThere => {
            let setup = client.with_connection(|connection| connection.turn_away(received));
            return Ok(reply(client, received, setup));
        }
    };
    let input = LogonInput {
        policy: &gateway.policy,
        server: &gateway.name,
        encryption,
        now: gateway.now(),
        random: gateway.challenge(),
        passwords: |_: &str| passwords,
    };
    let mut setup = client.with_connection(|connection| {
        let mut sessions = gateway.sessions_mut();
        connection.setup(received, request, &mut sessions, input)
    })?;
    if let Some(ended) = setup.ended.take() {
        // What waited is told so; what was held durably waits for the client.
        gateway.end_pending(ended);
        gateway.end_opens(ended, None, true).await;
    }
    if setup.status == Status::LogonFailure {
        tracing::info!(peer = %client.peer.ip(), "an SMB logon was refused");
    }
    Ok(reply(client, received, setup))
}

fn reply(client: &Client, received: &Received, setup: Setup) -> Reply {
    client.gateway.counts.count(received.header.command.code(), setup.status);
    let header = client.header(&received.header, setup.session, setup.status);
    let response = setup.response.map_or(Response::Error(ErrorData::None), Response::SessionSetup);
    Reply { header, response, answer: setup.answer }
}
