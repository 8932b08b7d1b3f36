//! Names and their rules. A name that parsed is a name that Azure would take; nobody checks it again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::Refusal;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// 3–24 lower-case letters and digits.
    AccountName
);
name!(
    /// 3–63 of lower-case letters, digits and single hyphens; or `$root`, `$logs`, `$web`, `$blobchangefeed`.
    ContainerName
);
name!(
    /// 3–63 of lower-case letters, digits and single hyphens.
    QueueName
);
name!(
    /// 1–1,024 characters in at most 254 segments, no control characters.
    BlobName
);

/// A block's id, decoded from Base64: opaque, at most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId(Vec<u8>);

pub const BLOB_NAME_MAX: usize = 1024;
pub const BLOB_SEGMENTS_MAX: usize = 254;
pub const BLOCK_ID_MAX: usize = 64;

/// Containers whose names break the rule: the root container, and those that Azure's own features write to.
const SYSTEM_CONTAINERS: [&str; 4] = ["$root", "$logs", "$web", "$blobchangefeed"];

impl AccountName {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        check_length(text, 3, 24)?;
        let well_formed = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        well_formed.then(|| Self(text.to_owned())).ok_or(Refusal::InvalidResourceName)
    }
}

impl ContainerName {
    pub const ROOT: &'static str = "$root";

    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if SYSTEM_CONTAINERS.contains(&text) {
            return Ok(Self(text.to_owned()));
        }
        check_dns(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl QueueName {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        check_dns(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// What containers and queues have in common: words of lower-case letters and digits with a hyphen between them.
fn check_dns(text: &str) -> Result<(), Refusal> {
    check_length(text, 3, 63).map_err(|_| Refusal::ResourceNameLength)?;
    let letters = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if text.split('-').all(letters) { Ok(()) } else { Err(Refusal::InvalidResourceName) }
}

impl BlobName {
    /// Trailing dots and slashes are part of the name: it is clients' URI libraries that drop them, and not Azure.
    /// Control characters are refused, as "Naming and referencing containers, blobs, and metadata" says; U+FFFE and
    /// U+FFFF are not, since listings have a way of writing them (`Encoded="true"`).
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        check_length(text, 1, BLOB_NAME_MAX)?;
        if text.split('/').count() > BLOB_SEGMENTS_MAX {
            return Err(Refusal::OutOfRangeInput);
        }
        if text.chars().any(char::is_control) {
            return Err(Refusal::InvalidResourceName);
        }
        Ok(Self(text.to_owned()))
    }
}

impl BlockId {
    /// One that the service makes for itself.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Reads canonical Base64, padded.
    pub fn from_base64(text: &str) -> Result<Self, Refusal> {
        let invalid = |reason: &'static str| Refusal::InvalidBlockId { id: text.to_owned(), reason };
        let bytes = STANDARD.decode(text).map_err(|_| invalid("Not a valid base64 string."))?;
        match bytes.len() {
            0 => Err(invalid("Block ID must not be empty.")),
            1..=BLOCK_ID_MAX => Ok(Self(bytes)),
            _ => Err(Refusal::OutOfRangeInput),
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

/// Counted in characters.
fn check_length(text: &str, least: usize, most: usize) -> Result<(), Refusal> {
    // A character is at most four bytes, so nothing longer need be counted.
    let fits = text.len() <= most * 4 && (least..=most).contains(&text.chars().count());
    fits.then_some(()).ok_or(Refusal::OutOfRangeInput)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Refusal::{InvalidResourceName, OutOfRangeInput, ResourceNameLength};

    #[test]
    fn account_names() {
        for good in ["abc", "devstoreaccount1", "123", &"a".repeat(24)] {
            assert_eq!(AccountName::parse(good).as_ref().map(AccountName::as_str), Ok(good));
        }
        for (bad, refusal) in [
            ("", OutOfRangeInput),
            ("ab", OutOfRangeInput),
            (&"a".repeat(25), OutOfRangeInput),
            ("Abc", InvalidResourceName),
            ("a-c", InvalidResourceName),
            ("äbc", InvalidResourceName),
        ] {
            assert_eq!(AccountName::parse(bad), Err(refusal), "{bad}");
        }
    }

    #[test]
    fn container_names() {
        for good in ["abc", "a-b", "0-1-2", "$root", "$logs", "$web", "$blobchangefeed", &"a".repeat(63)] {
            assert_eq!(ContainerName::parse(good).as_ref().map(ContainerName::as_str), Ok(good));
        }
        for (bad, refusal) in [
            ("", ResourceNameLength),
            ("ab", ResourceNameLength),
            (&"a".repeat(64), ResourceNameLength),
            ("Abc", InvalidResourceName),
            ("a--b", InvalidResourceName),
            ("-ab", InvalidResourceName),
            ("ab-", InvalidResourceName),
            ("a_b", InvalidResourceName),
            ("a.b", InvalidResourceName),
            ("$roots", InvalidResourceName),
            ("啊齄丂", InvalidResourceName),
        ] {
            assert_eq!(ContainerName::parse(bad), Err(refusal.clone()), "{bad}");
            assert_eq!(QueueName::parse(bad), Err(refusal), "{bad}");
        }
        assert_eq!(QueueName::parse("a-1").as_ref().map(QueueName::as_str), Ok("a-1"));
        assert_eq!(QueueName::parse("$logs"), Err(InvalidResourceName));
    }

    #[test]
    fn blob_names() {
        let longest = "é".repeat(1024);
        let deepest = vec!["a"; 254].join("/");
        for good in ["a", "/", "a/", "a.", "a/./b", "啊齄丂狛狜", "a b?c#d%", "\u{FFFF}", &longest, &deepest] {
            assert_eq!(BlobName::parse(good).as_ref().map(BlobName::as_str), Ok(good));
        }
        for (bad, refusal) in [
            ("", OutOfRangeInput),
            (&*"a".repeat(1025), OutOfRangeInput),
            (&*vec!["a"; 255].join("/"), OutOfRangeInput),
            ("a\0b", InvalidResourceName),
            ("a\nb", InvalidResourceName),
            ("a\u{7F}", InvalidResourceName),
            ("a\u{81}", InvalidResourceName),
        ] {
            assert_eq!(BlobName::parse(bad), Err(refusal), "{bad:?}");
        }
    }

    #[test]
    fn block_ids() {
        let longest = STANDARD.encode([7; 64]);
        for good in ["MQ==", "AAAA", "+/+/", &longest] {
            assert_eq!(BlockId::from_base64(good).map(|id| id.to_base64()).as_deref(), Ok(good));
        }
        for bad in ["", "MQ", "MQ=", "M Q==", "MR==", "-_-_", "é"] {
            let refusal = BlockId::from_base64(bad);
            assert!(matches!(refusal, Err(Refusal::InvalidBlockId { .. })), "{bad}: {refusal:?}");
        }
        assert_eq!(BlockId::from_base64(&STANDARD.encode([7; 65])), Err(OutOfRangeInput));
    }
}
