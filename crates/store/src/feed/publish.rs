//! Publishing: notes go from the spaces of containers into the logs of their hour, in bounded steps.
//!
//! Why each goes there once. All steps of an account's feed are in one order, by a number in its row. A step (`Task`) is written
//! down first: which notes, and at which place of which log; and it is written only if the number is what it was before the notes were
//! looked for. Then the log gets them, if it still ends at that place; then the notes go; then the row forgets the step. A gateway that finds a
//! step in the row, after a crash or beside another process, does the same, and what was done already is not done again.
//!
//! An hour is over when a look at all spaces, a while after its end, found nothing of it. What comes later still, from a machine
//! that was slow, goes into the hour that is open.

use std::collections::{BTreeMap, VecDeque};

use lazuli_engine::{Key, Partition, Space};
use lazuli_model::blob::{AppendBlock, Blob, ContentHeaders, DeleteBlob, PutBlob, Which};
use lazuli_model::conditions::Match;
use lazuli_model::container::{CreateContainer, DeleteContainer};
use lazuli_model::feed::{CONTAINER, HOUR_TICKS};
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName, Refusal, Timestamp};
use md5::Digest;
use serde::{Deserialize, Serialize};

use super::files::{self, NoteAt};
use super::{Known, Noted};
use crate::keys::{self, BlobKeys};
use crate::records::{DeadSpace, DeletedContainer, decode, decode_container_id, encode};
use crate::transact::{get, now};
use crate::upload::Whole;
use crate::{BlobAt, ContainerAt, Failure, Fault, Store};

/// Notes of one step.
const NOTES: usize = 1000;
/// Bytes of their keys, which are all in the row of the feed.
const KEYS_BYTES: usize = 256 << 10;
/// Notes whose rows go together.
const TOGETHER: usize = 64;
/// Rows of other kinds that one look goes over.
const PAGE: usize = 256;
/// Accounts of one look.
const ACCOUNTS_AT_ONCE: usize = 256;
/// A log that has come this far is followed by another.
const LOG_BYTES: u64 = 64 << 20;
/// So long after the end of an hour, whatever began in it has been written.
const GRACE_SECONDS: u64 = 60;
/// A write that began this long ago has ended.
const HINT_SECONDS: u64 = 10 * 60;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// How far the feed of an account has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Feed {
    /// Of the step that is, or will be, under way.
    number: u64,
    /// The first hour that is not over.
    open: Timestamp,
    task: Option<Task>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Task {
    /// The notes of these spaces and rows come next in a log, at `offset`.
    Append { hour: Timestamp, chunk: u32, offset: u64, notes: Vec<(u128, Vec<u8>)> },
    /// All hours from `open` to `until` are over.
    Finalize { open: Timestamp, until: Timestamp },
}

fn hour_of(time: Timestamp) -> Timestamp {
    Timestamp::from_ticks(time.ticks() - time.ticks() % HOUR_TICKS)
}

fn before(time: Timestamp, seconds: u64) -> Timestamp {
    Timestamp::from_ticks(time.ticks().saturating_sub(seconds * 10_000_000))
}

impl Store {
    /// Waits until there may be something to publish.
    pub async fn feed_wanted(&self) {
        self.feeds.wanted.notified().await;
    }

    /// A bounded piece of publishing, for every account with a feed. True when there is more to do right now.
    pub async fn feed_step(&self) -> Result<bool, Failure> {
        let _turn = self.feeds.turn.lock().await;
        let mut more = false;
        for (account, retention) in self.feed_accounts().await? {
            more |= self.step_feed(&account, retention).await?;
        }
        Ok(more)
    }

    /// Accounts that have a feed, or had one; for how many days events are kept, while it is on.
    async fn feed_accounts(&self) -> Result<BTreeMap<AccountName, Option<Option<u32>>>, Failure> {
        let all = keys::column(keys::ROOT, keys::FEEDS);
        let (mut from, end) = (Some(all.clone()), all.after_prefix());
        let mut accounts = BTreeMap::new();
        while let Some(next) = from {
            let rows = self.rows(&next, &end, ACCOUNTS_AT_ONCE).await?;
            from = rows.last().filter(|_| rows.len() == ACCOUNTS_AT_ONCE).map(|(last, _)| last.successor());
            let name = |key: &Key| AccountName::parse(std::str::from_utf8(&key.row()).ok()?).ok();
            accounts.extend(rows.iter().filter_map(|(key, _)| Some((name(key)?, None))));
        }
        for (name, account) in self.accounts().await? {
            if account.settings.change_feed {
                accounts.insert(name, Some(account.settings.change_feed_days));
            }
        }
        Ok(accounts)
    }

