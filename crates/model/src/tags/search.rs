//! The expression of Find Blobs by Tags: comparisons joined by AND, one of which may name the container.
//!
//! ```text
//! where = one *("AND" one)
//! one   = name ("=" / ">" / ">=" / "<" / "<=") value / "@container" "=" value
//! ```

use std::collections::BTreeMap;

use super::predicate::{Operator, Parser};
use crate::{Refusal, Tags};

/// Comparisons of one expression.
const COMPARISONS_MAX: usize = 20;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSearch {
    pub container: Option<String>,
    /// At least one, by the name of the tag.
    tags: BTreeMap<String, Span>,
    /// Two containers at once: nothing is in both.
    impossible: bool,
}

/// The values that all comparisons with one tag admit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    least: Option<Bound>,
    most: Option<Bound>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    value: String,
    inclusive: bool,
}

impl TagSearch {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut parser = Parser::new(text);
        read(&mut parser).filter(|_| parser.is_done()).filter(|search| !search.tags.is_empty()).ok_or_else(|| {
            let at = text.len() - parser.rest().len() + 1;
            Refusal::InvalidQueryParameterValue {
                name: "where".into(),
                value: text.to_owned(),
                reason: format!("Error parsing query at or near character position {at}").into(),
            }
        })
    }

    /// The tags that are compared, in order of name.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &Span)> {
        self.tags.iter().map(|(name, span)| (name.as_str(), span))
    }

    pub fn matches(&self, tags: &Tags) -> bool {
        !self.impossible && self.tags().all(|(name, span)| tags.get(name).is_some_and(|value| span.admits(value)))
    }

    /// Of a blob's tags, those that were compared.
    pub fn shown<'a>(&self, tags: &'a Tags) -> Vec<(&'a str, &'a str)> {
        tags.iter().filter(|(name, _)| self.tags.contains_key(*name)).collect()
    }

    /// Whether no tags at all could match.
    pub fn is_impossible(&self) -> bool {
        self.impossible || self.tags.values().any(Span::is_empty)
    }
}

fn read(parser: &mut Parser<'_>) -> Option<TagSearch> {
    let mut search = TagSearch { container: None, tags: BTreeMap::new(), impossible: false };
    for _ in 0..COMPARISONS_MAX {
        let of_container = parser.take("@");
        let name = parser.name()?;
        let operator = parser.operator()?;
        let value = parser.value()?.to_owned();
        if of_container {
            if !name.eq_ignore_ascii_case("container") || operator != Operator::Equal {
                return None;
            }
            search.impossible |= search.container.as_ref().is_some_and(|other| *other != value);
            search.container = Some(value);
        } else {
            search.tags.entry(name.to_owned()).or_default().narrow(operator, value)?;
        }
        if !parser.join("AND")? {
            return Some(search);
        }
    }
    None
}

impl Span {
    /// `None`: this comparison is not for searching.
    fn narrow(&mut self, operator: Operator, value: String) -> Option<()> {
        let (least, most) = match operator {
            Operator::Unequal => return None,
            Operator::Equal => (Some(true), Some(true)),
            Operator::Greater => (Some(false), None),
            Operator::GreaterOrEqual => (Some(true), None),
            Operator::Less => (None, Some(false)),
            Operator::LessOrEqual => (None, Some(true)),
        };
        let bound = |inclusive| Bound { value: value.clone(), inclusive };
        if let Some(bound) = least.map(bound) {
            let tighter = |old: &Bound| (&bound.value, !bound.inclusive) > (&old.value, !old.inclusive);
            if self.least.as_ref().is_none_or(tighter) {
                self.least = Some(bound);
            }
        }
        if let Some(bound) = most.map(bound) {
            let tighter = |old: &Bound| (&bound.value, bound.inclusive) < (&old.value, old.inclusive);
            if self.most.as_ref().is_none_or(tighter) {
                self.most = Some(bound);
            }
        }
        Some(())
    }

