//! Rows as another content needs them: the same, but for where pieces are. Pure.

use bytes::Bytes;
use lazuli_engine::content::Piece;
use lazuli_engine::{Fault, Key};

use crate::keys;
use crate::records::{
    Block, Chunk, Claim, Dead, Garbage, Kept, Place, Run, Start, decode, decode_with_tail, encode, encode_with_tail,
};
use crate::sparse::{Window, WindowPlace};

/// Where a piece has gone to. `None`: it was not copied, because nobody claims it.
pub(super) type Moved<'a> = &'a dyn Fn(Start) -> Option<Piece>;

/// The row for the other store; `None` for one that says nothing there.
pub(super) fn relocated(key: &Key, value: &Bytes, moved: Moved<'_>) -> Result<Option<(Key, Bytes)>, Fault> {
    if key.space() == keys::ROOT {
        return Ok(relocated_in_root(key, value, moved));
    }
    let value = match key.column() {
        keys::CLAIMS => return claim(key, value, moved),
        keys::CHUNKS => {
            let (mut chunk, tail) = decode_with_tail::<Chunk>(value)?;
            chunk.entries.iter_mut().try_for_each(|entry| place(&mut entry.place, moved))?;
            encode_with_tail(&chunk, &[tail])
        }
        keys::BLOCKS => {
            let (mut block, tail) = decode_with_tail::<Block>(value)?;
            place(&mut block.place, moved)?;
            encode_with_tail(&block, &[tail])
        }
        keys::WINDOWS => {
            let mut window: Window = decode(value)?;
            for span in &mut window.spans {
                if let WindowPlace::Piece(run) = &mut span.place {
                    *run = named(run, moved)?;
                }
            }
            encode(&window)
        }
        keys::GARBAGE => {
            let Dead(all) = decode(value)?;
            let left: Vec<Garbage> = all.into_iter().filter_map(|garbage| collected(garbage, moved)).collect();
            if left.is_empty() {
                return Ok(None);
            }
            encode(&Dead(left))
        }
        _ => value.clone(),
    };
    Ok(Some((key.clone(), value)))
}

/// What is dead has not been copied, and what an import left is its own.
fn relocated_in_root(key: &Key, value: &Bytes, moved: Moved<'_>) -> Option<(Key, Bytes)> {
    match key.column() {
        keys::DEAD_SPACES | keys::IMPORTS => None,
        keys::LENT => {
            let (extent, offset, holder) = keys::read_lent(key)?;
            let piece = moved((extent, offset))?;
            Some((keys::lent((piece.extent, piece.offset), &holder), value.clone()))
        }
        _ => Some((key.clone(), value.clone())),
    }
}

fn claim(key: &Key, value: &Bytes, moved: Moved<'_>) -> Result<Option<(Key, Bytes)>, Fault> {
    let unreadable = || Fault::Corrupt("a claim that names no piece".into());
    let (extent, offset, name) = keys::read_claim(key).ok_or_else(unreadable)?;
    let claim: Claim = decode(value)?;
    let piece = moved((extent, offset)).ok_or_else(|| unclaimed((extent, offset)))?;
    Ok(Some((
        keys::claim_of(key.space(), &piece, &name),
        encode(&Claim { length: piece.length, seal: piece.seal, ..claim }),
    )))
}

fn place(place: &mut Place, moved: Moved<'_>) -> Result<(), Fault> {
    match place {
        Place::Inline => Ok(()),
        Place::Pieces(runs) => runs.iter_mut().try_for_each(|run| {
            *run = named(run, moved)?;
            Ok(())
        }),
    }
}

fn named(run: &Run, moved: Moved<'_>) -> Result<Run, Fault> {
    let piece = moved(run.start()).ok_or_else(|| unclaimed(run.start()))?;
    Ok(Run::from(&piece))
}

fn unclaimed((extent, offset): Start) -> Fault {
    Fault::Corrupt(format!(
        "a record names a piece that nobody claims, in extent {extent} at {offset}: see `lazuli check`"
    ))
}

/// Bytes that wait to be given back were not copied. What else waits for the sweeper waits for the one there.
fn collected(garbage: Garbage, moved: Moved<'_>) -> Option<Garbage> {
    Some(match garbage {
        Garbage::Pieces(_) => return None,
        Garbage::Content { id, kept } => Garbage::Content { id, kept: still_kept(kept, moved) },
        Garbage::Epoch { epoch, kept } => Garbage::Epoch { epoch, kept: still_kept(kept, moved) },
        same @ (Garbage::Sparse(_)
        | Garbage::Superseded { .. }
        | Garbage::Cut
        | Garbage::Purged { .. }
        | Garbage::Subtree) => same,
    })
}

