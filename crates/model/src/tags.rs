//! Blob index tags, and the predicate over them that `x-ms-if-tags` carries.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// At most ten, names unique, in order of name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags(Vec<(String, String)>);

impl Tags {
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, Refusal> {
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
}

/// A parsed `x-ms-if-tags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCondition {
    source: String,
}

impl TagCondition {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(Self { source: text.to_owned() })
    }

    pub fn holds(&self, _tags: &Tags) -> bool {
        !self.source.is_empty()
    }
}
