//! Storage analytics as it is stored: logs in `$logs`, and rows of metrics in tables that nobody else writes.
//!
//! Held true: a log has its name for itself, whichever gateway writes it; what is added to a row is added in one transaction, so that several gateways
//! count in one. What was not written yet when a process ends is lost, as the service says of its own ("best effort").

use std::collections::BTreeMap;

use lazuli_model::analytics::{self, LOGS, MetricsSpan, Switches, Tally};
use lazuli_model::blob::{ContentHeaders, DeleteBlob, PutBlob, TierConditions, Which};
use lazuli_model::conditions::Match;
use lazuli_model::container::{CreateContainer, DeleteContainer};
use lazuli_model::service::{Of, ServiceProperties};
use lazuli_model::table::{CreateTable, Entity, Refused, Value};
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName, Metadata, Refusal, TableName, Timestamp};
use md5::Digest;

use crate::keys::{self, read_entity};
use crate::records::{decode, encode};
use crate::transact::{get, now};
use crate::upload::Whole;
use crate::{BlobAt, ContainerAt, Entry, Failure, Fault, ListBlobs, ListContainers, OpenTable, Store, TableAt};

/// Rows, logs or blobs that one step looks at.
const PAGE: u32 = 500;
/// Tries for a name that no other gateway has taken.
const ATTEMPTS: u32 = 100;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Lines of one service and one hour, to be written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    pub of: Of,
    /// Of the first and of the last line.
    pub first: Timestamp,
    pub last: Timestamp,
    /// `1.0` or `2.0`.
    pub version: String,
    /// `read,write`
    pub sorts: String,
    pub lines: String,
}

/// What was measured and trimmed lately. To be kept between steps; who loses it does it again.
#[derive(Debug, Default)]
pub struct AnalyticsRounds {
    trimmed: BTreeMap<(AccountName, &'static str), Timestamp>,
    measured: BTreeMap<AccountName, Timestamp>,
    walk: Option<CapacityWalk>,
}

/// A look at all that an account holds.
#[derive(Debug)]
struct CapacityWalk {
    account: AccountName,
    day: Timestamp,
    containers: Option<String>,
    blobs: Option<String>,
    /// Of data and of analytics: bytes, containers, blobs.
    data: [i64; 3],
    logs: [i64; 3],
}

impl Store {
    /// Every service that is asked for something.
    pub async fn analytics_switches(&self) -> Result<Vec<(AccountName, Of, Switches)>, Failure> {
        let all = keys::column(keys::ROOT, keys::PROPERTIES);
        let (mut from, end) = (all.clone(), all.after_prefix());
        let mut found = Vec::new();
        loop {
            let rows = self.rows(&from, &end, PAGE as usize).await?;
            for (key, bytes) in &rows {
                let (account, of) = keys::read_properties(key)
                    .ok_or_else(|| Fault::Corrupt(format!("the key of service properties: {key:?}")))?;
                let switches = Switches::from(&decode::<ServiceProperties>(bytes)?);
                if switches.is_any_on() {
                    found.push((account, of, switches));
                }
            }
            match rows.last().filter(|_| rows.len() == PAGE as usize) {
                Some((last, _)) => from = last.successor(),
                None => return Ok(found),
            }
        }
    }

