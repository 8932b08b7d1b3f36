//! What is fuzzed: one function per kind of input, each of which takes any bytes and panics when a property does not hold.
//!
//! They live here once and are run twice: by libFuzzer, which looks for new inputs (`./fuzz`), and by an ordinary test, which
//! goes over the kept corpora and seeded mutations of them. "Does not panic" is the least of the properties: what is printed reads
//! back, what is cut differently comes out the same, what was signed cannot be changed.

pub mod batch;
pub mod entities;
pub mod filter;
pub mod http;
pub mod mutate;
pub mod permissions;
pub mod query;
pub mod records;
mod request;
pub mod signatures;
pub mod structured;
pub mod tags;
pub mod values;
pub mod xml;

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Words worth putting into an input.
    pub words: &'static [&'static str],
}

pub const TARGETS: &[Target] = &[
    Target { name: "batch", run: batch::run, words: batch::WORDS },
    Target { name: "entities", run: entities::run, words: entities::WORDS },
    Target { name: "filter", run: filter::run, words: filter::WORDS },
    Target { name: "http", run: http::run, words: http::WORDS },
    Target { name: "permissions", run: permissions::run, words: permissions::WORDS },
    Target { name: "query", run: query::run, words: query::WORDS },
    Target { name: "records", run: records::run, words: &[] },
    Target { name: "signatures", run: signatures::run, words: signatures::WORDS },
    Target { name: "structured", run: structured::run, words: &[] },
    Target { name: "tags", run: tags::run, words: tags::WORDS },
    Target { name: "values", run: values::run, words: values::WORDS },
    Target { name: "xml", run: xml::run, words: xml::WORDS },
];
