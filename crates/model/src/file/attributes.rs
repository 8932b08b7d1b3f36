//! File attributes as Windows has them, with the names and the order in which the service writes them.

use serde::{Deserialize, Serialize};

/// Bits of `FILE_ATTRIBUTE_…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes(u32);

const NAMES: [(u32, &str); 10] = [
    (0x1, "ReadOnly"),
    (0x2, "Hidden"),
    (0x4, "System"),
    (0x10, "Directory"),
    (0x20, "Archive"),
    (0x80, "None"),
    (0x100, "Temporary"),
    (0x1000, "Offline"),
    (0x2000, "NotContentIndexed"),
    (0x2_0000, "NoScrubData"),
];

impl Attributes {
    pub const NONE: Attributes = Attributes(0);
    pub const READ_ONLY: Attributes = Attributes(0x1);
    pub const DIRECTORY: Attributes = Attributes(0x10);
    pub const ARCHIVE: Attributes = Attributes(0x20);
    const NORMAL: Attributes = Attributes(0x80);

    /// `ReadOnly|Archive`, in any case, with or without blanks. `None` is no attribute at all.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = 0;
        for part in text.split(['|', ',']) {
            bits |= NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(part.trim()))?.0;
        }
        Some(Self(bits & !Self::NORMAL.0))
    }

    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    pub const fn with(self, other: Attributes) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Attributes) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn has(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }
}

/// As observed: `ReadOnly | Archive`.
impl std::fmt::Display for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0 {
            return f.write_str("None");
        }
        let mut divider = "";
        for (_, name) in NAMES.iter().filter(|(bit, _)| self.0 & bit != 0) {
            write!(f, "{divider}{name}")?;
            divider = " | ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_as_observed() {
        for (sent, printed) in [
            ("none", "None"),
            ("ReadOnly|Archive", "ReadOnly | Archive"),
            ("Directory | readonly", "ReadOnly | Directory"),
            ("Temporary|Archive|NoScrubData", "Archive | Temporary | NoScrubData"),
        ] {
            assert_eq!(Attributes::parse(sent).unwrap().to_string(), printed);
        }
        for bad in ["", "Preserve", "ReadOnly||Archive", "Compressed"] {
            assert_eq!(Attributes::parse(bad), None, "{bad}");
        }
    }
}
