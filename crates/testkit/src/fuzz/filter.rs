//! `$filter`, as text and as trees. A tree that is printed reads as itself; and every entity that a filter wants is where its plan looks.

use std::fmt::Write as _;
use std::ops::{Bound, RangeBounds};

use arbitrary::{Result, Unstructured};
use lazuli_model::Timestamp;
use lazuli_model::table::filter::{Expression, Operator};
use lazuli_model::table::{Fields, Filter, Plan, Seen, Span, Value, Within};

pub const WORDS: &[&str] = &[
    " eq ",
    " ne ",
    " gt ",
    " ge ",
    " lt ",
    " le ",
    " and ",
    " or ",
    "not ",
    "(",
    ")",
    "PartitionKey",
    "RowKey",
    "Timestamp",
    "true",
    "false",
    "null",
    "datetime'2020-01-01T00:00:00Z'",
    "guid'00000000-0000-0000-0000-000000000000'",
    "X'00ff'",
    "binary''",
    "1L",
    "1.5D",
    "-INF",
    "NaN",
    "''",
    "'a'",
    "'",
    "substringof(",
];

pub fn run(input: &[u8]) {
    if let Ok(filter) = Filter::parse(&String::from_utf8_lossy(input)) {
        check(&filter);
    }
    let mut source = Unstructured::new(input);
    if let Ok(tree) = expression(&mut source, 0) {
        let text = printed(&tree);
        let filter = Filter::parse(&text).unwrap_or_else(|refused| panic!("{refused:?}: {text}"));
        same(filter.expression(), &tree, &text);
        check(&filter);
    }
}

/// `NaN` is not itself, but prints so.
fn same(one: &Expression, other: &Expression, text: &str) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"), "{text}");
}

fn check(filter: &Filter) {
    let text = printed(filter.expression());
    // Printed, it has more parentheses than it had, and may be too deep.
    if let Ok(again) = Filter::parse(&text) {
        same(again.expression(), filter.expression(), &text);
    }
    let mut keys = vec![String::new(), "a".to_owned()];
    strings(filter.expression(), &mut keys);
    keys.truncate(8);
    let bounds = Within { from: Some((keys[0].clone(), None)), to: Some((keys[keys.len() - 1].clone(), None)) };
    for within in [Within::default(), bounds] {
        let plan = Plan::of(Some(filter), &within);
        for partition in &keys {
            for row in &keys {
                let entity = Keys { partition, row };
                if within.holds(partition, row) && filter.holds(&entity) {
                    assert!(
                        plan.spans().iter().any(|span| holds(span, &entity)),
                        "{text}: {partition:?} {row:?} is not in {plan:?}"
                    );
                }
            }
        }
    }
    if let Some(names) = Plan::names(filter, "PartitionKey") {
        for partition in &keys {
            let wanted = keys.iter().any(|row| filter.holds(&Keys { partition, row }));
            assert!(!wanted || names.contains(partition), "{text}: {partition:?} is not among {names:?}");
        }
    }
}

struct Keys<'a> {
    partition: &'a str,
    row: &'a str,
}

impl Fields for Keys<'_> {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        match name {
            "PartitionKey" => Some(Seen::String(self.partition)),
            "RowKey" => Some(Seen::String(self.row)),
            _ => None,
        }
    }
}

fn holds(span: &Span, keys: &Keys<'_>) -> bool {
    fn within(from: &Bound<String>, to: &Bound<String>, text: &str) -> bool {
        let bounds: (Bound<&str>, Bound<&str>) = (from.as_ref().map(String::as_str), to.as_ref().map(String::as_str));
        RangeBounds::<&str>::contains(&bounds, &text)
    }
    match span {
        Span::Rows { partition, from, to } => partition == keys.partition && within(from, to, keys.row),
        Span::Partitions { from, to } => within(from, to, keys.partition),
    }
}

