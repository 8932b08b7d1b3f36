//! Get Directory Metadata.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::{get_directory_properties, place};
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec { name: "GetDirectoryMetadata", comp: Some("metadata"), ..get_directory_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let entry = ask.store.directory(&place::any(&ask.head)?, place::snapshot(&ask.head)?).await?;
    let answer = Answer::new(StatusCode::OK).etag(entry.node.etag, entry.node.modified);
    Ok(headers::metadata_of(answer, &entry.node.metadata))
}
