//! The tag index of a container: a row for each tag of each blob, with all the tags of the blob beside it, so that a search
//! by several tags needs no other row. Versions, and what was deleted softly, are in an index of their own, so that a search
//! for what is there never meets them. Snapshots are in neither.

use lazuli_engine::Txn;
use lazuli_model::Tags;
use lazuli_model::blob::{Blob, Which};

use crate::keys::{BlobKeys, Past};
use crate::records::{PastTags, encode};

pub(super) fn index(txn: &mut Txn<'_>, keys: &BlobKeys, old: Option<&Tags>, new: Option<&Tags>) {
    let none = Tags::NONE;
    let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
    if old == new {
        return;
    }
    for (tag, value) in old.iter().filter(|(tag, value)| new.get(tag) != Some(*value)) {
        txn.delete(keys.tagged(tag, value));
    }
    for (tag, value) in new.iter() {
        txn.put(keys.tagged(tag, value), encode(new));
    }
}

/// `blob` is from now on a version, or deleted softly, as its record says.
pub(super) fn keep_past(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob) {
    let past = Past { which, is_deleted: blob.deleted.is_some() };
    let kept = PastTags { tags: blob.tags.clone(), until: blob.deleted.map(|deleted| deleted.until) };
    for (tag, value) in blob.tags.iter() {
        if let Some(key) = keys.past_tagged(tag, value, past) {
            txn.put(key, encode(&kept));
        }
    }
}

/// It is not any more what it is as `which`.
pub(super) fn forget_past(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob) {
    let past = Past { which, is_deleted: blob.deleted.is_some() };
    for (tag, value) in blob.tags.iter() {
        if let Some(key) = keys.past_tagged(tag, value, past) {
            txn.delete(key);
        }
    }
}
