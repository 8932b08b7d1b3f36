//! The expression of Find Blobs by Tags: comparisons joined by AND, one of which may name the container.
//!
//! ```text
//! where = one *("AND" one)
//! one   = name ("=" / ">" / ">=" / "<" / "<=") value / "@container" "=" value
//! ```

use std::collections::BTreeMap;

use super::predicate::{Operator, Parser};
use super::{TAG_NAME_MAX, TAG_VALUE_MAX, TAGS_MAX, is_allowed};
use crate::{Refusal, Tags};

/// Comparisons of one expression.
const COMPARISONS_MAX: usize = 20;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSearch {
    pub container: Option<String>,
    /// At least one, by the name of the tag.
    tags: BTreeMap<String, TagSpan>,
    /// Two containers at once: nothing is in both.
    impossible: bool,
}

/// The values that all comparisons with one tag admit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagSpan {
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
        read(&mut parser).map_err(|fault| Refusal::InvalidTagQuery {
            query: text.to_owned(),
            message: fault.said(text, parser.rest()),
        })
    }

    /// Rule A21: in a container, no other may be named.
    pub fn permit_container(&self, text: &str) -> Result<(), Refusal> {
        match self.container {
            None => Ok(()),
            Some(_) => Err(Refusal::InvalidTagQuery {
                query: text.to_owned(),
                message: "Error parsing query: Cannot have container in both uri and query".to_owned(),
            }),
        }
    }

    /// The tags that are compared, in order of name.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &TagSpan)> {
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
        self.impossible || self.tags.values().any(TagSpan::is_empty)
    }
}

/// What is wrong with an expression, in the service's words (rules A8 to A10 and A22).
enum Fault {
    /// Something else should stand here.
    Unexpected,
    /// What was just read cannot be.
    Here(String),
    /// Of the expression as a whole.
    Whole(&'static str),
}

impl Fault {
    /// `rest` is what was not read.
    fn said(&self, text: &str, rest: &str) -> String {
        let rest = rest.trim_start();
        let at = text.chars().count() - rest.chars().count() + 1;
        match self {
            Fault::Whole(said) => format!("Error parsing query: {said}"),
            Fault::Here(said) => format!("Error parsing query at or near character position {at}: {said}"),
            Fault::Unexpected => {
                let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let next = if word > 0 { &rest[..word] } else { rest.get(..1).unwrap_or_default() };
                format!("Error parsing query at or near character position {at}: unexpected '{next}'")
            }
        }
    }
}

fn read(parser: &mut Parser<'_>) -> Result<TagSearch, Fault> {
    let mut search = TagSearch { container: None, tags: BTreeMap::new(), impossible: false };
    for _ in 0..COMPARISONS_MAX {
        one(parser, &mut search)?;
        if !parser.join("AND") {
            break;
        }
    }
    if !parser.is_done() {
        return Err(Fault::Unexpected);
    }
    match search.tags.len() {
        0 => Err(Fault::Unexpected),
        1..=TAGS_MAX => Ok(search),
        _ => Err(Fault::Whole("there can be at most 10 unique tags in a query")),
    }
}

/// A comparison, with a tag or of the container.
fn one(parser: &mut Parser<'_>, search: &mut TagSearch) -> Result<(), Fault> {
    let of_container = parser.take("@");
    let name = parser.name().ok_or(Fault::Unexpected)?;
    if of_container && !name.eq_ignore_ascii_case("container") {
        return Err(Fault::Here(format!("unsupported parameter '@{name}'")));
    }
    let operator = parser.operator().ok_or(Fault::Unexpected)?;
    let value = parser.value().ok_or(Fault::Unexpected)?.to_owned();
    if of_container {
        if operator != Operator::Equal {
            return Err(Fault::Unexpected);
        }
        search.impossible |= search.container.as_ref().is_some_and(|other| *other != value);
        search.container = Some(value);
        return Ok(());
    }
    check(name, &value)?;
    search.tags.entry(name.to_owned()).or_default().narrow(operator, value)
}

/// What a tag can be.
fn check(name: &str, value: &str) -> Result<(), Fault> {
    if !(1..=TAG_NAME_MAX).contains(&name.chars().count()) {
        return Err(Fault::Here("tag must be between 1 and 128 characters in length".to_owned()));
    }
    if value.chars().count() > TAG_VALUE_MAX {
        return Err(Fault::Here("tag value must be between 0 and 256 characters in length".to_owned()));
    }
    match name.chars().chain(value.chars()).find(|letter| !is_allowed(*letter)) {
        None => Ok(()),
        Some(letter) => Err(Fault::Here(format!("'{letter}' not permitted in tag name or value"))),
    }
}

const RANGES_ONLY: Fault = Fault::Whole("can't have multiple conditions for a single tag unless they define a range");

impl TagSpan {
    fn narrow(&mut self, operator: Operator, value: String) -> Result<(), Fault> {
        let (least, most) = match operator {
            Operator::Unequal => return Err(Fault::Unexpected),
            Operator::Equal => (Some(true), Some(true)),
            Operator::Greater => (Some(false), None),
            Operator::GreaterOrEqual => (Some(true), None),
            Operator::Less => (None, Some(false)),
            Operator::LessOrEqual => (None, Some(true)),
        };
        let bound = |inclusive| Bound { value: value.clone(), inclusive };
        if least.is_some() && self.least.is_some() || most.is_some() && self.most.is_some() {
            return Err(RANGES_ONLY);
        }
        self.least = least.map(bound).or(self.least.take());
        self.most = most.map(bound).or(self.most.take());
        Ok(())
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
            ("@container = 'box' AND Name = 'Carl'", true),
            ("Name='Carl' AND @container='box'", true),
            ("@container = 'box' AND @container = 'crate' AND Name = 'Carl'", false),
        ] {
            assert_eq!(TagSearch::parse(text).unwrap().matches(&tags), expected, "{text}");
        }
    }

