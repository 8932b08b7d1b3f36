//! Put Page: writes pages, or clears them.

use http::StatusCode;
use lazuli_model::blob::{Encryption, Pages, PutPage, SequenceConditions};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers};
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::range::ByteRange;
use crate::wire::{self, content};

/// What one call may write. A clear may be as long as the blob.
pub const WRITE_MAX: u64 = 4 << 20;

pub const SPEC: Spec = Spec {
    name: "PutPage",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("page"),
    when: &[When::NoHeader("x-ms-copy-source")],
    needs: "w",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    body: Body::Content { most: WRITE_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

enum Write {
    Update,
    Clear,
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let write = ask.head.required("x-ms-page-write", |text| match text.to_ascii_lowercase().as_str() {
        "update" => Some(Write::Update),
        "clear" => Some(Write::Clear),
        _ => None,
    })?;
    let put = parse(&ask.head, &SPEC, encryption::settle(ask).await?)?;
    match write {
        Write::Clear => {
            ask.head.opt("content-length", |text| (text == "0").then_some(()))?;
            Ok(answer(&ask.store.clear_pages(&at, put).await?))
        }
        Write::Update => {
            permit_length(ask, put.pages)?;
            let (received, digests) = content::take(ask, WRITE_MAX, false).await?;
            if received.length != put.pages.length() {
                let value = received.length.to_string();
                return Err(Refusal::InvalidHeaderValue { header: "Content-Length".into(), value }.into());
            }
            let blob = ask.store.put_page(&at, put, received).await?;
            let answer = encryption::describe(answer(&blob), &blob.encryption);
            let digests = digests.by_md5(!ask.settings.kind.tells_crc64_of_pages());
            Ok(digests.answer(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"), &ask.head, false))
        }
    }
}

/// The range, the conditions and the lease, which Put Page From URL has too.
pub fn parse(head: &Head, spec: &Spec, encryption: Encryption) -> Result<PutPage, Refusal> {
    let number = |name: &'static str| match head.opt(name, |text| text.parse::<i64>().ok())? {
        Some(number) => u64::try_from(number).map(Some).map_err(|_| negative()),
        None => Ok(None),
    };
    Ok(PutPage {
        pages: pages(head)?,
        sequence: SequenceConditions {
            at_most: number("x-ms-if-sequence-number-le")?,
            less_than: number("x-ms-if-sequence-number-lt")?,
            equal: number("x-ms-if-sequence-number-eq")?,
        },
        encryption,
        conditions: wire::headers::conditions(head, spec)?,
        lease: wire::headers::lease_id(head)?,
    })
}

/// The clients of Go expect this of a number that no blob can have.
fn negative() -> Refusal {
    Denied::InvalidInput { reason: "".into() }.into()
}

fn pages(head: &Head) -> Result<Pages, Refusal> {
    let header = if head.text("x-ms-range").is_some() { "x-ms-range" } else { "range" };
    let text = head.text(header).ok_or(Refusal::MissingRequiredHeader { header: "x-ms-range".into() })?;
    let range = ByteRange::parse(text);
    let range = range.ok_or_else(|| Refusal::InvalidHeaderValue { header: header.into(), value: text.to_owned() })?;
    Ok(Pages::new(range.from, range.to.ok_or(Denied::InvalidPageRange)?)?)
}

/// What can be said before a byte is read: the body must fit its range.
fn permit_length(ask: &Ask, pages: Pages) -> Result<(), Refusal> {
    let is_structured = ask.head.text("x-ms-structured-body").is_some();
    match ask.body.expected() {
        Some(length) if length != pages.length() && !is_structured => {
            Err(Refusal::InvalidHeaderValue { header: "Content-Length".into(), value: length.to_string() })
        }
        Some(_) | None => Ok(()),
    }
}

/// What every form of Put Page says.
pub fn answer(blob: &lazuli_model::blob::Blob) -> Answer {
    headers::sequence_of(Answer::new(StatusCode::CREATED).etag(blob.etag, blob.modified), blob)
}
