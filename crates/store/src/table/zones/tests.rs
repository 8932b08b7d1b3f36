//! Random entities, in twos and threes and more: what holds for one of them can hold for all.

use bytes::Bytes;
use lazuli_engine::range_cache::Note;
use lazuli_engine::{Entry, Key as RowKey};
use lazuli_model::Timestamp;
use lazuli_model::table::{Entity, Filter, Key, Value};

use super::*;
use crate::table::Row;
use crate::table::record::tests::{Random, stored};

struct Several {
    rows: Vec<(RowKey, Bytes)>,
    parts: Vec<Several>,
    note: Note,
    room: usize,
}

impl Several {
    /// Often with room for all of the notes, and often not.
    fn random(random: &mut Random) -> Self {
        let mut rows: Vec<_> = (0..random.below(6) + 1)
            .map(|_| {
                let (key, entity) = random.entity();
                let found = stored(&key, &entity);
                (found.key, found.record)
            })
            .collect();
        rows.sort();
        let room = if random.below(2) == 0 { 4096 } else { random.below(400) as usize };
        Self { rows, parts: Vec::new(), note: Note::new(), room }
    }

    fn of_parts(random: &mut Random) -> Self {
        let parts: Vec<_> = (0..random.below(3) + 1).map(|_| Self::random(random)).collect();
        let rows = parts.iter().flat_map(|part| part.rows.clone()).collect();
        Self { rows, parts, ..Self::random(random) }
    }
}

impl Stretched for Several {
    fn note(&self) -> &Note {
        &self.note
    }

    fn room(&self) -> usize {
        self.room
    }

    fn each<'a>(&'a self, see: &mut dyn FnMut(&Entry<'a>)) {
        self.rows.iter().for_each(|(key, value)| see(&Entry::new(key, value)));
    }

    fn parts(&self, see: &mut dyn FnMut(&dyn Stretched)) {
        self.parts.iter().for_each(|part| see(part));
    }
}

#[test]
fn what_holds_for_an_entity_can_hold_for_its_zones() {
    let mut random = Random(7);
    let (mut held, mut passed) = (0, 0);
    for n in 0..20_000 {
        let several = if n % 2 == 0 { Several::random(&mut random) } else { Several::of_parts(&mut random) };
        let zones = Zones::noted(&several).unwrap();
        assert!(zones.0.len() <= several.room.max(1));
        for depth in 0..3 {
            let text = random.filter(depth);
            let filter = Filter::parse(&text).unwrap();
            let holds =
                several.rows.iter().any(|(key, record)| Row::new(key.as_bytes(), record).fits(&filter).unwrap());
            let can_hold = filter.can_hold(zones);
            assert!(can_hold || !holds, "{text} of {zones:?}");
            held += u32::from(holds);
            passed += u32::from(!can_hold);
        }
    }
    // And it is of use: much of what does not hold is passed over.
    assert!(held > 10_000 && passed > 10_000, "{held} held, {passed} passed over");
}

#[test]
fn a_value_that_nobody_has_is_passed_over_though_others_surround_it() {
    let rows = (0..100).map(|n: u64| {
        let text = format!("{} of a text that is longer than what is kept", n * 7919 % 1000);
        let properties = vec![("Text".to_owned(), Value::String(text)), ("Number".to_owned(), Value::Double(n as f64))];
        let found =
            stored(&Key::new("p", format!("r{n:03}")), &Entity { modified: Timestamp::from_ticks(n), properties });
        (found.key, found.record)
    });
    let several = Several { rows: rows.collect(), parts: Vec::new(), note: Note::new(), room: 4096 };
    let zones = Zones::noted(&several).unwrap();
    let can_hold = |text: &str| Filter::parse(text).unwrap().can_hold(zones);
    for has in ["919", "0", "838"] {
        assert!(can_hold(&format!("Text eq '{has} of a text that is longer than what is kept'")), "{has}");
    }
    assert!(can_hold("Number eq 7") && can_hold("Number eq 7L") && can_hold("RowKey eq 'r007'"));
    let have = (0..1000).filter(|n| can_hold(&format!("Text eq '{n} of a text that is longer than what is kept'")));
    assert!((100..110).contains(&have.count()));
    assert!(!can_hold("Number eq 7.5") && !can_hold("RowKey eq 'r0070'") && !can_hold("Text eq 'nothing'"));
}

#[test]
fn what_cannot_be_read_is_looked_at() {
    let mut random = Random(8);
    let mut several = Several::of_parts(&mut random);
    several.parts[0].rows[0].1 = Bytes::from_static(b"\x07nothing of ours");
    assert!(Zones::noted(&several).is_none());
}
