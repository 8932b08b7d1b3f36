//! What inputs cost. Every input that a target gets is measured, and has to cost no more than its length justifies; and for each parser
//! there are families of inputs that grow, of the kinds that parsers are slow with. The cost of a family may grow with its length, not faster.
//!
//! Time is that of the thread's processor, so that others on the machine do not count; memory is the most that was resident.

use std::fmt;
use std::time::Duration;

use lazuli_http::table::{atom, json, selection};
use lazuli_http::wire::multipart::{Part, sections};
use lazuli_http::wire::xml;
use lazuli_model::Tags;
use lazuli_model::file::{Format, Sddl};
use lazuli_model::lake::Acl;
use lazuli_model::replication::ReplicationPolicies;
use lazuli_model::table::Filter;
use lazuli_model::tags::{TagCondition, TagSearch};
use lazuli_model::{inventory, lifecycle};
use lazuli_query::delimited::Delimited;
use lazuli_query::{Input, Output, Query, sql};
use rustix::time::{ClockId, clock_gettime};

use super::parquet::with_metadata;
use super::query::run_over;

/// An input may cost so much, and so much more for each byte. Of a debug build, on a machine that others use too.
const INPUT_COST: Duration = Duration::from_secs(10);
const BYTE_COST: Duration = Duration::from_micros(200);

