//! Create Session: what is asked for, and what is given. As the SDKs that have it read and write.

use super::{Document, document, element};
use crate::auth::session::Session;
use crate::refusal::Refusal;

/// There is one kind of session so far, and clients name it.
pub fn read_session_request(body: &[u8]) -> Result<(), Refusal> {
    let document = Document::read(body)?;
    match document.root.text_of("AuthenticationType") {
        Some(kind) if kind.eq_ignore_ascii_case("HMAC") => Ok(()),
        Some(kind) => Err(Refusal::InvalidXmlNodeValue {
            name: "AuthenticationType".into(),
            value: kind.to_owned(),
            reason: "".into(),
        }),
        None => Err(document.refuse(&document.root, "AuthenticationType is missing")),
    }
}

pub fn created_session(id: &str, session: &Session) -> Vec<u8> {
    let mut out = document(1024);
    out.push_str("<CreateSessionResult>");
    element(&mut out, "Id", id);
    element(&mut out, "Expiration", &session.expires.to_http());
    element(&mut out, "AuthenticationType", "HMAC");
    out.push_str("<Credentials>");
    element(&mut out, "SessionToken", &session.token);
    element(&mut out, "SessionKey", &session.key);
    out.push_str("</Credentials></CreateSessionResult>");
    out.into_bytes()
}
