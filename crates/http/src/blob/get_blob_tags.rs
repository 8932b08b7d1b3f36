//! Get Blob Tags.

use http::StatusCode;
use lazuli_model::blob::GetBlobTags;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "GetBlobTags",
    methods: &["GET"],
    on: On::Blob,
    comp: Some("tags"),
    needs: "t",
    account_sas: Some(AccountNeeds { resource: 'o', any: "t" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let get = parse(&ask.head)?;
    let tags = ask.store.blob_tags(&ask.head.blob_at()?, get).await?;
    Ok(Answer::new(StatusCode::OK).xml(xml::tags(&tags)))
}

fn parse(head: &Head) -> Result<GetBlobTags, Refusal> {
    Ok(GetBlobTags {
        which: headers::which(head)?,
        conditions: headers::conditions_of_tags(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    })
}
