//! Where in a table the entities can be that a filter wants. What a filter says of the keys becomes a few spans of the table, also through
//! `or`; the rest of it is judged on what is found there.
//!
//! Held true: an entity that the filter wants is in one of the spans. The other way round need not be.

use std::ops::Bound;

use super::filter::{Expression, Filter, Operator};
use super::{Value, Within};

/// More alternatives than this are not kept apart.
const BOXES_MAX: usize = 128;

/// A part of a table: rows of one partition, or whole partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    Rows { partition: String, from: Bound<String>, to: Bound<String> },
    Partitions { from: Bound<String>, to: Bound<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(Vec<Span>);

impl Plan {
    pub fn of(filter: Option<&Filter>, within: &Within) -> Self {
        let allowed = Area::of(within);
        let wanted = filter.map_or_else(|| vec![Area::everything()], |filter| boxes(filter.expression()));
        let spans = wanted.into_iter().filter_map(|wanted| wanted.and(&allowed)).map(Area::span);
        Self(spans.collect())
    }

    /// In no order, and they may overlap.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// The values that a property must have one of, if the filter says so.
    pub fn names(filter: &Filter, property: &str) -> Option<Vec<String>> {
        fn names(expression: &Expression, wanted: &str) -> Option<Vec<String>> {
            match expression {
                Expression::Compare { property, operator: Operator::Equal, value: Value::String(text) }
                    if property == wanted =>
                {
                    Some(vec![text.clone()])
                }
                Expression::All(parts) => parts.iter().find_map(|part| names(part, wanted)),
                Expression::Any(parts) => {
                    let each: Option<Vec<Vec<String>>> = parts.iter().map(|part| names(part, wanted)).collect();
                    each.map(|each| each.concat()).filter(|all| all.len() <= BOXES_MAX)
                }
                Expression::Compare { .. } | Expression::Flag(_) | Expression::Constant(_) | Expression::Not(_) => None,
            }
        }
        names(filter.expression(), property)
    }
}

/// From where to where, both of which may be nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    from: Bound<String>,
    to: Bound<String>,
}

/// Partitions and rows: a rectangle of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Area {
    partitions: Range,
    rows: Range,
}

impl Range {
    const ALL: Range = Range { from: Bound::Unbounded, to: Bound::Unbounded };

    fn of(operator: Operator, value: &str) -> Self {
        let value = value.to_owned();
        match operator {
            Operator::Equal => Self { from: Bound::Included(value.clone()), to: Bound::Included(value) },
            Operator::NotEqual => Self::ALL,
            Operator::Greater => Self { from: Bound::Excluded(value), to: Bound::Unbounded },
            Operator::GreaterOrEqual => Self { from: Bound::Included(value), to: Bound::Unbounded },
            Operator::Less => Self { from: Bound::Unbounded, to: Bound::Excluded(value) },
            Operator::LessOrEqual => Self { from: Bound::Unbounded, to: Bound::Included(value) },
        }
    }

    /// `None` when nothing is in both.
    fn and(&self, other: &Self) -> Option<Self> {
        use Bound::*;
        let from = match (&self.from, &other.from) {
            (Unbounded, bound) | (bound, Unbounded) => bound.clone(),
            (Included(one), Included(other)) => Included(one.max(other).clone()),
            (Excluded(one), Excluded(other)) => Excluded(one.max(other).clone()),
            (Included(open), Excluded(shut)) | (Excluded(shut), Included(open)) => {
                if open > shut {
                    Included(open.clone())
                } else {
                    Excluded(shut.clone())
                }
            }
        };
        let to = match (&self.to, &other.to) {
            (Unbounded, bound) | (bound, Unbounded) => bound.clone(),
            (Included(one), Included(other)) => Included(one.min(other).clone()),
            (Excluded(one), Excluded(other)) => Excluded(one.min(other).clone()),
            (Included(open), Excluded(shut)) | (Excluded(shut), Included(open)) => {
                if open < shut {
                    Included(open.clone())
                } else {
                    Excluded(shut.clone())
                }
            }
        };
        let empty = match (&from, &to) {
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Excluded(to)) | (Excluded(from), Included(to)) => from >= to,
            (Unbounded, _) | (_, Unbounded) => false,
        };
        (!empty).then_some(Self { from, to })
    }

    fn single(&self) -> Option<&String> {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => Some(from),
            _ => None,
        }
    }
}

impl Area {
    fn everything() -> Self {
        Self { partitions: Range::ALL, rows: Range::ALL }
    }

    fn of(within: &Within) -> Self {
        let bound = |edge: &Option<(String, Option<String>)>| match edge {
            Some((partition, _)) => Bound::Included(partition.clone()),
            None => Bound::Unbounded,
        };
        let partitions = Range { from: bound(&within.from), to: bound(&within.to) };
        let row = |edge: &Option<(String, Option<String>)>| match edge {
            Some((_, Some(row))) => Bound::Included(row.clone()),
            Some((_, None)) | None => Bound::Unbounded,
        };
        // Rows bound a span only where it is of one partition.
        let rows = match partitions.single() {
            Some(_) => Range { from: row(&within.from), to: row(&within.to) },
            None => Range::ALL,
        };
        Self { partitions, rows }
    }

    fn and(&self, other: &Self) -> Option<Self> {
        Some(Self { partitions: self.partitions.and(&other.partitions)?, rows: self.rows.and(&other.rows)? })
    }

    fn span(self) -> Span {
        match self.partitions.single() {
            Some(partition) => {
                Span::Rows { partition: partition.clone(), from: self.rows.from.clone(), to: self.rows.to.clone() }
            }
            None => Span::Partitions { from: self.partitions.from, to: self.partitions.to },
        }
    }
}

fn boxes(expression: &Expression) -> Vec<Area> {
    match expression {
        Expression::Compare { property, operator, value: Value::String(text) } if property == "PartitionKey" => {
            vec![Area { partitions: Range::of(*operator, text), rows: Range::ALL }]
        }
        Expression::Compare { property, operator, value: Value::String(text) } if property == "RowKey" => {
            vec![Area { partitions: Range::ALL, rows: Range::of(*operator, text) }]
        }
        Expression::Constant(false) => Vec::new(),
        Expression::Compare { .. } | Expression::Flag(_) | Expression::Constant(true) => vec![Area::everything()],
        // What a `not` excludes is seldom a range.
        Expression::Not(_) => vec![Area::everything()],
        Expression::All(parts) => parts.iter().map(boxes).fold(vec![Area::everything()], |sofar, next| {
            if sofar.len() * next.len() > BOXES_MAX {
                return if sofar.len() <= next.len() { sofar } else { next };
            }
            sofar.iter().flat_map(|one| next.iter().filter_map(|other| one.and(other))).collect()
        }),
        Expression::Any(parts) => {
            let all: Vec<Area> = parts.iter().flat_map(boxes).collect();
            if all.len() > BOXES_MAX { vec![Area::everything()] } else { all }
        }
    }
}
