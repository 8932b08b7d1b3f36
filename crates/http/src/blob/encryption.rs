//! Customers' keys and encryption scopes in headers. A key is read here and handed to the store; nothing prints it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::account::Secret;
use lazuli_model::blob::{AskedEncryption, Blob, ContainerScope, Encryption, permit_scope, permit_scope_read};
use lazuli_model::{AccountName, Version};
use lazuli_store::{AccountTrouble, CustomerKey, Lock, Reader, Store};
use ring::hmac;

use crate::answer::{Answer, name};
use crate::head::Head;
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;

/// What a container's default is called when it has none of its own.
pub const ACCOUNT_KEY: &str = "$account-encryption-key";

/// Since then the scope in a SAS is signed, and counts.
const SIGNS_SCOPE: Version = Version::new(2020, 12, 6);

/// The three headers of a key, under one of its two names.
struct Names {
    key: &'static str,
    hash: &'static str,
    algorithm: &'static str,
}

const OF_REQUEST: Names =
    Names { key: "x-ms-encryption-key", hash: "x-ms-encryption-key-sha256", algorithm: "x-ms-encryption-algorithm" };

const OF_SOURCE: Names = Names {
    key: "x-ms-source-encryption-key",
    hash: "x-ms-source-encryption-key-sha256",
    algorithm: "x-ms-source-encryption-algorithm",
};

/// The key that the request comes with.
pub fn customer_key(head: &Head) -> Result<Option<CustomerKey>, Refusal> {
    read_key(head, &OF_REQUEST)
}

/// The key of the blob that a copy reads.
pub fn source_key(head: &Head) -> Result<Option<CustomerKey>, Refusal> {
    read_key(head, &OF_SOURCE)
}

/// All three or none, and each must be right. A wrong key is not repeated in the refusal.
fn read_key(head: &Head, names: &Names) -> Result<Option<CustomerKey>, Refusal> {
    let any = [names.key, names.hash, names.algorithm].into_iter().any(|name| head.text(name).is_some());
    if !any {
        return Ok(None);
    }
    let Some(key) = head.text(names.key) else {
        return Err(Refusal::MissingRequiredHeader { header: names.key.into() });
    };
    let decode = |text: &str| STANDARD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let hidden = Refusal::InvalidHeaderValue { header: names.key.into(), value: String::new() };
    let key = decode(key).ok_or(hidden)?;
    let digest = ring::digest::digest(&ring::digest::SHA256, &key);
    let hash = head.required(names.hash, |text| decode(text).filter(|hash| hash[..] == *digest.as_ref()))?;
    head.required(names.algorithm, |text| text.eq_ignore_ascii_case("AES256").then_some(()))?;
    Ok(Some(CustomerKey::new(key, hash)))
}

/// The hash of the key, for comparing.
pub fn key_hash(head: &Head) -> Result<Option<[u8; 32]>, Refusal> {
    Ok(customer_key(head)?.map(|key| key.hash()))
}

/// How what the request writes will be encrypted: by its key, its scope, the scope of its SAS or the container's default.
pub async fn settle(ask: &Ask) -> Result<Encryption, Failure> {
    let head = &ask.head;
    let asked = AskedEncryption {
        key: key_hash(head)?,
        scope: head.text("x-ms-encryption-scope").map(str::to_owned),
        sas_scope: sas_scope(head),
    };
    let default = ask.store.container_scope(&head.container_at()?).await?;
    let encryption = asked.settle(default, &ask.settings.encryption_scopes)?;
    let key = match &encryption {
        Encryption::Service => None,
        Encryption::Customer(_) => customer_key(head)?,
        Encryption::Scope(scope) => Some(scope_key(&scope_secret(ask).await?, scope)),
    };
    if let Some(key) = key {
        let _ = ask.seals.set(key);
    }
    Ok(encryption)
}

/// As [`settle`], for a file that is there: by the key that is sent, or as the file is.
pub async fn settle_existing(ask: &Ask) -> Result<Encryption, Failure> {
    let head = &ask.head;
    if let Some(key) = customer_key(head)? {
        let hash = key.hash();
        let _ = ask.seals.set(key);
        return Ok(Encryption::Customer(hash));
    }
    if ask.settings.encryption_scopes.is_empty() {
        return Ok(Encryption::Service);
    }
    let encryption = ask.store.blob_encryption(&head.blob_at()?).await?;
    if let Encryption::Scope(scope) = &encryption {
        permit_scope(scope, &ask.settings.encryption_scopes)?;
        let _ = ask.seals.set(scope_key(&scope_secret(ask).await?, scope));
        return Ok(encryption);
    }
    Ok(Encryption::Service)
}

