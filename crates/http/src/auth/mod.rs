//! Who is asking, and whether they may. [`identify`] needs nothing but the request and the account's keys;
//! [`authorize`] may also need the record of the container or queue, for stored policies and public access. It turns the credential and the
//! request into values, and `model` decides.
//!
//! Every comparison of a signature is in constant time, and nothing here prints a key.

mod actions;
mod bearer;
mod collation;
pub mod delegation;
mod parameters;
mod sas;
mod service_sas;
pub mod session;
mod shared_key;
mod subject;
mod trust;

use std::sync::Arc;

use lazuli_model::Version;
pub use lazuli_model::access::{Letters, Openness};
use lazuli_model::authorize::{Allowed, ListsOf, Need, Proof};
use lazuli_model::lake::Caller;
use lazuli_model::roles::Action;
use lazuli_model::service::Of;
use lazuli_model::table::Within;

pub use bearer::Principal;
use sas::field;
pub use sas::{AccountSas, Proven};
pub use service_sas::{Overrides, ServiceSas};
pub use subject::{Assignment, Who};
pub use trust::{BadKeys, Mode, Trust};

use crate::accounts::{Account, Accounts};
use crate::head::{Head, Service, Target};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Denied, Refusal};

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Holds the account's key.
    Owner,
    AccountSas(AccountSas),
    ServiceSas(ServiceSas),
    /// Holds a bearer token.
    Token(Arc<Principal>),
    /// A SAS that somebody with a token signed with a user delegation key: it may what both may.
    Delegated(ServiceSas, Arc<Principal>),
    Anonymous,
}

/// What was allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    pub owner: bool,
    /// False for a SAS that may create but not write.
    pub may_overwrite: bool,
    /// The letters of the SAS; all of them for the owner.
    pub letters: Letters,
    /// Response headers that the SAS sets (`rscc` and its kin).
    pub overrides: Overrides,
    /// Who it is, where a token says so.
    pub principal: Option<Arc<Principal>>,
    /// The table, and the part of it, that the SAS is for.
    pub table: Option<TableScope>,
    /// No role says enough: what they may, the lists of the file system say.
    pub by_lists: bool,
}

/// What a SAS for a table opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableScope {
    /// In lower case.
    pub name: String,
    pub within: Within,
}

/// Anonymous requests of this version and later are told how to authenticate; older ones are told that nothing is there.
const CHALLENGE_SINCE: Version = Version::new(2019, 12, 12);

/// Before, the File service told nobody in particular that anything was there.
const FILE_ASKS_WHO: Version = Version::new(2020, 8, 4);

/// Before, a file could not be read by token. Documented is 2022-11-02; earlier ones were taken (observed).
const FILE_TAKES_TOKENS: Version = Version::new(2021, 12, 2);

/// Who is asking: verifies signature, clock, protocol and address. No I/O.
pub fn identify(head: &Head, accounts: &Accounts) -> Result<Identity, Refusal> {
    let authorization = head.text("authorization");
    let signature = head.query.get("sig");
    // A query that has proven something was looked at before.
    if head.query.raw("sig").is_some() && !head.query.is_proven() {
        parameters::once(head)?;
    }
    if authorization.is_none() && signature.is_none() {
        let readable = matches!(head.target, Target::Container(_) | Target::Blob { .. });
        let read = head.method == http::Method::GET || head.method == http::Method::HEAD;
        let closed = accounts.get(&head.account).is_some_and(|account| !account.settings().public_access);
        if readable && read && closed {
            return Err(Denied::PublicAccessNotPermitted.into());
        }
        return Ok(Identity::Anonymous);
    }
    let account =
        accounts.get(&head.account).ok_or_else(|| failed(format!("Account '{}' is not served here.", head.account)))?;
    let token = authorization.and_then(bearer::token);
    let session = authorization.and_then(session::parts);
    let delegated = signature.filter(|_| !sas::field(head, "skoid").is_empty());
    if token.is_none() && session.is_none() && delegated.is_none() {
        account.settings().permit_key()?;
    }
    match (authorization, signature) {
        _ if token.is_some() || delegated.is_some() => {
            let trust = accounts.trust().ok_or_else(|| match delegated {
                Some(_) => failed(
                    "This server accepts no user delegation SAS. Sign with the account key, or start it with --oauth.",
                ),
                None => bearer::not_accepted(),
            })?;
            trust.permits_link(head)?;
            let asker = token.map(|token| bearer::verify(head, trust, token)).transpose()?;
            let Some(signature) = delegated else {
                return Ok(Identity::Token(asker.ok_or_else(bearer::not_accepted)?));
            };
            Ok(delegation::verify(head, &account, trust, signature, asker.as_deref())?)
        }
        _ if session.is_some() => {
            let trust = accounts.trust().ok_or_else(bearer::not_accepted)?;
            trust.permits_link(head)?;
            session::verify(head, &account, trust, session.unwrap_or_default())
        }
        (Some(authorization), _) => shared_key::verify(head, &account, authorization).map(|()| Identity::Owner),
        (None, Some(signature)) if is_account_sas(head) => {
            Ok(Identity::AccountSas(sas::verify(head, &account, signature)?))
        }
        (None, Some(signature)) => Ok(Identity::ServiceSas(service_sas::verify(head, &account, signature)?)),
        (None, None) => Ok(Identity::Anonymous),
    }
}

