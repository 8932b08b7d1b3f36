//! Get Container ACL.

use http::StatusCode;
use lazuli_model::container::ReadContainer;

use crate::answer::Answer;
use crate::blob::create_container::public_access_of;
use crate::operation::{LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::xml;

/// No SAS gives it: who may is for the owner to see.
pub const SPEC: Spec = Spec {
    name: "GetContainerAcl",
    methods: &["GET", "HEAD"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("acl"),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    headers::conditions(&ask.head, &SPEC)?;
    let read = ReadContainer { lease: headers::lease_id(&ask.head)? };
    let container = ask.store.container(&ask.head.container_at()?, read).await?;
    let answer =
        Answer::new(StatusCode::OK).etag(container.etag, container.modified).xml(xml::acl(&container.policies));
    Ok(public_access_of(answer, container.public))
}