    async fn step_feed(&self, account: &AccountName, retention: Option<Option<u32>>) -> Result<bool, Failure> {
        let key = keys::feed(account);
        let Some(feed) = self.look(&keys::account_partition(account), |txn| get::<Feed>(txn, &key)).await? else {
            if retention.is_some() {
                self.begin_feed(account).await?;
            }
            return Ok(retention.is_some());
        };
        if let Some(task) = &feed.task {
            self.perform(account, feed.number, task).await?;
            return Ok(true);
        }
        let time = self.now();
        let past = hour_of(before(time, GRACE_SECONDS));
        let over = past > feed.open && (retention.is_some() || self.has_segment(account, feed.open).await?);
        let whole = over || !self.feeds.with(account, |known| known.whole);
        let spaces = match whole {
            true => self.spaces_of(account).await?,
            false => self.feeds.with(account, |known| known.spaces.keys().copied().collect()),
        };
        let task = match self.gather(account, feed.open, spaces, time).await? {
            Some(append) => append,
            None if over => Task::Finalize { open: feed.open, until: past },
            None => {
                self.feeds.with(account, |known| known.looked_at(whole, time));
                return Ok(false);
            }
        };
        self.begin_task(account, feed, task).await?;
        if let Some(Some(days)) = retention.filter(|_| over) {
            self.trim(account, hour_of(before(time, u64::from(days) * DAY_SECONDS))).await?;
        }
        Ok(true)
    }

    /// The container and what is in it from the beginning; then the row, which says that they are there.
    async fn begin_feed(&self, account: &AccountName) -> Result<(), Failure> {
        let time = self.now();
        let at = ContainerAt { account: account.clone(), container: container() };
        // An id that nobody else has: the store has no chance to draw one.
        let seed = format!("{account}\0{CONTAINER}\0{}", time.ticks());
        let id = u128::from_be_bytes(md5::Md5::digest(seed).into());
        let create = CreateContainer { id, scope: None, metadata: Default::default(), public: Default::default() };
        match self.create_container(&at, create).await {
            Ok(_) | Err(Failure::Refused(Refusal::ContainerAlreadyExists)) => {}
            Err(failure) => return Err(failure),
        }
        self.put_once(account, files::SEGMENTS, files::segments_json(files::FIRST, time)).await?;
        self.put_once(account, files::FIRST_SEGMENT, files::segment_json(files::FIRST, true, time)).await?;
        let key = keys::feed(account);
        self.transact(keys::account_partition(account), move |txn| {
            if get::<Feed>(txn, &key)?.is_none() {
                txn.put(key.clone(), encode(&Feed { number: 1, open: hour_of(now(txn)), task: None }));
            }
            Ok(())
        })
        .await
    }

