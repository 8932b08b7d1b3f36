//! Contents of one space: what names a piece, and what claims it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::blob::{Blob, ContentRef};

use super::Audit;
use crate::keys;
use crate::manifest::Loaded;
use crate::records::{
    Block, Claim, Count, Dead, Epochs, Garbage, Pending, Place, Run, Start, decode, decode_with_tail,
};
use crate::sparse::{Window, WindowPlace};

/// A partition's name, and a number in it.
type Of<T> = (Bytes, T);

#[derive(Default)]
pub(super) struct Contents {
    claims: BTreeMap<Of<Start>, Claim>,
    /// How many hold each.
    named: BTreeMap<Of<Start>, u32>,
    /// Windows in which a piece was counted already: a claim counts windows, not rows.
    windows: BTreeSet<(Bytes, u64, u64, Start)>,
    free: BTreeSet<Of<Start>>,
    /// Partitions in which something is still to be done, and numbers are between two truths.
    busy: BTreeSet<Bytes>,
    garbage: u64,
    /// Records with a content, by its id: their epochs, which are zero unless it is sparse.
    records: BTreeMap<Of<u64>, Vec<u64>>,
    chunks: BTreeSet<(Bytes, u64, u64)>,
    wanted: BTreeSet<(Bytes, u64, u64)>,
    shared: BTreeMap<Of<u64>, Bytes>,
    pending: BTreeMap<Bytes, Pending>,
    blocks: BTreeMap<Of<u64>, u32>,
}

impl Contents {
    /// A row of a container.
    pub fn see(&mut self, key: &Key, bytes: &Bytes) -> Result<(), Fault> {
        match key.column() {
            keys::BASES
            | keys::SNAPSHOTS
            | keys::VERSIONS
            | keys::DELETED_BASES
            | keys::DELETED_SNAPSHOTS
            | keys::DELETED_VERSIONS => self.record(keys::name_of(key), &decode::<Blob>(bytes)?.content),
            keys::CHUNKS => {
                let (name, content, start) = numbers(key)?;
                for part in Loaded::decode(0, bytes)?.parts.iter().filter(|part| part.entry.holds) {
                    self.name(&name, part.entry.place.runs());
                }
                self.chunks.insert((name, content, start));
            }
            keys::BLOCKS => {
                let name = keys::name_of(key);
                let (block, _) = decode_with_tail::<Block>(bytes)?;
                let epoch = number(&key.row(), name.len() + 1)?;
                match &block.place {
                    Place::Inline => {}
                    Place::Pieces(runs) => self.name(&name, runs),
                }
                *self.blocks.entry((name, epoch)).or_default() += 1;
            }
            keys::PENDING => {
                self.pending.insert(keys::name_of(key), decode(bytes)?);
            }
            keys::SHARED => {
                let name = keys::name_of(key);
                let content = number(&key.row(), name.len() + 1)?;
                self.shared.insert((name, content), bytes.clone());
            }
            keys::LONG_COPIES | keys::CUTS => {
                self.busy.insert(keys::name_of(key));
            }
            _ => return self.see_content(key, bytes),
        }
        Ok(())
    }

