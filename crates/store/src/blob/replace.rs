//! What becomes of the record that a new one replaces: one place, for every operation that writes a blob.

use lazuli_engine::Txn;
use lazuli_model::blob::Blob;

use crate::claims::{Trash, release};
use crate::keys::BlobKeys;
use crate::records::{Kept, Mark, encode};
use crate::transact::Decided;

/// `new`, with a content of its own, takes the place of `old`. Of the old content, `kept` went over to the new one.
pub(super) fn replace(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    old: Option<&Blob>,
    new: &Blob,
    kept: Kept,
    trash: &mut Trash,
) -> Decided<()> {
    guard(txn, keys, new);
    txn.put(keys.base(), encode(new));
    match old {
        Some(old) => release(txn, keys, &old.content, kept, trash),
        None => Ok(()),
    }
}

/// The same blob with the same content, changed in its record alone.
pub(super) fn change(txn: &mut Txn<'_>, keys: &BlobKeys, new: &Blob) {
    guard(txn, keys, new);
    txn.put(keys.base(), encode(new));
}

/// Notes that something under this name may be protected, for whoever would delete the container.
pub(super) fn guard(txn: &mut Txn<'_>, keys: &BlobKeys, new: &Blob) {
    if new.is_guarded() {
        txn.put(keys.guard(), encode(&Mark));
    }
}
