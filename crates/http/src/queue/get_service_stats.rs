//! Get Queue Service Stats, answered at the primary too: there is one place, and it is in step with itself.

use http::StatusCode;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::queue::fresh;
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "GetQueueServiceStats",
    methods: &["GET"],
    on: On::Service,
    restype: Some("service"),
    comp: Some("stats"),
    account_sas: Some(AccountNeeds { resource: 's', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    ask.head.permit_stats()?;
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::service_stats(ask.settings.geo_replication, ask.head.now)))
}
