//! What an expression comes to for a record; and what aggregates come to over all of them. Every node costs a step, and what it
//! looks at or makes costs more, so that no expression is long work unnoticed.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use lazuli_model::Timestamp;

use crate::RECORD_MAX;
use crate::budget::{Budget, Exceeded};
use crate::like::like;
use crate::sql::{Aggregate, Expression, Step, Type, each_inner};
use crate::value::{BadType, Value};

const TICKS_PER_SECOND: i64 = 10_000_000;

/// A record, by the names and places of its fields.
pub trait Record {
    fn get(&self, path: &[Step], budget: &Budget) -> Result<Value<'_>, Absent>;
}

/// Why there is no value at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The record has not that many columns.
    Column,
    Exceeded(Exceeded),
}

impl From<Exceeded> for Absent {
    fn from(exceeded: Exceeded) -> Self {
        Absent::Exceeded(exceeded)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Which of the columns that the query names.
    NoColumn(usize),
    Type,
    NoFunction(String),
    Exceeded(Exceeded),
}

impl From<BadType> for Wrong {
    fn from(_: BadType) -> Self {
        Wrong::Type
    }
}

impl From<Exceeded> for Wrong {
    fn from(exceeded: Exceeded) -> Self {
        Wrong::Exceeded(exceeded)
    }
}

/// The columns that a query names, each once, numbered in order: errors count them.
#[derive(Debug, Default)]
pub struct Columns(HashMap<Vec<Step>, usize>);

impl Columns {
    pub fn of<'a>(expressions: impl Iterator<Item = &'a Expression>) -> Self {
        fn gather(expression: &Expression, columns: &mut Columns) {
            if let Expression::Path(path) = expression
                && !columns.0.contains_key(path)
            {
                let number = columns.0.len();
                columns.0.insert(path.clone(), number);
            }
            each_inner(expression, &mut |one| gather(one, columns));
        }
        let mut columns = Self::default();
        expressions.for_each(|expression| gather(expression, &mut columns));
        columns
    }

    fn number(&self, path: &[Step]) -> usize {
        self.0.get(path).copied().unwrap_or_default()
    }

    pub fn paths(&self) -> impl Iterator<Item = &[Step]> {
        self.0.keys().map(Vec::as_slice)
    }
}

/// What expressions need besides the record.
pub struct Scene<'a> {
    pub columns: &'a Columns,
    pub now: Timestamp,
    pub budget: &'a Budget,
}

