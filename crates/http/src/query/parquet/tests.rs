//! Files that pyarrow wrote, with what is in them beside.

use serde_json::Value as Json;

use super::*;

const TYPED: &[u8] = include_bytes!("testdata/typed.parquet");
const PAGES_V2: &[u8] = include_bytes!("testdata/typed-v2-gzip.parquet");
const ZSTD: &[u8] = include_bytes!("testdata/zstd.parquet");
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
    for (name, bytes) in [("pages of version 1, snappy", TYPED), ("pages of version 2, gzip, three groups", PAGES_V2)] {
        let found = rows(bytes, |_| true, u64::MAX).unwrap();
        assert_eq!(found.len(), 5, "{name}");
        for (found, expected) in found.iter().zip(expected()) {
            for (column, value) in expected.as_object().unwrap() {
                assert_eq!(found.get(column), Some(value), "{name}: {column}");
            }
        }
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
    assert_eq!(rows(ZSTD, |_| true, u64::MAX), Err(Bad::Unsupported("the codec ZSTD".into())));
    assert_eq!(rows(b"PAR1PAR1", |_| true, u64::MAX), Err(Bad::Corrupt));
}

/// Every byte changed, in one of three ways, and many lengths: rows or a complaint, and an end.
#[test]
fn damage_is_noticed_or_harmless() {
    for bytes in [TYPED, PAGES_V2] {
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
            let _ = rows(&damaged, |_| true, 100);
        }
        for length in (0..bytes.len()).step_by(13) {
            let _ = rows(&bytes[..length], |_| true, 100);
        }
    }
}
