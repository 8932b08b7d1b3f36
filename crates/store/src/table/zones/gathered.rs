//! Zones while they are gathered, of entities or of the zones of shorter stretches.
//!
//! Held true: what is known of a property is so of all entities that were added; and if one of them has a property of which nothing
//! is known, `has_others` says so.

use std::cmp::Ordering;

use lazuli_model::table::Seen;
use serde::Serialize;

use super::{Zone, Zones, mark};
use crate::keys::read_entity;
use crate::table::record::{EntityRecord, Rest};

/// Longer names and values are not kept; long values still have their marks.
const LONG: usize = 32;
const PROPERTIES_MAX: usize = 32;

#[derive(Default)]
pub(super) struct Gathered<'a> {
    properties: Vec<Property<'a>>,
    has_others: bool,
    /// Those of the entity that is added.
    entity: Vec<(&'a str, Seen<'a>)>,
}

struct Property<'a> {
    name: &'a str,
    bounds: Option<(Seen<'a>, Seen<'a>)>,
    marks: Option<Vec<u16>>,
}

impl<'a> Gathered<'a> {
    pub fn add_entity(&mut self, key: &'a [u8], value: &'a [u8]) -> Option<()> {
        let (partition, row) = read_entity(key)?;
        let record = EntityRecord::open(value)?;
        let mut entity = std::mem::take(&mut self.entity);
        record.read(&mut entity)?;
        let modified = Seen::DateTime(record.modified()?);
        self.add_value(0, "PartitionKey", &Seen::String(partition));
        self.add_value(1, "RowKey", &Seen::String(row));
        self.add_value(2, "Timestamp", &modified);
        for (at, (name, seen)) in entity.iter().enumerate() {
            self.add_value(3 + at, name, seen);
        }
        self.entity = entity;
        Some(())
    }

    fn add_value(&mut self, at: usize, name: &'a str, seen: &Seen<'a>) {
        match self.position(at, name) {
            Some(at) => {
                let property = &mut self.properties[at];
                if is_kept(seen) {
                    property.widen(seen, seen);
                } else {
                    property.bounds = None;
                }
                if let Some(marks) = &mut property.marks {
                    marks.push(mark(*seen));
                }
            }
            None if self.properties.len() == PROPERTIES_MAX || name.len() > LONG => self.has_others = true,
            None => {
                let bounds = is_kept(seen).then_some((*seen, *seen));
                self.properties.push(Property { name, bounds, marks: Some(vec![mark(*seen)]) });
            }
        }
    }

    pub fn add_zones(&mut self, zones: &'a Zones) -> Option<()> {
        let mut rest = Rest(&zones.0);
        if rest.flag()? {
            // What those have of a property that is not among theirs is not known.
            self.properties.retain(|property| zones.find(property.name).is_some());
            self.has_others = true;
        }
        let mut at = 0;
        while !rest.0.is_empty() {
            let (name, zone) = (rest.text()?, Zone::read(rest.bytes()?)?);
            match self.position(at, name) {
                Some(at) => self.properties[at].add(&zone),
                // It may be among the others of those before.
                None if self.has_others => {}
                None => {
                    let marks = zone.marks().map(Iterator::collect);
                    self.properties.push(Property { name, bounds: zone.bounds, marks });
                }
            }
            at += 1;
        }
        Some(())
    }

    /// They stand in the same order in most entities.
    fn position(&self, at: usize, name: &str) -> Option<usize> {
        let is_here = self.properties.get(at).is_some_and(|property| property.name == name);
        if is_here { Some(at) } else { self.properties.iter().position(|property| property.name == name) }
    }

    /// As many as there is room for, and without their marks those for which there is room only so.
    pub fn zones(self, room: usize) -> Zones {
        let mut noted = vec![u8::from(self.has_others)];
        for mut property in self.properties {
            let mut written = property.write();
            if noted.len() + written.len() > room {
                property.marks = None;
                written = property.write();
            }
            if noted.len() + written.len() <= room {
                noted.extend(written);
            } else {
                noted[0] = 1;
            }
        }
        Zones(noted.into())
    }
}

impl<'a> Property<'a> {
    fn add(&mut self, zone: &Zone<'a>) {
        match &zone.bounds {
            Some((least, greatest)) => self.widen(least, greatest),
            None => self.bounds = None,
        }
        match (&mut self.marks, zone.marks()) {
            (Some(known), Some(marks)) => known.extend(marks),
            (known, _) => *known = None,
        }
    }

    fn widen(&mut self, least: &Seen<'a>, greatest: &Seen<'a>) {
        let Some((known_least, known_greatest)) = &mut self.bounds else { return };
        let Some((below, above)) = least.compare(*known_least).zip(greatest.compare(*known_greatest)) else {
            self.bounds = None;
            return;
        };
        if below.is_lt() {
            *known_least = *least;
        }
        if above.is_gt() {
            *known_greatest = *greatest;
        }
    }

    fn write(&mut self) -> Vec<u8> {
        let is_one = self.bounds.is_some_and(|(least, greatest)| least.compare(greatest) == Some(Ordering::Equal));
        let mut zone = written(&self.bounds);
        if let Some(marks) = self.marks.as_mut().filter(|_| !is_one) {
            marks.sort();
            marks.dedup();
            zone.extend(marks.iter().flat_map(|mark| mark.to_le_bytes()));
        }
        written(&(self.name, zone))
    }
}

fn written(what: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(what, Vec::new()).expect("what we note serializes into memory")
}

/// What is long is not kept, nor what does not compare with itself: that is no number.
fn is_kept(seen: &Seen<'_>) -> bool {
    match *seen {
        Seen::String(text) => text.len() <= LONG,
        Seen::Binary(bytes) => bytes.len() <= LONG,
        Seen::Double(value) => !value.is_nan(),
        Seen::Boolean(_) | Seen::Int32(_) | Seen::Int64(_) | Seen::DateTime(_) | Seen::Guid(_) => true,
    }
}
