//! What is noted of a stretch of entities: of each property the least and the greatest value. A scan whose filter can hold for none
//! between them passes over all of the stretch. Good for what follows the keys, or seldom differs: times, numbers that count up,
//! states.
//!
//! Held true: if a filter holds for an entity, it can hold for the zones of every stretch with that entity in it (`tests`).

use lazuli_engine::Stretched;
use lazuli_model::Timestamp;
use lazuli_model::table::{Extent, Extents, Seen, Value};

use super::record::Record;
use crate::keys::read_entity;

/// Bounds on what is noted.
const PROPERTIES_MAX: usize = 16;
const LONG: usize = 32;

#[derive(Debug)]
pub struct Zones {
    partitions: (String, String),
    rows: (String, String),
    modified: (Timestamp, Timestamp),
    properties: Vec<(String, Zone)>,
    /// There are properties that are not among these.
    has_others: bool,
}

#[derive(Debug)]
enum Zone {
    Anything,
    Between(Value, Value),
}

impl Zones {
    /// `None` if something cannot be read: then somebody has to look at it, and say so.
    pub fn of(stretch: &dyn Stretched) -> Option<Self> {
        let mut zones: Option<Zones> = None;
        let mut is_broken = false;
        stretch.each(&mut |entry| {
            is_broken |= add(&mut zones, entry.key, entry.value).is_none();
        });
        zones.filter(|_| !is_broken)
    }

    fn take(&mut self, at: usize, name: &str, seen: Seen<'_>) {
        // They stand in the same order in most entities.
        let is_here = self.properties.get(at).is_some_and(|(known, _)| known == name);
        let at = if is_here { Some(at) } else { self.properties.iter().position(|(known, _)| known == name) };
        match at {
            Some(at) => self.properties[at].1.take(seen),
            None if self.properties.len() == PROPERTIES_MAX || name.len() > LONG => self.has_others = true,
            None => self.properties.push((name.to_owned(), Zone::of(seen))),
        }
    }
}

fn add(zones: &mut Option<Zones>, key: &[u8], value: &[u8]) -> Option<()> {
    let (partition, row) = read_entity(key)?;
    let record = Record::open(value)?;
    let modified = record.modified()?;
    let mut properties = Vec::with_capacity(PROPERTIES_MAX);
    record.read(&mut properties)?;
    let zones = zones.get_or_insert_with(|| Zones {
        partitions: (partition.to_owned(), String::new()),
        rows: (row.to_owned(), String::new()),
        modified: (modified, modified),
        properties: Vec::new(),
        has_others: false,
    });
    // They come in the order of their keys.
    partition.clone_into(&mut zones.partitions.1);
    row.clone_into(&mut zones.rows.1);
    zones.modified = (zones.modified.0.min(modified), zones.modified.1.max(modified));
    for (at, (name, seen)) in properties.into_iter().enumerate() {
        zones.take(at, name, seen);
    }
    Some(())
}

impl Zone {
    fn of(seen: Seen<'_>) -> Self {
        let is_long = match seen {
            Seen::String(text) => text.len() > LONG,
            Seen::Binary(bytes) => bytes.len() > LONG,
            Seen::Boolean(_) | Seen::Int32(_) | Seen::Int64(_) | Seen::Double(_) => false,
            Seen::DateTime(_) | Seen::Guid(_) => false,
        };
        // What does not compare with itself is no number.
        if is_long || seen.compare(seen).is_none() {
            return Zone::Anything;
        }
        Zone::Between(seen.value(), seen.value())
    }

    fn take(&mut self, seen: Seen<'_>) {
        let Zone::Between(least, greatest) = self else { return };
        match (seen.compare(least.seen()), seen.compare(greatest.seen())) {
            (Some(below), Some(above)) if below.is_ge() && above.is_le() => {}
            (Some(below), Some(_)) => match Zone::of(seen) {
                Zone::Anything => *self = Zone::Anything,
                Zone::Between(value, _) if below.is_lt() => *least = value,
                Zone::Between(value, _) => *greatest = value,
            },
            (None, _) | (_, None) => *self = Zone::Anything,
        }
    }
}

impl Extents for Zones {
    fn extent(&self, name: &str) -> Extent<'_> {
        match name {
            "PartitionKey" => between(&self.partitions),
            "RowKey" if self.partitions.0 == self.partitions.1 => between(&self.rows),
            "RowKey" => Extent::Anything,
            "Timestamp" => Extent::Between(Seen::DateTime(self.modified.0), Seen::DateTime(self.modified.1)),
            _ => match self.properties.iter().find(|(known, _)| known == name) {
                Some((_, Zone::Anything)) => Extent::Anything,
                Some((_, Zone::Between(least, greatest))) => Extent::Between(least.seen(), greatest.seen()),
                None if self.has_others => Extent::Anything,
                None => Extent::Absent,
            },
        }
    }
}

fn between((least, greatest): &(String, String)) -> Extent<'_> {
    Extent::Between(Seen::String(least), Seen::String(greatest))
}

#[cfg(test)]
mod tests;
