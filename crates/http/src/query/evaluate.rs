//! What an expression comes to for a record; and what aggregates come to over all of them.

use std::cmp::Ordering;

use lazuli_model::Timestamp;

use super::sql::{Aggregate, Expression, Step, Type, each_inner};
use super::value::{BadType, Value};

const TICKS_PER_SECOND: i64 = 10_000_000;

/// A record, by the names and places of its fields.
pub trait Record {
    /// The value at a path. `Err` is the ordinal of a column that this record is too short for.
    fn get(&self, path: &[Step]) -> Result<Value, Absent>;
}

/// The record has not that many columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Which of the columns that the query names.
    NoColumn(usize),
    Type,
    NoFunction(String),
}

impl From<BadType> for Wrong {
    fn from(_: BadType) -> Self {
        Wrong::Type
    }
}

/// What expressions need besides the record.
pub struct Scene<'a> {
    /// The columns that the query names, in order: errors count them.
    pub columns: &'a [Vec<Step>],
    pub now: Timestamp,
}

pub fn evaluate(expression: &Expression, record: &dyn Record, scene: &Scene<'_>) -> Result<Value, Wrong> {
    let of = |inner: &Expression| evaluate(inner, record, scene);
    Ok(match expression {
        Expression::Null => Value::Null,
        Expression::Bool(value) => Value::Bool(*value),
        Expression::Int(number) => Value::Int(*number),
        Expression::Float(number) => Value::Float(*number),
        Expression::Text(text) => Value::Text(text.clone()),
        Expression::Path(path) => record.get(path).map_err(|Absent| {
            Wrong::NoColumn(scene.columns.iter().position(|column| column == path).unwrap_or_default())
        })?,
        Expression::Unary("NOT", inner) => match of(inner)?.to_bool()? {
            Value::Bool(value) => Value::Bool(!value),
            other => other,
        },
        Expression::Unary(_, inner) => arithmetic("-", Value::Int(0), of(inner)?)?,
        Expression::Binary("AND", a, b) => both(of(a)?, || of(b), false)?,
        Expression::Binary("OR", a, b) => both(of(a)?, || of(b), true)?,
        Expression::Binary(sign @ ("=" | "<>" | "<" | "<=" | ">" | ">="), a, b) => {
            of(a)?.compare(&of(b)?)?.map_or(Value::Null, |order| Value::Bool(holds(sign, order)))
        }
        Expression::Binary(sign, a, b) => arithmetic(sign, of(a)?, of(b)?)?,
        Expression::IsNull(inner) => Value::Bool(of(inner)?.is_null()),
        Expression::In(inner, among) => {
            let value = of(inner)?;
            let mut found = false;
            for one in among {
                found |= value.compare(&of(one)?)? == Some(Ordering::Equal);
            }
            if value.is_null() { Value::Null } else { Value::Bool(found) }
        }
        Expression::Between(inner, low, high) => {
            let value = of(inner)?;
            match (value.compare(&of(low)?)?, value.compare(&of(high)?)?) {
                (Some(low), Some(high)) => Value::Bool(low != Ordering::Less && high != Ordering::Greater),
                (None, _) | (_, None) => Value::Null,
            }
        }
        Expression::Like(inner, pattern, escape) => match (of(inner)?, of(pattern)?) {
            (value, pattern) if value.is_null() || pattern.is_null() => Value::Null,
            (value, pattern) => Value::Bool(like(&value.to_text(), &pattern.to_text(), *escape)),
        },
        Expression::Cast(inner, to) => cast(of(inner)?, *to)?,
        Expression::Call(name, arguments) => {
            let arguments = arguments.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            call(name, &arguments, scene.now)?
        }
        // Their values are put in by whoever gathers them.
        Expression::Aggregate(..) => Value::Null,
    })
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
fn both(a: Value, b: impl FnOnce() -> Result<Value, Wrong>, decides: bool) -> Result<Value, Wrong> {
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

fn arithmetic(sign: &str, a: Value, b: Value) -> Result<Value, Wrong> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    if sign == "||" {
        return Ok(Value::Text(a.to_text() + &b.to_text()));
    }
    let number = |value: &Value| match value {
        Value::Text(text) => super::value::number(text).ok_or(Wrong::Type),
        Value::Int(_) | Value::Float(_) => Ok(value.clone()),
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

fn cast(value: Value, to: Type) -> Result<Value, Wrong> {
    Ok(match to {
        Type::Int => value.to_int()?,
        Type::Float => value.to_float()?,
        Type::Bool => value.to_bool()?,
        Type::Time => value.to_time()?,
        Type::Text if value.is_null() => Value::Null,
        Type::Text => Value::Text(value.to_text()),
    })
}

/// `%` is anything, `_` one character. Without backtracking over more than the last `%`.
fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    enum Part {
        Any,
        One,
        Is(char),
    }
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            c if Some(c) == escape => Part::Is(chars.next().unwrap_or(c)),
            '%' => Part::Any,
            '_' => Part::One,
            c => Part::Is(c),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part, mut back) = (0, 0, None);
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                back = Some((part, at));
                part += 1;
            }
            Some(Part::One) => (at, part) = (at + 1, part + 1),
            Some(Part::Is(c)) if *c == text[at] => (at, part) = (at + 1, part + 1),
            Some(Part::Is(_)) | None => match back {
                Some((any, from)) => {
                    back = Some((any, from + 1));
                    (at, part) = (from + 1, any + 1);
                }
                None => return false,
            },
        }
    }
    parts[part..].iter().all(|part| matches!(part, Part::Any))
}

