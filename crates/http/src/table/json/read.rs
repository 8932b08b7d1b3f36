//! Reading an entity: one object whose values are plain. What is nested is refused where it begins, so nothing here recurses.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::table::{Guid, Refused, Value, read_time};

use crate::refusal::Refusal;
use crate::table::ask::Sent;

/// A value as it stands in the text.
enum Plain<'a> {
    Text(Cow<'a, str>),
    Number(&'a str),
    Flag(bool),
    Null,
}

const TYPE: &str = "@odata.type";
const FEW: usize = 16;

/// Members of an object: properties with their types, those that are null, and what is said of the entity itself. More than an entity
/// can have.
const MEMBERS_MAX: usize = 1024;

/// An entity as the client wrote it. Properties that are null are as if they had not been sent.
pub fn read_entity(body: &[u8]) -> Result<Sent, Refusal> {
    let members = object(body)?;
    let mut kinds: Vec<(&str, &str)> = members
        .iter()
        .filter_map(|(name, value)| match value {
            Plain::Text(kind) => Some((name.strip_suffix(TYPE)?, kind.as_ref())),
            Plain::Number(_) | Plain::Flag(_) | Plain::Null => None,
        })
        .collect();
    // Few are quickly looked through; many are sorted first. Of several of one name the first counts.
    let is_sorted = kinds.len() > FEW;
    if is_sorted {
        kinds.sort_by_key(|(of, _)| *of);
    }
    let kind_of = |name: &str| {
        let from = if is_sorted { kinds.partition_point(|(of, _)| *of < name) } else { 0 };
        kinds[from..].iter().take(FEW).find(|(of, _)| *of == name).map(|(_, kind)| *kind)
    };
    // Annotations say something about the entity or about a property; what they say of the entity is ours to say.
    let is_property = |name: &str| !name.contains('@') && !name.starts_with("odata.");
    let mut sent = Sent::default();
    // Of few, all that came before are quickly looked through.
    let mut seen = (members.len() > FEW).then(HashSet::new);
    for (at, (name, value)) in members.iter().enumerate().filter(|(_, (name, _))| is_property(name)) {
        let again = match &mut seen {
            Some(seen) => !seen.insert(name),
            None => members[..at].iter().any(|(before, _)| before == name),
        };
        if again {
            return Err(Refused::DuplicatePropertiesSpecified.into());
        }
        sent.take(name, typed(value, kind_of(name))?)?;
    }
    Ok(sent)
}

/// The name that Create Table gives.
pub fn read_table(body: &[u8]) -> Result<Option<String>, Refusal> {
    let name = object(body)?.into_iter().find(|(name, _)| name == "TableName");
    match name {
        Some((_, Plain::Text(text))) => Ok(Some(text.into_owned())),
        Some((_, Plain::Null)) | None => Ok(None),
        Some((_, Plain::Number(_) | Plain::Flag(_))) => Err(Refused::unreadable().into()),
    }
}

/// A value of the type that its annotation says, or that its look says. `None` is null.
fn typed(value: &Plain<'_>, kind: Option<&str>) -> Result<Option<Value>, Refusal> {
    let read = match (kind.map(|kind| kind.strip_prefix("Edm.").unwrap_or(kind)), value) {
        (_, Plain::Null) => return Ok(None),
        (None, Plain::Text(text)) | (Some("String"), Plain::Text(text)) => {
            Some(Value::String(text.clone().into_owned()))
        }
        (None | Some("Boolean"), Plain::Flag(flag)) => Some(Value::Boolean(*flag)),
        (None, Plain::Number(digits)) => number(digits),
        (Some("Double"), Plain::Number(digits)) => double(digits),
        (Some("Int32"), Plain::Number(digits)) => digits.parse().ok().map(Value::Int32),
        (Some("Int64"), Plain::Number(digits)) => digits.parse().ok().map(Value::Int64),
        (Some(kind), Plain::Text(text)) => written(kind, text),
        (Some(_), Plain::Number(_) | Plain::Flag(_)) => None,
    };
    read.map(Some).ok_or_else(|| Refused::unreadable().into())
}

/// A value of any type but a string, as text. Atom has all of them so.
pub fn written(kind: &str, text: &str) -> Option<Value> {
    match kind {
        "Boolean" => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Value::Boolean(true)),
            "false" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        "Int32" => text.trim().parse().ok().map(Value::Int32),
        "Int64" => text.trim().parse().ok().map(Value::Int64),
        "Double" => double(text.trim()),
        "DateTime" => read_time(text).map(Value::DateTime),
        "Guid" => Guid::parse(text).map(Value::Guid),
        "Binary" => STANDARD.decode(text.trim()).ok().map(Value::Binary),
        "String" => Some(Value::String(text.to_owned())),
        _ => None,
    }
}