/// Runs `work` on an input of so many bytes.
pub fn measured(name: &str, bytes: usize, work: impl FnOnce()) {
    let began = processor_time();
    work();
    let cost = processor_time().saturating_sub(began);
    let most = INPUT_COST + BYTE_COST * u32::try_from(bytes).unwrap_or(u32::MAX);
    assert!(cost <= most, "{name}: an input of {bytes} bytes cost {cost:?}");
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Inputs of one kind, as long as one likes.
pub struct Family {
    pub name: &'static str,
    /// Of about so many bytes.
    make: fn(usize) -> Vec<u8>,
    run: fn(&[u8]),
}

/// What a family came to.
pub struct Cost {
    pub bytes: usize,
    pub time: Duration,
    /// Growth of what was resident at most, in KiB.
    pub memory_kib: u64,
}

impl Cost {
    pub fn seconds_per_mebibyte(&self) -> f64 {
        self.time.as_secs_f64() * (1 << 20) as f64 / self.bytes as f64
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.seconds_per_mebibyte();
        write!(f, "{} bytes, {:?}, {rate:.3} s/MiB, {} KiB", self.bytes, self.time, self.memory_kib)
    }
}

impl Family {
    pub fn cost(&self, bytes: usize) -> Cost {
        let input = (self.make)(bytes);
        let before = resident_kib(true);
        let began = processor_time();
        (self.run)(&input);
        let time = processor_time().saturating_sub(began);
        Cost { bytes: input.len(), time, memory_kib: resident_kib(false).saturating_sub(before) }
    }
}

/// What is resident; with `anew`, the mark of the most that was is set back to that first.
fn resident_kib(anew: bool) -> u64 {
    if anew {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

macro_rules! family {
    ($name:literal, $make:expr, $run:expr) => {
        Family { name: $name, make: $make, run: $run }
    };
}

pub const FAMILIES: &[Family] = &[
    family!("xml: a block list", |n| around("<BlockList>", "<Latest>AAAA</Latest>", "</BlockList>", n), block_list),
    family!("xml: one level in another", |n| around("", "<BlockList>", "", n), block_list),
    family!(
        "xml: references",
        |n| around("<QueueMessage><MessageText>", "&lt;", "</MessageText></QueueMessage>", n),
        xml_all
    ),
    family!("xml: attributes", |n| numbered("<BlockList ", "a{}='' ", "/>", n), block_list),
    family!(
        "xml: sections",
        |n| around("<StorageServiceProperties>", "<Cors/>", "</StorageServiceProperties>", n),
        xml_all
    ),
    family!(
        "xml: rules",
        |n| around("<StorageServiceProperties><Cors>", "<CorsRule/>", "</Cors></StorageServiceProperties>", n),
        xml_all
    ),
    family!(
        "xml: tags",
        |n| numbered("<Tags><TagSet>", "<Tag><Key>k{}</Key><Value>v</Value></Tag>", "</TagSet></Tags>", n),
        xml_all
    ),
    family!(
        "xml: analytics",
        |n| around(
            "<StorageServiceProperties>",
            "<Logging><Version>1.0</Version><Read>true</Read></Logging><HourMetrics><Enabled>true</Enabled></HourMetrics>",
            "</StorageServiceProperties>",
            n
        ),
        xml_all
    ),
    family!(
        "xml: entities of a document type",
        |n| numbered("<!DOCTYPE a [", "<!ENTITY e{} '&e0;&e0;'>", "]><StorageServiceProperties/>", n),
        xml_all
    ),
    family!("xml: comments", |n| around("", "<!-- -->", "<BlockList/>", n), block_list),
    family!(
        "entity: annotations",
        |n| numbered("{", "\"p{}@odata.type\":\"Edm.Int64\",\"p{}\":\"1\",", "\"RowKey\":\"a\"}", n),
        entity
    ),
    family!("entity: escapes", |n| around("{\"a\":\"", "\\u0041", "\"}", n), entity),
    family!("entity: one level in another", |n| around("{\"a\":", "[", "", n), entity),
    family!("atom: properties", |n| numbered("<m:properties>", "<d:p{}>1</d:p{}>", "</m:properties>", n), entry),
    family!("atom: attributes", |n| numbered("<m:properties><d:a ", "a{}='' ", ">1</d:a></m:properties>", n), entry),
    family!("atom: one level in another", |n| around("", "<a>", "", n), entry),
    family!("$select", |n| numbered("", "z{},", "", n), |input| drop(selection::Selection::read(&text(input)))),
    family!("$select, one name", |n| around("", "z1,", "", n), |input| drop(selection::Selection::read(&text(input)))),
    family!("$filter: terms", |n| around("", "a eq 1 or ", "a eq 1", n), filter),
    family!("$filter: parentheses", |n| around("", "(", "", n), filter),
    family!("$filter: negations", |n| around("", "not ", "a", n), filter),
    family!("$filter: quotes", |n| around("a eq '", "''", "'", n), filter),
    family!("tags: pairs", |n| numbered("", "k{}=v&", "a=b", n), |input| drop(Tags::parse_query(&text(input)))),
    family!("tags: condition", |n| around("", "a='b' AND ", "a='b'", n), tags),
    family!("tags: parentheses", |n| around("", "(", "", n), tags),
    family!("access control lists: entries", |n| numbered("", "user:u{}:rwx,", "other::---", n), |input| {
        let _ = Acl::parse(&text(input), false);
        let _ = Acl::parse(&text(input), true);
    }),
    family!("access control lists: colons", |n| around("", ":", "", n), |input| drop(Acl::parse(&text(input), false))),
    family!("policies: rules", |n| numbered("{\"rules\":[", "{\"name\":\"r{}\"},", "0]}", n), policies),
    family!("policies: members", |n| numbered("{", "\"m{}\":[{}],", "\"rules\":[]}", n), policies),
    family!("policies: one level in another", |n| around("", "{\"rules\":[", "", n), policies),
    family!("policies: many of them", |n| around("[", "{\"properties\":{}},", "{}]", n), policies),
    family!("policies: escapes", |n| around("{\"type\":\"", "\\u0041", "\"}", n), policies),
    family!("SDDL: entries", |n| around("O:SYG:SYD:", "(A;;FA;;;SY)", "", n), descriptor),
    family!(
        "batch: parts",
        |n| around("", "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/b HTTP/1.1\r\n\r\n\r\n", "--b--\r\n", n),
        parts
    ),
    family!("batch: headers", |n| numbered("--b\r\n", "h{}: v\r\n", "\r\nGET /c HTTP/1.1\r\n\r\n--b--\r\n", n), parts),
    family!("batch: false ends", |n| around("--b\r\n\r\n", " --b", "\r\n--b--", n), parts),
    family!("SQL: columns", |n| numbered("SELECT ", "c{},", "a FROM BlobStorage", n / 2), |input| select(
        &text(input),
        b"a,b\n1,2\n",
        8
    )),
    family!("SQL: alternatives", |n| around("SELECT * FROM BlobStorage WHERE ", "_1=1 OR ", "_1=1", n / 2), |input| {
        select(&text(input), b"0\n", 8)
    }),
    family!("SQL: a list", |n| around("SELECT * FROM BlobStorage WHERE _1 IN (", "1,", "1)", n / 2), |input| select(
        &text(input),
        b"0\n",
        8
    )),
    family!("SQL: a path", |n| around("SELECT * FROM BlobStorage", "[*]", "", n / 2), |input| select(
        &text(input),
        b"0\n",
        8
    )),
    family!("SQL: parentheses", |n| around("SELECT ", "(", "", n / 2), |input| select(&text(input), b"0\n", 8)),
    family!("CSV: LIKE", |n| around("", "a", "", n), |input| {
        select(
            &format!("SELECT * FROM BlobStorage WHERE _1 LIKE '%{}b'", "a".repeat((input.len() / 2).min(100_000))),
            input,
            4096,
        );
    }),
    family!("CSV: LIKE with _", |n| around("", "a", "", n), |input| {
        select(
            &format!("SELECT * FROM BlobStorage WHERE _1 LIKE '%{}_b%'", "a".repeat((input.len() / 2).min(100_000))),
            input,
            4096,
        );
    }),
    family!("CSV: joined", |n| around("", "a", "", n), |input| {
        select(&format!("SELECT _1{} FROM BlobStorage", "||_1".repeat(200)), input, 4096);
    }),
    family!("CSV: trimmed", |n| around("", "a", "b", n), |input| {
        select("SELECT CHAR_LENGTH(TRIM(BOTH _1 FROM _1)) FROM BlobStorage", input, 4096);
    }),
    family!("CSV: a quoted record in small pieces", |n| around("\"", "x", "\"", n), |input| {
        select("SELECT COUNT(*) FROM BlobStorage", input, 16);
    }),
    family!("CSV: many columns, short records", |n| numbered("", "c{},", &"\n1".repeat(n / 4), n / 2), |input| {
        let form = Delimited { headers: true, ..Delimited::default() };
        ask("SELECT c1, nobody FROM BlobStorage", Input::Delimited(form), input, 4096);
    }),
    family!("CSV: fields", |n| around("", ",", "", n), |input| select("SELECT * FROM BlobStorage", input, 4096)),
    family!("JSON: a text in small pieces", |n| around("\"", "x", "\"", n), |input| json_query(
        "SELECT * FROM BlobStorage",
        input,
        16
    )),
    family!("JSON: arrays", |n| around("[", "[0],", "0]", n), |input| json_query(
        "SELECT * FROM BlobStorage[*]",
        input,
        4096
    )),
    family!("JSON: one level in another", |n| around("", "[", "", n), |input| json_query(
        "SELECT * FROM BlobStorage",
        input,
        4096
    )),
    family!("JSON: members nobody has", |n| numbered("{", "\"m{}\":1,", "\"a\":1}", n), |input| {
        let names: Vec<String> = (0..2000).map(|at| format!("n{at}")).collect();
        json_query(&format!("SELECT {} FROM BlobStorage", names.join(",")), input, 4096);
    }),
    family!("Parquet: lists in lists", |n| vec![0x19; n], parquet),
    family!("Parquet: maps in maps", |n| [0x1b, 1, 0xbb].repeat(n / 3), parquet),
    family!(
        "Parquet: a list of booleans",
        |n| [&[0x19, 0xf1][..], &varint(n as u64), &vec![1; n], &[0]].concat(),
        parquet
    ),
    family!(
        "Parquet: a list of empty structs",
        |n| [&[0x49, 0xfc][..], &varint(n as u64), &vec![0; n], &[0]].concat(),
        parquet
    ),
    family!(
        "Parquet: fields of a schema",
        |n| {
            let count = n / 7;
            let root = [&[0x48, 1, b'r', 0x15][..], &varint(2 * count as u64), &[0]].concat();
            [&[0x29, 0xfc][..], &varint(1 + count as u64), &root, &[0x15, 2, 0x38, 1, b'c', 0, 0].repeat(count), &[0]]
                .concat()
        },
        parquet
    ),
];

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

fn around(before: &str, again: &str, behind: &str, bytes: usize) -> Vec<u8> {
    format!("{before}{}{behind}", again.repeat(bytes / again.len())).into_bytes()
}

/// As `around`, with a number in place of each `{}`.
fn numbered(before: &str, again: &str, behind: &str, bytes: usize) -> Vec<u8> {
    let mut out = before.to_owned();
    for at in 0.. {
        if out.len() >= bytes {
            break;
        }
        out += &again.replace("{}", &at.to_string());
    }
    (out + behind).into_bytes()
}

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

fn block_list(input: &[u8]) {
    let _ = xml::read_block_list(input);
}

fn xml_all(input: &[u8]) {
    let _ = xml::read_service_properties(input);
    let _ = xml::read_file_service_properties(input);
    let _ = xml::read_signed_identifiers(input, xml::letters::CONTAINER);
    let _ = xml::read_message(input);
    let _ = xml::read_tags(input);
    let _ = xml::read_query(input);
}

fn entity(input: &[u8]) {
    let _ = json::read_entity(input);
    let _ = json::read_table(input);
}

fn entry(input: &[u8]) {
    let _ = atom::read_entity(input);
    let _ = atom::read_table(input);
}

fn filter(input: &[u8]) {
    let _ = Filter::parse(&text(input));
}

fn tags(input: &[u8]) {
    let _ = TagCondition::parse(&text(input));
    let _ = TagSearch::parse(&text(input));
}

/// The documents that accounts are given.
fn policies(input: &[u8]) {
    let _ = lifecycle::Policy::parse(&text(input));
    let _ = inventory::Policy::parse(&text(input));
    let _ = ReplicationPolicies::parse(&text(input));
}

fn descriptor(input: &[u8]) {
    let _ = Sddl::parse(&text(input), Format::Sddl).map(|sddl| sddl.key());
}

fn parts(input: &[u8]) {
    for section in sections(input, "b", usize::MAX).unwrap_or_default() {
        drop(Part::read(section).and_then(|part| part.request()));
    }
}

fn select(text: &str, blob: &[u8], step: usize) {
    ask(text, Input::Delimited(Delimited::default()), blob, step);
}

fn json_query(text: &str, blob: &[u8], step: usize) {
    ask(text, Input::Json("\n".into()), blob, step);
}

fn ask(text: &str, input: Input, blob: &[u8], step: usize) {
    if let Ok(select) = sql::parse(text) {
        run_over(Query { select, input, output: Output::Json("\n".into()) }, blob, step);
    }
}

fn parquet(metadata: &[u8]) {
    let select = sql::parse("SELECT * FROM BlobStorage").expect("a query");
    let query = Query { select, input: Input::Parquet, output: Output::Json("\n".into()) };
    run_over(query, &with_metadata(metadata), usize::MAX);
}
