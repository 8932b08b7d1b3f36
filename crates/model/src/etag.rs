//! The ETag of a blob or container: the stamp of the write that made it, as Azure prints it (`"0x8DA6B742DFB9341"`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ETag(u64);

impl ETag {
    /// Stamps never repeat within a partition, so neither do ETags.
    pub fn of(stamp: Timestamp) -> Self {
        Self(stamp.ticks())
    }

    /// When it was made.
    pub fn made(self) -> Timestamp {
        Timestamp::from_ticks(self.0)
    }

    /// Reads what [`fmt::Display`] prints, with or without quotes. Weak tags and foreign forms are no tag of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
        let digits = bare.strip_prefix("0x").or_else(|| bare.strip_prefix("0X"))?;
        let well_formed = digits.bytes().all(|b| b.is_ascii_hexdigit());
        well_formed.then(|| u64::from_str_radix(digits, 16).ok().map(Self))?
    }
}

/// With the quotes, as in the `ETag` header.
impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"0x{:X}\"", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints_and_no_other_form() {
        let tag = ETag::of(Timestamp::from_ticks(0x8DA_6B74_2DFB_9341));
        assert_eq!(tag.to_string(), "\"0x8DA6B742DFB9341\"");
        for text in ["\"0x8DA6B742DFB9341\"", "0x8DA6B742DFB9341", " \"0x8da6b742dfb9341\" "] {
            assert_eq!(ETag::parse(text), Some(tag), "{text}");
        }
        for text in
            ["", "\"\"", "0x", "0x+1", "8DA6B742DFB9341", "W/\"0x8DA6B742DFB9341\"", "\"0x8DA6B742DFB93410000\"", "*"]
        {
            assert_eq!(ETag::parse(text), None, "{text}");
        }
    }
}
