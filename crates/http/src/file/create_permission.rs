//! Create Permission: keeps a security descriptor, and gives a key by which files can have it.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::file::{json, place};
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

/// Descriptors of up to 64 KiB, binary ones in Base64, and what JSON adds.
const DOCUMENT_MAX: u64 = 256 << 10;

pub const SPEC: Spec = Spec {
    name: "CreatePermission",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("filepermission"),
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let (text, format) = json::read_permission(&ask.body.document(DOCUMENT_MAX).await?)?;
    let key = ask.store.create_permission(&at, text, format).await?;
    Ok(Answer::new(StatusCode::CREATED).text(&name::FILE_PERMISSION_KEY, key.to_string()))
}
