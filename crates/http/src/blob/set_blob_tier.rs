//! Set Blob Tier: 200 when the blob is there, 202 when it is on its way out of the archive.

use http::StatusCode;
use lazuli_model::blob::{SetBlobTier, TierChange};

use crate::answer::Answer;
use crate::blob::headers;
use crate::operation::{AccountNeeds, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "SetBlobTier",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("tier"),
    needs: "w",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = parse(ask)?;
    let status = match ask.store.set_blob_tier(&ask.head.blob_at()?, set).await? {
        TierChange::Done => StatusCode::OK,
        TierChange::Pending => StatusCode::ACCEPTED,
    };
    Ok(Answer::new(status))
}

fn parse(ask: &Ask) -> Result<SetBlobTier, Refusal> {
    let head = &ask.head;
    Ok(SetBlobTier {
        which: wire::headers::which(head)?,
        tier: headers::permitted_tier(ask)?
            .ok_or(Refusal::MissingRequiredHeader { header: "x-ms-access-tier".into() })?,
        priority: headers::priority(head)?,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
    })
}
