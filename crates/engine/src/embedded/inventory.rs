//! What must be there: written down at each change of files, compared at each start before anything is opened for writing (docs/format.md).
//!
//! Held true: the inventory is never ahead of the disk. A file is durable before it is listed, and is taken off the list before it
//! goes. So what is listed and not there was lost; what is there and not listed is left over from a moment in between.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

use super::error::{At, Error, Result};
use super::log::Position;
use crate::{Stamp, private};

pub(super) const NAME: &str = "inventory";
const UNFINISHED: &str = "inventory.new";
const TITLE: &str = "lazuli inventory 1";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    /// The process stopped in order: the log ends at `position`, and has no torn end.
    pub closed: bool,
    /// The greatest number that a file of the log has had.
    pub number: u64,
    /// The files of the log that hold what is not in tables yet, oldest first.
    pub logs: Vec<Listed>,
    /// The log reaches at least so far.
    pub position: Position,
    pub mark: Stamp,
    /// The tree's version at that time, or an earlier one.
    pub version: u64,
    /// The tables of that version.
    pub tables: Vec<Sized>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub number: u64,
    /// The sequence of its first batch.
    pub first: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sized {
    pub table: u64,
    pub bytes: u64,
}

impl Inventory {
    pub fn read(keys: &Path) -> Result<Self> {
        let path = keys.join(NAME);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::damaged(&path, "the inventory of the keys is missing"));
            }
            read => read.at(&path)?,
        };
        Self::decode(&text).ok_or_else(|| Error::damaged(&path, "it does not agree with its checksum"))
    }

    /// Replaces the one before it, in one step.
    pub fn write(&self, keys: &Path) -> io::Result<()> {
        private::replace(keys, UNFINISHED, NAME, self.encode().as_bytes())
    }

    fn encode(&self) -> String {
        let mut text = format!("{TITLE}\n{}\n", if self.closed { "closed" } else { "open" });
        let Position { next, checksum } = self.position;
        let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a string takes all");
        line(format_args!("batch {next} {checksum:016x}"));
        line(format_args!("mark {}", self.mark.0));
        line(format_args!("number {}", self.number));
        self.logs.iter().for_each(|log| line(format_args!("log {} {}", log.number, log.first)));
        line(format_args!("version {}", self.version));
        self.tables.iter().for_each(|table| line(format_args!("table {} {}", table.table, table.bytes)));
        let checksum = xxh3_64(text.as_bytes());
        writeln!(text, "checksum {checksum:016x}").expect("a string takes all");
        text
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (said, checksum) = text.strip_suffix('\n')?.rsplit_once("checksum ")?;
        // Written as we write it, so that there is one way only.
        if format!("{:016x}", xxh3_64(said.as_bytes())) != checksum {
            return None;
        }
        let mut lines = said.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let closed = match lines.next()? {
            "open" => false,
            "closed" => true,
            _ => return None,
        };
        let mut inventory = Self { closed, ..Self::default() };
        for line in lines {
            let (what, rest) = line.split_once(' ')?;
            match what {
                "batch" => {
                    let (next, checksum) = rest.split_once(' ')?;
                    let checksum = u64::from_str_radix(checksum, 16).ok()?;
                    inventory.position = Position { next: next.parse().ok()?, checksum };
                }
                "mark" => inventory.mark = Stamp(rest.parse().ok()?),
                "number" => inventory.number = rest.parse().ok()?,
                "version" => inventory.version = rest.parse().ok()?,
                "log" => inventory.logs.push(pair(rest).map(|(number, first)| Listed { number, first })?),
                "table" => inventory.tables.push(pair(rest).map(|(table, bytes)| Sized { table, bytes })?),
                _ => return None,
            }
        }
        Some(inventory)
    }
}

fn pair<T: FromStr>(text: &str) -> Option<(T, T)> {
    let (one, other) = text.split_once(' ')?;
    Some((one.parse().ok()?, other.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_what_was_written_or_nothing() {
        let whole = Inventory {
            closed: true,
            number: 12,
            logs: vec![Listed { number: 11, first: 700 }, Listed { number: 12, first: 900 }],
            position: Position { next: 1_000, checksum: 0xABC },
            mark: Stamp(638_000_000_000_000_000),
            version: 7,
            tables: vec![Sized { table: 3, bytes: 4_711 }],
        };
        for inventory in [whole, Inventory::default()] {
            let text = inventory.encode().into_bytes();
            assert_eq!(Inventory::decode(&text), Some(inventory));
            for at in 0..text.len() {
                for bit in 0..8 {
                    let mut flipped = text.clone();
                    flipped[at] ^= 1 << bit;
                    assert_eq!(Inventory::decode(&flipped), None, "bit {bit} of byte {at}");
                }
                assert_eq!(Inventory::decode(&text[..at]), None, "cut at {at}");
            }
        }
    }
}
