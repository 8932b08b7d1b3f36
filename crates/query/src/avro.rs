//! The framing of answers: an Avro object container whose records are data, errors, progress and an end. One record a block, as
//! recorded.

use lazuli_model::avro::{self, bytes, long};

use crate::Mistake;

/// As the service sends it, to the byte: clients look types up by name in it.
const SCHEMA: &str = include_str!("schema.json");

pub struct Framing {
    sync: [u8; 16],
}

impl Framing {
    /// `sync` is any sixteen bytes that the data is not likely to contain.
    pub fn new(sync: [u8; 16]) -> Self {
        Self { sync }
    }

    pub fn header(&self) -> Vec<u8> {
        avro::header(SCHEMA, &self.sync)
    }

    pub fn data(&self, data: &[u8]) -> Vec<u8> {
        self.block(0, |out| bytes(out, data))
    }

    pub fn error(&self, mistake: &Mistake) -> Vec<u8> {
        self.block(1, |out| {
            out.push(u8::from(mistake.fatal));
            bytes(out, mistake.name.as_bytes());
            bytes(out, mistake.description.as_bytes());
            long(out, mistake.position);
        })
    }

    pub fn progress(&self, scanned: u64, total: u64) -> Vec<u8> {
        self.block(2, |out| {
            long(out, scanned);
            long(out, total);
        })
    }

    pub fn end(&self, total: u64) -> Vec<u8> {
        self.block(3, |out| long(out, total))
    }

    fn block(&self, kind: u64, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut record = Vec::new();
        long(&mut record, kind);
        write(&mut record);
        avro::block(1, &record, &self.sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_recorded() {
        let framing = Framing::new(*b"0123456789abcdef");
        let header = framing.header();
        assert!(header.starts_with(b"Obj\x01\x02\x16avro.schema\xce\x1e[\n"));
        assert!(header.ends_with(b"]\n\x000123456789abcdef"));
        assert_eq!(
            framing.data(b"0,mdifjt55.ea3,mdifjt55.ea3\n"),
            b"\x02<\x0080,mdifjt55.ea3,mdifjt55.ea3\n0123456789abcdef"
        );
        assert_eq!(framing.progress(39_841, 80_087), b"\x02\x0e\x04\xc2\xee\x04\xae\xe3\t0123456789abcdef");
        assert_eq!(framing.end(80_087), b"\x02\x08\x06\xae\xe3\t0123456789abcdef");
        let mistake = Mistake {
            fatal: false,
            name: "InvalidColumnOrdinal",
            description: "Column ordinal 0 does not exist in row.".into(),
            position: 118,
        };
        let error = framing.error(&mistake);
        assert!(
            error.starts_with(
                b"\x02\x82\x01\x02\x00(InvalidColumnOrdinalNColumn ordinal 0 does not exist in row.\xec\x01"
            )
        );
    }
}