/// The hash of a customer's key, where one was sent.
pub fn describe_key(answer: Answer, encryption: &Encryption) -> Answer {
    match encryption {
        Encryption::Customer(_) => describe(answer, encryption),
        Encryption::Service | Encryption::Scope(_) => answer,
    }
}

/// For what the request writes: once [`settle`] has said how, it is encrypted before a byte is stored.
pub fn lock(ask: &Ask) -> Option<Lock> {
    ask.seals.get().map(|key| key.lock((ask.ids)()))
}

/// Gives a reader the key of its blob: the one that came with the request, or that of its scope.
pub async fn unlock(
    store: &Store,
    account: &AccountName,
    sent: Option<CustomerKey>,
    reader: &mut Reader,
) -> Result<(), Failure> {
    let key = match &reader.blob.encryption {
        Encryption::Service | Encryption::Customer(_) => sent,
        Encryption::Scope(scope) => kept_scope_key(store, account, scope).await?,
    };
    reader.unlock(key);
    Ok(())
}

/// The key of a scope, if anything was ever encrypted in one.
pub async fn kept_scope_key(store: &Store, account: &AccountName, scope: &str) -> Result<Option<CustomerKey>, Failure> {
    let secret = store.known_account(account).await?.account.and_then(|account| account.scopes);
    Ok(secret.map(|secret| scope_key(&secret, scope)))
}

async fn scope_secret(ask: &Ask) -> Result<Secret, Failure> {
    let candidate = [(ask.ids)(), (ask.ids)()].map(u128::to_be_bytes).concat();
    let candidate = Secret(candidate.try_into().map_err(|_| Denied::InternalError)?);
    ask.store.scope_secret(&ask.head.account()?, candidate).await.map_err(|trouble| match trouble {
        AccountTrouble::Failed(failure) => failure.into(),
        AccountTrouble::Exists | AccountTrouble::NotFound | AccountTrouble::NoKeys => Denied::InternalError.into(),
        AccountTrouble::NotEmpty(_) | AccountTrouble::Bad(_) => Denied::InternalError.into(),
    })
}

/// A key for each scope. It depends on nothing but the account's secret and the scope's name, so a scope that was taken off the
/// account's list and comes back has its key back.
fn scope_key(secret: &Secret, scope: &str) -> CustomerKey {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret.0);
    let tag = hmac::sign(&key, format!("encryption scope\n{scope}").as_bytes());
    let bytes = <[u8; 32]>::try_from(tag.as_ref()).expect("SHA-256 has 32 bytes");
    CustomerKey::new(bytes, [0; 32])
}

fn sas_scope(head: &Head) -> Option<String> {
    let version = head.query.get("sv").and_then(Version::parse)?;
    head.query.get("sig").filter(|_| version >= SIGNS_SCOPE)?;
    head.query.get("ses").map(str::to_owned)
}

/// Whether a blob can be read, by the scope that it is encrypted in.
pub fn permit_read(ask: &Ask, blob: &Blob) -> Result<(), Refusal> {
    Ok(permit_scope_read(&blob.encryption, &ask.settings.encryption_scopes)?)
}

/// What answers say of it, to reads and to writes.
pub fn describe(answer: Answer, encryption: &Encryption) -> Answer {
    match encryption {
        Encryption::Service => answer,
        Encryption::Customer(hash) => answer.text(&name::ENCRYPTION_KEY_SHA256, STANDARD.encode(hash)),
        Encryption::Scope(scope) => answer.text(&name::ENCRYPTION_SCOPE, scope.clone()),
    }
}

/// Create Container: `x-ms-default-encryption-scope` and `x-ms-deny-encryption-scope-override`, which go together.
pub fn of_container(ask: &Ask) -> Result<Option<ContainerScope>, Refusal> {
    let head = &ask.head;
    let deny_override = head.flag("x-ms-deny-encryption-scope-override")?;
    match head.text("x-ms-default-encryption-scope") {
        Some(ACCOUNT_KEY) | None => match deny_override {
            true => Err(Refusal::MissingRequiredHeader { header: "x-ms-default-encryption-scope".into() }),
            false => Ok(None),
        },
        Some(scope) => {
            permit_scope(scope, &ask.settings.encryption_scopes).map_err(|refusal| {
                let Denied::InvalidEncryptionScope { name } = refusal else { return Refusal::Denied(refusal) };
                Refusal::InvalidHeaderValue { header: "x-ms-default-encryption-scope".into(), value: name }
            })?;
            Ok(Some(ContainerScope { name: scope.to_owned(), deny_override }))
        }
    }
}

/// How a container's default is shown: its name, and whether it may be overridden.
pub fn shown(scope: Option<&ContainerScope>) -> (&str, &'static str) {
    match scope {
        None => (ACCOUNT_KEY, "false"),
        Some(scope) => (&scope.name, if scope.deny_override { "true" } else { "false" }),
    }
}