fn call(name: &str, arguments: &[Value], now: Timestamp) -> Result<Value, Wrong> {
    let text = |at: usize| arguments.get(at).map(Value::to_text).ok_or(Wrong::Type);
    let int = |at: usize| match arguments.get(at).ok_or(Wrong::Type)?.to_int()? {
        Value::Int(number) => Ok(number),
        _ => Err(Wrong::Type),
    };
    let time = |at: usize| match arguments.get(at).ok_or(Wrong::Type)?.to_time()? {
        Value::Time(time) => Ok(time),
        _ => Err(Wrong::Type),
    };
    if !matches!(name, "COALESCE" | "NULLIF" | "UTCNOW") && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    Ok(match name {
        "COALESCE" => arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null),
        "NULLIF" => match arguments {
            [a, b] if a.compare(b)? == Some(Ordering::Equal) => Value::Null,
            [a, _] => a.clone(),
            _ => return Err(Wrong::Type),
        },
        "CHAR_LENGTH" | "CHARACTER_LENGTH" => Value::Int(i64::try_from(text(0)?.chars().count()).unwrap_or(i64::MAX)),
        "LOWER" => Value::Text(text(0)?.to_lowercase()),
        "UPPER" => Value::Text(text(0)?.to_uppercase()),
        "SUBSTRING" => {
            let length = if arguments.len() > 2 { int(2)?.max(0) } else { i64::MAX };
            let (from, until) = (int(1)?, int(1)?.saturating_add(length));
            let inside = |at: usize| i64::try_from(at).is_ok_and(|at| at + 1 >= from && at + 1 < until);
            Value::Text(text(0)?.chars().enumerate().filter(|(at, _)| inside(*at)).map(|(_, c)| c).collect())
        }
        "TRIM" => Value::Text(trim(arguments)?),
        "UTCNOW" => Value::Time(now),
        "TO_TIMESTAMP" => Value::Time(time(0)?),
        "TO_STRING" => Value::Text(text(0)?),
        "EXTRACT" => Value::Int(part_of(&text(0)?, time(1)?).ok_or(Wrong::Type)?),
        "DATE_ADD" => {
            let ticks = span(&text(0)?).ok_or(Wrong::Type)?.checked_mul(int(1)?).ok_or(Wrong::Type)?;
            let moved =
                i64::try_from(time(2)?.ticks()).ok().and_then(|time| time.checked_add(ticks)).ok_or(Wrong::Type)?;
            Value::Time(Timestamp::from_ticks(u64::try_from(moved).map_err(|_| Wrong::Type)?))
        }
        "DATE_DIFF" => {
            let ticks = |at: usize| i64::try_from(time(at)?.ticks()).map_err(|_| Wrong::Type);
            Value::Int((ticks(2)? - ticks(1)?) / span(&text(0)?).ok_or(Wrong::Type)?)
        }
        other => return Err(Wrong::NoFunction(other.to_owned())),
    })
}

