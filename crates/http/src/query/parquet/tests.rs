//! Files that pyarrow wrote, with what is in them beside.

use serde_json::Value as Json;

use super::*;

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
                        let part = Bytes::copy_from_slice(part);
                        columns[at] = Some(Column::new(part, chunk, node, form, PAGE_LEAST));
                    }
                    None => bad = true,
                }
            });
        }
        if bad {
            return Err(Bad::Corrupt);
        }
        let mut rows = Rows::new(columns);
        for _ in 0..group.rows.min(most) {
            found.push(rows.next(&fields)?);
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
fn what_is_not_read_says_so() {
    assert_eq!(rows(BROTLI, |_| true, u64::MAX), Err(Bad::Unsupported("the codec BROTLI".into())));
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