    pub fn admits(&self, value: &str) -> bool {
        let above = |bound: &Bound| value > &*bound.value || bound.inclusive && value == bound.value;
        let below = |bound: &Bound| value < &*bound.value || bound.inclusive && value == bound.value;
        self.least.as_ref().is_none_or(above) && self.most.as_ref().is_none_or(below)
    }

    /// The one value that is admitted, if it is only one.
    pub fn exactly(&self) -> Option<&str> {
        let (least, most) = (self.least.as_ref()?, self.most.as_ref()?);
        (least.value == most.value && least.inclusive && most.inclusive).then_some(&least.value)
    }

    /// No lesser value is admitted.
    pub fn least(&self) -> &str {
        self.least.as_ref().map_or("", |bound| &bound.value)
    }

    /// No greater value is admitted.
    pub fn most(&self) -> Option<&str> {
        self.most.as_ref().map(|bound| &*bound.value)
    }

    fn is_empty(&self) -> bool {
        match (&self.least, &self.most) {
            (Some(least), Some(most)) => {
                least.value > most.value || least.value == most.value && !(least.inclusive && most.inclusive)
            }
            (_, None) | (None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches() {
        let tags = Tags::parse_query("Name=Carl&Age=040&Status=In%20Progress&a%2Fb=c").unwrap();
        for (text, expected) in [
            ("Status = 'In Progress'", true),
            ("status = 'In Progress'", false),
            ("Name > 'C' AND Name < 'D'", true),
            ("Name > 'C' and Name < 'Ca'", false),
            ("Name >= 'Carl' AND Name <= 'Carl'", true),
            ("Name > 'Carl'", false),
            ("Name < 'Carl'", false),
            ("Age > '032' AND Age < '100' AND Name = 'Carl'", true),
            ("Age > '032' AND Name = 'Other'", false),
            ("\"a/b\" = 'c'", true),
            ("absent >= ''", false),
            ("Name = 'Carl' AND Name = 'Other'", false),
            ("@container = 'box' AND Name = 'Carl'", true),
            ("Name='Carl' AND @container='box'", true),
            ("@container = 'box' AND @container = 'crate' AND Name = 'Carl'", false),
        ] {
            assert_eq!(TagSearch::parse(text).unwrap().matches(&tags), expected, "{text}");
        }
    }

    #[test]
    fn what_is_known_before_looking() {
        let search = TagSearch::parse("b > '1' AND b <= '5' AND b < '5' AND a = 'x' AND @container = 'box'").unwrap();
        assert_eq!(search.container.as_deref(), Some("box"));
        let spans: Vec<_> = search.tags().map(|(n, span)| (n, span.exactly(), span.least(), span.most())).collect();
        assert_eq!(spans, [("a", Some("x"), "x", Some("x")), ("b", None, "1", Some("5"))]);
        for (text, impossible) in [
            ("a > '1' AND a < '1'", true),
            ("a > '1' AND a <= '1'", true),
            ("a >= '1' AND a <= '1'", false),
            ("a = '1' AND a = '2'", true),
            ("a > '1'", false),
        ] {
            assert_eq!(TagSearch::parse(text).unwrap().is_impossible(), impossible, "{text}");
        }
        let tags = Tags::parse_query("a=x&b=3&c=4").unwrap();
        assert_eq!(search.shown(&tags), [("a", "x"), ("b", "3")]);
    }

    #[test]
    fn what_cannot_be_read() {
        let long = ["a='1'"; COMPARISONS_MAX + 1].join(" AND ");
        for text in [
            "",
            "a",
            "a=1",
            "a='1' OR b='2'",
            "a <> '1'",
            "(a='1')",
            "@container='box'",
            "@container > 'box' AND a='1'",
            "@blob='x' AND a='1'",
            "a='1' AND",
            "NOT a='1'",
            "a='1",
            &long,
        ] {
            let refused = TagSearch::parse(text);
            let named = matches!(&refused, Err(Refusal::InvalidQueryParameterValue { name, .. }) if name == "where");
            assert!(named, "{text}: {refused:?}");
        }
    }
}
