//! Operations on containers: one file each.

mod change;
mod create_container;
mod delete_container;
mod get_container;
mod list_blobs;
mod restore_container;

use lazuli_engine::Txn;
use lazuli_model::container::Container;

use crate::ContainerAt;
use crate::keys;
use crate::transact::{Decided, get, now};
use crate::witness::{Found, found, saw};

fn stored(txn: &mut Txn<'_>, at: &ContainerAt) -> Decided<Option<Container>> {
    let container: Option<Container> = get(txn, &keys::container(at.account.as_str(), at.container.as_str()))?;
    let now = now(txn);
    saw(container.as_ref().map_or(Found::Nothing, |it| found(it.etag.made(), it.lease, now)));
    Ok(container)
}
