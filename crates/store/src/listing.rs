//! Pages of containers and of blobs. A page costs what is on it, never what is stored.

use lazuli_model::blob::Blob;
use lazuli_model::container::Container;
use lazuli_model::{BlobName, ContainerName, Timestamp};

#[derive(Clone, Debug, Default)]
pub struct ListContainers {
    pub prefix: String,
    /// What `ContainerPage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
    /// System containers (`$logs`, `$web`…) too.
    pub system: bool,
}

#[derive(Clone, Debug)]
pub struct ContainerItem {
    pub name: ContainerName,
    pub container: Container,
}

#[derive(Clone, Debug)]
pub struct ContainerPage {
    pub items: Vec<ContainerItem>,
    pub next: Option<String>,
}

/// What else a blob listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Include {
    pub snapshots: bool,
    pub uncommitted: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ListBlobs {
    pub prefix: String,
    /// Any non-empty string.
    pub delimiter: Option<String>,
    pub marker: Option<String>,
    /// Begin at this name (API 2026-02-06).
    pub start_from: Option<String>,
    /// End before this name (API 2026-10-06).
    pub end_before: Option<String>,
    /// 1..=5000.
    pub most: u32,
    pub include: Include,
}

#[derive(Clone, Debug)]
pub struct BlobItem {
    pub name: BlobName,
    pub snapshot: Option<Timestamp>,
    /// Nothing is committed under this name yet: only blocks. The blob then is an empty shell.
    pub uncommitted: bool,
    pub blob: Blob,
}

#[derive(Clone, Debug)]
pub enum Entry {
    Blob(Box<BlobItem>),
    Prefix(String),
}

#[derive(Clone, Debug)]
pub struct BlobPage {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}
