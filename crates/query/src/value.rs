//! The values of a query: what a field of a record holds, and what expressions make of it.

use std::borrow::Cow;
use std::cmp::Ordering;

use lazuli_model::Timestamp;

/// Text and JSON of a record or of the query are not copied.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// The record has no such member. Left out of JSON; otherwise as null.
    Missing,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Time(Timestamp),
    /// An array or an object.
    Json(Cow<'a, serde_json::Value>),
}

/// A value is not what the expression wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadType;

impl<'a> Value<'a> {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Missing | Value::Null)
    }

    pub fn of_json(value: &'a serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(number) => Value::Int(number),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(Cow::Borrowed(text)),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => Value::Json(Cow::Borrowed(value)),
        }
    }

    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Missing | Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(number) => (*number).into(),
            Value::Float(number) => serde_json::Number::from_f64(*number).map_or(serde_json::Value::Null, Into::into),
            Value::Text(text) => text.as_ref().into(),
            Value::Time(time) => time.to_iso().into(),
            Value::Json(value) => value.as_ref().clone(),
        }
    }

    /// As delimited text has it.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Value::Missing | Value::Null => Cow::Borrowed(""),
            Value::Bool(value) => value.to_string().into(),
            Value::Int(number) => number.to_string().into(),
            Value::Float(number) => number.to_string().into(),
            Value::Text(text) => Cow::Borrowed(text),
            Value::Time(time) => time.to_iso().into(),
            Value::Json(value) => value.to_string().into(),
        }
    }

    pub fn into_text(self) -> Cow<'a, str> {
        if let Value::Text(text) = self { text } else { self.to_text().into_owned().into() }
    }

    /// Apart from the record that it is of.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Missing => Value::Missing,
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(number) => Value::Int(number),
            Value::Float(number) => Value::Float(number),
            Value::Text(text) => Value::Text(text.into_owned().into()),
            Value::Time(time) => Value::Time(time),
            Value::Json(value) => Value::Json(Cow::Owned(value.into_owned())),
        }
    }

    /// Bytes that have to be looked at to make something else of it.
    pub fn size(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Missing | Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Time(_) => 0,
            Value::Json(_) => 0,
        }
    }

    pub fn to_int(&self) -> Result<Value<'static>, BadType> {
        Ok(match self {
            Value::Missing | Value::Null => Value::Null,
            Value::Bool(value) => Value::Int(i64::from(*value)),
            Value::Int(number) => Value::Int(*number),
            Value::Float(number) if number.is_finite() && number.abs() < 9.2e18 => Value::Int(*number as i64),
            Value::Text(text) => {
                let number = number(text).ok_or(BadType)?;
                if let Value::Float(_) = number { number.to_int()? } else { number }
            }
            Value::Float(_) | Value::Time(_) | Value::Json(_) => return Err(BadType),
        })
    }

    pub fn to_float(&self) -> Result<Value<'static>, BadType> {
        Ok(match self {
            Value::Missing | Value::Null => Value::Null,
            Value::Int(number) => Value::Float(*number as f64),
            Value::Float(number) => Value::Float(*number),
            Value::Text(text) => Value::Float(text.trim().parse().map_err(|_| BadType)?),
            Value::Bool(_) | Value::Time(_) | Value::Json(_) => return Err(BadType),
        })
    }

    pub fn to_bool(&self) -> Result<Value<'static>, BadType> {
        Ok(match self {
            Value::Missing | Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Int(number) => Value::Bool(*number != 0),
            Value::Text(text) if text.trim().eq_ignore_ascii_case("true") => Value::Bool(true),
            Value::Text(text) if text.trim().eq_ignore_ascii_case("false") => Value::Bool(false),
            Value::Text(_) | Value::Float(_) | Value::Time(_) | Value::Json(_) => return Err(BadType),
        })
    }

    pub fn to_time(&self) -> Result<Value<'static>, BadType> {
        Ok(match self {
            Value::Missing | Value::Null => Value::Null,
            Value::Time(time) => Value::Time(*time),
            Value::Text(text) => Value::Time(Timestamp::parse_iso(text.trim()).ok_or(BadType)?),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Json(_) => return Err(BadType),
        })
    }

    /// Fields of delimited text are all text, so a comparison with something else makes them that. `None`: one of them is null.
    pub fn compare(&self, other: &Value<'_>) -> Result<Option<Ordering>, BadType> {
        use Value::*;
        Ok(match (self, other) {
            (Missing | Null, _) | (_, Missing | Null) => None,
            (Text(a), Text(b)) => Some(a.cmp(b)),
            (Bool(a), Bool(b)) => Some(a.cmp(b)),
            (Int(a), Int(b)) => Some(a.cmp(b)),
            (Time(a), Time(b)) => Some(a.cmp(b)),
            (Float(a), Float(b)) => a.partial_cmp(b),
            (Int(a), Float(b)) => (*a as f64).partial_cmp(b),
            (Float(a), Int(b)) => a.partial_cmp(&(*b as f64)),
            (Text(text), Int(_) | Float(_)) => number(text).ok_or(BadType)?.compare(other)?,
            (Int(_) | Float(_), Text(text)) => self.compare(&number(text).ok_or(BadType)?)?,
            (Text(_), Bool(_)) => self.to_bool()?.compare(other)?,
            (Bool(_), Text(_)) => self.compare(&other.to_bool()?)?,
            (Text(_), Time(_)) => self.to_time()?.compare(other)?,
            (Time(_), Text(_)) => self.compare(&other.to_time()?)?,
            (Bool(_), Int(_) | Float(_) | Time(_)) | (Int(_) | Float(_) | Time(_), Bool(_)) => return Err(BadType),
            (Time(_), Int(_) | Float(_)) | (Int(_) | Float(_), Time(_)) => return Err(BadType),
            (Json(_), _) | (_, Json(_)) => return Err(BadType),
        })
    }
}

/// A whole number if it is one.
pub fn number(text: &str) -> Option<Value<'static>> {
    let text = text.trim();
    text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float)).ok()
}
