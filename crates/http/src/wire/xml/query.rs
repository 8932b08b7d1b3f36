//! The document that a query comes in.

use lazuli_query::arrow::{self, Field};
use lazuli_query::delimited::Delimited;
use lazuli_query::{Input, Output, Query, sql};

use super::read::{Document, Node};

use crate::refusal::Refusal;

/// Bytes of a separator: it is looked for at every byte of a blob.
const SEPARATOR_MAX: usize = 64;

pub fn read_query(body: &[u8]) -> Result<Query, Refusal> {
    let document = Document::expect(body, "QueryRequest")?;
    let root = &document.root;
    let bad = |name: &'static str, value: &str, reason: String| Refusal::InvalidXmlNodeValue {
        name: name.into(),
        value: value.to_owned(),
        reason: reason.into(),
    };
    match root.text_of("QueryType") {
        Some(kind) if kind.eq_ignore_ascii_case("SQL") => {}
        other => return Err(bad("QueryType", other.unwrap_or_default(), "The type is SQL.".into())),
    }
    let expression = root.text_of("Expression").unwrap_or_default();
    let select = sql::parse(expression).map_err(|why| bad("Expression", expression, why.0))?;
    let format = |name: &str| root.child(name).and_then(|node| node.child("Format"));
    let input = match format("InputSerialization") {
        None => Input::Delimited(Delimited::default()),
        Some(format) => match kind(format).as_str() {
            "delimited" => Input::Delimited(delimited(&document, format)?),
            "json" => Input::Json(separator(&document, format)?),
            "parquet" => Input::Parquet,
            other => return Err(bad("Type", other, "Input is delimited, json or parquet.".into())),
        },
    };
    let output = match (format("OutputSerialization"), &input) {
        (None, Input::Delimited(form)) => Output::Delimited(form.clone()),
        (None, Input::Json(separator)) => Output::Json(separator.clone()),
        (None, Input::Parquet) => Output::Delimited(Delimited::default()),
        (Some(format), _) => match kind(format).as_str() {
            "delimited" => Output::Delimited(delimited(&document, format)?),
            "json" => Output::Json(separator(&document, format)?),
            "arrow" => Output::Arrow(schema(format)?),
            other => return Err(bad("Type", other, "Output is delimited, json or arrow.".into())),
        },
    };
    Ok(Query { select, input, output })
}

fn kind(format: &Node<'_>) -> String {
    format.text_of("Type").unwrap_or_default().to_ascii_lowercase()
}

/// An element that is left out has its default; one that is empty means that there is no such thing.
fn delimited(document: &Document<'_>, format: &Node<'_>) -> Result<Delimited, Refusal> {
    let mut form = Delimited::default();
    let Some(node) = format.child("DelimitedTextConfiguration") else { return Ok(form) };
    let one = |name: &str| -> Result<Option<Option<char>>, Refusal> {
        let Some(child) = node.child(name) else { return Ok(None) };
        let mut chars = child.text.chars();
        match (chars.next(), chars.next()) {
            (first, None) => Ok(Some(first)),
            (_, Some(_)) => Err(document.refuse(child, "This must be one character.")),
        }
    };
    if let Some(column) = separating(document, node, "ColumnSeparator")? {
        form.column = column;
    }
    if let Some(record) = separating(document, node, "RecordSeparator")? {
        form.record = record;
    }
    if let Some(quote) = one("FieldQuote")? {
        form.quote = quote;
    }
    if let Some(escape) = one("EscapeChar")? {
        form.escape = escape;
    }
    form.headers = node.text_of("HasHeaders").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    Ok(form)
}

fn separator(document: &Document<'_>, format: &Node<'_>) -> Result<String, Refusal> {
    let node = format.child("JsonTextConfiguration");
    let found = node.map(|node| separating(document, node, "RecordSeparator")).transpose()?.flatten();
    Ok(found.unwrap_or_else(|| "\n".into()))
}

/// What stands between fields or records. Empty is as if it were not there.
fn separating(document: &Document<'_>, node: &Node<'_>, name: &str) -> Result<Option<String>, Refusal> {
    match node.child(name).filter(|child| !child.text.is_empty()) {
        None => Ok(None),
        Some(child) if child.text.len() > SEPARATOR_MAX => Err(document.refuse(child, "This is too long.")),
        Some(child) => Ok(Some(child.text.to_string())),
    }
}

fn schema(format: &Node<'_>) -> Result<Vec<Field>, Refusal> {
    let nodes = format.child("ArrowConfiguration").and_then(|node| node.child("Schema"));
    let fields = nodes.map(|node| node.children.iter().map(field).collect::<Result<Vec<_>, _>>()).transpose()?;
    fields.filter(|fields| !fields.is_empty()).ok_or_else(|| Refusal::InvalidXmlNodeValue {
        name: "Schema".into(),
        value: String::new(),
        reason: "Arrow output needs a schema.".into(),
    })
}

fn field(node: &Node<'_>) -> Result<Field, Refusal> {
    let kind = node.text_of("Type").unwrap_or_default();
    let number = |name: &str| node.text_of(name).and_then(|text| text.parse().ok()).unwrap_or_default();
    let kind =
        arrow::Kind::parse(kind, number("Precision"), number("Scale")).ok_or_else(|| Refusal::InvalidXmlNodeValue {
            name: "Type".into(),
            value: kind.to_owned(),
            reason: "Types are bool, int64, double, string, timestamp[ms] and decimal.".into(),
        })?;
    Ok(Field { name: node.text_of("Name").unwrap_or_default().to_owned(), kind })
}
