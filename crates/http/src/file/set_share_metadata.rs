//! Set Share Metadata.

use http::StatusCode;
use lazuli_model::file::SetShareMetadata;

use crate::answer::Answer;
use crate::file::place;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetShareMetadata",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("metadata"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let set = SetShareMetadata { metadata: headers::metadata(&ask.head)?, lease: headers::lease_id(&ask.head)? };
    let share = ask.store.set_share_metadata(&at, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(share.etag, share.modified))
}