    /// A row of what containers and shares have in common.
    pub fn see_content(&mut self, key: &Key, bytes: &Bytes) -> Result<(), Fault> {
        match key.column() {
            keys::CLAIMS => {
                let (extent, offset, name) = keys::read_claim(key).ok_or_else(|| odd(key))?;
                self.claims.insert((name, (extent, offset)), decode(bytes)?);
            }
            keys::WINDOWS => {
                let name = keys::name_of(key);
                let content = number(&key.row(), name.len() + 1)?;
                let at = number(&key.row(), name.len() + 9)?;
                for span in &decode::<Window>(bytes)?.spans {
                    match span.place {
                        WindowPlace::Piece(run) => {
                            if self.windows.insert((name.clone(), content, at, run.start())) {
                                self.name(&name, &[run]);
                            }
                        }
                        WindowPlace::Small { .. } | WindowPlace::Hole => {}
                    }
                }
            }
            keys::GARBAGE => {
                let name = keys::name_of(key);
                self.garbage += 1;
                for item in decode::<Dead>(bytes)?.0 {
                    match item {
                        Garbage::Pieces(runs) => {
                            self.free.extend(runs.iter().map(|run| (name.clone(), run.start())));
                        }
                        Garbage::Content { .. }
                        | Garbage::Epoch { .. }
                        | Garbage::Sparse(_)
                        | Garbage::Superseded { .. }
                        | Garbage::Cut
                        | Garbage::Purged { .. } => {
                            self.busy.insert(name.clone());
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn record(&mut self, name: Bytes, content: &ContentRef) {
        if content.id == 0 {
            return;
        }
        self.records.entry((name.clone(), content.id)).or_default().push(content.epoch);
        if !content.is_sparse() {
            self.wanted.extend(content.starts.iter().map(|start| (name.clone(), content.id, *start)));
        }
    }

    fn name(&mut self, name: &Bytes, runs: &[Run]) {
        for run in runs {
            *self.named.entry((name.clone(), run.start())).or_default() += 1;
        }
    }

    /// Only what is held.
    pub fn note(&self, audit: &mut Audit) {
        audit.garbage += self.garbage;
        audit.pieces += self.claims.len() as u64;
        audit.known.extend(self.claims.keys().chain(&self.free).map(|(_, start)| *start));
    }

    pub fn judge(&self, place: &str, audit: &mut Audit) {
        self.note(audit);
        self.judge_pieces(place, audit);
        self.judge_counts(place, audit);
        for (name, content, start) in self.wanted.difference(&self.chunks) {
            audit.add(&of(place, name), format!("the chunk at {start} of content {content} is missing"));
        }
    }

    fn judge_pieces(&self, place: &str, audit: &mut Audit) {
        for ((name, start), holders) in &self.named {
            match self.claims.get(&(name.clone(), *start)) {
                None => audit.add(&of(place, name), format!("the piece {start:?} is named, and not claimed")),
                Some(claim) if claim.holders != *holders && !self.busy.contains(name) => {
                    let counted = claim.holders;
                    audit.add(
                        &of(place, name),
                        format!("the piece {start:?} has {holders} holders; {counted} are counted"),
                    );
                }
                Some(_) => {}
            }
        }
        for (name, start) in self.claims.keys() {
            if self.free.contains(&(name.clone(), *start)) {
                audit.add(&of(place, name), format!("the piece {start:?} is both free and claimed"));
            } else if !self.named.contains_key(&(name.clone(), *start)) && !self.busy.contains(name) {
                audit.add(&of(place, name), format!("the piece {start:?} is claimed, and nothing names it"));
            }
        }
    }

    fn judge_counts(&self, place: &str, audit: &mut Audit) {
        for ((name, content), epochs) in &self.records {
            let shared = self.shared.get(&(name.clone(), *content));
            let is_sparse = epochs.iter().any(|epoch| *epoch > 0);
            let counted = match shared {
                None => Some(1),
                Some(bytes) if is_sparse => decode::<Epochs>(bytes).ok().map(|epochs| epochs.0.len()),
                Some(bytes) => decode::<Count>(bytes).ok().map(|count| count.0 as usize),
            };
            if counted != Some(epochs.len()) && !self.busy.contains(name) {
                let told = counted.map_or("an unreadable number".into(), |counted| counted.to_string());
                audit.add(
                    &of(place, name),
                    format!("{} records have content {content}; {told} are counted", epochs.len()),
                );
            }
        }
        for (name, pending) in &self.pending {
            let blocks = self.blocks.get(&(name.clone(), pending.epoch)).copied().unwrap_or_default();
            if blocks != pending.count {
                audit.add(&of(place, name), format!("{blocks} blocks wait; {} are counted", pending.count));
            }
        }
    }
}

fn of(place: &str, name: &Bytes) -> String {
    if name.is_empty() { place.to_owned() } else { format!("{place}, {}", String::from_utf8_lossy(name)) }
}

fn odd(key: &Key) -> Fault {
    Fault::Corrupt(format!("the key {key:?}"))
}

fn number(row: &Bytes, at: usize) -> Result<u64, Fault> {
    let bytes = row.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_be_bytes).ok_or_else(|| Fault::Corrupt(format!("a key is too short: {row:?}")))
}

/// The name, and the two numbers behind it.
fn numbers(key: &Key) -> Result<(Bytes, u64, u64), Fault> {
    let name = keys::name_of(key);
    let (one, other) = (number(&key.row(), name.len() + 1)?, number(&key.row(), name.len() + 9)?);
    Ok((name, one, other))
}
