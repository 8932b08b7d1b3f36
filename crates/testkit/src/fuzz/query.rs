//! Query Blob Contents: the document it comes in, its SQL, and the records it goes through. However the bytes of a blob are cut on their
//! way, the records are the same.

use lazuli_http::query::delimited::{Cutter, Delimited, Row};
use lazuli_http::query::json::Reader;
use lazuli_http::query::run::Run;
use lazuli_http::query::{request, sql};
use lazuli_model::Timestamp;

use super::request::{BREAK, split};

pub const WORDS: &[&str] = &[
    "SELECT ",
    " FROM BlobStorage",
    " WHERE ",
    " LIMIT 1",
    "*",
    "_1",
    "COUNT(*)",
    "SUM(_1)",
    "AVG(",
    "CAST(_1 AS INT)",
    " LIKE '%a_'",
    " BETWEEN ",
    " IN (",
    " IS NOT NULL",
    " AND ",
    " OR ",
    "NOT ",
    "[*].a",
    "sys.split(1)",
    "TO_TIMESTAMP(",
    "SUBSTRING(",
    "<QueryRequest>",
    "<QueryType>SQL</QueryType>",
    "<Expression>",
    "<InputSerialization><Format><Type>json</Type>",
    "<RecordSeparator>",
    "<HeadersPresent>true</HeadersPresent>",
    "\n---\n",
    "+1",
    "-",
    "||",
    "'",
    "\"",
    "{\"a\":1}\n",
];

/// SQL or a whole document, a break, and a blob.
pub fn run(input: &[u8]) {
    let (asked, blob) = split(input, BREAK).unwrap_or((input, b"1,2\n\"a\",b\n{\"a\":[1,2]}\n"));
    let text = String::from_utf8_lossy(asked);
    let _ = sql::parse(&text);
    if let Ok(query) = request::read(asked) {
        answer(query, blob);
    } else if sql::parse(&text).is_ok() {
        let mut escaped = String::new();
        lazuli_http::wire::xml::escape(&mut escaped, &text);
        for input in ["delimited", "json"] {
            let document = format!(
                "<QueryRequest><QueryType>SQL</QueryType><Expression>{escaped}</Expression><InputSerialization><Format>\
                 <Type>{input}</Type></Format></InputSerialization></QueryRequest>"
            );
            if let Ok(query) = request::read(document.as_bytes()) {
                answer(query, blob);
            }
        }
    }
    let forms = [
        Delimited::default(),
        Delimited { record: "\r\n".into(), escape: Some('\\'), ..Delimited::default() },
        Delimited { column: "ab".into(), record: "aab".into(), quote: None, ..Delimited::default() },
    ];
    for form in forms {
        assert_eq!(rows(&form, blob, blob.len().max(1)), rows(&form, blob, 3), "{form:?}");
    }
    assert_eq!(values(blob, blob.len().max(1)), values(blob, 3));
}

fn answer(query: request::Query, blob: &[u8]) {
    for step in [blob.len().max(1), 7] {
        let now = Timestamp::from_ticks(638_000_000_000_000_000);
        let mut run = Run::new(query.clone(), [7; 16], blob.len() as u64, now);
        let mut out = run.header();
        for piece in blob.chunks(step) {
            if !run.is_over() {
                out.extend(run.feed(piece));
            }
        }
        out.extend(run.finish());
        assert!(out.starts_with(b"Obj\x01"), "it is Avro");
    }
}

fn rows(form: &Delimited, blob: &[u8], step: usize) -> Vec<Row> {
    let mut cutter = Cutter::new(form.clone());
    let mut rows = Vec::new();
    let mut keep = |row: Row| {
        rows.push(row);
        true
    };
    for piece in blob.chunks(step) {
        cutter.feed(piece);
        cutter.rows(false, &mut keep);
    }
    cutter.rows(true, &mut keep);
    rows
}

/// Values with their positions, and whether all of it could be read.
fn values(blob: &[u8], step: usize) -> (Vec<(serde_json::Value, u64)>, bool) {
    let mut reader = Reader::new("\n");
    let mut values = Vec::new();
    let mut keep = |value, position| {
        values.push((value, position));
        true
    };
    let mut read = Ok(());
    for piece in blob.chunks(step) {
        reader.feed(piece);
        read = reader.values(false, &mut keep);
        if read.is_err() {
            break;
        }
    }
    if read.is_ok() {
        read = reader.values(true, &mut keep);
    }
    (values, read.is_ok())
}
