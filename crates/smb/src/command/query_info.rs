//! QUERY_INFO: what is known of a file, of the file system, and who may do what.

use bytes::Bytes;
use lazuli_model::file::{Kind, ReadShare};

use crate::info::file::{self, Class};
use crate::info::file_system::{self, SystemAttributes};
use crate::info::{fit, fit_whole};
use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::error::ErrorData;
use crate::packet::negotiate::Dialect;
use crate::packet::query::{InfoRequest, InfoType, Output, SecurityInformation};
use crate::packet::wire::Field;
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{File, Open, What};
use crate::status::Status;

use super::describe;

type Fitted = Result<(Status, Bytes), Status>;

pub(super) async fn run(ask: &Ask<'_>, request: &InfoRequest) -> Outcome {
    let open = ask.open(request.file)?;
    if request.output_max > ask.gateway.policy.transfer_max {
        return Err(Status::InvalidParameter);
    }
    let room = request.output_max as usize;
    let fitted = match (&open.what, request.kind) {
        (What::Pipe(_), _) => of_pipe(request, room),
        (What::File(file), InfoType::File) => of_file(ask, &open, file, request, room).await,
        (What::File(_), InfoType::FileSystem) => of_system(ask, request, room).await,
        (What::File(file), InfoType::Security) => return of_security(ask, &open, file, request, room).await,
        (What::File(_), InfoType::Quota) => Err(Status::InvalidDeviceRequest),
    };
    fitted.map(|(status, bytes)| (status, Response::QueryInfo(Output(bytes))))
}

fn of_pipe(request: &InfoRequest, room: usize) -> Fitted {
    match (request.kind, Class::from_code(request.class)) {
        (InfoType::File, Some(Class::Standard)) => {
            let standard = file::Standard { allocation: 4096, links: 1, delete_pending: true, ..Default::default() };
            fit_whole(&standard, room)
        }
        (InfoType::File, Some(Class::Pipe)) => fit_whole(&file::Pipe::default(), room),
        (InfoType::File, Some(_)) => Err(Status::NotSupported),
        (InfoType::File | InfoType::FileSystem | InfoType::Security | InfoType::Quota, _) => {
            Err(Status::InvalidParameter)
        }
    }
}

async fn of_file(ask: &Ask<'_>, open: &Open, at: &File, request: &InfoRequest, room: usize) -> Fitted {
    let class = Class::from_code(request.class).ok_or(Status::InvalidInfoClass)?;
    let store = &ask.gateway.store;
    let seen = store.query_handle(&at.at).await.map_err(closed)?;
    let node = &seen.entry.node;
    let attributes = || open.may(Access::READ_ATTRIBUTES);
    let (position, mode, reserved) = {
        let state = open.state();
        (state.position, state.mode, state.reserved)
    };
    let mode = file::Mode { mode: if mode == 0 { open.options.0 & 0x103e } else { mode } };
    let mut standard = describe::standard(node, seen.delete_pending);
    standard.allocation = standard.allocation.max(reserved);
    let id = describe::file_id(node.id);
    match class {
        Class::Basic => {
            attributes()?;
            fit_whole(&describe::basic(node), room)
        }
        Class::Standard => fit_whole(&standard, room),
        Class::Internal => fit_whole(&file::Internal { id }, room),
        Class::Ea => fit_whole(&file::Ea { size: 0 }, room),
        Class::Access => fit_whole(&file::Access { granted: open.access.0 }, room),
        Class::Position => fit_whole(&file::Position { offset: position }, room),
        Class::Mode => fit_whole(&mode, room),
        Class::Alignment => fit_whole(&file::Alignment::default(), room),
        Class::NetworkOpen => {
            attributes()?;
            let network = describe::network_open(node);
            fit_whole(&file::NetworkOpen { allocation: standard.allocation, ..network }, room)
        }
        Class::AttributeTag => {
            attributes()?;
            fit_whole(&file::AttributeTag { attributes: describe::attributes(node), tag: 0 }, room)
        }
        Class::Compression => fit_whole(&file::Compression { size: node.length, ..Default::default() }, room),
        Class::Id => {
            let mut wide = [0; 16];
            wide[..8].copy_from_slice(&id.to_le_bytes());
            fit_whole(&file::Id { volume: 1, file: wide }, room)
        }
        Class::StandardLink => {
            let (links, directory) = (node.links, node.kind == Kind::Directory);
            let pending = seen.delete_pending;
            fit_whole(&file::StandardLink { accessible: links, total: links, delete_pending: pending, directory }, room)
        }
        Class::Name | Class::NormalizedName => {
            let path = store.path_of_handle(&at.at).await.map_err(closed)?;
            let name = if class == Class::Name { format!("\\{path}") } else { path };
            fit(file::Name(name.as_str().into()).to_bytes(), file::Name::LEAST, room)
        }
        // There are no short names.
        Class::AlternateName => Err(Status::ObjectNameNotFound),
        Class::All => {
            attributes()?;
            let path = store.path_of_handle(&at.at).await.map_err(closed)?;
            let all = file::All {
                basic: describe::basic(node),
                standard,
                internal: file::Internal { id },
                ea: file::Ea { size: 0 },
                access: file::Access { granted: open.access.0 },
                position: file::Position { offset: position },
                mode,
                alignment: file::Alignment::default(),
                name: file::Name(format!("\\{path}").as_str().into()),
            };
            fit(all.to_bytes(), file::All::LEAST, room)
        }
        Class::Stream => {
            let streams = match node.kind {
                Kind::Directory => Vec::new(),
                Kind::File | Kind::Symlink => {
                    vec![file::Stream::unnamed(node.length, describe::allocation(node))]
                }
            };
            fit(file::Stream::write_list(&streams), 0, room)
        }
        Class::FullEa => Err(Status::EasNotSupported),
        Class::Pipe | Class::PipeLocal | Class::PipeRemote => Err(Status::InvalidParameter),
        Class::Quota => Err(Status::NotSupported),
        Class::Rename
        | Class::Link
        | Class::Disposition
        | Class::Allocation
        | Class::EndOfFile
        | Class::ValidDataLength
        | Class::ShortName
        | Class::DispositionEx
        | Class::RenameEx => Err(Status::InvalidInfoClass),
    }
}

