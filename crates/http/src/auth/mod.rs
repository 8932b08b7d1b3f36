//! Who is asking, and whether they may. [`identify`] needs nothing but the request and the account's keys;
//! [`authorize`] may also need the record of the container or queue, for stored policies and public access.
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

use lazuli_model::access::{PublicAccess, StoredPolicy};
use lazuli_model::container::Container;
use lazuli_model::file::Share;
use lazuli_model::lake::Caller;
use lazuli_model::queue::Queue;
use lazuli_model::table::{Table, Within};
use lazuli_model::{Refusal, Version};

pub use bearer::Principal;
use sas::field;
pub use sas::{AccountSas, Letters, Proven};
pub use service_sas::{Overrides, ServiceSas};
pub use subject::{Assignment, Who};
pub use trust::{BadKeys, Mode, Trust};

use crate::accounts::{Account, Accounts};
use crate::head::{Head, Service, Target};
use crate::operation::{Anonymous, On, Spec};

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

/// What a container or a queue says of who may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub public: PublicAccess,
    pub policies: Vec<StoredPolicy>,
}

impl From<Container> for Access {
    fn from(container: Container) -> Self {
        Self { public: container.public, policies: container.policies }
    }
}

impl From<Queue> for Access {
    fn from(queue: Queue) -> Self {
        Self { public: PublicAccess::Off, policies: queue.policies }
    }
}

impl From<Share> for Access {
    fn from(share: Share) -> Self {
        Self { public: PublicAccess::Off, policies: share.policies }
    }
}

impl From<Table> for Access {
    fn from(table: Table) -> Self {
        Self { public: PublicAccess::Off, policies: table.policies }
    }
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
            return Err(Refusal::PublicAccessNotPermitted);
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
            let Some(signature) = delegated else { return asker.map(Identity::Token).ok_or_else(bearer::not_accepted) };
            delegation::verify(head, &account, trust, signature, asker.as_deref())
        }
        _ if session.is_some() => {
            let trust = accounts.trust().ok_or_else(bearer::not_accepted)?;
            trust.permits_link(head)?;
            session::verify(head, &account, trust, session.unwrap_or_default())
        }
        (Some(authorization), _) => shared_key::verify(head, &account, authorization).map(|()| Identity::Owner),
        (None, Some(signature)) if is_account_sas(head) => {
            sas::verify(head, &account, signature).map(Identity::AccountSas)
        }
        (None, Some(signature)) => service_sas::verify(head, &account, signature).map(Identity::ServiceSas),
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
    if is_account_sas(head) { sas::sign(head, account) } else { service_sas::sign(head, account) }
}

fn is_account_sas(head: &Head) -> bool {
    head.query.get("ss").is_some() || head.query.get("srt").is_some()
}

