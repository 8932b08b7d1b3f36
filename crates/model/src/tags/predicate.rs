//! The predicate of `x-ms-if-tags`: comparisons joined by AND and OR, AND binding tighter, with parentheses.
//!
//! ```text
//! any   = all *("OR" all)
//! all   = one *("AND" one)
//! one   = "(" any ")" / name ("=" / "<>" / ">" / ">=" / "<" / "<=") value
//! name  = a word, or anything in double quotes         value = anything in single quotes
//! ```

use std::cmp::Ordering;

use super::is_allowed;
use crate::depth::{self, Depth};
use crate::{Refusal, Tags};

/// A parsed `x-ms-if-tags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCondition {
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Compare { name: String, operator: Operator, value: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl TagCondition {
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut parser = Parser::new(text);
        let root = parser.any(depth::TAGS).filter(|_| parser.is_done());
        root.map(|root| Self { root }).ok_or_else(|| Refusal::InvalidTagCondition { text: text.to_owned() })
    }

    pub fn holds(&self, tags: &Tags) -> bool {
        self.root.holds(tags)
    }
}

impl Node {
    fn holds(&self, tags: &Tags) -> bool {
        match self {
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(tags)),
            Node::All(nodes) => nodes.iter().all(|node| node.holds(tags)),
            Node::Compare { name, operator, value } => {
                tags.compare(name, value).is_some_and(|ordering| operator.admits(ordering))
            }
        }
    }
}

impl Operator {
    /// Longer signs first: a sign must not be read as the beginning of another.
    const SIGNS: [(&str, Operator); 6] = [
        ("<>", Operator::Unequal),
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        ("=", Operator::Equal),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ];

    fn admits(self, ordering: Ordering) -> bool {
        match self {
            Operator::Equal => ordering.is_eq(),
            Operator::Unequal => ordering.is_ne(),
            Operator::Greater => ordering.is_gt(),
            Operator::GreaterOrEqual => ordering.is_ge(),
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
        }
    }
}

/// Reads an expression from its beginning on.
pub(super) struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    fn any(&mut self, depth: Depth) -> Option<Node> {
        let mut nodes = vec![self.all(depth)?];
        while self.join("OR") {
            nodes.push(self.all(depth)?);
        }
        Some(Node::Any(nodes))
    }

    fn all(&mut self, depth: Depth) -> Option<Node> {
        let mut nodes = vec![self.one(depth)?];
        while self.join("AND") {
            nodes.push(self.one(depth)?);
        }
        Some(Node::All(nodes))
    }

    fn one(&mut self, depth: Depth) -> Option<Node> {
        if self.take("(") {
            let inner = self.any(depth.deeper()?)?;
            return self.take(")").then_some(inner);
        }
        let (name, operator, value) = (self.name()?, self.operator()?, self.value()?);
        // Rule A11: what no tag can hold; how long it is does not matter here.
        if !name.chars().chain(value.chars()).all(is_allowed) {
            return None;
        }
        Some(Node::Compare { name: name.to_owned(), operator, value: value.to_owned() })
    }

    pub(super) fn name(&mut self) -> Option<&'a str> {
        if self.take("\"") { self.until('"') } else { self.word() }
    }

    pub(super) fn operator(&mut self) -> Option<Operator> {
        Operator::SIGNS.iter().find(|(sign, _)| self.take(sign)).map(|(_, operator)| *operator)
    }

    pub(super) fn value(&mut self) -> Option<&'a str> {
        if self.take("'") { self.until('\'') } else { None }
    }

    /// Whether `word` comes next.
    pub(super) fn join(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        let ahead = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        if !rest[..ahead].eq_ignore_ascii_case(word) {
            return false;
        }
        self.rest = &rest[ahead..];
        true
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn until(&mut self, quote: char) -> Option<&'a str> {
        let (inside, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        Some(inside)
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let (word, rest) =
            rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let tags = Tags::parse_query("tag1%20name=my%20tag&tag2=secondtag&n=10&empty=").unwrap();
        TagCondition::parse(text).unwrap().holds(&tags)
    }

    #[test]
    fn what_holds() {
        let table = [
            ("\"tag2\"='secondtag'", true),
            ("tag2 = 'secondtag'", true),
            ("tag2='second'", false),
            ("tag2='SecondTag'", false),
            ("Tag2='secondtag'", false),
            ("\"tag1 name\"='my tag' AND \"tag2\"='secondtag'", true),
            ("\"tag1 name\"='my tag' and \"tag2\"='x'", false),
            ("\"tag1 name\"='x' OR \"tag2\"='secondtag'", true),
            ("empty=''", true),
            ("tag2 <> 'x'", true),
            ("tag2 <> 'secondtag'", false),
            // As strings: "10" < "9".
            ("n < '9'", true),
            ("n > '9'", false),
            ("n >= '10' AND n <= '10'", true),
            ("n > '10' OR n < '10'", false),
            ("absent = ''", false),
            ("absent <> 'x'", false),
            // AND binds tighter.
            ("n='10' OR n='10' AND n='x'", true),
            ("(n='10' OR n='10') AND n='x'", false),
            ("((n='10'))", true),
            ("  (  n  =  '10'  )  ", true),
        ];
        for (text, expected) in table {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read() {
        let many = ["n='1'"; 100].join(" OR ");
        assert!(TagCondition::parse(&many).is_ok());
        assert!(TagCondition::parse(&format!("n='{}'", "v".repeat(300))).is_ok());
        let deep = "(".repeat(100_000);
        for text in [
            "",
            " ",
            "n",
            "n=",
            "n='1",
            "n=1",
            "n=\"1\"",
            "'n'='1'",
            "n=='1'",
            "n!='1'",
            "n='1' AND",
            "AND n='1'",
            "n='1' n='2'",
            "n='1' XOR n='2'",
            "(n='1'",
            "n='1')",
            "()",
            "\"n='1'",
            "é='1'",
            "NOT n='1'",
            // Rule A11.
            "n='#'",
            "\"n#\"='1'",
            "n='\u{fc}'",
            &deep,
        ] {
            let refusal = TagCondition::parse(text);
            assert!(matches!(&refusal, Err(Refusal::InvalidTagCondition { .. })), "{text}");
        }
    }
}
