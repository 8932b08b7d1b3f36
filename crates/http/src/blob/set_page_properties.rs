//! Set Blob Properties with what only page blobs have: a new length, or something to do with the sequence number. No other
//! property changes, unless one of them was sent too; then they are replaced together ("Set Blob Properties").

use http::StatusCode;
use lazuli_model::blob::{ContentHeaders, SequenceAction, SetPageProperties};

use crate::answer::Answer;
use crate::blob::put_page_blob::{read_length, read_sequence};
use crate::blob::{headers, set_blob_properties};
use crate::head::Head;
use crate::operation::{Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

pub const RESIZE: Spec =
    Spec { name: "ResizePageBlob", when: &[When::Header("x-ms-blob-content-length")], ..set_blob_properties::SPEC };

pub const SEQUENCE: Spec = Spec {
    name: "SetSequenceNumber",
    when: &[When::Header("x-ms-sequence-number-action"), When::NoHeader("x-ms-blob-content-length")],
    ..set_blob_properties::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = parse(&ask.head)?;
    let blob = ask.store.set_page_properties(&ask.head.blob_at()?, set).await?;
    Ok(headers::sequence_of(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified), &blob))
}

fn parse(head: &Head) -> Result<SetPageProperties, Refusal> {
    let sent = headers::content_headers(head)?;
    Ok(SetPageProperties {
        length: head.opt("x-ms-blob-content-length", read_length)?,
        sequence: sequence(head)?,
        headers: (sent != ContentHeaders::default()).then_some(sent),
        conditions: wire::headers::conditions(head, &RESIZE)?,
        lease: wire::headers::lease_id(head)?,
    })
}

/// `max` and `update` need a number, `increment` forbids it.
fn sequence(head: &Head) -> Result<Option<SequenceAction>, Refusal> {
    let number = head.opt("x-ms-blob-sequence-number", read_sequence)?;
    let missing = Refusal::MissingRequiredHeader { header: "x-ms-blob-sequence-number".into() };
    let Some(action) = head.text("x-ms-sequence-number-action") else {
        let missing = Refusal::MissingRequiredHeader { header: "x-ms-sequence-number-action".into() };
        return if number.is_some() { Err(missing) } else { Ok(None) };
    };
    match (action.to_ascii_lowercase().as_str(), number) {
        ("max", Some(number)) => Ok(Some(SequenceAction::Max(number))),
        ("update", Some(number)) => Ok(Some(SequenceAction::Update(number))),
        ("increment", None) => Ok(Some(SequenceAction::Increment)),
        ("max" | "update", None) => Err(missing),
        ("increment", Some(number)) => {
            Err(Refusal::InvalidHeaderValue { header: "x-ms-blob-sequence-number".into(), value: number.to_string() })
        }
        (_, _) => {
            Err(Refusal::InvalidHeaderValue { header: "x-ms-sequence-number-action".into(), value: action.to_owned() })
        }
    }
}
