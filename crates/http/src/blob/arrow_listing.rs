//! List Blobs in Arrow: the same listing as in XML, as columns. It is made from the XML, so that the two cannot disagree: an
//! element is a column of the same name, and a blob that lacks it has null there.

use lazuli_model::Timestamp;
use quick_xml::Reader;
use quick_xml::events::Event;

use lazuli_query::arrow::{self, Cell, Field, Kind, milliseconds};

pub const CONTENT_TYPE: &str = "application/vnd.apache.arrow.stream";

const TIMES: [&str; 8] = [
    "Last-Modified",
    "Creation-Time",
    "DeletedTime",
    "AccessTierChangeTime",
    "LastAccessTime",
    "CopyCompletionTime",
    "ImmutabilityPolicyUntilDate",
    "Expiry-Time",
];
const NUMBERS: [&str; 4] = ["Content-Length", "RemainingRetentionDays", "TagCount", "x-ms-blob-sequence-number"];
const FLAGS: [&str; 8] = [
    "IsCurrentVersion",
    "Deleted",
    "ServerEncrypted",
    "AccessTierInferred",
    "Sealed",
    "HasVersionsOnly",
    "LegalHold",
    "IncrementalCopy",
];
const MAPS: [&str; 3] = ["Metadata", "OrMetadata", "Tags"];

fn kind(name: &str) -> Kind {
    match name {
        _ if TIMES.contains(&name) => Kind::Time,
        _ if NUMBERS.contains(&name) => Kind::Int64,
        _ if FLAGS.contains(&name) => Kind::Bool,
        _ if MAPS.contains(&name) => Kind::Map,
        _ => Kind::Text,
    }
}

/// The columns and rows of a listing.
#[derive(Default)]
struct Table {
    fields: Vec<Field>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    fn set(&mut self, name: &str, cell: Cell) {
        let at = match self.fields.iter().position(|field| field.name == name) {
            Some(at) => at,
            None => {
                self.fields.push(Field { name: name.to_owned(), kind: kind(name) });
                self.fields.len() - 1
            }
        };
        if let Some(row) = self.rows.last_mut() {
            row.resize(row.len().max(at + 1), Cell::Null);
            row[at] = cell;
        }
    }
}

/// `None` only if the document is none.
pub fn of_xml(document: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(document).ok()?;
    let mut reader = Reader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut table = Table::default();
    let mut open: Vec<(String, bool)> = Vec::new();
    let (mut value, mut next, mut key) = (String::new(), String::new(), String::new());
    let mut map: Vec<(String, String)> = Vec::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                let name = start.name().as_ref().to_owned();
                let encoded = start.try_get_attribute("Encoded").ok()?.is_some();
                if name == "Blob" || name == "BlobPrefix" {
                    table.rows.push(Vec::new());
                    let what = if name == "Blob" { "blob" } else { "blobprefix" };
                    table.set("ResourceType", Cell::Text(what.into()));
                }
                open.push((name, encoded));
                value.clear();
            }
            Event::Empty(_) => {}
            Event::Text(text) => value.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match &*reference {
                "amp" => value.push('&'),
                "lt" => value.push('<'),
                "gt" => value.push('>'),
                "quot" => value.push('"'),
                "apos" => value.push('\''),
                _ => value.extend(reference.resolve_char_ref().ok().flatten()),
            },
            Event::End(_) => {
                let (name, encoded) = open.pop()?;
                let inside = open.iter().any(|(name, _)| name == "Blob" || name == "BlobPrefix");
                let of_map = open.iter().any(|(name, _)| MAPS.contains(&name.as_str()));
                let text = std::mem::take(&mut value);
                match name.as_str() {
                    "NextMarker" => next = text,
                    _ if inside && MAPS.contains(&name.as_str()) => {
                        table.set(&name, Cell::Map(std::mem::take(&mut map)))
                    }
                    "Tag" | "TagSet" | "Properties" => {}
                    "Key" if of_map && open.last()?.0 == "Tag" => key = text,
                    "Value" if of_map && open.last()?.0 == "Tag" => map.push((std::mem::take(&mut key), text)),
                    _ if of_map => map.push((name, text)),
                    _ if inside => table.set(&name, cell(&name, &text, encoded)),
                    _ => {}
                }
            }
            Event::Eof => break,
            Event::CData(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    let schema = arrow::schema(&table.fields, &[("NextMarker", &next)]);
    Some([schema, arrow::batch(&table.fields, &table.rows), arrow::END.to_vec()].concat())
}

fn cell(name: &str, text: &str, encoded: bool) -> Cell {
    if encoded {
        return Cell::Text(percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned());
    }
    match kind(name) {
        _ if text.is_empty() => Cell::Null,
        Kind::Time => {
            let time = Timestamp::parse_http(text).or_else(|| Timestamp::parse_iso(text));
            time.map_or(Cell::Null, |time| Cell::Int(milliseconds(time)))
        }
        Kind::Int64 => text.parse().map_or(Cell::Null, Cell::Int),
        Kind::Bool => Cell::Bool(text.eq_ignore_ascii_case("true")),
        Kind::Text | Kind::Double | Kind::Decimal { .. } | Kind::Map => Cell::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_columns() {
        let xml = "<?xml version=\"1.0\"?><EnumerationResults><Blobs><Blob><Name>a&amp;b</Name><Properties><Content-Length>5</Content-Length>\
                   <Etag /></Properties><Metadata><colour>grey</colour></Metadata><Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>\
                   </Blob><BlobPrefix><Name Encoded=\"true\">x%2Fy</Name></BlobPrefix></Blobs><NextMarker>m</NextMarker></EnumerationResults>";
        let bytes = of_xml(xml.as_bytes()).expect("a listing");
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        for text in
            ["Name", "Content-Length", "Metadata", "Tags", "a&b", "x/y", "blobprefix", "colour", "grey", "NextMarker"]
        {
            assert!(has(text), "{text}");
        }
        assert!(!has("Etag"));
        assert!(bytes.ends_with(&arrow::END) && bytes.len().is_multiple_of(8));
        assert_eq!(of_xml(b"<a><b></a>"), None);
    }
}
