//! Bearer tokens: JSON Web Tokens that say who their holder is. A token is read once and wholly checked; what a claim may say is
//! bounded by the size of a head.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lazuli_model::roles::{Action, Granted, Role, Scope};
use lazuli_model::{Refusal, Timestamp, Version};
use serde::Deserialize;

use super::failed;
use super::subject::{Kind, TokenSubject};
use super::trust::{Mode, Trust};
use crate::head::{Head, Service};

/// Clocks of issuers may be off by this much.
const SKEW_SECONDS: u64 = 5 * 60;
const UNIX_EPOCH_SECONDS: u64 = 62_135_596_800;

/// Who holds a token, and what they may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The object id; for who has none, what else there is to show.
    pub oid: String,
    pub tid: String,
    pub kind: Kind,
    pub issuer: String,
    /// A name to show: what the token has of one.
    pub upn: Option<String>,
    pub groups: Vec<String>,
    pub granted: Vec<Granted>,
}

impl Principal {
    pub fn may(&self, action: Action, account: &str, within: Option<&str>) -> bool {
        Granted::any_allows(&self.granted, action, account, within)
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: OneOrMany,
    exp: Number,
    nbf: Option<Number>,
    oid: Option<String>,
    sub: Option<String>,
    idtyp: Option<String>,
    scp: Option<OneOrMany>,
    tid: Option<String>,
    appid: Option<String>,
    azp: Option<String>,
    upn: Option<String>,
    preferred_username: Option<String>,
    #[serde(default)]
    roles: OneOrMany,
    #[serde(default)]
    groups: OneOrMany,
}

/// Seconds; some issuers write a fraction.
#[derive(Deserialize)]
struct Number(f64);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        OneOrMany::Many(Vec::new())
    }
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// The token of an Authorization header, if that is its scheme.
pub fn token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

pub fn not_accepted() -> Refusal {
    refuse(
        "This server accepts no bearer tokens. Use the account key or a shared access signature, or start it with --oauth.",
    )
}

fn refuse(detail: &'static str) -> Refusal {
    Refusal::InvalidAccessToken { detail: detail.into() }
}

pub fn verify(head: &Head, trust: &Trust, token: &str) -> Result<Arc<Principal>, Refusal> {
    if head.version_sent && head.version < since(head.service) {
        return Err(failed("Authentication scheme Bearer is not supported in this version."));
    }
    believe(head, trust, token).map_err(|refusal| {
        // A client that cannot be challenged is told no more than with a wrong key (observed).
        let is_challenged = !head.version_sent || head.version >= challenged_since(head.service);
        if is_challenged {
            return refusal;
        }
        let Refusal::InvalidAccessToken { detail } = refusal else { return refusal };
        Refusal::AuthenticationFailed { detail }
    })
}

fn believe(head: &Head, trust: &Trust, token: &str) -> Result<Arc<Principal>, Refusal> {
    // What is not even one word is no Authorization header; what is one word and no token is a bad token (both observed).
    if token.contains(char::is_whitespace) {
        return Err(Refusal::InvalidAuthenticationInfo);
    }
    let (header, claims, signed, tag) =
        read(token).ok_or_else(|| refuse("The access token was missing or malformed."))?;
    let issuer = trust.issuer(&claims.iss).ok_or_else(|| refuse("Issuer validation failed. Issuer did not match."))?;
    if trust.mode == Mode::Verified {
        match trust.signed(issuer, &header.alg, header.kid.as_deref(), signed, &tag) {
            (true, _) => {}
            (false, false) => return Err(refuse("Signature validation failed. Signature key not found.")),
            (false, true) => return Err(refuse("Signature validation failed. Signature verification failed.")),
        }
    }
    if !claims.aud.as_slice().iter().any(|audience| is_audience(audience, head, trust)) {
        return Err(refuse("Audience validation failed. Audience did not match."));
    }
    if head.wall >= time(&claims.exp).plus_seconds(SKEW_SECONDS) {
        return Err(refuse("Lifetime validation failed. The token is expired."));
    }
    if claims.nbf.as_ref().is_some_and(|nbf| time(nbf) > head.wall.plus_seconds(SKEW_SECONDS)) {
        return Err(refuse("Lifetime validation failed. The token is not yet valid."));
    }
    let issuer = issuer.to_owned();
    Ok(Arc::new(principal(claims, issuer, trust)))
}

