//! SET_INFO: times and attributes, names, lengths, deletion, and who may do what.

use lazuli_model::Refusal;
use lazuli_model::file::{Attributes, Kind, SetBasic};
use lazuli_store::Failure;

use crate::info::file::{Basic, Change, DispositionFlags, Rename, RenameFlags};
use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::query::{InfoType, SecurityInformation, SetRequest};
use crate::packet::security::SecurityDescriptor;
use crate::packet::wire::Field;
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{File, Open, What};
use crate::status::Status;
use crate::time::{FileTime, TimeChange};

use super::create::path;
use super::query_info::closed;

pub(super) async fn run(ask: &Ask<'_>, request: &SetRequest) -> Outcome {
    let open = ask.open(request.file)?;
    let What::File(file) = &open.what else { return Err(Status::NotSupported) };
    if file.at.snapshot.is_some() {
        return Err(Status::MediaWriteProtected);
    }
    match request.kind {
        InfoType::File => change(ask, &open, file, request).await?,
        InfoType::Security => security(ask, &open, file, request).await?,
        InfoType::FileSystem => return Err(Status::AccessDenied),
        InfoType::Quota => return Err(Status::InvalidDeviceRequest),
    }
    Ok((Status::Success, Response::SetInfo))
}

async fn change(ask: &Ask<'_>, open: &Open, file: &File, request: &SetRequest) -> Result<(), Status> {
    let change = Change::parse(request.class, request.input.clone()).map_err(|_| Status::InfoLengthMismatch)?;
    let store = &ask.store;
    let frozen = open.state().frozen;
    match change.ok_or(Status::InvalidInfoClass)? {
        Change::Basic(basic) => set_basic(ask, open, file, &basic).await,
        Change::Rename(to) => rename(ask, open, file, &to).await,
        Change::Disposition(disposition) => dispose(ask, open, file, disposition.delete).await,
        Change::DispositionEx(disposition) => {
            if disposition.flags.has(DispositionFlags::ON_CLOSE) {
                return Err(Status::NotSupported);
            }
            dispose(ask, open, file, disposition.flags.has(DispositionFlags::DELETE)).await
        }
        Change::EndOfFile(end) => {
            let length = end.size;
            resize(open, file, length)?;
            store.set_end(&file.at, length, frozen).await.map_err(closed)
        }
        Change::Allocation(allocation) => {
            let length = allocation.size;
            resize(open, file, length)?;
            // More room than there are bytes is reported and not kept; less cuts them off.
            let seen = store.query_handle(&file.at).await.map_err(closed)?;
            open.state().reserved = super::describe::clusters(length);
            if length < seen.entry.node.length {
                return store.set_end(&file.at, length, frozen).await.map_err(closed);
            }
            store.contend(&file.at).await.map_err(closed)
        }
        Change::Position(position) => {
            open.state().position = position.offset;
            Ok(())
        }
        Change::Mode(mode) => {
            // Write-through, sequential, and the two synchronous ones ([MS-FSCC] 2.4.26).
            if mode.mode & !0x3e != 0 || mode.mode & 0x30 == 0x30 {
                return Err(Status::InvalidParameter);
            }
            open.state().mode = mode.mode;
            Ok(())
        }
        Change::ValidDataLength(_) => Err(Status::PrivilegeNotHeld),
        Change::FullEa(_) => Err(Status::EasNotSupported),
        Change::Link(_) | Change::ShortName(_) | Change::Pipe(_) => Err(Status::NotSupported),
    }
}

fn resize(open: &Open, file: &File, length: u64) -> Result<(), Status> {
    open.may(Access::WRITE_DATA)?;
    if file.kind == Kind::Directory || i64::try_from(length).is_err() {
        return Err(Status::InvalidParameter);
    }
    Ok(())
}

