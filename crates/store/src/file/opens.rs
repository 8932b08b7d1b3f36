//! What SMB does with a file: open, lock, give up caches, mark for deletion, close. Kept in the share's rows, so that REST and every
//! gateway see it; a handle goes with the gateway that holds it.

use lazuli_model::file::arbiter::{self, Break, Caching, Lock, Open, Opening, Standing, Verdict};
use lazuli_model::file::{Entry, FileId, Kind};
use lazuli_model::{Refusal, Timestamp};

use super::tree::Tree;
use super::{FileAt, ShareAt, entry};
use crate::records::decode;
use crate::transact::Decided;
use crate::{Failure, Store};

/// An open by an SMB client, of something that is there.
#[derive(Clone, Debug)]
pub struct OpenFile {
    pub session: u64,
    pub gateway: u128,
    pub client: String,
    pub client_name: String,
    pub opening: Opening,
}

#[derive(Clone, Debug)]
pub enum Opened {
    Handle {
        handle: u64,
        caching: Caching,
        entry: Box<Entry>,
    },
    /// Others have to give up what they cache first; ask again when that has changed.
    Wait {
        since: Timestamp,
    },
}

/// A client has to be told that it may cache less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedBreak {
    pub file: FileId,
    pub asked: Break,
    pub caching_key: u128,
}

impl Store {
    pub async fn open_handle(&self, at: &FileAt, open: OpenFile) -> Result<Opened, Failure> {
        let path = at.path.clone();
        let opened = self
            .change_tree(&at.share_at(), move |tree| {
                let (node, parent) = tree.find(&path)?;
                let mut standing = tree.standing(node.id)?;
                let read_only = node.kind != Kind::Directory && node.is_read_only();
                let now = tree.now();
                let (verdict, caching) = arbiter::open(&open.opening, &standing, read_only, now)?;
                match verdict {
                    Verdict::Wait(breaks) => {
                        standing.mark(&breaks, now);
                        write_back(tree, node.id, &standing);
                        Ok(Opened::Wait { since: now })
                    }
                    Verdict::Go(told) => {
                        standing.mark_done(&told);
                        write_back(tree, node.id, &standing);
                        let new = new_open(tree, &open, caching, now);
                        tree.put_open(node.id, &new);
                        tree.enter(&node)?;
                        let entry = Box::new(entry(node, parent, standing.lease));
                        Ok(Opened::Handle { handle: new.handle, caching, entry })
                    }
                }
            })
            .await?;
        if matches!(opened, Opened::Wait { .. }) {
            self.breaks.ask();
        }
        Ok(opened)
    }

    /// True when the file went with it.
    pub async fn close_handle(&self, at: &ShareAt, file: FileId, handle: u64) -> Result<bool, Failure> {
        let gone = self.change_tree(at, move |tree| close(tree, file, handle)).await?;
        self.breaks.settle();
        Ok(gone)
    }

    pub async fn lock_range(&self, at: &ShareAt, file: FileId, handle: u64, lock: Lock) -> Result<(), Failure> {
        self.change_standing(at, file, move |standing| {
            let verdict = arbiter::lock(standing, handle, lock)?;
            standing.opens.iter_mut().filter(|open| open.handle == handle).for_each(|open| open.locks.push(lock));
            Ok(verdict)
        })
        .await
    }

    pub async fn unlock_range(
        &self,
        at: &ShareAt,
        file: FileId,
        handle: u64,
        from: u64,
        to: u64,
    ) -> Result<(), Failure> {
        self.change_standing(at, file, move |standing| {
            let locks = arbiter::unlock(standing, handle, from, to)?;
            standing
                .opens
                .iter_mut()
                .filter(|open| open.handle == handle)
                .for_each(|open| open.locks.clone_from(&locks));
            Ok(Verdict::Go(Vec::new()))
        })
        .await
    }

    /// A client has given up what it was asked to, for all its handles with that key.
    pub async fn acknowledge_break(&self, at: &ShareAt, file: FileId, key: u128, to: Caching) -> Result<(), Failure> {
        self.change_standing(at, file, move |standing| {
            arbiter::acknowledge(standing, key, to)?;
            Ok(Verdict::Go(Vec::new()))
        })
        .await?;
        self.breaks.settle();
        Ok(())
    }

