//! A request's headers, with a quick no. An operation asks for some forty names, and a client sends ten.

use std::ops::Deref;

use http::header::{AsHeaderName, HeaderMap, HeaderName, HeaderValue};

use crate::operation::By;

/// Read it like the map that it is, but for headers that name another resource: those are shown to [`Headers::naming`] alone, because
/// who reads one has to ask whether the resource may be touched.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    all: HeaderMap,
    /// A bit for each name that is there. Several names have the same one.
    bits: u64,
}

impl Headers {
    #[inline]
    pub fn get(&self, name: impl AsRef<str>) -> Option<&HeaderValue> {
        let name = name.as_ref();
        if self.bits & bit(name) == 0 || names_a_resource(name) { None } else { self.all.get(name) }
    }

    /// The header by which a request names another resource.
    pub fn naming(&self, by: By) -> Option<&HeaderValue> {
        self.all.get(by.header()?)
    }

    /// Whether there is such a header, with a value.
    pub fn says(&self, name: &str) -> bool {
        self.bits & bit(name) != 0 && self.all.get(name).is_some_and(|value| !value.as_bytes().trim_ascii().is_empty())
    }

    pub fn insert(&mut self, name: HeaderName, value: HeaderValue) {
        self.bits |= bit(name.as_str());
        self.all.insert(name, value);
    }

    pub fn remove(&mut self, name: impl AsHeaderName) -> Option<HeaderValue> {
        self.all.remove(name)
    }
}

impl From<HeaderMap> for Headers {
    fn from(all: HeaderMap) -> Self {
        let bits = all.keys().fold(0, |bits, name| bits | bit(name.as_str()));
        Self { all, bits }
    }
}

impl Deref for Headers {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        &self.all
    }
}

fn names_a_resource(name: &str) -> bool {
    name.len() > 15 && By::ALL.iter().any(|by| by.header().is_some_and(|header| header.eq_ignore_ascii_case(name)))
}

/// Names have no case; the bit of a letter that is its case does not count.
#[inline]
fn bit(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let letter = |at: usize| bytes.get(at).map_or(0, |byte| usize::from(byte | 0x20));
    let mixed = bytes.len() * 5 + letter(bytes.len().wrapping_sub(1)) + letter(bytes.len() / 2) * 3;
    1 << (mixed % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found_in_any_case_and_nothing_else() {
        const NAMES: [&str; 6] =
            ["x-ms-version", "if-match", "content-length", "x-ms-blob-content-md5", "x-ms-meta-a", "te"];
        let mut headers = Headers::default();
        for name in NAMES {
            assert_eq!(headers.get(name), None);
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let again = Headers::from(HeaderMap::clone(&headers));
        for name in NAMES {
            for headers in [&headers, &again] {
                assert!(headers.get(name).is_some(), "{name}");
                assert!(headers.get(name.to_ascii_uppercase()).is_some(), "{name}");
            }
        }
        // Some of these share a bit with one that is there.
        for length in 0..60 {
            assert_eq!(headers.get("x".repeat(length)), None);
        }
        headers.remove("te");
        assert_eq!(headers.get("te"), None);
    }
}
