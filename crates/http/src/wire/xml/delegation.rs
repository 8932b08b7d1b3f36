//! The two documents of Get User Delegation Key.

use lazuli_model::Timestamp;

use super::read::Document;
use super::{document, element};
use crate::auth::delegation::KeyFields;
use crate::refusal::Refusal;

pub struct KeyInfo {
    pub start: Option<Timestamp>,
    pub expiry: Timestamp,
    pub delegated_tid: Option<String>,
}

pub fn read_key_info(body: &[u8]) -> Result<KeyInfo, Refusal> {
    let document = Document::expect(body, "KeyInfo")?;
    let time = |name: &'static str| match document.root.text_of(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => Timestamp::parse_iso(text).map(Some).ok_or_else(|| Refusal::InvalidXmlNodeValue {
            name: name.into(),
            value: text.to_owned(),
            reason: "".into(),
        }),
    };
    let expiry = time("Expiry")?.ok_or_else(|| document.refuse(&document.root, "Expiry is missing"))?;
    let tenant = document.root.text_of("DelegatedUserTid").filter(|text| !text.is_empty());
    Ok(KeyInfo { start: time("Start")?, expiry, delegated_tid: tenant.map(str::to_owned) })
}

pub fn user_delegation_key(fields: &KeyFields<'_>, value: &str) -> Vec<u8> {
    let mut out = document(512);
    out.push_str("<UserDelegationKey>");
    element(&mut out, "SignedOid", fields.oid);
    element(&mut out, "SignedTid", fields.tid);
    element(&mut out, "SignedStart", fields.start);
    element(&mut out, "SignedExpiry", fields.expiry);
    element(&mut out, "SignedService", fields.service);
    element(&mut out, "SignedVersion", fields.version);
    if !fields.delegated_tid.is_empty() {
        element(&mut out, "SignedDelegatedUserTid", fields.delegated_tid);
    }
    element(&mut out, "Value", value);
    out.push_str("</UserDelegationKey>");
    out.into_bytes()
}
