//! User delegation keys, and the SAS signed with them.
//!
//! A key is not kept: it is derived from a secret of the account, from what the client repeats in the SAS (whose it is, from
//! when to when, for which service), and from the roles that its owner had by the token alone. So a key cannot be changed, a SAS can do
//! no more than its maker could, and taking the secret away revokes them all. Roles that the operator assigned are looked
//! up at each use. "Create a user delegation SAS" is the source of the strings.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::access::{Letters, Terms};
use lazuli_model::authorize::Signed;
use lazuli_model::roles::{Data, Granted, Role, Scope, level, levels};
use lazuli_model::{Refusal, Timestamp, Version};
use ring::hmac;

use super::bearer::Principal;
use super::parameters::unbroken;
use super::sas::{SIGNS_SCOPE, check_source, field, malformed, mismatch, times};
use super::service_sas::{RESPONSE_HEADERS, ServiceSas, canonical, moment, overrides, resource};
use super::subject::{Kind, TokenSubject, same_issuer};
use super::trust::{Mode, Trust};
use super::{Identity, failed};
use crate::accounts::Account;
use crate::head::{Head, Service};

const FIRST: Version = Version::new(2018, 11, 9);
const HAS_AGENTS: Version = Version::new(2020, 2, 10);
const HAS_USERS: Version = Version::new(2025, 7, 5);
const SIGNS_REQUEST: Version = Version::new(2026, 4, 6);

/// What a key says of itself. All of it comes back in each SAS.
pub struct KeyFields<'a> {
    pub oid: &'a str,
    pub tid: &'a str,
    pub start: &'a str,
    pub expiry: &'a str,
    pub service: &'a str,
    pub version: &'a str,
    /// The tenant of the one user who may use the SAS, or nothing.
    pub delegated_tid: &'a str,
}

/// The service's letter and its kind of data.
pub fn kind(service: Service) -> (&'static str, Data) {
    match service {
        Service::Blob | Service::Dfs => ("b", Data::Blob),
        Service::Queue => ("q", Data::Queue),
        Service::Table => ("t", Data::Table),
        Service::File => ("f", Data::File),
    }
}

impl KeyFields<'_> {
    fn value(&self, secret: &hmac::Key, level: usize, standing: Standing<'_>) -> hmac::Tag {
        let Self { oid, tid, start, expiry, service, version, delegated_tid } = self;
        let mut text = format!("{oid}\n{tid}\n{start}\n{expiry}\n{service}\n{version}\n{delegated_tid}\n{level}");
        if let Some((kind, issuer)) = standing {
            text += &format!("\n{}\n{issuer}", kind.name());
        }
        hmac::sign(secret, text.as_bytes())
    }
}

/// How the owner of a key is known, and to whom. It is part of the key, so that a SAS cannot claim another. A user of the only issuer is
/// known without it.
type Standing<'a> = Option<(Kind, &'a str)>;

fn standing_of<'a>(principal: &Principal, trust: &'a Trust) -> Standing<'a> {
    let issuers = trust.told_apart();
    if issuers.len() <= 1 && principal.kind == Kind::User {
        return None;
    }
    let issuer = issuers.into_iter().find(|issuer| same_issuer(issuer, &principal.issuer));
    Some((principal.kind, issuer.unwrap_or_default()))
}

/// All that [`standing_of`] can say.
fn standings(trust: &Trust) -> Vec<Standing<'_>> {
    let mut issuers = trust.told_apart();
    // Only there are tokens taken of issuers that nobody named.
    issuers.extend((trust.mode == Mode::Basic).then_some(""));
    let of = |issuer| Kind::ALL.map(|kind| Some((kind, issuer)));
    [None].into_iter().chain(issuers.into_iter().flat_map(of)).collect()
}

/// The key of a principal, in Base64.
pub fn key(
    secret: &[u8],
    principal: &Principal,
    trust: &Trust,
    account: &str,
    service: Service,
    fields: &KeyFields<'_>,
) -> String {
    let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let level = momentary_level(principal, account, service);
    STANDARD.encode(fields.value(&secret, level, standing_of(principal, trust)))
}

