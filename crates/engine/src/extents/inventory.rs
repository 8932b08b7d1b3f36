//! Which extents must be there, and how long they are at least: `extents/inventory`, drawn in docs/format.md.
//!
//! Held true: the inventory is never ahead of the disk. An extent is durable before it is listed, and is taken off the list before it goes. So
//! one that is listed and not there was lost. Its greatest id is never used again, even if all files were lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::layout::crc64;
use crate::private;

pub(crate) const NAME: &str = "inventory";
pub(crate) const UNFINISHED: &str = "inventory.new";
const TITLE: &str = "lazuli extents 1";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inventory {
    pub greatest: u64,
    /// The length of each that is sealed; 0 of those that are appended to.
    pub lengths: BTreeMap<u64, u64>,
}

impl Inventory {
    /// `None` if there is none: the directory is new, or was used before inventories were written.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read(directory.join(NAME)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let damaged = || io::Error::new(ErrorKind::InvalidData, "it does not agree with its checksum");
        Self::decode(&text).map(Some).ok_or_else(damaged)
    }

    /// Replaces the one before it, in one step.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        private::replace(directory, UNFINISHED, NAME, self.encode().as_bytes())
    }

    fn encode(&self) -> String {
        let mut text = format!("{TITLE}\ngreatest {}\n", self.greatest);
        for (id, length) in &self.lengths {
            writeln!(text, "extent {id} {length}").expect("a string takes all");
        }
        let checksum = crc64(text.as_bytes());
        writeln!(text, "checksum {checksum:016x}").expect("a string takes all");
        text
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (said, checksum) = text.strip_suffix('\n')?.rsplit_once("checksum ")?;
        if format!("{:016x}", crc64(said.as_bytes())) != checksum {
            return None;
        }
        let mut lines = said.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let greatest = lines.next()?.strip_prefix("greatest ")?.parse().ok()?;
        let extents = lines.map(|line| {
            let (id, length) = line.strip_prefix("extent ")?.split_once(' ')?;
            Some((id.parse().ok()?, length.parse().ok()?))
        });
        Some(Self { greatest, lengths: extents.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_what_was_written_or_nothing() {
        let inventory = Inventory { greatest: 9, lengths: BTreeMap::from([(3, 0), (8, 1 << 30)]) };
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
