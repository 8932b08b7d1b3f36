//! One request: let in or refused, parsed, given to its command, answered. In a compound, a related request has the session, the tree and the
//! file of the one before, and its failure if it failed to open one.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use lazuli_model::AccountName;
use lazuli_model::file::{Principal, ShareName};
use lazuli_store::{ShareAt, Store};

use super::Gateway;
use super::connection::Client;
use super::observed::Observed;
use super::opens::Open;
use super::pending::Later;
use crate::command;
use crate::info::file::Class;
use crate::packet::error::ErrorData;
use crate::packet::file::FileId;
use crate::packet::header::Target;
use crate::packet::query::{InfoType, SetRequest};
use crate::packet::{Command, Header, Request, Response};
use crate::session::protection::{Answer, Standing, accept_tree};
use crate::session::{Close, Received, Reply, Tree};
use crate::status::Status;

/// What a command comes to: a status with a body, or a status alone.
pub(crate) type Outcome = Result<(Status, Response), Status>;

/// What a compound's next request refers to.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    begun: bool,
    tree: u32,
    file: Option<Result<FileId, Status>>,
    /// The request has waited, and said so.
    pub waited: bool,
    /// The one before named no session or tree, so that nothing can be related to it.
    broken: bool,
    /// The session that ends with this compound.
    pub leaves: Option<u64>,
}

/// A request that was let in, with all that its command needs.
pub(crate) struct Ask<'a> {
    pub client: &'a Arc<Client>,
    pub gateway: &'a Arc<Gateway>,
    /// The gateway's, with a witness if the request may be recorded.
    pub store: Store,
    pub session: u64,
    pub account: AccountName,
    pub tree: u32,
    pub share: Tree,
    /// That of the request before, for a related one.
    related: Option<FileId>,
    pub later: Later<'a>,
}

impl Ask<'_> {
    /// The open that a request names.
    pub fn open(&self, id: FileId) -> Result<Arc<Open>, Status> {
        let id = if id == FileId::RELATED { self.related.unwrap_or(id) } else { id };
        let open = self.gateway.opens().get(id, self.session).ok_or(Status::FileClosed)?;
        if open.state().tree == self.tree { Ok(open) } else { Err(Status::FileClosed) }
    }

    /// Whom security descriptors bind; nobody, where who has the key may do everything.
    pub fn who(&self) -> Option<Principal> {
        self.share.bound.then(|| Principal::of_account(&self.account))
    }

    pub fn share_at(&self) -> Result<ShareAt, Status> {
        let share = ShareName::parse(&self.share.share).map_err(|_| Status::BadNetworkName)?;
        Ok(ShareAt { account: self.account.clone(), share })
    }
}

pub(crate) async fn one(
    client: &Arc<Client>,
    received: &Received,
    chain: &mut Chain,
    ready: &Mutex<Vec<Reply>>,
) -> Result<Reply, Close> {
    let before = std::mem::replace(&mut chain.begun, true);
    chain.waited = false;
    let accepted = received.accept().and_then(|answer| {
        let request = client.with_connection(|connection| connection.parse(received))?;
        Ok((answer, request))
    });
    let (answer, request) = match accepted {
        Ok(accepted) => accepted,
        Err(status) => {
            // What is related to a request without a session cannot be told what it is about.
            let unrelatable = received.header.is_related() && (!before || chain.broken);
            chain.broken |= matches!(status, Status::UserSessionDeleted | Status::NetworkSessionExpired);
            let status = if unrelatable { Status::InvalidParameter } else { status };
            let mut reply = refusal(client, received, status, received.refusal());
            // For a session that nobody knows there is no key. Clients know their own signature again, and believe it.
            if received.standing == Standing::Unknown {
                reply.header.signature = received.header.signature;
            }
            return Ok(reply);
        }
    };
    match request {
        Request::Negotiate(request) => command::negotiate::run(client, received, &request, answer),
        Request::SessionSetup(request) => command::session_setup::run(client, received, &request).await,
        Request::Echo => Ok(reply(client, received, Ok((Status::Success, Response::Echo)), answer)),
        Request::Logoff => {
            chain.leaves = Some(received.session);
            command::logoff::run(client, received.session).await;
            Ok(reply(client, received, Ok((Status::Success, Response::Logoff)), answer))
        }
        Request::TreeConnect(request) => {
            let (outcome, tree) = command::tree_connect::run(client, received, &request).await;
            chain.tree = tree;
            let mut reply = reply(client, received, outcome, answer);
            if tree != 0 {
                reply.header.target = in_reply(&received.header, tree);
            }
            Ok(reply)
        }
        request @ (Request::TreeDisconnect
        | Request::Create(_)
        | Request::Close(_)
        | Request::Flush(_)
        | Request::Read(_)
        | Request::Write(_)
        | Request::Lock(_)
        | Request::Ioctl(_)
        | Request::Cancel
        | Request::QueryDirectory(_)
        | Request::ChangeNotify(_)
        | Request::QueryInfo(_)
        | Request::SetInfo(_)
        | Request::OplockBreak(_)) => in_tree(client, received, request, answer, chain, before, ready).await,
    }
}

