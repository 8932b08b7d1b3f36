//! The name of a file or directory, from the root of its file system: segments, none of them empty.

use crate::{BlobName, Refusal};

/// "Scale targets for Data Lake Storage": directories in one another.
pub const DEPTH_MAX: usize = 63;

/// No segments: the root directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LakePath(Vec<String>);

impl LakePath {
    /// Slashes at either end, and several in a row, mean nothing. Dots are names that no directory can have: nobody gets out of a
    /// directory by them.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let segments: Vec<String> = text.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
        if segments.is_empty() {
            return Ok(Self::default());
        }
        BlobName::parse(&segments.join("/"))?;
        if segments.len() > DEPTH_MAX {
            return Err(Refusal::OutOfRangeInput);
        }
        if segments.iter().any(|segment| segment == "." || segment == "..") {
            return Err(Refusal::InvalidResourceName);
        }
        Ok(Self(segments))
    }

    pub fn segments(&self) -> &[String] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory that it is in, and its own name there. The root is in none.
    pub fn split(&self) -> Option<(&[String], &str)> {
        self.0.split_last().map(|(name, parents)| (parents, name.as_str()))
    }

    /// What has this name in it.
    pub fn child(&self, name: &str) -> Result<Self, Refusal> {
        Self::parse(&format!("{self}/{name}"))
    }

    /// Whether it is `other`, or below it.
    pub fn is_within(&self, other: &LakePath) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl std::fmt::Display for LakePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_dots() {
        for (text, want) in [
            ("", Some("")),
            ("/", Some("")),
            ("//", Some("")),
            ("a", Some("a")),
            ("/a/b/", Some("a/b")),
            ("a//b", Some("a/b")),
            (" a /…", Some(" a /…")),
            ("a.b/c..", Some("a.b/c..")),
            ("..", None),
            ("a/../b", None),
            ("a/./b", None),
            ("a\0", None),
        ] {
            assert_eq!(LakePath::parse(text).ok().map(|path| path.to_string()).as_deref(), want, "{text:?}");
        }
        let deep = |depth| vec!["a"; depth].join("/");
        assert!(LakePath::parse(&deep(DEPTH_MAX)).is_ok() && LakePath::parse(&deep(DEPTH_MAX + 1)).is_err());
    }

    #[test]
    fn what_is_below() {
        let path = |text| LakePath::parse(text).unwrap();
        assert!(path("a/b").is_within(&path("a")) && path("a").is_within(&path("a")) && path("a").is_within(&path("")));
        assert!(!path("ab").is_within(&path("a")) && !path("a").is_within(&path("a/b")));
    }
}