    /// Writes a log under the next number of its hour.
    pub async fn write_log(&self, account: &AccountName, log: &Log) -> Result<(), Failure> {
        let container = ContainerAt { account: account.clone(), container: ContainerName::parse(LOGS)? };
        self.make_logs(&container).await?;
        let folder = analytics::log_folder(log.of, log.first);
        let list = ListBlobs { prefix: folder.clone(), most: 5000, ..ListBlobs::default() };
        let last = self.list_blobs(&container, list).await?.entries.pop();
        let mut number = match last {
            Some(Entry::Blob(item)) => log_number(&folder, item.name.as_str()).map_or(0, |number| number + 1),
            Some(Entry::Prefix(_) | Entry::Directory(_)) | None => 0,
        };
        let metadata = [
            ("LogType", log.sorts.clone()),
            ("StartTime", log.first.to_iso_seconds()),
            ("EndTime", log.last.to_iso_seconds()),
            ("LogVersion", log.version.clone()),
        ];
        let metadata = Metadata::new(metadata.map(|(name, value)| (name.to_owned(), value)).to_vec())?;
        for _ in 0..ATTEMPTS {
            let blob = BlobName::parse(&format!("{folder}{number:06}.log"))?;
            let at = BlobAt { account: account.clone(), container: container.container.clone(), blob };
            match self.put_log(&at, metadata.clone(), log.lines.clone().into_bytes()).await {
                Err(Failure::Refused(Refusal::BlobAlreadyExists)) => number += 1,
                done => return done,
            }
        }
        Err(Refusal::ServerBusy.into())
    }