/// In order, so that it can be searched.
fn still_kept(kept: Kept, moved: Moved<'_>) -> Kept {
    let starts = |starts: Vec<Start>| {
        let mut starts: Vec<Start> =
            starts.into_iter().filter_map(moved).map(|piece| (piece.extent, piece.offset)).collect();
        starts.sort_unstable();
        starts
    };
    match kept {
        Kept::Nothing | Kept::Everything => kept,
        Kept::Only(kept) => Kept::Only(starts(kept)),
        Kept::AllBut(dropped) => Kept::AllBut(starts(dropped)),
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Space;

    use super::*;
    use crate::crypt::{Cipher, Sealed};
    use crate::records::Entry;
    use crate::sparse::Span;

    fn moved((extent, offset): Start) -> Option<Piece> {
        (extent < 90).then(|| Piece { extent: 1_000 - extent, offset: 0, length: 10, seal: offset + 7 })
    }

    fn run(extent: u64) -> Run {
        Run { extent, offset: 4, length: 10, seal: 1 }
    }

    fn there(extent: u64) -> Run {
        Run::from(&moved((extent, 4)).expect("it was copied"))
    }

    #[test]
    fn whatever_names_a_piece_names_where_it_went() {
        let keys = keys::BlobKeys::new(7, "name");
        let of = |key: Key, value: Bytes| relocated(&key, &value, &moved).expect("it can be read");
        let (key, value) =
            of(keys.claim(&run(3).piece()), encode(&Claim { length: 10, seal: 1, holders: 2 })).expect("a row");
        assert_eq!(key, keys.claim(&there(3).piece()));
        assert_eq!(decode::<Claim>(&value), Ok(Claim { length: 10, seal: 11, holders: 2 }));

        let entry = |place| Entry { id: None, length: 10, holds: true, place, cipher: Cipher::None };
        let chunk = |runs| Chunk { entries: vec![entry(Place::Inline), entry(Place::Pieces(runs))] };
        let tail = Bytes::from_static(b"0123456789");
        let (key, value) =
            of(keys.chunk(5, 0), encode_with_tail(&chunk(vec![run(3), run(4)]), std::slice::from_ref(&tail)))
                .expect("a row");
        assert_eq!(key, keys.chunk(5, 0));
        assert_eq!(decode_with_tail::<Chunk>(&value), Ok((chunk(vec![there(3), there(4)]), tail)));

        let span = |place| Span { from: 0, to: 10, written: 1, place, skip: 3, sealed: Sealed::None };
        let window = |run| Window { spans: vec![span(WindowPlace::Hole), span(WindowPlace::Piece(run))] };
        let key = Key::new(Space(7), keys::WINDOWS, &[b"name\0window"]);
        let (_, value) = of(key, encode(&window(run(5)))).expect("a row");
        assert_eq!(decode::<Window>(&value), Ok(window(there(5))));

        let lent = keys::lent(run(6).start(), &keys);
        assert_eq!(
            of(lent, Bytes::from_static(b"x")),
            Some((keys::lent(there(6).start(), &keys), Bytes::from_static(b"x")))
        );
        assert_eq!(of(keys::lent(run(99).start(), &keys), Bytes::new()), None, "nobody claims it any more");
    }

    #[test]
    fn garbage_goes_on_without_what_was_not_copied() {
        let key = Key::new(Space(7), keys::GARBAGE, &[b"name\0stamp"]);
        let of = |garbage| {
            relocated(&key, &encode(&Dead(garbage)), &moved)
                .expect("it can be read")
                .map(|(_, value)| decode::<Dead>(&value).expect("a record").0)
        };
        assert_eq!(of(vec![Garbage::Pieces(vec![run(3)])]), None);
        let kept = Kept::Only(vec![run(3).start(), run(4).start(), run(99).start()]);
        let after = Kept::Only(vec![there(4).start(), there(3).start()]);
        assert_eq!(
            of(vec![Garbage::Pieces(vec![run(3)]), Garbage::Content { id: 1, kept }]),
            Some(vec![Garbage::Content { id: 1, kept: after }])
        );
    }

    #[test]
    fn a_piece_that_nobody_claims_is_not_made_up() {
        let key = Key::new(Space(7), keys::WINDOWS, &[b"name\0window"]);
        let span =
            Span { from: 0, to: 10, written: 1, place: WindowPlace::Piece(run(99)), skip: 0, sealed: Sealed::None };
        assert!(relocated(&key, &encode(&Window { spans: vec![span] }), &moved).is_err());
    }
}
