//! Requests, made once. An account SAS in the query keeps them static, so that the generator only writes bytes:
//! of the head nothing changes but some digits, those of the name mostly, and all connections send the same body. Where
//! digits of the body change, all of it stands in the head.

mod lake;

pub use lake::{By, FileSystem};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;

pub const ACCOUNT: &str = "devstoreaccount1";
/// The well-known development key, the same in every Azure Storage emulator.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
pub const VERSION: &str = "2021-06-08";
const DIGITS: usize = 10;

#[derive(Clone)]
pub struct Request {
    pub head: Vec<u8>,
    /// Where the name's number is, or parts of it.
    digits: Vec<Digits>,
    /// Which page of a blob is written.
    page: Option<Page>,
    /// Names are taken round robin from this many; without it every request has a new name.
    population: Option<u64>,
    /// In an order in which neighbours are far apart, instead of one after the other.
    scattered: bool,
    /// Which range of a file is meant, instead of which name.
    range: Option<Range>,
    pub body: Vec<u8>,
    /// The only status that counts as an answer.
    pub status: u16,
    /// The reply has no body whatever its Content-Length says.
    pub headless_reply: bool,
    /// What the body of a right answer is. Looked at once, before anything is measured.
    pub right: Right,
}

/// What is known of a body beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Right {
    Anything,
    Length(u64),
    /// [`noise`] of this length.
    Noise(usize),
    /// So many of this element.
    Elements(&'static str, u64),
    /// So many members of this name, in JSON.
    Members(&'static str, u64),
    Contains(&'static str),
}

impl Right {
    /// Says what is wrong with `body`.
    pub fn check(self, body: &[u8]) -> Result<(), String> {
        let differs = |what: &str, got: u64, wanted: u64| {
            if got == wanted { Ok(()) } else { Err(format!("expected {wanted} {what}, got {got}")) }
        };
        let bytes = body.len() as u64;
        match self {
            Right::Anything => Ok(()),
            Right::Length(length) => differs("bytes", bytes, length),
            Right::Noise(length) => {
                differs("bytes", bytes, length as u64)?;
                if body == noise(length) { Ok(()) } else { Err(format!("{length} bytes, but not those that were put")) }
            }
            Right::Elements(element, count) => {
                let text = String::from_utf8_lossy(body);
                differs(element, text.matches(&format!("<{element}>")).count() as u64, count)
            }
            Right::Members(member, count) => {
                let text = String::from_utf8_lossy(body);
                differs(member, text.matches(&format!("\"{member}\":")).count() as u64, count)
            }
            Right::Contains(part) => {
                let text = String::from_utf8_lossy(body);
                if text.contains(part) { Ok(()) } else { Err(format!("expected {part} in {text}")) }
            }
        }
    }
}

impl Request {
    pub fn scattered(self) -> Request {
        Request { scattered: true, ..self }
    }

    /// Puts the name's number into `head`, which is this request's head or a copy of it.
    pub fn set_number(&self, head: &mut [u8], number: u64) {
        if let Some(range) = &self.range {
            return range.set(head, number);
        }
        if let Some(page) = self.page {
            // An odd factor goes over all of them before it meets one again, here and there.
            let from = number.wrapping_mul(0x9E37_79B9) % page.count * page.bytes;
            write_number(head, page.range_at, from);
            write_number(head, page.range_at + DIGITS + 1, from + page.bytes - 1);
        }
        let number = if self.scattered { number.wrapping_mul(0x9E37_79B9_7F4A_7C15) } else { number };
        let number = self.population.map_or(number, |population| number % population);
        for digits in &self.digits {
            write_digits(&mut head[digits.at..][..digits.count], number / digits.unit);
        }
    }
}

/// The last `count` digits of how many times `unit` goes into the number.
#[derive(Clone, Copy)]
struct Digits {
    at: usize,
    count: usize,
    unit: u64,
}

impl Digits {
    fn name(at: usize) -> Digits {
        Digits { at, count: DIGITS, unit: 1 }
    }
}

/// `count` pages of so many bytes, and where in the head the range stands.
#[derive(Clone, Copy)]
struct Page {
    range_at: usize,
    bytes: u64,
    count: u64,
}

/// `x-ms-range: bytes=from-to`, with both ends in the head as ten digits.
#[derive(Clone)]
struct Range {
    from_at: usize,
    size: u64,
    slots: u64,
    /// One after the other, or all over the file.
    scattered: bool,
}

impl Range {
    fn set(&self, head: &mut [u8], number: u64) {
        // An odd factor visits every slot of a power of two.
        let number = if self.scattered { number.wrapping_mul(0x9E37_79B1) } else { number };
        let from = number % self.slots * self.size;
        write_number(head, self.from_at, from);
        write_number(head, self.from_at + DIGITS + 1, from + self.size - 1);
    }
}

fn write_number(head: &mut [u8], at: usize, number: u64) {
    write_digits(&mut head[at..][..DIGITS], number);
}

fn write_digits(to: &mut [u8], number: u64) {
    let mut rest = number;
    for digit in to.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Where blobs are: an Azure endpoint, or plain files under a directory of a web server.
pub enum Site {
    Azure,
    Files,
}

impl Site {
    pub fn put(&self, container: &str, body: Vec<u8>) -> Request {
        let extra = format!("x-ms-blob-type: BlockBlob\r\nContent-Length: {}\r\n", body.len());
        Request { body, ..self.numbered("PUT", container, &extra, 201) }
    }

    /// With nothing in it but its tags.
    pub fn put_tagged(&self, container: &str, tags: &str) -> Request {
        let extra = format!("x-ms-blob-type: BlockBlob\r\nx-ms-tags: {tags}\r\nContent-Length: 0\r\n");
        self.numbered("PUT", container, &extra, 201)
    }

    /// One of `population` blobs, each of which is `size` bytes of [`noise`].
    pub fn get(&self, container: &str, population: u64, size: usize) -> Request {
        let right = Right::Noise(size);
        Request { population: Some(population), right, ..self.numbered("GET", container, "", 200) }
    }

    pub fn head(&self, container: &str, population: u64) -> Request {
        Request { population: Some(population), headless_reply: true, ..self.numbered("HEAD", container, "", 200) }
    }

    /// Of a page blob of `length` bytes, or of an append blob.
    pub fn create(&self, container: &str, pages: Option<u64>) -> Request {
        let extra = match pages {
            Some(length) => format!("x-ms-blob-type: PageBlob\r\nx-ms-blob-content-length: {length}\r\n"),
            None => "x-ms-blob-type: AppendBlob\r\n".to_owned(),
        };
        self.numbered("PUT", container, &format!("{extra}Content-Length: 0\r\n"), 201)
    }

    /// To one of `population` append blobs.
    pub fn append(&self, container: &str, population: u64, body: Vec<u8>) -> Request {
        let extra = format!("Content-Length: {}\r\n", body.len());
        let request = self.numbered_with("PUT", container, "comp=appendblock&", &extra, 201);
        Request { population: Some(population), body, ..request }
    }

    /// Somewhere in one of `population` page blobs of `length` bytes.
    pub fn put_page(&self, container: &str, population: u64, length: u64, body: Vec<u8>) -> Request {
        const BEFORE: &str = "x-ms-range: bytes=";
        let zeros = "0".repeat(DIGITS);
        let length_header = format!("Content-Length: {}\r\n", body.len());
        let extra = format!("{BEFORE}{zeros}-{zeros}\r\nx-ms-page-write: update\r\n{length_header}");
        let request = self.numbered_with("PUT", container, "comp=page&", &extra, 201);
        let bytes = body.len() as u64;
        let page = Some(Page { range_at: behind(&request.head, BEFORE), bytes, count: length / bytes });
        Request { population: Some(population), page, body, ..request }
    }

    /// Of one blob, to new names.
    pub fn copy(&self, from: &str, number: u64, to: &str) -> Request {
        let source = format!("http://127.0.0.1/{ACCOUNT}/{from}/{}?{}", file_name(number), sas());
        let extra = format!("x-ms-copy-source: {source}\r\nContent-Length: 0\r\n");
        self.numbered("PUT", to, &extra, 202)
    }

    pub fn create_container(&self, container: &str) -> Request {
        request("PUT", &format!("/{ACCOUNT}/{container}?restype=container&{}", sas()), "Content-Length: 0\r\n", 201)
    }

    pub fn delete_container(&self, container: &str) -> Request {
        request("DELETE", &format!("/{ACCOUNT}/{container}?restype=container&{}", sas()), "", 202)
    }

    pub fn list_containers(&self) -> Request {
        request("GET", &format!("/{ACCOUNT}/?comp=list&{}", sas()), "", 200)
    }

    /// The first page of a container of `count` blobs.
    pub fn list(&self, container: &str, page: u64, count: u64) -> Request {
        let query = format!("restype=container&comp=list&maxresults={page}&{}", sas());
        let right = Right::Elements("Blob", page.min(count));
        Request { right, ..request("GET", &format!("/{ACCOUNT}/{container}?{query}"), "", 200) }
    }

    /// Any thousand of `count` blobs with consecutive names.
    #[cfg(feature = "rados")]
    pub fn list_thousand(&self, container: &str, count: u64) -> Request {
        const PREFIX: &str = "prefix=n";
        let zeros = "0".repeat(DIGITS - 3);
        let query = format!("restype=container&comp=list&maxresults=1000&{PREFIX}{zeros}&{}", sas());
        let request = request("GET", &format!("/{ACCOUNT}/{container}?{query}"), "", 200);
        let digits = vec![Digits { at: behind(&request.head, PREFIX), count: DIGITS - 3, unit: 1000 }];
        Request { digits, population: Some(count), right: Right::Elements("Blob", count.min(1000)), ..request }
    }

    /// The first page of a container that has more.
    pub fn list_versions(&self, container: &str, page: u64) -> Request {
        let query = format!("restype=container&comp=list&include=versions&maxresults={page}&{}", sas());
        let right = Right::Elements("Blob", page);
        Request { right, ..request("GET", &format!("/{ACCOUNT}/{container}?{query}"), "", 200) }
    }

    /// Finds `count` blobs.
    pub fn find(&self, container: &str, expression: &str, count: u64) -> Request {
        let query = format!("restype=container&comp=blobs&where={}&{}", encode(expression), sas());
        let right = Right::Elements("Blob", count);
        Request { right, ..request("GET", &format!("/{ACCOUNT}/{container}?{query}"), "", 200) }
    }

    fn numbered(&self, method: &str, container: &str, extra: &str, status: u16) -> Request {
        self.numbered_with(method, container, "", extra, status)
    }

    fn numbered_with(&self, method: &str, container: &str, query: &str, extra: &str, status: u16) -> Request {
        let before = match self {
            Site::Azure => format!("/{ACCOUNT}/{container}/n"),
            Site::Files => format!("/{container}/n"),
        };
        let query = match self {
            Site::Azure => format!("?{query}{}", sas()),
            Site::Files => String::new(),
        };
        let digits = vec![Digits::name(method.len() + 1 + before.len())];
        let zeros = "0".repeat(DIGITS);
        Request { digits, ..request(method, &format!("{before}{zeros}{query}"), extra, status) }
    }
}

/// The name that `number` has in a request, for those who write the file themselves.
pub fn file_name(number: u64) -> String {
    format!("n{number:0DIGITS$}")
}

/// Bytes that do not compress, the same in every run.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn request(method: &str, target: &str, extra: &str, status: u16) -> Request {
    let head = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\n{extra}\r\n");
    Request {
        head: head.into_bytes(),
        digits: Vec::new(),
        page: None,
        population: None,
        scattered: false,
        range: None,
        body: Vec::new(),
        status,
        headless_reply: false,
        right: Right::Anything,
    }
}

/// An S3 bucket that everybody may read and write.
#[cfg(feature = "rados")]
pub struct Bucket;

#[cfg(feature = "rados")]
impl Bucket {
    pub const NAME: &'static str = "bench";

    pub fn put(&self, body: Vec<u8>) -> Request {
        self.put_to("puts", body)
    }

    pub fn put_to(&self, prefix: &str, body: Vec<u8>) -> Request {
        let extra = format!("x-amz-acl: public-read\r\nContent-Length: {}\r\n", body.len());
        Request { body, ..self.numbered("PUT", prefix, &extra) }
    }

    pub fn get(&self, prefix: &str, population: u64, size: usize) -> Request {
        Request { population: Some(population), right: Right::Noise(size), ..self.numbered("GET", prefix, "") }
    }

    /// The first page of what begins so.
    pub fn list(&self, prefix: &str, page: u64) -> Request {
        let right = Right::Elements("Contents", page);
        let target = format!("/{}?prefix={prefix}&max-keys={page}", Self::NAME);
        Request { right, ..request("GET", &target, "", 200) }
    }

    fn numbered(&self, method: &str, prefix: &str, extra: &str) -> Request {
        let before = format!("/{}/{prefix}n", Self::NAME);
        let digits = vec![Digits::name(method.len() + 1 + before.len())];
        Request { digits, ..request(method, &format!("{before}{}", "0".repeat(DIGITS)), extra, 200) }
    }
}

/// Of a share: its files, or one file's ranges.
pub struct Share<'a>(pub &'a str);

impl Share<'_> {
    fn ask(&self, method: &str, path: &str, query: &str, extra: &str, status: u16) -> Request {
        let and = if query.is_empty() { "" } else { "&" };
        request(method, &format!("/{ACCOUNT}/{}{path}?{query}{and}{}", self.0, sas()), extra, status)
    }

    pub fn create(&self) -> Request {
        self.ask("PUT", "", "restype=share", "Content-Length: 0\r\n", 201)
    }

    pub fn snapshot(&self) -> Request {
        self.ask("PUT", "", "restype=share&comp=snapshot", "Content-Length: 0\r\n", 201)
    }

    pub fn create_directory(&self, path: &str) -> Request {
        self.ask("PUT", path, "restype=directory", "Content-Length: 0\r\n", 201)
    }

    pub fn rename_directory(&self, from: &str, to: &str) -> Request {
        let extra =
            format!("x-ms-file-rename-source: http://127.0.0.1/{ACCOUNT}/{}{from}\r\nContent-Length: 0\r\n", self.0);
        self.ask("PUT", to, "restype=directory&comp=rename", &extra, 200)
    }

    /// The first page of a directory of `count` files.
    pub fn list(&self, path: &str, page: u64, count: u64) -> Request {
        let right = Right::Elements("File", page.min(count));
        let query = format!("restype=directory&comp=list&maxresults={page}");
        Request { right, ..self.ask("GET", path, &query, "", 200) }
    }

    pub fn create_file(&self, path: &str, length: u64) -> Request {
        let extra = format!("x-ms-type: file\r\nx-ms-content-length: {length}\r\nContent-Length: 0\r\n");
        self.ask("PUT", path, "", &extra, 201)
    }

    /// A new empty file in a directory, at each request.
    pub fn create_files(&self, directory: &str) -> Request {
        let extra = "x-ms-type: file\r\nx-ms-content-length: 0\r\nContent-Length: 0\r\n";
        self.numbered("PUT", directory, extra, 201)
    }

    pub fn stat(&self, directory: &str, population: u64) -> Request {
        let request = self.numbered("HEAD", directory, "", 200);
        Request { population: Some(population), headless_reply: true, ..request }
    }

    fn numbered(&self, method: &str, directory: &str, extra: &str, status: u16) -> Request {
        let before = format!("/{ACCOUNT}/{}{directory}/n", self.0);
        let digits = vec![Digits::name(method.len() + 1 + before.len())];
        let zeros = "0".repeat(DIGITS);
        Request { digits, ..request(method, &format!("{before}{zeros}?{}", sas()), extra, status) }
    }

    pub fn write(&self, path: &str, size: usize, slots: u64, scattered: bool) -> Request {
        let extra = format!("x-ms-write: update\r\nContent-Length: {size}\r\n");
        let ranged = self.ranged("PUT", path, "comp=range", &extra, 201, (size as u64, slots, scattered));
        Request { body: noise(size), ..ranged }
    }

    pub fn read(&self, path: &str, size: usize, slots: u64, scattered: bool) -> Request {
        let ranged = self.ranged("GET", path, "", "", 206, (size as u64, slots, scattered));
        Request { right: Right::Length(size as u64), ..ranged }
    }

    fn ranged(
        &self,
        method: &str,
        path: &str,
        query: &str,
        extra: &str,
        status: u16,
        (size, slots, scattered): (u64, u64, bool),
    ) -> Request {
        let zeros = "0".repeat(DIGITS);
        let extra = format!("x-ms-range: bytes={zeros}-{zeros}\r\n{extra}");
        let request = self.ask(method, path, query, &extra, status);
        let from_at = behind(&request.head, "bytes=");
        Request { range: Some(Range { from_at, size, slots, scattered }), ..request }
    }
}

