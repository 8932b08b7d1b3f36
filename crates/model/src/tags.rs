//! Blob index tags, and the predicate over them that `x-ms-if-tags` carries.
//!
//! Tags are compared as strings, by byte. A comparison with a tag that the blob does not have is false, whatever the
//! operator.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Refusal;

mod predicate;
mod search;

pub use predicate::TagCondition;
pub use search::{TagSearch, TagSpan};

pub const TAGS_MAX: usize = 10;
pub const TAG_NAME_MAX: usize = 128;
pub const TAG_VALUE_MAX: usize = 256;

/// At most ten, names unique, in order of name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags(Vec<(String, String)>);

impl Tags {
    pub const NONE: Tags = Tags(Vec::new());

    pub fn new(mut pairs: Vec<(String, String)>) -> Result<Self, Refusal> {
        if pairs.len() > TAGS_MAX {
            return Err(Refusal::TagsTooLarge);
        }
        for (name, value) in &pairs {
            if name.is_empty() {
                return Err(Refusal::EmptyTagName);
            }
            if name.len() > TAG_NAME_MAX || value.len() > TAG_VALUE_MAX {
                return Err(Refusal::TagsTooLarge);
            }
            if !name.chars().chain(value.chars()).all(is_allowed) {
                return Err(Refusal::InvalidTag);
            }
        }
        pairs.sort_unstable();
        if pairs.windows(2).any(|two| two[0].0 == two[1].0) {
            return Err(Refusal::DuplicateTagNames);
        }
        Ok(Self(pairs))
    }

    /// Reads `x-ms-tags`: `name=value&name=value`, both percent-encoded, `+` for a space.
    pub fn parse_query(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Ok(Self::NONE);
        }
        // Bounded before anything is decoded.
        if text.split('&').count() > TAGS_MAX {
            return Err(Refusal::TagsTooLarge);
        }
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').ok_or(Refusal::InvalidTag)?;
            Ok((percent_decode(name)?, percent_decode(value)?))
        };
        Self::new(text.split('&').map(pair).collect::<Result<_, Refusal>>()?)
    }

    /// What [`Tags::parse_query`] reads.
    pub fn to_query(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.iter() {
            if !text.is_empty() {
                text.push('&');
            }
            percent_encode(name, &mut text);
            text.push('=');
            percent_encode(value, &mut text);
        }
        text
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

    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    fn compare(&self, name: &str, value: &str) -> Option<Ordering> {
        self.get(name).map(|own| own.cmp(value))
    }
}

/// "Set Blob Tags": letters, digits, space, and ` + - . / : = _ `.
fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || " +-./:=_".contains(letter)
}

fn percent_decode(text: &str) -> Result<String, Refusal> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        decoded.push(match b {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16)).ok_or(Refusal::InvalidTag);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(decoded).map_err(|_| Refusal::InvalidTag)
}

fn percent_encode(text: &str, into: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for b in text.bytes() {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            into.push(char::from(b));
        } else {
            into.push('%');
            into.push(char::from(DIGITS[usize::from(b >> 4)]));
            into.push(char::from(DIGITS[usize::from(b & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(pairs: &[(&str, &str)]) -> Result<Tags, Refusal> {
        Tags::new(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn rules() {
        let ten: Vec<_> = (0..10).map(|n| (n.to_string(), String::new())).collect();
        assert_eq!(Tags::new(ten.clone()).map(|tags| tags.len()), Ok(10));
        let eleven: Vec<_> = (0..11).map(|n| (n.to_string(), String::new())).collect();
        assert_eq!(Tags::new(eleven), Err(Refusal::TagsTooLarge));

        let (name, value) = ("n".repeat(128), "v".repeat(256));
        for good in [&[][..], &[("a", "")], &[("+-./:=_ ", "+-./:=_ ")], &[("a", "1"), ("A", "2")], &[(&name, &value)]]
        {
            assert_eq!(new(good).map(|tags| tags.len()), Ok(good.len()), "{good:?}");
        }
        let (long_name, long_value) = ("n".repeat(129), "v".repeat(257));
        for (bad, refusal) in [
            (&[("", "v")][..], Refusal::EmptyTagName),
            (&[("a", "1"), ("b", "2"), ("a", "3")], Refusal::DuplicateTagNames),
            (&[("a&b", "v")], Refusal::InvalidTag),
            (&[("a", "'")], Refusal::InvalidTag),
            (&[("é", "v")], Refusal::InvalidTag),
            (&[(&long_name, "v")], Refusal::TagsTooLarge),
            (&[("a", &long_value)], Refusal::TagsTooLarge),
        ] {
            assert_eq!(new(bad), Err(refusal), "{bad:?}");
        }
    }

    #[test]
    fn the_header_form() {
        let tags = Tags::parse_query("tag2=b&tag1%20name=my+tag&%2B-.%2F%3A%3D_=%2B-.%2F%3A%3D_").unwrap();
        assert_eq!(tags, new(&[("tag1 name", "my tag"), ("tag2", "b"), ("+-./:=_", "+-./:=_")]).unwrap());
        assert_eq!(tags.to_query(), "%2B-.%2F%3A%3D_=%2B-.%2F%3A%3D_&tag1%20name=my%20tag&tag2=b");
        assert_eq!(Tags::parse_query(&tags.to_query()), Ok(tags));
        assert_eq!(Tags::parse_query(""), Ok(Tags::NONE));
        for bad in ["a", "a=b&", "a=%", "a=%2", "a=%zz", "a=%ff", "=b", "a=b&a=c", "a=%27", &"a=b&".repeat(1000)] {
            assert!(Tags::parse_query(bad).is_err(), "{bad}");
        }
    }
}
