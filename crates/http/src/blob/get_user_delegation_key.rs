//! Get User Delegation Key, of every service that has it.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::account::Secret;
use lazuli_store::AccountTrouble;

use crate::answer::Answer;
use crate::auth::delegation::{KeyFields, key, kind};
use crate::operation::{Body, On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 16 << 10;
const MOST_SECONDS: u64 = 7 * 24 * 60 * 60;

pub const SPEC: Spec = Spec {
    name: "GetUserDelegationKey",
    methods: &["POST"],
    on: On::Service,
    restype: Some("service"),
    comp: Some("userdelegationkey"),
    body: Body::Document { most: DOCUMENT_MAX },
    bearer_only: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let asked = xml::read_key_info(&document)?;
    let head = &ask.head;
    let (start, expiry) = (asked.start.unwrap_or(head.wall), asked.expiry);
    check(start, expiry, head.wall)?;
    let principal = ask.grant.principal.clone().ok_or(Denied::AuthorizationFailure)?;
    let candidate = [(ask.ids)(), (ask.ids)()].map(u128::to_be_bytes).concat();
    let candidate = Secret(candidate.try_into().map_err(|_| Denied::InternalError)?);
    let secret = ask.store.delegation_secret(&head.account()?, candidate).await.map_err(|trouble| match trouble {
        AccountTrouble::Failed(failure) => failure,
        AccountTrouble::Exists | AccountTrouble::NotFound | AccountTrouble::NoKeys => Denied::InternalError.into(),
        AccountTrouble::NotEmpty(_) | AccountTrouble::Bad(_) => Denied::InternalError.into(),
    })?;
    let (start, expiry, version) = (start.to_iso_seconds(), expiry.to_iso_seconds(), head.version.to_string());
    let fields = KeyFields {
        oid: &principal.oid,
        tid: &principal.tid,
        start: &start,
        expiry: &expiry,
        service: kind(head.service).0,
        version: &version,
        delegated_tid: asked.delegated_tid.as_deref().unwrap_or_default(),
    };
    let trust = ask.edge.accounts().trust().ok_or(Denied::AuthorizationFailure)?;
    let value = key(&secret.0, &principal, trust, &head.account, head.service, &fields);
    Ok(Answer::new(StatusCode::OK).xml(xml::user_delegation_key(&fields, &value)))
}

fn check(start: Timestamp, expiry: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    let bad = |name: &'static str, value: Timestamp, reason: &'static str| Refusal::InvalidXmlNodeValue {
        name: name.into(),
        value: value.to_iso_seconds(),
        reason: reason.into(),
    };
    if expiry <= start || expiry <= now {
        return Err(bad("Expiry", expiry, "The key must expire in the future, and after it starts."));
    }
    let latest = now.plus_seconds(MOST_SECONDS);
    if expiry > latest || start > latest {
        return Err(bad("Expiry", expiry, "The key must expire within seven days from now."));
    }
    Ok(())
}
