//! Making known that a container will have a tag, before it does; and forgetting it, long after.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lazuli_engine::{Key, Partition, Space};
use lazuli_model::{Tags, Timestamp};

use crate::records::{TagName, decode_container_id, encode};
use crate::transact::{Decided, get, now};
use crate::{ContainerAt, Failure, Store, keys};

/// How long a row that was seen is relied on: far shorter than `FADING_SECONDS`.
const FRESH_SECONDS: u64 = 60;
/// How long a row is of no use before it goes: longer than any write takes that has seen it.
const FADING_SECONDS: u64 = 20 * 60;
/// Rows remembered; more than that are looked up again.
const REMEMBERED: usize = 1 << 14;

/// Rows that were seen lately: by container and tag, when.
#[derive(Default)]
pub(crate) struct Announced(Mutex<HashMap<(u128, String), Timestamp>>);

impl Announced {
    fn is_fresh(&self, space: u128, tag: &str, now: Timestamp) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&(space, tag.to_owned())).is_some_and(|at| now < at.plus_seconds(FRESH_SECONDS))
    }

    fn saw(&self, space: u128, tag: &str, now: Timestamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert((space, tag.to_owned()), now);
    }
}

impl Store {
    /// To be awaited before a transaction that puts `tags` on a blob.
    pub(crate) async fn announce_tags(&self, at: &ContainerAt, tags: &Tags) -> Result<(), Failure> {
        if tags.is_empty() {
            return Ok(());
        }
        let Some(space) = self.container_id_if_any(at).await? else {
            return Ok(()); // the operation itself will say so
        };
        let time = self.now();
        for (tag, _) in tags.iter().filter(|(tag, _)| !self.tag_names.is_fresh(space, tag, time)) {
            self.announce_tag(at, space, tag).await?;
            self.tag_names.saw(space, tag, time);
        }
        Ok(())
    }

    async fn announce_tag(&self, at: &ContainerAt, space: u128, tag: &str) -> Result<(), Failure> {
        let row = keys::tag_name(at.account.as_str(), tag, at.container.as_str());
        let announced = TagName { space, fading: None };
        if self.look(&keys::container_partition(at), |txn| get::<TagName>(txn, &row)).await? == Some(announced) {
            return Ok(());
        }
        let container = keys::container(at.account.as_str(), at.container.as_str());
        self.transact(keys::container_partition(at), move |txn| {
            let current = txn.get(&container)?.map(|bytes| decode_container_id(&bytes)).transpose()?;
            // If the container has gone meanwhile, what is written to its space is seen by nobody.
            if current == Some(space) {
                txn.put(row.clone(), encode(&announced));
            }
            Ok(())
        })
        .await
    }

    /// Looks whether a row is still of use. The sweeper comes by once a round.
    pub(crate) async fn review_tag_name(&self, row: Key, seen: TagName) -> Result<(), Failure> {
        let Some((account, tag, container)) = keys::read_tag_name(&row) else {
            return Ok(());
        };
        let (all, past) =
            (keys::tagged(Space(seen.space), &tag, None), keys::past_tagged(Space(seen.space), &tag, None));
        let record = keys::container(&account, &container);
        let deleted = keys::column(keys::ROOT, keys::DELETED_CONTAINERS);
        let name = [account.as_bytes(), &[0], container.as_bytes()].concat();
        let deleted = Key::new(keys::ROOT, deleted.column(), &[&name, &[0]]);
        let owner = Partition::new(keys::ROOT, name);
        let is_reachable = self.look(&owner, |txn| {
            let current = txn.get(&record)?.map(|bytes| decode_container_id(&bytes)).transpose()?;
            let may_return = !txn.scan(&deleted, &deleted.after_prefix(), 1)?.is_empty();
            Ok(current == Some(seen.space) || may_return)
        });
        let is_tagged = self.scan(Space(seen.space), |txn| {
            let mut any = |rows: &Key| -> Decided<bool> { Ok(!txn.scan(rows, &rows.after_prefix(), 1)?.is_empty()) };
            Ok(any(&all)? || any(&past)?)
        });
        let in_use = is_reachable.await? && is_tagged.await?;
        self.transact(owner, move |txn| {
            let current: Option<TagName> = get(txn, &row)?;
            if current != Some(seen) {
                return Ok(()); // announced anew
            }
            match (in_use, seen.fading) {
                (true, None) => {}
                (true, Some(_)) => txn.put(row.clone(), encode(&TagName { fading: None, ..seen })),
                (false, None) => txn.put(row.clone(), encode(&TagName { fading: Some(now(txn)), ..seen })),
                (false, Some(since)) if since.plus_seconds(FADING_SECONDS) <= now(txn) => txn.delete(row.clone()),
                (false, Some(_)) => {}
            }
            Ok(())
        })
        .await
    }
}
