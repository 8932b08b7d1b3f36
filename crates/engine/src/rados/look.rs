//! A look at one partition: what it reads is loaded by one operator, or by several that met the same version of the partition.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::fetch::{Place, fetch};
use super::loaded::{Loaded, Over};
use super::state::State;
use super::{Gateway, names};
use crate::memory::Fence;
use crate::txn::{Ran, attempt_with};
use crate::{Fault, Partition, Stamp, Txn, Verdict, Want};

pub(super) async fn look(
    gateway: &Gateway,
    at: &Partition,
    look: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<(), Fault> {
    let fence = Fence::Partition(at, Some(gateway.layout));
    let nothing = BTreeMap::new();
    // All that it was found to read, so that it can be read again at once.
    let mut wants: Vec<Want> = Vec::new();
    let (mut version, mut loaded) = (None, Loaded::default());
    let mut changes = 0;
    // The same at each run: a look may read up to now, and would miss something new each time.
    let mut now = gateway.clock.now();
    loop {
        let mut view = Over::new(&loaded, &nothing);
        let ran = attempt_with(look, &mut fence.around(&mut view), now)?;
        match (ran, view.missed) {
            (Ran::Missed, Some(want)) => wants.push(want),
            (Ran::Missed, None) => return Err(Fault::Unavailable("a look missed nothing".into())),
            (Ran::Committed(_) | Ran::Refused, _) => return Ok(()),
        }
        // Until everything that is wanted is here, of one version.
        loop {
            let lacking: Vec<Want> = wants.iter().filter_map(|want| loaded.lacks(want)).collect();
            if lacking.is_empty() {
                break;
            }
            let place = Place { space: at.space, shard: gateway.directory.find(at.space, &at.name) };
            gateway.counters.reads.fetch_add(1, Ordering::Relaxed);
            let mark = names::gateway(gateway.id);
            let mut moment = fetch(&*gateway.pool, place, mark, std::slice::from_ref(&at.name), &lacking).await?;
            match &moment.state {
                State::Live | State::Splitting(_) => {}
                State::Split(_) | State::Gone | State::Filling => {
                    gateway.moved(place, &moment.state).await?;
                    changes += 1;
                    gateway.refuse_after(changes)?;
                    (version, loaded) = (None, Loaded::default());
                    continue;
                }
            }
            if version != Some(moment.versions[0]) && version.replace(moment.versions[0]).is_some() {
                loaded = Loaded::default();
                changes += 1;
                gateway.refuse_after(changes)?;
                gateway.back_off(changes / 4).await;
            }
            (0..lacking.len()).for_each(|want| moment.load(want, &mut loaded));
            gateway.catch_up(moment.versions[0]);
            now = now.max(Stamp(moment.versions[0]));
        }
    }
}

impl Gateway {
    pub(super) fn refuse_after(&self, changes: u32) -> Result<(), Fault> {
        if changes > self.options.tries { Err(Fault::Busy) } else { Ok(()) }
    }

    /// Learns where the partitions of a shard are that is not in use any more.
    pub(super) async fn moved(&self, place: Place, state: &State) -> Result<(), Fault> {
        match state {
            State::Split(children) => {
                self.directory.replace(&*self.pool, place.space, place.shard, children).await?;
            }
            State::Live | State::Filling | State::Splitting(_) | State::Gone => {}
        }
        self.directory.reload(&*self.pool, place.space).await
    }
}
