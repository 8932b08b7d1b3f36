//! IOCTL: pipes, copies on the server, sparse files, snapshots, and what clients ask about the connection.

use bytes::Bytes;
use lazuli_model::file::Kind;
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::Failure;

use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::fsctl::{
    self, AllocatedRange, CopyRequest, CopyResponse, Fsctl, ResumeKey, ValidateRequest, ZeroData,
};
use crate::packet::ioctl::{IoctlFlags, Request, Response as Answer};
use crate::packet::wire::Field;
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{File, Open, What};
use crate::session::{Close, negotiation};
use crate::status::Status;

use super::pipe;

/// What one copy may ask for, as Windows has it.
const CHUNK_MAX: u32 = 1 << 20;
const COPY_MAX: u32 = 16 << 20;
const RANGES_MAX: usize = 65_536;

pub(super) async fn run(ask: &Ask<'_>, request: &Request) -> Result<Outcome, Close> {
    if !request.flags.has(IoctlFlags::FSCTL) {
        return Ok(Err(Status::NotSupported));
    }
    if request.input.len().max(request.output_max as usize) > ask.gateway.policy.transfer_max as usize {
        return Ok(Err(Status::InvalidParameter));
    }
    let Some(code) = Fsctl::from_code(request.code) else { return Ok(Err(Status::InvalidDeviceRequest)) };
    if code == Fsctl::ValidateNegotiate {
        return validate(ask, request).map(|output| answer(request, output.map(|output| (Status::Success, output))));
    }
    Ok(answer(request, about(ask, request, code).await))
}

fn answer(request: &Request, output: Result<(Status, Bytes), Status>) -> Outcome {
    output.map(|(status, output)| (status, Response::Ioctl(Answer { code: request.code, file: request.file, output })))
}

/// Whether the client heard what we said. If not, somebody is in between, and the connection ends.
fn validate(ask: &Ask<'_>, request: &Request) -> Result<Result<Bytes, Status>, Close> {
    let asked = ValidateRequest::from_bytes(request.input.clone())?;
    let valid = ask.client.with_connection(|connection| {
        let agreed = connection.agreed()?;
        negotiation::validate(&ask.gateway.policy, agreed, &asked)
    });
    let bytes = valid.ok_or(Close::Protocol)?.to_bytes();
    if bytes.len() > request.output_max as usize {
        return Ok(Err(Status::InvalidParameter));
    }
    Ok(Ok(bytes))
}

