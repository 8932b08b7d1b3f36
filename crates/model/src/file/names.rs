//! Names of shares, and paths within them. "Naming and referencing shares, directories, files, and metadata" is the source.
//!
//! Names keep the case they were given and are compared without it; `EntryName::folded` is what is compared.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// 3–63 of lower-case letters, digits and single hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShareName(String);

/// One step of a path: the name of a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EntryName(String);

/// From the root of a share downwards; empty for the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FilePath(Vec<EntryName>);

pub(super) const NAME_MAX: usize = 255;
pub(super) const PATH_MAX: usize = 2048;
pub(super) const DEPTH_MAX: usize = 250;

impl ShareName {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if !(3..=63).contains(&text.len()) {
            return Err(if text.is_ascii() { Refusal::ResourceNameLength } else { Refusal::InvalidResourceName });
        }
        let letters =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        text.split('-').all(letters).then(|| Self(text.to_owned())).ok_or(Refusal::InvalidResourceName)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ShareName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl EntryName {
    /// Without leave to end in dots, a name loses them, as over SMB.
    pub fn parse(text: &str, trailing_dots: bool) -> Result<Self, Refusal> {
        let text = if trailing_dots { text } else { text.trim_end_matches('.') };
        if text.len() > NAME_MAX * 4 || text.chars().count() > NAME_MAX {
            return Err(Refusal::InvalidResourceName);
        }
        let dots = text.is_empty() || text == "." || text == "..";
        if dots || text.chars().any(is_forbidden) || is_device(text) {
            return Err(Refusal::InvalidResourceName);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Equal for names that differ by case alone. One character to one, as file systems do it.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

/// A prefix of names, folded as they are.
pub fn fold(text: &str) -> String {
    text.chars()
        .map(|character| {
            let mut upper = character.to_uppercase();
            match (upper.next(), upper.next()) {
                (Some(single), None) => single,
                (Some(_), Some(_)) | (None, _) => character,
            }
        })
        .collect()
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_forbidden(character: char) -> bool {
    matches!(character, '"' | '\\' | '/' | ':' | '|' | '<' | '>' | '*' | '?') || character.is_control()
}

/// Names that Windows keeps for devices.
fn is_device(text: &str) -> bool {
    const DEVICES: [&str; 5] = ["PRN", "AUX", "NUL", "CON", "CLOCK$"];
    let numbered = text.len() == 4
        && text.is_char_boundary(3)
        && ["LPT", "COM"].iter().any(|device| text[..3].eq_ignore_ascii_case(device))
        && matches!(text.as_bytes()[3], b'1'..=b'9');
    numbered || DEVICES.iter().any(|device| text.eq_ignore_ascii_case(device))
}

impl FilePath {
    pub const ROOT: FilePath = FilePath(Vec::new());

    /// Steps divided by slashes, or by backslashes as some clients send them; a slash at either end is nothing.
    pub fn parse(text: &str, trailing_dots: bool) -> Result<Self, Refusal> {
        let text = text.trim_matches(['/', '\\']);
        if text.is_empty() {
            return Ok(Self::ROOT);
        }
        if text.len() > PATH_MAX * 4 || text.chars().count() > PATH_MAX {
            return Err(Refusal::InvalidFileOrDirectoryPathName);
        }
        let steps = text.split(['/', '\\']).map(|step| EntryName::parse(step, trailing_dots));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        if steps.len() > DEPTH_MAX {
            return Err(Refusal::InvalidFileOrDirectoryPathName);
        }
        Ok(Self(steps))
    }

    pub fn steps(&self) -> &[EntryName] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory and the name in it; none for the root.
    pub fn split(&self) -> Option<(&[EntryName], &EntryName)> {
        self.0.split_last().map(|(name, parents)| (parents, name))
    }

    pub fn name(&self) -> Option<&EntryName> {
        self.0.last()
    }
}

/// `dir/sub/file`, without a slash at either end.
impl std::fmt::Display for FilePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            let slash = if at == 0 { "" } else { "/" };
            write!(f, "{slash}{step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_names() {
        for good in ["abc", "a-b-c", "123", &"a".repeat(63)] {
            assert_eq!(ShareName::parse(good).as_ref().map(ShareName::as_str), Ok(good));
        }
        for (bad, refusal) in [
            ("ab", Refusal::ResourceNameLength),
            ("Abc", Refusal::InvalidResourceName),
            ("a--b", Refusal::InvalidResourceName),
            ("-ab", Refusal::InvalidResourceName),
            ("啊齄丂狛狜", Refusal::InvalidResourceName),
        ] {
            assert_eq!(ShareName::parse(bad), Err(refusal), "{bad}");
        }
    }

    #[test]
    fn entry_names() {
        for (good, dots, kept) in [
            ("a.txt", false, "a.txt"),
            ("a...", false, "a"),
            ("a...", true, "a..."),
            ("ünï ~!@#$%^&()_+=", false, "ünï ~!@#$%^&()_+="),
            ("COM10", false, "COM10"),
            (&"ü".repeat(255), false, &"ü".repeat(255)),
        ] {
            assert_eq!(EntryName::parse(good, dots).as_ref().map(EntryName::as_str), Ok(kept), "{good}");
        }
        let long = "a".repeat(256);
        for bad in ["", ".", "..", "a*b", "a?b", "a:b", "a|b", "a<b", "a\"b", "a\u{7}", "com1", "NUL", "clock$", &long]
        {
            assert_eq!(EntryName::parse(bad, true), Err(Refusal::InvalidResourceName), "{bad}");
        }
    }

    #[test]
    fn names_are_compared_without_case_and_paths_taken_apart() {
        let name = |text: &str| EntryName::parse(text, false).unwrap();
        assert_eq!(name("Straße.TXT").folded(), name("sTRAßE.txt").folded());
        assert_ne!(name("ss").folded(), name("ß").folded());
        let path = FilePath::parse("/Dir/sub\\file.txt/", false).unwrap();
        assert_eq!(path.to_string(), "Dir/sub/file.txt");
        assert_eq!(path.split().map(|(parents, name)| (parents.len(), name.as_str())), Some((2, "file.txt")));
        assert!(FilePath::parse("/", false).unwrap().is_root());
        let deep = vec!["d"; DEPTH_MAX + 1].join("/");
        let long = vec!["d".repeat(250); 9].join("/");
        for bad in [&deep, &long] {
            assert_eq!(FilePath::parse(bad, false), Err(Refusal::InvalidFileOrDirectoryPathName));
        }
        assert_eq!(FilePath::parse("a//b", false), Err(Refusal::InvalidResourceName));
    }
}
