//! One file for each command: what was parsed comes in, the store is asked, the answer goes out.

pub(crate) mod caching;
mod change_notify;
mod close;
mod create;
mod describe;
mod durable;
mod ioctl;
mod lock;
pub(crate) mod logoff;
pub(crate) mod negotiate;
mod oplock_break;
mod pipe;
mod query_directory;
mod query_info;
mod read;
mod security;
pub(crate) mod session_setup;
mod set_info;
pub(crate) mod tree_connect;
mod tree_disconnect;
mod write;

use crate::packet::{Request, Response};
use crate::serve::dispatch::{Ask, Outcome};
use crate::session::Close;
use crate::status::Status;

/// A request within a tree.
pub(crate) async fn run(ask: &Ask<'_>, request: Request) -> Result<Outcome, Close> {
    Ok(match request {
        Request::TreeDisconnect => tree_disconnect::run(ask).await,
        Request::Create(request) => create::run(ask, &request).await,
        Request::Close(request) => close::run(ask, &request).await,
        // What was answered is durable.
        Request::Flush(request) => ask.open(request.file).map(|_| (Status::Success, Response::Flush)),
        Request::Read(request) => read::run(ask, &request).await,
        Request::Write(request) => write::run(ask, request).await,
        Request::Lock(request) => lock::run(ask, &request).await,
        Request::Ioctl(request) => return ioctl::run(ask, &request).await,
        Request::QueryDirectory(request) => query_directory::run(ask, &request).await,
        Request::ChangeNotify(request) => change_notify::run(ask, &request).await,
        Request::QueryInfo(request) => query_info::run(ask, &request).await,
        Request::SetInfo(request) => set_info::run(ask, &request).await,
        Request::OplockBreak(request) => oplock_break::run(ask, request).await,
        Request::Negotiate(_)
        | Request::SessionSetup(_)
        | Request::Logoff
        | Request::TreeConnect(_)
        | Request::Cancel
        | Request::Echo => Err(Status::InvalidParameter),
    })
}
