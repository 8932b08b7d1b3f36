//! The tag index of a container: a row for each tag of each blob, with all the tags of the blob beside it, so that a search
//! by several tags needs no other row. Only the blob itself is indexed: not its snapshots, and not its previous versions.

use lazuli_engine::Txn;
use lazuli_model::Tags;

use crate::keys::BlobKeys;
use crate::records::encode;

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
