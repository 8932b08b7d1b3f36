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
}

fn invalid(message: String) -> Refusal {
    Refused::InvalidInput(message.into()).into()
}