    async fn make_logs(&self, at: &ContainerAt) -> Result<(), Failure> {
        if self.home_if_any(at).await?.is_some() {
            return Ok(());
        }
        // An id that nobody else has: the store has no chance to draw one.
        let id = self.made_id(&at.account, LOGS);
        let create = CreateContainer { id, scope: None, metadata: Metadata::default(), public: Default::default() };
        match self.create_container(at, create).await {
            Ok(_) | Err(Failure::Refused(Refusal::ContainerAlreadyExists)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn made_id(&self, account: &AccountName, name: &str) -> u128 {
        let seed = format!("{account}\0{name}\0{}", self.now().ticks());
        u128::from_be_bytes(md5::Md5::digest(seed).into())
    }

    async fn put_log(&self, at: &BlobAt, metadata: Metadata, bytes: Vec<u8>) -> Result<(), Failure> {
        let put = PutBlob {
            headers: ContentHeaders { content_type: Some("text/plain".into()), ..ContentHeaders::default() },
            metadata,
            tags: Default::default(),
            tier: None,
            protection: Default::default(),
            encryption: Default::default(),
            conditions: Conditions { if_none_match: Some(Match::Any), ..Conditions::default() },
            lease: None,
            may_overwrite: true,
        };
        let length = bytes.len() as u64;
        let content = self.receive(&mut Whole(Some(bytes.into())), Some(length), length, true).await?;
        self.put_blob(at, put, content).await.map(drop)
    }

    /// With its account: nobody but the service made these.
    pub(crate) async fn drop_analytics(&self, account: &AccountName) -> Result<(), Failure> {
        let at = ContainerAt { account: account.clone(), container: ContainerName::parse(LOGS)? };
        let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
        let mut gone = vec![self.delete_container(&at, delete).await];
        for of in [Of::Blob, Of::Queue, Of::Table, Of::File] {
            for table in [MetricsSpan::Hour.table(of), MetricsSpan::Minute.table(of)] {
                gone.push(self.delete_table(&TableAt { account: account.clone(), table }).await);
            }
        }
        let table = analytics::capacity_table();
        gone.push(self.delete_table(&TableAt { account: account.clone(), table }).await);
        match gone.into_iter().find(|gone| matches!(gone, Err(Failure::Broken(_)))) {
            Some(broken) => broken,
            None => Ok(()),
        }
    }

    /// Adds to the rows of one hour or minute, each by its RowKey.
    pub async fn add_metrics(
        &self,
        account: &AccountName,
        of: Of,
        (span, begin): (MetricsSpan, Timestamp),
        rows: Vec<(String, Tally)>,
    ) -> Result<(), Failure> {
        let table = self.metrics_table(account, span.table(of)).await?;
        let (keys, partition) = (table.keys().clone(), analytics::row_time(begin));
        self.transact(keys.partition(&partition), move |txn| {
            let modified = now(txn);
            for (row, added) in &rows {
                let key = keys.entity(&partition, row);
                let mut tally = get::<Entity>(txn, &key)?.map(|old| Tally::read(&old.properties)).unwrap_or_default();
                tally.add(added);
                txn.put(key, encode(&Entity { modified, properties: tally.properties() }));
            }
            Ok(())
        })
        .await
    }

    async fn metrics_table(&self, account: &AccountName, name: TableName) -> Result<OpenTable, Failure> {
        let at = TableAt { account: account.clone(), table: name.clone() };
        match self.open_table(&at).await {
            Err(Failure::Refused(Refusal::Table(Refused::TableNotFound))) => {}
            found => return found,
        }
        let create = CreateTable { id: self.made_id(account, name.as_str()), name };
        match self.create_table(&at, create).await {
            Ok(()) => {}
            Err(Failure::Refused(Refusal::Table(Refused::TableAlreadyExists))) => {}
            Err(failure) => return Err(failure),
        }
        self.open_table(&at).await
    }

    /// A bounded piece of what is done once an hour and once a day: what is past its time goes, and what is stored is measured. True when there is
    /// more to do right now.
    pub async fn analytics_step(&self, rounds: &mut AnalyticsRounds) -> Result<bool, Failure> {
        if let Some(walk) = rounds.walk.take() {
            rounds.walk = self.measure(walk).await?;
            return Ok(true);
        }
        let time = self.now();
        for (account, of, switches) in self.analytics_switches().await? {
            let key = (account.clone(), analytics::service_name(of));
            let hour = MetricsSpan::Hour.begin(time);
            if rounds.trimmed.get(&key) != Some(&hour) {
                if self.trim_service(&account, of, &switches, time).await? {
                    return Ok(true);
                }
                rounds.trimmed.insert(key, hour);
            }
            let day = Timestamp::from_ticks(
                time.ticks() - time.ticks() % (DAY_SECONDS * lazuli_model::time::TICKS_PER_SECOND),
            );
            if of == Of::Blob && switches.hour.enabled && rounds.measured.get(&account) != Some(&day) {
                rounds.measured.insert(account.clone(), day);
                rounds.walk =
                    Some(CapacityWalk { account, day, containers: None, blobs: None, data: [0; 3], logs: [0; 3] });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True when there was so much that there may be more.
    async fn trim_service(
        &self,
        account: &AccountName,
        of: Of,
        switches: &Switches,
        time: Timestamp,
    ) -> Result<bool, Failure> {
        let before = |days: u32| {
            Timestamp::from_ticks(
                time.ticks().saturating_sub(u64::from(days) * DAY_SECONDS * lazuli_model::time::TICKS_PER_SECOND),
            )
        };
        let mut more = false;
        if let Some(days) = switches.logging.retention.days {
            more |= self.trim_logs(account, of, before(days)).await?;
        }
        let mut tables = Vec::new();
        tables.extend(switches.hour.retention.days.map(|days| (MetricsSpan::Hour.table(of), days)));
        tables.extend(switches.minute.retention.days.map(|days| (MetricsSpan::Minute.table(of), days)));
        if of == Of::Blob {
            tables.extend(switches.hour.retention.days.map(|days| (analytics::capacity_table(), days)));
        }
        for (table, days) in tables {
            more |= self.trim_metrics(account, table, before(days)).await?;
        }
        Ok(more)
    }

    async fn trim_logs(&self, account: &AccountName, of: Of, until: Timestamp) -> Result<bool, Failure> {
        let container = ContainerAt { account: account.clone(), container: ContainerName::parse(LOGS)? };
        if self.home_if_any(&container).await?.is_none() {
            return Ok(false);
        }
        let prefix = format!("{}/", analytics::service_name(of).to_ascii_lowercase());
        let page = self.list_blobs(&container, ListBlobs { prefix, most: PAGE, ..ListBlobs::default() }).await?;
        let mut gone = 0;
        for name in page.entries.into_iter().filter_map(|entry| match entry {
            Entry::Blob(item) => Some(item.name),
            Entry::Prefix(_) | Entry::Directory(_) => None,
        }) {
            // The day that a log is of has to be over.
            if analytics::log_hour(name.as_str()).is_none_or(|hour| hour >= until) {
                return Ok(false);
            }
            let at = BlobAt { account: account.clone(), container: container.container.clone(), blob: name };
            let (which, tier, conditions) = (Which::Current, TierConditions::default(), Conditions::default());
            let delete = DeleteBlob { which, permanent: false, snapshots: None, tier, conditions, lease: None };
            match self.delete_blob(&at, delete).await {
                Ok(_) | Err(Failure::Refused(_)) => gone += 1,
                Err(failure) => return Err(failure),
            }
        }
        Ok(gone == PAGE)
    }

    async fn trim_metrics(&self, account: &AccountName, table: TableName, until: Timestamp) -> Result<bool, Failure> {
        let table = match self.open_table(&TableAt { account: account.clone(), table }).await {
            Err(Failure::Refused(_)) => return Ok(false),
            found => found?,
        };
        let keys = table.keys();
        let end = keys.raw(&[analytics::row_time(until).as_bytes()]);
        let rows = self.rows(&keys.all(), &end, PAGE as usize).await?;
        for (key, _) in &rows {
            let Some((partition, _)) = read_entity(key.as_bytes()) else { continue };
            let key = key.clone();
            self.transact(keys.partition(partition), move |txn| {
                txn.delete(key.clone());
                Ok(())
            })
            .await?;
        }
        Ok(rows.len() == PAGE as usize)
    }

    /// One page of what an account holds; then its row.
    async fn measure(&self, mut walk: CapacityWalk) -> Result<Option<CapacityWalk>, Failure> {
        let list =
            ListContainers { marker: walk.containers.clone(), most: 1, system: true, ..ListContainers::default() };
        let page = self.list_containers(&walk.account, list).await?;
        if let Some(item) = page.items.into_iter().next() {
            let at = ContainerAt { account: walk.account.clone(), container: item.name };
            let include = crate::Include { snapshots: true, versions: true, ..crate::Include::default() };
            let list = ListBlobs { marker: walk.blobs.take(), most: PAGE, include, ..ListBlobs::default() };
            let is_first = list.marker.is_none();
            let counted = if at.container.as_str() == LOGS { &mut walk.logs } else { &mut walk.data };
            match self.list_blobs(&at, list).await {
                // It has gone since.
                Err(Failure::Refused(Refusal::ContainerNotFound)) => {}
                found => {
                    let found = found?;
                    counted[1] += i64::from(is_first);
                    for entry in found.entries {
                        if let Entry::Blob(item) = entry {
                            counted[0] = counted[0].saturating_add_unsigned(item.blob.content.length);
                            counted[2] += 1;
                        }
                    }
                    walk.blobs = found.next;
                }
            }
            if walk.blobs.is_some() {
                return Ok(Some(walk));
            }
        }
        if page.next.is_some() {
            walk.containers = page.next;
            return Ok(Some(walk));
        }
        let table = self.metrics_table(&walk.account, analytics::capacity_table()).await?;
        let (keys, partition) = (table.keys().clone(), analytics::row_time(walk.day));
        let rows = [("data", walk.data), ("analytics", walk.logs)];
        self.transact(keys.partition(&partition), move |txn| {
            let modified = now(txn);
            for (row, [bytes, containers, blobs]) in rows {
                let properties = vec![
                    ("Capacity".to_owned(), Value::Int64(bytes)),
                    ("ContainerCount".to_owned(), Value::Int64(containers)),
                    ("ObjectCount".to_owned(), Value::Int64(blobs)),
                ];
                txn.put(keys.entity(&partition, row), encode(&Entity { modified, properties }));
            }
            Ok(())
        })
        .await?;
        Ok(None)
    }
}

/// `000007.log`
fn log_number(folder: &str, name: &str) -> Option<u32> {
    name.strip_prefix(folder)?.strip_suffix(".log")?.parse().ok()
}