async fn set_basic(ask: &Ask<'_>, open: &Open, file: &File, basic: &Basic) -> Result<(), Status> {
    open.may(Access::WRITE_ATTRIBUTES)?;
    let bits = basic.attributes.0;
    if bits & !0x0002_ffb7 != 0 {
        return Err(Status::InvalidParameter);
    }
    if bits & 0x10 != 0 && file.kind != Kind::Directory || bits & 0x100 != 0 && file.kind == Kind::Directory {
        return Err(Status::InvalidParameter);
    }
    let mut frozen = open.state().frozen;
    let times = [basic.created, basic.accessed, basic.written, basic.changed].map(FileTime::change);
    if times.contains(&TimeChange::Invalid) {
        return Err(Status::InvalidParameter);
    }
    let [created, _, written, changed] = times;
    freeze(written, &mut frozen.written);
    freeze(changed, &mut frozen.changed);
    let set = SetBasic {
        created: set(created),
        written: set(written),
        changed: set(changed),
        attributes: (bits != 0).then(|| Attributes::from_bits(bits)),
    };
    // Freezing and thawing change nothing by themselves.
    if set != SetBasic::default() {
        ask.store.set_basic(&file.at, set, frozen).await.map_err(closed)?;
    }
    // What is set stays, whatever is done through this handle.
    frozen.written |= set.written.is_some();
    frozen.changed |= set.changed.is_some();
    open.state().frozen = frozen;
    Ok(())
}

fn set(change: TimeChange) -> Option<lazuli_model::Timestamp> {
    match change {
        TimeChange::Set(time) => Some(time),
        TimeChange::Keep | TimeChange::Freeze | TimeChange::Thaw | TimeChange::Invalid => None,
    }
}

fn freeze(change: TimeChange, frozen: &mut bool) {
    match change {
        TimeChange::Freeze => *frozen = true,
        TimeChange::Thaw => *frozen = false,
        TimeChange::Keep | TimeChange::Set(_) | TimeChange::Invalid => {}
    }
}

async fn rename(ask: &Ask<'_>, open: &Open, file: &File, to: &Rename) -> Result<(), Status> {
    open.may(Access::DELETE)?;
    let name = to.name.to_text().map_err(|_| Status::ObjectNameInvalid)?;
    let name = name.strip_prefix('\\').unwrap_or(&name);
    if name.is_empty() {
        return Err(Status::InvalidParameter);
    }
    if name.starts_with(':') {
        return Err(Status::NotSupported);
    }
    let (path, snapshot) = path(name)?;
    if snapshot.is_some() {
        return Err(Status::NotSameDevice);
    }
    let replace = to.flags.has(RenameFlags::REPLACE_IF_EXISTS);
    let frozen = open.state().frozen;
    match ask.store.rename_handle(&file.at, path, replace, frozen, ask.who().as_ref(), &ask.later).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(ask.later.pending.reason()),
        // Somebody works below the directory.
        Err(Failure::Refused(Refusal::SharingViolation)) if file.kind == Kind::Directory => Err(Status::AccessDenied),
        Err(failure) => Err(closed(failure)),
    }
}

async fn dispose(ask: &Ask<'_>, open: &Open, file: &File, delete: bool) -> Result<(), Status> {
    open.may(Access::DELETE)?;
    match ask.store.mark_deletion(&file.at, delete, &ask.later).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(ask.later.pending.reason()),
        Err(Failure::Refused(Refusal::ReadOnlyAttribute)) => Err(Status::CannotDelete),
        Err(failure) => Err(closed(failure)),
    }
}

async fn security(ask: &Ask<'_>, open: &Open, file: &File, request: &SetRequest) -> Result<(), Status> {
    let parts = SecurityInformation(request.additional);
    if parts.has(SecurityInformation::OWNER) || parts.has(SecurityInformation::GROUP) {
        open.may(Access::WRITE_OWNER)?;
    }
    if parts.has(SecurityInformation::DACL) {
        open.may(Access::WRITE_DAC)?;
    }
    if parts.has(SecurityInformation::SACL) {
        return Err(Status::AccessDenied);
    }
    let sent = SecurityDescriptor::from_bytes(request.input.clone()).map_err(|_| Status::InvalidSecurityDescr)?;
    let given = parts.has(SecurityInformation::OWNER).then(|| sent.owner.clone()).flatten();
    if let (Some(who), Some(owner)) = (ask.who(), given)
        && !who.may_own(owner.authority, &owner.parts)
    {
        return Err(Status::InvalidOwner);
    }
    let parts = request.additional;
    let frozen = open.state().frozen;
    let merge = move |stored: &[u8]| super::security::merged(stored, &sent, parts);
    ask.store.change_descriptor(&file.at, frozen, merge).await.map_err(closed)
}