    #[test]
    fn what_is_known_before_looking() {
        let search = TagSearch::parse("b > '1' AND b < '5' AND a = 'x' AND @container = 'box'").unwrap();
        assert_eq!(search.container.as_deref(), Some("box"));
        let spans: Vec<_> = search.tags().map(|(n, span)| (n, span.exactly(), span.least(), span.most())).collect();
        assert_eq!(spans, [("a", Some("x"), "x", Some("x")), ("b", None, "1", Some("5"))]);
        for (text, impossible) in [
            ("a > '1' AND a < '1'", true),
            ("a > '1' AND a <= '1'", true),
            ("a >= '1' AND a <= '1'", false),
            ("a > '1'", false),
        ] {
            assert_eq!(TagSearch::parse(text).unwrap().is_impossible(), impossible, "{text}");
        }
        let tags = Tags::parse_query("a=x&b=3&c=4").unwrap();
        assert_eq!(search.shown(&tags), [("a", "x"), ("b", "3")]);
    }

    /// Rules A8, A9, A10 and A22.
    #[test]
    fn a8_a9_a10_a22_what_cannot_be_read_is_refused_in_the_services_words() {
        let at = |at: usize, what: &str| format!("Error parsing query at or near character position {at}: {what}");
        let (long, name, value) = (["a='1'"; COMPARISONS_MAX + 1].join(" AND "), "n".repeat(129), "v".repeat(257));
        let many: Vec<String> = (0..11).map(|n| format!("t{n}='1'")).collect();
        let one_of_a_kind =
            "Error parsing query: can't have multiple conditions for a single tag unless they define a range";
        for (text, said) in [
            ("", at(1, "unexpected ''")),
            ("a", at(2, "unexpected ''")),
            ("a=1", at(3, "unexpected '1'")),
            ("a='1' OR b='2'", at(7, "unexpected 'OR'")),
            ("(a='1')", at(1, "unexpected '('")),
            ("@container='box'", at(17, "unexpected ''")),
            ("@blob='x' AND a='1'", at(6, "unsupported parameter '@blob'")),
            ("a='1' AND", at(10, "unexpected ''")),
            ("NOT a='1'", at(5, "unexpected 'a'")),
            ("\"a\"='#'", at(8, "'#' not permitted in tag name or value")),
            ("a='\u{fc}'", at(6, "'\u{fc}' not permitted in tag name or value")),
            ("\"\"='1'", at(7, "tag must be between 1 and 128 characters in length")),
            (&format!("{name}=''"), at(133, "tag must be between 1 and 128 characters in length")),
            (&format!("a='{value}'"), at(262, "tag value must be between 0 and 256 characters in length")),
            (&many.join(" AND "), "Error parsing query: there can be at most 10 unique tags in a query".to_owned()),
            ("a='1' AND a='2'", one_of_a_kind.to_owned()),
            ("a>'1' AND a>='2'", one_of_a_kind.to_owned()),
            ("a='1' AND a<'2'", one_of_a_kind.to_owned()),
            (&long, one_of_a_kind.to_owned()),
        ] {
            let (query, message) = (text.to_owned(), said);
            assert_eq!(TagSearch::parse(text), Err(Refusal::InvalidTagQuery { query, message }), "{text}");
        }
        for text in ["a <> '1'", "@container > 'box' AND a='1'", "a='1"] {
            assert!(matches!(TagSearch::parse(text), Err(Refusal::InvalidTagQuery { .. })), "{text}");
        }
        assert!(TagSearch::parse(&many[..10].join(" AND ")).is_ok());
        assert!(TagSearch::parse(&format!("@container='box' AND {}", many[..10].join(" AND "))).is_ok());
    }
}
