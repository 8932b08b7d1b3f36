//! Results on their way out: rows as delimited text, JSON or Arrow.

use super::arrow::{self, Cell};
use super::delimited;
use super::request::Output;
use super::value::Value;

/// A row: the names are for JSON and for headers.
pub struct Row<'a> {
    pub names: &'a [String],
    pub values: Vec<Value>,
}

pub struct Writer {
    output: Output,
    ready: Vec<u8>,
    rows: Vec<Vec<Cell>>,
}

/// Rows in an Arrow batch.
const BATCH_ROWS: usize = 1_000;

impl Writer {
    pub fn new(output: Output) -> Self {
        Self { output, ready: Vec::new(), rows: Vec::new() }
    }

    /// What comes before the rows, as a record of its own: headers, or a schema and an empty batch (both recorded).
    pub fn opening(&self, names: Option<&[String]>) -> Option<Vec<u8>> {
        match &self.output {
            Output::Delimited(form) if form.headers => names.map(|names| {
                let mut out = Vec::new();
                delimited::write(&mut out, names.iter().cloned(), form);
                out
            }),
            Output::Delimited(_) | Output::Json(_) => None,
            Output::Arrow(fields) => Some([arrow::schema(fields, &[]), arrow::batch(fields, &[])].concat()),
        }
    }

    pub fn row(&mut self, row: Row<'_>) {
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
                if self.rows.len() == BATCH_ROWS {
                    self.flush_rows();
                }
            }
        }
    }

    /// A record of JSON that goes out as it is.
    pub fn whole(&mut self, record: &serde_json::Value) -> bool {
        let Output::Json(separator) = &self.output else { return false };
        self.ready.extend_from_slice(record.to_string().as_bytes());
        self.ready.extend_from_slice(separator.as_bytes());
        true
    }

    fn flush_rows(&mut self) {
        if let Output::Arrow(fields) = &self.output
            && !self.rows.is_empty()
        {
            self.ready.extend(arrow::batch(fields, &std::mem::take(&mut self.rows)));
        }
    }

    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    pub fn take(&mut self) -> Vec<u8> {
        self.flush_rows();
        std::mem::take(&mut self.ready)
    }
}
