//! The API version a request speaks. Versions are dates, so they compare; one that we have never heard of is
//! served with our newest behaviour, so that no upgrade of an SDK breaks anyone.

use std::fmt;

/// A date as `yyyymmdd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    pub const NEWEST: Version = Version::new(2026, 10, 6);
    /// What a request without a version means when nothing else says (anonymous, old clients).
    pub const OLDEST: Version = Version::new(2009, 9, 19);

    pub const fn new(year: u32, month: u32, day: u32) -> Self {
        Self(year * 10_000 + month * 100 + day)
    }

    /// Reads `yyyy-mm-dd`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let well_formed = bytes.len() == 10
            && bytes.iter().enumerate().all(|(at, b)| if at == 4 || at == 7 { *b == b'-' } else { b.is_ascii_digit() });
        if !well_formed {
            return None;
        }
        let number = |from: usize, to: usize| text[from..to].parse::<u32>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| Self::new(year, month, day))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0 / 10_000, self.0 / 100 % 100, self.0 % 100)
    }
}