/// `TRIM(text)`, `TRIM('LEADING', text)`, `TRIM('LEADING', 'xy', text)`.
fn trim(arguments: &[Value]) -> Result<String, Wrong> {
    let texts: Vec<String> = arguments.iter().map(Value::to_text).collect();
    let (side, rest) = match texts.first().map(String::as_str) {
        Some(side @ ("LEADING" | "TRAILING" | "BOTH")) if texts.len() > 1 => (side, &texts[1..]),
        _ => ("BOTH", &texts[..]),
    };
    let (off, text) = match rest {
        [text] => (" ", text),
        [off, text] => (off.as_str(), text),
        _ => return Err(Wrong::Type),
    };
    let off = |c: char| off.contains(c);
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

/// The columns that expressions name, each once, in order.
pub fn columns_of<'a>(expressions: impl Iterator<Item = &'a Expression>) -> Vec<Vec<Step>> {
    fn gather(expression: &Expression, columns: &mut Vec<Vec<Step>>) {
        if let Expression::Path(path) = expression
            && !columns.contains(path)
        {
            columns.push(path.clone());
        }
        let mut inner = Vec::new();
        each_inner(expression, &mut |one| inner.push(one));
        inner.into_iter().for_each(|one| gather(one, columns));
    }
    let mut columns = Vec::new();
    expressions.for_each(|expression| gather(expression, &mut columns));
    columns
}

/// An aggregate under way.
#[derive(Clone, Debug)]
pub struct Gathered {
    kind: Aggregate,
    count: u64,
    value: Value,
}

impl Gathered {
    pub fn new(kind: Aggregate) -> Self {
        Self { kind, count: 0, value: Value::Null }
    }

    pub fn add(&mut self, value: Value) -> Result<(), Wrong> {
        if value.is_null() {
            return Ok(());
        }
        let value = match (self.kind, value) {
            (Aggregate::Count, _) => {
                self.count += 1;
                return Ok(());
            }
            (Aggregate::Sum | Aggregate::Average, Value::Text(text)) => {
                super::value::number(&text).ok_or(Wrong::Type)?
            }
            (Aggregate::Least | Aggregate::Greatest, Value::Text(text)) => {
                super::value::number(&text).unwrap_or(Value::Text(text))
            }
            (_, value) => value,
        };
        self.count += 1;
        if self.value.is_null() {
            self.value = value;
            return Ok(());
        }
        match self.kind {
            Aggregate::Count => {}
            Aggregate::Sum | Aggregate::Average => self.value = arithmetic("+", self.value.clone(), value)?,
            Aggregate::Least if value.compare(&self.value)? == Some(Ordering::Less) => self.value = value,
            Aggregate::Greatest if value.compare(&self.value)? == Some(Ordering::Greater) => self.value = value,
            Aggregate::Least | Aggregate::Greatest => {}
        }
        Ok(())
    }

    pub fn value(&self) -> Value {
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
    use crate::query::sql::{self, What};

    struct Fields(Vec<&'static str>);

    impl Record for Fields {
        fn get(&self, path: &[Step]) -> Result<Value, Absent> {
            let [Step::Name(name)] = path else { return Ok(Value::Missing) };
            let at: usize = name.trim_start_matches('_').parse().map_err(|_| Absent)?;
            self.0.get(at - 1).map(|text| Value::Text((*text).into())).ok_or(Absent)
        }
    }

    fn value(expression: &str) -> Result<Value, Wrong> {
        let select = sql::parse(&format!("SELECT {expression} FROM BlobStorage")).expect(expression);
        let What::Columns(columns) = select.what else { panic!("columns") };
        let named = columns_of(columns.iter().map(|column| &column.expression));
        let scene = Scene { columns: &named, now: Timestamp::parse_iso("2022-08-10T22:27:14Z").expect("a time") };
        evaluate(&columns[0].expression, &Fields(vec!["100", "abc", " x ", "2020-01-02T03:04:05Z"]), &scene)
    }

    #[test]
    fn expressions_come_to_values() {
        let text = |text: &str| Value::Text(text.into());
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
                gathered.add(Value::Text(text.into())).unwrap();
            }
            gathered.add(Value::Null).unwrap();
            assert_eq!(gathered.value(), expected, "{kind:?}");
        }
        assert_eq!(Gathered::new(Aggregate::Sum).value(), Value::Null);
    }
}
