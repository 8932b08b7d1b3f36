//! Entities in Atom, for clients of versions before 2015-12-11. Elements and their order are those of the reference's examples.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Timestamp;
use lazuli_model::table::{Refused, Seen, Sight, Value};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ask::Sent;
use super::selection::Selection;
use super::{json, links, numbers};
use crate::refusal::Refusal;
use crate::wire::xml::{attribute, escape, is_char};

const NAMESPACES: &str = "xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" \
                          xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" xmlns=\"http://www.w3.org/2005/Atom\"";
const SCHEME: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme";
/// Elements of an entity, those that are null among them: more than it can have.
const MEMBERS_MAX: usize = 1024;
pub const CONTENT_TYPE_ENTRY: &str = "application/atom+xml;type=entry;charset=utf-8";
pub const CONTENT_TYPE_FEED: &str = "application/atom+xml;type=feed;charset=utf-8";

/// What all entries of an answer have in common.
pub struct AtomWriting<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub account: &'a str,
    /// The table's name, or `Tables`.
    pub table: &'a str,
    pub select: Option<&'a Selection>,
    pub now: Timestamp,
}

impl AtomWriting<'_> {
    /// An entry, or a feed of entries.
    pub fn document(&self, root: &str, inside: impl FnOnce(&mut String)) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>");
        let _ = write!(out, "<{root}");
        attribute(&mut out, "xml:base", self.endpoint);
        let _ = write!(out, " {NAMESPACES}>");
        inside(&mut out);
        let _ = write!(out, "</{root}>");
        out
    }

    pub fn feed(&self, entries: impl FnOnce(&mut String)) -> String {
        self.document("feed", |out| {
            let _ = write!(out, "<title type=\"text\">{0}</title><id>{1}{0}</id>", self.table, self.endpoint);
            let _ = write!(out, "<updated>{}</updated>", self.now.to_iso_seconds());
            let _ = write!(out, "<link rel=\"self\" title=\"{0}\" href=\"{0}\" />", self.table);
            entries(out);
        })
    }

    pub fn entity(&self, out: &mut String, entity: &Sight<'_>) {
        self.entry(out, &links::entity(self.table, entity.partition, entity.row), |out| {
            let selected = |name: &str| self.select.is_none_or(|select| select.has(name));
            if selected("PartitionKey") {
                text(out, "PartitionKey", entity.partition);
            }
            if selected("RowKey") {
                text(out, "RowKey", entity.row);
            }
            if selected("Timestamp") {
                typed(out, "Timestamp", "Edm.DateTime", &entity.modified.to_iso_short());
            }
            for (name, value) in entity.properties.iter().filter(|(name, _)| selected(name)) {
                property(out, name, *value);
            }
        });
    }

    pub fn table_entry(&self, out: &mut String, name: &str) {
        self.entry(out, &links::table(name), |out| text(out, "TableName", name));
    }

    /// What stands within `<entry>`.
    fn entry(&self, out: &mut String, link: &str, properties: impl FnOnce(&mut String)) {
        let mut escaped = String::new();
        escape(&mut escaped, link);
        let _ = write!(out, "<id>{}{escaped}</id><title type=\"text\"></title>", self.endpoint);
        let _ = write!(out, "<updated>{}</updated><author><name /></author>", self.now.to_iso_seconds());
        let _ = write!(out, "<link rel=\"edit\" title=\"{}\"", self.table);
        attribute(out, "href", link);
        let _ = write!(out, " /><category term=\"{}.{}\" scheme=\"{SCHEME}\" />", self.account, self.table);
        out.push_str("<content type=\"application/xml\"><m:properties>");
        properties(out);
        out.push_str("</m:properties></content>");
    }
}

fn text(out: &mut String, name: &str, value: &str) {
    let blank = value.starts_with(char::is_whitespace) || value.ends_with(char::is_whitespace);
    let _ = write!(out, "<d:{name}{}>", if blank { " xml:space=\"preserve\"" } else { "" });
    escape(out, value);
    let _ = write!(out, "</d:{name}>");
}

fn typed(out: &mut String, name: &str, kind: &str, value: &str) {
    let _ = write!(out, "<d:{name} m:type=\"{kind}\">{value}</d:{name}>");
}

