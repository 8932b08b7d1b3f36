//! Points in time as ticks of 100 ns since 0001-01-01 UTC, and the two ways the protocol writes them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(u64);

pub const TICKS_PER_SECOND: u64 = 10_000_000;

impl Timestamp {
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Without the fraction: what an HTTP date can carry.
    pub fn whole_seconds(self) -> Self {
        Self(self.0 - self.0 % TICKS_PER_SECOND)
    }

    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(TICKS_PER_SECOND)))
    }

    /// `Thu, 21 Jul 2022 23:53:15 GMT`
    pub fn to_http(self) -> String {
        String::new()
    }

    /// Any of the three HTTP date forms.
    pub fn parse_http(_text: &str) -> Option<Self> {
        None
    }

    /// `2022-07-21T23:53:15.1234567Z`
    pub fn to_iso(self) -> String {
        String::new()
    }

    /// ISO 8601 in the forms that SAS, policies and snapshots use: a date; a date with minutes, seconds, or up to seven
    /// digits of fraction; `Z` or an offset.
    pub fn parse_iso(_text: &str) -> Option<Self> {
        None
    }
}
