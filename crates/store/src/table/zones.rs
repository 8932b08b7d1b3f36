//! What is noted of a stretch of entities: of each property the least and the greatest value, and a mark of each value there is. A
//! scan passes over all of the stretch if its filter can hold for nothing between them, or asks for a value whose mark is not
//! there. So it looks at little where values follow the keys, or where few entities have what it asks for.
//!
//! Held true: if a filter holds for an entity, it can hold for the zones of every stretch with that entity in it (`tests`).
//!
//! ```text
//! zones = others flag, (name text, zone bytes)*       as in records; others: there are properties that are not among these
//! zone  = bounds flag, [least value, greatest value], mark*       two bytes each, in order; none of them says nothing
//! ```

mod gathered;

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use lazuli_engine::range_cache::Stretched;
use lazuli_model::table::{Extent, Extents, Seen};

use self::gathered::Gathered;
use super::record::Rest;

#[derive(Clone, Debug)]
pub struct Zones(Arc<[u8]>);

/// What is known of a property.
struct Zone<'a> {
    bounds: Option<(Seen<'a>, Seen<'a>)>,
    marks: &'a [[u8; 2]],
}

impl Zones {
    /// What is noted of a stretch, now if nobody has before. `None` if something cannot be read: then somebody has to look at it, and
    /// say so.
    pub fn noted(stretch: &dyn Stretched) -> Option<&Self> {
        let note = stretch.note().get_or_init(|| Box::new(Self::of(stretch)));
        note.downcast_ref::<Option<Self>>()?.as_ref()
    }

    fn of(stretch: &dyn Stretched) -> Option<Self> {
        let mut parts = Vec::new();
        stretch.parts(&mut |part| parts.push(Self::noted(part).cloned()));
        let mut gathered = Gathered::default();
        let mut all = parts.iter().try_for_each(|part| gathered.add_zones(part.as_ref()?));
        if parts.is_empty() {
            stretch.each(&mut |entry| all = all.and_then(|()| gathered.add_entity(entry.key, entry.value)));
        }
        all.map(|()| gathered.zones(stretch.room()))
    }

    /// `Some(None)` if no entity has the property, `None` if nothing is known of it.
    fn find(&self, name: &str) -> Option<Option<Zone<'_>>> {
        let mut rest = Rest(&self.0);
        let has_others = rest.flag()?;
        while !rest.0.is_empty() {
            let (known, zone) = (rest.bytes()?, rest.bytes()?);
            if known == name.as_bytes() {
                return Zone::read(zone).map(Some);
            }
        }
        (!has_others).then_some(None)
    }
}

impl<'a> Zone<'a> {
    fn read(zone: &'a [u8]) -> Option<Self> {
        let mut rest = Rest(zone);
        let bounds = if rest.flag()? { Some((rest.value()?, rest.value()?)) } else { None };
        Some(Self { bounds, marks: rest.0.as_chunks().0 })
    }

    /// Of all values there are, if that is known. Those that are all the same need no list.
    fn marks(&self) -> Option<impl Iterator<Item = u16>> {
        let one = self.bounds.filter(|(least, greatest)| least.compare(*greatest) == Some(Ordering::Equal));
        let one = one.map(|(least, _)| mark(least)).filter(|_| self.marks.is_empty());
        let is_known = one.is_some() || !self.marks.is_empty();
        is_known.then(|| self.marks.iter().map(|mark| u16::from_le_bytes(*mark)).chain(one))
    }
}

/// Equal values have equal marks; others seldom have.
fn mark(value: Seen<'_>) -> u16 {
    FixedState::default().hash_one(value) as u16
}

impl Extents for Zones {
    fn extent(&self, name: &str) -> Extent<'_> {
        match self.find(name) {
            Some(Some(Zone { bounds: Some((least, greatest)), .. })) => Extent::Between(least, greatest),
            Some(None) => Extent::Absent,
            Some(Some(Zone { bounds: None, .. })) | None => Extent::Anything,
        }
    }

    fn may_have(&self, name: &str, value: Seen<'_>) -> bool {
        match self.find(name) {
            Some(Some(Zone { marks, .. })) if !marks.is_empty() => {
                marks.binary_search_by_key(&mark(value), |mark| u16::from_le_bytes(*mark)).is_ok()
            }
            Some(Some(_)) | None => true,
            Some(None) => false,
        }
    }
}

#[cfg(test)]
mod tests;