pub fn evaluate<'r>(expression: &'r Expression, record: &'r dyn Record, scene: &Scene<'_>) -> Result<Value<'r>, Wrong> {
    let budget = scene.budget;
    budget.steps(1)?;
    let of = |inner: &'r Expression| evaluate(inner, record, scene);
    Ok(match expression {
        Expression::Null => Value::Null,
        Expression::Bool(value) => Value::Bool(*value),
        Expression::Int(number) => Value::Int(*number),
        Expression::Float(number) => Value::Float(*number),
        Expression::Text(text) => Value::Text(Cow::Borrowed(text)),
        Expression::Path(path) => record.get(path, budget).map_err(|absent| match absent {
            Absent::Column => Wrong::NoColumn(scene.columns.number(path)),
            Absent::Exceeded(exceeded) => Wrong::Exceeded(exceeded),
        })?,
        Expression::Unary("NOT", inner) => {
            let value = of(inner)?.to_bool()?;
            if let Value::Bool(value) = value { Value::Bool(!value) } else { value }
        }
        Expression::Unary(_, inner) => arithmetic("-", Value::Int(0), of(inner)?, budget)?,
        Expression::Binary("AND", a, b) => both(of(a)?, || of(b), false)?,
        Expression::Binary("OR", a, b) => both(of(a)?, || of(b), true)?,
        Expression::Binary(sign @ ("=" | "<>" | "<" | "<=" | ">" | ">="), a, b) => {
            compare(&of(a)?, &of(b)?, budget)?.map_or(Value::Null, |order| Value::Bool(holds(sign, order)))
        }
        Expression::Binary(sign, a, b) => arithmetic(sign, of(a)?, of(b)?, budget)?,
        Expression::IsNull(inner) => Value::Bool(of(inner)?.is_null()),
        Expression::In(inner, among) => {
            let value = of(inner)?;
            let mut found = false;
            for one in among {
                found |= compare(&value, &of(one)?, budget)? == Some(Ordering::Equal);
            }
            if value.is_null() { Value::Null } else { Value::Bool(found) }
        }
        Expression::Between(inner, low, high) => {
            let value = of(inner)?;
            match (compare(&value, &of(low)?, budget)?, compare(&value, &of(high)?, budget)?) {
                (Some(low), Some(high)) => Value::Bool(low != Ordering::Less && high != Ordering::Greater),
                (None, _) | (_, None) => Value::Null,
            }
        }
        Expression::Like(inner, pattern, escape) => match (of(inner)?, of(pattern)?) {
            (value, pattern) if value.is_null() || pattern.is_null() => Value::Null,
            (value, pattern) => Value::Bool(like(&text(&value, budget)?, &text(&pattern, budget)?, *escape, budget)?),
        },
        Expression::Cast(inner, to) => cast(of(inner)?, *to, budget)?,
        Expression::Call(name, arguments) => {
            let arguments = arguments.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            call(name, arguments, scene)?
        }
        // The aggregation puts their values in.
        Expression::Aggregate(..) => Value::Null,
    })
}

/// Two texts differ early or cost what the shorter is long; a text that has to become something else is read whole.
fn compare(a: &Value<'_>, b: &Value<'_>, budget: &Budget) -> Result<Option<Ordering>, Wrong> {
    budget.look(match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.len().min(b.len()),
        (a, b) => a.size() + b.size(),
    })?;
    Ok(a.compare(b)?)
}

/// The text of a value. Of an array or an object it has to be made.
fn text<'v>(value: &'v Value<'_>, budget: &Budget) -> Result<Cow<'v, str>, Wrong> {
    let text = value.to_text();
    if let Cow::Owned(made) = &text {
        budget.make(made.len())?;
    }
    Ok(text)
}

fn holds(sign: &str, order: Ordering) -> bool {
    match sign {
        "=" => order == Ordering::Equal,
        "<>" => order != Ordering::Equal,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }
}

/// AND and OR with nulls: `decides` is the value that settles it.
fn both<'r>(
    a: Value<'r>,
    b: impl FnOnce() -> Result<Value<'r>, Wrong>,
    decides: bool,
) -> Result<Value<'static>, Wrong> {
    let a = a.to_bool()?;
    if a == Value::Bool(decides) {
        return Ok(a);
    }
    let b = b()?.to_bool()?;
    Ok(match (a, b) {
        (_, b) if b == Value::Bool(decides) => b,
        (Value::Bool(_), Value::Bool(_)) => Value::Bool(!decides),
        _ => Value::Null,
    })
}

/// Text that is joined is no longer than a record may be.
fn join<'r>(a: Value<'r>, b: Value<'r>, budget: &Budget) -> Result<Value<'r>, Wrong> {
    let (a, b) = (a.into_text(), b.into_text());
    if a.len() + b.len() > RECORD_MAX {
        return Err(Wrong::Exceeded(Exceeded::Text));
    }
    let copied = if matches!(a, Cow::Owned(_)) { b.len() } else { a.len() + b.len() };
    budget.make(copied)?;
    Ok(Value::Text(a + b))
}

