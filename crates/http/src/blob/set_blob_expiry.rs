//! Set Blob Expiry.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::blob::{Expiry, SetBlobExpiry};

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetBlobExpiry",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("expiry"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = SetBlobExpiry { expiry: expiry(&ask.head)?, lease: headers::lease_id(&ask.head)? };
    headers::conditions(&ask.head, &SPEC)?;
    let blob = ask.store.set_blob_expiry(&ask.head.blob_at()?, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified))
}

/// Options compare without case; a time goes with all of them but `NeverExpire`.
pub fn expiry(head: &Head) -> Result<Expiry, Refusal> {
    const OPTION: &str = "x-ms-expiry-option";
    const TIME: &str = "x-ms-expiry-time";
    let milliseconds = |text: &str| text.parse::<u64>().ok();
    let option = head.required(OPTION, |text| Some(text.to_owned()))?;
    match option.to_ascii_lowercase().as_str() {
        "neverexpire" => Ok(Expiry::Never),
        "relativetocreation" => head.required(TIME, milliseconds).map(Expiry::RelativeToCreation),
        "relativetonow" => head.required(TIME, milliseconds).map(Expiry::RelativeToNow),
        "absolute" => head.required(TIME, Timestamp::parse_http).map(Expiry::Absolute),
        _ => Err(Refusal::InvalidHeaderValue { header: OPTION.into(), value: option }),
    }
}
