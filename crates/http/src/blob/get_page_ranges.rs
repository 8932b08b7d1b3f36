//! Get Page Ranges, and Get Page Ranges Diff. A list that is asked for in pages has a marker; another is given whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::blob::GetPageRanges;
use lazuli_store::ListPages;

use crate::answer::{Answer, name};
use crate::blob::get_blob;
use crate::head::{Head, Query, Target};
use crate::operation::{AccountNeeds, Anonymous, By, DATES, ETAGS, IF_TAGS, LEASE, On, Second, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::headers;
use crate::wire::{range, xml};

pub const SPEC: Spec = Spec {
    name: "GetPageRanges",
    methods: &["GET"],
    on: On::Blob,
    comp: Some("pagelist"),
    when: &[When::NoQuery("prevsnapshot")],
    needs: "r",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    anonymous: Anonymous::Blob,
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    seconds: &[
        Second { by: By::PreviousSnapshot, judged_as: &[&EARLIER] },
        Second { by: By::PreviousSnapshotUrl, judged_as: &[&EARLIER] },
    ],
    ..Spec::PLAIN
};

/// The snapshot that is compared with is another moment, which a signature for one moment does not open.
const EARLIER: Spec = Spec { moments: false, ..get_blob::SPEC };

pub const DIFF: Spec = Spec { name: "GetPageRangesDiff", when: &[When::Query("prevsnapshot")], ..SPEC };

const PAGE_MAX: usize = 10_000;

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let get = GetPageRanges {
        which: headers::which(head)?,
        since: since(ask).await?,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    };
    let range = range::requested(head)?;
    let most = most(head)?;
    let list = ListPages {
        from: range.map_or(0, |range| range.from),
        to: range.and_then(|range| range.to).map_or(u64::MAX, |to| to.saturating_add(1)),
        marker: head.query_opt("marker", read_marker)?,
        most: most.unwrap_or(if head.has(Since::PagedRanges) { PAGE_MAX } else { usize::MAX }),
    };
    let found = ask.store.page_ranges(&head.blob_at()?, get, list).await?;
    let marker = match (found.next, most) {
        (Some(next), _) => Some(Some(marker(next))),
        (None, Some(_)) => Some(None),
        (None, None) => None,
    };
    Ok(Answer::new(StatusCode::OK)
        .etag(found.blob.etag, found.blob.modified)
        .number(&name::BLOB_CONTENT_LENGTH, found.blob.content.length)
        .xml(xml::page_list(&found.ranges, marker.as_ref().map(Option::as_deref))))
}

fn most(head: &Head) -> Result<Option<usize>, Refusal> {
    let Some(text) = head.query.get("maxresults") else { return Ok(None) };
    match text.parse::<i64>() {
        Ok(most) if most >= 1 => Ok(Some(usize::try_from(most).map_or(PAGE_MAX, |most| most.min(PAGE_MAX)))),
        Ok(_) => Err(Refusal::OutOfRangeQueryParameterValue {
            name: "maxresults".into(),
            value: text.to_owned(),
            least: "1".into(),
            most: PAGE_MAX.to_string(),
        }),
        Err(_) => Err(Refusal::InvalidQueryParameterValue {
            name: "maxresults".into(),
            value: text.to_owned(),
            reason: "".into(),
        }),
    }
}

/// Where the next page of the list begins. Opaque to the client, but written as Azure writes it.
fn marker(next: u64) -> String {
    let next = next.to_string();
    let text = STANDARD.encode(format!("{:06}!{next}!", next.len()));
    format!("2!{}!{text}", text.len())
}

fn read_marker(text: &str) -> Option<u64> {
    let (_, text) = text.strip_prefix("2!")?.split_once('!')?;
    let bytes = STANDARD.decode(text).ok()?;
    std::str::from_utf8(&bytes).ok()?.split('!').nth(1)?.parse().ok()
}

/// The earlier snapshot, by its time, or by the address of the snapshot as managed disks have it.
async fn since(ask: &Ask) -> Result<Option<Timestamp>, Failure> {
    let by_time = ask.naming(By::PreviousSnapshot).map(|naming| (naming, Timestamp::parse_iso(naming.text)));
    let by_url = || ask.naming(By::PreviousSnapshotUrl).map(|naming| (naming, snapshot_of(&ask.head, naming.text)));
    let Some((naming, time)) = by_time.or_else(by_url) else { return Ok(None) };
    let time = time.ok_or_else(|| naming.invalid())?;
    ask.permit_second(naming.second, ask.head.target.clone(), "").await?;
    Ok(Some(time))
}

/// Only a snapshot of the same blob, which a client that may read the blob may compare it with.
fn snapshot_of(head: &Head, url: &str) -> Option<Timestamp> {
    let uri: http::Uri = url.parse().ok()?;
    let Target::Blob { container, blob } = &head.target else { return None };
    let path = percent_encoding::percent_decode_str(uri.path()).decode_utf8().ok()?;
    let snapshot = Query::parse(uri.query()?).ok()?;
    let is_same = path.ends_with(&format!("/{container}/{blob}"));
    is_same.then(|| snapshot.get("snapshot").and_then(Timestamp::parse_iso))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_come_back() {
        for next in [0, 512, u64::MAX] {
            assert_eq!(read_marker(&marker(next)), Some(next));
        }
        assert_eq!(marker(1024), "2!16!MDAwMDA0ITEwMjQh", "observed");
        for garbage in ["", "1!", "2!00", "2!0!", "2!4!!!!!", "2!4!AAAA"] {
            assert_eq!(read_marker(garbage), None, "{garbage}");
        }
    }
}
