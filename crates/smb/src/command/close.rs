//! CLOSE, with what the file was last if the client asks.

use crate::packet::Response;
use crate::packet::file::{CloseFlags, CloseRequest, CloseResponse};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::end_watch;
use crate::serve::opens::What;
use crate::status::Status;

use super::describe;

pub(super) async fn run(ask: &Ask<'_>, request: &CloseRequest) -> Outcome {
    let open = ask.open(request.file)?;
    ask.client.idle(open.id.volatile).await;
    let mut answer = CloseResponse::default();
    if let What::File(file) = &open.what
        && request.flags.has(CloseFlags::POST_QUERY)
        && let Ok(last) = ask.gateway.store.query_handle(&file.at).await
    {
        let node = &last.entry.node;
        let [created, accessed, written, changed] = describe::times(node);
        answer = CloseResponse {
            flags: CloseFlags::POST_QUERY,
            created,
            accessed,
            written,
            changed,
            allocation: describe::allocation(node),
            end_of_file: describe::end_of_file(node),
            attributes: describe::attributes(node).0,
        };
    }
    if ask.gateway.opens().remove(open.id).is_none() {
        return Err(Status::FileClosed);
    }
    end_watch(&open, Status::NotifyCleanup);
    ask.gateway.close_open_in(&ask.store, &open).await;
    Ok((Status::Success, Response::Close(answer)))
}
