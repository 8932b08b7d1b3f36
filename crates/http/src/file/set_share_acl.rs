//! Set Share ACL: the stored access policies, all replaced at once.

use http::StatusCode;
use lazuli_model::file::SetShareAcl;

use crate::answer::Answer;
use crate::file::place;
use crate::operation::{Body, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "SetShareAcl",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("acl"),
    body: Body::Document { most: DOCUMENT_MAX },
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let set = SetShareAcl {
        policies: xml::read_signed_identifiers(&document, xml::letters::SHARE)?,
        lease: headers::lease_id(&ask.head)?,
    };
    let share = ask.store.set_share_acl(&at, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(share.etag, share.modified))
}
