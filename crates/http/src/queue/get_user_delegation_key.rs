//! Get User Delegation Key for queues. Since 2026-02-06.

use crate::answer::Answer;
use crate::blob::get_user_delegation_key;
use crate::operation::Spec;
use crate::queue::fresh;
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec { name: "GetQueueUserDelegationKey", ..get_user_delegation_key::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    get_user_delegation_key::run(ask).await.map(fresh)
}
