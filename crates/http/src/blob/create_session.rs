//! Create Session: credentials for five minutes of requests to one container ("Create Session", in preview; `auth::session`).

use http::StatusCode;
use lazuli_model::container::ReadContainer;

use crate::answer::Answer;
use crate::auth::session;
use crate::head::guid;
use crate::operation::{Body, On, Spec};
use crate::refusal::{Denied, Failure};
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "CreateSession",
    methods: &["POST"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("session"),
    body: Body::Document { most: DOCUMENT_MAX },
    bearer_only: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    xml::read_session_request(&document)?;
    // A session does not make another: it would never end.
    if ask.head.text("authorization").and_then(session::parts).is_some() {
        return Err(Denied::AuthorizationFailure.into());
    }
    let at = ask.head.container_at()?;
    ask.store.container(&at, ReadContainer::default()).await?;
    let principal = ask.grant.principal.clone().ok_or(Denied::AuthorizationFailure)?;
    let account = ask.edge.accounts().get(at.account.as_str()).ok_or(Denied::AuthorizationFailure)?;
    let session = session::create(&account, &principal, at.container.as_str(), ask.head.wall);
    Ok(Answer::new(StatusCode::CREATED).xml(xml::created_session(&guid((ask.ids)()), &session)))
}
