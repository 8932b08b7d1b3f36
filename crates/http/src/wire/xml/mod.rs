//! XML as the service writes and reads it. Documents are written straight into a string, because listings are long;
//! they are read into a small tree, after a check that they hold nothing but elements and text.

mod answers;
mod bodies;
mod delegation;
mod file;
mod found;
mod listing;
mod query;
mod queue;
mod read;
mod session;

pub use answers::{acl, block_list, page_list, service_properties, service_stats, tags};
pub use bodies::{letters, read_block_list, read_service_properties, read_signed_identifiers, read_tags};
pub use delegation::{read_key_info, user_delegation_key};
pub use file::{
    EntryListing, ShareListing, entries, file_ranges, file_service_properties, handles, read_file_service_properties,
    share_stats, shares,
};
pub use found::{FoundListing, found_blobs};
pub use listing::{BlobListing, ContainerListing, blobs, containers};
pub use queue::{
    QueueListing, got_messages, peeked_messages, put_message, queue_service_properties, queues, read_message,
    read_queue_service_properties,
};

pub use query::read_query;
pub use read::{Document, Node};
pub use session::{created_session, read_session_request};

use std::fmt::Write as _;

/// A document's beginning: byte order mark and declaration, as the service sends them.
pub fn document(capacity: usize) -> String {
    let mut out = String::with_capacity(capacity + 64);
    out.push_str("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    out
}

/// Whether XML 1.0 has the character.
pub fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Text between tags. What XML cannot hold becomes U+FFFD; a carriage return would not survive unescaped.
pub fn escape(out: &mut String, text: &str) {
    let plain = |byte: u8| (b' '..0x7f).contains(&byte) && !matches!(byte, b'&' | b'<' | b'>');
    // Without a way out in the middle, many bytes are looked at in one step.
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#xD;"),
            c if is_char(c) => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
}

/// ` name="value"`
pub fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}=\"");
    let mut text = String::with_capacity(value.len());
    escape(&mut text, value);
    out.push_str(&text.replace('"', "&quot;").replace('\n', "&#xA;").replace('\t', "&#x9;"));
    out.push('"');
}

/// `<name>text</name>`, or `<name />` when there is no text.
pub fn element(out: &mut String, name: &str, text: &str) {
    if text.is_empty() {
        let _ = write!(out, "<{name} />");
        return;
    }
    let _ = write!(out, "<{name}>");
    escape(out, text);
    let _ = write!(out, "</{name}>");
}

/// Nothing when there is no value.
pub fn optional(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        element(out, name, text);
    }
}

fn number(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(out, "<{name}>{value}</{name}>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_never_ill_formed() {
        let table = [
            ("plain", "plain"),
            ("a<b>&\"c'", "a&lt;b&gt;&amp;\"c'"),
            ("é\u{10000}", "é\u{10000}"),
            ("\u{1}\u{ffff}\u{fffe}\0", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("a\r\n\tb", "a&#xD;\n\tb"),
        ];
        for (text, expected) in table {
            let mut out = String::new();
            escape(&mut out, text);
            assert_eq!(out, expected);
        }
        let mut out = String::new();
        attribute(&mut out, "a", "x\"<\n");
        assert_eq!(out, " a=\"x&quot;&lt;&#xA;\"");
    }
}