/// Tables and files took tokens before the versions that the documentation names, 2020-12-06 and 2022-11-02 (observed).
fn since(service: Service) -> Version {
    match service {
        Service::Blob | Service::Queue | Service::Dfs => Version::new(2017, 11, 9),
        Service::Table => Version::new(2019, 2, 2),
        Service::File => super::FILE_TAKES_TOKENS,
    }
}

/// Since when a token that is not believed is answered with where to get another.
fn challenged_since(service: Service) -> Version {
    match service {
        Service::Blob | Service::Queue | Service::Dfs | Service::File => super::CHALLENGE_SINCE,
        Service::Table => crate::table::CHALLENGE_SINCE,
    }
}

/// Header, claims, what is signed, and the signature.
fn read(token: &str) -> Option<(Header, Claims, &[u8], Vec<u8>)> {
    let (signed, tag) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    let claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Some((header, claims, signed.as_bytes(), URL_SAFE_NO_PAD.decode(tag).ok()?))
}

fn time(number: &Number) -> Timestamp {
    // Saturates; a time that is none is long ago.
    Timestamp::from_ticks(0).plus_seconds(UNIX_EPOCH_SECONDS.saturating_add(number.0.clamp(0.0, 1e11) as u64))
}

/// Azure Storage's own audiences: the service as such, by name or application id, and each account.
fn is_audience(audience: &str, head: &Head, trust: &Trust) -> bool {
    let audience = audience.trim_end_matches('/');
    if matches!(audience, "https://storage.azure.com" | "e406a681-f3d4-42a8-90b6-c2b029497af1") {
        return true;
    }
    if trust.audiences.iter().any(|other| other.trim_end_matches('/') == audience) {
        return true;
    }
    let service = match head.service {
        Service::Blob => "blob",
        Service::Queue => "queue",
        Service::Table => "table",
        Service::File => "file",
        Service::Dfs => "dfs",
    };
    let host = audience.strip_prefix("https://").and_then(|rest| rest.split_once('.'));
    host.is_some_and(|(account, rest)| {
        let cloud = rest.strip_prefix(service).and_then(|rest| rest.strip_prefix(".core."));
        let clouds = ["windows.net", "chinacloudapi.cn", "usgovcloudapi.net", "cloudapi.de"];
        account == head.account && cloud.is_some_and(|cloud| clouds.contains(&cloud))
    })
}

/// Who it is, with the roles of the token itself and those that the operator assigned. In basic mode, without any
/// assignment, everybody may everything: that is what it is for.
fn principal(claims: Claims, issuer: String, trust: &Trust) -> Principal {
    let subject = TokenSubject {
        issuer: &issuer,
        oid: claims.oid.as_deref(),
        sub: claims.sub.as_deref(),
        application: claims.appid.as_deref().or(claims.azp.as_deref()),
        app_only: is_app_only(&claims),
        groups: claims.groups.as_slice(),
    };
    let all = |role| Granted { role, scope: Scope::default(), lasting: false };
    let mut granted: Vec<Granted> =
        claims.roles.as_slice().iter().filter_map(|name| Role::parse(name)).map(all).collect();
    granted.extend(subject.assigned(trust));
    if trust.mode == Mode::Basic && trust.assignments.is_empty() {
        granted.extend(Role::all().map(all));
    }
    let kind = subject.kind();
    let nobody = || "00000000-0000-0000-0000-000000000000".to_owned();
    Principal {
        oid: claims.oid.or(claims.sub).unwrap_or_else(nobody),
        tid: claims.tid.unwrap_or_else(nobody),
        kind,
        issuer,
        upn: claims.upn.or(claims.preferred_username),
        groups: claims.groups.as_slice().to_vec(),
        granted,
    }
}

/// Whether an application has the token by itself. `idtyp` says so where it is there; else a token without scopes whose subject is its
/// object id is one ("Access token claims reference").
fn is_app_only(claims: &Claims) -> bool {
    match claims.idtyp.as_deref() {
        Some(kind) => kind == "app",
        None => claims.scp.is_none() && claims.oid.is_some() && claims.oid == claims.sub,
    }
}
