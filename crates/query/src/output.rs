//! Results on their way out: rows as delimited text, JSON or Arrow.

use std::borrow::Cow;

use crate::arrow::{self, Cell};
use crate::budget::{Budget, Exceeded};
use crate::value::Value;
use crate::{Output, RECORD_MAX, delimited};

/// A row: the names are for JSON and for headers.
pub struct Row<'a> {
    pub names: &'a [String],
    pub values: Vec<Value<'a>>,
}

impl Row<'_> {
    /// About what it takes, written; counted as far as it matters.
    fn size(&self) -> usize {
        let mut size = 0;
        for value in &self.values {
            size += CELL_BYTES + if let Value::Json(value) = value { json_size(value) } else { value.size() };
            if size > ROW_MAX {
                break;
            }
        }
        size
    }
}

fn json_size(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => CELL_BYTES,
        serde_json::Value::String(text) => CELL_BYTES + text.len(),
        serde_json::Value::Array(items) => CELL_BYTES + items.iter().map(json_size).sum::<usize>(),
        serde_json::Value::Object(members) => {
            CELL_BYTES + members.iter().map(|(name, value)| name.len() + json_size(value)).sum::<usize>()
        }
    }
}

pub struct Writer {
    output: Output,
    ready: Vec<u8>,
    rows: Vec<Vec<Cell>>,
    /// About what those rows take.
    rows_bytes: usize,
}

/// Rows in an Arrow batch.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 1 << 20;
/// A cell without its text.
const CELL_BYTES: usize = 32;
/// What a row may take: a column may be there several times, but not any number of times.
const ROW_MAX: usize = 2 * RECORD_MAX;

impl Writer {
    pub fn new(output: Output) -> Self {
        Self { output, ready: Vec::new(), rows: Vec::new(), rows_bytes: 0 }
    }

    /// What comes before the rows, as a record of its own: headers, or a schema and an empty batch (both recorded).
    pub fn opening(&self, names: Option<&[String]>) -> Option<Vec<u8>> {
        match &self.output {
            Output::Delimited(form) if form.headers => names.map(|names| {
                let mut out = Vec::new();
                delimited::write(&mut out, names.iter().map(|name| Cow::Borrowed(name.as_str())), form);
                out
            }),
            Output::Delimited(_) | Output::Json(_) => None,
            Output::Arrow(fields) => Some([arrow::schema(fields, &[]), arrow::batch(fields, &[])].concat()),
        }
    }

    /// Whether a row of so many columns can be written.
    pub fn fits(&self, columns: usize) -> bool {
        match &self.output {
            Output::Delimited(_) | Output::Json(_) => true,
            Output::Arrow(fields) => fields.len() == columns,
        }
    }

    pub fn row(&mut self, row: Row<'_>, budget: &Budget) -> Result<(), Exceeded> {
        let size = row.size();
        budget.make(size)?;
        if size > ROW_MAX {
            return Err(Exceeded::Text);
        }
        match &self.output {
            Output::Delimited(form) => {
                delimited::write(&mut self.ready, row.values.iter().map(Value::to_text), form);
            }
            Output::Json(separator) => {
                let there = row.names.iter().zip(&row.values).filter(|(_, value)| **value != Value::Missing);
                let object: serde_json::Map<String, serde_json::Value> =
                    there.map(|(name, value)| (name.clone(), value.to_json())).collect();
                self.ready.extend_from_slice(serde_json::Value::Object(object).to_string().as_bytes());
                self.ready.extend_from_slice(separator.as_bytes());
            }
            Output::Arrow(fields) => {
                let cell = |(at, field): (usize, &arrow::Field)| {
                    row.values.get(at).map_or(Cell::Null, |value| Cell::of(value, field.kind))
                };
                self.rows.push(fields.iter().enumerate().map(cell).collect());
                self.rows_bytes += size.max(fields.len() * CELL_BYTES);
                if self.rows.len() == BATCH_ROWS || self.rows_bytes >= BATCH_BYTES {
                    self.flush_rows();
                }
            }
        }
        Ok(())
    }

    /// A record of JSON that goes out as it is.
    pub fn whole(&mut self, record: &serde_json::Value, budget: &Budget) -> Result<bool, Exceeded> {
        let Output::Json(separator) = &self.output else { return Ok(false) };
        let text = record.to_string();
        budget.make(text.len())?;
        self.ready.extend_from_slice(text.as_bytes());
        self.ready.extend_from_slice(separator.as_bytes());
        Ok(true)
    }

    /// A record that has nothing to show.
    pub fn blank(&mut self) {
        match &self.output {
            Output::Delimited(form) => delimited::write(&mut self.ready, [], form),
            Output::Json(separator) => self.ready.extend_from_slice(separator.as_bytes()),
            Output::Arrow(_) => {}
        }
    }

    fn flush_rows(&mut self) {
        if let Output::Arrow(fields) = &self.output
            && !self.rows.is_empty()
        {
            self.rows_bytes = 0;
            self.ready.extend(arrow::batch(fields, &std::mem::take(&mut self.rows)));
        }
    }

    /// Whether rows need names.
    pub fn names_columns(&self) -> bool {
        matches!(self.output, Output::Json(_))
    }

    pub fn ready(&self) -> usize {
        self.ready.len() + self.rows_bytes
    }

    pub fn take(&mut self) -> Vec<u8> {
        self.flush_rows();
        std::mem::take(&mut self.ready)
    }
}
