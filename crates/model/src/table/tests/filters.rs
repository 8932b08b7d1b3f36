//! Filters: what they mean, what is wrong with them, where their entities can be; then random ones against a second evaluator.

use super::*;

fn entity() -> Plain {
    let guid = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
    let list = [
        ("PartitionKey", Value::String("pk".into())),
        ("RowKey", Value::String("rk".into())),
        ("age", Value::Int32(39)),
        ("big", Value::Int64(1_099_511_627_776)),
        ("ratio", Value::Double(3.1)),
        ("nan", Value::Double(f64::NAN)),
        ("married", Value::Boolean(true)),
        ("name", Value::String("O'Neil".into())),
        ("empty", Value::String("".into())),
        ("birthday", Value::DateTime(at("1970-10-04T00:00:00Z"))),
        ("binary", Value::Binary(b"binary".to_vec())),
        ("clsid", Value::Guid(guid)),
        ("啊", Value::Int32(1)),
    ];
    Plain(list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[test]
fn what_filters_mean() {
    let table = [
        ("age eq 39", true),
        ("age lt 40", true),
        ("age ge 40", false),
        ("40 gt age", true),
        ("age eq 39L", true),
        ("age lt 39.5", true),
        ("age gt -1", true),
        ("big eq 1099511627776L", true),
        ("big eq 1099511627776", true),
        ("big gt 1e12", true),
        ("ratio lt 4.1", true),
        ("ratio eq 3.1", true),
        ("ratio lt INF", true),
        ("ratio gt -INF", true),
        ("nan eq NaN", false),
        ("married", true),
        ("not married", false),
        ("married eq true", true),
        ("true eq married", true),
        ("married ne false", true),
        ("name eq 'O''Neil'", true),
        ("name ge 'O' and name lt 'P'", true),
        ("empty eq ''", true),
        ("birthday eq datetime'1970-10-04T00:00:00.000000Z'", true),
        ("birthday lt datetime'1970-10-04T00:00:01'", true),
        ("binary eq X'62696e617279'", true),
        ("binary eq binary'62696E617279'", true),
        ("clsid eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'", true),
        ("啊 eq 1", true),
        // A property that is missing, or of another type, fits nothing.
        ("missing eq 1", false),
        ("missing ne 1", false),
        ("not (missing eq 1)", true),
        ("age eq '39'", false),
        ("age ne '39'", false),
        ("missing", false),
        // `and` binds more closely than `or`, `not` than both.
        ("age eq 1 or married and age eq 39", true),
        ("married or age eq 1 and age eq 2", true),
        ("(married or age eq 1) and age eq 2", false),
        ("not age eq 1 and married", true),
        ("not not married", true),
        ("((((age))) eq 39)", true),
        ("(age eq 39) eq true", true),
        ("(age eq 39) ne true", false),
        ("1 eq 1", true),
        ("'a' gt 'b'", false),
        ("true", true),
        ("  age   eq\t39  ", true),
        ("PartitionKey eq 'pk' and RowKey eq 'rk'", true),
    ];
    for (text, expected) in table {
        let filter = Filter::parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
        assert_eq!(filter.holds(&entity()), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_filters() {
    let said = |text: &str| match Filter::parse(text) {
        Err(Refusal::Table(Refused::InvalidInput(message))) => message.into_owned(),
        other => panic!("{text}: {other:?}"),
    };
    // Observed.
    assert_eq!(said("aaa bbb ccc"), "Syntax error at position 7 in 'aaa bbb ccc'.");
    for text in [
        "",
        "eq",
        "age eq",
        "age eq eq",
        "(age eq 1",
        "age eq 1)",
        "and",
        "age eq 1 and",
        "'a'",
        "1",
        "age eq 1 or or married",
        "age EQ 1",
        "age = 1",
        "age eq 'x",
        "age eq 12x",
        "age eq 1.2.3",
        "age eq datetime'x'",
        "age eq guid'1'",
        "age eq X'1'",
        "age eq X'zz'",
        "age eq time'1'",
        "age eq 99999999999999999999L",
        "age ! 1",
        "()",
        "not",
        "--1",
        "-",
    ] {
        said(text);
    }
    for text in ["substringof('a', name)", "startswith(name,'a')", "name eq null", "age eq big", "length(name) gt 1"] {
        assert_eq!(Filter::parse(text), Err(Refused::NotImplemented.into()), "{text}");
    }
    let deep = |depth: usize| format!("{}age eq 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&deep(100)).is_ok());
    assert_eq!(said(&deep(101)), "Recursion depth exceeded allowed limit.");
    assert_eq!(said(&deep(100_000)), "Recursion depth exceeded allowed limit.");
    assert_eq!(said(&format!("{}married", "not ".repeat(100_000))), "Recursion depth exceeded allowed limit.");
    let wide = vec!["age eq 1"; 20_000].join(" or ");
    assert!(!Filter::parse(&wide).unwrap().holds(&entity()));
}

#[test]
fn keys_become_seeks() {
    let plan = |text: &str| Plan::of(Some(&Filter::parse(text).unwrap()), &Within::default());
    let rows = |partition: &str, from: Bound<&str>, to: Bound<&str>| Span::Rows {
        partition: partition.into(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let partitions = |from: Bound<&str>, to: Bound<&str>| Span::Partitions {
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    use Bound::{Excluded as Ex, Included as In, Unbounded as All};
    let table = [
        ("PartitionKey eq 'p'", vec![rows("p", All, All)]),
        ("PartitionKey eq 'p' and RowKey eq 'r'", vec![rows("p", In("r"), In("r"))]),
        ("RowKey ge 'a' and 'b' gt RowKey and PartitionKey eq 'p'", vec![rows("p", In("a"), Ex("b"))]),
        ("PartitionKey gt 'a' and PartitionKey le 'b'", vec![partitions(Ex("a"), In("b"))]),
        ("PartitionKey ge 'a' and PartitionKey lt 'a'", vec![]),
        ("PartitionKey eq 'a' and PartitionKey eq 'b'", vec![]),
        ("PartitionKey eq 'a' or PartitionKey eq 'b'", vec![rows("a", All, All), rows("b", All, All)]),
        (
            "PartitionKey eq 'p' and (RowKey eq '1' or RowKey eq '2') and x eq 1",
            vec![rows("p", In("1"), In("1")), rows("p", In("2"), In("2"))],
        ),
        ("PartitionKey eq 'a' or x eq 1", vec![rows("a", All, All), partitions(All, All)]),
        ("RowKey eq 'r'", vec![partitions(All, All)]),
        ("not (PartitionKey eq 'a')", vec![partitions(All, All)]),
        ("PartitionKey eq 5", vec![partitions(All, All)]),
        ("false", vec![]),
    ];
    for (text, expected) in table {
        assert_eq!(plan(text).spans(), expected, "{text}");
    }
    let within = Within { from: Some(("b".into(), None)), to: Some(("c".into(), None)) };
    assert_eq!(Plan::of(None, &within).spans(), [partitions(In("b"), In("c"))]);
    assert!(Plan::of(Some(&Filter::parse("PartitionKey eq 'a'").unwrap()), &within).spans().is_empty());
}

/// From a seed, and nothing else.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const NAMES: [&str; 7] = ["PartitionKey", "RowKey", "a", "b", "c", "d", "e"];
const TEXTS: [&str; 8] = ["", "a", "ab", "b", "it''s", "é", "\u{1}", "c"];

/// A literal's text and value.
fn literal(chance: &mut Chance) -> (String, Value) {
    match chance.below(8) {
        0 => {
            let number = chance.below(5) as i32 - 2;
            (number.to_string(), Value::Int32(number))
        }
        1 => {
            let number = chance.below(5) as i64 - 2;
            (format!("{number}L"), Value::Int64(number))
        }
        2 => {
            let number = chance.below(9) as f64 / 4.0 - 1.0;
            (format!("{number:?}"), Value::Double(number))
        }
        3 => {
            let flag = chance.below(2) == 0;
            (flag.to_string(), Value::Boolean(flag))
        }
        4 => {
            let byte = chance.below(3) as u8;
            (format!("X'{byte:02x}'"), Value::Binary(vec![byte]))
        }
        5 => {
            let time = at("2022-05-06T00:00:00Z").plus_seconds(chance.below(3) as u64);
            (format!("datetime'{}'", time.to_iso()), Value::DateTime(time))
        }
        _ => {
            let text = *chance.pick(&TEXTS);
            (format!("'{text}'"), Value::String(text.replace("''", "'")))
        }
    }
}

type Judge = Box<dyn Fn(&Plain) -> bool>;

/// An operator, the one that means the same with its sides exchanged, and whether it holds for an order.
type Spelt = (&'static str, &'static str, fn(i8) -> bool);

/// A filter's text, and what it means, worked out without the code under test.
fn random(chance: &mut Chance, depth: usize) -> (String, Judge) {
    match if depth == 0 { 0 } else { chance.below(5) } {
        1 | 2 => {
            let (left, right) = (random(chance, depth - 1), random(chance, depth - 1));
            let and = chance.below(2) == 0;
            let text = format!("({}) {} ({})", left.0, if and { "and" } else { "or" }, right.0);
            (text, Box::new(move |e| if and { left.1(e) && right.1(e) } else { left.1(e) || right.1(e) }))
        }
        3 => {
            let inner = random(chance, depth - 1);
            (format!("not ({})", inner.0), Box::new(move |e| !inner.1(e)))
        }
        _ => {
            let name = *chance.pick(&NAMES);
            let (text, value) = literal(chance);
            let operators: [Spelt; 6] = [
                ("eq", "eq", |o| o == 0),
                ("ne", "ne", |o| o != 0),
                ("gt", "lt", |o| o > 0),
                ("ge", "le", |o| o >= 0),
                ("lt", "gt", |o| o < 0),
                ("le", "ge", |o| o <= 0),
            ];
            let (plain, turned, holds) = *chance.pick(&operators);
            let text =
                if chance.below(3) == 0 { format!("{text} {turned} {name}") } else { format!("{name} {plain} {text}") };
            let judge = move |e: &Plain| e.0.get(name).and_then(|found| order(found, &value)).is_some_and(holds);
            (text, Box::new(judge))
        }
    }
}

fn order(one: &Value, other: &Value) -> Option<i8> {
    let number = |value: &Value| match value {
        Value::Int32(number) => Some(f64::from(*number)),
        Value::Int64(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        Value::String(_) | Value::Binary(_) | Value::Boolean(_) | Value::DateTime(_) | Value::Guid(_) => None,
    };
    let sign = |order: std::cmp::Ordering| order as i8;
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(sign(one.chars().cmp(other.chars()))),
        (Value::Binary(one), Value::Binary(other)) => Some(sign(one.cmp(other))),
        (Value::Boolean(one), Value::Boolean(other)) => Some(sign(one.cmp(other))),
        (Value::DateTime(one), Value::DateTime(other)) => Some(sign(one.cmp(other))),
        _ => number(one)?.partial_cmp(&number(other)?).map(sign),
    }
}

fn random_entity(chance: &mut Chance) -> Plain {
    let mut fields = BTreeMap::new();
    for name in NAMES {
        let value = match name {
            "PartitionKey" | "RowKey" => {
                Value::String(chance.pick(&["", "a", "ab", "b", "it's", "é", "c", "aé"]).to_string())
            }
            _ if chance.below(4) == 0 => continue,
            _ => literal(chance).1,
        };
        fields.insert(name.to_owned(), value);
    }
    Plain(fields)
}

#[test]
fn random_filters_mean_what_they_say_and_their_plans_miss_nothing() {
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut held = 0;
    for round in 0..3_000 {
        let depth = chance.below(5);
        let (text, judge) = random(&mut chance, depth);
        let filter = Filter::parse(&text).unwrap_or_else(|refusal| panic!("{round}: {text}: {refusal:?}"));
        let plan = Plan::of(Some(&filter), &Within::default());
        for _ in 0..20 {
            let entity = random_entity(&mut chance);
            let expected = judge(&entity);
            assert_eq!(filter.holds(&entity), expected, "{round}: {text}: {:?}", entity.0);
            held += usize::from(expected);
            let key = |name: &str| {
                let Value::String(text) = &entity.0[name] else { panic!("{:?}", entity.0) };
                text.clone()
            };
            let found = plan.spans().iter().any(|span| in_span(span, &key("PartitionKey"), &key("RowKey")));
            assert!(found || !expected, "{round}: {text} is not looked for at {:?}", entity.0);
        }
    }
    assert!((10_000..50_000).contains(&held), "{held} of 60,000 hold: the generator is lopsided");
}

#[test]
fn damaged_filters_are_refused_or_read_but_never_worse() {
    let mut chance = Chance(0xD1B5_4A32_D192_ED03);
    let scraps =
        ["'", "(", ")", " ", "not ", "and", "eq", "\u{10ffff}", "datetime'", "L", "-", ".", "e", "X'", ",", "\0"];
    let mut refused = 0;
    for _ in 0..5_000 {
        let depth = chance.below(4);
        let mut text: Vec<char> = random(&mut chance, depth).0.chars().collect();
        for _ in 0..=chance.below(4) {
            let at = chance.below(text.len() + 1);
            match chance.below(3) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => text.truncate(at.max(1)),
                _ => {
                    let scrap = *chance.pick(&scraps);
                    text.splice(at..at, scrap.chars());
                }
            }
        }
        let text: String = text.into_iter().collect();
        match Filter::parse(&text) {
            Ok(filter) => {
                filter.holds(&random_entity(&mut chance));
            }
            Err(Refusal::Table(Refused::InvalidInput(_) | Refused::NotImplemented)) => refused += 1,
            Err(other) => panic!("{text}: {other:?}"),
        }
    }
    assert!(refused > 1_000, "{refused}");
}
