//! Avro as far as it is written here: object container files of records, to the byte ("Apache Avro Specification"). Used by
//! the answers of Query Blob Contents and by the files of the change feed.

/// Ends every block; sixteen bytes that the data is not likely to contain.
pub type Sync = [u8; 16];

/// What a file begins with.
pub fn header(schema: &str, sync: &Sync) -> Vec<u8> {
    let mut out = b"Obj\x01".to_vec();
    long(&mut out, 1);
    bytes(&mut out, b"avro.schema");
    bytes(&mut out, schema.as_bytes());
    long(&mut out, 0);
    out.extend_from_slice(sync);
    out
}

/// A block of `count` records, which are one after another in `records`.
pub fn block(count: u64, records: &[u8], sync: &Sync) -> Vec<u8> {
    let mut out = Vec::with_capacity(records.len() + 32);
    long(&mut out, count);
    bytes(&mut out, records);
    out.extend_from_slice(sync);
    out
}

/// Zigzag; ours are never negative.
pub fn long(out: &mut Vec<u8>, number: u64) {
    let mut rest = number << 1;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Also a string.
pub fn bytes(out: &mut Vec<u8>, data: &[u8]) {
    long(out, data.len() as u64);
    out.extend_from_slice(data);
}

/// A map in one block, or none.
pub fn map<'a, V>(
    out: &mut Vec<u8>,
    pairs: impl ExactSizeIterator<Item = (&'a str, V)>,
    write: impl Fn(&mut Vec<u8>, V),
) {
    if pairs.len() > 0 {
        long(out, pairs.len() as u64);
        for (name, value) in pairs {
            bytes(out, name.as_bytes());
            write(out, value);
        }
    }
    long(out, 0);
}

/// A union with null, which comes first.
pub fn optional<V>(out: &mut Vec<u8>, value: Option<V>, write: impl Fn(&mut Vec<u8>, V)) {
    match value {
        None => long(out, 0),
        Some(value) => {
            long(out, 1);
            write(out, value);
        }
    }
}