impl Identity {
    /// Whether judging needs the record of the container or queue.
    pub fn needs_record(&self) -> bool {
        match self {
            Identity::Owner | Identity::AccountSas(_) | Identity::Token(_) | Identity::Delegated(..) => false,
            Identity::ServiceSas(sas) => sas.policy.is_some(),
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
pub fn authorize(identity: &Identity, spec: &Spec, head: &Head, access: Option<&Access>) -> Result<Grant, Refusal> {
    match identity {
        // Rules B26 and A18.
        Identity::Owner | Identity::AccountSas(_) | Identity::ServiceSas(_) if spec.bearer_only => {
            Err(failed("Only authentication scheme Bearer is supported"))
        }
        Identity::Owner => Ok(Grant { owner: true, may_overwrite: true, letters: Letters::all(), ..Grant::default() }),
        Identity::Token(principal) => by_role(principal, spec, head),
        Identity::Delegated(sas, principal) => {
            let grant = by_service_sas(sas, spec, head, access)?;
            // "Create a user delegation SAS": the lists are asked for this user.
            let by_lists = match field(head, "suoid") {
                "" => by_role(principal, spec, head)?.by_lists,
                _ if has_lists(spec, head) => true,
                _ => return Err(Refusal::AuthorizationFailure),
            };
            Ok(Grant { principal: Some(principal.clone()), by_lists, ..grant })
        }
        Identity::AccountSas(sas) => by_account_sas(sas, spec, head),
        Identity::ServiceSas(sas) => by_service_sas(sas, spec, head, access),
        Identity::Anonymous => anonymously(spec, head, access),
    }
}

/// "Authorize with Microsoft Entra ID": to files, a token speaks for a backup.
pub fn permit_intent(identity: &Identity, head: &Head) -> Result<(), Refusal> {
    if head.service == Service::File && matches!(identity, Identity::Token(_)) {
        head.required("x-ms-file-request-intent", |text| text.eq_ignore_ascii_case("backup").then_some(()))?;
    }
    Ok(())
}

fn by_account_sas(sas: &AccountSas, spec: &Spec, head: &Head) -> Result<Grant, Refusal> {
    let service = match head.service {
        Service::Blob | Service::Dfs => 'b',
        Service::Queue => 'q',
        Service::Table => 't',
        Service::File => 'f',
    };
    if !sas.services.has(service) {
        return Err(Refusal::AuthorizationServiceMismatch);
    }
    let needs = spec.account_sas.ok_or(Refusal::AuthorizationFailure)?;
    if !sas.resource_types.has(needs.resource) {
        return Err(Refusal::AuthorizationResourceTypeMismatch);
    }
    permit(sas.letters, needs.any, spec, head)?;
    Ok(granted(sas.letters, Overrides::default()))
}

fn by_service_sas(sas: &ServiceSas, spec: &Spec, head: &Head, access: Option<&Access>) -> Result<Grant, Refusal> {
    let letters = sas.in_force(access, head.wall)?;
    if spec.needs.is_empty() {
        return Err(Refusal::AuthorizationFailure);
    }
    if !sas.resource.covers(spec) {
        return Err(Refusal::AuthorizationResourceTypeMismatch);
    }
    permit(letters, spec.needs, spec, head)?;
    let table = if head.service == Service::Table { Some(crate::table::scope(head)?) } else { None };
    Ok(Grant { table, ..granted(letters, sas.overrides.clone()) })
}

fn by_role(principal: &Arc<Principal>, spec: &Spec, head: &Head) -> Result<Grant, Refusal> {
    let within = head.target.within();
    if actions::of(spec, head).iter().all(|action| principal.may(*action, &head.account, within)) {
        let principal = Some(principal.clone());
        return Ok(Grant { may_overwrite: true, letters: Letters::all(), principal, ..Grant::default() });
    }
    if has_lists(spec, head) {
        let (principal, letters) = (Some(principal.clone()), Letters::all());
        return Ok(Grant { may_overwrite: true, letters, principal, by_lists: true, ..Grant::default() });
    }
    Err(Refusal::AuthorizationPermissionMismatch)
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
            oid: named("suoid").or_else(|| named("saoid")).or_else(|| Some(principal.oid.clone())),
            groups: Vec::new(),
            is_bound: grant.by_lists,
        },
    }
}

fn permit(letters: Letters, any: &str, spec: &Spec, head: &Head) -> Result<(), Refusal> {
    let also = spec.also.iter().all(|(header, letter)| head.text(header).is_none() || letters.has(*letter));
    if letters.has_any(any) && also { Ok(()) } else { Err(Refusal::AuthorizationPermissionMismatch) }
}

fn granted(letters: Letters, overrides: Overrides) -> Grant {
    Grant { may_overwrite: letters.has('w'), letters, overrides, ..Grant::default() }
}

fn anonymously(spec: &Spec, head: &Head, access: Option<&Access>) -> Result<Grant, Refusal> {
    let open = match (spec.anonymous, access.map(|access| access.public)) {
        (Anonymous::Blob, Some(PublicAccess::Blob | PublicAccess::Container)) => true,
        (Anonymous::Container, Some(PublicAccess::Container)) => true,
        (Anonymous::Blob, Some(PublicAccess::Off) | None) => false,
        (Anonymous::Container, Some(PublicAccess::Off | PublicAccess::Blob) | None) => false,
        (Anonymous::Never, _) => false,
    };
    if open {
        return Ok(Grant::default());
    }
    if head.service == Service::Table {
        return Err(crate::table::unauthenticated(head));
    }
    // Rule F1.
    if head.service == Service::File && head.version_sent && head.version < FILE_ASKS_WHO {
        return Err(Refusal::ResourceNotFound);
    }
    // Rule B19: what an account is, is nobody's business.
    if spec.name == crate::blob::get_account_info::OF_SERVICE.name {
        return Err(Refusal::ResourceNotFound);
    }
    // Observed of a source of 2021: the File service asks nobody for a token that it would not take.
    if head.service == Service::File && head.version_sent && head.version < FILE_TAKES_TOKENS {
        return Err(failed("The request has no authorization."));
    }
    // A private container and one that is not there look the same, so that nobody can find out by asking.
    if head.version_sent && head.version >= CHALLENGE_SINCE {
        Err(Refusal::NoAuthenticationInformation)
    } else {
        Err(Refusal::ResourceNotFound)
    }
}

/// 403 AuthenticationFailed, with Azure's AuthenticationErrorDetail.
fn failed(detail: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::AuthenticationFailed { detail: detail.into() }
}

/// What a signed resource lets one act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    Blob,
    Snapshot,
    Version,
    Container,
    Directory,
    Share,
    File,
    /// Queue; later table.
    Other,
}

impl Signed {
    /// A signature for a snapshot or a version opens only what acts on that moment: another operation would act on the base blob.
    fn covers(self, spec: &Spec) -> bool {
        match (self, spec.on) {
            (_, On::Service) => false,
            (Signed::Share, On::Share | On::Directory | On::File) | (Signed::File, On::File) => true,
            (Signed::Share | Signed::File, _) | (_, On::Share | On::Directory | On::File) => false,
            (Signed::Container | Signed::Other, On::Container | On::Blob) => true,
            (Signed::Other, On::Queue | On::Messages | On::Message) => true,
            (Signed::Other, On::Entities | On::Entity | On::Batch) => true,
            (_, On::Tables | On::Table | On::Entities | On::Entity | On::Batch) => false,
            (
                Signed::Container | Signed::Blob | Signed::Snapshot | Signed::Version | Signed::Directory,
                On::Queue | On::Messages | On::Message,
            ) => false,
            (Signed::Blob | Signed::Directory, On::Blob) => true,
            (Signed::Snapshot | Signed::Version, On::Blob) => spec.moments,
            // The root directory, and lists of what is in a directory.
            (Signed::Directory, On::Container) => spec.lake && is_of_path(spec),
            (Signed::Blob | Signed::Snapshot | Signed::Version, On::Container) => false,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
