//! Inventory reports, written: each rule once a day or once a week, and soon after it was set.
//!
//! Held true: a step looks at one page and writes at most one block; the report is committed when it is whole, and its manifest comes last, so
//! that who finds a manifest finds the report. One that a crash cut short leaves blocks that nobody committed, and is begun anew under
//! another time.

use std::collections::BTreeMap;

use lazuli_model::account::AccountSettings;
use lazuli_model::blob::{ContentHeaders, PutBlob, PutBlock, PutBlockList, Search};
use lazuli_model::inventory::{BlobLine, ContainerLine, Lists, Report, ReportRows, Rule};
use lazuli_model::{AccountName, BlobName, BlockId, ContainerName, Refusal, Timestamp};
use md5::Digest;

use crate::upload::Whole;
use crate::{BlobAt, ContainerAt, Entry, Failure, Include, ListBlobs, ListContainers, Received, Store};

/// Things that one step looks at.
const PAGE: u32 = 500;
const BLOCK_BYTES: usize = 4 << 20;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// What has been written, and the report under way. To be kept between steps; who loses it begins again.
#[derive(Debug, Default)]
pub struct Reports {
    under_way: Option<Writing>,
    /// When the last report of an account's rule was begun.
    begun: BTreeMap<(AccountName, String), (Timestamp, Rule)>,
    pub written: u64,
}

#[derive(Debug)]
struct Writing {
    account: AccountName,
    settings: AccountSettings,
    rule: Rule,
    began: Timestamp,
    path: String,
    containers: Option<String>,
    blobs: Option<String>,
    rows: ReportRows,
    blocks: Vec<BlockId>,
    size: u64,
    objects: u64,
    bytes: u64,
}

impl Store {
    /// A bounded piece of work. True when there is more to do right now.
    pub async fn inventory_step(&self, reports: &mut Reports) -> Result<bool, Failure> {
        let Some(mut writing) = reports.under_way.take() else {
            reports.under_way = self.next_report(reports).await?;
            return Ok(reports.under_way.is_some());
        };
        let goes_on = match self.write_page(&mut writing).await {
            // Its container has gone, or was leased: the next day's report may find it again.
            Err(Failure::Refused(_)) => return Ok(true),
            goes_on => goes_on?,
        };
        match goes_on {
            true => reports.under_way = Some(writing),
            false => reports.written += 1,
        }
        Ok(true)
    }

    async fn next_report(&self, reports: &mut Reports) -> Result<Option<Writing>, Failure> {
        let now = self.now();
        for (account, settings) in self.all_settings().await? {
            let Some(policy) = settings.inventory.clone().filter(|policy| policy.enabled) else { continue };
            for rule in policy.rules.into_iter().filter(|rule| rule.enabled) {
                let of = (account.clone(), rule.name.clone());
                let is_due = reports.begun.get(&of).is_none_or(|(began, before)| {
                    *before != rule || began.plus_seconds(rule.days * DAY_SECONDS) <= now
                });
                if !is_due {
                    continue;
                }
                reports.begun.insert(of, (now, rule.clone()));
                return Ok(Some(Writing::new(account, settings, rule, now)));
            }
        }
        Ok(None)
    }

    /// One page. False when the report is whole.
    async fn write_page(&self, writing: &mut Writing) -> Result<bool, Failure> {
        let most = if writing.rule.lists == Lists::Containers { PAGE } else { 1 };
        let list = ListContainers { marker: writing.containers.clone(), most, ..ListContainers::default() };
        let page = self.list_containers(&writing.account, list).await?;
        let is_last = page.next.is_none();
        let ended = match writing.rule.lists {
            Lists::Containers => {
                for item in &page.items {
                    let line =
                        ContainerLine { name: item.name.as_str(), container: &item.container, now: writing.began };
                    if writing.rule.has_container(item.name.as_str()) {
                        writing.add(&writing.rule.container_fields(&line), 0);
                    }
                }
                writing.containers = page.next;
                is_last
            }
            Lists::Blobs => {
                if let Some(item) = page.items.first() {
                    self.write_blobs(writing, &item.name).await?;
                }
                if writing.blobs.is_none() {
                    writing.containers = page.next;
                }
                writing.blobs.is_none() && is_last
            }
        };
        if writing.rows.held() >= BLOCK_BYTES || ended {
            self.write_block(writing, ended).await?;
        }
        if ended {
            self.finish_report(writing).await?;
        }
        Ok(!ended)
    }