    /// Marks a file to go with its last handle, or changes that back.
    pub async fn mark_deletion(&self, at: &ShareAt, file: FileId, handle: u64, pending: bool) -> Result<(), Failure> {
        self.change_tree(at, move |tree| {
            let node = tree.node(file)?.ok_or(Refusal::ResourceNotFound)?;
            if pending && node.kind == Kind::Directory && tree.count_children(file)? > 0 {
                return Err(Refusal::DirectoryNotEmpty.into());
            }
            let mut standing = tree.standing(file)?;
            let read_only = node.kind != Kind::Directory && node.is_read_only();
            let verdict = arbiter::set_delete_pending(&standing, handle, read_only, pending)?;
            tell(&mut standing, &verdict);
            write_back(tree, file, &standing);
            let held = tree.held(file)?;
            tree.put_held(file, super::rows::Held { delete_pending: pending, ..held });
            Ok(())
        })
        .await
    }

    /// What the clients of a gateway still have to be told in a share.
    pub async fn breaks_of(&self, at: &ShareAt, gateway: u128) -> Result<Vec<AskedBreak>, Failure> {
        self.look_tree(at, None, |tree| {
            let all = tree.keys.all_opens();
            let mut asked = Vec::new();
            for (key, bytes) in tree.txn.scan(&all, &all.after_prefix(), usize::MAX)? {
                let open: Open = decode(&bytes)?;
                let file = key.row().first_chunk().map(|id| FileId(u64::from_be_bytes(*id)));
                if let (Some(file), true, Some(broken)) = (file, open.gateway == gateway, Break::of(&open)) {
                    asked.push(AskedBreak { file, asked: broken, caching_key: open.caching_key });
                }
            }
            Ok(asked)
        })
        .await
    }

    async fn change_standing(
        &self,
        at: &ShareAt,
        file: FileId,
        change: impl Fn(&mut Standing) -> Result<Verdict, Refusal> + Send + 'static,
    ) -> Result<(), Failure> {
        self.change_tree(at, move |tree| {
            let mut standing = tree.standing(file)?;
            let verdict = change(&mut standing)?;
            tell(&mut standing, &verdict);
            write_back(tree, file, &standing);
            Ok(())
        })
        .await
    }
}

fn tell(standing: &mut Standing, verdict: &Verdict) {
    match verdict {
        Verdict::Go(told) | Verdict::Wait(told) => standing.mark_done(told),
    }
}

fn write_back(tree: &mut Tree<'_, '_>, file: FileId, standing: &Standing) {
    for open in &standing.opens {
        tree.put_open(file, open);
    }
}

fn new_open(tree: &mut Tree<'_, '_>, open: &OpenFile, caching: Caching, now: Timestamp) -> Open {
    Open {
        handle: tree.txn.stamp().0,
        session: open.session,
        gateway: open.gateway,
        client: open.client.clone(),
        client_name: open.client_name.clone(),
        access: open.opening.access,
        sharing: open.opening.sharing,
        opened: now,
        reconnected: None,
        delete_on_close: open.opening.delete_on_close,
        caching,
        caching_key: open.opening.caching_key,
        breaking: None,
        locks: Vec::new(),
    }
}

fn close(tree: &mut Tree<'_, '_>, file: FileId, handle: u64) -> Decided<bool> {
    let mut standing = tree.standing(file)?;
    let goes = arbiter::close(&mut standing, handle)?;
    tree.txn.delete(tree.keys.open(file, handle));
    let node = tree.node(file)?;
    if let Some(node) = &node {
        tree.leave(node)?;
    }
    let held = tree.held(file)?;
    if held.delete_pending != standing.delete_pending {
        tree.put_held(file, super::rows::Held { delete_pending: standing.delete_pending, ..held });
    }
    if !goes {
        return Ok(false);
    }
    let Some(node) = node else { return Ok(false) };
    // Something came into the directory since it was marked: it stays.
    if node.kind == Kind::Directory && tree.count_children(file)? > 0 {
        tree.put_held(file, super::rows::Held { delete_pending: false, ..held });
        return Ok(false);
    }
    let name = node.name.clone();
    if tree.unlink(&node, node.parent, &name)? > 0 {
        tree.put_held(file, super::rows::Held { delete_pending: false, ..held });
    }
    Ok(true)
}
