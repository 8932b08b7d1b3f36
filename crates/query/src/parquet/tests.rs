//! Files that pyarrow wrote, with what is in them beside.

use serde_json::Value as Json;

use lazuli_model::Timestamp;

use super::*;
use crate::run::Run;
use crate::{Input, Output, Query, sql};

const TYPED: &[u8] = include_bytes!("testdata/typed.parquet");
const PAGES_V2: &[u8] = include_bytes!("testdata/typed-v2-gzip.parquet");
const DELTA_ZSTD: &[u8] = include_bytes!("testdata/typed-delta-zstd.parquet");
const LENGTH_LZ4: &[u8] = include_bytes!("testdata/typed-length-lz4.parquet");
const MANY: &[u8] = include_bytes!("testdata/many-zstd.parquet");
const BROTLI: &[u8] = include_bytes!("testdata/brotli.parquet");
const ROWS: &str = include_str!("testdata/typed.jsonl");

/// All rows, as far as `most`, of the columns that `wanted` says.
fn rows(bytes: &[u8], wanted: impl Fn(&str) -> bool, most: u64) -> Result<Vec<Json>, Bad> {
    let tail = bytes.len().checked_sub(8).ok_or(Bad::Corrupt)?;
    let meta = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let start = tail.checked_sub(meta).ok_or(Bad::Corrupt)?;
    let file = schema::read(&bytes[start..tail]).ok_or(Bad::Corrupt)?;
    let fields: Vec<Node> = file.fields.iter().filter(|node| wanted(&node.name)).cloned().collect();
    let mut found = Vec::new();
    for group in &file.groups {
        let mut columns: Vec<Option<Column>> = group.chunks.iter().map(|_| None).collect();
        let mut bad = false;
        for field in &fields {
            field.each_column(&mut |at, node, form| {
                let chunk = group.chunks[at];
                let end = chunk.offset.saturating_add(chunk.length) as usize;
                match bytes.get(chunk.offset as usize..end) {
                    Some(part) => {
                        columns[at] = Some(Column::new(Bytes::copy_from_slice(part), chunk, node, form));
                    }
                    None => bad = true,
                }
            });
        }
        if bad {
            return Err(Bad::Corrupt);
        }
        let mut rows = Rows::new(columns);
        let (budget, room) = (Budget::default(), Cell::new(GROUP_MAX));
        for _ in 0..group.rows.min(most) {
            budget.begin_record();
            found.push(rows.next(&fields, &Costs { budget: &budget, room: &room })?);
        }
    }
    Ok(found)
}

