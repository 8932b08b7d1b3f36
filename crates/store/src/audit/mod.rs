//! The whole-store check: whether what the records say of each other is true. For a quiet moment: nobody writes meanwhile. (Run
//! beside writers, it may report what was half seen.)
//!
//! What is compared, container by container and share by share:
//! * claims against manifests: each piece that a block, a chunk or a window names is claimed, by as many holders as name it;
//!   and nothing else is claimed. Where garbage still waits for the sweeper, or a copy is under way, no piece may lack its claim;
//! * no piece is both free and named: what a garbage row gives back has no claim in that partition;
//! * counts against rows: records that share a content, messages of a queue, blocks that wait, names in a directory, the
//!   bytes of a share's files, and the handles below a directory;
//! * handles that share a cache have the same caching, epoch and break;
//! * each chunk that a record counts on is there;
//! * names against nodes, in a file system: each entry has one name, and each is reached from the root directory.
//!
//! Memory: the pieces of one container at a time.

mod blobs;
mod lake;
mod shares;

use std::collections::BTreeSet;

use bytes::Bytes;
use lazuli_engine::{Column, Key, Space};
use lazuli_model::queue::Queue;

use crate::file::keys as file;
use crate::file::rows::{Born, Buried};
use crate::keys;
use crate::records::{DeletedContainer, Head, Start, decode, decode_container_id};
use crate::transact::now;
use crate::{Failure, Store};

const PAGE: usize = 1024;
/// Damage beyond this is counted and not told.
const TOLD: usize = 1000;

/// What was gone over, and what was found.
#[derive(Debug, Default)]
pub struct Audit {
    /// What is not true, in plain words, each with its place.
    pub damage: Vec<String>,
    pub damaged: u64,
    pub spaces: u64,
    pub rows: u64,
    pub pieces: u64,
    /// Garbage rows that the sweeper has not come to yet.
    pub garbage: u64,
    /// Where the pieces are that a record claims, or that a garbage row still has to give back.
    pub known: BTreeSet<Start>,
}

/// What a space is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Container,
    Share,
    Queue,
    /// Its rows go one by one: only what it holds counts.
    Dead,
}

impl Audit {
    fn add(&mut self, place: &str, what: impl std::fmt::Display) {
        self.damaged += 1;
        if self.damage.len() < TOLD {
            self.damage.push(format!("{place}: {what}"));
        }
    }
}

impl Store {
    /// Goes over everything. `tell` hears what is gone over next.
    pub async fn audit(&self, tell: &mut (dyn FnMut(&str) + Send)) -> Result<Audit, Failure> {
        let mut audit = Audit::default();
        for (column, kind) in [
            (keys::CONTAINERS, Kind::Container),
            (keys::DELETED_CONTAINERS, Kind::Container),
            (keys::QUEUES, Kind::Queue),
            (file::SHARES, Kind::Share),
            (file::DELETED_SHARES, Kind::Share),
            (keys::DEAD_SPACES, Kind::Dead),
        ] {
            let mut from = keys::column(keys::ROOT, column);
            let end = from.after_prefix();
            loop {
                let rows = self.rows(&from, &end, PAGE).await?;
                for (key, bytes) in &rows {
                    let place = format!("{} {}", told(kind), String::from_utf8_lossy(&key.row()).replace('\0', "/"));
                    match space_of(column, key, bytes) {
                        Ok(Some(space)) => {
                            tell(&place);
                            self.audit_space(space, kind, &place, &mut audit).await?;
                        }
                        Ok(None) | Err(_) => audit.add(&place, "its row cannot be read"),
                    }
                }
                match rows.last() {
                    Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                    Some(_) | None => break,
                }
            }
        }
        Ok(audit)
    }

    async fn audit_space(&self, space: Space, kind: Kind, place: &str, audit: &mut Audit) -> Result<(), Failure> {
        let mut blobs = blobs::Contents::default();
        let mut share = shares::Tree::default();
        let mut paths = lake::PathTree::default();
        let mut queue = (None, 0_u64);
        let (mut from, end) = (Key::new(space, Column(0), &[]), Key::new(space, Column(u8::MAX), &[]));
        loop {
            let rows = self.rows(&from, &end, PAGE).await?;
            for (key, bytes) in &rows {
                audit.rows += 1;
                let read = match kind {
                    Kind::Container => paths.see(key, bytes).and_then(|()| blobs.see(key, bytes)),
                    Kind::Dead => blobs.see(key, bytes),
                    Kind::Share => share.see(key, bytes).and_then(|()| blobs.see_content(key, bytes)),
                    Kind::Queue => see_queue(&mut queue, key, bytes),
                };
                if let Err(fault) = read {
                    audit.add(place, format!("a row of column {:?} cannot be read: {fault:?}", key.column()));
                }
            }
            match rows.last() {
                Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                Some(_) | None => break,
            }
        }
        audit.spaces += 1;
        match kind {
            Kind::Container => {
                paths.judge(place, audit);
                blobs.judge(place, audit);
            }
            Kind::Share => {
                // A look, since its time is not before the last change.
                let now = self.look(&file::ShareKeys::new(space.0).partition(), |txn| Ok(now(txn))).await?;
                share.judge(now, place, audit);
                blobs.judge(place, audit);
            }
            Kind::Dead => blobs.note(audit),
            Kind::Queue => {
                let counted = queue.0.map_or(0, |head: Head| head.count);
                if counted != queue.1 {
                    audit.add(place, format!("{counted} messages are counted, and {} are there", queue.1));
                }
            }
        }
        Ok(())
    }
}

fn see_queue(queue: &mut (Option<Head>, u64), key: &Key, bytes: &Bytes) -> Result<(), lazuli_engine::Fault> {
    match key.column() {
        keys::HEADS => queue.0 = Some(decode(bytes)?),
        keys::MESSAGES => queue.1 += 1,
        _ => {}
    }
    Ok(())
}

fn told(kind: Kind) -> &'static str {
    match kind {
        Kind::Container => "container",
        Kind::Share => "share",
        Kind::Queue => "queue",
        Kind::Dead => "what is left of a deleted one,",
    }
}

fn space_of(column: Column, key: &Key, bytes: &Bytes) -> Result<Option<Space>, lazuli_engine::Fault> {
    Ok(match column {
        keys::CONTAINERS => Some(Space(decode_container_id(bytes)?)),
        keys::DELETED_CONTAINERS => Some(Space(decode::<DeletedContainer>(bytes)?.container.id)),
        keys::QUEUES => Some(Space(decode::<Queue>(bytes)?.id)),
        file::SHARES => Some(Space(decode::<Born>(bytes)?.id)),
        file::DELETED_SHARES => Some(Space(decode::<Buried>(bytes)?.born.id)),
        _ => keys::read_dead_space(key),
    })
}