/// Of a table. Entities are named by ten digits, a thousand to a partition.
pub struct Table<'a>(pub &'a str);

impl Table<'_> {
    const HEADERS: &'static str = "Accept: application/json;odata=nometadata\r\nContent-Type: application/json\r\n\
                                   Prefer: return-no-content\r\n";

    /// One of `population` entities, by its keys.
    pub fn get(&self, population: u64, partition: u64) -> Request {
        let path = format!("/{ACCOUNT}/{}(PartitionKey='00000000',RowKey='0000000000')?{}", self.0, sas());
        let request = request("GET", &path, Self::HEADERS, 200);
        let of_partition = Digits { at: behind(&request.head, "PartitionKey='"), count: 8, unit: partition };
        let digits = vec![of_partition, Digits::name(behind(&request.head, "RowKey='"))];
        let right = Right::Contains("\"RowKey\":\"0000000000\"");
        Request { digits, right, population: Some(population), scattered: true, ..request }
    }

    /// A new entity at each request, in one of a hundred partitions. The keys of `entity` are `i00` and ten zeros, which the
    /// number replaces.
    pub fn insert(&self, entity: &str) -> Request {
        let extra = format!("{}Content-Length: {}\r\n", Self::HEADERS, entity.len());
        let mut request = request("POST", &format!("/{ACCOUNT}/{}?{}", self.0, sas()), &extra, 204);
        request.head.extend_from_slice(entity.as_bytes());
        let of_partition = Digits { at: behind(&request.head, "\"PartitionKey\":\"i"), count: 2, unit: 1 };
        let digits = vec![of_partition, Digits::name(behind(&request.head, "\"RowKey\":\""))];
        Request { digits, ..request }
    }
}

