//! JSON as it was recorded, byte for byte where bytes were recorded; and what is refused.

use lazuli_model::Timestamp;
use lazuli_model::table::{Entity, Guid, Key, Refused, Value};

use super::*;

fn entity() -> (Key, Entity) {
    let modified = Timestamp::parse_iso("2022-05-06T00:34:41.8204980Z").unwrap();
    let list = [
        ("age", Value::Int32(39)),
        ("sex", Value::String("male".into())),
        ("married", Value::Boolean(true)),
        ("ratio", Value::Double(3.0)),
        ("nan", Value::Double(f64::NAN)),
        ("large", Value::Int64(1_125_899_906_842_624)),
        ("Birthday", Value::DateTime(Timestamp::parse_iso("1973-10-04T00:00:00Z").unwrap())),
        ("binary", Value::Binary(b"binary".to_vec())),
        ("clsid", Value::Guid(Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap())),
    ];
    let properties = list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    (Key::new("it's", "r/k"), Entity { modified, properties })
}

fn written(level: Level, select: Option<&Selection>) -> String {
    let (key, entity) = entity();
    let writing = JsonWriting { level, endpoint: "http://h/acc/", account: "acc", table: "tab", select };
    let mut out = String::new();
    writing.entity(&mut out, Some("M"), &entity.see(&key));
    out
}

