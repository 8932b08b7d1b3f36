//! Create File, empty (all zeros) or, since 2026-06-06, with its first bytes.

use http::StatusCode;
use lazuli_model::blob::ContentHeaders;
use lazuli_model::file::CreateFile;

use crate::answer::{Answer, name};
use crate::auth::Grant;
use crate::file::{RANGE_MAX, describe, place, smb};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::digest::md5_text;
use crate::wire::structured;
use crate::wire::{content, headers};

pub const SPEC: Spec = Spec {
    name: "CreateFile",
    methods: &["PUT"],
    on: On::File,
    when: &[When::NoHeader("x-ms-copy-source")],
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: LEASE,
    ..Spec::PLAIN
};

/// "Create File": 4 TiB.
pub const LENGTH_MAX: u64 = 4 << 40;

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let create = parse(&ask.head, &ask.grant)?;
    if ask.head.lacks(Since::CreateWithData) || ask.body.expected() == Some(0) {
        let entry = ask.store.create_file(&at, create, None).await?;
        return Ok(describe::written(Answer::new(StatusCode::CREATED), &ask.head, &entry));
    }
    let length = create.length;
    let (received, digests) = content::take(ask, RANGE_MAX, true).await?;
    if received.length > length {
        return Err(wrong_length(&ask.head).into());
    }
    let entry = ask.store.create_file(&at, create, Some(received)).await?;
    let answer = describe::written(Answer::new(StatusCode::CREATED), &ask.head, &entry);
    let answer = answer.optional(&name::CONTENT_MD5, digests.md5.map(md5_text));
    Ok(if digests.structured { answer.constant(&name::STRUCTURED_BODY, structured::FORM) } else { answer })
}

fn parse(head: &Head, grant: &Grant) -> Result<CreateFile, Refusal> {
    head.required("x-ms-type", |text| text.eq_ignore_ascii_case("file").then_some(()))?;
    let length = head.required("x-ms-content-length", |text| text.parse::<u64>().ok())?;
    if length > LENGTH_MAX {
        return Err(wrong_length(head));
    }
    let sent = smb::content_headers(head)?;
    let content_type = sent.content_type.or(Some(headers::DEFAULT_TYPE.to_owned()));
    Ok(CreateFile {
        length,
        headers: ContentHeaders { content_type, ..sent },
        smb: smb::of_new(head)?,
        posix: smb::posix(head)?,
        metadata: headers::metadata(head)?,
        lease: headers::lease_id(head)?,
        may_overwrite: grant.may_overwrite,
    })
}

fn wrong_length(head: &Head) -> Refusal {
    let value = head.text("x-ms-content-length").unwrap_or_default().to_owned();
    Refusal::InvalidHeaderValue { header: "x-ms-content-length".into(), value }
}
