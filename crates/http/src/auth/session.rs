//! Sessions of a container: a client with a bearer token gets a token and a key for five minutes, and signs requests with the key
//! as with Shared Key, which costs less to check. `Authorization: Session token:signature`.
//!
//! Nothing of a session is kept. Its token says whose it is, of which container and until when, under a MAC by the account's key; its key is
//! derived from the same. So a session can do no more than its maker can by a user delegation key, within its container, and rotating
//! the account's key ends it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use lazuli_model::Timestamp;
use ring::hmac;

use super::bearer::Principal;
use super::delegation::{KeyFields, maker, momentary_level};
use super::shared_key;
use super::subject::Kind;
use super::trust::Trust;
use super::{Identity, failed};
use crate::accounts::Account;
use crate::head::{Head, Service};
use crate::refusal::{Denied, Refusal};

const SECONDS: u64 = 5 * 60;

/// What a client gets.
pub struct Session {
    pub token: String,
    /// In Base64.
    pub key: String,
    pub expires: Timestamp,
}

pub fn create(account: &Account, principal: &Principal, container: &str, now: Timestamp) -> Session {
    let expires = now.plus_seconds(SECONDS).whole_seconds();
    let level = momentary_level(principal, account.name().as_str(), Service::Blob);
    let (kind, issuer) = (principal.kind.name(), one_line(&principal.issuer));
    let (expiry, Principal { oid, tid, .. }) = (expires.ticks(), principal);
    let claims = format!("{container}\n{expiry}\n{level}\n{kind}\n{issuer}\n{oid}\n{tid}");
    let mac = account.sign(sealed(&claims).as_bytes());
    let token = format!("{}.{}", URL_SAFE_NO_PAD.encode(&claims), mac.replace('+', "-").replace('/', "_"));
    Session { token, key: key(account, &claims), expires }
}

/// The token and the signature of an Authorization header, if that is its scheme.
pub fn parts(authorization: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = authorization.split_once(' ')?;
    rest.trim().rsplit_once(':').filter(|_| scheme.eq_ignore_ascii_case("Session"))
}

pub fn verify(head: &Head, account: &Account, trust: &Trust, parts: (&str, &str)) -> Result<Identity, Refusal> {
    let (token, signature) = parts;
    let claims = read(account, token).ok_or_else(|| over("This is no session of this account."))?;
    let mut lines = claims.splitn(7, '\n');
    let mut next = || lines.next().ok_or_else(|| over("This is no session."));
    let (container, expires, level, kind) = (next()?, next()?, next()?, next()?);
    let (issuer, oid, tid) = (next()?, next()?, next()?);
    let kind = Kind::parse(kind).ok_or_else(|| over("This is no session."))?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| over("This is no session."));
    if Timestamp::from_ticks(number(expires)?) <= head.wall {
        return Err(over("The session has expired. Please create a new session.").into());
    }
    let key = STANDARD.decode(key(account, &claims)).unwrap_or_default();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    shared_key::verify_by(head, signature, |text, tag| hmac::verify(&key, text, tag).is_ok())?;
    if !matches!(head.service, Service::Blob | Service::Dfs) || head.target.within() != Some(container) {
        return Err(failed("The session is of another container.").into());
    }
    let level = number(level)? as usize;
    let (start, expiry, service, version, delegated_tid) = ("", "", "", "", "");
    let fields = KeyFields { oid, tid, start, expiry, service, version, delegated_tid };
    Ok(Identity::Token(Arc::new(maker(&fields, (kind, issuer), Service::Blob, level, trust))))
}

fn read(account: &Account, token: &str) -> Option<String> {
    let (claims, mac) = token.split_once('.')?;
    let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let mac = STANDARD.decode(mac.replace('-', "+").replace('_', "/")).ok()?;
    account.signed(sealed(&claims).as_bytes(), &mac).then_some(claims)
}

/// No string that is signed for anything else begins so.
fn sealed(claims: &str) -> String {
    format!("session\n{claims}")
}

/// An issuer that is not configured is believed in basic mode alone, whatever it calls itself.
fn one_line(issuer: &str) -> &str {
    issuer.lines().next().unwrap_or_default()
}

fn key(account: &Account, claims: &str) -> String {
    account.sign(format!("session key\n{claims}").as_bytes())
}

/// 401, on which clients create a new session.
fn over(detail: &'static str) -> Denied {
    Denied::InvalidAccessToken { detail: detail.into() }
}
