//! The documented and observed facts about tables, as tables; and filters by the thousand, from a seed.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::*;

mod filters;

fn at(text: &str) -> Timestamp {
    Timestamp::parse_iso(text).unwrap()
}

fn properties(list: &[(&str, Value)]) -> Vec<(String, Value)> {
    list.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

#[test]
fn table_names() {
    for good in ["abc", "A12", "aTable", &"a".repeat(63)] {
        assert_eq!(TableName::parse(good).as_ref().map(TableName::as_str), Ok(good));
    }
    let table: [(&str, Refusal); 9] = [
        ("", Refused::NameLength.into()),
        ("aa", Refused::NameLength.into()),
        (&"a".repeat(64), Refused::NameLength.into()),
        ("1table", Refusal::InvalidResourceName),
        ("my_table", Refusal::InvalidResourceName),
        ("my-table", Refusal::InvalidResourceName),
        ("a//", Refusal::InvalidResourceName),
        ("啊齄丂狛狜", Refusal::InvalidResourceName),
        ("Tables", Refusal::InvalidResourceName),
    ];
    for (bad, refusal) in table {
        assert_eq!(TableName::parse(bad), Err(refusal), "{bad}");
    }
    assert_eq!(TableName::parse("MyTable").unwrap().folded(), "mytable");
}

#[test]
fn tags_are_timestamps_without_idle_zeros() {
    for (time, tag) in [
        ("2022-05-06T00:34:41.8204980Z", "W/\"datetime'2022-05-06T00%3A34%3A41.820498Z'\""),
        ("2022-05-06T00:44:10.2656477Z", "W/\"datetime'2022-05-06T00%3A44%3A10.2656477Z'\""),
        ("2022-05-06T00:40:00.0000000Z", "W/\"datetime'2022-05-06T00%3A40%3A00Z'\""),
    ] {
        assert_eq!(Tag(at(time)).to_string(), tag);
        assert_eq!(Tag::parse(tag), Some(Tag(at(time))));
        assert_eq!(Tag::parse(&tag.replace("%3A", ":")), Some(Tag(at(time))));
    }
    for bad in ["", "*", "W/\"\"", "\"0x8D\"", "W/\"datetime'x'\"", "W/\"datetime'2022-05-06T00%3A40%3A00Z\""] {
        assert_eq!(Tag::parse(bad), None, "{bad}");
    }
}

/// "Update Entity", "Merge Entity", "Delete Entity", the two upserts, and what was recorded of them.
#[test]
fn what_becomes_of_an_entity() {
    let (then, now) = (at("2022-05-06T00:00:00Z"), at("2022-05-07T00:00:00Z"));
    let old = properties(&[("b", Value::Int32(1)), ("a", Value::Int32(2))]);
    let new = properties(&[("c", Value::Int32(3)), ("b", Value::Int32(4))]);
    let sorted = properties(&[("b", Value::Int32(4)), ("c", Value::Int32(3))]);
    let merged = properties(&[("a", Value::Int32(2)), ("b", Value::Int32(4)), ("c", Value::Int32(3))]);
    let there = Entity { modified: then, properties: old };
    let (right, wrong) = (Expect::Tag(Some(Tag(then))), Expect::Tag(Some(Tag(now))));
    let exists: Refusal = Refused::EntityAlreadyExists.into();
    let moved: Refusal = Refused::UpdateConditionNotSatisfied.into();
    let gone = Refusal::ResourceNotFound;
    type Outcome = Result<Option<Vec<(String, Value)>>, Refusal>;
    let table: [(Action, Outcome, Outcome); 13] = [
        (Action::Insert(new.clone()), Ok(Some(new.clone())), Err(exists)),
        (Action::Replace(Place::Anywhere, new.clone()), Ok(Some(sorted.clone())), Ok(Some(sorted.clone()))),
        (Action::Replace(Place::Found(Expect::Any), new.clone()), Err(gone.clone()), Ok(Some(sorted.clone()))),
        (Action::Replace(Place::Found(right), new.clone()), Err(gone.clone()), Ok(Some(sorted.clone()))),
        (Action::Replace(Place::Found(wrong), new.clone()), Err(gone.clone()), Err(moved.clone())),
        (Action::Merge(Place::Anywhere, new.clone()), Ok(Some(sorted)), Ok(Some(merged.clone()))),
        (Action::Merge(Place::Found(Expect::Any), new.clone()), Err(gone.clone()), Ok(Some(merged.clone()))),
        (Action::Merge(Place::Found(right), new.clone()), Err(gone.clone()), Ok(Some(merged))),
        (Action::Merge(Place::Found(wrong), new.clone()), Err(gone.clone()), Err(moved.clone())),
        (Action::Merge(Place::Found(Expect::Tag(None)), new), Err(gone.clone()), Err(moved.clone())),
        (Action::Delete(Expect::Any), Err(gone.clone()), Ok(None)),
        (Action::Delete(right), Err(gone.clone()), Ok(None)),
        (Action::Delete(wrong), Err(gone), Err(moved)),
    ];
    for (action, absent, present) in table {
        let change = Change { key: Key::new("p", "r"), action };
        for (current, expected) in [(None, absent), (Some(&there), present)] {
            let after = change.decide(current, now);
            assert!(after.iter().flatten().all(|entity| entity.modified == now), "{change:?}");
            assert_eq!(after.map(|entity| entity.map(|entity| entity.properties)), expected, "{change:?} {current:?}");
        }
    }
}

#[test]
fn a_merge_cannot_outgrow_an_entity() {
    let many = |from: usize, to: usize| (from..to).map(|n| (format!("p{n}"), Value::Int32(0))).collect::<Vec<_>>();
    let there = Entity { modified: at("2022-05-06T00:00:00Z"), properties: many(0, 200) };
    let merge = |properties| Change { key: Key::new("p", "r"), action: Action::Merge(Place::Anywhere, properties) };
    assert!(merge(many(100, 252)).decide(Some(&there), there.modified).is_ok());
    assert_eq!(merge(many(100, 253)).decide(Some(&there), there.modified), Err(Refused::TooManyProperties.into()));
}

/// "Understanding the Table service data model".
#[test]
fn limits() {
    let text = |length: usize| Value::String("x".repeat(length));
    let key = Key::new("p", "r");
    let one = |name: &str, value: Value| check(&key, &[(name.to_owned(), value)]);
    assert_eq!(one("a", text(32 << 10)), Ok(()));
    assert_eq!(one("a", text((32 << 10) + 1)), Err(Refused::PropertyValueTooLarge.into()));
    assert_eq!(one("a", Value::String("\u{10000}".repeat((16 << 10) + 1))), Err(Refused::PropertyValueTooLarge.into()));
    assert_eq!(one("a", Value::Binary(vec![0; 64 << 10])), Ok(()));
    assert_eq!(one("a", Value::Binary(vec![0; (64 << 10) + 1])), Err(Refused::PropertyValueTooLarge.into()));
    assert_eq!(one("a", Value::DateTime(at("1601-01-01"))), Ok(()));
    assert!(one("a", Value::DateTime(at("1600-12-31"))).is_err());
    assert_eq!(one(&"a".repeat(255), text(1)), Ok(()));
    assert_eq!(one(&"a".repeat(256), text(1)), Err(Refused::PropertyNameTooLong.into()));
    for good in ["a", "_a", "A1", "啊齄", "a_b"] {
        assert_eq!(one(good, text(1)), Ok(()), "{good}");
    }
    for bad in ["", "1a", "a-b", "a b", "a.b", "a:b"] {
        assert_eq!(one(bad, text(1)), Err(Refused::PropertyNameInvalid.into()), "{bad}");
    }
    let several = |count: usize, value: Value| check(&key, &vec![("a".to_owned(), value); count]);
    assert_eq!(several(252, Value::Boolean(true)), Ok(()));
    assert_eq!(several(253, Value::Boolean(true)), Err(Refused::TooManyProperties.into()));
    assert_eq!(several(15, Value::Binary(vec![0; 64 << 10])), Ok(()));
    assert_eq!(several(16, Value::Binary(vec![0; 64 << 10])), Err(Refused::EntityTooLarge.into()));
}

#[test]
fn keys() {
    for good in ["", " ", "a", "é啊\u{10ffff}", "a'b\"c", "=&+,$:@%", &"k".repeat(512)] {
        assert_eq!(check(&Key::new(good, good), &[]), Ok(()), "{good}");
    }
    for bad in ["a/b", "a\\b", "a#", "?", "\0", "a\n", "\u{1f}", "\u{7f}", "\u{9f}"] {
        let refusal = check(&Key::new(bad, "r"), &[]);
        let expected = Refused::OutOfRange { name: "PartitionKey".into(), value: bad.into() };
        assert_eq!(refusal, Err(expected.into()), "{bad:?}");
        assert!(check(&Key::new("p", bad), &[]).is_err(), "{bad:?}");
    }
    for long in ["k".repeat(513), "\u{10000}".repeat(257)] {
        assert_eq!(check(&Key::new("p", long), &[]), Err(Refused::KeyValueTooLarge.into()));
    }
}

/// "Performing entity group transactions".
#[test]
fn what_a_batch_must_keep_to() {
    let rows = |count: usize| (0..count).map(|n| Key::new("p", n.to_string())).collect::<Vec<_>>();
    let refused = |index: usize, refused: Refused| -> Result<(), Refusal> {
        Err(Refused::InBatch { index, refusal: Box::new(refused.into()) }.into())
    };
    assert_eq!(check_batch(rows(100).iter()), Ok(()));
    // Observed: the index is that of the last operation that is allowed.
    assert_eq!(check_count(100), Ok(()));
    assert_eq!(check_count(101), refused(99, Refused::TooManyOperations));
    let twice = [Key::new("p", "a"), Key::new("p", "b"), Key::new("p", "a")];
    assert_eq!(check_batch(twice.iter()), refused(2, Refused::InvalidDuplicateRow));
    let elsewhere = [Key::new("p", "a"), Key::new("q", "b")];
    assert_eq!(check_batch(elsewhere.iter()), refused(1, Refused::CommandsInBatchActOnDifferentPartitions));
}

#[test]
fn numbers_compare_exactly_with_numbers_and_nothing_else() {
    use std::cmp::Ordering::*;
    let (big, near) = (i64::MAX, 9_223_372_036_854_775_807.0);
    let table = [
        (Seen::Int32(3), Seen::Int64(3), Some(Equal)),
        (Seen::Int32(3), Seen::Double(3.5), Some(Less)),
        (Seen::Double(-3.5), Seen::Int32(-3), Some(Less)),
        (Seen::Int64(big), Seen::Double(near), Some(Less)),
        (Seen::Int64(i64::MIN), Seen::Double(-9_223_372_036_854_775_808.0), Some(Equal)),
        (Seen::Int64(1), Seen::Double(f64::NAN), None),
        (Seen::Int64(1), Seen::Double(f64::INFINITY), Some(Less)),
        (Seen::Int32(1), Seen::String("1"), None),
        (Seen::Boolean(true), Seen::Int32(1), None),
        (Seen::String("a"), Seen::String("B"), Some(Greater)),
        (Seen::Binary(&[1, 2]), Seen::Binary(&[1, 2, 0]), Some(Less)),
    ];
    for (one, other, expected) in table {
        assert_eq!(one.compare(other), expected, "{one:?} {other:?}");
        assert_eq!(other.compare(one), expected.map(std::cmp::Ordering::reverse), "{other:?} {one:?}");
    }
}

#[test]
fn a_signature_opens_from_key_to_key() {
    let edge = |partition: &str, row: Option<&str>| Some((partition.to_owned(), row.map(str::to_owned)));
    let within = Within { from: edge("b", Some("5")), to: edge("d", Some("5")) };
    for (partition, row, expected) in
        [("a", "9", false), ("b", "4", false), ("b", "5", true), ("c", "0", true), ("d", "5", true), ("d", "6", false)]
    {
        assert_eq!(within.holds(partition, row), expected, "{partition} {row}");
    }
    let whole = Within { from: edge("b", None), to: edge("b", None) };
    assert!(whole.holds("b", "") && whole.holds("b", "z") && !whole.holds("a", "z") && !whole.holds("ba", ""));
    assert!(Within::default().holds("", ""));
}

#[test]
fn times_as_clients_write_them() {
    for (text, expected) in [
        ("2008-07-10T00:00:00", "2008-07-10T00:00:00Z"),
        ("2003-09-27T12:52:43.000000Z", "2003-09-27T12:52:43Z"),
        ("2013-08-22T01:12:06.2608595Z", "2013-08-22T01:12:06.2608595Z"),
        ("2013-08-22T01:12:06.260859512Z", "2013-08-22T01:12:06.2608595Z"),
        ("2013-08-22T01:12:06+02:00", "2013-08-21T23:12:06Z"),
        ("2013-08-22T01:12Z", "2013-08-22T01:12:00Z"),
    ] {
        assert_eq!(read_time(text).map(Timestamp::to_iso_short).as_deref(), Some(expected), "{text}");
    }
    for bad in ["", "yesterday", "2013-08-22", "2013-08-22T25:00:00Z", "2013-13-22T01:12:06Z", "T", "ü"] {
        assert_eq!(read_time(bad), None, "{bad}");
    }
}

/// An entity as filters see it.
struct Plain(BTreeMap<String, Value>);

impl Fields for Plain {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        self.0.get(name).map(Value::seen)
    }
}

fn in_span(span: &Span, partition: &str, row: &str) -> bool {
    let within = |from: &Bound<String>, to: &Bound<String>, key: &str| {
        let after = match from {
            Bound::Unbounded => true,
            Bound::Included(from) => key >= from.as_str(),
            Bound::Excluded(from) => key > from.as_str(),
        };
        let before = match to {
            Bound::Unbounded => true,
            Bound::Included(to) => key <= to.as_str(),
            Bound::Excluded(to) => key < to.as_str(),
        };
        after && before
    };
    match span {
        Span::Rows { partition: only, from, to } => partition == only && within(from, to, row),
        Span::Partitions { from, to } => within(from, to, partition),
    }
}
