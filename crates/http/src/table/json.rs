//! Entities in JSON, as OData 3 has it: read from one flat object, written with as much metadata as was asked for. Writing goes
//! straight into a string, because pages are long.

mod read;

pub use read::{read_entity, read_table, written};

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::table::{Entity, Key, Value};

use super::format::Level;
use super::{links, numbers};

/// Text in quotes, as the service writes it: everything but plain ASCII is escaped.
pub fn string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    loop {
        let plain = plain(rest.as_bytes());
        if plain == rest.len() {
            break;
        }
        let (plain, odd) = rest.split_at(plain);
        out.push_str(plain);
        let mut chars = odd.chars();
        chars.next().iter().for_each(|c| escape(out, *c));
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// How many bytes stand for themselves, up to the first that does not. Pages of entities consist of little else, so they are
/// looked at sixteen at a time.
fn plain(text: &[u8]) -> usize {
    let is_odd = |byte: u8| !(b' '..0x80).contains(&byte) || byte == b'"' || byte == b'\\';
    let (chunks, _) = text.as_chunks::<16>();
    let clean =
        chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |odd, byte| odd | is_odd(*byte))).count() * 16;
    clean + text[clean..].iter().take_while(|byte| !is_odd(**byte)).count()
}

fn escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
            let _ = write!(out, "\\u{unit:04x}");
        }),
    }
}

/// What all entities of an answer have in common.
pub struct Writing<'a> {
    pub level: Level,
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub account: &'a str,
    pub table: &'a str,
    /// Only these properties; `None` is all.
    pub select: Option<&'a [String]>,
}

/// Members of an object, one after the other.
struct Members<'a> {
    out: &'a mut String,
    first: bool,
}

impl Members<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        string(self.out, name);
        self.out.push(':');
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        string(self.out, text);
    }
}

impl Writing<'_> {
    fn selected(&self, name: &str) -> bool {
        self.select.is_none_or(|select| select.iter().any(|wanted| wanted == name))
    }

    /// An entity as an object. `metadata` goes first, when it is the whole of an answer.
    pub fn entity(&self, out: &mut String, metadata: Option<&str>, key: &Key, entity: &Entity) {
        out.push('{');
        let mut members = Members { out, first: true };
        self.annotate(&mut members, metadata, key, entity);
        if self.selected("PartitionKey") {
            members.text("PartitionKey", &key.partition);
        }
        if self.selected("RowKey") {
            members.text("RowKey", &key.row);
        }
        if self.selected("Timestamp") {
            if self.level == Level::Full {
                members.text("Timestamp@odata.type", "Edm.DateTime");
            }
            members.text("Timestamp", &entity.modified.to_iso_short());
        }
        for (name, value) in entity.properties.iter().filter(|(name, _)| self.selected(name)) {
            self.property(&mut members, name, value);
        }
        let missing = |name: &&String| {
            !matches!(name.as_str(), "PartitionKey" | "RowKey" | "Timestamp")
                && !entity.properties.iter().any(|(found, _)| found == *name)
        };
        for name in self.select.unwrap_or_default().iter().filter(missing) {
            members.name(name);
            members.out.push_str("null");
        }
        members.out.push('}');
    }

    fn annotate(&self, members: &mut Members<'_>, metadata: Option<&str>, key: &Key, entity: &Entity) {
        if self.level == Level::None {
            return;
        }
        if let Some(metadata) = metadata {
            members.text("odata.metadata", metadata);
        }
        if self.level == Level::Full {
            let link = links::entity(self.table, key);
            members.text("odata.type", &format!("{}.{}", self.account, self.table));
            members.text("odata.id", &format!("{}{link}", self.endpoint));
            members.text("odata.etag", &entity.tag().to_string());
            members.text("odata.editLink", &link);
        } else {
            members.text("odata.etag", &entity.tag().to_string());
        }
    }

    fn property(&self, members: &mut Members<'_>, name: &str, value: &Value) {
        let kind = match value {
            Value::String(_) | Value::Boolean(_) | Value::Int32(_) => None,
            Value::Double(value) if value.is_finite() => None,
            Value::Double(_) => Some("Edm.Double"),
            Value::Binary(_) => Some("Edm.Binary"),
            Value::Int64(_) => Some("Edm.Int64"),
            Value::DateTime(_) => Some("Edm.DateTime"),
            Value::Guid(_) => Some("Edm.Guid"),
        };
        if let Some(kind) = kind.filter(|_| self.level != Level::None) {
            members.text(&format!("{name}@odata.type"), kind);
        }
        members.name(name);
        let out = &mut *members.out;
        match value {
            Value::String(text) => string(out, text),
            Value::Binary(bytes) => string(out, &STANDARD.encode(bytes)),
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Int32(value) => {
                let _ = write!(out, "{value}");
            }
            Value::Int64(value) => {
                let _ = write!(out, "\"{value}\"");
            }
            Value::Double(value) if value.is_finite() => numbers::json(out, *value),
            Value::Double(value) => string(out, special(*value)),
            Value::DateTime(value) => string(out, &value.to_iso_short()),
            Value::Guid(value) => {
                let _ = write!(out, "\"{value}\"");
            }
        }
    }

    /// A table as an object: `{"TableName":"…"}`.
    pub fn table(&self, out: &mut String, metadata: Option<&str>, name: &str) {
        out.push('{');
        let mut members = Members { out, first: true };
        if let Some(metadata) = metadata.filter(|_| self.level != Level::None) {
            members.text("odata.metadata", metadata);
        }
        if self.level == Level::Full {
            let link = links::table(name);
            members.text("odata.type", &format!("{}.Tables", self.account));
            members.text("odata.id", &format!("{}{link}", self.endpoint));
            members.text("odata.editLink", &link);
        }
        members.text("TableName", name);
        members.out.push('}');
    }

    /// `{"odata.metadata":"…","value":[…]}`
    pub fn list<T>(&self, metadata: &str, items: &[T], mut one: impl FnMut(&mut String, &T)) -> String {
        let mut out = String::with_capacity(256 + items.len() * 256);
        out.push('{');
        let mut members = Members { out: &mut out, first: true };
        if self.level != Level::None {
            members.text("odata.metadata", metadata);
        }
        members.name("value");
        out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            one(&mut out, item);
        }
        out.push_str("]}");
        out
    }
}

/// Doubles that are no numbers.
fn special(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

#[cfg(test)]
mod tests;
