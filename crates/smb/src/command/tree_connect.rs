//! TREE_CONNECT: a share of the account, or IPC$.

use std::sync::Arc;

use lazuli_model::AccountName;
use lazuli_model::file::{Protocol, ShareName};
use lazuli_store::ShareAt;

use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::tree::{self, ShareFlags, ShareType, share_of};
use crate::serve::dispatch::Outcome;
use crate::serve::{Admission, Client};
use crate::session::negotiation::Encryption;
use crate::session::{Received, Tree};
use crate::status::Status;

/// The answer, and the tree's id.
pub(crate) async fn run(client: &Arc<Client>, received: &Received, request: &tree::Request) -> (Outcome, u32) {
    match connect(client, received, request).await {
        Ok((id, answer)) => (Ok((Status::Success, Response::TreeConnect(answer))), id),
        Err(status) => (Err(status), 0),
    }
}

async fn connect(
    client: &Arc<Client>,
    received: &Received,
    request: &tree::Request,
) -> Result<(u32, tree::Answer), Status> {
    let path = request.path.to_text().map_err(|_| Status::BadNetworkName)?;
    let share = share_of(&path).ok_or(Status::BadNetworkName)?;
    let gateway = &client.gateway;
    let (account, sealed) = {
        let sessions = gateway.sessions();
        let session = sessions.get(received.session).ok_or(Status::UserSessionDeleted)?;
        if session.nobody {
            return Err(Status::AccessDenied);
        }
        (session.account.clone(), session.encrypted)
    };
    // The account's settings may have changed since the logon.
    let bound = match gateway.admission(&account, client.peer.ip()).await {
        Admission::Known { encryption: Encryption::Required, .. } if !sealed => return Err(Status::AccessDenied),
        Admission::Unknown | Admission::NotFromThere => return Err(Status::AccessDenied),
        Admission::Known { bound, .. } => bound,
    };
    let pipes = share.eq_ignore_ascii_case("IPC$");
    // Shares have names in lower case, and clients write them as they like.
    let share = if pipes { "IPC$".to_owned() } else { share.to_lowercase() };
    if !pipes {
        let account = AccountName::parse(&account).map_err(|_| Status::BadNetworkName)?;
        let name = ShareName::parse(&share).map_err(|_| Status::BadNetworkName)?;
        let found = gateway.store.share_for_access(&ShareAt { account, share: name }).await?;
        if found.is_none_or(|share| share.protocol != Protocol::Smb) {
            return Err(Status::BadNetworkName);
        }
    }
    let mut sessions = gateway.sessions_mut();
    let session = sessions.get_mut(received.session).ok_or(Status::UserSessionDeleted)?;
    let id = session.connect(Tree { share, pipes, encrypted: false, bound }).ok_or(Status::InsufficientResources)?;
    let kind = if pipes { ShareType::Pipe } else { ShareType::Disk };
    let flags = if pipes { ShareFlags::NO_CACHING } else { ShareFlags::MANUAL_CACHING };
    Ok((id, tree::Answer { kind: kind.code(), flags, maximal_access: Access::ALL.0, ..Default::default() }))
}
