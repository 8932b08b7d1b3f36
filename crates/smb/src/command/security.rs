//! Security descriptors: what is asked of the stored one, and what is set of it. What is not said stays as it was.

use bytes::Bytes;

use crate::packet::query::SecurityInformation;
use crate::packet::security::{Ace, Acl, Control, SecurityDescriptor, Sid};
use crate::packet::wire::Field;
use crate::status::Status;

const DACL_BITS: u16 = 0x150c;
const SACL_BITS: u16 = 0x2a30;
const INHERIT_REQUEST: u16 = 0x100;

/// A descriptor that comes with a new file. What it leaves out is the administrators', and without a list everybody may do everything.
pub(super) fn whole(sent: &Bytes) -> Result<Vec<u8>, Status> {
    let mut sent = SecurityDescriptor::from_bytes(sent.clone()).map_err(|_| Status::InvalidSecurityDescr)?;
    let sid = |authority, parts: &[u32]| Sid { authority, parts: parts.to_vec() };
    sent.owner.get_or_insert_with(|| sid(5, &[32, 544]));
    sent.group.get_or_insert_with(|| sid(5, &[18]));
    sent.dacl.get_or_insert_with(|| Acl { revision: 2, aces: vec![Ace::allow(0, 0x1f_01ff, &sid(1, &[0]))] });
    sent.sacl = None;
    sent.control = Control(sent.control.0 & !SACL_BITS);
    Ok(sent.to_bytes().to_vec())
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
        merged.control = Control(merged.control.0 & !DACL_BITS | sent.control.0 & DACL_BITS);
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
