//! Get Blob Properties.

use http::StatusCode;
use lazuli_model::blob::{ReadBlob, Which};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers};
use crate::head::Head;
use crate::operation::{AccountNeeds, Anonymous, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire;
use crate::wire::digest::md5_text;

pub const SPEC: Spec = Spec {
    name: "GetBlobProperties",
    methods: &["HEAD"],
    on: On::Blob,
    needs: "r",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    anonymous: Anonymous::Blob,
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let read = parse(&ask.head, &SPEC)?;
    let (which, named) = (read.which, !read.which.is_current());
    // Rule B28.
    let of_old_snapshot = matches!(which, Which::Snapshot(_)) && ask.head.lacks(Since::SnapshotTiers);
    let at = ask.head.blob_at()?;
    let blob = ask.store.blob(&at, read).await?;
    encryption::permit_read(ask, &blob)?;
    let answer = headers::describe(Answer::new(StatusCode::OK), &blob, named, ask.head.now)
        .number(&name::CONTENT_LENGTH, blob.content.length)
        .optional(&name::CONTENT_MD5, blob.headers.md5.as_ref().map(md5_text));
    let answer = headers::last_access(answer, &blob, &ask.settings);
    let answer = match of_old_snapshot {
        true => answer,
        false => headers::tier_of(answer, &ask.head, &blob, &ask.settings),
    };
    let answer = headers::in_file_system(ask, answer, &at).await?;
    Ok(wire::headers::overrides(headers::old_snapshot(answer, &ask.head, which), &ask.grant.overrides))
}

pub fn parse(head: &Head, spec: &Spec) -> Result<ReadBlob, Refusal> {
    Ok(ReadBlob {
        which: wire::headers::which(head)?,
        key: encryption::key_hash(head)?,
        conditions: wire::headers::conditions(head, spec)?,
        lease: wire::headers::lease_id(head)?,
    })
}
