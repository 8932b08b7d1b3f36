//! Get Share Metadata.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::{get_share_properties, place};
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec { name: "GetShareMetadata", comp: Some("metadata"), ..get_share_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let share = ask.store.share(&place::share(&ask.head)?, get_share_properties::parse(&ask.head)?).await?;
    let answer = Answer::new(StatusCode::OK).etag(share.etag, share.modified);
    Ok(headers::metadata_of(answer, &share.metadata))
}
