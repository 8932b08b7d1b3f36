//! Where things are: the addresses that answers give.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::head::Head;
use crate::wire::page::endpoint;

/// What .NET leaves as it is in a part of a URI.
const IN_KEY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'!')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// What stays as it is in the list of selected properties.
const IN_LIST: &AsciiSet = &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'%').add(b'#');

/// `table(PartitionKey='…',RowKey='…')`
pub fn entity(table: &str, partition: &str, row: &str) -> String {
    let mut out = String::with_capacity(128);
    write_entity(&mut out, table, partition, row);
    out
}

/// The same at the end of `out`.
pub fn write_entity(out: &mut String, table: &str, partition: &str, row: &str) {
    out.push_str(table);
    out.push_str("(PartitionKey='");
    write_key(out, partition);
    out.push_str("',RowKey='");
    write_key(out, row);
    out.push_str("')");
}

/// In quotes, a quote is two.
fn write_key(out: &mut String, key: &str) {
    for (n, part) in key.split('\'').enumerate() {
        out.push_str(if n == 0 { "" } else { "''" });
        out.extend(utf8_percent_encode(part, IN_KEY));
    }
}

/// `Tables('name')`
pub fn table(name: &str) -> String {
    format!("Tables('{name}')")
}

/// The value of `odata.metadata`; `what` is a table, or `Tables`.
pub fn metadata(head: &Head, what: &str, element: bool) -> String {
    let select = head.query.get("$select").filter(|_| what != "Tables");
    let select = select.map(|list| format!("&$select={}", utf8_percent_encode(list, IN_LIST)));
    let element = if element { "/@Element" } else { "" };
    format!("{}$metadata#{what}{element}{}", endpoint(head), select.unwrap_or_default())
}

/// A key as one segment of a path.
pub(crate) fn encoded_key(key: &str) -> std::borrow::Cow<'_, str> {
    utf8_percent_encode(key, IN_KEY).into()
}