fn double(text: &str) -> Option<Value> {
    let value = match text {
        "NaN" => f64::NAN,
        "Infinity" | "INF" => f64::INFINITY,
        "-Infinity" | "-INF" => f64::NEG_INFINITY,
        _ => text.parse().ok().filter(|value: &f64| value.is_finite())?,
    };
    Some(Value::Double(value))
}

/// Whole and small is an Int32; everything else a Double, as OData's reader has it.
fn number(digits: &str) -> Option<Value> {
    digits.parse().ok().map(Value::Int32).or_else(|| double(digits))
}

/// The members of the one object that the body is, in their order.
fn object(body: &[u8]) -> Result<Vec<(Cow<'_, str>, Plain<'_>)>, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refused::unreadable())?;
    let mut text = Text { rest: text.strip_prefix('\u{feff}').unwrap_or(text) };
    let members = text.members().ok_or_else(Refused::unreadable)?;
    if members.len() > MEMBERS_MAX { Err(Refused::TooManyProperties.into()) } else { Ok(members) }
}

struct Text<'a> {
    rest: &'a str,
}

impl<'a> Text<'a> {
    fn members(&mut self) -> Option<Vec<(Cow<'a, str>, Plain<'a>)>> {
        let mut members = Vec::with_capacity(FEW);
        self.expect('{')?;
        if self.take('}') {
            return self.at_end().then_some(members);
        }
        loop {
            self.expect('"')?;
            let name = self.string()?;
            self.expect(':')?;
            members.push((name, self.value()?));
            // One more than there may be is enough to see.
            if members.len() > MEMBERS_MAX {
                return Some(members);
            }
            if self.take(',') {
                continue;
            }
            self.expect('}')?;
            return self.at_end().then_some(members);
        }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Option<()> {
        self.take(mark).then_some(())
    }

    fn at_end(&mut self) -> bool {
        self.skip();
        self.rest.is_empty()
    }

    fn value(&mut self) -> Option<Plain<'a>> {
        if self.take('"') {
            return self.string().map(Plain::Text);
        }
        let end = self.rest.find([',', '}', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "true" => Some(Plain::Flag(true)),
            "false" => Some(Plain::Flag(false)),
            "null" => Some(Plain::Null),
            _ => is_number(word).then_some(Plain::Number(word)),
        }
    }

    /// What follows an opening quote, up to the closing one: as it stands there, unless something in it is escaped.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let mut out = String::new();
        loop {
            let end = self.rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
            let (plain, rest) = self.rest.split_at(end);
            if let Some(rest) = rest.strip_prefix('"') {
                self.rest = rest;
                if out.is_empty() {
                    return Some(Cow::Borrowed(plain));
                }
                out.push_str(plain);
                return Some(Cow::Owned(out));
            }
            if !rest.starts_with('\\') {
                return None;
            }
            out.push_str(plain);
            let escape = rest[1..].chars().next()?;
            self.rest = &rest[1 + escape.len_utf8()..];
            out.push(match escape {
                '"' | '\\' | '/' => escape,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => self.escaped()?,
                _ => return None,
            });
        }
    }

    /// A character in one or two `\u` escapes, the first of which has begun.
    fn escaped(&mut self) -> Option<char> {
        let first = self.unit()?;
        let units = if (0xd800..0xdc00).contains(&first) {
            self.rest = self.rest.strip_prefix("\\u")?;
            vec![first, self.unit()?]
        } else {
            vec![first]
        };
        char::decode_utf16(units).next()?.ok()
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.rest = &self.rest[4..];
        u16::from_str_radix(digits, 16).ok()
    }
}

/// As JSON defines one.
fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && fraction.is_none_or(digits) && exponent.is_none_or(digits)
}
