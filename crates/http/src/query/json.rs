//! JSON records: values one after the other, with whatever blank or separator between them.

use serde_json::Value as Json;

use super::evaluate::{Absent, Record};
use super::sql::Step;
use super::value::Value;
use super::{Mistake, RECORD_MAX};

/// Reads values out of bytes as they come.
#[derive(Default)]
pub struct Reader {
    kept: Vec<u8>,
    position: u64,
    separator: Vec<u8>,
}

impl Reader {
    pub fn new(separator: &str) -> Self {
        Self { separator: separator.as_bytes().to_vec(), ..Self::default() }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
    }

    /// The next values, as many as are whole. `act` says whether it wants more.
    pub fn values(&mut self, end: bool, mut act: impl FnMut(Json, u64) -> bool) -> Result<(), Mistake> {
        let kept = std::mem::take(&mut self.kept);
        let mut from = 0;
        let outcome = loop {
            from += self.between(&kept[from..]);
            if from == kept.len() {
                break Ok(());
            }
            let mut values = serde_json::Deserializer::from_slice(&kept[from..]).into_iter::<Json>();
            match values.next() {
                // A number at the very end may go on.
                Some(Ok(Json::Number(_))) if !end && from + values.byte_offset() == kept.len() => break Ok(()),
                Some(Ok(value)) => {
                    let position = self.position + from as u64;
                    from += values.byte_offset();
                    if !act(value, position) {
                        break Ok(());
                    }
                }
                Some(Err(error)) if error.is_eof() && !end && kept.len() - from <= RECORD_MAX => break Ok(()),
                Some(Err(error)) => break Err(self.mistake(&kept[from..], from, &error)),
                None => break Ok(()),
            }
        };
        self.position += from as u64;
        self.kept = kept[from..].to_vec();
        outcome
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
    fn mistake(&self, record: &[u8], from: usize, error: &serde_json::Error) -> Mistake {
        let lines = record.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let at = lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let position = self.position + from as u64;
        let byte = position + at as u64;
        let expected =
            if error.to_string().starts_with("key must be a string") { " Expecting token '\"'. " } else { " " };
        let description = match record.get(at) {
            Some(token) if !error.is_eof() => {
                format!("Unexpected token '{}' at [byte: {byte}].{expected}", *token as char)
            }
            Some(_) | None => format!("Unexpected end of input at [byte: {byte}]. "),
        };
        Mistake { fatal: true, name: "ParseError", description, position }
    }
}

/// The records in a value: what `FROM BlobStorage[*].a.b[*]` names.
pub fn within(value: Json, path: &[Step], act: &mut dyn FnMut(Json) -> bool) -> bool {
    match path.split_first() {
        None => act(value),
        // The blob itself is the sequence that the first `[*]` goes through.
        Some((Step::Each, rest)) => match value {
            Json::Array(items) => items.into_iter().all(|item| within(item, rest, act)),
            other => within(other, rest, act),
        },
        Some((step, rest)) => match at(&value, step) {
            Some(inner) => within(inner.clone(), rest, act),
            None => true,
        },
    }
}

fn at<'a>(value: &'a Json, step: &Step) -> Option<&'a Json> {
    match step {
        Step::Name(name) => {
            let members = value.as_object()?;
            members
                .get(name)
                .or_else(|| members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
        }
        Step::Index(index) => value.as_array()?.get(*index),
        Step::Each => Some(value),
    }
}

impl Record for Json {
    fn get(&self, path: &[Step]) -> Result<Value, Absent> {
        let mut value = self;
        for step in path {
            match at(value, step) {
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
            if let Err(mistake) = reader.values(false, |value, at| {
                seen.push((at, value.to_string()));
                true
            }) {
                return (seen, Some(mistake));
            }
        }
        let end = reader.values(true, |value, at| {
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

    #[test]
    fn mistakes_are_worded_as_recorded() {
        let (seen, mistake) = read("{name: owner}\n{name2: owner2}", 100);
        assert!(seen.is_empty());
        let description = "Unexpected token 'n' at [byte: 1]. Expecting token '\"'. ".to_owned();
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
            seen.push(Record::get(&record, &[name("c")]));
            true
        });
        assert_eq!(seen, [Ok(Value::Int(1)), Ok(Value::Int(2))]);
    }
}