fn property(out: &mut String, name: &str, value: Seen<'_>) {
    match value {
        Seen::String(value) => text(out, name, value),
        Seen::Binary(bytes) => typed(out, name, "Edm.Binary", &STANDARD.encode(bytes)),
        Seen::Boolean(value) => typed(out, name, "Edm.Boolean", if value { "true" } else { "false" }),
        Seen::Int32(value) => typed(out, name, "Edm.Int32", &value.to_string()),
        Seen::Int64(value) => typed(out, name, "Edm.Int64", &value.to_string()),
        Seen::DateTime(value) => typed(out, name, "Edm.DateTime", &value.to_iso_short()),
        Seen::Guid(value) => typed(out, name, "Edm.Guid", &value.to_string()),
        Seen::Double(value) => {
            let mut digits = String::new();
            match value {
                _ if value.is_nan() => digits.push_str("NaN"),
                _ if value.is_infinite() => digits.push_str(if value > 0.0 { "INF" } else { "-INF" }),
                _ => numbers::plain(&mut digits, value),
            }
            typed(out, name, "Edm.Double", &digits);
        }
    }
}

/// An entity from an entry's `m:properties`.
pub fn read_entity(body: &[u8]) -> Result<Sent, Refusal> {
    let mut sent = Sent::default();
    for property in properties(body)? {
        if sent.properties.iter().any(|(name, _)| *name == property.name) {
            return Err(Refused::DuplicatePropertiesSpecified.into());
        }
        let kind = property.kind.as_deref().map(|kind| kind.strip_prefix("Edm.").unwrap_or(kind));
        let value = match kind {
            _ if property.null => None,
            Some(kind) => Some(json::written(kind, &property.text).ok_or_else(Refused::unreadable)?),
            None => Some(Value::String(property.text)),
        };
        sent.take(&property.name, value)?;
    }
    Ok(sent)
}

pub fn read_table(body: &[u8]) -> Result<Option<String>, Refusal> {
    Ok(properties(body)?.into_iter().find(|property| property.name == "TableName").map(|property| property.text))
}

struct Property {
    name: String,
    kind: Option<String>,
    null: bool,
    text: String,
}

/// The children of `m:properties`, whatever the prefixes are called. No DTD, no entities but the five.
fn properties(body: &[u8]) -> Result<Vec<Property>, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refused::unreadable())?;
    // The reader does not mind characters that XML has no place for, and they could not be written back.
    if !text.chars().all(is_char) {
        return Err(Refused::unreadable().into());
    }
    let found = read(text.strip_prefix('\u{feff}').unwrap_or(text)).ok_or_else(Refused::unreadable)?;
    if found.len() > MEMBERS_MAX { Err(Refused::TooManyProperties.into()) } else { Ok(found) }
}