fn expected() -> Vec<Json> {
    ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_type_and_shape() {
    let files = [
        ("pages of version 1, snappy", TYPED),
        ("pages of version 2, gzip, three groups", PAGES_V2),
        ("prefixes, differences and split bytes, ZSTD", DELTA_ZSTD),
        ("lengths, differences and split bytes, pages of version 2, LZ4", LENGTH_LZ4),
    ];
    for (name, bytes) in files {
        let found = rows(bytes, |_| true, u64::MAX).unwrap();
        assert_eq!(found.len(), 5, "{name}");
        for (found, expected) in found.iter().zip(expected()) {
            for (column, value) in expected.as_object().unwrap() {
                assert_eq!(found.get(column), Some(value), "{name}: {column}");
            }
        }
    }
}

/// Many pages of a thousand rows that a rule makes: differences of every width, and more than a block of them.
#[test]
fn many_rows() {
    let found = rows(MANY, |_| true, u64::MAX).unwrap();
    assert_eq!(found.len(), 1000);
    for (row, i) in found.iter().zip(0_i64..) {
        let small = i * 7 % 1000 - if i % 100 == 99 { 1 << 30 } else { 0 };
        let text = (i % 11 != 5).then(|| format!("row {} of many, {}", i / 10, "x".repeat((i % 5) as usize)));
        let expected = serde_json::json!({
            "n": (i * i * i - 500 * i) * if i % 2 == 0 { 1 } else { -1 },
            "small": small,
            "big": if i % 3 == 0 { 1 << 62 } else { -(1 << 62) - i },
            "text": text,
            "tail": text,
            "part": i as f64 / 8.0 - 3.0,
            "split": small,
        });
        assert_eq!(*row, expected, "{i}");
    }
}

#[test]
fn a_part_of_the_columns() {
    let found = rows(TYPED, |name| name == "place" || name == "id", u64::MAX).unwrap();
    assert_eq!(found[0].to_string(), r#"{"id":1,"place":{"x":1,"tags":["q"]}}"#);
    assert_eq!(rows(TYPED, |_| false, u64::MAX).unwrap().len(), 5);
}

#[test]
fn pages_in_brotli() {
    let ids: Vec<_> = rows(BROTLI, |_| true, u64::MAX).unwrap().iter().map(|row| row["id"].as_i64()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5].map(Some));
}

/// Inventory reports are written by `model`, and read here as any other file.
#[test]
fn what_an_inventory_report_says() {
    let fields = ["Name", "Content-Length", "Creation-Time", "Deleted", "Content-MD5"].map(str::to_owned);
    let mut report = lazuli_model::inventory::ParquetReport::new(&fields);
    let rows_of = [
        ["box/ä", "5", "2026-01-02T00:00:00Z", "true", ""],
        ["box/b", "", "", "false", "XUFAKrxLKna5cZ2REBfFkg=="],
        ["box/c", "4294967296", "1970-01-01T00:00:00Z", "", ""],
    ];
    let mut file = Vec::new();
    for (at, row) in rows_of.iter().enumerate() {
        report.add(&row.map(str::to_owned));
        // Two row groups: one of the first row.
        if at == 0 {
            file.extend(report.take_group());
        }
    }
    file.extend(report.end());
    let expected = [
        r#"{"Name":"box/ä","Content-Length":5,"Creation-Time":1767312000000,"Deleted":true,"Content-MD5":null}"#,
        r#"{"Name":"box/b","Content-Length":null,"Creation-Time":null,"Deleted":false,"Content-MD5":"XUFAKrxLKna5cZ2REBfFkg=="}"#,
        r#"{"Name":"box/c","Content-Length":4294967296,"Creation-Time":0,"Deleted":null,"Content-MD5":null}"#,
    ];
    let found: Vec<_> = rows(&file, |_| true, u64::MAX).unwrap().iter().map(Json::to_string).collect();
    assert_eq!(found, expected);
    let mut empty = lazuli_model::inventory::ParquetReport::new(&fields);
    assert_eq!(rows(&empty.end(), |_| true, u64::MAX), Ok(Vec::new()));
}

#[test]
fn what_is_not_read_says_so() {
    assert_eq!(rows(b"PAR1PAR1", |_| true, u64::MAX), Err(Bad::Corrupt));
}

/// Every byte, or some, changed in one of three ways, and many lengths: rows or a complaint, and an end.
#[test]
fn damage_is_noticed_or_harmless() {
    for (bytes, step) in [(TYPED, 1), (PAGES_V2, 1), (DELTA_ZSTD, 2), (LENGTH_LZ4, 2), (MANY, 29)] {
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
            let _ = rows(&damaged, |_| true, 100);
        }
        for length in (0..bytes.len()).step_by(13 * step) {
            let _ = rows(&bytes[..length], |_| true, 100);
        }
    }
}

/// A query over a whole file: what it answers, the memory that it asked for at most, and the steps it took.
fn answer(sql: &str, bytes: &[u8]) -> (String, usize, u64) {
    let (out, memory, spent) = frames(sql, bytes);
    (String::from_utf8_lossy(&out).into_owned(), memory, spent)
}

fn frames(sql: &str, bytes: &[u8]) -> (Vec<u8>, usize, u64) {
    let query = Query { select: sql::parse(sql).unwrap(), input: Input::Parquet, output: Output::Json("\n".into()) };
    let mut run = Run::new(query, [7; 16], bytes.len() as u64, Timestamp::from_ticks(638_000_000_000_000_000));
    let (mut out, mut memory) = (Vec::new(), 0);
    loop {
        let turn = run.turn();
        out.extend(run.take());
        match turn {
            Turn::Again => {}
            Turn::Next => run.give(None),
            Turn::Range { from, to } => run.give(Some(Bytes::copy_from_slice(&bytes[from as usize..to as usize]))),
            Turn::Memory(bytes) => memory = memory.max(bytes),
            Turn::Over => return (out, memory, run.spent()),
        }
    }
}

