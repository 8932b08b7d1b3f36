//! What the two listings share: how a page is asked for.

use crate::head::{Head, Style};
use crate::refusal::Refusal;

/// More than this in a page is never given, whatever is asked for.
const PAGE_MAX: u32 = 5000;

/// `maxresults`: at least one; more than a page is a page.
pub fn most(head: &Head) -> Result<u32, Refusal> {
    let Some(text) = head.query.get("maxresults") else { return Ok(PAGE_MAX) };
    match text.parse::<i64>() {
        Ok(most) if most >= 1 => Ok(most.min(PAGE_MAX.into()) as u32),
        Ok(_) => Err(Refusal::OutOfRangeQueryParameterValue {
            name: "maxresults".into(),
            value: text.to_owned(),
            least: "1".into(),
            most: PAGE_MAX.to_string(),
        }),
        Err(_) => Err(Refusal::InvalidQueryParameterValue {
            name: "maxresults".into(),
            value: text.to_owned(),
            reason: "".into(),
        }),
    }
}

/// The words of `include` or `showonly`, each of which must be known. The list may come in several parameters ("Authorize with Shared
/// Key" has an example).
pub fn words<'a>(head: &'a Head, name: &'static str, known: &[&'static str]) -> Result<Vec<&'a str>, Refusal> {
    let text = head.query.get(name).unwrap_or_default();
    let all = head.query.all(name).flat_map(|text| text.split(','));
    let words: Vec<&str> = all.map(str::trim).filter(|word| !word.is_empty()).collect();
    match words.iter().find(|word| !known.iter().any(|known| known.eq_ignore_ascii_case(word))) {
        None => Ok(words),
        Some(_) => {
            Err(Refusal::InvalidQueryParameterValue { name: name.into(), value: text.to_owned(), reason: "".into() })
        }
    }
}

pub fn has(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// `MaxResults`, repeated only if it was sent.
pub fn repeated(head: &Head) -> Option<u32> {
    head.query.get("maxresults").and_then(|text| text.parse().ok())
}

/// Where the service is, as the client sees it, with a slash at the end.
pub fn endpoint(head: &Head) -> String {
    let scheme = if head.secure { "https" } else { "http" };
    let host = head.text("host").unwrap_or("localhost");
    match head.style {
        Style::Host => format!("{scheme}://{host}/"),
        Style::Path => format!("{scheme}://{host}/{}/", head.account),
    }
}
