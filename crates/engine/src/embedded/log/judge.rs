//! What the bytes of a log file are: batches, one after another, and an end. Everything else is damage.
//!
//! A batch is written only after the one before it was synced. So all but the last one of the newest file were acknowledged, and must be
//! whole. The last one may be torn: the power went while it was written, its sync never returned, and nobody was answered. A torn
//! batch has a part that never reached the disk, and such a part is blank, since the file was blank there. A batch whose every
//! sector is there and whose checksum is wrong was written whole and changed since; it may have been acknowledged, so that is damage, too.

use super::format::{BadHeader, Batch, HEAD, HEADER, Head, Header, SECTOR, TRAILER, WORD};

/// A file of the log that is as it must be.
#[derive(Debug)]
pub(crate) struct Judged {
    pub header: Header,
    /// Where the last batch begins and ends. The same, if there is none.
    pub last: (usize, usize),
    /// The sequence that the next batch has, and the checksum that it continues.
    pub next: u64,
    pub checksum: u64,
    /// Something lies behind the last batch that was never acknowledged.
    pub torn: bool,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub at: usize,
    pub what: String,
}

/// Goes over the batches of a file, in order. `newest`: its end may be torn.
pub(crate) fn judge(bytes: &[u8], newest: bool, mut see: impl FnMut(&Batch<'_>)) -> Result<Judged, Damage> {
    let header = Header::decode(bytes).map_err(|bad| Damage {
        at: 0,
        what: match bad {
            BadHeader::Damaged => "its header does not agree with its checksum".into(),
            BadHeader::Newer(version) => format!("it has version {version}, which a newer Lazuli writes"),
        },
    })?;
    let (mut last, mut next, mut checksum, mut reach) = ((HEADER, HEADER), header.first, header.previous, 0);
    while let Some(batch) = Batch::decode(&bytes[last.1..], header.salt) {
        let damage = |what: String| Err(Damage { at: last.1, what });
        if batch.head.sequence != next {
            return damage(format!("there is batch {} where batch {next} must be", batch.head.sequence));
        }
        if batch.head.previous != checksum {
            return damage(format!("batch {next} does not continue the one before it"));
        }
        see(&batch);
        last = (last.1, last.1 + batch.head.total().expect("it is whole"));
        (next, checksum, reach) = (next + 1, batch.checksum, batch.head.reach);
    }
    if newest && (bytes.len() as u64) < reach {
        return Err(Damage { at: bytes.len(), what: format!("it ends, and was {reach} bytes long") });
    }
    let torn = match end(&bytes[last.1..], last.1, header.salt) {
        End::Blank => false,
        End::Torn if newest => true,
        End::Torn => {
            return Err(Damage { at: last.1, what: format!("batch {next} is torn, though a later file follows") });
        }
        End::Damaged(what) => return Err(Damage { at: last.1, what: format!("batch {next} {what}") }),
    };
    Ok(Judged { header, last, next, checksum, torn })
}

enum End {
    Blank,
    Torn,
    Damaged(&'static str),
}

/// What `rest`, at `offset` of its file, is. It does not begin with a whole batch.
fn end(rest: &[u8], offset: usize, salt: u64) -> End {
    if is_blank(rest) {
        return End::Blank;
    }
    let Some(head) = Head::decode(rest, salt) else {
        return match lacks_part(rest, offset, HEAD) {
            false => End::Damaged("has a head that does not agree with its checksum"),
            true if holds_a_head(rest, salt) => End::Damaged("is missing, though later ones are there"),
            true => End::Torn,
        };
    };
    let total = head.total().unwrap_or(usize::MAX);
    if !is_blank(rest.get(total..).unwrap_or_default()) {
        return End::Damaged("does not agree with its checksum, and is not the last");
    }
    match lacks_part(rest, offset, total) {
        true => End::Torn,
        false => End::Damaged("does not agree with its checksum, though no part of it is missing"),
    }
}

/// Whether some of the first `length` bytes never reached the disk: a sector, or the end. What ends a head, or a batch, is a checksum,
/// which is not blank.
fn lacks_part(rest: &[u8], offset: usize, length: usize) -> bool {
    let Some(bytes) = rest.get(..length).filter(|bytes| !is_blank(&bytes[length - TRAILER..])) else { return true };
    let first = (SECTOR - offset % SECTOR).min(length);
    is_blank(&bytes[..first]) || bytes[first..].chunks(SECTOR).any(is_blank)
}

/// Whether a batch begins anywhere behind the start.
fn holds_a_head(rest: &[u8], salt: u64) -> bool {
    (WORD..rest.len()).step_by(WORD).any(|at| Head::decode(&rest[at..], salt).is_some())
}

pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
