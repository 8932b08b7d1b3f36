//! Security descriptors: what is asked of the stored one, and what is set of it. What is not said stays as it was.

use bytes::Bytes;
use lazuli_model::file::Principal;

use crate::packet::create::Access;
use crate::packet::query::SecurityInformation;
use crate::packet::security::{Ace, Control, SecurityDescriptor, Sid};
use crate::packet::wire::Field;
use crate::status::Status;

const DACL_BITS: u16 = 0x150c;
const SACL_BITS: u16 = 0x2a30;
const INHERIT_REQUEST: u16 = 0x100;

/// A descriptor that comes with a new file; nothing, if it has no list, since that is inherited then. The owner that it leaves out is who
/// makes the file, or the administrators where descriptors bind nobody.
pub(super) fn whole(sent: &Bytes, who: Option<&Principal>) -> Result<Option<Vec<u8>>, Status> {
    let mut sent = SecurityDescriptor::from_bytes(sent.clone()).map_err(|_| Status::InvalidSecurityDescr)?;
    if !sent.control.has(Control::DACL_PRESENT) {
        return Ok(None);
    }
    let [owner, group] = who.map_or([(5, &[32, 544][..]), (5, &[18])], Principal::sids);
    let sid = |(authority, parts): (u64, &[u32])| Sid { authority, parts: parts.to_vec() };
    let owner = sent.owner.get_or_insert_with(|| sid(owner));
    if who.is_some_and(|who| !who.may_own(owner.authority, &owner.parts)) {
        return Err(Status::InvalidOwner);
    }
    sent.group.get_or_insert_with(|| sid(group));
    sent.sacl = None;
    sent.control = Control(sent.control.0 & !SACL_BITS);
    spell_out(&mut sent);
    Ok(Some(sent.to_bytes().to_vec()))
}

/// Generic rights become what they are for files, where they count ([MS-DTYP] 2.5.3.4.3, GenericMapping). Those that are only passed on stay.
fn spell_out(descriptor: &mut SecurityDescriptor) {
    const INHERIT_ONLY: u8 = 0x8;
    for ace in descriptor.dacl.iter_mut().flat_map(|dacl| &mut dacl.aces) {
        if ace.flags & INHERIT_ONLY == 0
            && let Some((rights, sid)) = ace.plain()
        {
            *ace = Ace::plainly(ace.kind, ace.flags, Access(rights).specific().0, &sid);
        }
    }
}

/// The parts that were asked for.
pub(super) fn asked(stored: Vec<u8>, parts: u32) -> Result<Bytes, Status> {
    let stored = SecurityDescriptor::from_bytes(stored.into()).map_err(|_| Status::InternalError)?;
    Ok(stored.only(SecurityInformation(parts)).to_bytes())
}

/// The stored one with the parts that are set. `None` if the result cannot be kept.
pub(super) fn merged(stored: &[u8], sent: &SecurityDescriptor, parts: u32) -> Option<Vec<u8>> {
    let stored = SecurityDescriptor::from_bytes(Bytes::copy_from_slice(stored)).ok()?;
    let parts = SecurityInformation(parts);
    let mut merged = stored;
    if parts.has(SecurityInformation::OWNER) {
        merged.owner = Some(sent.owner.clone()?);
    }
    if parts.has(SecurityInformation::GROUP) {
        merged.group = Some(sent.group.clone()?);
    }
    if parts.has(SecurityInformation::DACL) {
        merged.dacl.clone_from(&sent.dacl);
        // A list that is set and is not there is none: everybody may do everything.
        let present = Control::DACL_PRESENT.0;
        merged.control = Control(merged.control.0 & !DACL_BITS | sent.control.0 & DACL_BITS | present);
        spell_out(&mut merged);
        // That a list was inherited is believed of those who ask for it too; the question itself is not kept (smb2.acls.INHERITFLAGS).
        if sent.control.0 & INHERIT_REQUEST == 0 {
            merged.control = Control(merged.control.0 & !Control::DACL_INHERITED.0);
        }
        merged.control = Control(merged.control.0 & !INHERIT_REQUEST);
    }
    if parts.has(SecurityInformation::SACL) {
        merged.sacl.clone_from(&sent.sacl);
        merged.control = Control(merged.control.0 & !SACL_BITS | sent.control.0 & SACL_BITS);
    }
    Some(merged.to_bytes().to_vec())
}
