//! Whether somebody may do what an operation does: who asks, by what right, for what. A protocol turns a credential into a [`Proof`] and a
//! request into a [`Need`]; the decision is here.
//!
//! Held true: a right opens nothing that it was not given for. What a need does not name, no right opens but the account's key.

use crate::access::{Letters, PublicAccess, StoredPolicy, Terms};
use crate::roles::{Action, Granted};
use crate::service::Of;
use crate::{Refusal, Timestamp};

/// What an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Service,
    Container,
    Blob,
    Queue,
    Messages,
    Message,
    Share,
    Directory,
    /// Or, where a request does not say, a directory: handles are listed and closed alike.
    File,
    /// All tables.
    Tables,
    Table,
    /// Those of one table.
    Entities,
    Entity,
    /// Entities of one table, in one transaction.
    Batch,
}

/// Who may ask without saying who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anonymous {
    Never,
    /// When the container's public access is `blob` or `container`.
    Blob,
    /// When the container's public access is `container`.
    Container,
}

impl Anonymous {
    fn admits(self, public: PublicAccess) -> bool {
        match (self, public) {
            (Anonymous::Blob, PublicAccess::Blob | PublicAccess::Container) => true,
            (Anonymous::Container, PublicAccess::Container) => true,
            (Anonymous::Blob, PublicAccess::Off) => false,
            (Anonymous::Container, PublicAccess::Off | PublicAccess::Blob) => false,
            (Anonymous::Never, _) => false,
        }
    }
}

/// What an account SAS needs: its signed resource type and any one of the permission letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountNeeds {
    pub resource: char,
    pub any: &'static str,
}

/// What a SAS was signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    Blob,
    Snapshot,
    Version,
    Container,
    Directory,
    Share,
    File,
    /// A queue or a table.
    Other,
}

impl Signed {
    /// A signature for a snapshot or a version opens only what acts on that moment: another operation would act on the base blob.
    fn covers(self, need: &Need<'_>) -> bool {
        match (self, need.on) {
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
            (Signed::Snapshot | Signed::Version, On::Blob) => need.moments,
            (Signed::Directory, On::Container) => need.of_root,
            (Signed::Blob | Signed::Snapshot | Signed::Version, On::Container) => false,
        }
    }
}

/// What an operation needs of those who ask for it.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    pub of: Of,
    pub on: On,
    /// Any one of these letters of a service SAS suffices. Empty: no service SAS does.
    pub letters: &'a str,
    /// Each of these letters is needed as well, because of what the request carries.
    pub also: Letters,
    /// `None`: no account SAS does.
    pub account_sas: Option<AccountNeeds>,
    pub anonymous: Anonymous,
    /// A role must allow all of them.
    pub actions: &'a [Action],
    /// Only a token does.
    pub tokens_only: bool,
    /// It acts on the snapshot or version that the request names.
    pub moments: bool,
    /// It acts on the root directory of a file system, or lists what is in a directory.
    pub of_root: bool,
    /// Where no role says enough, access control lists are asked.
    pub has_lists: bool,
    pub account: &'a str,
    /// The container, queue, table or share.
    pub within: Option<&'a str>,
    pub now: Timestamp,
}

/// By what right somebody asks.
#[derive(Clone, Copy, Debug)]
pub enum Proof<'a> {
    /// The account's key.
    Key,
    AccountSas {
        services: Letters,
        resource_types: Letters,
        letters: Letters,
    },
    /// With the policies of what it was signed for.
    ServiceSas(&'a Terms, &'a [StoredPolicy]),
    /// The roles of a token's holder.
    Roles(&'a [Granted]),
    /// A SAS that the holder of a token signed: it may what both may.
    Delegated {
        terms: &'a Terms,
        roles: &'a [Granted],
        lists: ListsOf,
    },
    /// None. The public access of the container, if there is one.
    Nothing(Option<PublicAccess>),
}

/// For whom the access control lists are asked where a SAS was signed by the holder of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListsOf {
    /// The signer, where no role says enough.
    Signer,
    /// The signer in any case: the SAS says so.
    SignerAlways,
    /// Another user whom the SAS names. The signer needs a role that says enough: nobody lends a right by naming its owner.
    Other,
}