fn arithmetic<'r>(sign: &str, a: Value<'r>, b: Value<'r>, budget: &Budget) -> Result<Value<'r>, Wrong> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    if sign == "||" {
        return join(a, b, budget);
    }
    budget.look(a.size() + b.size())?;
    let number = |value: &Value<'_>| match value {
        Value::Text(text) => crate::value::number(text).ok_or(Wrong::Type),
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Float(number) => Ok(Value::Float(*number)),
        Value::Missing | Value::Null | Value::Bool(_) | Value::Time(_) | Value::Json(_) => Err(Wrong::Type),
    };
    let whole = match (number(&a)?, number(&b)?) {
        (Value::Int(a), Value::Int(b)) => match sign {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            "/" => a.checked_div(b),
            "%" => a.checked_rem(b),
            "&" => Some(a & b),
            _ => Some(a | b),
        },
        _ => None,
    };
    if let Some(whole) = whole {
        return Ok(Value::Int(whole));
    }
    match (a.to_float()?, b.to_float()?) {
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(match sign {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" if b != 0.0 => a / b,
            "%" if b != 0.0 => a % b,
            _ => return Err(Wrong::Type),
        })),
        _ => Ok(Value::Null),
    }
}

fn cast<'r>(value: Value<'r>, to: Type, budget: &Budget) -> Result<Value<'r>, Wrong> {
    budget.look(value.size())?;
    Ok(match to {
        Type::Int => value.to_int()?,
        Type::Float => value.to_float()?,
        Type::Bool => value.to_bool()?,
        Type::Time => value.to_time()?,
        Type::Text if value.is_null() => Value::Null,
        Type::Text if matches!(value, Value::Text(_)) => value,
        Type::Text => Value::Text(text(&value, budget)?.into_owned().into()),
    })
}

fn call<'r>(name: &str, mut arguments: Vec<Value<'r>>, scene: &Scene<'_>) -> Result<Value<'r>, Wrong> {
    let budget = scene.budget;
    if name == "COALESCE" {
        return Ok(arguments.into_iter().find(|value| !value.is_null()).unwrap_or(Value::Null));
    }
    if !matches!(name, "NULLIF" | "UTCNOW") && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    budget.look(arguments.iter().map(Value::size).sum())?;
    let made = |text: String| budget.make(text.len()).map(|()| Value::Text(text.into()));
    Ok(match (name, &mut arguments[..]) {
        ("NULLIF", [a, b]) => match compare(a, b, budget)? {
            Some(Ordering::Equal) => Value::Null,
            Some(_) | None => std::mem::replace(a, Value::Null),
        },
        ("CHAR_LENGTH" | "CHARACTER_LENGTH", [a, ..]) => {
            Value::Int(i64::try_from(text(a, budget)?.chars().count()).unwrap_or(i64::MAX))
        }
        ("LOWER", [a, ..]) => made(text(a, budget)?.to_lowercase())?,
        ("UPPER", [a, ..]) => made(text(a, budget)?.to_uppercase())?,
        ("SUBSTRING", [a, from, length @ ..]) => {
            let length = length.first().map_or(Ok(i64::MAX), |length| int(length))?.max(0);
            let (from, until) = (int(from)?, int(from)?.saturating_add(length));
            let inside = |at: usize| i64::try_from(at).is_ok_and(|at| at + 1 >= from && at + 1 < until);
            made(text(a, budget)?.chars().enumerate().filter(|(at, _)| inside(*at)).map(|(_, c)| c).collect())?
        }
        ("TRIM", arguments) => made(trim(arguments, budget)?)?,
        ("UTCNOW", _) => Value::Time(scene.now),
        ("TO_TIMESTAMP", [a, ..]) => Value::Time(time(a)?),
        ("TO_STRING", [a, ..]) => Value::Text(text(a, budget)?.into_owned().into()),
        ("EXTRACT", [part, a, ..]) => Value::Int(part_of(&part.to_text(), time(a)?).ok_or(Wrong::Type)?),
        ("DATE_ADD", [part, count, a, ..]) => {
            let ticks = span(&part.to_text()).ok_or(Wrong::Type)?.checked_mul(int(count)?).ok_or(Wrong::Type)?;
            let moved = i64::try_from(time(a)?.ticks()).ok().and_then(|time| time.checked_add(ticks));
            let moved = moved.and_then(|ticks| u64::try_from(ticks).ok()).ok_or(Wrong::Type)?;
            Value::Time(Timestamp::from_ticks(moved))
        }
        ("DATE_DIFF", [part, from, to, ..]) => {
            let ticks = |at: &Value<'_>| i64::try_from(time(at)?.ticks()).map_err(|_| Wrong::Type);
            Value::Int((ticks(to)? - ticks(from)?) / span(&part.to_text()).ok_or(Wrong::Type)?)
        }
        (known, _) if FUNCTIONS.contains(&known) => return Err(Wrong::Type),
        (other, _) => return Err(Wrong::NoFunction(other.to_owned())),
    })
}

