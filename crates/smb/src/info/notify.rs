//! What has changed in a directory ([MS-FSCC] 2.7.1).

use bytes::Bytes;

use crate::packet::wire::{Malformed, Parsed, Sink, Source, numbers};
use crate::text::Wide;

numbers! { Action: u32 {
    Added = 1,
    Removed = 2,
    Modified = 3,
    RenamedFrom = 4,
    RenamedTo = 5,
} }

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub action: Action,
    /// From the directory that is watched.
    pub name: Wide,
}

const CHANGES_MAX: usize = 1 << 16;

/// All of them, or nothing if they do not fit: the client then lists the directory anew.
pub fn write_list(changes: &[Change], room: usize) -> Option<Bytes> {
    let mut sink = Sink::new();
    for (at, change) in changes.iter().enumerate() {
        let start = sink.offset();
        sink.zeros(4);
        sink.write(&change.action);
        sink.size32(change.name.len());
        change.name.write(&mut sink);
        if at + 1 < changes.len() {
            sink.align(4);
            sink.patch_u32(start, sink.offset() - start);
        }
        if sink.offset() > room {
            return None;
        }
    }
    Some(sink.finish().freeze())
}

pub fn read_list(output: Bytes) -> Parsed<Vec<Change>> {
    let mut changes = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        if changes.len() == CHANGES_MAX {
            return Err(Malformed::Count);
        }
        let mut source = Source::new(rest.clone());
        let (next, action, length) = (source.size32()?, source.read()?, source.size32()?);
        changes.push(Change { action, name: Wide::from_wire(source.take(length)?)? });
        match next {
            0 => break,
            12.. if next < rest.len() && next.is_multiple_of(4) => rest = rest.slice(next..),
            _ => return Err(Malformed::Range),
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_or_do_not_fit() {
        let change = |action, name: &str| Change { action, name: name.into() };
        let changes =
            vec![change(Action::RenamedFrom, "a"), change(Action::RenamedTo, r"dir\b"), change(Action::Added, "")];
        let bytes = write_list(&changes, 4096).expect("room enough");
        assert_eq!(read_list(bytes.clone()), Ok(changes.clone()));
        assert_eq!(write_list(&changes, bytes.len()), Some(bytes.clone()));
        assert_eq!(write_list(&changes, bytes.len() - 1), None);
        assert_eq!(write_list(&[], 0), Some(Bytes::new()));
    }
}