async fn in_tree(
    client: &Arc<Client>,
    received: &Received,
    request: Request,
    answer: Answer,
    chain: &mut Chain,
    before: bool,
    ready: &Mutex<Vec<Reply>>,
) -> Result<Reply, Close> {
    let header = &received.header;
    if header.is_related() && (!before || chain.broken) {
        chain.broken = true;
        return Ok(refusal(client, received, Status::InvalidParameter, answer));
    }
    let (tree, related) =
        if header.is_related() { (chain.tree, chain.file) } else { (header.tree().unwrap_or(0), None) };
    chain.tree = tree;
    let connected = {
        let sessions = client.gateway.sessions();
        let session = sessions.get(received.session);
        session
            .and_then(|session| session.tree(tree).cloned().map(|tree| (session.account.clone(), tree, session.nobody)))
    };
    let Some((account, share, nobody)) = connected else {
        chain.broken = true;
        return Ok(refusal(client, received, Status::NetworkNameDeleted, answer));
    };
    let Ok(account) = AccountName::parse(&account) else {
        return Ok(refusal(client, received, Status::AccessDenied, answer));
    };
    if let Err(status) = accept_tree(share.encrypted, received.arrived) {
        return Ok(refusal(client, received, status, answer));
    }
    if nobody && reaches_new(&request) {
        chain.file = Some(Err(Status::AccessDenied));
        return Ok(refusal(client, received, Status::AccessDenied, answer));
    }
    let related = match related {
        Some(Err(status)) if uses_related(&request) => return Ok(refusal(client, received, status, answer)),
        Some(Ok(file)) => Some(file),
        Some(Err(_)) | None => None,
    };
    let pending = client.begin(received, tree);
    let name = ShareName::parse(&share.share).ok();
    let of_share = name.map(|share| ShareAt { account: account.clone(), share });
    let later = Later { client, received, answer, pending: pending.clone(), share: of_share, before: ready };
    let gateway = &client.gateway;
    let session = received.session;
    let store = gateway.store.clone();
    let mut ask = Ask { client, gateway, store, session, account, tree, share, related, later };
    let observed = Observed::of(&ask, &request);
    if let Some(observed) = &observed {
        ask.store = ask.store.witnessed(observed.witness.clone());
    }
    match named_file(&request) {
        // Who names no file and is related to nobody has none, and nor have those that are related to it.
        Some(FileId::RELATED) if !header.is_related() => chain.file = Some(Err(Status::FileClosed)),
        Some(FileId::RELATED) | None => {}
        Some(file) => chain.file = Some(Ok(file)),
    }
    let creates = matches!(request, Request::Create(_));
    let by_handle = needs_only_the_handle(&request);
    let outcome = match command::run(&ask, request).await? {
        // The store has no such handle any more: it was closed by force, and the notice of that is on its way.
        Err(Status::ObjectNameNotFound) if by_handle => Err(Status::FileClosed),
        outcome => outcome,
    };
    if let Some(observed) = observed {
        observed.tell(&ask, header.message_id, &outcome);
    }
    if creates {
        chain.file = Some(match &outcome {
            Ok((_, Response::Create(created))) => Ok(created.file),
            Ok((status, _)) | Err(status) => Err(*status),
        });
    }
    chain.waited = pending.id.load(Ordering::SeqCst) != 0;
    let mut reply = reply_later(client, received, outcome, answer, pending.id.load(Ordering::SeqCst));
    if header.is_related() && pending.id.load(Ordering::SeqCst) == 0 {
        reply.header.target = in_reply(header, tree);
    }
    Ok(reply)
}

