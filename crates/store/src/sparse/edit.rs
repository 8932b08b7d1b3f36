//! Changing a sparse content within its partition's transaction. A write costs the windows it touches.

use bytes::{Bytes, BytesMut};
use lazuli_engine::{Fault, Txn};

use super::rows::{newest, visible};
use super::window::{Place, Span};
use super::{Copy, Seen, WINDOW, Window, windows_of};
use crate::Received;
use crate::claims::{Trash, lower, raise};
use crate::crypt::{Cipher, Sealed};
use crate::keys::BlobKeys;
use crate::records::{self, Claim, Garbage, Run, encode};
use crate::transact::Decided;

/// Bytes to be written: staged in extents, or so few that they go into rows of their own with the transaction.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    length: u64,
    place: records::Place,
    small: Bytes,
    cipher: Cipher,
}

impl Fill {
    pub fn of(content: &Received) -> Self {
        let (place, small) = content.body.place();
        Self { length: content.length, place, small, cipher: content.cipher }
    }

    /// What waits as a block.
    pub fn of_block(length: u64, place: records::Place, small: Bytes, cipher: Cipher) -> Self {
        Self { length, place, small, cipher }
    }

    /// A few zeros that count as written.
    pub fn zeros(length: u64) -> Self {
        let small = Bytes::from(vec![0; length as usize]);
        Self { length, place: records::Place::Inline, small, cipher: Cipher::None }
    }

    /// For the part of the body that begins at `at`.
    fn sealed(&self, at: u64) -> Sealed {
        self.cipher.part(at, self.length)
    }

    /// A row for `from..to` of the body, if that is small, and where in the row they begin. What can only be opened whole is kept whole.
    fn row(&self, from: u64, to: u64) -> (Bytes, Sealed, u32) {
        match self.sealed(from) {
            cut if cut.can_be_cut() => (self.small.slice(from as usize..to as usize), cut, 0),
            _ => (self.small.clone(), self.sealed(0), from as u32),
        }
    }
}

/// One per content and transaction; `finish` it.
#[must_use]
pub(crate) struct Editor<'a> {
    pub(super) keys: &'a BlobKeys,
    /// The content, and the epoch at which its owner writes.
    pub(super) at: Seen,
    /// Rows of small bytes that this transaction has made.
    parts: u32,
    pub(super) loose: Vec<Run>,
}

impl<'a> Editor<'a> {
    pub fn new(keys: &'a BlobKeys, at: Seen) -> Self {
        Self { keys, at, parts: 0, loose: Vec::new() }
    }

    /// Writes the whole of `fill` at `at`. Its pieces must have been staged for this very transaction.
    pub fn write(&mut self, txn: &mut Txn<'_>, at: u64, fill: &Fill) -> Decided<()> {
        match &fill.place {
            records::Place::Inline => {
                let mut done = 0;
                while done < fill.length {
                    let (number, from, to) = slot(at + done, at + fill.length);
                    let length = u64::from(to - from);
                    let (row, sealed, skip) = fill.row(done, done + length);
                    let place = self.keep_small(txn, row);
                    self.put(txn, number, Span { from, to, written: self.at.epoch, place, skip, sealed })?;
                    done += length;
                }
            }
            records::Place::Pieces(runs) => {
                let mut start = at;
                for run in runs {
                    let sealed = fill.sealed(start - at);
                    self.write_piece(txn, start, run, sealed)?;
                    start += sealed.length(run.length);
                }
            }
        }
        Ok(())
    }

    /// As [`Editor::write`], of bytes that others hold already: a block that waits, or another content of the partition.
    pub fn adopt(&mut self, txn: &mut Txn<'_>, at: u64, fill: &Fill) -> Decided<()> {
        let records::Place::Pieces(runs) = &fill.place else {
            return self.write(txn, at, fill);
        };
        let mut start = at;
        for run in runs {
            let sealed = fill.sealed(start - at);
            let (length, mut done) = (sealed.length(run.length), 0);
            while done < length {
                let (number, from, to) = slot(start + done, start + length);
                let place = Place::Piece(*run);
                if !self.names(txn, number, &place)? {
                    raise(txn, self.keys, &[*run])?;
                }
                let skip = done as u32; // a piece is at most 64 MiB
                self.put(txn, number, Span { from, to, written: self.at.epoch, place, skip, sealed })?;
                done += u64::from(to - from);
            }
            start += length;
        }
        Ok(())
    }

