//! After a restart: what is live in the extents of an earlier process. One pass over the claims of all spaces: the containers',
//! then those of containers that were deleted softly, then the dead ones', so that a container deleted meanwhile is met in one
//! place or another. One that comes back leaves its row among the deleted for a while.

use std::collections::BTreeMap;

use lazuli_engine::{Key, Space};

use crate::keys;
use crate::records::{Claim, DeletedContainer, decode, decode_container_id};
use crate::{Failure, Store};

/// Spaces, and claims, that one look goes over.
const SPACES: usize = 64;
const CLAIMS: usize = 4096;

/// Offset and length of what is live, by extent.
type Live = BTreeMap<u64, Vec<(u64, u64)>>;

#[derive(Default)]
pub(super) enum Settling {
    #[default]
    Unknown,
    Scanning {
        live: Live,
        from: Key,
    },
    Telling(Live),
    Settled,
}

impl Store {
    /// False when there is nothing to settle.
    pub(super) async fn settle_step(&self, settling: &mut Settling) -> Result<bool, Failure> {
        *settling = match std::mem::take(settling) {
            Settling::Settled => {
                *settling = Settling::Settled;
                return Ok(false);
            }
            Settling::Unknown => {
                let live: Live = self.content.unsettled().into_iter().map(|extent| (extent, Vec::new())).collect();
                let from = keys::column(keys::ROOT, keys::CONTAINERS);
                if live.is_empty() { Settling::Settled } else { Settling::Scanning { live, from } }
            }
            Settling::Scanning { mut live, from } => match self.scan_spaces(&mut live, &from).await? {
                Some(from) => Settling::Scanning { live, from },
                None => Settling::Telling(live),
            },
            Settling::Telling(mut live) => {
                if let Some((extent, mut pieces)) = live.pop_first() {
                    pieces.sort_unstable();
                    pieces.dedup();
                    self.content.settle(extent, pieces).await?;
                }
                if live.is_empty() { Settling::Settled } else { Settling::Telling(live) }
            }
        };
        Ok(true)
    }

    /// Goes over some spaces; gives where to go on.
    async fn scan_spaces(&self, live: &mut Live, from: &Key) -> Result<Option<Key>, Failure> {
        let column = from.column();
        let end = keys::column(keys::ROOT, column).after_prefix();
        let rows = self.look(|txn| Ok(txn.scan(from, &end, SPACES)?)).await?;
        for (key, bytes) in &rows {
            let space = match column {
                keys::CONTAINERS => Some(Space(decode_container_id(bytes)?)),
                keys::DELETED_CONTAINERS => Some(Space(decode::<DeletedContainer>(bytes)?.container.id)),
                _ => keys::read_dead_space(key),
            };
            if let Some(space) = space {
                self.scan_claims(space, live).await?;
            }
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == SPACES => Some(last.successor()),
            Some(_) | None => match column {
                keys::CONTAINERS => Some(keys::column(keys::ROOT, keys::DELETED_CONTAINERS)),
                keys::DELETED_CONTAINERS => Some(keys::column(keys::ROOT, keys::DEAD_SPACES)),
                _ => None,
            },
        })
    }

    /// Claims of one space on the extents in question; from one extent to the next that has any.
    async fn scan_claims(&self, space: Space, live: &mut Live) -> Result<(), Failure> {
        let mut next = live.keys().next().copied();
        while let Some(extent) = next {
            let mut from = keys::claims_on(space, extent);
            let end = keys::column(space, keys::CLAIMS).after_prefix();
            next = loop {
                let rows = self.look(|txn| Ok(txn.scan(&from, &end, CLAIMS)?)).await?;
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