    async fn write_blobs(&self, writing: &mut Writing, container: &ContainerName) -> Result<(), Failure> {
        let at = ContainerAt { account: writing.account.clone(), container: container.clone() };
        let include = Include {
            snapshots: writing.rule.include_snapshots,
            versions: writing.rule.include_versions,
            deleted: writing.rule.include_deleted,
            ..Include::default()
        };
        let list = ListBlobs { marker: writing.blobs.take(), most: PAGE, include, ..ListBlobs::default() };
        let page = match self.list_blobs(&at, list).await {
            // It has gone since.
            Err(Failure::Refused(Refusal::ContainerNotFound)) => return Ok(()),
            page => page?,
        };
        for entry in page.entries {
            let Entry::Blob(item) = entry else { continue };
            let (container, name) = (container.as_str(), item.name.as_str());
            if item.uncommitted || !writing.rule.has(container, name, &item.blob, writing.began) {
                continue;
            }
            let (blob, settings, now) = (&item.blob, &writing.settings, writing.began);
            let line = BlobLine { container, name, snapshot: item.snapshot, blob, settings, now };
            let fields = writing.rule.blob_fields(&line);
            writing.add(&fields, item.blob.content.length);
        }
        writing.blobs = page.next;
        Ok(())
    }

    async fn write_block(&self, writing: &mut Writing, ends: bool) -> Result<(), Failure> {
        let piece = writing.rows.take(ends);
        if piece.is_empty() {
            return Ok(());
        }
        writing.size += piece.len() as u64;
        let id = BlockId::from_base64(&format!("{:08}", writing.blocks.len()))?;
        let put = PutBlock { id: id.clone(), encryption: Default::default(), lease: None };
        let content = self.receive_bytes(piece, false).await?;
        self.put_block(&writing.at(writing.rule.format.ending())?, put, content).await?;
        writing.blocks.push(id);
        Ok(())
    }

    async fn finish_report(&self, writing: &Writing) -> Result<(), Failure> {
        let list = PutBlockList {
            blocks: writing.blocks.iter().map(|id| (Search::Uncommitted, id.clone())).collect(),
            headers: ContentHeaders {
                content_type: Some(writing.rule.format.content_type().into()),
                ..ContentHeaders::default()
            },
            metadata: Default::default(),
            tags: Default::default(),
            tier: None,
            protection: Default::default(),
            encryption: Default::default(),
            conditions: Default::default(),
            lease: None,
            may_overwrite: true,
        };
        self.put_block_list(&writing.at(writing.rule.format.ending())?, list).await?;
        let endpoint = format!("/{}", writing.account.as_str());
        let file = format!("{}{}", writing.path, writing.rule.format.ending());
        let (size, objects, bytes) = (writing.size, writing.objects, writing.bytes);
        let report =
            Report { endpoint: &endpoint, file: &file, size, began: writing.began, ended: self.now(), objects, bytes };
        let manifest = writing.rule.manifest(&report).into_bytes();
        let sum = md5::Md5::digest(&manifest).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.put_whole(&writing.at("-manifest.checksum")?, "text/plain", sum.into_bytes()).await?;
        self.put_whole(&writing.at("-manifest.json")?, "application/json", manifest).await
    }

    async fn put_whole(&self, at: &BlobAt, content_type: &str, bytes: Vec<u8>) -> Result<(), Failure> {
        let put = PutBlob {
            headers: ContentHeaders { content_type: Some(content_type.into()), ..ContentHeaders::default() },
            metadata: Default::default(),
            tags: Default::default(),
            tier: None,
            protection: Default::default(),
            encryption: Default::default(),
            conditions: Default::default(),
            lease: None,
            may_overwrite: true,
        };
        let content = self.receive_bytes(bytes, true).await?;
        self.put_blob(at, put, content).await.map(drop)
    }

    async fn receive_bytes(&self, bytes: Vec<u8>, md5: bool) -> Result<Received, Failure> {
        let length = bytes.len() as u64;
        self.receive(&mut Whole(Some(bytes.into())), Some(length), length, md5).await
    }
}

impl Writing {
    fn new(account: AccountName, settings: AccountSettings, rule: Rule, began: Timestamp) -> Self {
        let (path, rows) = (rule.path(began), ReportRows::new(&rule));
        Self {
            account,
            settings,
            rule,
            began,
            path,
            containers: None,
            blobs: None,
            rows,
            blocks: Vec::new(),
            size: 0,
            objects: 0,
            bytes: 0,
        }
    }

    fn add(&mut self, fields: &[String], bytes: u64) {
        self.rows.add(fields);
        self.objects += 1;
        self.bytes += bytes;
    }

    fn at(&self, ending: &str) -> Result<BlobAt, Refusal> {
        let container = ContainerName::parse(&self.rule.destination)?;
        let blob = BlobName::parse(&format!("{}{ending}", self.path))?;
        Ok(BlobAt { account: self.account.clone(), container, blob })
    }
}
