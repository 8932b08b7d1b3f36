//! Bytes of one content laid over another of the same partition, or of itself, without moving them: their pieces are named once more.

use std::ops::ControlFlow;

use lazuli_engine::{Entry, Txn};

use super::copy::small_copy;
use super::edit::{Editor, slot};
use super::rows::{Row, visible};
use super::window::{Place, Span};
use super::{Seen, WINDOW, windows_of};
use crate::claims::{lower, raise};
use crate::records::Run;
use crate::transact::Decided;

/// A span of the source, cut to what is copied, and where it goes.
struct Laid {
    to: u64,
    length: u64,
    span: Span,
}

impl Editor<'_> {
    /// Makes `to..to + length` what `source` has from `from` on; what is a hole there becomes one. False, and nothing is changed, if a
    /// window had one of the pieces before, has it no more, and a snapshot still sees it there: a claim counts windows, so such a
    /// piece must not come back, and the bytes have to be copied.
    pub fn copy_within(&mut self, txn: &mut Txn<'_>, source: Seen, from: u64, to: u64, length: u64) -> Decided<bool> {
        let parts = self.parts(txn, source, from, to, length)?;
        let mut runs: Vec<Run> = Vec::new();
        for part in &parts {
            let Place::Piece(run) = part.span.place else { continue };
            if self.comes_back(txn, part)? {
                return Ok(false);
            }
            if !runs.iter().any(|known| known.start() == run.start()) {
                runs.push(run);
            }
        }
        // Held meanwhile: what is overwritten may be what is copied.
        raise(txn, self.keys, &runs)?;
        let mut smalls = Vec::new();
        for part in &parts {
            let is_small = matches!(part.span.place, Place::Small { .. });
            smalls.push(if is_small { Some(small_copy(txn, self.keys, source.content, &part.span)?) } else { None });
        }
        self.clear_whole(txn, to, to + length)?;
        for (part, small) in parts.into_iter().zip(smalls) {
            self.lay_part(txn, &part, small)?;
        }
        for run in runs {
            if lower(txn, self.keys, &run)? {
                self.loose.push(run);
            }
        }
        Ok(true)
    }

    fn parts(&self, txn: &mut Txn<'_>, source: Seen, from: u64, to: u64, length: u64) -> Decided<Vec<Laid>> {
        let end = from + length;
        if source.content == 0 {
            return Ok(Vec::new());
        }
        let (rows, _) = visible(txn, self.keys, source, from / WINDOW, end.div_ceil(WINDOW), windows_of(from, end))?;
        let mut parts = Vec::new();
        for row in rows {
            let start = row.number * WINDOW;
            for span in row.window()?.spans.into_iter().filter(|span| span.place != Place::Hole) {
                let (first, last) = ((start + u64::from(span.from)).max(from), (start + u64::from(span.to)).min(end));
                if first >= last {
                    continue;
                }
                let cut = (first - start) as u32 - span.from;
                let span = Span { from: span.from + cut, to: (last - start) as u32, skip: span.skip + cut, ..span };
                parts.push(Laid { to: to + (first - from), length: last - first, span });
            }
        }
        Ok(parts)
    }

    /// Whether a window that the part goes to named its piece at an earlier epoch than the one before this.
    fn comes_back(&self, txn: &mut Txn<'_>, part: &Laid) -> Decided<bool> {
        let mut at = part.to;
        while at < part.to + part.length {
            let (number, from, to) = slot(at, part.to + part.length);
            let (first, end) = (
                self.keys.window(self.at.content, number, self.at.epoch),
                self.keys.windows_from(self.at.content, number + 1),
            );
            // Newest first. The row of this epoch and the one before it are near: a piece that they name is still there.
            let (mut near, mut found, mut broken) = (1, None, None);
            txn.walk(&first, &end, &mut |entry: &Entry<'_>| {
                let (key, bytes) = entry.keep();
                let read =
                    Row::read(&key, bytes).and_then(|row| Ok((row.epoch, row.window()?.names(&part.span.place))));
                match read {
                    Ok((epoch, named)) => {
                        near += usize::from(epoch == self.at.epoch);
                        let is_near = near > 0;
                        near = near.saturating_sub(1);
                        if named {
                            found = Some(!is_near);
                        }
                    }
                    Err(fault) => broken = Some(fault),
                }
                if found.is_some() || broken.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if let Some(fault) = broken {
                return Err(fault.into());
            }
            if found == Some(true) {
                return Ok(true);
            }
            at += u64::from(to - from);
        }
        Ok(false)
    }

    fn lay_part(
        &mut self,
        txn: &mut Txn<'_>,
        part: &Laid,
        small: Option<(bytes::Bytes, u32, crate::crypt::Sealed)>,
    ) -> Decided<()> {
        let mut done = 0;
        while done < part.length {
            let (number, from, to) = slot(part.to + done, part.to + part.length);
            let length = to - from;
            let (place, skip, sealed) = match (part.span.place, &small) {
                (Place::Small { .. }, Some((row, skip, sealed))) if *sealed == crate::crypt::Sealed::None => {
                    let first = *skip as usize + done as usize;
                    (self.keep_small(txn, row.slice(first..first + length as usize)), 0, *sealed)
                }
                // What can only be opened whole is kept whole.
                (Place::Small { .. }, Some((row, skip, sealed))) => {
                    (self.keep_small(txn, row.clone()), *skip + done as u32, *sealed)
                }
                (place @ Place::Piece(run), _) => {
                    if !self.names(txn, number, &place)? {
                        raise(txn, self.keys, &[run])?;
                    }
                    (place, part.span.skip + done as u32, part.span.sealed)
                }
                (Place::Small { .. } | Place::Hole, _) => return Ok(()),
            };
            self.put(txn, number, Span { from, to, written: self.at.epoch, place, skip, sealed })?;
            done += u64::from(length);
        }
        Ok(())
    }
}
