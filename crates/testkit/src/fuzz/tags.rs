//! Tags, conditions on them and searches for them. Tags that are printed read as themselves; a search that is impossible matches nothing,
//! and each of its spans admits what it says it does.

use lazuli_model::Tags;
use lazuli_model::tags::{TagCondition, TagSearch};

use super::request::{BREAK, split};

pub const WORDS: &[&str] = &[
    "a=b",
    "&",
    "%20",
    "%",
    "+",
    "\"a\"",
    "'b'",
    " = ",
    " <> ",
    " >= ",
    " < ",
    " AND ",
    " OR ",
    "(",
    ")",
    "@container='c'",
    "\"\"",
    "''",
    "\n---\n",
];

/// An expression, a break, and tags.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (expression, tags) = match split(input, BREAK) {
        Some((expression, tags)) => (String::from_utf8_lossy(expression), String::from_utf8_lossy(tags)),
        None => (text.clone(), text.clone()),
    };
    let tags = Tags::parse_query(&tags).unwrap_or_default();
    assert_eq!(Tags::parse_query(&tags.to_query()).as_ref(), Ok(&tags));
    if let Ok(condition) = TagCondition::parse(&expression) {
        condition.holds(&tags);
        condition.holds(&Tags::NONE);
    }
    let Ok(search) = TagSearch::parse(&expression) else { return };
    assert!(!search.matches(&Tags::NONE), "a search is for tags");
    assert!(!(search.is_impossible() && search.matches(&tags)), "{expression}: nothing matches, and {tags:?} does");
    for (name, span) in search.tags() {
        if let Some(only) = span.exactly() {
            assert!(span.admits(only), "{expression}: {name}");
        }
        for (_, value) in tags.iter().filter(|(_, value)| span.admits(value)) {
            let below = span.most().is_none_or(|most| value <= most);
            assert!(value >= span.least() && below, "{expression}: {name} admits {value:?}");
        }
    }
}
