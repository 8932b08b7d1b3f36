//! Get Share ACL: the stored access policies.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::{get_share_properties, place};
use crate::operation::{LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "GetShareAcl",
    methods: &["GET", "HEAD"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("acl"),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let share = ask.store.share(&at, get_share_properties::parse(&ask.head)?).await?;
    Ok(Answer::new(StatusCode::OK).etag(share.etag, share.modified).xml(xml::acl(&share.policies)))
}
