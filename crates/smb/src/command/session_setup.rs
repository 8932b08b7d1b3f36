//! SESSION_SETUP. Who the client says that it is is looked up before the proof is checked, and as much is done for a name that nobody has.

use std::sync::Arc;

use crate::packet::Response;
use crate::packet::error::ErrorData;
use crate::packet::logon::SetupRequest;
use crate::serve::Client;
use crate::session::connection::LogonInput;
use crate::session::{Close, Received, Reply};
use crate::status::Status;

pub(crate) async fn run(client: &Arc<Client>, received: &Received, request: &SetupRequest) -> Result<Reply, Close> {
    let gateway = &client.gateway;
    let name = client.with_connection(|connection| connection.asks_for(received, request));
    let passwords = match name {
        Some(name) => gateway.passwords(&name).await,
        None => None,
    };
    let input = LogonInput {
        policy: &gateway.policy,
        server: &gateway.name,
        now: gateway.now(),
        random: gateway.challenge(),
        passwords: |_: &str| passwords,
    };
    let setup = client.with_connection(|connection| {
        let mut sessions = gateway.sessions();
        connection.setup(received, request, &mut sessions, input)
    })?;
    let mut setup = setup;
    if let Some(ended) = setup.ended.take() {
        // The client's former session is over: what it held durably waits for it.
        gateway.end_opens(ended.id, None, true).await;
        gateway.sessions().bury(ended);
    }
    if setup.status == Status::LogonFailure {
        tracing::info!(peer = %client.peer.ip(), "an SMB logon was refused");
    }
    gateway.counts.count(received.header.command.code(), setup.status);
    let header = client.header(&received.header, setup.session, setup.status);
    let response = setup.response.map_or(Response::Error(ErrorData::None), Response::SessionSetup);
    Ok(Reply { header, response, answer: setup.answer })
}
