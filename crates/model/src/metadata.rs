//! User metadata: name–value pairs, names compared without case and kept as written.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Names and values together, as Azure counts them.
pub const METADATA_MAX: usize = 8 * 1024;

/// In the order they were sent; no two names differ by case alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata(Vec<(String, String)>);

impl Metadata {
    /// Checks names (C# identifiers), values (printable ASCII) and size.
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, Refusal> {
        let mut size = 0;
        for (name, value) in &pairs {
            if name.is_empty() {
                return Err(Refusal::EmptyMetadataKey);
            }
            if !is_identifier(name) || !is_text(value) {
                return Err(Refusal::InvalidMetadata);
            }
            size += name.len() + value.len();
        }
        if size > METADATA_MAX {
            return Err(Refusal::MetadataTooLarge);
        }
        let mut names: Vec<_> = pairs.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort_unstable();
        if names.windows(2).any(|two| two[0] == two[1]) {
            return Err(Refusal::InvalidMetadata);
        }
        Ok(Self(pairs))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value under a name, in whatever case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn is_identifier(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    name.bytes().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn is_text(value: &str) -> bool {
    value.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(pairs: &[(&str, &str)]) -> Result<Metadata, Refusal> {
        Metadata::new(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn rules() {
        let full = "v".repeat(METADATA_MAX - 1);
        for good in [&[][..], &[("a", "")], &[("_", "x y")], &[("Up", "1"), ("low", "2"), ("a1", "~")], &[("a", &full)]]
        {
            assert_eq!(new(good).map(|metadata| metadata.len()), Ok(good.len()), "{good:?}");
        }
        let over = "v".repeat(METADATA_MAX);
        for (bad, refusal) in [
            (&[("", "v")][..], Refusal::EmptyMetadataKey),
            (&[("1a", "v")], Refusal::InvalidMetadata),
            (&[("a-b", "v")], Refusal::InvalidMetadata),
            (&[("é", "v")], Refusal::InvalidMetadata),
            (&[("a", "v\r\n")], Refusal::InvalidMetadata),
            (&[("a", "é")], Refusal::InvalidMetadata),
            (&[("Name", "1"), ("other", "2"), ("nAME", "3")], Refusal::InvalidMetadata),
            (&[("a", &over)], Refusal::MetadataTooLarge),
        ] {
            assert_eq!(new(bad), Err(refusal), "{bad:?}");
        }
    }

    #[test]
    fn lookup_ignores_case_and_keeps_what_was_written() {
        let metadata = new(&[("Colour", "Blue")]).unwrap();
        assert_eq!(metadata.get("cOLOUR"), Some("Blue"));
        assert_eq!(metadata.get("color"), None);
        assert_eq!(metadata.iter().collect::<Vec<_>>(), [("Colour", "Blue")]);
    }
}
