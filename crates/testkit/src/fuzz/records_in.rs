//! Blobs of delimited text and of JSON under some queries that are known to be dear. However the bytes are cut, records are the same
//! and the answer is whole.

use lazuli_query::delimited::Delimited;
use lazuli_query::{Input, Output, Query, sql};

use super::query::{framed, rows, run_over, values};

pub const WORDS: &[&str] =
    &["\"", ",", "\n", "\r\n", "\\", "{\"a\":", "[", "]", "}", "null", "1e9", "\u{1F600}", "\u{0}"];

const QUERIES: [&str; 5] = [
    "SELECT * FROM BlobStorage",
    "SELECT _1, a FROM BlobStorage WHERE _1 LIKE '%a_b%' OR a LIKE '%aab'",
    "SELECT _1||_1||_1, TRIM(_1), UPPER(a) FROM BlobStorage",
    "SELECT COUNT(*), MIN(_1), MAX(a) FROM BlobStorage",
    "SELECT * FROM BlobStorage[*].a[*]",
];

pub fn run_delimited(blob: &[u8]) {
    let forms = [
        Delimited { headers: true, ..Delimited::default() },
        Delimited { record: "\r\n".into(), escape: Some('\\'), ..Delimited::default() },
        Delimited { column: "ab".into(), record: "aab".into(), quote: None, ..Delimited::default() },
    ];
    for form in forms {
        assert_eq!(rows(&form, blob, blob.len().max(1)), rows(&form, blob, 3), "{form:?}");
        answers(&Input::Delimited(form), blob);
    }
}

pub fn run_json(blob: &[u8]) {
    assert_eq!(values(blob, blob.len().max(1)), values(blob, 3));
    answers(&Input::Json("\n".into()), blob);
}

/// One of the queries: which, is drawn from the input.
fn answers(input: &Input, blob: &[u8]) {
    let at = blob.iter().fold(blob.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let select = sql::parse(QUERIES[at % QUERIES.len()]).expect("a query");
    let query = Query { select, input: input.clone(), output: Output::Json("\n".into()) };
    framed(&run_over(query.clone(), blob, blob.len().max(1)).0);
    framed(&run_over(query, blob, 7).0);
}
