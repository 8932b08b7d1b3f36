//! Windows' time: ticks of 100 ns since 1601. In a request, some values are no times but wishes ([MS-FSCC] 2.4.7).

use lazuli_model::Timestamp;

use crate::packet::wire::{Field, Parsed, Sink, Source};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub u64);

/// Ticks from 0001-01-01 to 1601-01-01.
const EPOCH: u64 = 504_911_232_000_000_000;

/// What a time in FileBasicInformation asks for when it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    Keep,
    /// From now on, operations through this handle do not move it.
    Freeze,
    /// They do again.
    Thaw,
    Set(Timestamp),
    /// Negative, or beyond what a year of four digits can say.
    Invalid,
}

impl FileTime {
    pub fn change(self) -> TimeChange {
        match self.0 as i64 {
            0 => TimeChange::Keep,
            -1 => TimeChange::Freeze,
            -2 => TimeChange::Thaw,
            i64::MIN..=-3 => TimeChange::Invalid,
            1.. => TimeChange::Set(Timestamp::from_ticks(self.0 + EPOCH)),
        }
    }
}

impl From<Timestamp> for FileTime {
    fn from(time: Timestamp) -> Self {
        Self(time.ticks().saturating_sub(EPOCH))
    }
}

impl Field for FileTime {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.u64().map(Self)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u64(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_1601() {
        let time = Timestamp::parse_http("Thu, 01 Jan 1970 00:00:00 GMT").expect("a date");
        assert_eq!(FileTime::from(time), FileTime(116_444_736_000_000_000));
        assert_eq!(FileTime::from(time).change(), TimeChange::Set(time));
        assert_eq!(FileTime::from(Timestamp::from_ticks(0)), FileTime(0));
    }

    #[test]
    fn some_values_are_wishes() {
        let table =
            [(0, TimeChange::Keep), (-1, TimeChange::Freeze), (-2, TimeChange::Thaw), (-3, TimeChange::Invalid)];
        for (value, change) in table {
            assert_eq!(FileTime(value as u64).change(), change);
        }
        assert_eq!(FileTime(i64::MIN as u64).change(), TimeChange::Invalid);
    }
}
