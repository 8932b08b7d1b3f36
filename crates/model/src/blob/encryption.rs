//! By whose key a blob is encrypted, and who has to show it.
//!
//! A key of the customer's own comes with every request that reads or writes content or metadata. A scope is named by writes
//! only, and stands in the container's default or the SAS when the request does not name it. Messages and codes as observed.

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::account::EncryptionScope;
use crate::blob::Encryption;

/// The scope in which a container's blobs are encrypted when nobody says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerScope {
    pub name: String,
    /// Nobody may say otherwise.
    pub deny_override: bool,
}

/// What a write says of encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The SHA-256 of the customer's key.
    pub key: Option<[u8; 32]>,
    /// That the request names.
    pub scope: Option<String>,
    /// That the request's SAS names.
    pub sas_scope: Option<String>,
}

impl Asked {
    /// How what is written will be encrypted.
    pub fn settle(self, default: Option<ContainerScope>, scopes: &[EncryptionScope]) -> Result<Encryption, Refusal> {
        let invalid = |name: String| Refusal::InvalidEncryptionScope { name };
        let scope = match (self.scope, self.sas_scope) {
            (Some(scope), Some(signed)) if scope != signed => return Err(invalid(scope)),
            (Some(scope), _) | (None, Some(scope)) => Some(scope),
            (None, None) => None,
        };
        let overridden = self.key.is_some() || scope.is_some();
        let scope = match (scope, default) {
            (Some(scope), Some(default)) if default.deny_override && scope != default.name => {
                return Err(Refusal::RequestForbiddenByContainerEncryptionPolicy);
            }
            (None, Some(default)) if default.deny_override && overridden => {
                return Err(Refusal::RequestForbiddenByContainerEncryptionPolicy);
            }
            (None, Some(default)) if !overridden => Some(default.name),
            (scope, _) => scope,
        };
        match (self.key, scope) {
            (None, None) => Ok(Encryption::Service),
            (Some(key), None) => Ok(Encryption::Customer(key)),
            (None, Some(scope)) => {
                permit_scope(&scope, scopes)?;
                Ok(Encryption::Scope(scope))
            }
            (Some(_), Some(scope)) => Err(invalid(scope)),
        }
    }
}

/// Whether a scope can be used: there, and not disabled.
pub fn permit_scope(name: &str, scopes: &[EncryptionScope]) -> Result<(), Refusal> {
    match scopes.iter().find(|scope| scope.name == name) {
        Some(scope) if scope.enabled => Ok(()),
        Some(_) => Err(Refusal::EncryptionScopeDisabled),
        None => Err(Refusal::InvalidEncryptionScope { name: name.to_owned() }),
    }
}

/// Whether what is encrypted so can be read: nothing in a disabled scope can ("Encryption scopes for Blob storage"). A scope that is not on the
/// list any more still has its key.
pub fn permit_scope_read(encryption: &Encryption, scopes: &[EncryptionScope]) -> Result<(), Refusal> {
    match encryption {
        Encryption::Service | Encryption::Customer(_) => Ok(()),
        Encryption::Scope(name) if scopes.iter().any(|scope| scope.name == *name && !scope.enabled) => {
            Err(Refusal::EncryptionScopeDisabled)
        }
        Encryption::Scope(_) => Ok(()),
    }
}

impl Encryption {
    /// Whether who shows `key` may read. Scopes need not be named.
    pub fn permit_read(&self, key: Option<[u8; 32]>) -> Result<(), Refusal> {
        match (self, key) {
            (Encryption::Customer(kept), Some(key)) if *kept == key => Ok(()),
            (Encryption::Customer(_), Some(_)) => Err(Refusal::BlobCustomerSpecifiedEncryptionMismatch),
            (Encryption::Customer(_), None) => Err(Refusal::BlobUsesCustomerSpecifiedEncryption),
            (Encryption::Service | Encryption::Scope(_), None) => Ok(()),
            (Encryption::Service | Encryption::Scope(_), Some(_)) => {
                Err(Refusal::BlobDoesNotUseCustomerSpecifiedEncryption)
            }
        }
    }

    /// Whether a write that is encrypted as `sent` may add to this.
    pub fn permit_write(&self, sent: &Encryption) -> Result<(), Refusal> {
        match (self, sent) {
            (kept, sent) if kept == sent => Ok(()),
            (Encryption::Service, _) => Err(Refusal::BlobDoesNotUseCustomerSpecifiedEncryption),
            (Encryption::Customer(_) | Encryption::Scope(_), Encryption::Service) => {
                Err(Refusal::BlobUsesCustomerSpecifiedEncryption)
            }
            (Encryption::Customer(_) | Encryption::Scope(_), Encryption::Customer(_) | Encryption::Scope(_)) => {
                Err(Refusal::BlobCustomerSpecifiedEncryptionMismatch)
            }
        }
    }
}

#[cfg(test)]
mod tests;
