use super::*;

const A: [u8; 32] = [1; 32];
const B: [u8; 32] = [2; 32];

fn scope(name: &str) -> Encryption {
    Encryption::Scope(name.into())
}

/// Recorded, but for the scopes among each other and the keys on a blob in a scope.
#[test]
fn who_may_add_to_what_is_encrypted() {
    use Refusal::{
        BlobCustomerSpecifiedEncryptionMismatch as Mismatch, BlobDoesNotUseCustomerSpecifiedEncryption as DoesNot,
        BlobUsesCustomerSpecifiedEncryption as Uses,
    };
    let table = [
        (Encryption::Service, Encryption::Service, Ok(())),
        (Encryption::Service, Encryption::Customer(A), Err(DoesNot.clone())),
        (Encryption::Service, scope("s"), Err(DoesNot)),
        (Encryption::Customer(A), Encryption::Customer(A), Ok(())),
        (Encryption::Customer(A), Encryption::Customer(B), Err(Mismatch.clone())),
        (Encryption::Customer(A), Encryption::Service, Err(Uses.clone())),
        (Encryption::Customer(A), scope("s"), Err(Mismatch.clone())),
        (scope("s"), scope("s"), Ok(())),
        (scope("s"), scope("t"), Err(Mismatch.clone())),
        (scope("s"), Encryption::Service, Err(Uses)),
        (scope("s"), Encryption::Customer(A), Err(Mismatch)),
    ];
    for (kept, sent, want) in table {
        assert_eq!(kept.permit_write(&sent), want, "{kept:?} {sent:?}");
    }
}

#[test]
fn who_may_read_what_is_encrypted() {
    let table = [
        (Encryption::Service, None, Ok(())),
        (Encryption::Service, Some(A), Err(Refusal::BlobDoesNotUseCustomerSpecifiedEncryption)),
        (scope("s"), None, Ok(())),
        (Encryption::Customer(A), Some(A), Ok(())),
        (Encryption::Customer(A), Some(B), Err(Refusal::BlobCustomerSpecifiedEncryptionMismatch)),
        (Encryption::Customer(A), None, Err(Refusal::BlobUsesCustomerSpecifiedEncryption)),
    ];
    for (kept, key, want) in table {
        assert_eq!(kept.permit_read(key), want, "{kept:?}");
    }
}

/// The request's key and scope, the SAS's scope, the container's default: what comes of them.
#[test]
fn how_a_write_is_encrypted() {
    let invalid = |name: &str| Err(Refusal::InvalidEncryptionScope { name: name.into() });
    let forbidden = || Err(Refusal::RequestForbiddenByContainerEncryptionPolicy);
    let (open, closed) = (Some(("s", false)), Some(("s", true)));
    let table = [
        (None, None, None, None, Ok(Encryption::Service)),
        (Some(A), None, None, None, Ok(Encryption::Customer(A))),
        (None, Some("t"), None, None, Ok(scope("t"))),
        (None, None, Some("t"), None, Ok(scope("t"))),
        (None, Some("t"), Some("t"), None, Ok(scope("t"))),
        (None, Some("s"), Some("t"), None, invalid("s")),
        (None, None, None, open, Ok(scope("s"))),
        (None, Some("t"), None, open, Ok(scope("t"))),
        (Some(A), None, None, open, Ok(Encryption::Customer(A))),
        (None, None, None, closed, Ok(scope("s"))),
        (None, Some("s"), None, closed, Ok(scope("s"))),
        (None, Some("t"), None, closed, forbidden()),
        (None, None, Some("t"), closed, forbidden()),
        (Some(A), None, None, closed, forbidden()),
        (Some(A), Some("s"), None, None, invalid("s")),
        (None, Some("unknown"), None, None, invalid("unknown")),
        (None, Some("off"), None, None, Err(Refusal::EncryptionScopeDisabled)),
    ];
    let known = |name: &str, enabled| EncryptionScope { name: name.into(), enabled };
    let scopes = [known("s", true), known("t", true), known("off", false)];
    for (key, named, signed, default, want) in table {
        let asked = Asked { key, scope: named.map(Into::into), sas_scope: signed.map(Into::into) };
        let default = default.map(|(name, deny_override)| ContainerScope { name: name.into(), deny_override });
        assert_eq!(asked.clone().settle(default.clone(), &scopes), want, "{asked:?} {default:?}");
    }
}

#[test]
fn nothing_in_a_disabled_scope_is_read() {
    let scopes = [("on", true), ("off", false)].map(|(name, enabled)| EncryptionScope { name: name.into(), enabled });
    for (encryption, expected) in [
        (Encryption::Service, Ok(())),
        (scope("on"), Ok(())),
        (scope("off"), Err(Refusal::EncryptionScopeDisabled)),
        (scope("forgotten"), Ok(())),
    ] {
        assert_eq!(permit_scope_read(&encryption, &scopes), expected, "{encryption:?}");
    }
}