    fn write_piece(&mut self, txn: &mut Txn<'_>, start: u64, run: &Run, sealed: Sealed) -> Decided<()> {
        let length = sealed.length(run.length);
        let end = start + length;
        let windows = end.div_ceil(WINDOW) - start / WINDOW;
        let holders = u32::try_from(windows).map_err(|_| Fault::Corrupt("a piece of more windows than any".into()))?;
        let claim = Claim { length: run.length, seal: run.seal, holders };
        txn.put(self.keys.claim(&run.piece()), encode(&claim));
        let mut done = 0;
        while done < length {
            let (number, from, to) = slot(start + done, end);
            let skip = done as u32; // a piece is at most 64 MiB
            self.put(txn, number, Span { from, to, written: self.at.epoch, place: Place::Piece(*run), skip, sealed })?;
            done += u64::from(to - from);
        }
        Ok(())
    }

    /// Makes `from..to` a hole, in at most `most` windows that have something there. Gives where to go on, if that was not all.
    pub fn clear(&mut self, txn: &mut Txn<'_>, from: u64, to: u64, most: usize) -> Decided<Option<u64>> {
        let (rows, next) = visible(txn, self.keys, self.at, from / WINDOW, to.div_ceil(WINDOW), most)?;
        for row in rows {
            let start = row.number * WINDOW;
            let first = from.max(start) - start;
            let end = to.min(start + WINDOW) - start;
            let epoch = self.at.epoch;
            self.change(txn, row.number, |window| window.clear(first as u32, end as u32, epoch))?;
        }
        Ok(next.map(|number| number * WINDOW))
    }

    /// Makes all of `from..to` a hole at once. For a range whose length its caller bounds: that is the bound of the transaction, too.
    pub fn clear_whole(&mut self, txn: &mut Txn<'_>, from: u64, to: u64) -> Decided<()> {
        let next = self.clear(txn, from, to, windows_of(from, to))?;
        assert!(next.is_none(), "a range has no more windows than it is long");
        Ok(())
    }

    /// Remembers that `from..to`, where nothing is, was cleared at this epoch: a comparison with an earlier one tells it.
    pub fn mark_cleared(&mut self, txn: &mut Txn<'_>, from: u64, to: u64) -> Decided<()> {
        let mut at = from;
        while at < to {
            let (number, first, end) = slot(at, to);
            let written = self.at.epoch;
            self.put(
                txn,
                number,
                Span { from: first, to: end, written, place: Place::Hole, skip: 0, sealed: Sealed::None },
            )?;
            at += u64::from(end - first);
        }
        Ok(())
    }

    /// Lays what was copied from elsewhere over what is there. Its pieces are lent, or staged for this very transaction.
    pub fn lay(&mut self, txn: &mut Txn<'_>, copy: &Copy) -> Decided<()> {
        for (number, window) in &copy.windows {
            for span in &window.spans {
                let place = match span.place {
                    Place::Hole => continue,
                    Place::Small { part, .. } => self.keep_small(txn, copy.smalls[part as usize].clone()),
                    Place::Piece(run) => {
                        if !self.names(txn, *number, &span.place)? {
                            raise(txn, self.keys, &[run])?;
                        }
                        span.place
                    }
                };
                self.put(txn, *number, Span { written: self.at.epoch, place, ..*span })?;
            }
        }
        Ok(())
    }