/// A file that is nothing but metadata.
fn file(metadata: &[u8]) -> Vec<u8> {
    [MAGIC, metadata, &(metadata.len() as u32).to_le_bytes(), MAGIC].concat()
}

#[test]
fn whole_queries() {
    let (text, memory, _) = answer("SELECT id FROM BlobStorage WHERE id > 3", TYPED);
    assert!(text.contains("{\"id\":4}\n{\"id\":5}\n"), "{text}");
    assert!(memory > 0 && memory < 1 << 20, "{memory}");
}

/// Aggregates count wherever they stand in an expression. One that was left behind took no value, and the next one took its.
#[test]
fn aggregates_within_expressions() {
    let columns = "COUNT(*) BETWEEN 1 AND 9, MAX(id) IN (1, MIN(id)), SUM(id) IS NULL, CAST(MIN(id) AS STRING) LIKE '%', COUNT(*)";
    let (text, ..) = answer(&format!("SELECT {columns} FROM BlobStorage WHERE id > 3"), TYPED);
    let wanted = [("_1", "true"), ("_2", "false"), ("_3", "false"), ("_4", "true"), ("_5", "2")];
    for (name, value) in wanted {
        assert!(text.contains(&format!("\"{name}\":{value}")), "{name}: {text}");
    }
}

/// Rule B17: the bytes of the metadata and of the columns that were read, once for each row group that came to something; the end tells
/// them all. The numbers are pyarrow's: 3301 bytes of metadata, 78 of the column `id`.
#[test]
fn b17_progress_counts_what_was_read() {
    let total = TYPED.len() as u64;
    let framing = crate::avro::Framing::new([7; 16]);
    let told = |sql: &str| {
        let (out, _, _) = frames(sql, TYPED);
        let is_in = |frame: Vec<u8>| out.windows(frame.len()).filter(|part| *part == frame).count();
        (is_in(framing.progress(3301 + 78, total)), is_in(framing.progress(total, total)), is_in(framing.end(total)))
    };
    assert_eq!(told("SELECT id FROM BlobStorage WHERE id > 3"), (1, 0, 1));
    assert_eq!(told("SELECT id FROM BlobStorage WHERE id > 300"), (1, 0, 1), "nothing found: told once, at the end");
    assert_eq!(told("SELECT COUNT(id) FROM BlobStorage"), (1, 0, 1));
}

/// C2: lists within lists ran the process out of stack.
#[test]
fn deep_metadata_is_damage() {
    for deep in [vec![0x19; 100_001], vec![0x1a; 100_001], [0x1b, 1, 0xbb].repeat(50_000), vec![0x1c; 100_001]] {
        assert!(answer("SELECT * FROM BlobStorage", &file(&deep)).0.contains("ParseError"));
    }
}

/// M5: rows are a claim. Here is a file without columns that claims 2^62 of them, of which nothing has to be read.
#[test]
fn claimed_rows_are_work_with_an_end() {
    let varint = |mut number: u64| {
        let mut out = Vec::new();
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
        out
    };
    // The schema: one element, the root, without children. One row group: no columns, so many rows.
    let root = [&[0x48, 1, b'r', 0x15, 0][..], &[0]].concat();
    let group = [&[0x19, 0x0c, 0x26][..], &varint(1 << 63), &[0]].concat();
    let metadata = [&[0x29, 0x1c][..], &root, &[0x29, 0x1c], &group, &[0]].concat();
    let (text, _, steps) = answer("SELECT COUNT(*) FROM BlobStorage", &file(&metadata));
    assert!(text.contains("QueryTooComplex"), "{text}");
    assert!(steps < 2 * crate::budget::QUERY_STEPS);
}
