//! Stored values as the query sees them. Times become text in ISO 8601, which compares with times; bytes that are no text, Base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Timestamp;
use serde_json::{Number, Value as Json};

use super::Bad;
use super::schema::{Form, Meaning, Physical};

/// 1970-01-01 in ticks.
const EPOCH: i128 = 621_355_968_000_000_000;
const DAY: i128 = 24 * 60 * 60 * 10_000_000;
/// The last tick of the year 9999.
const END: i128 = 3_155_378_975_999_999_999;
/// 1970-01-01 as a Julian day.
const JULIAN: i128 = 2_440_588;

/// `None`: the length comes first.
pub(super) fn plain_length(physical: Physical) -> Option<usize> {
    match physical {
        Physical::Boolean => Some(1),
        Physical::Int32 | Physical::Float => Some(4),
        Physical::Int64 | Physical::Double => Some(8),
        Physical::Int96 => Some(12),
        Physical::Fixed(length) => Some(length),
        Physical::Bytes => None,
    }
}

pub(super) fn json(form: Form, bytes: &[u8]) -> Result<Json, Bad> {
    Ok(match form.physical {
        Physical::Boolean => Json::Bool(bytes.first() == Some(&1)),
        Physical::Int32 => {
            let number = i32::from_le_bytes(exactly(bytes)?);
            match form.meaning {
                Meaning::Unsigned => (number as u32).into(),
                Meaning::Plain | Meaning::Text | Meaning::Date | Meaning::Time { .. } | Meaning::Decimal { .. } => {
                    integer(form.meaning, number.into())
                }
            }
        }
        Physical::Int64 => {
            let number = i64::from_le_bytes(exactly(bytes)?);
            match form.meaning {
                Meaning::Unsigned => (number as u64).into(),
                Meaning::Plain | Meaning::Text | Meaning::Date | Meaning::Time { .. } | Meaning::Decimal { .. } => {
                    integer(form.meaning, number.into())
                }
            }
        }
        Physical::Int96 => {
            let bytes: [u8; 12] = exactly(bytes)?;
            let nanos = u64::from_le_bytes(exactly(&bytes[..8])?);
            let day = u32::from_le_bytes(exactly(&bytes[8..])?);
            time(EPOCH + (i128::from(day) - JULIAN) * DAY + i128::from(nanos / 100))
        }
        // Its own digits, not those that it has as a double.
        Physical::Float => float(f32::from_le_bytes(exactly(bytes)?).to_string().parse().unwrap_or(f64::NAN)),
        Physical::Double => float(f64::from_le_bytes(exactly(bytes)?)),
        Physical::Bytes | Physical::Fixed(_) => match form.meaning {
            Meaning::Decimal { scale } if bytes.len() <= 16 => {
                let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
                let start = if negative { -1_i128 } else { 0 };
                decimal(bytes.iter().fold(start, |number, byte| number << 8 | i128::from(*byte)), scale)
            }
            Meaning::Plain | Meaning::Text | Meaning::Unsigned | Meaning::Date => text(bytes),
            Meaning::Time { .. } | Meaning::Decimal { .. } => text(bytes),
        },
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Bad> {
    bytes.try_into().map_err(|_| Bad::Corrupt)
}

fn integer(meaning: Meaning, number: i128) -> Json {
    match meaning {
        Meaning::Date => {
            let time = time(EPOCH + number * DAY);
            if let Json::String(text) = &time { text[..10].into() } else { time }
        }
        Meaning::Time { times, over } => time(EPOCH + number * i128::from(times) / i128::from(over)),
        Meaning::Decimal { scale } => decimal(number, scale),
        Meaning::Plain | Meaning::Text | Meaning::Unsigned => i64::try_from(number).map_or(Json::Null, Json::from),
    }
}

/// Beyond the years that can be written, null.
fn time(ticks: i128) -> Json {
    match u64::try_from(ticks) {
        Ok(ticks) if i128::from(ticks) <= END => Timestamp::from_ticks(ticks).to_iso().into(),
        Ok(_) | Err(_) => Json::Null,
    }
}

/// A number while a double has its digits, else text.
fn decimal(number: i128, scale: u32) -> Json {
    let digits = format!("{:0width$}", number.unsigned_abs(), width = scale as usize % 64 + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize % 64);
    let sign = if number < 0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    let text = format!("{sign}{whole}{point}{fraction}");
    if fraction.is_empty()
        && let Ok(whole) = text.parse::<i64>()
    {
        return whole.into();
    }
    match digits.len() {
        ..=15 => text.parse().map_or(Json::Null, float),
        _ => text.into(),
    }
}

fn float(number: f64) -> Json {
    Number::from_f64(number).map_or(Json::Null, Json::Number)
}

fn text(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => STANDARD.encode(bytes).into(),
    }
}