/// The Authorization header of a request as a client signs it with the account's key. For those who ask in the account's name: the
/// console, commands, tests.
pub fn sign_request(head: &Head, account: &Account) -> Result<String, Refusal> {
    shared_key::sign(head, account)
}

/// The `sig` of a SAS whose other fields are in the query of `head`, which names what it is for.
pub fn sign_sas(head: &Head, account: &Account) -> Result<String, Refusal> {
    Ok(if is_account_sas(head) { sas::sign(head, account)? } else { service_sas::sign(head, account)? })
}

fn is_account_sas(head: &Head) -> bool {
    head.query.get("ss").is_some() || head.query.get("srt").is_some()
}

impl Identity {
    /// Whether judging needs the record of the container or queue.
    pub fn needs_record(&self) -> bool {
        match self {
            Identity::Owner | Identity::AccountSas(_) | Identity::Token(_) | Identity::Delegated(..) => false,
            Identity::ServiceSas(sas) => sas.terms.policy.is_some(),
            Identity::Anonymous => true,
        }
    }

    /// For logs and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Identity::Owner => "key",
            Identity::AccountSas(_) => "account-sas",
            Identity::ServiceSas(_) => "service-sas",
            Identity::Token(_) => "token",
            Identity::Delegated(..) => "delegation-sas",
            Identity::Anonymous => "anonymous",
        }
    }
}

/// Whether they may do what `spec` does. `access` is asked for only if [`Identity::needs_record`]; `None` then
/// means that there is no such container or queue.
pub fn authorize(identity: &Identity, spec: &Spec, head: &Head, access: Option<&Openness>) -> Result<Grant, Denied> {
    let actions = match identity {
        Identity::Token(_) | Identity::Delegated(..) => actions::of(spec, head),
        Identity::Owner | Identity::AccountSas(_) | Identity::ServiceSas(_) | Identity::Anonymous => Vec::new(),
    };
    let need = need(spec, head, &actions);
    let grant = |right: Proof<'_>| {
        let Allowed { owner, may_overwrite, letters, by_lists } = lazuli_model::authorize::authorize(&right, &need)?;
        Ok(Grant { owner, may_overwrite, letters, by_lists, ..Grant::default() })
    };
    match identity {
        Identity::Owner => grant(Proof::Key),
        Identity::AccountSas(AccountSas { services, resource_types, letters, .. }) => {
            grant(Proof::AccountSas { services: *services, resource_types: *resource_types, letters: *letters })
        }
        Identity::ServiceSas(sas) => {
            let policies = access.map(|access| access.policies.as_slice()).unwrap_or_default();
            by_sas(sas, head, grant(Proof::ServiceSas(&sas.terms, policies))?)
        }
        Identity::Token(principal) => {
            Ok(Grant { principal: Some(principal.clone()), ..grant(Proof::Roles(&principal.granted))? })
        }
        Identity::Delegated(sas, principal) => {
            let lists = match field(head, "suoid") {
                "" => ListsOf::Signer,
                user if user == principal.oid => ListsOf::SignerAlways,
                _ => ListsOf::Other,
            };
            let right = Proof::Delegated { terms: &sas.terms, roles: &principal.granted, lists };
            Ok(Grant { principal: Some(principal.clone()), ..by_sas(sas, head, grant(right)?)? })
        }
        Identity::Anonymous => {
            grant(Proof::Nothing(access.map(|access| access.public))).map_err(|_| to_stranger(spec, head))
        }
    }
}

