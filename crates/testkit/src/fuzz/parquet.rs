//! Parquet files under a query, and metadata of such files, which is Thrift. Whatever the bytes are, the answer is whole, and its cost is
//! within the budget of what is read.

use lazuli_query::budget::{QUERY_STEPS, QUERY_STEPS_PER_BYTE, RECORD_STEPS};
use lazuli_query::{Input, Output, Query, sql};

use super::query::{framed, run_over};
use super::request::{BREAK, split};

pub const WORDS: &[&str] = &[
    "SELECT * FROM BlobStorage",
    "SELECT COUNT(*) FROM BlobStorage",
    "SELECT id FROM BlobStorage WHERE id > 1",
    "\n---\n",
    "PAR1",
    "\x15\x00",
    "\x19\x1c",
    "\x19\x19\x19\x19",
    "\x1b\x01",
    "\x00\x00\x00",
];

/// SQL, a break, and a file; or only a file.
pub fn run(input: &[u8]) {
    let (asked, file) = split(input, BREAK).unwrap_or((b"SELECT * FROM BlobStorage", input));
    answer(&String::from_utf8_lossy(asked), file);
}

/// The metadata of a file that is nothing else.
pub fn run_metadata(input: &[u8]) {
    answer("SELECT * FROM BlobStorage", &with_metadata(input));
}

pub fn with_metadata(metadata: &[u8]) -> Vec<u8> {
    [b"PAR1", metadata, &(metadata.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

fn answer(asked: &str, file: &[u8]) {
    let Ok(select) = sql::parse(asked) else { return };
    for output in [Output::Json("\n".into()), Output::Delimited(Default::default())] {
        let query = Query { select: select.clone(), input: Input::Parquet, output };
        let (answer, steps) = run_over(query, file, usize::MAX);
        framed(&answer);
        assert!(steps <= QUERY_STEPS + QUERY_STEPS_PER_BYTE * file.len() as u64 + RECORD_STEPS, "{steps} steps");
    }
}
