//! `$filter`: what entities a query wants. Read into a tree whose depth is bounded, so that neither reading nor judging can run
//! out of stack; judged on an entity in place.
//!
//! A comparison with a property that is missing, or of another type, does not hold, whatever the operator. So
//! `not (a eq 1)` holds for an entity without `a`, and `a ne 1` does not.

mod lexer;
mod parser;

use std::cmp::Ordering;

use super::{Refused, Seen, Value};
use crate::Refusal;

/// What a filter looks into.
pub trait Fields {
    fn field(&self, name: &str) -> Option<Seen<'_>>;
}

/// What is known of a property of several entities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent<'a> {
    Anything,
    /// None of them has it.
    Absent,
    /// Those that have it have it between these two, and of a type that compares with them.
    Between(Seen<'a>, Seen<'a>),
}

/// Several entities, of which a filter is asked whether it can hold for any.
pub trait Extents {
    fn extent(&self, name: &str) -> Extent<'_>;
    /// False only if none of them has this value of it.
    fn may_have(&self, name: &str, value: Seen<'_>) -> bool;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
        }
    }

    /// Whether it can hold for something between the two whose order with the other side is this.
    fn can_hold(self, least: Ordering, greatest: Ordering) -> bool {
        match self {
            Operator::Equal => least.is_le() && greatest.is_ge(),
            Operator::NotEqual => least.is_ne() || greatest.is_ne(),
            Operator::Greater => greatest.is_gt(),
            Operator::GreaterOrEqual => greatest.is_ge(),
            Operator::Less => least.is_lt(),
            Operator::LessOrEqual => least.is_le(),
        }
    }

    /// The same with its sides exchanged.
    fn flipped(self) -> Self {
        match self {
            Operator::Equal | Operator::NotEqual => self,
            Operator::Greater => Operator::Less,
            Operator::GreaterOrEqual => Operator::LessOrEqual,
            Operator::Less => Operator::Greater,
            Operator::LessOrEqual => Operator::GreaterOrEqual,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Compare {
        property: String,
        operator: Operator,
        value: Value,
    },
    /// A property that stands alone: it must be true.
    Flag(String),
    Constant(bool),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Expression);

impl Filter {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        parser::parse(text).map(Self)
    }

    pub fn expression(&self) -> &Expression {
        &self.0
    }

    pub fn holds(&self, fields: &impl Fields) -> bool {
        self.0.holds(fields)
    }

    /// How many comparisons it has, which is what a look at an entity costs.
    pub fn comparisons(&self) -> usize {
        self.0.comparisons()
    }

    /// False only if it holds for none of them.
    pub fn can_hold(&self, entities: &impl Extents) -> bool {
        self.0.can_hold(entities)
    }
}

impl Expression {
    fn holds(&self, fields: &impl Fields) -> bool {
        match self {
            Expression::Compare { property, operator, value } => fields
                .field(property)
                .and_then(|found| found.compare(value.seen()))
                .is_some_and(|order| operator.holds(order)),
            Expression::Flag(property) => fields.field(property) == Some(Seen::Boolean(true)),
            Expression::Constant(value) => *value,
            Expression::Not(inner) => !inner.holds(fields),
            Expression::All(parts) => parts.iter().all(|part| part.holds(fields)),
            Expression::Any(parts) => parts.iter().any(|part| part.holds(fields)),
        }
    }

    fn comparisons(&self) -> usize {
        match self {
            Expression::Compare { .. } | Expression::Flag(_) | Expression::Constant(_) => 1,
            Expression::Not(inner) => inner.comparisons(),
            Expression::All(parts) | Expression::Any(parts) => parts.iter().map(Expression::comparisons).sum(),
        }
    }

    fn can_hold(&self, entities: &impl Extents) -> bool {
        match self {
            Expression::Compare { property, operator, value } => {
                let is_within = match entities.extent(property) {
                    Extent::Anything => true,
                    Extent::Absent => false,
                    Extent::Between(least, greatest) => {
                        let orders = least.compare(value.seen()).zip(greatest.compare(value.seen()));
                        orders.is_some_and(|(least, greatest)| operator.can_hold(least, greatest))
                    }
                };
                is_within && (*operator != Operator::Equal || entities.may_have(property, value.seen()))
            }
            Expression::Flag(property) => match entities.extent(property) {
                Extent::Anything => true,
                Extent::Absent => false,
                Extent::Between(_, greatest) => greatest == Seen::Boolean(true),
            },
            Expression::Constant(value) => *value,
            // It holds where the inner one does not, which is not known here.
            Expression::Not(_) => true,
            Expression::All(parts) => parts.iter().all(|part| part.can_hold(entities)),
            Expression::Any(parts) => parts.iter().any(|part| part.can_hold(entities)),
        }
    }
}

fn invalid(message: String) -> Refusal {
    Refused::InvalidInput(message.into()).into()
}