/// What an operation needs, as far as it is asked for by `head`. `actions` are looked at for tokens alone.
fn need<'a>(spec: &Spec, head: &'a Head, actions: &'a [Action]) -> Need<'a> {
    let also = spec.also.iter().filter(|(header, _)| head.text(header).is_some()).map(|(_, letter)| *letter);
    let signed = Version::parse(field(head, "sv"));
    let writes_only = spec.create_since.zip(signed).is_some_and(|(since, signed)| !since.is_in(signed));
    let narrowed = |letters: &'static str| if writes_only { "w" } else { letters };
    Need {
        of: match head.service {
            Service::Blob | Service::Dfs => Of::Blob,
            Service::Queue => Of::Queue,
            Service::Table => Of::Table,
            Service::File => Of::File,
        },
        on: spec.on,
        letters: narrowed(spec.needs),
        also: also.collect(),
        account_sas: spec.account_sas.map(|needs| AccountNeeds { any: narrowed(needs.any), ..needs }),
        anonymous: spec.anonymous,
        actions,
        tokens_only: spec.bearer_only,
        moments: spec.moments,
        of_root: spec.lake && is_of_path(spec),
        has_lists: has_lists(spec, head),
        account: &head.account,
        within: head.target.within(),
        now: head.wall,
    }
}

/// What a SAS says besides what is allowed.
fn by_sas(sas: &ServiceSas, head: &Head, grant: Grant) -> Result<Grant, Denied> {
    let table = if head.service == Service::Table { Some(crate::table::scope(head)?) } else { None };
    Ok(Grant { table, overrides: sas.overrides.clone(), ..grant })
}

/// "Authorize with Microsoft Entra ID": to files, a token speaks for a backup.
pub fn permit_intent(identity: &Identity, head: &Head) -> Result<(), Refusal> {
    if head.service == Service::File && matches!(identity, Identity::Token(_)) {
        head.required("x-ms-file-request-intent", |text| text.eq_ignore_ascii_case("backup").then_some(()))?;
    }
    Ok(())
}

/// Whether what is asked for is a file or directory, of which lists say who may. Roles are asked before them.
fn has_lists(spec: &Spec, head: &Head) -> bool {
    let in_tree = match spec.on {
        On::Blob => spec.restype.is_none(),
        On::Container => {
            spec.name == crate::blob::list_blobs::SPEC.name || spec.lake && spec.restype.is_none() && is_of_path(spec)
        }
        On::Service | On::Queue | On::Messages | On::Message | On::Share | On::Directory | On::File => false,
        On::Tables | On::Table | On::Entities | On::Entity | On::Batch => false,
    };
    head.hierarchical && in_tree
}

/// Of the Data Lake API's operations on a file system, those that are about its root directory.
fn is_of_path(spec: &Spec) -> bool {
    spec.needs.contains(['l', 'e', 'o', 'p'])
}

/// Who acts, as far as decisions want to know.
pub fn caller(identity: &Identity, grant: &Grant, head: &Head) -> Caller {
    let named = |name: &str| Some(field(head, name)).filter(|id| !id.is_empty()).map(str::to_owned);
    match identity {
        Identity::Owner | Identity::AccountSas(_) | Identity::ServiceSas(_) | Identity::Anonymous => {
            Caller::superuser()
        }
        Identity::Token(principal) => {
            Caller { oid: Some(principal.oid.clone()), groups: principal.groups.clone(), is_bound: grant.by_lists }
        }
        Identity::Delegated(_, principal) => Caller {
            // `saoid` acts by what the signer may: what it makes is its own, and the lists are asked for the signer.
            oid: named("suoid")
                .or_else(|| named("saoid").filter(|_| !grant.by_lists))
                .or_else(|| Some(principal.oid.clone())),
            groups: Vec::new(),
            is_bound: grant.by_lists,
        },
    }
}

/// What is said to those who do not say who they are.
fn to_stranger(spec: &Spec, head: &Head) -> Denied {
    if head.service == Service::Table {
        return crate::table::unauthenticated(head);
    }
    // Rule F1.
    if head.service == Service::File && head.version_sent && head.version < FILE_ASKS_WHO {
        return Denied::ResourceNotFound;
    }
    // Rule B19: what an account is, is nobody's business.
    if spec.name == crate::blob::get_account_info::OF_SERVICE.name {
        return Denied::ResourceNotFound;
    }
    // Observed of a source of 2021: the File service asks nobody for a token that it would not take.
    if head.service == Service::File && head.version_sent && head.version < FILE_TAKES_TOKENS {
        return failed("The request has no authorization.");
    }
    // A private container and one that is not there look the same, so that nobody can find out by asking.
    if head.version_sent && head.version >= CHALLENGE_SINCE {
        Denied::NoAuthenticationInformation
    } else {
        Denied::ResourceNotFound
    }
}

/// 403 AuthenticationFailed, with Azure's AuthenticationErrorDetail.
fn failed(detail: impl Into<std::borrow::Cow<'static, str>>) -> Denied {
    Denied::AuthenticationFailed { detail: detail.into() }
}

#[cfg(test)]
pub(crate) mod tests;
