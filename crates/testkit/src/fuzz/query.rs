//! Query Blob Contents: the document it comes in, its SQL, and the records it goes through. However the bytes of a blob are cut on their
//! way, the records are the same.

use bytes::Bytes;
use lazuli_http::wire::xml::{escape, read_query};
use lazuli_model::Timestamp;
use lazuli_query::delimited::{Cut, Cutter, Delimited, Row};
use lazuli_query::json::Reader;
use lazuli_query::run::{Run, Turn};
use lazuli_query::{Query, sql};

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
    if let Ok(query) = read_query(asked) {
        answer(query, blob);
    } else if sql::parse(&text).is_ok() {
        let mut escaped = String::new();
        escape(&mut escaped, &text);
        for input in ["delimited", "json"] {
            let document = format!(
                "<QueryRequest><QueryType>SQL</QueryType><Expression>{escaped}</Expression><InputSerialization><Format>\
                 <Type>{input}</Type></Format></InputSerialization></QueryRequest>"
            );
            if let Ok(query) = read_query(document.as_bytes()) {
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

fn answer(query: Query, blob: &[u8]) {
    for step in [blob.len().max(1), 7] {
        framed(&run_over(query.clone(), blob, step).0);
    }
}

/// What a query answers, and the steps it took.
pub fn run_over(query: Query, blob: &[u8], step: usize) -> (Vec<u8>, u64) {
    let now = Timestamp::from_ticks(638_000_000_000_000_000);
    let mut run = Run::new(query, SYNC, blob.len() as u64, now);
    let mut pieces = blob.chunks(step);
    let mut out = Vec::new();
    loop {
        let turn = run.turn();
        out.extend(run.take());
        match turn {
            Turn::Again => {}
            Turn::Memory(bytes) => assert!(bytes <= lazuli_query::parquet::GROUP_MAX),
            Turn::Next => run.give(pieces.next().map(Bytes::copy_from_slice)),
            Turn::Range { from, to } => {
                assert!(from <= to && to <= blob.len() as u64, "it wants what the blob has");
                run.give(Some(Bytes::copy_from_slice(&blob[from as usize..to as usize])));
            }
            Turn::Over => return (out, run.spent()),
        }
    }
}

const SYNC: [u8; 16] = [7; 16];

/// The answer is a whole Avro file: blocks of one record each, the last of which is the end.
pub fn framed(out: &[u8]) {
    assert!(out.starts_with(b"Obj\x01"), "it is Avro");
    let header = out.windows(16).position(|window| window == SYNC).expect("a header") + 16;
    let mut rest = &out[header..];
    let mut last = None;
    while !rest.is_empty() {
        assert_eq!(number(&mut rest), 1, "a block has one record");
        let length = number(&mut rest) as usize;
        let (record, behind) = rest.split_at(length);
        rest = behind.strip_prefix(&SYNC[..]).expect("a block ends");
        last = record.first().copied();
    }
    assert_eq!(last, Some(6), "the last record is the end");
}

fn number(rest: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (byte, behind) = rest.split_first().expect("a number");
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            break;
        }
    }
    number >> 1
}

pub fn rows(form: &Delimited, blob: &[u8], step: usize) -> Vec<Row> {
    let mut cutter = Cutter::new(form.clone());
    let mut rows = Vec::new();
    let mut keep = |row: Row| {
        rows.push(row);
        true
    };
    for piece in blob.chunks(step) {
        cutter.feed(piece);
        assert_eq!(cutter.rows(false, &mut keep), Cut::Used);
    }
    assert_eq!(cutter.rows(true, &mut keep), Cut::Used);
    rows
}

/// Values with their positions, and whether all of it could be read.
pub fn values(blob: &[u8], step: usize) -> (Vec<(serde_json::Value, u64)>, bool) {
    let mut reader = Reader::new("\n");
    let mut values = Vec::new();
    let mut keep = |value, position, _| {
        values.push((value, position));
        true
    };
    let mut read = Ok(lazuli_query::json::Read::Used);
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
