//! The document that a query comes in.

use lazuli_model::Refusal;

use super::arrow::{self, Field};
use super::delimited::Delimited;
use super::sql::{self, Select};
use crate::wire::xml::{Document, Node};

#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub select: Select,
    pub input: Input,
    pub output: Output,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Delimited(Delimited),
    /// What stands between records.
    Json(String),
    Parquet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Delimited(Delimited),
    Json(String),
    Arrow(Vec<Field>),
}

pub fn read(body: &[u8]) -> Result<Query, Refusal> {
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
            "json" => Input::Json(separator(format)),
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
            "json" => Output::Json(separator(format)),
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
    let text = |name: &str| node.child(name).map(|child| child.text.to_string());
    let one = |name: &str| -> Result<Option<Option<char>>, Refusal> {
        let Some(child) = node.child(name) else { return Ok(None) };
        let mut chars = child.text.chars();
        match (chars.next(), chars.next()) {
            (first, None) => Ok(Some(first)),
            (_, Some(_)) => Err(document.refuse(child, "This must be one character.")),
        }
    };
    if let Some(column) = text("ColumnSeparator").filter(|text| !text.is_empty()) {
        form.column = column;
    }
    if let Some(record) = text("RecordSeparator").filter(|text| !text.is_empty()) {
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

fn separator(format: &Node<'_>) -> String {
    let node = format.child("JsonTextConfiguration").and_then(|node| node.child("RecordSeparator"));
    node.map(|node| node.text.to_string()).filter(|text| !text.is_empty()).unwrap_or_else(|| "\n".into())
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
