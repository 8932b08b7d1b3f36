//! Get Blob Metadata.

use http::StatusCode;

use crate::answer::Answer;
use crate::blob::get_blob_properties;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec =
    Spec { name: "GetBlobMetadata", methods: &["GET", "HEAD"], comp: Some("metadata"), ..get_blob_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let read = get_blob_properties::parse(&ask.head, &SPEC)?;
    let blob = ask.store.blob(&ask.head.blob_at()?, read).await?;
    Ok(headers::metadata_of(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified), &blob.metadata))
}