fn behind(head: &[u8], mark: &str) -> usize {
    head.windows(mark.len()).position(|part| part == mark.as_bytes()).map_or(0, |at| at + mark.len())
}

/// Asks a queue or a file service whether it is there.
pub fn list_queues() -> Request {
    request("GET", &format!("/{ACCOUNT}/?comp=list&{}", sas()), "", 200)
}

/// Asks a table service whether it is there.
pub fn list_tables() -> Request {
    request("GET", &format!("/{ACCOUNT}/Tables?{}", sas()), "Accept: application/json\r\n", 200)
}

pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// An account SAS for everything the benchmark does, valid for as long as anyone will run it.
pub fn sas() -> String {
    let (permissions, services, types, expiry) = ("rwdlacuptf", "bqtf", "sco", "2099-01-01T00:00:00Z");
    let text = format!("{ACCOUNT}\n{permissions}\n{services}\n{types}\n\n{expiry}\n\n\n{VERSION}\n\n");
    let key = BASE64_STANDARD.decode(KEY).expect("the development key is base64");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), text.as_bytes());
    let signature = BASE64_STANDARD.encode(signature);
    format!(
        "sv={VERSION}&ss={services}&srt={types}&sp={permissions}&se={}&sig={}",
        utf8_percent_encode(expiry, NON_ALPHANUMERIC),
        utf8_percent_encode(&signature, NON_ALPHANUMERIC)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_lands_in_the_name() {
        let request = Site::Azure.get("small", 1000, 1024);
        let mut head = request.head.clone();
        request.set_number(&mut head, 41_234);
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("GET /devstoreaccount1/small/n0000000234?sv="), "{head}");
        let request = request.scattered();
        let mut head = request.head.clone();
        request.set_number(&mut head, 2);
        let far = 2_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1000;
        assert!(head.starts_with(format!("GET /devstoreaccount1/small/n{far:010}?sv=").as_bytes()));
        let request = Site::Azure.put_page("pages", 8, 1 << 20, vec![0; 4096]);
        let mut head = request.head.clone();
        request.set_number(&mut head, 3);
        let head = String::from_utf8(head).unwrap();
        let page = 3 * 0x9E37_79B9_u64 % 256 * 4096;
        assert!(head.contains(&format!("x-ms-range: bytes={page:010}-{:010}\r\n", page + 4095)), "{head}");
        assert!(head.starts_with("PUT /devstoreaccount1/pages/n0000000003?comp=page&sv="), "{head}");
        let file = Site::Files.get("small", 1000, 1024);
        assert!(file.head.starts_with(format!("GET /small/{} HTTP/1.1\r\n", file_name(0)).as_bytes()));
    }

    #[test]
    fn a_wrong_answer_is_noticed() {
        let (blobs, noisy) = ("<Blob></Blob><Blob></Blob>", noise(100));
        let paths = br#"{"paths":[{"name":"a"},{"name":"b"}]}"#;
        let table: [(Right, &[u8], bool); 13] = [
            (Right::Members("name", 2), paths, true),
            (Right::Members("name", 3), paths, false),
            (Right::Anything, b"", true),
            (Right::Length(3), b"abc", true),
            (Right::Length(3), b"ab", false),
            (Right::Noise(100), &noisy, true),
            (Right::Noise(100), &noisy[..99], false),
            (Right::Noise(100), &[0; 100], false),
            (Right::Elements("Blob", 2), blobs.as_bytes(), true),
            (Right::Elements("Blob", 3), blobs.as_bytes(), false),
            (Right::Elements("File", 2), blobs.as_bytes(), false),
            (Right::Contains("Blob"), blobs.as_bytes(), true),
            (Right::Contains("File"), blobs.as_bytes(), false),
        ];
        for (right, body, good) in table {
            assert_eq!(right.check(body).is_ok(), good, "{right:?} of {} bytes", body.len());
        }
    }

    #[test]
    fn the_number_becomes_the_keys_of_an_entity() {
        let filled = |request: Request, number| {
            let mut head = request.head.clone();
            request.set_number(&mut head, number);
            String::from_utf8(head).unwrap()
        };
        let get = Request { scattered: false, ..Table("bench").get(1_000_000, 1000) };
        let head = filled(get, 7_123_456);
        assert!(head.contains("/bench(PartitionKey='00000123',RowKey='0000123456')?"), "{head}");
        let insert = Table("writes").insert(r#"{"PartitionKey":"i00","RowKey":"0000000000"}"#);
        let head = filled(insert, 4711);
        assert!(head.ends_with(r#"{"PartitionKey":"i11","RowKey":"0000004711"}"#), "{head}");
    }

    #[test]
    fn the_number_becomes_a_range() {
        let request = Share("bench").read("/file", 4096, 16, false);
        let mut head = request.head.clone();
        request.set_number(&mut head, 17);
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("x-ms-range: bytes=0000004096-0000008191\r\n"), "{head}");
    }
}
