//! READ. What the store hands out in one piece stays as it is; several are gathered once, behind room for what goes ahead of them.

use crate::packet::create::Access;
use crate::packet::file::{ReadRequest, ReadResponse};
use crate::packet::{Payload, Response};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::What;
use crate::status::Status;
use lazuli_model::file::Kind;

pub(super) async fn run(ask: &Ask<'_>, request: &ReadRequest) -> Outcome {
    let open = ask.open(request.file)?;
    if request.length > ask.gateway.policy.transfer_max {
        return Err(Status::InvalidParameter);
    }
    let file = match &open.what {
        What::Pipe(pipe) => return super::pipe::read(pipe, request.length as usize),
        What::File(file) => file,
    };
    if file.kind == Kind::Directory {
        return Err(Status::InvalidDeviceRequest);
    }
    open.may(Access::READ_DATA.with(Access::EXECUTE))?;
    if i64::try_from(request.offset).is_err() || request.offset.checked_add(request.length.into()).is_none() {
        return Err(Status::InvalidParameter);
    }
    let mut reader = ask.store.read_handle(&file.at, request.offset, request.length.into()).await?;
    let rest = reader.entry.node.length.saturating_sub(request.offset);
    let data = gather(&mut reader, rest.min(request.length.into()) as usize).await?;
    let wanted = request.minimum.max(u32::from(request.length > 0)) as usize;
    if data.len() < wanted {
        return Err(Status::EndOfFile);
    }
    open.state().position = request.offset + data.len() as u64;
    Ok((Status::Success, Response::Read(ReadResponse { data, remaining: 0 })))
}

/// Each piece is copied while it is in the processor's cache, to where the whole message is going to be.
async fn gather(reader: &mut lazuli_store::FileReader, most: usize) -> Result<Payload, Status> {
    let Some(first) = reader.next().await? else { return Ok(Payload::default()) };
    let Some(second) = reader.next().await? else { return Ok(first.into()) };
    let mut whole = Payload::begin(most);
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while let Some(more) = reader.next().await? {
        whole.extend_from_slice(&more);
    }
    Ok(Payload::gathered(whole))
}
