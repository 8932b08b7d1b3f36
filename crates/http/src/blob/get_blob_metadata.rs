//! Get Blob Metadata.

use http::StatusCode;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::blob::{get_blob_properties, headers};
use crate::operation::Spec;
use crate::serve::Ask;

pub const SPEC: Spec =
    Spec { name: "GetBlobMetadata", methods: &["GET", "HEAD"], comp: Some("metadata"), ..get_blob_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let read = get_blob_properties::parse(&ask.head, &SPEC)?;
    let blob = ask.store.blob(&ask.head.blob_at()?, read).await?;
    Ok(headers::metadata_of(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified), &blob.metadata))
}
