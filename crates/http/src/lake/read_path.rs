//! Read: a file's bytes, on this endpoint as on the Blob endpoint.

use crate::answer::Answer;
use crate::blob::get_blob;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "ReadPath",
    lake: true,
    anonymous: crate::operation::Anonymous::Never,
    seconds: &[],
    ..get_blob::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    get_blob::run(ask).await
}