    /// Whether a window holds a place already: its row of this epoch, or the one before that.
    pub(super) fn names(&self, txn: &mut Txn<'_>, number: u64, place: &Place) -> Decided<bool> {
        let (newest, second) = newest(txn, self.keys, self.at, number)?;
        let second = second.filter(|_| newest.as_ref().is_some_and(|row| row.epoch == self.at.epoch));
        for row in newest.iter().chain(&second) {
            if row.window()?.names(place) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub fn finish(self, trash: &mut Trash) {
        if !self.loose.is_empty() {
            trash.0.push(Garbage::Pieces(self.loose));
        }
    }

    pub(super) fn put(&mut self, txn: &mut Txn<'_>, number: u64, span: Span) -> Decided<()> {
        self.change(txn, number, |window| {
            let hit = window.cut(span.from, span.to);
            window.insert(span);
            hit
        })
    }

    /// The window at this epoch, after `change`, which tells what places it took something from.
    fn change(
        &mut self,
        txn: &mut Txn<'_>,
        number: u64,
        change: impl FnOnce(&mut Window) -> Vec<Place>,
    ) -> Decided<()> {
        let (newest, second) = newest(txn, self.keys, self.at, number)?;
        let (row, older) = match newest {
            Some(row) if row.epoch == self.at.epoch => (Some(row), second),
            newest => (None, newest),
        };
        let before = match row.as_ref().or(older.as_ref()) {
            Some(row) => row.window()?,
            None => Window::default(),
        };
        let older = older.map(|row| row.window()).transpose()?;
        let mut window = before.clone();
        let mut hit = change(&mut window);
        if window == before {
            return Ok(());
        }
        self.join_small(txn, &mut window, &mut hit)?;
        for place in hit {
            if !window.names(&place) && !older.as_ref().is_some_and(|older| older.names(&place)) {
                self.let_go(txn, &place)?;
            }
        }
        let key = self.keys.window(self.at.content, number, self.at.epoch);
        if window.spans.is_empty() && older.is_none_or(|older| older.spans.is_empty()) {
            txn.delete(key);
        } else {
            txn.put(key, encode(&window));
        }
        Ok(())
    }

    pub(super) fn keep_small(&mut self, txn: &mut Txn<'_>, bytes: Bytes) -> Place {
        let (stamp, part) = (txn.stamp().0, self.parts);
        self.parts += 1;
        txn.put(self.keys.small(self.at.content, stamp, part), bytes);
        Place::Small { stamp, part }
    }

    fn let_go(&mut self, txn: &mut Txn<'_>, place: &Place) -> Decided<()> {
        match place {
            Place::Small { stamp, part } => txn.delete(self.keys.small(self.at.content, *stamp, *part)),
            Place::Piece(run) => {
                if lower(txn, self.keys, run)? {
                    self.loose.push(*run);
                }
            }
            Place::Hole => {}
        }
        Ok(())
    }

    /// Keeps a window that is written in small steps from becoming a long list.
    fn join_small(&mut self, txn: &mut Txn<'_>, window: &mut Window, hit: &mut Vec<Place>) -> Decided<()> {
        for (first, end) in window.groups().into_iter().rev() {
            let (from, to) = (window.spans[first].from, window.spans[end - 1].to);
            let mut bytes = BytesMut::zeroed((to - from) as usize);
            for span in &window.spans[first..end] {
                let part = read_small(txn, self.keys, self.at.content, span)?;
                bytes[(span.from - from) as usize..(span.to - from) as usize].copy_from_slice(&part);
                hit.push(span.place);
            }
            let written = window.spans[first..end].iter().map(|span| span.written).max().unwrap_or(self.at.epoch);
            let place = self.keep_small(txn, bytes.freeze());
            window.spans.splice(first..end, [Span { from, to, written, place, skip: 0, sealed: Sealed::None }]);
        }
        Ok(())
    }
}

/// The bytes of a span that is small, as they are stored.
pub(super) fn read_small(txn: &mut Txn<'_>, keys: &BlobKeys, content: u64, span: &Span) -> Decided<Bytes> {
    let row = small_row(txn, keys, content, span)?;
    let (from, to) = (span.skip as usize, (span.skip + span.to - span.from) as usize);
    if row.len() < to {
        return Err(Fault::Corrupt("small bytes are fewer than a window says".into()).into());
    }
    Ok(row.slice(from..to))
}

/// The row that a small span is in.
pub(super) fn small_row(txn: &mut Txn<'_>, keys: &BlobKeys, content: u64, span: &Span) -> Decided<Bytes> {
    let Place::Small { stamp, part } = span.place else {
        return Err(Fault::Corrupt("a piece was taken for small bytes".into()).into());
    };
    let row = txn.get(&keys.small(content, stamp, part))?;
    Ok(row.ok_or_else(|| Fault::Corrupt("small bytes that a window names are missing".into()))?)
}

/// The window that `at` is in, and what of `at..end` is in it.
pub(super) fn slot(at: u64, end: u64) -> (u64, u32, u32) {
    let start = at / WINDOW * WINDOW;
    (at / WINDOW, (at - start) as u32, (end.min(start + WINDOW) - start) as u32)
}
