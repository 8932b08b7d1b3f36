//! Random entities, in twos and threes and more: what holds for one of them can hold for all.

use bytes::Bytes;
use lazuli_engine::{Entry, Key as RowKey, Note};
use lazuli_model::table::Filter;

use super::*;
use crate::table::Row;
use crate::table::record::tests::{Random, stored};

struct Several {
    rows: Vec<(RowKey, Bytes)>,
    note: Note,
}

impl Several {
    fn new(mut rows: Vec<(RowKey, Bytes)>) -> Self {
        rows.sort();
        Self { rows, note: Note::new() }
    }

    fn random(random: &mut Random) -> Self {
        let rows = (0..random.below(6) + 1).map(|_| {
            let (key, entity) = random.entity();
            let found = stored(&key, &entity);
            (found.key, found.record)
        });
        Self::new(rows.collect())
    }
}

impl Stretched for Several {
    fn note(&self) -> &Note {
        &self.note
    }

    fn each(&self, see: &mut dyn FnMut(&Entry<'_>)) {
        self.rows.iter().for_each(|(key, value)| see(&Entry::new(key, value)));
    }
}

#[test]
fn what_holds_for_an_entity_can_hold_for_its_zones() {
    let mut random = Random(7);
    let (mut held, mut passed) = (0, 0);
    for _ in 0..20_000 {
        let several = Several::random(&mut random);
        let zones = Zones::of(&several).unwrap();
        for depth in 0..3 {
            let text = random.filter(depth);
            let filter = Filter::parse(&text).unwrap();
            let holds =
                several.rows.iter().any(|(key, record)| Row::new(key.as_bytes(), record).fits(&filter).unwrap());
            let can_hold = filter.can_hold(&zones);
            assert!(can_hold || !holds, "{text} of {zones:?}");
            held += u32::from(holds);
            passed += u32::from(!can_hold);
        }
    }
    // And it is of use: most of what does not hold is passed over.
    assert!(held > 10_000 && passed > 15_000, "{held} held, {passed} passed over");
}

#[test]
fn what_cannot_be_read_is_looked_at() {
    let mut random = Random(8);
    let mut several = Several::random(&mut random);
    several.rows[0].1 = Bytes::from_static(b"\x07nothing of ours");
    assert!(Zones::of(&several).is_none());
}
