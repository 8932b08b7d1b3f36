//! Entities in JSON, as OData 3 has it: read from one flat object, written with as much metadata as was asked for. Writing goes
//! straight into a string, because pages are long.

mod read;

pub use read::{read_entity, read_table, written};

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Timestamp;
use lazuli_model::table::{Seen, Sight};

use super::format::Level;
use super::selection::Selection;
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
pub struct JsonWriting<'a> {
    pub level: Level,
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub account: &'a str,
    pub table: &'a str,
    /// Only these properties; `None` is all.
    pub select: Option<&'a Selection>,
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

    /// A name that needs no escaping.
    fn plain(&mut self, name: &str) {
        self.out.push_str(if std::mem::take(&mut self.first) { "\"" } else { ",\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    fn text(&mut self, name: &'static str, text: &str) {
        self.plain(name);
        string(self.out, text);
    }
}

impl JsonWriting<'_> {
    fn selected(&self, name: &str) -> bool {
        self.select.is_none_or(|select| select.has(name))
    }

    /// An entity as an object. `metadata` goes first, when it is the whole of an answer.
    pub fn entity(&self, out: &mut String, metadata: Option<&str>, entity: &Sight<'_>) {
        out.push('{');
        let mut members = Members { out, first: true };
        self.annotate(&mut members, metadata, entity);
        if self.selected("PartitionKey") {
            members.text("PartitionKey", entity.partition);
        }
        if self.selected("RowKey") {
            members.text("RowKey", entity.row);
        }
        if self.selected("Timestamp") {
            if self.level == Level::Full {
                members.text("Timestamp@odata.type", "Edm.DateTime");
            }
            members.plain("Timestamp");
            time(members.out, entity.modified);
        }
        for (name, value) in entity.properties.iter().filter(|(name, _)| self.selected(name)) {
            self.property(&mut members, name, *value);
        }
        let found = || entity.properties.iter().map(|(name, _)| *name);
        for name in self.select.iter().flat_map(|select| select.missing(found())) {
            members.name(name);
            members.out.push_str("null");
        }
        members.out.push('}');
    }

    fn annotate(&self, members: &mut Members<'_>, metadata: Option<&str>, entity: &Sight<'_>) {
        if self.level == Level::None {
            return;
        }
        if let Some(metadata) = metadata {
            members.text("odata.metadata", metadata);
        }
        if self.level == Level::Full {
            let link = links::entity(self.table, entity.partition, entity.row);
            members.text("odata.type", &format!("{}.{}", self.account, self.table));
            members.text("odata.id", &format!("{}{link}", self.endpoint));
            members.text("odata.etag", &entity.tag().to_string());
            members.text("odata.editLink", &link);
        } else {
            members.text("odata.etag", &entity.tag().to_string());
        }
    }

    fn property(&self, members: &mut Members<'_>, name: &str, value: Seen<'_>) {
        let kind = match value {
            Seen::String(_) | Seen::Boolean(_) | Seen::Int32(_) => None,
            Seen::Double(value) if value.is_finite() => None,
            Seen::Double(_) => Some("Edm.Double"),
            Seen::Binary(_) => Some("Edm.Binary"),
            Seen::Int64(_) => Some("Edm.Int64"),
            Seen::DateTime(_) => Some("Edm.DateTime"),
            Seen::Guid(_) => Some("Edm.Guid"),
        };
        if let Some(kind) = kind.filter(|_| self.level != Level::None) {
            members.name(name);
            // Back over its quote and colon.
            members.out.truncate(members.out.len() - 2);
            members.out.push_str("@odata.type\":\"");
            members.out.push_str(kind);
            members.out.push('"');
        }
        members.name(name);
        let out = &mut *members.out;
        match value {
            Seen::String(text) => string(out, text),
            Seen::Binary(bytes) => string(out, &STANDARD.encode(bytes)),
            Seen::Boolean(value) => out.push_str(if value { "true" } else { "false" }),
            Seen::Int32(value) => numbers::whole(out, value.into()),
            Seen::Int64(value) => {
                out.push('"');
                numbers::whole(out, value);
                out.push('"');
            }
            Seen::Double(value) if value.is_finite() => numbers::json(out, value),
            Seen::Double(value) => string(out, special(value)),
            Seen::DateTime(value) => time(out, value),
            Seen::Guid(value) => {
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
    pub fn list(&self, metadata: &str, count: usize, items: impl FnOnce(&mut Items)) -> String {
        let mut out = String::with_capacity(256 + count * 320);
        out.push('{');
        let mut members = Members { out: &mut out, first: true };
        if self.level != Level::None {
            members.text("odata.metadata", metadata);
        }
        members.name("value");
        out.push('[');
        let mut list = Items { out, first: true };
        items(&mut list);
        list.out.push_str("]}");
        list.out
    }
}

/// Items of a list, one after the other.
pub struct Items {
    out: String,
    first: bool,
}

impl Items {
    /// How long the answer is by now.
    pub fn length(&self) -> usize {
        self.out.len()
    }

    /// Where the next one is to be written.
    pub fn another(&mut self) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        &mut self.out
    }
}

fn time(out: &mut String, time: Timestamp) {
    out.push('"');
    time.write_iso_short(out);
    out.push('"');
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
