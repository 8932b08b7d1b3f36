//! Pipes of IPC$: what is written to one is answered by `rpc`, and read from it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_store::ListShares;

use crate::packet::Response;
use crate::packet::create::{self, Action};
use crate::packet::file::{FileId, ReadResponse};
use crate::rpc::{self, Interface, Pipe, Share};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{Open, What};
use crate::status::Status;

/// Shares that are listed.
const SHARES_MAX: u32 = 5000;

pub(super) fn open(ask: &Ask<'_>, request: &create::Request) -> Outcome {
    let name = request.name.to_text().map_err(|_| Status::ObjectNameInvalid)?;
    let interface = Interface::of(&name).ok_or(Status::ObjectNameNotFound)?;
    let number = ask.gateway.number();
    let id = FileId { persistent: number, volatile: number };
    let what = What::Pipe(Mutex::new((Pipe::new(interface), Vec::new())));
    let open = Open::new(id, ask.account.as_str().to_owned(), [0; 16], what, ask.session, ask.tree);
    let mut opens = ask.gateway.opens();
    if opens.is_full() {
        return Err(Status::InsufficientResources);
    }
    opens.insert(Arc::new(open));
    let now = ask.gateway.now();
    Ok((
        Status::Success,
        Response::Create(create::Response {
            oplock: 0,
            action: Action::Opened,
            created: now,
            accessed: now,
            written: now,
            changed: now,
            allocation: 4096,
            end_of_file: 0,
            attributes: 0x80,
            file: id,
            contexts: Vec::new(),
        }),
    ))
}

/// What is told of the server: asked for at each write, since shares come and go.
pub(super) async fn server(ask: &Ask<'_>) -> Result<rpc::Server, Status> {
    let list = ListShares { most: SHARES_MAX, ..ListShares::default() };
    let page = ask.gateway.store.list_shares(&ask.account, list).await?;
    let files = page.items.into_iter().map(|item| Share {
        name: item.name.as_str().to_owned(),
        comment: String::new(),
        pipes: false,
    });
    let pipes = Share { name: "IPC$".into(), comment: "Remote IPC".into(), pipes: true };
    let shares = files.chain([pipes]).collect();
    Ok(rpc::Server { name: ask.gateway.name.to_uppercase(), comment: "Lazuli".into(), shares })
}

pub(super) fn write(pipe: &Mutex<(Pipe, Vec<u8>)>, data: &[u8], server: &rpc::Server) -> Result<usize, Status> {
    let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = pipe.0.write(data, server).map_err(|_| Status::PipeDisconnected)?;
    pipe.1.extend(answer);
    Ok(data.len())
}

/// What can be read; with less room than there is, the rest stays.
pub(super) fn take(pipe: &Mutex<(Pipe, Vec<u8>)>, most: usize) -> (Status, Bytes) {
    let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
    let most = most.min(pipe.1.len());
    let rest = pipe.1.split_off(most);
    let status = if rest.is_empty() { Status::Success } else { Status::BufferOverflow };
    (status, std::mem::replace(&mut pipe.1, rest).into())
}

pub(super) fn read(pipe: &Mutex<(Pipe, Vec<u8>)>, most: usize) -> Outcome {
    let (status, data) = take(pipe, most);
    Ok((status, Response::Read(ReadResponse { data: data.into(), remaining: 0 })))
}
