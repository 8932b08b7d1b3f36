//! Query Blob Contents: a small SQL over the records of a blob. Pure: bytes of the blob go in, frames of the answer come out
//! ([`run::Run`]). It knows no HTTP, no clock, no store and no threads.
//!
//! Records are read, judged and written one by one as the blob's bytes come, so memory is bounded by the longest record. What goes
//! wrong with one record is reported and the record passed over; what goes wrong with the input as such ends the query. All work is
//! charged to a [`budget::Budget`], and a run stops by itself after a slice of it.
//! "Query acceleration SQL language reference" is the source; the framing and the errors are as recorded.

#![warn(unreachable_pub)]

pub mod arrow;
pub mod avro;
pub mod budget;
pub mod delimited;
pub mod evaluate;
pub mod json;
pub mod like;
pub mod output;
pub mod parquet;
pub mod run;
pub mod sql;
pub mod value;

use arrow::Field;
use delimited::Delimited;
use sql::Select;

/// What is asked of a blob.
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

impl Input {
    /// Its fields have no names.
    pub fn is_headerless(&self) -> bool {
        match self {
            Input::Delimited(form) => !form.headers,
            Input::Json(_) | Input::Parquet => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Delimited(Delimited),
    Json(String),
    Arrow(Vec<Field>),
}

/// Something wrong with a record, or with everything from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub fatal: bool,
    pub name: &'static str,
    pub description: String,
    /// Where the record begins in the blob.
    pub position: u64,
}

impl Mistake {
    fn too_large(position: u64) -> Self {
        let description = "A record is too large to be read.".into();
        Self { fatal: true, name: "RecordTooLarge", description, position }
    }
}

/// A record longer than this is not read.
pub const RECORD_MAX: usize = 4 << 20;