async fn about(ask: &Ask<'_>, request: &Request, code: Fsctl) -> Result<(Status, Bytes), Status> {
    let room = request.output_max as usize;
    let done = Ok((Status::Success, Bytes::new()));
    match code {
        Fsctl::DfsGetReferrals | Fsctl::DfsGetReferralsEx => return Err(Status::FsDriverRequired),
        Fsctl::QueryNetworkInterfaces => return interfaces(ask, room),
        Fsctl::PipeWait => return Err(Status::NotSupported),
        Fsctl::ValidateNegotiate
        | Fsctl::PipeTransceive
        | Fsctl::PipePeek
        | Fsctl::RequestResumeKey
        | Fsctl::EnumerateSnapshots
        | Fsctl::CopyChunk
        | Fsctl::CopyChunkWrite
        | Fsctl::SetSparse
        | Fsctl::SetZeroData
        | Fsctl::QueryAllocatedRanges
        | Fsctl::CreateOrGetObjectId
        | Fsctl::GetObjectId
        | Fsctl::GetCompression
        | Fsctl::SetCompression
        | Fsctl::GetReparsePoint
        | Fsctl::SetReparsePoint
        | Fsctl::DeleteReparsePoint
        | Fsctl::IsPathnameValid
        | Fsctl::RequestResiliency
        | Fsctl::FilesystemGetStatistics
        | Fsctl::GetNtfsVolumeData
        | Fsctl::FindFilesBySid
        | Fsctl::SetObjectId
        | Fsctl::DeleteObjectId
        | Fsctl::ReadFileUsnData
        | Fsctl::QueryOnDiskVolumeInfo
        | Fsctl::FileLevelTrim
        | Fsctl::OffloadRead
        | Fsctl::OffloadWrite
        | Fsctl::GetIntegrityInformation
        | Fsctl::SetIntegrityInformation
        | Fsctl::QueryFileRegions
        | Fsctl::DuplicateExtents
        | Fsctl::DuplicateExtentsEx
        | Fsctl::ReadHash => {}
    }
    let open = ask.open(request.file)?;
    let file = match (&open.what, code) {
        (What::Pipe(pipe), Fsctl::PipeTransceive) => {
            let server = pipe::server(ask).await?;
            pipe::write(pipe, &request.input, &server)?;
            return Ok(pipe::take(pipe, room));
        }
        (What::Pipe(_), _) => return Err(Status::NotSupported),
        (What::File(file), _) => file,
    };
    match code {
        Fsctl::RequestResumeKey => {
            let key = ResumeKey { key: resume_key(&open) }.to_bytes();
            if key.len() > room { Err(Status::InvalidParameter) } else { Ok((Status::Success, key)) }
        }
        Fsctl::CopyChunk | Fsctl::CopyChunkWrite => copy(ask, &open, file, request, code).await,
        Fsctl::EnumerateSnapshots => {
            if room < 16 {
                return Err(Status::InvalidParameter);
            }
            open.may(Access::READ_DATA)?;
            let times = ask.store.snapshots(&file.at.share).await?;
            let tokens: Vec<String> = times.into_iter().rev().map(token).collect();
            Ok((Status::Success, fsctl::write_snapshots(&tokens, room)))
        }
        Fsctl::SetSparse => {
            if file.kind == Kind::Directory {
                return Err(Status::InvalidParameter);
            }
            open.may(Access::WRITE_DATA.with(Access::WRITE_ATTRIBUTES).with(Access::APPEND_DATA))?;
            let sparse = fsctl::parse_set_sparse(&request.input);
            let frozen = open.state().frozen;
            ask.store.set_sparse(&file.at, sparse, frozen).await?;
            done
        }
        Fsctl::SetZeroData => {
            open.may(Access::WRITE_DATA)?;
            let zero = ZeroData::from_bytes(request.input.clone()).map_err(|_| Status::InvalidParameter)?;
            let (Ok(from), Ok(to)) = (u64::try_from(zero.from), u64::try_from(zero.to)) else {
                return Err(Status::InvalidParameter);
            };
            if from > to || file.kind == Kind::Directory {
                return Err(Status::InvalidParameter);
            }
            let frozen = open.state().frozen;
            ask.store.zero_handle(&file.at, from, to, frozen).await?;
            done
        }
        Fsctl::QueryAllocatedRanges => ranges(ask, &open, file, request).await,
        Fsctl::CreateOrGetObjectId | Fsctl::GetObjectId => {
            // Its id within the share, and nothing of where it was made.
            let mut id = [0; 64];
            id[..8].copy_from_slice(&super::describe::file_id(file.at.file).to_le_bytes());
            if room < id.len() {
                Err(Status::BufferTooSmall)
            } else {
                Ok((Status::Success, Bytes::copy_from_slice(&id)))
            }
        }
        Fsctl::SetObjectId | Fsctl::DeleteObjectId => Err(Status::InvalidDeviceRequest),
        // Nothing is compressed.
        Fsctl::GetCompression if room < 2 => Err(Status::InvalidParameter),
        Fsctl::GetCompression => Ok((Status::Success, Bytes::from_static(&[0, 0]))),
        // To be as it is can be asked of every file.
        Fsctl::SetCompression if request.input.as_ref() == [0, 0] => {
            open.may(Access::WRITE_DATA)?;
            done
        }
        Fsctl::SetCompression => Err(Status::NotSupported),
        Fsctl::IsPathnameValid => done,
        Fsctl::GetReparsePoint => Err(Status::NotAReparsePoint),
        Fsctl::SetReparsePoint
        | Fsctl::DeleteReparsePoint
        | Fsctl::RequestResiliency
        | Fsctl::FilesystemGetStatistics
        | Fsctl::GetNtfsVolumeData
        | Fsctl::FindFilesBySid
        | Fsctl::ReadFileUsnData
        | Fsctl::QueryOnDiskVolumeInfo
        | Fsctl::FileLevelTrim
        | Fsctl::OffloadRead
        | Fsctl::OffloadWrite
        | Fsctl::GetIntegrityInformation
        | Fsctl::SetIntegrityInformation
        | Fsctl::QueryFileRegions
        | Fsctl::DuplicateExtents
        | Fsctl::DuplicateExtentsEx
        | Fsctl::ReadHash
        | Fsctl::PipePeek
        | Fsctl::PipeTransceive
        | Fsctl::PipeWait
        | Fsctl::DfsGetReferrals
        | Fsctl::DfsGetReferralsEx
        | Fsctl::QueryNetworkInterfaces
        | Fsctl::ValidateNegotiate => Err(Status::InvalidDeviceRequest),
    }
}

/// Where else the client may connect to: nowhere but where it is, so that it binds no further channel on its own.
fn interfaces(ask: &Ask<'_>, room: usize) -> Result<(Status, Bytes), Status> {
    let channels =
        ask.client.with_connection(|connection| connection.agreed().is_some_and(|agreed| agreed.multi_channel()));
    let (true, Some(local)) = (channels, ask.client.local) else { return Err(Status::NotSupported) };
    let one = fsctl::write_interface(local.ip());
    if one.len() > room { Err(Status::BufferTooSmall) } else { Ok((Status::Success, one)) }
}

