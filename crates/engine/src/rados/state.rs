//! What state a shard is in, as its row `s` says.
//!
//! ```text
//!  absent or l        live: it is read and written       (only the first shard of a space may say nothing)
//!  f                  it is being filled by a split; nobody is led here yet
//!  p children         being split: it is read, and not written
//!  m children         it has been split: neither; its rows are in its children
//!
//!  children           ┌───────────┬─────────────────┬───────┬───────────┬─────────────────┬───────┬─
//!                     │ length (4)│ first partition │ id (8)│ length (4)│ first partition │ id (8)│ …
//!                     └───────────┴─────────────────┴───────┴───────────┴─────────────────┴───────┴─
//! ```

use bytes::Bytes;

use super::names::{FIRST, ShardId};

/// Shards, by the least partition that each has.
pub(super) type Shards = Vec<(Bytes, ShardId)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Live,
    Filling,
    Splitting(Shards),
    Split(Shards),
    /// There is no such shard (any more).
    Gone,
}

impl State {
    pub fn parse(shard: ShardId, row: Bytes) -> Option<Self> {
        match row.first() {
            None if shard == FIRST => Some(Self::Live),
            None => Some(Self::Gone),
            Some(b'l') => Some(Self::Live),
            Some(b'f') => Some(Self::Filling),
            Some(b'p') => children(row.slice(1..)).map(Self::Splitting),
            Some(b'm') => children(row.slice(1..)).map(Self::Split),
            Some(_) => None,
        }
    }

    /// The row of a live shard.
    pub fn live(shard: ShardId) -> Bytes {
        if shard == FIRST { Bytes::new() } else { LIVE }
    }
}

pub(super) const LIVE: Bytes = Bytes::from_static(b"l");
pub(super) const FILLING: Bytes = Bytes::from_static(b"f");

pub(super) fn splitting(children: &Shards) -> Bytes {
    written(b'p', children)
}

pub(super) fn split(children: &Shards) -> Bytes {
    written(b'm', children)
}

fn written(state: u8, children: &Shards) -> Bytes {
    let mut row = vec![state];
    for (from, id) in children {
        row.extend_from_slice(&u32::try_from(from.len()).expect("names are short").to_be_bytes());
        row.extend_from_slice(from);
        row.extend_from_slice(&id.0.to_be_bytes());
    }
    row.into()
}

fn children(mut bytes: Bytes) -> Option<Shards> {
    let mut children = Shards::new();
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
        let end = length.checked_add(4)?;
        let id = bytes.get(end..)?.first_chunk().map(|id| ShardId(u64::from_be_bytes(*id)))?;
        children.push((bytes.slice(4..end), id));
        bytes = bytes.slice(end + 8..);
    }
    Some(children).filter(|children| !children.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_they_were_written() {
        let children = vec![(Bytes::new(), ShardId(3)), (Bytes::from_static(b"m\0x"), ShardId(u64::MAX))];
        let read = |row: Bytes| State::parse(ShardId(7), row);
        assert_eq!(read(splitting(&children)), Some(State::Splitting(children.clone())));
        assert_eq!(read(split(&children)), Some(State::Split(children.clone())));
        assert_eq!(
            (read(LIVE), read(FILLING), read(Bytes::new())),
            (Some(State::Live), Some(State::Filling), Some(State::Gone))
        );
        assert_eq!(State::parse(FIRST, Bytes::new()), Some(State::Live));
        let whole = split(&children);
        for end in 1..whole.len() {
            let cut = read(whole.slice(..end));
            assert!(cut.is_none() || cut == Some(State::Split(children[..1].to_vec())), "{end} bytes");
        }
        assert_eq!(read(Bytes::from_static(b"?")), None);
    }
}
