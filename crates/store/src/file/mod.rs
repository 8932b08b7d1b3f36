//! Operations on shares, directories and files: one file each.
//!
//! Held true of a share's space, which is one partition:
//! * an entry has an id for life, one node, and as many names as it has links; to move it is to move a name;
//! * what snapshots see is told by epochs (`tree`, `content`), so that to take one is to move on to the next;
//! * what is true of open handles is in rows too (`standing`), so that every gateway sees it and a restart forgets nobody.

mod beneath;
mod content;
mod copy_file;
mod copy_range;
mod create_directory;
mod create_file;
mod delete_entry;
mod gateways;
mod get_file;
mod handles;
pub(crate) mod keys;
mod lease_file;
mod links;
mod list_entries;
mod locks;
mod notices;
mod observer;
mod opens;
mod permissions;
mod properties;
mod ranges;
mod rename;
pub(crate) mod rows;
mod share;
mod standing;
pub(crate) mod sweep;
mod through;
mod tree;
mod waits;
mod watches;

pub use gateways::{Gone, HEARTBEAT_SECONDS, STALE_SECONDS};
pub use get_file::FileReader;
pub use handles::{ClosedHandles, HandleItem, HandlePage, ListHandles};
pub use list_entries::{EntryItem, EntryPage, ListEntries};
pub use locks::Locked;
pub use notices::Notice;
pub use observer::{HandleAct, HandleCall, HandleObserver};
pub use opens::{Granted, NewEntry, OpenFile, Opened, RightsClaim, Wanted};
pub use ranges::RangeList;
pub use share::{DeletedShare, ListShares, ShareItem, SharePage};
pub use through::{Children, Through, permission_of};
pub(crate) use waits::Breaks;
pub use waits::{Alarm, LOOK_SECONDS, Patience, Waiting};
pub use watches::{Change, Filter, Happened, Watch};

use std::sync::Arc;

use lazuli_model::file::{Entry, FileId, FilePath, Node, ShareName};
use lazuli_model::{AccountName, Lease, Refusal, Timestamp};

use crate::transact::{Decided, Trouble, get};
use crate::witness::refuses;
use crate::{Failure, Store};
use keys::ShareKeys;
use rows::Born;
use tree::{Found, Tree};

/// Where a share is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareAt {
    pub account: AccountName,
    pub share: ShareName,
}

/// Where a file or a directory is. The empty path is the root directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileAt {
    pub account: AccountName,
    pub share: ShareName,
    pub path: FilePath,
}

/// Where an open handle is; or, of a snapshot, which cannot be changed and has no handles, the file or directory in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HandleAt {
    pub share: ShareAt,
    pub snapshot: Option<Timestamp>,
    pub file: FileId,
    pub handle: u64,
}

impl FileAt {
    pub fn share_at(&self) -> ShareAt {
        ShareAt { account: self.account.clone(), share: self.share.clone() }
    }
}

impl Store {
    /// For what comes right before a transaction: if the share goes in between, the transaction is refused, or lands in a dead
    /// space, seen by nobody.
    async fn found_share(&self, at: &ShareAt) -> Result<Found, Failure> {
        let born = self.look(&keys::share_partition(at), |txn| get::<Born>(txn, &keys::share(at))).await?;
        let born = born.ok_or(Refusal::ShareNotFound)?;
        Ok(Found { at: at.clone(), keys: ShareKeys::new(born.id), life: born.life, born: Arc::new(born.share) })
    }

    /// One look at a share as it is, or as it was. A share that has ended says so in its head, until the sweeper takes that as
    /// the last of its rows. So where there is no head, either nothing was changed yet, or the share has gone meanwhile.
    async fn look_tree<T: Send>(
        &self,
        at: &ShareAt,
        snapshot: Option<Timestamp>,
        look: impl Fn(&mut Tree<'_, '_>) -> Decided<T> + Send + Sync,
    ) -> Result<T, Failure> {
        loop {
            let found = self.found_share(at).await?;
            let partition = found.keys.partition();
            let seen = self.look(&partition, |txn| {
                let has_head = txn.get(&found.keys.head())?.is_some();
                let seen = Tree::at(txn, &found, snapshot).and_then(|mut tree| look(&mut tree));
                match seen {
                    Ok(seen) => Ok((has_head, Ok(seen))),
                    Err(Trouble::Refused(refusal)) => {
                        refuses();
                        Ok((has_head, Err(refusal)))
                    }
                    Err(trouble) => Err(trouble),
                }
            });
            let (has_head, seen) = seen.await?;
            if has_head || self.found_share(at).await?.keys == found.keys {
                return Ok(seen?);
            }
        }
    }

    /// One transaction in a share.
    async fn change_tree<T: Send + 'static>(
        &self,
        at: &ShareAt,
        change: impl Fn(&mut Tree<'_, '_>) -> Decided<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let found = self.found_share(at).await?;
        self.change_found(found, change).await
    }

    async fn change_found<T: Send + 'static>(
        &self,
        found: Found,
        change: impl Fn(&mut Tree<'_, '_>) -> Decided<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.change_staged(found, None, change).await
    }

    /// One transaction whose records name the pieces of `staged`.
    async fn change_staged<T: Send + 'static>(
        &self,
        found: Found,
        staged: Option<lazuli_engine::content::Staged>,
        change: impl Fn(&mut Tree<'_, '_>) -> Decided<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (keys, at) = (found.keys.clone(), found.at.clone());
        let (answer, left) = self
            .transact_staged(keys.partition(), staged, move |txn| {
                let mut tree = Tree::new(txn, &found)?;
                let answer = change(&mut tree)?;
                Ok((answer, tree.finish()))
            })
            .await?;
        self.hint(left.trash, keys.content);
        if left.notices {
            self.breaks.ask(&at);
        }
        if left.settles {
            self.breaks.settle();
        }
        Ok(answer)
    }
}

fn entry(node: Node, parent: FileId, lease: Lease) -> Entry {
    Entry { node, parent, lease }
}
