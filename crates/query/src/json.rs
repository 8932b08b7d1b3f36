//! JSON records: values one after the other, with whatever blank or separator between them.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::budget::Budget;
use crate::evaluate::{Absent, Record};
use crate::sql::Step;
use crate::value::Value;
use crate::{Mistake, RECORD_MAX};

/// Memory of one value, about.
const VALUE_BYTES_MAX: usize = 64 << 20;
const VALUE_BYTES: usize = 32;
/// An array or an object that is not empty has room for some more.
const ARRAY_BYTES: usize = 4 * VALUE_BYTES;
const MEMBER_BYTES: usize = 96;

/// Reads values out of bytes as they come. What makes no value yet is tried again only when there is twice as much of it, so that a
/// value costs what it is long, however it came.
#[derive(Default)]
pub struct Reader {
    kept: Vec<u8>,
    /// Where in what is kept the next value begins.
    from: usize,
    /// Not worth a try before there are so many bytes.
    wanted: usize,
    position: u64,
    /// Behind the last object or array.
    structured: u64,
    separator: Vec<u8>,
}

/// Why there are no more values for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// What was fed has no more.
    Used,
    /// Nobody wants more.
    Stopped,
}

impl Reader {
    pub fn new(separator: &str) -> Self {
        Self { separator: separator.as_bytes().to_vec(), ..Self::default() }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        if self.from * 2 >= self.kept.len() {
            self.kept.drain(..self.from);
            self.from = 0;
        }
        self.kept.extend_from_slice(bytes);
    }

    /// The next values, as many as are whole. `act` says whether it wants more; it is told how long each is, too.
    pub fn values(&mut self, end: bool, mut act: impl FnMut(Json, u64, usize) -> bool) -> Result<Read, Mistake> {
        let kept = std::mem::take(&mut self.kept);
        let outcome = loop {
            self.pass(self.between(&kept[self.from..]));
            let rest = &kept[self.from..];
            if rest.is_empty() || (!end && rest.len() < self.wanted) {
                break Ok(Read::Used);
            }
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Bounded>();
            match values.next() {
                // A number at the very end may go on.
                Some(Ok(Bounded(Json::Number(_)))) if !end && values.byte_offset() == rest.len() => {
                    break Ok(Read::Used);
                }
                Some(Ok(Bounded(value))) => {
                    let (position, length) = (self.position, values.byte_offset());
                    self.pass(length);
                    if value.is_object() || value.is_array() {
                        self.structured = self.position;
                    }
                    if !act(value, position, length) {
                        break Ok(Read::Stopped);
                    }
                }
                Some(Err(error)) if error.is_eof() && !end && rest.len() <= RECORD_MAX => {
                    self.wanted = (2 * rest.len()).min(RECORD_MAX + 1);
                    break Ok(Read::Used);
                }
                Some(Err(error)) if error.is_data() => break Err(Mistake::too_large(self.position)),
                Some(Err(error)) => break Err(self.mistake(rest, &error)),
                None => break Ok(Read::Used),
            }
        };
        self.kept = kept;
        outcome
    }

    fn pass(&mut self, bytes: usize) {
        self.from += bytes;
        self.position += bytes as u64;
        if bytes > 0 {
            self.wanted = 0;
        }
    }

    /// How many bytes lie before the next value.
    fn between(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            if !self.separator.is_empty() && rest.starts_with(&self.separator) {
                at += self.separator.len();
            } else if rest.first().is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            } else {
                return at;
            }
        }
    }

    /// Worded as recorded, as far as the recordings go.
    fn mistake(&self, record: &[u8], error: &serde_json::Error) -> Mistake {
        let lines = record.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let at = lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let byte = self.position + at as u64;
        let expected = match error.to_string().starts_with("key must be a string") {
            true => " Expecting token '\"'. ",
            // Rule B14: something else than a record.
            false if at == 0 => " Expecting tokens '{', or '['. ",
            false => " ",
        };
        let position = self.structured;
        let description = match record.get(at) {
            Some(token) if !error.is_eof() => {
                format!("Unexpected token '{}' at [byte: {byte}].{expected}", *token as char)
            }
            Some(_) | None => format!("Unexpected end of input at [byte: {byte}]. "),
        };
        Mistake { fatal: true, name: "ParseError", description, position }
    }
}

/// A value that takes no more memory than it may: one of four bytes can take a hundred and sixty.
struct Bounded(Json);

impl<'de> Deserialize<'de> for Bounded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let room = Cell::new(VALUE_BYTES_MAX);
        Build { room: &room }.deserialize(deserializer).map(Bounded)
    }
}

#[derive(Clone, Copy)]
struct Build<'a> {
    room: &'a Cell<usize>,
}

impl Build<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.room.get().checked_sub(bytes).ok_or_else(|| E::custom("too large"))?;
        self.room.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        self.take(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            self.take(if array.is_empty() { ARRAY_BYTES } else { VALUE_BYTES })?;
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.take(MEMBER_BYTES + name.len() + if object.is_empty() { ARRAY_BYTES } else { 0 })?;
            object.insert(name, members.next_value_seed(self)?);
        }
        Ok(Json::Object(object))
    }
}

