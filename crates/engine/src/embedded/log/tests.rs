use std::collections::BTreeMap;

use bytes::Bytes;

use super::format::{HEAD, HEADER, SECTOR, WORD, encode};
use super::*;
use crate::{Column, Key, Space};

const SALT: u64 = 77;

fn header() -> Header {
    Header { number: 3, first: 10, previous: 5, salt: SALT }
}

/// A file with a batch for each of `values`, and where each of them begins and the last one ends.
fn file(values: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = header().encode().to_vec();
    let (mut places, mut checksum, mut buffer) = (vec![bytes.len()], header().previous, Vec::new());
    for (at, value) in (0..).zip(values) {
        let key = |row: u8| Key::new(Space(1), Column(1), &[&[row]]);
        let put = (key(1), Some(Bytes::copy_from_slice(value)));
        let writes = BTreeMap::from([put, (key(2), None)]);
        let head =
            Head { count: 0, length: 0, sequence: header().first + at, previous: checksum, mark: Stamp(at), reach: 0 };
        checksum = encode(&mut buffer, &writes, &head, SALT);
        assert_eq!(buffer.len(), format::length(&writes));
        bytes.extend_from_slice(&buffer);
        places.push(bytes.len());
    }
    (bytes, places)
}

/// How many batches there are, and whether something torn is behind them; or what is damaged.
fn outcome(bytes: &[u8], newest: bool) -> Result<(usize, bool), String> {
    let mut count = 0;
    let judged = judge(bytes, newest, |_| count += 1).map_err(|damage| damage.what)?;
    assert_eq!(judged.next, header().first + count as u64);
    Ok((count, judged.torn))
}

fn with(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    bytes
}

#[test]
fn what_was_appended_is_read() {
    let (bytes, _) = file(&[b"one", &[7; 5_000], b""]);
    let mut seen = Vec::new();
    let judged = judge(&bytes, false, |batch| {
        let values: Vec<_> = batch.entries().map(|(_, value)| value.map(<[u8]>::len)).collect();
        seen.push((batch.head.sequence, batch.head.mark, values));
    });
    assert_eq!(judged.map(|judged| judged.header), Ok(header()));
    let values = |length| vec![Some(length), None];
    assert_eq!(seen, [(10, Stamp(0), values(3)), (11, Stamp(1), values(5_000)), (12, Stamp(2), values(0))]);
}

/// C1: whatever bit is flipped in whatever batch, the last one too, the file is refused. In the blank end it is refused, or nothing is lost.
#[test]
fn a_flipped_bit_is_damage_wherever_it_is() {
    let (bytes, places) = file(&[&[1; 40], &[2; 700], &[3; 90]]);
    let end = *places.last().expect("places");
    let bytes = with(&bytes, |bytes| bytes.resize(end + 2 * SECTOR, 0));
    for newest in [true, false] {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let flipped = with(&bytes, |bytes| bytes[at] ^= 1 << bit);
                if let Ok(seen) = outcome(&flipped, newest) {
                    assert!(newest && at >= end && seen == (3, true), "bit {bit} of byte {at}: {seen:?}");
                }
            }
        }
    }
}

/// What a power cut leaves of the last batch: some of its sectors, in any choice, and blanks. It is never damage, and never seen in part.
#[test]
fn a_torn_last_batch_was_never_acknowledged() {
    let long = [9; 3 * SECTOR];
    for lead in [0, 8, 200, 376, 384, 392, 400, 440] {
        let lead = vec![1; lead];
        let (whole, places) = file(&[&lead, &long]);
        let last = places[1];
        let sectors = whole.len().div_ceil(SECTOR);
        let first = last / SECTOR;
        for lost in 1..1_u32 << (sectors - first) {
            let torn = with(&whole, |bytes| {
                for sector in (first..sectors).filter(|sector| lost >> (sector - first) & 1 == 1) {
                    let from = last.max(sector * SECTOR);
                    let to = bytes.len().min((sector + 1) * SECTOR);
                    bytes[from..to].fill(0);
                }
            });
            let all = lost == (1 << (sectors - first)) - 1;
            assert_eq!(outcome(&torn, true), Ok((1, !all)), "lead {}, lost {lost:b}", lead.len());
            assert_eq!(outcome(&torn, false).is_ok(), all, "only the newest file may have a torn end");
        }
        // A write that was broken off in the middle, also of the head.
        for length in last + 1..whole.len() {
            assert_eq!(outcome(&whole[..length], true), Ok((1, true)), "cut at {length}");
            let blank = with(&whole, |bytes| bytes[length.next_multiple_of(WORD) - WORD..].fill(0));
            assert_eq!(outcome(&blank, true).map(|(count, _)| count), Ok(1), "blank from {length}");
        }
    }
}

