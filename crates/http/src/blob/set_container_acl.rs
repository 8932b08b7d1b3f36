//! Set Container ACL: public access and stored policies, both replaced at once.

use bytes::Bytes;
use http::StatusCode;
use lazuli_model::container::SetContainerAcl;

use crate::answer::Answer;
use crate::blob::create_container::permitted_access;
use crate::operation::{Body, DATES, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "SetContainerAcl",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("acl"),
    body: Body::Document { most: DOCUMENT_MAX },
    takes: DATES | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let set = parse(ask, &document)?;
    let container = ask.store.set_container_acl(&ask.head.container_at()?, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(container.etag, container.modified))
}

fn parse(ask: &Ask, document: &Bytes) -> Result<SetContainerAcl, Refusal> {
    let head = &ask.head;
    Ok(SetContainerAcl {
        public: permitted_access(ask)?,
        policies: xml::read_signed_identifiers(document, xml::letters::CONTAINER)?,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    })
}
