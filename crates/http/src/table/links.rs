//! Where things are: the addresses that answers give.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::blob::page::endpoint;
use crate::head::Head;

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
    let part = |text: &str| utf8_percent_encode(&text.replace('\'', "''"), IN_KEY).to_string();
    format!("{table}(PartitionKey='{}',RowKey='{}')", part(partition), part(row))
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