#[test]
fn three_levels_of_metadata() {
    let tag = r#"W/\"datetime'2022-05-06T00%3A34%3A41.820498Z'\""#;
    let minimal = format!(
        r#"{{"odata.metadata":"M","odata.etag":"{tag}","PartitionKey":"it's","RowKey":"r/k","Timestamp":"2022-05-06T00:34:41.820498Z","age":39,"sex":"male","married":true,"ratio":3.0,"nan@odata.type":"Edm.Double","nan":"NaN","large@odata.type":"Edm.Int64","large":"1125899906842624","Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z","binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"}}"#
    );
    assert_eq!(written(Level::Minimal, None), minimal);
    let link = "tab(PartitionKey='it''s',RowKey='r%2Fk')";
    let full = minimal
        .replace(
            "\"odata.etag\"",
            &format!("\"odata.type\":\"acc.tab\",\"odata.id\":\"http://h/acc/{link}\",\"odata.etag\""),
        )
        .replace("\"PartitionKey\"", &format!("\"odata.editLink\":\"{link}\",\"PartitionKey\""))
        .replace("\"Timestamp\"", "\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\"");
    assert_eq!(written(Level::Full, None), full);
    assert_eq!(
        written(Level::None, None),
        r#"{"PartitionKey":"it's","RowKey":"r/k","Timestamp":"2022-05-06T00:34:41.820498Z","age":39,"sex":"male","married":true,"ratio":3.0,"nan":"NaN","large":"1125899906842624","Birthday":"1973-10-04T00:00:00Z","binary":"YmluYXJ5","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"}"#
    );
    let select = Selection::read("age,RowKey,nobody").unwrap().unwrap();
    assert_eq!(
        written(Level::Minimal, Some(&select)),
        format!(r#"{{"odata.metadata":"M","odata.etag":"{tag}","RowKey":"r/k","age":39,"nobody":null}}"#)
    );
}

#[test]
fn strings_are_escaped_as_the_service_does() {
    for (text, expected) in [
        ("plain", r#""plain""#),
        ("a\"b\\c/d", r#""a\"b\\c/d""#),
        ("\n\r\t\u{8}\u{c}\u{1}", r#""\n\r\t\b\f\u0001""#),
        ("é\u{a015}", r#""\u00e9\ua015""#),
        ("\u{10000}x", r#""\ud800\udc00x""#),
        ("", "\"\""),
    ] {
        let mut out = String::new();
        string(&mut out, text);
        assert_eq!(out, expected);
        let back = read_entity(format!("{{\"a\":{out}}}").as_bytes()).unwrap();
        assert_eq!(back.properties, [("a".to_owned(), Value::String(text.to_owned()))]);
    }
}

#[test]
fn values_take_the_type_they_are_said_to_have() {
    let read = |text: &str| {
        read_entity(text.as_bytes()).map(|sent| sent.properties.into_iter().next().map(|(_, value)| value))
    };
    let table = [
        (r#"{"a":1}"#, Some(Value::Int32(1))),
        (r#"{"a":-2147483648}"#, Some(Value::Int32(i32::MIN))),
        (r#"{"a":2147483648}"#, Some(Value::Double(2_147_483_648.0))),
        (r#"{"a":1.0}"#, Some(Value::Double(1.0))),
        (r#"{"a":1e3}"#, Some(Value::Double(1000.0))),
        (r#"{"a":true}"#, Some(Value::Boolean(true))),
        (r#"{"a":null}"#, None),
        (r#"{"a":null,"a@odata.type":"Edm.Int64"}"#, None),
        (r#"{"a":"1","a@odata.type":"Edm.Int64"}"#, Some(Value::Int64(1))),
        (r#"{"a@odata.type":"Edm.Int64","a":1}"#, Some(Value::Int64(1))),
        (r#"{"a":5,"a@odata.type":"Edm.Double"}"#, Some(Value::Double(5.0))),
        (r#"{"a":"0","a@odata.type":"Edm.Double"}"#, Some(Value::Double(0.0))),
        (r#"{"a":"-Infinity","a@odata.type":"Edm.Double"}"#, Some(Value::Double(f64::NEG_INFINITY))),
        (r#"{"a":"false","a@odata.type":"Edm.Boolean"}"#, Some(Value::Boolean(false))),
        (r#"{"a":"dGVzdA==","a@odata.type":"Edm.Binary"}"#, Some(Value::Binary(b"test".to_vec()))),
        (r#"{"a":"42","a@odata.type":"Edm.String"}"#, Some(Value::String("42".into()))),
        (r#" { "a" : "\u00e9" , "odata.etag" : "x" , "Timestamp" : "y" } "#, Some(Value::String("é".into()))),
        ("{}", None),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), Ok(expected), "{text}");
    }
    for bad in [
        "",
        "[]",
        "{",
        "{}x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":tru}",
        "{\"a\":01.}",
        "{\"a\":{}}",
        "{\"a\":[1]}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"x}",
        "\u{feff}",
        r#"{"a":"not a bool","a@odata.type":"Edm.Boolean"}"#,
        r#"{"a":"x","a@odata.type":"Edm.Int32"}"#,
        r#"{"a":1.5,"a@odata.type":"Edm.Int32"}"#,
        r#"{"a":2147483648,"a@odata.type":"Edm.Int32"}"#,
        r#"{"a":"x","a@odata.type":"Edm.Guid"}"#,
        r#"{"a":"x","a@odata.type":"Edm.DateTime"}"#,
        r#"{"a":"!","a@odata.type":"Edm.Binary"}"#,
        r#"{"a":1,"a@odata.type":"Edm.String"}"#,
        r#"{"a":"x","a@odata.type":"Edm.Stream"}"#,
        r#"{"a":1e999}"#,
    ] {
        assert_eq!(read(bad), Err(Refused::unreadable().into()), "{bad}");
    }
    assert_eq!(read(r#"{"a":1,"a":2}"#), Err(Refused::DuplicatePropertiesSpecified.into()));
    assert_eq!(read(r#"{"PartitionKey":1}"#), Err(Refused::PrimaryKeyPropertyIsInvalidType.into()));
    let deep = "{\"a\":".repeat(100_000);
    assert_eq!(read(&deep), Err(Refused::unreadable().into()));
}

#[test]
fn keys_are_told_from_properties() {
    let sent =
        read_entity(br#"{"RowKey":"r","x":1,"PartitionKey":"p","PartitionKey@odata.type":"Edm.String"}"#).unwrap();
    assert_eq!((sent.partition.as_deref(), sent.row.as_deref()), (Some("p"), Some("r")));
    assert_eq!(sent.properties, [("x".to_owned(), Value::Int32(1))]);
    assert_eq!(read_entity(br#"{"RowKey":null}"#).unwrap().row, None);
    assert_eq!(read_table(br#"{"TableName":"abc"}"#), Ok(Some("abc".into())));
    assert_eq!(read_table(b"{}"), Ok(None));
}

/// H5: n annotations and n properties took time by the square of n. Now the first member beyond what an entity can have ends it.
#[test]
fn too_many_members_are_refused_at_the_first_one() {
    let document = |count: usize| {
        let typed: String =
            (0..count).map(|at| format!("\"p{at}@odata.type\":\"Edm.Int64\",\"p{at}\":\"{at}\",")).collect();
        format!("{{{typed}\"PartitionKey\":\"a\",\"RowKey\":\"b\"}}")
    };
    let sent = read_entity(document(252).as_bytes()).unwrap();
    assert!(
        sent.properties
            .iter()
            .enumerate()
            .all(|(at, (name, value))| { *name == format!("p{at}") && *value == Value::Int64(at as i64) })
    );
    assert_eq!(sent.properties.len(), 252);
    let refused = |text: &str| read_entity(text.as_bytes()).err();
    assert_eq!(refused(&document(80_000)), Some(Refused::TooManyProperties.into()));
    // What comes after is not even looked at.
    assert_eq!(refused(&document(80_000).replace("p79999", "\u{1}")), Some(Refused::TooManyProperties.into()));
}
