//! Inventory: reports of what an account has, written into one of its containers once a day or once a week ("Azure Storage blob inventory").
//! A policy is the JSON document that Azure's management plane takes.
//!
//! Held true: a policy that was read can be carried out; and a line of a report is a pure function of what it is about.

mod document;
mod fields;
mod parquet;

use crate::Timestamp;
use crate::blob::{Blob, Kind};

pub use document::Policy;
pub use fields::{BlobLine, ContainerLine};
pub use parquet::ParquetReport;

/// What a rule lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    Blobs,
    Containers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    Csv,
    Parquet,
}

impl ReportFormat {
    /// How the name of a report ends.
    pub fn ending(self) -> &'static str {
        match self {
            ReportFormat::Csv => ".csv",
            ReportFormat::Parquet => ".parquet",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            ReportFormat::Csv => "text/csv",
            ReportFormat::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// The rows of a report, on their way into its file.
#[derive(Debug)]
pub enum ReportRows {
    Csv(Vec<u8>),
    Parquet(Box<ParquetReport>),
}

impl ReportRows {
    pub fn new(rule: &Rule) -> Self {
        match rule.format {
            ReportFormat::Csv => Self::Csv(rule.heading().into_bytes()),
            ReportFormat::Parquet => Self::Parquet(Box::new(ParquetReport::new(&rule.fields))),
        }
    }

    pub fn add(&mut self, fields: &[String]) {
        match self {
            Self::Csv(lines) => lines.extend_from_slice(fields::csv(fields).as_bytes()),
            Self::Parquet(report) => report.add(fields),
        }
    }

    /// About how many bytes the next piece has.
    pub fn held(&self) -> usize {
        match self {
            Self::Csv(lines) => lines.len(),
            Self::Parquet(report) => report.held(),
        }
    }

    /// The next piece of the file; the last one if it `ends`.
    pub fn take(&mut self, ends: bool) -> Vec<u8> {
        match (self, ends) {
            (Self::Csv(lines), _) => std::mem::take(lines),
            (Self::Parquet(report), false) => report.take_group(),
            (Self::Parquet(report), true) => report.end(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub enabled: bool,
    pub destination: String,
    pub lists: Lists,
    pub format: ReportFormat,
    pub days: u64,
    pub include_snapshots: bool,
    pub include_versions: bool,
    pub include_deleted: bool,
    pub(crate) types: Vec<String>,
    pub(crate) prefixes: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) created_within_days: Option<u32>,
    pub(crate) fields: Vec<String>,
    /// As the policy has it, for the manifest.
    pub(crate) definition: String,
}

const DAY_SECONDS: u64 = 24 * 60 * 60;

impl Rule {
    /// Whether the report has this blob, which is `container/name`.
    pub fn has(&self, container: &str, name: &str, blob: &Blob, now: Timestamp) -> bool {
        let path = format!("{container}/{name}");
        let kind = match blob.kind {
            Kind::Block => "blockBlob",
            Kind::Page { .. } => "pageBlob",
            Kind::Append { .. } => "appendBlob",
        };
        let young = |days: u32| blob.created.plus_seconds(u64::from(days) * DAY_SECONDS) >= now;
        self.types.iter().any(|listed| listed == kind)
            && (self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| path.starts_with(prefix.as_str())))
            && !self.excluded.iter().any(|prefix| path.starts_with(prefix.as_str()))
            && self.created_within_days.is_none_or(young)
    }

    /// Whether it has this container.
    pub fn has_container(&self, container: &str) -> bool {
        (self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| container.starts_with(prefix.as_str())))
            && !self.excluded.iter().any(|prefix| container.starts_with(prefix.as_str()))
    }

    /// `2026/11/17/22-54-17/rule/rule`: what the files of a report begun at `now` are called, without the ending.
    pub fn path(&self, now: Timestamp) -> String {
        let iso = now.to_iso_seconds();
        let (date, time) = iso.split_once('T').unwrap_or((&iso, ""));
        let time = time.trim_end_matches('Z').replace(':', "-");
        format!("{}/{time}/{}/{}", date.replace('-', "/"), self.name, self.name)
    }

    /// The first line of a report in CSV.
    fn heading(&self) -> String {
        self.fields.join(",") + "\n"
    }

    /// `{rule}-manifest.json`, for a report that is whole.
    pub fn manifest(&self, report: &Report<'_>) -> String {
        let definition: serde_json::Value = serde_json::from_str(&self.definition).unwrap_or_default();
        let manifest = serde_json::json!({
            "destinationContainer": self.destination,
            "endpoint": report.endpoint,
            "files": [{ "blob": report.file, "size": report.size }],
            "inventoryCompletionTime": report.ended.to_iso(),
            "inventoryStartTime": report.began.to_iso(),
            "ruleDefinition": definition,
            "ruleName": self.name,
            "status": "Succeeded",
            "summary": { "objectCount": report.objects, "totalObjectSize": report.bytes },
            "version": "1.0",
        });
        manifest.to_string()
    }
}

/// What a manifest tells.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub endpoint: &'a str,
    pub file: &'a str,
    pub size: u64,
    pub began: Timestamp,
    pub ended: Timestamp,
    pub objects: u64,
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
