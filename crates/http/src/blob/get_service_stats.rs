//! Get Blob Service Stats.

use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::service;

pub const SPEC: Spec = Spec { name: "GetServiceStats", ..service::GET_STATS };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    service::stats(ask)
}
