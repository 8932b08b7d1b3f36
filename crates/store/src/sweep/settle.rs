//! After a restart: what is live in the extents of an earlier process. One pass over the claims of all spaces: the containers',
//! then those of containers that were deleted softly, then the dead ones', so that a container deleted meanwhile is met in one
//! place or another. One that comes back leaves its row among the deleted for a while.

use std::collections::BTreeMap;

use lazuli_engine::{Column, Fault, Key, Space};

use crate::file::keys as file;
use crate::file::rows::{Born, Buried};
use crate::keys;
use crate::pins::{Heard, have_listed};
use crate::readers::Line;
use crate::records::{Claim, DeletedContainer, decode, decode_container_id};
use crate::{Failure, Store};

/// Spaces, and claims, that one look goes over.
const SPACES: usize = 64;
const CLAIMS: usize = 4096;

/// Where spaces are named, in the order in which one goes from one to the next. A share may also come back from among the
/// deleted, so these are gone over twice.
const STAGES: [Column; 7] = [
    keys::CONTAINERS,
    keys::DELETED_CONTAINERS,
    file::SHARES,
    file::DELETED_SHARES,
    file::SHARES,
    file::DELETED_SHARES,
    keys::DEAD_SPACES,
];

fn space_of(column: Column, key: &Key, bytes: &[u8]) -> Result<Option<Space>, Fault> {
    Ok(match column {
        keys::CONTAINERS => Some(Space(decode_container_id(bytes)?)),
        keys::DELETED_CONTAINERS => Some(Space(decode::<DeletedContainer>(bytes)?.container.id)),
        file::SHARES => Some(Space(decode::<Born>(bytes)?.id)),
        file::DELETED_SHARES => Some(Space(decode::<Buried>(bytes)?.born.id)),
        _ => keys::read_dead_space(key),
    })
}

/// Offset and length of what is live, by extent.
type Live = BTreeMap<u64, Vec<(u64, u64)>>;

#[derive(Default)]
pub(super) enum Settling {
    #[default]
    Unknown,
    Scanning {
        live: Live,
        /// Which of `STAGES`.
        stage: usize,
        from: Key,
        /// Before the first claim was looked at.
        heard: Heard,
    },
    /// With a line, so that readers which are opening something hold it first; and the others' heartbeats, for theirs.
    Telling(Live, Line, Heard),
}

impl Store {
    /// False when there is nothing to settle.
    pub(super) async fn settle_step(&self, settling: &mut Settling) -> Result<bool, Failure> {
        *settling = match std::mem::take(settling) {
            // There may be more to settle when a gateway has died.
            Settling::Unknown => {
                let live: Live = self.unsettled().into_iter().map(|extent| (extent, Vec::new())).collect();
                if live.is_empty() {
                    return Ok(false);
                }
                let from = keys::column(keys::ROOT, STAGES[0]);
                Settling::Scanning { live, stage: 0, from, heard: self.heard().await? }
            }
            Settling::Scanning { mut live, stage, from, heard } => {
                match self.scan_spaces(&mut live, stage, &from).await? {
                    Some((stage, from)) => Settling::Scanning { live, stage, from, heard },
                    None => Settling::Telling(live, self.readers.draw_line(), heard),
                }
            }
            Settling::Telling(live, line, heard) if !self.readers.have_opened(line, None) => {
                tokio::task::yield_now().await;
                Settling::Telling(live, line, heard)
            }
            Settling::Telling(live, line, heard) if !have_listed(&heard, &self.heard().await?) => {
                *settling = Settling::Telling(live, line, heard);
                return Ok(false); // until the others' next heartbeats; meanwhile there is other work
            }
            Settling::Telling(mut live, line, heard) => {
                if let Some((extent, mut pieces)) = live.pop_first() {
                    pieces.extend(self.readers.pieces_held(extent));
                    pieces.extend(self.pieces_pinned(extent).await?);
                    pieces.extend(self.pieces_lent(extent).await?);
                    pieces.sort_unstable();
                    pieces.dedup();
                    if let Some(recovery) = self.content.recovery() {
                        recovery.settle(extent, pieces).await?;
                    }
                }
                if live.is_empty() { Settling::Unknown } else { Settling::Telling(live, line, heard) }
            }
        };
        Ok(true)
    }

    pub(crate) fn unsettled(&self) -> Vec<u64> {
        self.content.recovery().map(|recovery| recovery.unsettled()).unwrap_or_default()
    }

    /// Goes over some spaces; gives where to go on.
    async fn scan_spaces(&self, live: &mut Live, stage: usize, from: &Key) -> Result<Option<(usize, Key)>, Failure> {
        let column = STAGES[stage];
        let end = keys::column(keys::ROOT, column).after_prefix();
        let rows = self.rows(from, &end, SPACES).await?;
        for (key, bytes) in &rows {
            if let Some(space) = space_of(column, key, bytes)? {
                self.scan_claims(space, live).await?;
            }
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == SPACES => Some((stage, last.successor())),
            Some(_) | None => STAGES.get(stage + 1).map(|next| (stage + 1, keys::column(keys::ROOT, *next))),
        })
    }

    /// Claims of one space on the extents in question; from one extent to the next that has any.
    async fn scan_claims(&self, space: Space, live: &mut Live) -> Result<(), Failure> {
        let mut next = live.keys().next().copied();
        while let Some(extent) = next {
            let mut from = keys::claims_on(space, extent);
            let end = keys::column(space, keys::CLAIMS).after_prefix();
            next = loop {
                let rows = self.rows(&from, &end, CLAIMS).await?;
                let Some((last, _)) = rows.last() else { return Ok(()) };
                from = last.successor();
                let mut beyond = None;
                for (key, bytes) in &rows {
                    let Some((found, offset, _)) = keys::read_claim(key) else { continue };
                    match live.get_mut(&found) {
                        Some(pieces) => pieces.push((offset, decode::<Claim>(bytes)?.length)),
                        None => {
                            beyond = live.range(found..).next().map(|(extent, _)| Some(*extent)).or(Some(None));
                            break;
                        }
                    }
                }
                match beyond {
                    Some(next) => break next,
                    None if rows.len() < CLAIMS => return Ok(()),
                    None => {}
                }
            };
        }
        Ok(())
    }
}