/// The tree that an answer names, which the request did not. The rest is as it came: there are clients that verify signatures over zeros
/// where they have sent zeros.
fn in_reply(request: &Header, tree: u32) -> Target {
    match request.target {
        Target::Sync { process, .. } => Target::Sync { process, tree },
        Target::Async { id } => Target::Async { id },
    }
}

/// The open that a request is about.
fn named_file(request: &Request) -> Option<FileId> {
    match request {
        Request::Close(request) => Some(request.file),
        Request::Flush(request) => Some(request.file),
        Request::Read(request) => Some(request.file),
        Request::Write(request) => Some(request.file),
        Request::Lock(request) => Some(request.file),
        Request::Ioctl(request) => Some(request.file),
        Request::QueryDirectory(request) => Some(request.file),
        Request::ChangeNotify(request) => Some(request.file),
        Request::QueryInfo(request) => Some(request.file),
        Request::SetInfo(request) => Some(request.file),
        Request::Negotiate(_)
        | Request::SessionSetup(_)
        | Request::Logoff
        | Request::TreeConnect(_)
        | Request::TreeDisconnect
        | Request::Create(_)
        | Request::Cancel
        | Request::Echo
        | Request::OplockBreak(_) => None,
    }
}

/// Whether nothing can be missing but the handle itself.
fn needs_only_the_handle(request: &Request) -> bool {
    matches!(request, Request::Close(_) | Request::Flush(_) | Request::Read(_) | Request::Write(_) | Request::Lock(_))
}

pub(super) fn is_rename(received: &Received) -> bool {
    received.header.command == Command::SetInfo
        && match Request::parse(Command::SetInfo, received.message.clone()) {
            Ok(Request::SetInfo(set)) => renames(&set),
            Ok(_) | Err(_) => false,
        }
}

fn renames(set: &SetRequest) -> bool {
    let names = matches!(Class::from_code(set.class), Some(Class::Rename | Class::RenameEx | Class::Link));
    set.kind == InfoType::File && names
}

/// Whether a request gets at something that its client has not open: who has become nobody may not.
fn reaches_new(request: &Request) -> bool {
    match request {
        Request::Create(_) => true,
        Request::SetInfo(set) => renames(set),
        Request::Negotiate(_)
        | Request::SessionSetup(_)
        | Request::Logoff
        | Request::TreeConnect(_)
        | Request::TreeDisconnect
        | Request::Close(_)
        | Request::Flush(_)
        | Request::Read(_)
        | Request::Write(_)
        | Request::Lock(_)
        | Request::Ioctl(_)
        | Request::Cancel
        | Request::Echo
        | Request::QueryDirectory(_)
        | Request::ChangeNotify(_)
        | Request::QueryInfo(_)
        | Request::OplockBreak(_) => false,
    }
}

fn uses_related(request: &Request) -> bool {
    named_file(request).is_some()
}

fn reply_later(client: &Client, received: &Received, outcome: Outcome, answer: Answer, id: u64) -> Reply {
    if id == 0 {
        return reply(client, received, outcome, answer);
    }
    let (status, response) = told(client, received, outcome);
    // Its credits were granted when it was announced.
    let header = Header { session: received.session, ..received.header.response(status.code(), 0) };
    Reply { header: Header { target: Target::Async { id }, ..header }, response, answer }
}

pub(crate) fn reply(client: &Client, received: &Received, outcome: Outcome, answer: Answer) -> Reply {
    let (status, response) = told(client, received, outcome);
    Reply { header: client.header(&received.header, received.session, status), response, answer }
}

fn told(client: &Client, received: &Received, outcome: Outcome) -> (Status, Response) {
    let (status, response) = outcome.unwrap_or_else(|status| (status, Response::Error(ErrorData::None)));
    client.gateway.counts.count(received.header.command.code(), status);
    tracing::debug!(
        target: "lazuli::access",
        peer = %client.peer.ip(), operation = ?received.header.command, status = status.name(), session = received.session,
        message = received.header.message_id
    );
    (status, response)
}

fn refusal(client: &Client, received: &Received, status: Status, answer: Answer) -> Reply {
    reply(client, received, Err(status), answer)
}
