//! Get Permission: the security descriptor of a key.

use http::StatusCode;
use lazuli_model::file::PermissionKey;

use crate::answer::{Answer, Payload};
use crate::file::{json, place, smb};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "GetPermission",
    methods: &["GET", "HEAD"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("filepermission"),
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let key = ask.head.required("x-ms-file-permission-key", PermissionKey::parse)?;
    let format = smb::format(&ask.head)?;
    let text = ask.store.permission(&at, key, format).await?;
    let said = ask.head.text("x-ms-file-permission-format").map(|_| format);
    // Observed: without a Content-Type.
    Ok(Answer { payload: Payload::Whole(json::permission(&text, said).into()), ..Answer::new(StatusCode::OK) })
}
