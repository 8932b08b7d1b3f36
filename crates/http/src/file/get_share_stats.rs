//! Get Share Stats: how many bytes the share's files take up.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::{get_share_properties, place};
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec =
    Spec { name: "GetShareStats", methods: &["GET"], comp: Some("stats"), ..get_share_properties::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let (_, bytes) = ask.store.share_usage(&at, get_share_properties::parse(&ask.head)?).await?;
    // Observed: without an ETag, though the reference has one.
    Ok(Answer::new(StatusCode::OK).xml(xml::share_stats(bytes)))
}