/// The records in a value: what `FROM BlobStorage[*].a.b[*]` names. Recursion goes no deeper than the path is long.
pub fn within(value: Json, path: &[Step], act: &mut dyn FnMut(Json) -> bool) -> bool {
    match path.split_first() {
        None => act(value),
        // The blob itself is the sequence that the first `[*]` goes through.
        Some((Step::Each, rest)) => match value {
            Json::Array(items) => items.into_iter().all(|item| within(item, rest, act)),
            one @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
                within(one, rest, act)
            }
        },
        Some((step, rest)) => match taken(value, step) {
            Some(inner) => within(inner, rest, act),
            None => true,
        },
    }
}

fn taken(value: Json, step: &Step) -> Option<Json> {
    match (step, value) {
        (Step::Name(name), Json::Object(mut members)) => {
            let key = members.keys().find(|key| key.as_str() == name);
            let key = key.or_else(|| members.keys().find(|key| key.eq_ignore_ascii_case(name)))?.clone();
            members.swap_remove(&key)
        }
        (Step::Index(index), Json::Array(mut items)) => (*index < items.len()).then(|| items.swap_remove(*index)),
        (Step::Each, value) => Some(value),
        (Step::Name(_) | Step::Index(_), _) => None,
    }
}

fn at<'a>(value: &'a Json, step: &Step, budget: &Budget) -> Result<Option<&'a Json>, Absent> {
    match step {
        Step::Name(name) => {
            let Some(members) = value.as_object() else { return Ok(None) };
            if let Some(found) = members.get(name) {
                return Ok(Some(found));
            }
            budget.steps(1 + members.len() as u64 / 4)?;
            Ok(members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
        }
        Step::Index(index) => Ok(value.as_array().and_then(|items| items.get(*index))),
        Step::Each => Ok(Some(value)),
    }
}

impl Record for Json {
    fn get(&self, path: &[Step], budget: &Budget) -> Result<Value<'_>, Absent> {
        let mut value = self;
        for step in path {
            match at(value, step, budget)? {
                Some(inner) => value = inner,
                None => return Ok(Value::Missing),
            }
        }
        Ok(Value::of_json(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, step: usize) -> (Vec<(u64, String)>, Option<Mistake>) {
        let mut reader = Reader::new("\n");
        let mut seen = Vec::new();
        for part in text.as_bytes().chunks(step) {
            reader.feed(part);
            if let Err(mistake) = reader.values(false, |value, at, _| {
                seen.push((at, value.to_string()));
                true
            }) {
                return (seen, Some(mistake));
            }
        }
        let end = reader.values(true, |value, at, _| {
            seen.push((at, value.to_string()));
            true
        });
        (seen, end.err())
    }

    #[test]
    fn however_the_bytes_come_the_values_are_the_same() {
        let text = "{\"name\": \"owner\", \"id\": 1}{\"b\":[1,2.5,null]}\n 12 \"é\"";
        for step in 1..text.len() {
            let (seen, mistake) = read(text, step);
            let texts: Vec<&str> = seen.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, [r#"{"name":"owner","id":1}"#, r#"{"b":[1,2.5,null]}"#, "12", "\"é\""], "by {step}");
            assert_eq!(seen[1].0, 26);
            assert_eq!(mistake, None);
        }
    }

    /// C3: a value that comes byte by byte was read from its start each time.
    #[test]
    fn a_value_in_many_pieces_costs_what_it_is_long() {
        let text = format!("\"{}\" 1", "x".repeat(1_000_000));
        let (seen, mistake) = read(&text, 1);
        assert_eq!((seen.len(), mistake), (2, None));
    }

    /// M5: 4 MiB of `[0]` would take 168 MB.
    #[test]
    fn a_value_takes_no_more_memory_than_it_may() {
        let text = format!("[{}0]", "[0],".repeat(1_000_000));
        let (_, mistake) = read(&text, 1 << 20);
        assert_eq!(mistake.map(|mistake| mistake.name), Some("RecordTooLarge"));
        let (seen, mistake) = read(&format!("[{}0]", "0,".repeat(1_000_000)), 1 << 20);
        assert_eq!((seen.len(), mistake), (1, None));
    }

    #[test]
    fn mistakes_are_worded_as_recorded() {
        let (seen, mistake) = read("{name: owner}\n{name2: owner2}", 100);
        assert!(seen.is_empty());
        let description = "Unexpected token 'n' at [byte: 1]. Expecting token '\"'. ".to_owned();
        assert_eq!(mistake, Some(Mistake { fatal: true, name: "ParseError", description, position: 0 }));
        // Rule B14.
        let (seen, mistake) = read("100,200,300\n", 100);
        assert_eq!(seen.len(), 1);
        let description = "Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['. ".to_owned();
        assert_eq!(mistake, Some(Mistake { fatal: true, name: "ParseError", description, position: 0 }));
        assert!(read("{\"a\":", 100).1.is_some_and(|mistake| mistake.description.contains("end of input")));
        let deep = "[".repeat(100_000);
        assert!(read(&deep, 1000).1.is_some());
    }

    #[test]
    fn records_are_found_within() {
        let value: Json = serde_json::from_str(r#"{"a":{"b":[{"c":1},{"c":2}]}}"#).unwrap();
        let name = |text: &str| Step::Name(text.into());
        let mut seen = Vec::new();
        within(value, &[Step::Each, name("a"), name("b"), Step::Each], &mut |record| {
            seen.push(Record::get(&record, &[name("c")], &Budget::default()).map(Value::into_owned));
            true
        });
        assert_eq!(seen, [Ok(Value::Int(1)), Ok(Value::Int(2))]);
    }
}