/// `@GMT-2024.05.03-10.20.30`.
fn token(time: Timestamp) -> String {
    let iso = time.to_iso_seconds();
    let (date, clock) = iso.trim_end_matches('Z').split_once('T').unwrap_or((iso.as_str(), ""));
    format!("@GMT-{}-{}", date.replace('-', "."), clock.replace(':', "."))
}

/// What names an open as the source of a copy: only within its session, where it is looked up again.
fn resume_key(open: &Open) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&open.id.persistent.to_le_bytes());
    key[8..16].copy_from_slice(&open.id.volatile.to_le_bytes());
    key
}

async fn copy(
    ask: &Ask<'_>,
    open: &Open,
    target: &File,
    request: &Request,
    code: Fsctl,
) -> Result<(Status, Bytes), Status> {
    if (request.output_max as usize) < 12 {
        return Err(Status::InvalidParameter);
    }
    let asked = CopyRequest::from_bytes(request.input.clone()).map_err(|_| Status::InvalidParameter)?;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| asked.source[at + byte]));
    let id = crate::packet::file::FileId { persistent: word(0), volatile: word(8) };
    let source = ask.gateway.opens().get(id, ask.session).ok_or(Status::ObjectNameNotFound)?;
    let from = source.file()?;
    let total: u64 = asked.chunks.iter().map(|chunk| u64::from(chunk.length)).sum();
    let wrong = |chunk: &fsctl::Chunk| chunk.length == 0 || chunk.length > CHUNK_MAX;
    if asked.chunks.iter().any(wrong) || asked.chunks.len() > fsctl::CHUNKS_MAX || total > u64::from(COPY_MAX) {
        let limits = CopyResponse { chunks: fsctl::CHUNKS_MAX as u32, chunk_bytes: CHUNK_MAX, total_bytes: COPY_MAX };
        return Ok((Status::InvalidParameter, limits.to_bytes()));
    }
    if from.kind == Kind::Directory || target.kind == Kind::Directory {
        return Err(Status::InvalidDeviceRequest);
    }
    source.may(Access::READ_DATA.with(Access::EXECUTE))?;
    // Chunks say where they go, and who may only append may not.
    open.may(Access::WRITE_DATA)?;
    if code == Fsctl::CopyChunk {
        open.may(Access::READ_DATA)?;
    }
    let frozen = open.state().frozen;
    let (mut chunks, mut bytes) = (0, 0_u64);
    for chunk in &asked.chunks {
        let (store, length) = (&ask.store, u64::from(chunk.length));
        let copied = store.copy_range(&from.at, chunk.source, &target.at, chunk.target, length, frozen).await;
        let part = CopyResponse { chunks, chunk_bytes: 0, total_bytes: bytes as u32 };
        match copied {
            Ok(()) => bytes += length,
            // A chunk that reaches beyond the source's end is not copied at all.
            Err(Failure::Refused(Refusal::InvalidRange)) if chunks == 0 => return Err(Status::InvalidViewSize),
            Err(Failure::Refused(Refusal::InvalidRange)) => return Ok((Status::InvalidViewSize, part.to_bytes())),
            Err(failure) => return Ok((failure.into(), part.to_bytes())),
        }
        chunks += 1;
    }
    let all = CopyResponse { chunks, chunk_bytes: 0, total_bytes: bytes as u32 };
    Ok((Status::Success, all.to_bytes()))
}

async fn ranges(ask: &Ask<'_>, open: &Open, file: &File, request: &Request) -> Result<(Status, Bytes), Status> {
    open.may(Access::READ_DATA)?;
    let asked = AllocatedRange::from_bytes(request.input.clone()).map_err(|_| Status::InvalidParameter)?;
    let end = asked.offset.checked_add(asked.length).filter(|end| i64::try_from(*end).is_ok());
    let (Some(end), true) = (end, i64::try_from(asked.offset).is_ok()) else { return Err(Status::InvalidParameter) };
    if file.kind == Kind::Directory {
        return Err(Status::InvalidParameter);
    }
    let store = &ask.store;
    let seen = store.query_handle(&file.at).await?;
    let node = &seen.entry.node;
    let end = end.min(node.length);
    let ranges = if asked.offset >= end {
        Vec::new()
    } else if node.smb.attributes.bits() & 0x200 == 0 {
        // What is not said to be sparse is all there.
        vec![AllocatedRange { offset: asked.offset, length: end - asked.offset }]
    } else {
        let written = store.written_ranges(&file.at, asked.offset, end, RANGES_MAX).await?;
        let range =
            |range: std::ops::Range<u64>| AllocatedRange { offset: range.start, length: range.end - range.start };
        written.into_iter().map(range).collect()
    };
    let (bytes, all) = fsctl::allocated_ranges(&ranges, request.output_max as usize);
    if bytes.is_empty() && !ranges.is_empty() {
        return Err(Status::BufferTooSmall);
    }
    Ok((if all { Status::Success } else { Status::BufferOverflow }, bytes))
}