/// What the store does not know any more was closed by somebody else.
pub(super) fn closed(failure: lazuli_store::Failure) -> Status {
    match failure {
        lazuli_store::Failure::Refused(lazuli_model::Refusal::ResourceNotFound) => Status::FileClosed,
        failure @ (lazuli_store::Failure::Refused(_) | lazuli_store::Failure::Broken(_)) => failure.into(),
    }
}

const SECTOR: u64 = 512;

async fn of_system(ask: &Ask<'_>, request: &InfoRequest, room: usize) -> Fitted {
    let class = file_system::Class::from_code(request.class).ok_or(Status::InvalidInfoClass)?;
    let (share, usage) = ask.gateway.store.share_usage(&ask.share_at()?, ReadShare::default()).await?;
    let quota = u64::from(share.quota_gib) << 30;
    let total_units = quota / describe::CLUSTER;
    let available_units = quota.saturating_sub(usage) / describe::CLUSTER;
    let (sectors_per_unit, bytes_per_sector) = ((describe::CLUSTER / SECTOR) as u32, SECTOR as u32);
    match class {
        file_system::Class::Volume => {
            let volume = file_system::Volume {
                created: ask.gateway.policy.started,
                serial: serial(&ask.share.share),
                supports_objects: false,
                label: ask.share.share.as_str().into(),
            };
            fit(volume.to_bytes(), file_system::Volume::LEAST, room)
        }
        file_system::Class::Size => {
            fit_whole(&file_system::Size { total_units, available_units, sectors_per_unit, bytes_per_sector }, room)
        }
        file_system::Class::FullSize => {
            let caller_available_units = available_units;
            let size = file_system::FullSize {
                total_units,
                caller_available_units,
                available_units,
                sectors_per_unit,
                bytes_per_sector,
            };
            fit_whole(&size, room)
        }
        file_system::Class::Device => {
            let (kind, characteristics) = (file_system::DEVICE_DISK, file_system::DEVICE_IS_MOUNTED);
            fit_whole(&file_system::Device { kind, characteristics }, room)
        }
        file_system::Class::Attribute => {
            let attributes = SystemAttributes::CASE_PRESERVED_NAMES
                .with(SystemAttributes::CASE_SENSITIVE_SEARCH)
                .with(SystemAttributes::UNICODE_ON_DISK)
                .with(SystemAttributes::PERSISTENT_ACLS)
                .with(SystemAttributes::SPARSE_FILES);
            let attribute = file_system::Attribute { attributes, name_max: 255, name: "NTFS".into() };
            fit(attribute.to_bytes(), file_system::Attribute::LEAST, room)
        }
        file_system::Class::SectorSize => {
            let sector = bytes_per_sector;
            let size = file_system::SectorSize {
                logical: sector,
                physical_atomic: sector,
                physical_performance: sector,
                effective_atomic: sector,
                flags: 0x3,
                sector_alignment: 0,
                partition_alignment: 0,
            };
            fit_whole(&size, room)
        }
        file_system::Class::ObjectId => fit_whole(&file_system::ObjectId { id: ask.gateway.policy.server }, room),
        file_system::Class::Control => {
            let unlimited =
                file_system::Control { quota_threshold: u64::MAX, quota_limit: u64::MAX, ..Default::default() };
            fit_whole(&unlimited, room)
        }
        file_system::Class::Label | file_system::Class::DriverPath => Err(Status::InvalidInfoClass),
    }
}

/// The same for a share each time.
fn serial(share: &str) -> u32 {
    share.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

async fn of_security(ask: &Ask<'_>, open: &Open, at: &File, request: &InfoRequest, room: usize) -> Outcome {
    let parts = SecurityInformation(request.additional);
    if parts.has(SecurityInformation::SACL) {
        return Err(Status::AccessDenied);
    }
    open.may(Access::READ_CONTROL)?;
    let stored = ask.gateway.store.descriptor(&at.at).await.map_err(closed)?;
    let bytes = super::security::asked(stored, request.additional)?;
    if bytes.len() > room {
        let dialect = ask.client.with_connection(|connection| connection.agreed().map(|agreed| agreed.dialect));
        let needed = ErrorData::needed(bytes.len() as u32, dialect == Some(Dialect::Smb311));
        return Ok((Status::BufferTooSmall, Response::Error(needed)));
    }
    Ok((Status::Success, Response::QueryInfo(Output(bytes))))
}
