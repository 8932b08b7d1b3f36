//! The parameters of a query.

use std::ops::Range;

use crate::refusal::Refusal;

/// The query's parameters, decoded, in the order they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// All names and values, one behind the other.
    text: String,
    pairs: Vec<(Range<usize>, Range<usize>)>,
}

impl Query {
    /// `+` is a blank, as .NET reads it and Go writes it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut query = Self { text: String::with_capacity(text.len()), pairs: Vec::with_capacity(12) };
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let pair = (query.add(name)?, query.add(value)?);
            query.pairs.push(pair);
        }
        Ok(query)
    }

    fn add(&mut self, text: &str) -> Result<Range<usize>, Refusal> {
        let from = self.text.len();
        let Some(first) = memchr::memchr2(b'%', b'+', text.as_bytes()) else {
            self.text += text;
            return Ok(from..self.text.len());
        };
        let (plain, mut rest) = text.as_bytes().split_at(first);
        let mut decoded = Vec::with_capacity(text.len());
        decoded.extend_from_slice(plain);
        while let [byte, behind @ ..] = rest {
            let value = match (byte, behind) {
                (b'%', [high, low, behind @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    rest = behind;
                    hex(*high) << 4 | hex(*low)
                }
                (byte, behind) => {
                    rest = behind;
                    if *byte == b'+' { b' ' } else { *byte }
                }
            };
            decoded.push(value);
        }
        self.text += std::str::from_utf8(&decoded).map_err(|_| Refusal::InvalidUri)?;
        Ok(from..self.text.len())
    }

    /// The first value of a name, compared without case. An empty value is absent (`include=`, `prefix=`).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// As [`Query::get`], but an empty value counts.
    pub fn raw(&self, name: &str) -> Option<&str> {
        let (text, name) = (self.text.as_bytes(), name.as_bytes());
        let named = |key: &Range<usize>| key.len() == name.len() && text[key.clone()].eq_ignore_ascii_case(name);
        self.pairs.iter().find(|(key, _)| named(key)).map(|(_, value)| &self.text[value.clone()])
    }

    /// Every value of a name, compared without case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&self.text[name.clone()], &self.text[value.clone()]))
    }
}

/// The value of a hexadecimal digit.
fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        letter => (letter | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let query = Query::parse("Comp=list&include=&a=b%26c+d&&flag").unwrap();
        assert_eq!(query.get("comp"), Some("list"));
        assert_eq!(query.get("include"), None);
        assert_eq!(query.raw("include"), Some(""));
        assert_eq!(query.get("a"), Some("b&c d"));
        assert_eq!(query.raw("flag"), Some(""));
        assert_eq!(Query::parse("a=%ff").err(), Some(Refusal::InvalidUri));
        let odd = Query::parse("a=%2B%2b%c3%BC&b=%&c=%4&d=%zz%%41&%65=e").unwrap();
        let read: Vec<_> = odd.iter().collect();
        assert_eq!(read, [("a", "++ü"), ("b", "%"), ("c", "%4"), ("d", "%zz%A"), ("e", "e")]);
    }
}
