//! List Ranges: where a file has been written, or what has changed since a snapshot; since 2026-10-06 in pages.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::file::ListRanges;

use crate::answer::{Answer, name};
use crate::file::place;
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::range;
use crate::wire::xml;
use crate::wire::{headers, page};

pub const SPEC: Spec = Spec {
    name: "ListRanges",
    methods: &["GET"],
    on: On::File,
    comp: Some("rangelist"),
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::file(&ask.head)?;
    let list = parse(&ask.head)?;
    let listed = ask.store.list_ranges(&at, list).await?;
    let node = &listed.entry.node;
    let answer = Answer::new(StatusCode::OK)
        .etag(node.etag, node.modified)
        .number(&name::FILE_CONTENT_LENGTH, node.length)
        .xml(xml::file_ranges(&listed.ranges, list.most.is_some().then_some(listed.next)));
    Ok(answer)
}

/// A marker is where the next page begins.
fn parse(head: &Head) -> Result<ListRanges, Refusal> {
    let range = range::requested(head)?;
    let paged = head.has(Since::PagedFileRanges)
        && (head.query.get("maxresults").is_some() || head.query.get("marker").is_some());
    let marker = if paged { head.query_opt("marker", |text| text.parse::<u64>().ok())? } else { None };
    let from = range.map_or(0, |range| range.from);
    Ok(ListRanges {
        snapshot: place::snapshot(head)?,
        since: head.query_opt("prevsharesnapshot", Timestamp::parse_iso)?,
        support_rename: head.flag("x-ms-file-support-rename")?,
        from: marker.map_or(from, |marker| marker.max(from)),
        to: range.and_then(|range| range.to).map_or(u64::MAX, |to| to.saturating_add(1)),
        most: paged.then(|| page::most(head)).transpose()?,
        lease: headers::lease_id(head)?,
    })
}