#[test]
fn what_is_not_a_torn_end_is_damage() {
    let (whole, places) = file(&[&[1; 600], &[2; 600], &[3; 600]]);
    let (other, _) = file(&[&[1; 600], &[4; 600], &[3; 600]]);
    let [_, second, third, end] = places[..] else { panic!("four places") };
    let cases: [(&str, Vec<u8>); 9] = [
        ("a batch in the middle blank", with(&whole, |bytes| bytes[second..third].fill(0))),
        ("the first batch blank", with(&whole, |bytes| bytes[HEADER..second].fill(0))),
        ("a head in the middle blank", with(&whole, |bytes| bytes[second..second + HEAD].fill(0))),
        ("a batch left out", [&whole[..second], &whole[third..]].concat()),
        ("a batch twice", [&whole[..third], &whole[second..]].concat()),
        ("a batch of another history", [&whole[..third], &other[third..]].concat()),
        ("a batch in the middle torn", with(&whole, |bytes| bytes[third - 40..third].fill(0))),
        (
            "something behind a torn batch",
            with(&whole, |bytes| {
                bytes[end - 8..].fill(0);
                bytes.extend_from_slice(&[0, 0, 0, 0, 1]);
            }),
        ),
        ("no header", with(&whole, |bytes| bytes[..HEADER].fill(0))),
    ];
    for (name, bytes) in cases {
        assert!(outcome(&bytes, true).is_err(), "{name}: {:?}", outcome(&bytes, true));
    }
    assert_eq!(outcome(&whole, true), Ok((3, false)));
}

/// Somebody stores a log file, and the power goes while that is written.
#[test]
fn a_value_that_looks_like_a_batch_is_none() {
    let mut likeness = Vec::new();
    let head = Head { count: 0, length: 0, sequence: 12, previous: 0, mark: Stamp(1), reach: 0 };
    encode(&mut likeness, &Writes::new(), &head, SALT + 1);
    let (whole, places) = file(&[b"one", &likeness.repeat(10)]);
    let torn = with(&whole, |bytes| bytes[places[1]..places[1] + HEAD].fill(0));
    assert_eq!(outcome(&torn, true), Ok((1, true)));
}

#[test]
fn a_log_goes_on_where_it_was_and_blanks_lie_ahead() {
    let directory = std::env::temp_dir().join(format!("lazuli-log-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    let sizes = [1, 700, 5_000, 200_000, 300_000, 1 << 20, 3, 90_000];
    let mut log = Log::create(&directory, 7, Position { next: 40, checksum: 9 }).expect("a log");
    for size in sizes {
        let key = Key::new(Space(1), Column(1), &[b"row"]);
        let writes = BTreeMap::from([(key, Some(Bytes::from(vec![1; size])))]);
        log.append(&writes, Stamp(5)).expect("appends");
    }
    let [(7, path)] = &list(&directory).expect("lists")[..] else { panic!("one file") };
    let bytes = fs::read(path).expect("reads");
    let mut seen = Vec::new();
    let judged = judge(&bytes, true, |batch| seen.extend(batch.entries().map(|(_, value)| value.map(<[u8]>::len))));
    let judged = judged.expect("whole");
    assert_eq!(seen, sizes.map(Some));
    assert_eq!((judged.next, judged.checksum, judged.torn), (48, log.position().checksum, false));
    assert!(bytes.len() > judged.last.1 + 1_000, "the next batch finds blocks");
    for length in (judged.last.0..bytes.len()).step_by(1_000) {
        assert!(
            judge(&bytes[..length], true, |_| {}).is_err(),
            "a file that is appended to has not become shorter: {length}"
        );
    }
    log.finish().expect("finishes");
    assert_eq!(fs::metadata(path).expect("a file").len(), judged.last.1 as u64);
    fs::remove_dir_all(&directory).expect("goes");
}
