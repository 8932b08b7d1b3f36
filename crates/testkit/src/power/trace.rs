//! The record that `powercut/shim.c` writes, read back.

use std::io;
use std::path::Path;

use bytes::Bytes;

#[derive(Clone, Debug)]
pub enum Change {
    Open { inode: u64, path: String, created: bool, truncated: bool, directory: bool },
    Write { inode: u64, at: u64, bytes: Bytes },
    Truncate { inode: u64, length: u64 },
    Punch { inode: u64, at: u64, length: u64 },
    Allocate { inode: u64, end: u64 },
    Rename { from: String, to: String },
    Unlink { path: String },
    MakeDirectory { inode: u64, path: String },
    RemoveDirectory { path: String },
    SyncBegin { inode: u64, id: (u64, u64) },
    SyncEnd { inode: u64, id: (u64, u64) },
}

pub struct Trace(pub Vec<Change>);

const HEAD: usize = 41;
const KEEP_SIZE: u64 = 1;
const PUNCH_HOLE: u64 = 2;

impl Trace {
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut rest = Bytes::from(std::fs::read(path)?);
        let mut changes = Vec::new();
        while rest.len() >= HEAD {
            let head = rest.split_to(HEAD);
            let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
            let half = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes")) as usize;
            // The process may have been ended in the middle of a record: what it says had then not been answered.
            if rest.len() < half(33) + half(37) {
                break;
            }
            let (first, second) = (rest.split_to(half(33)), rest.split_to(half(37)));
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
            let (inode, a, b, c) = (word(1), word(9), word(17), word(25));
            changes.push(match head[0] {
                1 => Change::Open {
                    inode,
                    path: text(&first),
                    created: a & 1 != 0,
                    truncated: a & 2 != 0,
                    directory: a & 4 != 0,
                },
                2 => Change::Write { inode, at: a, bytes: first },
                3 => Change::Truncate { inode, length: a },
                4 if c == PUNCH_HOLE | KEEP_SIZE => Change::Punch { inode, at: a, length: b },
                4 if c == 0 => Change::Allocate { inode, end: a + b },
                5 if a == 0 => Change::Rename { from: text(&first), to: text(&second) },
                6 => Change::Unlink { path: text(&first) },
                7 => Change::MakeDirectory { inode, path: text(&first) },
                8 => Change::RemoveDirectory { path: text(&first) },
                10 => Change::SyncBegin { inode, id: (b, a) },
                11 => Change::SyncEnd { inode, id: (b, a) },
                kind => {
                    return Err(io::Error::other(format!("a change of kind {kind} ({a}, {b}, {c}) is not modelled")));
                }
            });
        }
        Ok(Self(changes))
    }
}
