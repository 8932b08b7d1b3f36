//! Files of the log: every batch that agrees with its checksum, also behind one that does not.

use std::path::Path;

use bytes::Bytes;

use super::super::log::{self, Batch, Header};
use super::read_around::whole;
use super::{Report, See};
use crate::Stamp;

const WORD: usize = 8;

/// Shows what is in all batches that are whole, in order, and says which are not there. Gives the latest mark.
pub(super) fn read(directory: &Path, report: &mut Report, see: &mut See<'_>) -> Stamp {
    let files = match log::list(directory) {
        Ok(files) => files,
        Err(error) => {
            report.add(directory, error);
            return Stamp(0);
        }
    };
    let (mut mark, mut next) = (Stamp(0), None);
    for (_, path) in files {
        match whole(&path) {
            Ok((bytes, lost)) => {
                if lost > 0 {
                    report.add(&path, format!("{lost} bytes of it cannot be read"));
                }
                mark = mark.max(read_file(&path, &bytes, &mut next, report, see));
            }
            Err(error) => report.add(&path, error),
        }
    }
    mark
}

fn read_file(path: &Path, bytes: &[u8], next: &mut Option<u64>, report: &mut Report, see: &mut See<'_>) -> Stamp {
    let mut mark = Stamp(0);
    let Some(header) = header(bytes) else {
        report.add(path, "all of it is lost: its header cannot be read");
        return mark;
    };
    let (mut at, end) = (64, bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    while at < end {
        let Some(batch) = Batch::decode(&bytes[at..], header.salt) else {
            at += WORD;
            continue;
        };
        let sequence = batch.head.sequence;
        if let Some(expected) = next.filter(|expected| *expected < sequence) {
            report.add(path, format!("before byte {at}, batches {expected} to {} are lost", sequence - 1));
        }
        *next = Some(sequence + 1);
        mark = mark.max(batch.head.mark);
        report.batches += 1;
        for (key, value) in batch.entries() {
            report.entries += 1;
            see(&Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice));
        }
        at += batch.head.total().expect("it is whole");
    }
    mark
}

/// The header, if need be with one bit turned back: without it no batch of the file can be told from rubbish.
fn header(bytes: &[u8]) -> Option<Header> {
    let bytes: &[u8; 64] = bytes.first_chunk()?;
    let turned = |bit: usize| {
        let mut bytes = *bytes;
        bytes[bit / 8] ^= 1 << (bit % 8);
        Header::decode(&bytes).ok()
    };
    Header::decode(bytes).ok().or_else(|| (0..512).find_map(turned))
}
