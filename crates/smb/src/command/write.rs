//! WRITE. It is answered when it is durable.

use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::file::{WriteRequest, WriteResponse};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::What;
use crate::status::Status;
use lazuli_model::file::Kind;

pub(super) async fn run(ask: &Ask<'_>, request: WriteRequest) -> Outcome {
    let open = ask.open(request.file)?;
    let length = request.data.len();
    if length > ask.gateway.policy.transfer_max as usize {
        return Err(Status::InvalidParameter);
    }
    let answer = |count: usize| WriteResponse { count: count as u32, remaining: 0 };
    let file = match &open.what {
        What::Pipe(pipe) => {
            let server = super::pipe::server(ask).await?;
            let count = super::pipe::write(pipe, &request.data, &server)?;
            return Ok((Status::Success, Response::Write(answer(count))));
        }
        What::File(file) => file,
    };
    if file.kind == Kind::Directory {
        return Err(Status::InvalidDeviceRequest);
    }
    open.may(Access::WRITE_DATA.with(Access::APPEND_DATA))?;
    if file.at.snapshot.is_some() {
        return Err(Status::MediaWriteProtected);
    }
    if i64::try_from(request.offset).is_err() {
        return Err(Status::InvalidParameter);
    }
    if length > 0 {
        let frozen = open.state().frozen;
        // "If only the FILE_APPEND_DATA and SYNCHRONIZE flags are set, the caller can write only to the end of the file, and any offset information
        // about write operations to the file is ignored" (NtCreateFile).
        let offset = if open.may(Access::WRITE_DATA).is_ok() {
            ask.store.write_handle(&file.at, request.offset, request.data, frozen).await?;
            request.offset
        } else {
            ask.store.append_handle(&file.at, request.data, frozen).await?
        };
        open.state().position = offset + length as u64;
    }
    Ok((Status::Success, Response::Write(answer(length))))
}
