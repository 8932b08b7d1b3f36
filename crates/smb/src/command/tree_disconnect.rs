//! TREE_DISCONNECT: what is open in the tree is closed.

use crate::packet::Response;
use crate::serve::dispatch::{Ask, Outcome};
use crate::status::Status;

pub(super) async fn run(ask: &Ask<'_>) -> Outcome {
    ask.client.end_pending(ask.session, Some(ask.tree), Status::NetworkNameDeleted);
    ask.gateway.end_opens(ask.session, Some(ask.tree), false).await;
    let mut sessions = ask.gateway.sessions_mut();
    sessions.get_mut(ask.session).and_then(|session| session.disconnect(ask.tree));
    Ok((Status::Success, Response::TreeDisconnect))
}
