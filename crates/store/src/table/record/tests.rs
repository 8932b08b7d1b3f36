//! Random entities, encoded: what is read in place is what is decoded, and random filters hold for both or for neither.

use lazuli_engine::{Column, Key as RowKey, Space};
use lazuli_model::table::{Entity, Fields, Filter, Guid, Key, Value};

use super::*;
use crate::records::{decode, encode};
use crate::table::{Found, Row};

/// SplitMix64.
pub(in crate::table) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::table) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len() as u64) as usize]
    }

    /// Of any length in bits, so that varints of all lengths are met.
    fn bits(&mut self) -> u64 {
        self.next() >> self.below(64)
    }

    fn value(&mut self) -> Value {
        match self.below(8) {
            0 => Value::String(
                self.pick(&["", "a", "b", "\u{e9}", "a long one, of more than two words"])
                    .repeat(self.below(5) as usize),
            ),
            1 => Value::Binary(vec![self.next() as u8; self.below(300) as usize]),
            2 => Value::Boolean(self.below(2) == 0),
            3 => Value::Int32(if self.below(2) == 0 { self.below(5) as i32 - 2 } else { self.bits() as i32 }),
            4 => Value::Int64(if self.below(2) == 0 { self.below(5) as i64 - 2 } else { self.bits() as i64 }),
            5 => {
                Value::Double(if self.below(2) == 0 { self.below(5) as f64 / 2.0 } else { f64::from_bits(self.next()) })
            }
            6 => Value::DateTime(Timestamp::from_ticks(self.bits())),
            _ => Value::Guid(Guid::from(u128::from(self.bits()) << self.below(65))),
        }
    }

    pub(in crate::table) fn entity(&mut self) -> (Key, Entity) {
        const NAMES: [&str; 7] = ["a", "b", "c", "Number", "\u{e9}t\u{e9}", "a_name_that_is_longer", "Flag"];
        let count = self.below(NAMES.len() as u64 + 1) as usize;
        let properties = NAMES[..count].iter().map(|name| ((*name).to_owned(), self.value())).collect();
        let key = Key::new(self.pick(&["", "a", "p\u{e9}"]), self.pick(&["", "a", "r 1"]));
        (key, Entity { modified: Timestamp::from_ticks(self.bits()), properties })
    }

    fn comparison(&mut self) -> String {
        let name = self.pick(&["a", "b", "c", "Number", "Flag", "nobody", "PartitionKey", "RowKey", "Timestamp"]);
        let operator = self.pick(&["eq", "ne", "gt", "ge", "lt", "le"]);
        let literal = self.pick(&[
            "'a'",
            "''",
            "'a long one, of more than two words'",
            "1",
            "-1",
            "0",
            "2L",
            "0.5",
            "1.0",
            "NaN",
            "true",
            "false",
            "X'00'",
            "datetime'2020-01-01T00:00:00Z'",
            "guid'00000000-0000-0000-0000-000000000001'",
        ]);
        format!("{name} {operator} {literal}")
    }

    pub(in crate::table) fn filter(&mut self, depth: u32) -> String {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 => self.comparison(),
            1 => self.pick(&["Flag", "a", "nobody", "true"]).to_owned(),
            2 => format!("not ({})", self.filter(depth - 1)),
            3 => format!("({}) and ({})", self.filter(depth - 1), self.filter(depth - 1)),
            _ => format!("({}) or ({})", self.filter(depth - 1), self.filter(depth - 1)),
        }
    }
}

/// An entity that was decoded, as a filter sees it.
struct Decoded<'a>(&'a Key, &'a Entity);

impl Fields for Decoded<'_> {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        match name {
            "PartitionKey" => Some(Seen::String(&self.0.partition)),
            "RowKey" => Some(Seen::String(&self.0.row)),
            "Timestamp" => Some(Seen::DateTime(self.1.modified)),
            _ => self.1.properties.iter().find(|(found, _)| found == name).map(|(_, value)| value.seen()),
        }
    }
}

pub(in crate::table) fn stored(key: &Key, entity: &Entity) -> Found {
    let key = RowKey::new(Space(1), Column(1), &[key.partition.as_bytes(), &[0], key.row.as_bytes()]);
    Found { key, record: encode(entity) }
}

/// Through text, because NaN is not itself.
fn same(one: &impl std::fmt::Debug, other: &impl std::fmt::Debug) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn filters_hold_in_place_as_they_do_for_what_is_decoded() {
    let mut random = Random(4);
    let mut held = 0;
    for _ in 0..20_000 {
        let (key, entity) = random.entity();
        let found = stored(&key, &entity);
        same(&found.see(Vec::new()).unwrap(), &entity.see(&key));
        let text = random.filter(3);
        let filter = Filter::parse(&text).unwrap();
        let holds = Row::new(found.key.as_bytes(), &found.record).fits(&filter).unwrap();
        assert_eq!(holds, filter.holds(&Decoded(&key, &entity)), "{text} for {key:?} {entity:?}");
        held += u32::from(holds);
    }
    assert!((2_000..18_000).contains(&held), "{held}");
}

/// Damage is never read as something else than it is decoded as.
#[test]
fn what_is_damaged_is_read_as_it_is_decoded() {
    let mut random = Random(5);
    let mut refused = 0;
    for _ in 0..50_000 {
        let (key, entity) = random.entity();
        let mut found = stored(&key, &entity);
        let mut bytes = found.record.to_vec();
        match random.below(3) {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => bytes.push(random.next() as u8),
            _ => {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
        }
        found.record = bytes.into();
        match (decode::<Entity>(&found.record), found.see(Vec::new())) {
            (Ok(decoded), Ok(sight)) => same(&sight, &decoded.see(&key)),
            (Err(one), Err(other)) => {
                refused += 1;
                assert_eq!(one, other);
            }
            (decoded, sight) => panic!("{decoded:?} but {sight:?}"),
        }
    }
    assert!(refused > 10_000, "{refused}");
}
