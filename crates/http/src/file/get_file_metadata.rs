//! Get File Metadata.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::{get_file_properties, place};
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec =
    Spec { name: "GetFileMetadata", methods: &["GET", "HEAD"], comp: Some("metadata"), ..get_file_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::file(&ask.head)?;
    let file = ask.store.file(&at, get_file_properties::parse(&ask.head)?).await?;
    let answer = Answer::new(StatusCode::OK).etag(file.node.etag, file.node.modified);
    Ok(headers::metadata_of(answer, &file.node.metadata))
}