/// The most that a principal may by the token alone.
pub(super) fn momentary_level(principal: &Principal, account: &str, service: Service) -> usize {
    let momentary = |granted: &&Granted| !granted.lasting && granted.scope.covers(account, None);
    let roles: Vec<Role> = principal.granted.iter().filter(momentary).map(|granted| granted.role).collect();
    level(kind(service).1, &roles)
}

/// `asker` is who sent the request, if it came with a token as well.
pub fn verify(
    head: &Head,
    account: &Account,
    trust: &Trust,
    signature: &str,
    asker: Option<&Principal>,
) -> Result<Identity, Refusal> {
    let version = Version::parse(field(head, "sv")).filter(|version| *version >= FIRST).ok_or_else(malformed)?;
    unbroken(head)?;
    let (letter, data) = kind(head.service);
    let fields = KeyFields {
        oid: field(head, "skoid"),
        tid: field(head, "sktid"),
        start: field(head, "skt"),
        expiry: field(head, "ske"),
        service: field(head, "sks"),
        version: field(head, "skv"),
        delegated_tid: field(head, "skdutid"),
    };
    check_key(&fields, letter, head.wall)?;
    let resource = resource(head, version)?;
    let strings = strings_to_sign(head, version, &canonical(head, version, resource)?, resource);
    let secret = account.delegation().ok_or_else(|| mismatch(&strings[0]))?;
    let tag = STANDARD.decode(signature.replace(' ', "+")).unwrap_or_default();
    let signed = |(level, standing): &(usize, Standing<'_>)| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, fields.value(secret, *level, *standing).as_ref());
        strings.iter().any(|text| hmac::verify(&key, text.as_bytes(), &tag).is_ok())
    };
    let standings = standings(trust);
    let mut tried = standings.iter().flat_map(|standing| (0..levels(data).len()).map(|level| (level, *standing)));
    let (level, standing) = tried.find(signed).ok_or_else(|| mismatch(&strings[0]))?;
    check_user(head, asker)?;
    check_source(head)?;
    let letters = Letters::parse(field(head, "sp")).filter(|_| !field(head, "sp").is_empty()).ok_or_else(malformed)?;
    let times = times(head)?;
    times.permit(head.wall)?;
    let terms = Terms { signed: resource, letters: Some(letters), times, policy: None };
    let sas = ServiceSas { version, terms, overrides: overrides(head, version) };
    let only = trust.told_apart().first().copied().unwrap_or_default();
    let (kind, issuer) = standing.unwrap_or((Kind::User, only));
    Ok(Identity::Delegated(sas, Arc::new(maker(&fields, (kind, issuer), head.service, level, trust))))
}

/// Who made the SAS, with what they may now.
pub(super) fn maker(
    fields: &KeyFields<'_>,
    (kind, issuer): (Kind, &str),
    service: Service,
    level: usize,
    trust: &Trust,
) -> Principal {
    let own = levels(self::kind(service).1).get(level).copied().unwrap_or_default();
    let own = own.iter().map(|role| Granted { role: *role, scope: Scope::default(), lasting: false });
    Principal {
        oid: fields.oid.to_owned(),
        tid: fields.tid.to_owned(),
        kind,
        issuer: issuer.to_owned(),
        upn: None,
        groups: Vec::new(),
        granted: own.chain(TokenSubject::again(issuer, kind, fields.oid).assigned(trust)).collect(),
    }
}

fn check_key(fields: &KeyFields<'_>, letter: &str, now: Timestamp) -> Result<(), Refusal> {
    let time = |text: &str| Timestamp::parse_iso(text).ok_or_else(malformed);
    if fields.tid.is_empty() || fields.version.is_empty() || fields.service != letter {
        return Err(malformed());
    }
    let (start, expiry) = (time(fields.start)?, time(fields.expiry)?);
    if now < start || now >= expiry {
        return Err(failed(format!(
            "Signature not valid in the specified key time frame: Start [{}] - Expiry [{}] - Current [{}]",
            start.to_http(),
            expiry.to_http(),
            now.to_http()
        )));
    }
    Ok(())
}

