//! Entities as JSON and as Atom. One that was read and may be stored, written as the service writes it and read again, is the same.

use lazuli_http::refusal::Refusal;
use lazuli_http::table::ask::Sent;
use lazuli_http::table::format::Level;
use lazuli_http::table::{atom, json};
use lazuli_model::Timestamp;
use lazuli_model::table::{Entity, Key, check};

pub const WORDS: &[&str] = &[
    "\"PartitionKey\":\"a\",",
    "\"RowKey\":\"b\",",
    "\"a@odata.type\":\"Edm.Int64\",",
    "\"Edm.Double\"",
    "\"Edm.DateTime\"",
    "\"Edm.Guid\"",
    "\"Edm.Binary\"",
    "\"NaN\"",
    "\"Infinity\"",
    "null",
    "1e308",
    "-0.0",
    "<entry xmlns=\"http://www.w3.org/2005/Atom\">",
    "<m:properties>",
    "<d:a m:type=\"Edm.Int64\">1</d:a>",
    "<d:a m:null=\"true\" />",
    "xml:space=\"preserve\"",
    "<content type=\"application/xml\">",
    "\\u0000",
    "2020-01-01T00:00:00Z",
];

pub fn run(input: &[u8]) {
    let _ = json::read_table(input);
    let _ = atom::read_table(input);
    check_reading(json::read_entity, json_of, input);
    check_reading(atom::read_entity, atom_of, input);
}

fn check_reading(read: fn(&[u8]) -> Result<Sent, Refusal>, write: fn(&Key, &Entity) -> String, input: &[u8]) {
    let Ok(sent) = read(input) else { return };
    let key = Key::new(sent.partition.clone().unwrap_or_default(), sent.row.clone().unwrap_or_default());
    if check(&key, &sent.properties).is_err() {
        return;
    }
    let entity = Entity { modified: Timestamp::from_ticks(638_000_000_000_000_000), properties: sent.properties };
    let text = write(&key, &entity);
    let again = read(text.as_bytes()).unwrap_or_else(|refused| panic!("{refused:?}: {text}"));
    let found = Key::new(again.partition.unwrap_or_default(), again.row.unwrap_or_default());
    assert_eq!(found, key, "{text}");
    // Through text, because NaN is not itself.
    assert_eq!(format!("{:?}", again.properties), format!("{:?}", entity.properties), "{text}");
}

fn json_of(key: &Key, entity: &Entity) -> String {
    let writing =
        json::JsonWriting { level: Level::Full, endpoint: "http://a/", account: "a", table: "t", select: None };
    let mut out = String::new();
    writing.entity(&mut out, None, &entity.see(key));
    out
}

fn atom_of(key: &Key, entity: &Entity) -> String {
    let now = entity.modified;
    let writing = atom::AtomWriting { endpoint: "http://a/", account: "a", table: "t", select: None, now };
    writing.document("entry", |out| writing.entity(out, &entity.see(key)))
}