fn read(text: &str) -> Option<Vec<Property>> {
    let mut reader = Reader::from_str(text);
    let mut found = Vec::new();
    // How deep below `m:properties` the reader is: 0 outside, 1 within, 2 within a property.
    let mut depth = 0;
    // One more than there may be is enough to see.
    while found.len() <= MEMBERS_MAX {
        match reader.read_event().ok()? {
            Event::Start(start) if depth == 0 => depth = usize::from(local(&start) == "properties"),
            Event::Start(start) if depth == 1 => {
                found.push(begin(&start)?);
                depth = 2;
            }
            Event::Start(_) => return None,
            Event::Empty(start) if depth == 1 => found.push(begin(&start)?),
            Event::Empty(_) if depth == 2 => return None,
            Event::Empty(_) => {}
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(text) if depth == 2 => found.last_mut()?.text.push_str(&text.xml10_content()),
            Event::CData(data) if depth == 2 => found.last_mut()?.text.push_str(&data.xml10_content()),
            Event::GeneralRef(reference) if depth == 2 => {
                let resolved = match reference.resolve_char_ref().ok()? {
                    Some(c) => c,
                    None => match reference.as_ref() {
                        "amp" => '&',
                        "lt" => '<',
                        "gt" => '>',
                        "quot" => '"',
                        "apos" => '\'',
                        _ => return None,
                    },
                };
                is_char(resolved).then(|| found.last_mut().map(|property| property.text.push(resolved)))??;
            }
            Event::DocType(_) => return None,
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {}
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    Some(found)
}

fn local(start: &BytesStart<'_>) -> String {
    start.local_name().as_ref().to_owned()
}

fn begin(start: &BytesStart<'_>) -> Option<Property> {
    let attribute = |name: &str| {
        // Without a look for repeated ones, which takes time by the square.
        let found = start
            .attributes()
            .with_checks(false)
            .flatten()
            .find(|attribute| attribute.key.local_name().as_ref() == name);
        found.map(|attribute| attribute.value.into_owned())
    };
    let null = attribute("null").is_some_and(|value| value == "true");
    Some(Property { name: local(start), kind: attribute("type"), null, text: String::new() })
}

#[cfg(test)]
mod tests {
    use lazuli_model::table::{Entity, Key};

    use super::*;

    /// The example of "Insert Entity".
    const ENTRY: &str = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
  <title /><updated>2013-09-18T23:46:19.3857256Z</updated><author><name /></author><id />
  <content type="application/xml">
    <m:properties>
      <d:Address>Mountain &amp; View</d:Address>
      <d:Age m:type="Edm.Int32">23</d:Age>
      <d:AmountDue m:type="Edm.Double">200.23</d:AmountDue>
      <d:BinaryData m:type="Edm.Binary">dGVzdA==</d:BinaryData>
      <d:CustomerCode m:type="Edm.Guid">c9da6455-213d-42c9-9a79-3e9149a57833</d:CustomerCode>
      <d:CustomerSince m:type="Edm.DateTime">2008-07-10T00:00:00</d:CustomerSince>
      <d:IsActive m:type="Edm.Boolean">true</d:IsActive>
      <d:NumOfOrders m:type="Edm.Int64">255</d:NumOfOrders>
      <d:Nothing m:null="true" />
      <d:PartitionKey>mypartitionkey</d:PartitionKey>
      <d:RowKey>myrowkey1</d:RowKey>
    </m:properties>
  </content>
</entry>"#;

    #[test]
    fn an_entry_is_read_and_written_back() {
        let sent = read_entity(ENTRY.as_bytes()).unwrap();
        assert_eq!((sent.partition.as_deref(), sent.row.as_deref()), (Some("mypartitionkey"), Some("myrowkey1")));
        assert_eq!(sent.properties.len(), 8, "{:?}", sent.properties);
        assert_eq!(sent.properties[0].1, Value::String("Mountain & View".into()));
        let entity = Entity { modified: Timestamp::from_ticks(638_000_000_000_000_000), properties: sent.properties };
        let writing = AtomWriting {
            endpoint: "http://h/acc/",
            account: "acc",
            table: "tab",
            select: None,
            now: Timestamp::from_ticks(638_000_000_000_000_000),
        };
        let key = Key::new("mypartitionkey", "myrowkey1");
        let text = writing.document("entry", |out| writing.entity(out, &entity.see(&key)));
        let back = read_entity(text.as_bytes()).unwrap();
        assert_eq!(back.properties, entity.properties);
        assert!(text.contains("<d:Age m:type=\"Edm.Int32\">23</d:Age>"), "{text}");
    }

    /// H5, in Atom: elements are counted as they come, and attributes are not compared with each other.
    #[test]
    fn too_many_elements_or_attributes_do_no_harm() {
        let many: String = (0..80_000).map(|at| format!("<d:p{at}>1</d:p{at}>")).collect();
        let refused = read_entity(format!("<m:properties>{many}</m:properties>").as_bytes()).err();
        assert_eq!(refused, Some(Refused::TooManyProperties.into()));
        let many: String = (0..200_000).map(|at| format!(" a{at}=''")).collect();
        let sent = read_entity(format!("<m:properties><d:a{many}>1</d:a></m:properties>").as_bytes()).unwrap();
        assert_eq!(sent.properties.len(), 1);
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for bad in ["<a", "<entry><m:properties><d:a><d:b/></d:a></m:properties></entry>", "<!DOCTYPE a><a/>", "\u{1}<"]
        {
            let entity = read_entity(bad.as_bytes()).map(|sent| sent.properties.len());
            assert!(entity.is_err() || entity == Ok(0), "{bad}: {entity:?}");
        }
        assert!(read_entity(b"<m:properties><d:a m:type=\"Edm.Int32\">x</d:a></m:properties>").is_err());
        assert!(read_entity(b"<m:properties><d:a>&evil;</d:a></m:properties>").is_err());
        assert!(read_entity(b"<m:properties><d:a>\x1c</d:a></m:properties>").is_err());
        let table = b"<entry><content><m:properties><d:TableName>abc</d:TableName></m:properties></content></entry>";
        assert_eq!(read_table(table), Ok(Some("abc".into())));
    }
}