/// Those that want arguments.
const FUNCTIONS: [&str; 11] = [
    "NULLIF",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "LOWER",
    "UPPER",
    "SUBSTRING",
    "TO_TIMESTAMP",
    "TO_STRING",
    "EXTRACT",
    "DATE_ADD",
    "DATE_DIFF",
];

fn int(value: &Value<'_>) -> Result<i64, Wrong> {
    let Value::Int(number) = value.to_int()? else { return Err(Wrong::Type) };
    Ok(number)
}

fn time(value: &Value<'_>) -> Result<Timestamp, Wrong> {
    let Value::Time(time) = value.to_time()? else { return Err(Wrong::Type) };
    Ok(time)
}

/// `TRIM(text)`, `TRIM('LEADING', text)`, `TRIM('LEADING', 'xy', text)`.
fn trim(arguments: &[Value<'_>], budget: &Budget) -> Result<String, Wrong> {
    let texts = arguments.iter().map(|value| text(value, budget)).collect::<Result<Vec<_>, _>>()?;
    let (side, rest) = match texts.first().map(Cow::as_ref) {
        Some(side @ ("LEADING" | "TRAILING" | "BOTH")) if texts.len() > 1 => (side, &texts[1..]),
        _ => ("BOTH", &texts[..]),
    };
    let (off, text) = match rest {
        [text] => (" ", text),
        [off, text] => (off.as_ref(), text),
        _ => return Err(Wrong::Type),
    };
    let off: HashSet<char> = off.chars().collect();
    let off = |c: char| off.contains(&c);
    let trimmed = match side {
        "LEADING" => text.trim_start_matches(off),
        "TRAILING" => text.trim_end_matches(off),
        _ => text.trim_matches(off),
    };
    Ok(trimmed.to_owned())
}

/// In ticks. Months and years have no one length, and are not added.
fn span(part: &str) -> Option<i64> {
    Some(match part {
        "SECOND" => TICKS_PER_SECOND,
        "MINUTE" => 60 * TICKS_PER_SECOND,
        "HOUR" => 3_600 * TICKS_PER_SECOND,
        "DAY" => 86_400 * TICKS_PER_SECOND,
        _ => return None,
    })
}

fn part_of(part: &str, time: Timestamp) -> Option<i64> {
    let text = time.to_iso();
    let range = match part {
        "YEAR" => 0..4,
        "MONTH" => 5..7,
        "DAY" => 8..10,
        "HOUR" => 11..13,
        "MINUTE" => 14..16,
        "SECOND" => 17..19,
        _ => return None,
    };
    text.get(range)?.parse().ok()
}

/// An aggregate under way.
#[derive(Clone, Debug)]
pub struct Gathered {
    kind: Aggregate,
    count: u64,
    value: Value<'static>,
}

impl Gathered {
    pub fn new(kind: Aggregate) -> Self {
        Self { kind, count: 0, value: Value::Null }
    }

    /// What it holds.
    pub fn size(&self) -> usize {
        self.value.size()
    }

    pub fn add(&mut self, value: Value<'_>, budget: &Budget) -> Result<(), Wrong> {
        if value.is_null() {
            return Ok(());
        }
        budget.look(value.size())?;
        let value = match (self.kind, value) {
            (Aggregate::Count, _) => {
                self.count += 1;
                return Ok(());
            }
            (Aggregate::Sum | Aggregate::Average, Value::Text(text)) => {
                crate::value::number(&text).ok_or(Wrong::Type)?
            }
            (Aggregate::Least | Aggregate::Greatest, Value::Text(text)) => {
                crate::value::number(&text).unwrap_or(Value::Text(text))
            }
            (_, value) => value,
        };
        self.count += 1;
        if self.value.is_null() {
            self.value = value.into_owned();
            return Ok(());
        }
        match self.kind {
            Aggregate::Count => {}
            Aggregate::Sum | Aggregate::Average => {
                self.value = arithmetic("+", self.value.clone(), value, budget)?.into_owned();
            }
            Aggregate::Least if compare(&value, &self.value, budget)? == Some(Ordering::Less) => {
                self.value = value.into_owned();
            }
            Aggregate::Greatest if compare(&value, &self.value, budget)? == Some(Ordering::Greater) => {
                self.value = value.into_owned();
            }
            Aggregate::Least | Aggregate::Greatest => {}
        }
        Ok(())
    }

    pub fn value(&self) -> Value<'static> {
        match self.kind {
            Aggregate::Count => Value::Int(i64::try_from(self.count).unwrap_or(i64::MAX)),
            Aggregate::Average => match self.value.to_float() {
                Ok(Value::Float(sum)) => Value::Float(sum / self.count as f64),
                Ok(_) | Err(_) => Value::Null,
            },
            Aggregate::Sum | Aggregate::Least | Aggregate::Greatest => self.value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{self, What};

    struct Fields(Vec<&'static str>);

    impl Record for Fields {
        fn get(&self, path: &[Step], _: &Budget) -> Result<Value<'_>, Absent> {
            let [Step::Name(name)] = path else { return Ok(Value::Missing) };
            let at: usize = name.trim_start_matches('_').parse().map_err(|_| Absent::Column)?;
            self.0.get(at - 1).map(|text| Value::Text((*text).into())).ok_or(Absent::Column)
        }
    }

    fn budget() -> Budget {
        let budget = Budget::default();
        budget.begin_record();
        budget
    }

    fn value_in(expression: &str, fields: Vec<&'static str>) -> Result<Value<'static>, Wrong> {
        let select = sql::parse(&format!("SELECT {expression} FROM BlobStorage")).expect(expression);
        let What::Columns(columns) = select.what else { panic!("columns") };
        let named = Columns::of(columns.iter().map(|column| &column.expression));
        let now = Timestamp::parse_iso("2022-08-10T22:27:14Z").expect("a time");
        let scene = Scene { columns: &named, now, budget: &budget() };
        evaluate(&columns[0].expression, &Fields(fields), &scene).map(Value::into_owned)
    }

    fn value(expression: &str) -> Result<Value<'static>, Wrong> {
        value_in(expression, vec!["100", "abc", " x ", "2020-01-02T03:04:05Z"])
    }

    #[test]
    fn expressions_come_to_values() {
        let text = |text: &'static str| Value::Text(text.into());
        for (expression, expected) in [
            ("_1 > 250", Value::Bool(false)),
            ("_1 = '100'", Value::Bool(true)),
            ("_1 + 1", Value::Int(101)),
            ("_1 / 8.0", Value::Float(12.5)),
            ("1 + 2 * 3 - -4", Value::Int(11)),
            ("_2 LIKE 'a%c'", Value::Bool(true)),
            ("_2 LIKE '%b_'", Value::Bool(true)),
            ("_2 NOT LIKE 'b%'", Value::Bool(true)),
            ("'50%' LIKE '50!%' ESCAPE '!'", Value::Bool(true)),
            ("'500' LIKE '50!%' ESCAPE '!'", Value::Bool(false)),
            ("_1 BETWEEN 1 AND 100", Value::Bool(true)),
            ("_1 IN (1, 100)", Value::Bool(true)),
            ("NULL IS NULL AND NOT FALSE", Value::Bool(true)),
            ("NULL = 1", Value::Null),
            ("NULL AND FALSE", Value::Bool(false)),
            ("NULL OR TRUE", Value::Bool(true)),
            ("CAST(_1 AS FLOAT)", Value::Float(100.0)),
            ("CAST('1.9' AS INT)", Value::Int(1)),
            ("UPPER(_2)", text("ABC")),
            ("SUBSTRING(_2, 2, 1)", text("b")),
            ("SUBSTRING(_2 FROM 2)", text("bc")),
            ("TRIM(_3)", text("x")),
            ("TRIM(LEADING 'a' FROM _2)", text("bc")),
            ("CHAR_LENGTH(_2)", Value::Int(3)),
            ("EXTRACT(YEAR FROM CAST(_4 AS TIMESTAMP))", Value::Int(2020)),
            ("DATE_DIFF(day, '2020-01-01', '2020-01-31')", Value::Int(30)),
            ("TO_STRING(DATE_ADD(hour, 1, _4))", text("2020-01-02T04:04:05.0000000Z")),
            ("COALESCE(NULL, _2)", text("abc")),
            ("9223372036854775807 + 1", Value::Float(9_223_372_036_854_775_808.0)),
        ] {
            assert_eq!(value(expression), Ok(expected), "{expression}");
        }
        assert_eq!(value("_2 + _9"), Err(Wrong::NoColumn(1)));
        assert_eq!(value("_2 > 1"), Err(Wrong::Type));
        assert_eq!(value("1 / 0"), Err(Wrong::Type));
        assert_eq!(value("WIZARD(1)"), Err(Wrong::NoFunction("WIZARD".into())));
    }

    /// C3: whatever an expression multiplies, a record has its bound; and what was n·m is not.
    #[test]
    fn no_expression_multiplies_a_record() {
        let long: &'static str = Box::leak("x".repeat(RECORD_MAX).into_boxed_str());
        let many = |times: usize, sign: &str| format!("_1{}", format!("{sign}_1").repeat(times));
        let too_long = Err(Wrong::Exceeded(Exceeded::Text));
        assert_eq!(value_in(&many(200, "||"), vec![long]), too_long);
        let first = value_in(&format!("COALESCE({})", many(5_000, ",")), vec![long]);
        assert!(first.is_ok_and(|first| first.size() == long.len()));
        let lower = format!("COALESCE({})", vec!["LOWER(_1)"; 5_000].join(","));
        assert_eq!(value_in(&lower, vec![long]), too_long);
        assert_eq!(value_in("CHAR_LENGTH(TRIM(BOTH _1 FROM _1))", vec![long]), Ok(Value::Int(0)));
        let wide = format!("1 IN ({})", vec!["CAST(_1 AS INT)"; 5_000].join(","));
        let blank: &'static str = Box::leak(format!("{}1", " ".repeat(RECORD_MAX - 1)).into_boxed_str());
        assert_eq!(value_in(&wide, vec![blank]), Err(Wrong::Exceeded(Exceeded::Steps)));
    }

    #[test]
    fn aggregates_gather() {
        for (kind, expected) in [
            (Aggregate::Count, Value::Int(3)),
            (Aggregate::Sum, Value::Int(6)),
            (Aggregate::Average, Value::Float(2.0)),
            (Aggregate::Least, Value::Int(1)),
            (Aggregate::Greatest, Value::Int(3)),
        ] {
            let mut gathered = Gathered::new(kind);
            for text in ["2", "3", "1"] {
                gathered.add(Value::Text(text.into()), &budget()).unwrap();
            }
            gathered.add(Value::Null, &budget()).unwrap();
            assert_eq!(gathered.value(), expected, "{kind:?}");
        }
        assert_eq!(Gathered::new(Aggregate::Sum).value(), Value::Null);
    }
}
