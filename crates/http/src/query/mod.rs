//! Query Blob Contents: a small SQL over the records of a blob.
//!
//! Records are read, judged and written one by one as the blob's bytes come, so memory is bounded by the longest record. What goes
//! wrong with one record is reported and the record passed over; what goes wrong with the input as such ends the query.
//! "Query acceleration SQL language reference" is the source; the framing and the errors are as recorded.

pub mod arrow;
pub mod avro;
pub mod delimited;
pub mod evaluate;
pub mod json;
pub mod output;
pub mod parquet;
pub mod request;
pub mod run;
pub mod sql;
pub mod value;

/// Something wrong with a record, or with everything from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub fatal: bool,
    pub name: &'static str,
    pub description: String,
    /// Where the record begins in the blob.
    pub position: u64,
}

/// A record longer than this is not read.
pub const RECORD_MAX: usize = 4 << 20;