    /// With its account. What was not published yet goes with the spaces it is in.
    pub(crate) async fn drop_feed(&self, account: &AccountName) -> Result<(), Failure> {
        let at = ContainerAt { account: account.clone(), container: container() };
        let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
        match self.delete_container(&at, delete).await {
            Ok(()) | Err(Failure::Refused(Refusal::ContainerNotFound)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The oldest notes of `spaces`, of one hour.
    async fn gather(
        &self,
        account: &AccountName,
        open: Timestamp,
        spaces: Vec<Space>,
        time: Timestamp,
    ) -> Result<Option<Task>, Failure> {
        let mut found: Vec<(Timestamp, Key)> = Vec::new();
        for space in spaces {
            let (from, end) = (keys::column(space, keys::NOTED), keys::noted_until(space, time));
            let rows = self.rows(&from, &end, NOTES).await?;
            found.extend(rows.into_iter().filter_map(|(key, _)| Some((keys::noted_at(&key)?, key))));
            found.sort();
            found.truncate(NOTES);
        }
        let Some((first, _)) = found.first() else { return Ok(None) };
        let segment = |time: Timestamp| hour_of(time).max(open);
        let (hour, mut room) = (segment(*first), KEYS_BYTES);
        let mut notes = Vec::new();
        for (_, key) in found.iter().take_while(|(time, _)| segment(*time) == hour) {
            let row = key.row().to_vec();
            room = room.saturating_sub(row.len());
            notes.push((key.space().0, row));
            if room == 0 {
                break;
            }
        }
        let (mut chunk, mut offset) = (0, self.length_of(account, &files::log(hour, 0)).await?);
        while offset >= LOG_BYTES {
            chunk += 1;
            offset = self.length_of(account, &files::log(hour, chunk)).await?;
        }
        Ok(Some(Task::Append { hour, chunk, offset, notes }))
    }

    async fn begin_task(&self, account: &AccountName, was: Feed, task: Task) -> Result<(), Failure> {
        let key = keys::feed(account);
        let number = was.number;
        let begun = task.clone();
        let begins = self.transact(keys::account_partition(account), move |txn| {
            let is_same = get::<Feed>(txn, &key)?.is_some_and(|feed| feed == was);
            if is_same {
                txn.put(key.clone(), encode(&Feed { task: Some(begun.clone()), ..was.clone() }));
            }
            Ok(is_same)
        });
        if begins.await? {
            self.perform(account, number, &task).await?;
        }
        Ok(())
    }

    async fn perform(&self, account: &AccountName, number: u64, task: &Task) -> Result<(), Failure> {
        let open = match task {
            Task::Append { hour, chunk, offset, notes } => {
                self.append(account, *hour, &files::log(*hour, *chunk), *offset, notes).await?;
                self.forget_notes(notes).await?;
                None
            }
            Task::Finalize { open, until } => {
                self.finalize(account, number, *open, *until).await?;
                Some(*until)
            }
        };
        let key = keys::feed(account);
        self.transact(keys::account_partition(account), move |txn| {
            if let Some(feed) = get::<Feed>(txn, &key)?.filter(|feed| feed.number == number) {
                let done = Feed { number: number + 1, open: open.unwrap_or(feed.open), task: None };
                txn.put(key.clone(), encode(&done));
            }
            Ok(())
        })
        .await
    }

    async fn append(
        &self,
        account: &AccountName,
        hour: Timestamp,
        log: &str,
        offset: u64,
        notes: &[(u128, Vec<u8>)],
    ) -> Result<(), Failure> {
        let mut found = Vec::new();
        for (space, row) in notes {
            let key = Key::new(Space(*space), keys::NOTED, &[row]);
            // One that is gone has been published: notes go after they are in the log.
            let owner = keys::noted_by(&key);
            let at = Partition::new(key.space(), owner.clone());
            if let Some(noted) = self.look(&at, |txn| get::<Noted>(txn, &key)).await? {
                let blob = String::from_utf8_lossy(&owner).into_owned();
                found.push((NoteAt { blob, key: key.as_bytes().to_vec() }, noted));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        self.put_once(account, &files::segment(hour), files::segment_json(hour, false, self.now())).await?;
        let at = blob_at(account, log)?;
        if offset == 0 {
            match self.create_append_blob(&at, put("avro/binary", absent())).await {
                Ok(_) | Err(Failure::Refused(Refusal::BlobAlreadyExists)) => {}
                Err(failure) => return Err(failure),
            }
        }
        let content = self.receive_whole(files::log_part(log, offset == 0, &found)).await?;
        let append = AppendBlock {
            position: Some(offset),
            most: None,
            encryption: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        match self.append_block(&at, append, content).await {
            Ok(_) | Err(Failure::Refused(Refusal::AppendPositionConditionNotMet)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The notes go, each in a transaction of the partition that made it.
    async fn forget_notes(&self, notes: &[(u128, Vec<u8>)]) -> Result<(), Failure> {
        let mut partitions: BTreeMap<BlobKeys, Vec<Key>> = BTreeMap::new();
        for (space, row) in notes {
            let key = Key::new(Space(*space), keys::NOTED, &[row]);
            partitions.entry(BlobKeys::of(Space(*space), keys::noted_by(&key))).or_default().push(key);
        }
        let mut partitions: VecDeque<_> = partitions.into_iter().collect();
        while !partitions.is_empty() {
            let some = partitions.drain(..partitions.len().min(TOGETHER));
            let under_way: Vec<_> = some
                .map(|(keys, rows)| {
                    self.transact(keys.partition(), move |txn| {
                        rows.iter().for_each(|row| txn.delete(row.clone()));
                        Ok(())
                    })
                })
                .collect();
            for answer in under_way {
                answer.await?;
            }
        }
        Ok(())
    }

    /// The manifests of all hours before `until` say that they are over, and then the one of all.
    async fn finalize(
        &self,
        account: &AccountName,
        number: u64,
        open: Timestamp,
        until: Timestamp,
    ) -> Result<(), Failure> {
        let (mut from, end) = (files::segment(open), files::segment(until));
        loop {
            let blobs = self.blobs_between(account, &from, &end).await?;
            for (name, blob) in &blobs {
                if let Some(hour) = hour_in(name) {
                    let json = files::segment_json(hour, true, self.now());
                    self.rewrite(account, number, name, json, blob).await?;
                }
            }
            match blobs.last() {
                Some((last, _)) if blobs.len() == PAGE => from = after(last),
                Some(_) | None => break,
            }
        }
        let last = before(until, HOUR_TICKS / 10_000_000);
        let found = self.blobs_between(account, files::SEGMENTS, &after(files::SEGMENTS)).await?;
        if let Some((name, blob)) = found.first() {
            self.rewrite(account, number, name, files::segments_json(last, self.now()), blob).await?;
        }
        Ok(())
    }

    /// Puts another in place of `was`, unless somebody has done so, or has ended the whole step.
    async fn rewrite(
        &self,
        account: &AccountName,
        number: u64,
        name: &str,
        json: String,
        was: &Blob,
    ) -> Result<(), Failure> {
        let key = keys::feed(account);
        let feed = self.look(&keys::account_partition(account), |txn| get::<Feed>(txn, &key)).await?;
        if feed.is_none_or(|feed| feed.number != number) {
            return Ok(());
        }
        let conditions = Conditions { if_match: Some(Match::OneOf(vec![Some(was.etag)])), ..Conditions::default() };
        self.put_json(account, name, json, conditions, Refusal::ConditionNotMet).await
    }

    /// What is older than the account wants to keep goes: manifests first, so that nobody finds logs that are not there.
    async fn trim(&self, account: &AccountName, until: Timestamp) -> Result<(), Failure> {
        let first = Timestamp::from_ticks(files::FIRST.ticks() + HOUR_TICKS);
        for (from, end) in [(files::segment(first), files::segment(until)), (files::logs(first), files::logs(until))] {
            loop {
                let blobs = self.blobs_between(account, &from, &end).await?;
                for (name, _) in &blobs {
                    let delete = DeleteBlob {
                        which: Which::Current,
                        permanent: false,
                        snapshots: None,
                        tier: Default::default(),
                        conditions: Conditions::default(),
                        lease: None,
                    };
                    match self.delete_blob(&blob_at(account, name)?, delete).await {
                        Ok(_) | Err(Failure::Refused(Refusal::BlobNotFound)) => {}
                        Err(failure) => return Err(failure),
                    }
                }
                if blobs.len() < PAGE {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn put_once(&self, account: &AccountName, name: &str, json: String) -> Result<(), Failure> {
        if self.length_of(account, name).await? > 0 {
            return Ok(());
        }
        self.put_json(account, name, json, absent(), Refusal::BlobAlreadyExists).await
    }

    /// `met` is what says that another was first.
    async fn put_json(
        &self,
        account: &AccountName,
        name: &str,
        json: String,
        conditions: Conditions,
        met: Refusal,
    ) -> Result<(), Failure> {
        let content = self.receive_whole(json.into_bytes()).await?;
        match self.put_blob(&blob_at(account, name)?, put("application/json", conditions), content).await {
            Ok(_) => Ok(()),
            Err(Failure::Refused(refusal)) if refusal == met => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    async fn receive_whole(&self, bytes: Vec<u8>) -> Result<crate::Received, Failure> {
        let length = bytes.len() as u64;
        self.receive(&mut Whole(Some(bytes.into())), Some(length), length, true).await
    }

    async fn has_segment(&self, account: &AccountName, hour: Timestamp) -> Result<bool, Failure> {
        Ok(self.length_of(account, &files::segment(hour)).await? > 0)
    }

    /// Zero for a blob that is not there.
    async fn length_of(&self, account: &AccountName, name: &str) -> Result<u64, Failure> {
        let found = self.blobs_between(account, name, &after(name)).await?;
        Ok(found.first().map_or(0, |(_, blob)| blob.content.length))
    }

    /// Blobs of the feed by name.
    async fn blobs_between(
        &self,
        account: &AccountName,
        from: &str,
        end: &str,
    ) -> Result<Vec<(String, Blob)>, Failure> {
        let at = ContainerAt { account: account.clone(), container: container() };
        let Some(space) = self.container_id_if_any(&at).await? else { return Ok(Vec::new()) };
        let place = |name: &str| Key::new(Space(space), keys::BASES, &[name.as_bytes()]);
        let rows = self.rows(&place(from), &place(end), PAGE).await?;
        let read = rows
            .into_iter()
            .map(|(key, bytes)| Ok((String::from_utf8_lossy(&key.row()).into_owned(), decode::<Blob>(&bytes)?)));
        Ok(read.collect::<Result<_, Fault>>()?)
    }

    /// Where notes may be: in containers, in those that were deleted softly, and in what is left of others.
    async fn spaces_of(&self, account: &AccountName) -> Result<Vec<Space>, Failure> {
        let mut spaces = Vec::new();
        let own = [account.as_str().as_bytes(), &[0]].concat();
        let columns = [
            keys::containers(account, b""),
            keys::deleted_containers(account, b""),
            keys::column(keys::ROOT, keys::DEAD_SPACES),
        ];
        for all in columns {
            let (mut from, end) = (all.clone(), all.after_prefix());
            loop {
                let rows = self.rows(&from, &end, PAGE).await?;
                for (key, bytes) in &rows {
                    match key.column() {
                        keys::CONTAINERS => spaces.push(Space(decode_container_id(bytes)?)),
                        keys::DELETED_CONTAINERS => {
                            spaces.push(Space(decode::<DeletedContainer>(bytes)?.container.id));
                        }
                        _ if decode::<DeadSpace>(bytes)?.partition.starts_with(&own) => {
                            spaces.extend(keys::read_dead_space(key));
                        }
                        _ => {}
                    }
                }
                match rows.last() {
                    Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                    Some(_) | None => break,
                }
            }
        }
        Ok(spaces)
    }

    async fn has_feed(&self, account: &AccountName) -> Result<bool, Failure> {
        let key = keys::feed(account);
        Ok(self.look(&keys::account_partition(account), |txn| Ok(txn.get(&key)?)).await?.is_some())
    }

    /// Whether the notes in a dead space are still to be published; then the sweeper waits for that.
    pub(crate) async fn feed_wants(&self, space: Space, dead: &DeadSpace) -> Result<bool, Failure> {
        let name = dead.partition.split(|byte| *byte == 0).next().unwrap_or_default();
        let Some(account) = std::str::from_utf8(name).ok().and_then(|name| AccountName::parse(name).ok()) else {
            return Ok(false);
        };
        let wanted = self.account_settings(&account).await?.change_feed || self.has_feed(&account).await?;
        if wanted {
            self.feeds.hint(&account, space, self.now());
        }
        Ok(wanted)
    }
}

impl Known {
    /// Nothing was found. A write that was begun lately may still be on its way.
    fn looked_at(&mut self, whole: bool, time: Timestamp) {
        self.whole |= whole;
        self.spaces.retain(|_, hinted| hinted.plus_seconds(HINT_SECONDS) > time);
    }
}

fn container() -> ContainerName {
    ContainerName::parse(CONTAINER).expect("the name of a system container")
}

fn blob_at(account: &AccountName, name: &str) -> Result<BlobAt, Refusal> {
    Ok(BlobAt { account: account.clone(), container: container(), blob: BlobName::parse(name)? })
}

fn absent() -> Conditions {
    Conditions { if_none_match: Some(Match::Any), ..Conditions::default() }
}

fn put(content_type: &str, conditions: Conditions) -> PutBlob {
    PutBlob {
        headers: ContentHeaders { content_type: Some(content_type.into()), ..ContentHeaders::default() },
        metadata: Default::default(),
        tags: Default::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions,
        lease: None,
        may_overwrite: true,
    }
}

/// The least name behind `name`.
fn after(name: &str) -> String {
    format!("{name}\u{1}")
}

/// The hour of a manifest, from its name.
fn hour_in(name: &str) -> Option<Timestamp> {
    let path = name.strip_prefix("idx/segments/")?.strip_suffix("/meta.json")?;
    let (date, clock) = path.rsplit_once('/')?;
    Timestamp::parse_iso(&format!("{}T{}:00:00Z", date.replace('/', "-"), clock.get(..2)?))
}
