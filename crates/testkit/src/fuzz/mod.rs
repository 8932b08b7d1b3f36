//! What is fuzzed: one function per kind of input, each of which takes any bytes and panics when a property does not hold.
//!
//! They live here once and are run twice: by libFuzzer, which looks for new inputs (`./fuzz`), and by an ordinary test, which
//! goes over the kept corpora and seeded mutations of them. Both measure what each input costs ([`cost`]). "Does not panic" is the least of the properties: what is printed reads
//! back, what is cut differently comes out the same, what was signed cannot be changed.

pub mod batch;
pub mod cost;
pub mod entities;
pub mod filter;
pub mod http;
pub mod mutate;
pub mod parquet;
pub mod permissions;
pub mod query;
pub mod records;
pub mod records_in;
mod request;
pub mod signatures;
pub mod smb;
pub mod smb_connection;
pub mod smb_logon;
pub mod smb_rpc;
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

impl Target {
    /// Runs it on an input, which has to be worth its cost.
    pub fn feed(&self, input: &[u8]) {
        cost::measured(self.name, input.len(), || (self.run)(input));
    }

    pub fn named(name: &str) -> &'static Self {
        TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
    }
}

pub const TARGETS: &[Target] = &[
    Target { name: "batch", run: batch::run, words: batch::WORDS },
    Target { name: "delimited", run: records_in::run_delimited, words: records_in::WORDS },
    Target { name: "entities", run: entities::run, words: entities::WORDS },
    Target { name: "filter", run: filter::run, words: filter::WORDS },
    Target { name: "http", run: http::run, words: http::WORDS },
    Target { name: "json", run: records_in::run_json, words: records_in::WORDS },
    Target { name: "parquet", run: parquet::run, words: parquet::WORDS },
    Target { name: "permissions", run: permissions::run, words: permissions::WORDS },
    Target { name: "query", run: query::run, words: query::WORDS },
    Target { name: "records", run: records::run, words: &[] },
    Target { name: "signatures", run: signatures::run, words: signatures::WORDS },
    Target { name: "smb", run: smb::run, words: smb::WORDS },
    Target { name: "smb_connection", run: smb_connection::run, words: smb_connection::WORDS },
    Target { name: "smb_logon", run: smb_logon::run, words: smb_logon::WORDS },
    Target { name: "smb_rpc", run: smb_rpc::run, words: &[] },
    Target { name: "structured", run: structured::run, words: &[] },
    Target { name: "tags", run: tags::run, words: tags::WORDS },
    Target { name: "thrift", run: parquet::run_metadata, words: parquet::WORDS },
    Target { name: "values", run: values::run, words: values::WORDS },
    Target { name: "xml", run: xml::run, words: xml::WORDS },
];
