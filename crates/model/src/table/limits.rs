//! What an entity may be ("Understanding the Table service data model"), checked in the order in which the service was
//! seen to complain.

use super::value::units;
use super::{Key, Refused, Value};
use crate::{Refusal, Timestamp};

/// Besides the keys and the timestamp.
pub const PROPERTIES_MAX: usize = 252;
/// Of each key: 1 KiB in UTF-16.
pub const KEY_UNITS_MAX: usize = 512;
const NAME_MAX: usize = 255;
const STRING_UNITS_MAX: usize = 32 << 10;
const BINARY_MAX: usize = 64 << 10;
const ENTITY_MAX: usize = 1 << 20;
/// 1601-01-01: the first day that a DateTime can say.
const FIRST_DAY: Timestamp = Timestamp::from_ticks(504_911_232_000_000_000);

/// Whether an entity with these keys may have these properties.
pub fn check(key: &Key, properties: &[(String, Value)]) -> Result<(), Refusal> {
    check_key("PartitionKey", &key.partition)?;
    check_key("RowKey", &key.row)?;
    if properties.len() > PROPERTIES_MAX {
        return Err(Refused::TooManyProperties.into());
    }
    let mut size = 4 + 2 * (units(&key.partition) + units(&key.row));
    for (name, value) in properties {
        check_name(name)?;
        check_value(name, value)?;
        size += 8 + 2 * units(name) + value.size();
    }
    if size > ENTITY_MAX { Err(Refused::EntityTooLarge.into()) } else { Ok(()) }
}

pub(super) fn check_key(name: &'static str, value: &str) -> Result<(), Refusal> {
    if units(value) > KEY_UNITS_MAX {
        return Err(Refused::KeyValueTooLarge.into());
    }
    let forbidden = |c: char| c.is_control() || matches!(c, '/' | '\\' | '#' | '?');
    if value.contains(forbidden) {
        return Err(Refused::OutOfRange { name: name.to_owned(), value: value.to_owned() }.into());
    }
    Ok(())
}

/// A C# identifier: letters, digits and underscores, and no digit first.
fn check_name(name: &str) -> Result<(), Refusal> {
    if units(name) > NAME_MAX {
        return Err(Refused::PropertyNameTooLong.into());
    }
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    if first && characters.all(|c| c == '_' || c.is_alphanumeric() || is_mark(c)) {
        Ok(())
    } else {
        Err(Refused::PropertyNameInvalid.into())
    }
}

/// Marks and joiners that identifiers may continue with.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}' | '\u{200c}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}')
}

fn check_value(name: &str, value: &Value) -> Result<(), Refusal> {
    match value {
        Value::String(text) if units(text) > STRING_UNITS_MAX => Err(Refused::PropertyValueTooLarge.into()),
        Value::Binary(bytes) if bytes.len() > BINARY_MAX => Err(Refused::PropertyValueTooLarge.into()),
        Value::DateTime(time) if *time < FIRST_DAY => {
            Err(Refused::OutOfRange { name: name.to_owned(), value: time.to_iso_short() }.into())
        }
        Value::String(_) | Value::Binary(_) | Value::DateTime(_) => Ok(()),
        Value::Boolean(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Guid(_) => Ok(()),
    }
}