fn strings(expression: &Expression, into: &mut Vec<String>) {
    match expression {
        Expression::Compare { value: Value::String(text), .. } => into.push(text.clone()),
        Expression::Compare { .. } | Expression::Flag(_) | Expression::Constant(_) => {}
        Expression::Not(inner) => strings(inner, into),
        Expression::All(parts) | Expression::Any(parts) => parts.iter().for_each(|part| strings(part, into)),
    }
}

fn printed(expression: &Expression) -> String {
    let joined = |parts: &[Expression], word: &str| {
        parts.iter().map(|part| format!("({})", printed(part))).collect::<Vec<_>>().join(word)
    };
    match expression {
        Expression::Compare { property, operator, value } => {
            format!("{property} {} {}", sign(*operator), literal(value))
        }
        Expression::Flag(name) => name.clone(),
        Expression::Constant(value) => value.to_string(),
        Expression::Not(inner) => format!("not ({})", printed(inner)),
        Expression::All(parts) => joined(parts, " and "),
        Expression::Any(parts) => joined(parts, " or "),
    }
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "eq",
        Operator::NotEqual => "ne",
        Operator::Greater => "gt",
        Operator::GreaterOrEqual => "ge",
        Operator::Less => "lt",
        Operator::LessOrEqual => "le",
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Binary(bytes) => {
            let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
                let _ = write!(digits, "{byte:02x}");
                digits
            });
            format!("X'{digits}'")
        }
        Value::Boolean(value) => value.to_string(),
        Value::Int32(value) => value.to_string(),
        Value::Int64(value) => format!("{value}L"),
        Value::Double(value) if value.is_nan() => "NaN".to_owned(),
        Value::Double(value) if value.is_infinite() => if *value > 0.0 { "INF" } else { "-INF" }.to_owned(),
        Value::Double(value) => format!("{value:e}D"),
        Value::DateTime(time) => format!("datetime'{}'", time.to_iso()),
        Value::Guid(guid) => format!("guid'{guid}'"),
    }
}

/// No deeper than this: text has its own limit, which is tested elsewhere.
const DEPTH_MAX: usize = 8;

fn expression(source: &mut Unstructured<'_>, depth: usize) -> Result<Expression> {
    let forms = if depth < DEPTH_MAX { 6 } else { 3 };
    Ok(match source.int_in_range(0..=forms - 1)? {
        0 => Expression::Compare { property: name(source)?, operator: operator(source)?, value: value(source)? },
        1 => Expression::Flag(name(source)?),
        2 => Expression::Constant(source.arbitrary()?),
        3 => Expression::Not(Box::new(expression(source, depth + 1)?)),
        4 => Expression::All(several(source, depth)?),
        _ => Expression::Any(several(source, depth)?),
    })
}

fn several(source: &mut Unstructured<'_>, depth: usize) -> Result<Vec<Expression>> {
    (0..source.int_in_range(2..=4)?).map(|_| expression(source, depth + 1)).collect()
}

fn name(source: &mut Unstructured<'_>) -> Result<String> {
    Ok((*source.choose(&["PartitionKey", "RowKey", "Timestamp", "a", "_b9", "Ünicode", "andy", "eqs"])?).to_owned())
}

fn operator(source: &mut Unstructured<'_>) -> Result<Operator> {
    use Operator::*;
    source.choose(&[Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual]).copied()
}

fn value(source: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match source.int_in_range(0..=8)? {
        0 => Value::Binary(source.arbitrary()?),
        1 => Value::Boolean(source.arbitrary()?),
        2 => Value::Int32(source.arbitrary()?),
        3 => Value::Int64(source.arbitrary()?),
        4 => Value::Double(source.arbitrary()?),
        // Years 1601 to 9999.
        5 => Value::DateTime(Timestamp::from_ticks(
            source.int_in_range(504_911_232_000_000_000..=3_155_378_975_999_999_999)?,
        )),
        6 => Value::Guid(source.arbitrary::<u128>()?.into()),
        7 => Value::String((*source.choose(&["", "a", "b", "it's", "ab", "\u{10FFFF}"])?).to_owned()),
        _ => Value::String(source.arbitrary()?),
    })
}
