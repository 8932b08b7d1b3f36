//! From words to a tree: `or` of `and`s of comparisons, `not` and parentheses. What the service does not implement (functions,
//! null, two properties in one comparison) is said to be so, instead of being a syntax error.

use super::super::{Refused, Value};
use super::lexer::{Lexer, Token};
use super::{Expression, Operator, invalid};
use crate::Refusal;
use crate::depth::{self, Depth};

pub(super) fn parse(text: &str) -> Result<Expression, Refusal> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser { lexer, token, depth: depth::FILTER };
    let whole = parser.any()?;
    if parser.token == Token::End { Ok(whole) } else { Err(parser.lexer.syntax_error()) }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    depth: Depth,
}

/// One side of a comparison, or all there is.
enum Side {
    Property(String),
    Literal(Value),
    Whole(Expression),
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, Refusal> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn any(&mut self) -> Result<Expression, Refusal> {
        let mut parts = vec![self.all()?];
        while self.token == Token::Or {
            self.advance()?;
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, Refusal> {
        let mut parts = vec![self.negated()?];
        while self.token == Token::And {
            self.advance()?;
            parts.push(self.negated()?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn negated(&mut self) -> Result<Expression, Refusal> {
        if self.token != Token::Not {
            return self.comparison();
        }
        self.advance()?;
        self.deeper(|parser| Ok(Expression::Not(Box::new(parser.negated()?))))
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> Result<Expression, Refusal>) -> Result<Expression, Refusal> {
        let here = self.depth;
        self.depth = here.deeper().ok_or_else(|| invalid("Recursion depth exceeded allowed limit.".into()))?;
        let expression = inside(self);
        self.depth = here;
        expression
    }

    fn comparison(&mut self) -> Result<Expression, Refusal> {
        let left = self.side()?;
        let Token::Operator(operator) = self.token else { return self.alone(left) };
        self.advance()?;
        let right = self.side()?;
        match (left, right) {
            (Side::Property(property), Side::Literal(value)) => Ok(Expression::Compare { property, operator, value }),
            (Side::Literal(value), Side::Property(property)) => {
                Ok(Expression::Compare { property, operator: operator.flipped(), value })
            }
            (Side::Literal(left), Side::Literal(right)) => {
                let order = left.seen().compare(right.seen());
                Ok(Expression::Constant(order.is_some_and(|order| operator.holds(order))))
            }
            (Side::Whole(inner), Side::Literal(Value::Boolean(value)))
            | (Side::Literal(Value::Boolean(value)), Side::Whole(inner)) => match operator {
                Operator::Equal if value => Ok(inner),
                Operator::NotEqual if !value => Ok(inner),
                Operator::Equal | Operator::NotEqual => Ok(Expression::Not(Box::new(inner))),
                Operator::Greater | Operator::GreaterOrEqual | Operator::Less | Operator::LessOrEqual => {
                    Err(Refused::NotImplemented.into())
                }
            },
            (Side::Property(_) | Side::Literal(_) | Side::Whole(_), Side::Property(_) | Side::Whole(_))
            | (Side::Whole(_), Side::Literal(_)) => Err(Refused::NotImplemented.into()),
        }
    }

    fn alone(&self, side: Side) -> Result<Expression, Refusal> {
        match side {
            Side::Property(name) => Ok(Expression::Flag(name)),
            Side::Whole(expression) => Ok(expression),
            Side::Literal(Value::Boolean(value)) => Ok(Expression::Constant(value)),
            Side::Literal(_) => Err(self.lexer.syntax_error()),
        }
    }

    fn side(&mut self) -> Result<Side, Refusal> {
        match &self.token {
            Token::Open => {
                self.advance()?;
                let inner = self.deeper(Self::any)?;
                if self.token != Token::Close {
                    return Err(self.lexer.syntax_error());
                }
                self.advance()?;
                Ok(match inner {
                    // Parentheses around one side mean nothing.
                    Expression::Flag(name) => Side::Property(name),
                    Expression::Compare { .. } | Expression::Constant(_) | Expression::Not(_) => Side::Whole(inner),
                    Expression::All(_) | Expression::Any(_) => Side::Whole(inner),
                })
            }
            Token::Name(_) | Token::Literal(_) => match self.advance()? {
                Token::Name(name) => Ok(Side::Property(name)),
                Token::Literal(value) => Ok(Side::Literal(value)),
                Token::Open | Token::Close | Token::Comma | Token::And | Token::Or | Token::Not => {
                    Err(self.lexer.syntax_error())
                }
                Token::Operator(_) | Token::Null | Token::Function | Token::End => Err(self.lexer.syntax_error()),
            },
            Token::Function | Token::Null => Err(Refused::NotImplemented.into()),
            Token::Close | Token::Comma | Token::And | Token::Or | Token::Not | Token::Operator(_) | Token::End => {
                Err(self.lexer.syntax_error())
            }
        }
    }
}

fn one_or(mut parts: Vec<Expression>, several: impl FnOnce(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 { parts.remove(0) } else { several(parts) }
}