/// A SAS for one user wants that user's token with it.
fn check_user(head: &Head, asker: Option<&Principal>) -> Result<(), Refusal> {
    let (user, tenant) = (field(head, "sduoid"), field(head, "skdutid"));
    if user.is_empty() && tenant.is_empty() {
        return Ok(());
    }
    let asker = asker.ok_or_else(|| failed("The signature is for one user; send the user's bearer token with it."))?;
    let is_user = asker.kind != Kind::Other && asker.oid == user;
    let same = (user.is_empty() || is_user) && (tenant.is_empty() || asker.tid == tenant);
    if same { Ok(()) } else { Err(failed("The signature is for another user than the bearer token's.")) }
}

/// The string of this version. SDKs disagree by some months about when fields came, so for a field that is empty the
/// form without it is tried as well: what is not there needs no signature.
fn strings_to_sign(head: &Head, version: Version, canonical: &str, resource: Signed) -> Vec<String> {
    let agents = ["saoid", "suoid", "scid"];
    let users = ["skdutid", "sduoid"];
    let absent = |names: &[&str]| names.iter().all(|name| field(head, name).is_empty());
    let choice = |since: Version, names: &[&str]| match (version >= since, absent(names)) {
        (usual, true) => vec![usual, !usual],
        (_, false) => vec![true],
    };
    let blob = matches!(head.service, Service::Blob | Service::Dfs);
    let agents_too = if blob { choice(HAS_AGENTS, &agents) } else { vec![false] };
    let users_too = choice(HAS_USERS, &users);
    let request_too = if blob { choice(SIGNS_REQUEST, &["srh", "srq"]) } else { vec![false] };
    let mut strings = Vec::new();
    for with_request in request_too {
        for with_users in &users_too {
            for with_agents in &agents_too {
                let mut lines = ["sp", "st", "se"].map(|name| field(head, name).to_owned()).to_vec();
                lines.push(canonical.to_owned());
                let mut add = |names: &[&str]| lines.extend(names.iter().map(|name| field(head, name).to_owned()));
                add(&["skoid", "sktid", "skt", "ske", "sks", "skv"]);
                add(if *with_agents { &agents } else { &[] });
                add(if *with_users { &users } else { &[] });
                add(&["sip", "spr", "sv"]);
                lines.extend(rest(head, version, resource, with_request));
                strings.push(lines.join("\n"));
            }
        }
    }
    strings
}

/// What follows the version.
fn rest(head: &Head, version: Version, resource: Signed, with_request: bool) -> Vec<String> {
    let fields = |names: &[&str]| -> Vec<String> { names.iter().map(|name| field(head, name).to_owned()).collect() };
    match head.service {
        Service::Blob | Service::Dfs => {
            let mut lines = vec![field(head, "sr").to_owned(), moment(head, resource).to_owned()];
            if version >= SIGNS_SCOPE {
                lines.push(field(head, "ses").to_owned());
            }
            if with_request {
                lines.extend([signed_headers(head), signed_parameters(head)]);
            }
            lines.extend(fields(&RESPONSE_HEADERS));
            lines
        }
        Service::File => fields(&RESPONSE_HEADERS),
        Service::Table => fields(&["spk", "srk", "epk", "erk"]),
        Service::Queue => Vec::new(),
    }
}

/// `name:value` for each header that the SAS binds, with a line's end behind the last.
fn signed_headers(head: &Head) -> String {
    let names = field(head, "srh").split(',').filter(|name| !name.is_empty());
    names.map(|name| format!("{name}:{}\n", head.text(name).unwrap_or_default())).collect()
}

/// `name:value` for each parameter that the SAS binds, with a line's end before the first.
fn signed_parameters(head: &Head) -> String {
    let names = field(head, "srq").split(',').filter(|name| !name.is_empty());
    names.map(|name| format!("\n{name}:{}", head.query.raw(name).unwrap_or_default())).collect()
}
