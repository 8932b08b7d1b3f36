//! The eight types of properties, as they are stored and as a filter sees them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Sixteen bytes in the order in which they are printed. In halves, because a whole one would have every value lie at
/// multiples of sixteen bytes, and be copied as often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u128", into = "u128")]
pub struct Guid(u64, u64);

impl From<u128> for Guid {
    fn from(whole: u128) -> Self {
        Self((whole >> 64) as u64, whole as u64)
    }
}

impl From<Guid> for u128 {
    fn from(Guid(high, low): Guid) -> Self {
        u128::from(high) << 64 | u128::from(low)
    }
}

impl Guid {
    /// With hyphens, without, or in braces, as .NET reads one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bare = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let hyphens: Vec<usize> = bare.match_indices('-').map(|(at, _)| at).collect();
        let shape = hyphens.is_empty() || hyphens == [8, 13, 18, 23];
        let digits: String = bare.chars().filter(|c| *c != '-').collect();
        let whole = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        (shape && whole).then(|| u128::from_str_radix(&digits, 16).ok().map(Self::from))?
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", u128::from(*self));
        write!(f, "{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    String(String),
    Binary(Vec<u8>),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    DateTime(Timestamp),
    Guid(Guid),
}

/// A value that is looked at and not kept. Written as a value is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Seen<'a> {
    String(&'a str),
    Binary(&'a [u8]),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    DateTime(Timestamp),
    Guid(Guid),
}

impl Value {
    pub fn seen(&self) -> Seen<'_> {
        match self {
            Value::String(text) => Seen::String(text),
            Value::Binary(bytes) => Seen::Binary(bytes),
            Value::Boolean(value) => Seen::Boolean(*value),
            Value::Int32(value) => Seen::Int32(*value),
            Value::Int64(value) => Seen::Int64(*value),
            Value::Double(value) => Seen::Double(*value),
            Value::DateTime(value) => Seen::DateTime(*value),
            Value::Guid(value) => Seen::Guid(*value),
        }
    }

    /// Bytes that it counts for ("Understanding the Table service data model").
    pub(super) fn size(&self) -> usize {
        match self {
            Value::String(text) => 4 + 2 * units(text),
            Value::Binary(bytes) => 4 + bytes.len(),
            Value::Boolean(_) => 1,
            Value::Int32(_) => 4,
            Value::Int64(_) | Value::Double(_) | Value::DateTime(_) => 8,
            Value::Guid(_) => 16,
        }
    }
}

/// UTF-16 code units: what the service counts.
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

impl Seen<'_> {
    /// How the two compare. Numbers compare with numbers of any type; other types only with their own. `None`: not at all.
    #[inline]
    pub fn compare(self, other: Seen<'_>) -> Option<Ordering> {
        use Seen::*;
        match (self, other) {
            (String(one), String(other)) => Some(one.cmp(other)),
            (Binary(one), Binary(other)) => Some(one.cmp(other)),
            (Boolean(one), Boolean(other)) => Some(one.cmp(&other)),
            (DateTime(one), DateTime(other)) => Some(one.cmp(&other)),
            (Guid(one), Guid(other)) => Some(one.cmp(&other)),
            (Double(one), Double(other)) => one.partial_cmp(&other),
            (Int32(_) | Int64(_) | Double(_), Int32(_) | Int64(_) | Double(_)) => numbers(self, other),
            (String(_) | Binary(_) | Boolean(_) | DateTime(_) | Guid(_), _) | (Int32(_) | Int64(_) | Double(_), _) => {
                None
            }
        }
    }

    /// A copy of it.
    pub fn value(self) -> Value {
        match self {
            Seen::String(text) => Value::String(text.to_owned()),
            Seen::Binary(bytes) => Value::Binary(bytes.to_owned()),
            Seen::Boolean(value) => Value::Boolean(value),
            Seen::Int32(value) => Value::Int32(value),
            Seen::Int64(value) => Value::Int64(value),
            Seen::Double(value) => Value::Double(value),
            Seen::DateTime(value) => Value::DateTime(value),
            Seen::Guid(value) => Value::Guid(value),
        }
    }

    fn whole(self) -> Option<i64> {
        match self {
            Seen::Int32(value) => Some(value.into()),
            Seen::Int64(value) => Some(value),
            Seen::String(_)
            | Seen::Binary(_)
            | Seen::Boolean(_)
            | Seen::Double(_)
            | Seen::DateTime(_)
            | Seen::Guid(_) => None,
        }
    }
}

/// Values that compare as equal have the same hash, whatever their types.
impl Hash for Seen<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match *self {
            Seen::String(text) => text.hash(state),
            Seen::Binary(bytes) => bytes.hash(state),
            Seen::Boolean(value) => value.hash(state),
            Seen::Int32(value) => i64::from(value).hash(state),
            Seen::Int64(value) => value.hash(state),
            Seen::Double(value) if value == (value as i64) as f64 && value < EDGE => (value as i64).hash(state),
            Seen::Double(value) => value.to_bits().hash(state),
            Seen::DateTime(value) => value.hash(state),
            Seen::Guid(value) => value.hash(state),
        }
    }
}

const EDGE: f64 = 9_223_372_036_854_775_808.0; // 2^63

fn numbers(one: Seen<'_>, other: Seen<'_>) -> Option<Ordering> {
    match (one, other) {
        (Seen::Double(one), other) => whole_and_double(other.whole()?, one).map(Ordering::reverse),
        (one, Seen::Double(other)) => whole_and_double(one.whole()?, other),
        (one, other) => Some(one.whole()?.cmp(&other.whole()?)),
    }
}

/// Exactly, also where a double cannot hold the whole number.
fn whole_and_double(whole: i64, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        None
    } else if double >= EDGE {
        Some(Ordering::Less)
    } else if double < -EDGE {
        Some(Ordering::Greater)
    } else {
        let floor = double.floor();
        Some(whole.cmp(&(floor as i64)).then(if double > floor { Ordering::Less } else { Ordering::Equal }))
    }
}

/// A DateTime as clients write it: ISO 8601, UTC unless it says otherwise, digits beyond 100 ns dropped.
pub fn read_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let (date, time) = text.split_once('T')?;
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let shorter = match clock.split_once('.') {
        Some((seconds, digits)) if digits.len() > 7 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some(&clock[..seconds.len() + 8])
        }
        Some(_) | None => None,
    };
    if shorter.is_none() && !zone.is_empty() {
        return Timestamp::parse_iso(text);
    }
    let (clock, zone) = (shorter.unwrap_or(clock), if zone.is_empty() { "Z" } else { zone });
    Timestamp::parse_iso(&format!("{date}T{clock}{zone}"))
}