/// What was allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    pub owner: bool,
    /// False for a SAS that may create but not write.
    pub may_overwrite: bool,
    /// The letters of the SAS; all of them for the owner.
    pub letters: Letters,
    /// No role says enough: what they may, the lists of the file system say.
    pub by_lists: bool,
}

pub fn authorize(right: &Proof<'_>, need: &Need<'_>) -> Result<Allowed, Refusal> {
    match right {
        // Rules B26 and A18.
        Proof::Key | Proof::AccountSas { .. } | Proof::ServiceSas(..) if need.tokens_only => {
            Err(Refusal::AuthenticationFailed { detail: "Only authentication scheme Bearer is supported".into() })
        }
        Proof::Key => Ok(Allowed { owner: true, may_overwrite: true, letters: Letters::all(), by_lists: false }),
        Proof::AccountSas { services, resource_types, letters } => {
            by_account_sas(*services, *resource_types, *letters, need)
        }
        Proof::ServiceSas(terms, policies) => by_service_sas(terms, policies, need),
        Proof::Roles(roles) => by_roles(roles, need),
        Proof::Delegated { terms, roles, lists } => {
            let allowed = by_service_sas(terms, &[], need)?;
            // "Create a user delegation SAS": the owner of the key needs the right, and the lists are asked for the user besides.
            let by_lists = match lists {
                ListsOf::Signer => by_roles(roles, need)?.by_lists,
                ListsOf::SignerAlways | ListsOf::Other if !need.has_lists => return Err(Refusal::AuthorizationFailure),
                ListsOf::SignerAlways => true,
                ListsOf::Other if by_roles(roles, need)?.by_lists => {
                    return Err(Refusal::AuthorizationPermissionMismatch);
                }
                ListsOf::Other => true,
            };
            Ok(Allowed { by_lists, ..allowed })
        }
        Proof::Nothing(public) if public.is_some_and(|public| need.anonymous.admits(public)) => Ok(Allowed::default()),
        Proof::Nothing(_) => Err(Refusal::NoAuthenticationInformation),
    }
}

fn by_account_sas(
    services: Letters,
    resource_types: Letters,
    letters: Letters,
    need: &Need<'_>,
) -> Result<Allowed, Refusal> {
    let service = match need.of {
        Of::Blob => 'b',
        Of::Queue => 'q',
        Of::Table => 't',
        Of::File => 'f',
    };
    if !services.has(service) {
        return Err(Refusal::AuthorizationServiceMismatch);
    }
    let needs = need.account_sas.ok_or(Refusal::AuthorizationFailure)?;
    if !resource_types.has(needs.resource) {
        return Err(Refusal::AuthorizationResourceTypeMismatch);
    }
    by_letters(letters, needs.any, need)
}

fn by_service_sas(terms: &Terms, policies: &[StoredPolicy], need: &Need<'_>) -> Result<Allowed, Refusal> {
    let letters = terms.in_force(policies, need.now)?;
    if need.letters.is_empty() {
        return Err(Refusal::AuthorizationFailure);
    }
    if !terms.signed.covers(need) {
        return Err(Refusal::AuthorizationResourceTypeMismatch);
    }
    by_letters(letters, need.letters, need)
}

fn by_letters(letters: Letters, any: &str, need: &Need<'_>) -> Result<Allowed, Refusal> {
    if letters.has_any(any) && letters.has_all(need.also) {
        return Ok(Allowed { may_overwrite: letters.has('w'), letters, ..Allowed::default() });
    }
    Err(Refusal::AuthorizationPermissionMismatch)
}

fn by_roles(roles: &[Granted], need: &Need<'_>) -> Result<Allowed, Refusal> {
    let allowed = Allowed { may_overwrite: true, letters: Letters::all(), ..Allowed::default() };
    if need.actions.iter().all(|action| Granted::any_allows(roles, *action, need.account, need.within)) {
        return Ok(allowed);
    }
    if need.has_lists {
        return Ok(Allowed { by_lists: true, ..allowed });
    }
    Err(Refusal::AuthorizationPermissionMismatch)
}

#[cfg(test)]
mod tests;
