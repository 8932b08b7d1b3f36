//! Set Queue Service Properties. A section that is left out keeps its value.

use lazuli_model::service::Of;

use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::service;
use crate::wire::xml;

pub const SPEC: Spec = Spec { name: "SetQueueServiceProperties", ..service::SET_PROPERTIES };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let change = service::change(ask, xml::read_queue_service_properties).await?;
    service::set_properties(ask, Of::Queue, change).await
}
