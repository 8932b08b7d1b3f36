//! A report as a Parquet file: each field is a column of its own, and what a blob has nothing to say to is null. Pages are plain and not packed,
//! one to a column and row group ("Apache Parquet", file format; Thrift's compact protocol).
//!
//! Held true: only the rows of one group are held; what is kept of earlier groups is where their columns are.

use crate::Timestamp;

const MAGIC: &[u8] = b"PAR1";

/// How a field is kept. Times are numbers, as in Azure's reports (azure-docs#94477): milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Flag,
    Number,
    Time,
    Text,
}

impl ColumnKind {
    fn of(field: &str) -> Self {
        match field {
            "Content-Length" | "TagCount" | "RemainingRetentionDays" | "x-ms-blob-sequence-number" => Self::Number,
            "Creation-Time" | "Last-Modified" | "AccessTierChangeTime" => Self::Time,
            "Expiry-Time" | "LastAccessTime" | "DeletedTime" => Self::Time,
            "AccessTierInferred" | "ServerEncrypted" | "IsCurrentVersion" | "Deleted" | "LegalHold" => Self::Flag,
            "DenyEncryptionScopeOverride" | "HasImmutabilityPolicy" | "HasLegalHold" => Self::Flag,
            _ => Self::Text,
        }
    }

    /// `Type` of the format: BOOLEAN, INT64 or BYTE_ARRAY.
    fn physical(self) -> i64 {
        match self {
            Self::Flag => 0,
            Self::Number | Self::Time => 2,
            Self::Text => 6,
        }
    }
}

/// The values of one column in the row group under way.
#[derive(Debug)]
struct ReportColumn {
    name: String,
    kind: ColumnKind,
    /// Whether each row has one.
    present: Vec<bool>,
    /// Those that are there, but for flags.
    values: Vec<u8>,
    flags: Vec<bool>,
}

/// Where a column of a written group is.
#[derive(Debug)]
struct WrittenChunk {
    offset: u64,
    length: u64,
}

#[derive(Debug)]
struct WrittenGroup {
    rows: u64,
    chunks: Vec<WrittenChunk>,
}

#[derive(Debug)]
pub struct ParquetReport {
    columns: Vec<ReportColumn>,
    groups: Vec<WrittenGroup>,
    /// Bytes given away so far.
    offset: u64,
}

impl ParquetReport {
    pub fn new(fields: &[String]) -> Self {
        let column = |name: &String| ReportColumn {
            name: name.clone(),
            kind: ColumnKind::of(name),
            present: Vec::new(),
            values: Vec::new(),
            flags: Vec::new(),
        };
        Self { columns: fields.iter().map(column).collect(), groups: Vec::new(), offset: 0 }
    }

    pub fn add(&mut self, fields: &[String]) {
        for (column, text) in self.columns.iter_mut().zip(fields) {
            column.add(text);
        }
    }

    /// About how many bytes the rows of the next group take.
    pub fn held(&self) -> usize {
        self.columns.iter().map(|column| column.values.len() + column.present.len()).sum()
    }

    /// The rows that were added, as a row group.
    pub fn take_group(&mut self) -> Vec<u8> {
        let rows = self.columns.first().map_or(0, |column| column.present.len());
        let mut bytes = if self.offset == 0 { MAGIC.to_vec() } else { Vec::new() };
        if rows > 0 {
            let start = self.offset;
            let mut chunks = Vec::with_capacity(self.columns.len());
            for column in &mut self.columns {
                let offset = start + bytes.len() as u64;
                column.take_page(&mut bytes);
                chunks.push(WrittenChunk { offset, length: start + bytes.len() as u64 - offset });
            }
            self.groups.push(WrittenGroup { rows: rows as u64, chunks });
        }
        self.offset += bytes.len() as u64;
        bytes
    }

    /// What is left, and the end of the file.
    pub fn end(&mut self) -> Vec<u8> {
        let mut bytes = self.take_group();
        let footer = self.footer();
        bytes.extend_from_slice(&footer);
        bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }

    /// `FileMetaData`.
    fn footer(&self) -> Vec<u8> {
        let mut out = Thrift::default();
        out.int(1, 1);
        out.list(2, STRUCT, self.columns.len() + 1);
        out.begin();
        out.binary(4, b"schema");
        out.int(5, self.columns.len() as i64);
        out.end();
        for column in &self.columns {
            out.begin();
            out.int(1, column.kind.physical());
            out.int(3, 1); // OPTIONAL
            out.binary(4, column.name.as_bytes());
            if column.kind == ColumnKind::Text {
                out.int(6, 0); // UTF8
            }
            out.end();
        }
        out.long(3, self.groups.iter().map(|group| group.rows).sum());
        out.list(4, STRUCT, self.groups.len());
        for group in &self.groups {
            self.group(&mut out, group);
        }
        out.binary(6, b"lazuli");
        out.stop();
        out.bytes
    }

    /// `RowGroup`, with its `ColumnChunk`s and their `ColumnMetaData`.
    fn group(&self, out: &mut Thrift, group: &WrittenGroup) {
        out.begin();
        out.list(1, STRUCT, group.chunks.len());
        for (column, chunk) in self.columns.iter().zip(&group.chunks) {
            out.begin();
            out.long(2, chunk.offset);
            out.open(3);
            out.int(1, column.kind.physical());
            out.list(2, I32, 2);
            out.zigzag(0); // PLAIN, of values
            out.zigzag(3); // RLE, of what is there
            out.list(3, BINARY, 1);
            out.text(column.name.as_bytes());
            out.int(4, 0); // UNCOMPRESSED
            out.long(5, group.rows);
            out.long(6, chunk.length);
            out.long(7, chunk.length);
            out.long(9, chunk.offset);
            out.end();
            out.end();
        }
        out.long(2, group.chunks.iter().map(|chunk| chunk.length).sum());
        out.long(3, group.rows);
        out.end();
    }
}

impl ReportColumn {
    fn add(&mut self, text: &str) {
        if text.is_empty() {
            self.present.push(false);
            return;
        }
        let is_there = match self.kind {
            ColumnKind::Text => {
                self.values.extend_from_slice(&(text.len() as u32).to_le_bytes());
                self.values.extend_from_slice(text.as_bytes());
                true
            }
            ColumnKind::Flag => {
                self.flags.push(text == "true");
                true
            }
            ColumnKind::Number => self.add_number(text.parse().ok()),
            ColumnKind::Time => self.add_number(Timestamp::parse_iso(text).and_then(unix_milliseconds)),
        };
        self.present.push(is_there);
    }

    fn add_number(&mut self, number: Option<i64>) -> bool {
        self.values.extend(number.into_iter().flat_map(i64::to_le_bytes));
        number.is_some()
    }

    /// `PageHeader` with a `DataPageHeader`; which rows have a value, and the values. The column is empty then.
    fn take_page(&mut self, bytes: &mut Vec<u8>) {
        let levels = runs(&self.present);
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend_from_slice(&levels);
        page.append(&mut self.values);
        page.extend(self.flags.chunks(8).map(|eight| {
            eight.iter().enumerate().fold(0, |byte, (at, flag)| if *flag { byte | 1 << at } else { byte })
        }));
        let mut out = Thrift::default();
        out.int(1, 0); // DATA_PAGE
        out.int(2, page.len() as i64);
        out.int(3, page.len() as i64);
        out.open(5);
        out.int(1, self.present.len() as i64);
        out.int(2, 0); // PLAIN
        out.int(3, 3); // RLE
        out.int(4, 3); // RLE
        out.end();
        out.stop();
        bytes.extend_from_slice(&out.bytes);
        bytes.extend_from_slice(&page);
        self.present.clear();
        self.flags.clear();
    }
}

fn unix_milliseconds(time: Timestamp) -> Option<i64> {
    let epoch = Timestamp::parse_iso("1970-01-01T00:00:00Z")?;
    let ticks = i64::try_from(time.ticks()).ok()? - i64::try_from(epoch.ticks()).ok()?;
    Some(ticks / 10_000)
}

/// Levels of one bit, as runs of the same.
fn runs(present: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in present.chunk_by(|one, other| one == other) {
        varint(&mut bytes, (run.len() as u64) << 1);
        bytes.push(u8::from(run[0]));
    }
    bytes
}

fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Thrift's compact protocol, written.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    /// The last field of the struct under way, and of those around it.
    last: u8,
    around: Vec<u8>,
}

impl Thrift {
    fn field(&mut self, id: u8, kind: u8) {
        debug_assert!((1..=15).contains(&(id - self.last)), "fields come in order, and close to each other");
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn zigzag(&mut self, number: i64) {
        varint(&mut self.bytes, ((number << 1) ^ (number >> 63)) as u64);
    }

    fn int(&mut self, id: u8, number: i64) {
        self.field(id, I32);
        self.zigzag(number);
    }

    fn long(&mut self, id: u8, number: u64) {
        self.field(id, I64);
        self.zigzag(number as i64);
    }

    fn text(&mut self, text: &[u8]) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    fn binary(&mut self, id: u8, text: &[u8]) {
        self.field(id, BINARY);
        self.text(text);
    }

    fn list(&mut self, id: u8, kind: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    /// A struct as an element of a list.
    fn begin(&mut self) {
        self.around.push(std::mem::take(&mut self.last));
    }

    /// A struct as a field.
    fn open(&mut self, id: u8) {
        self.field(id, STRUCT);
        self.begin();
    }

    fn end(&mut self) {
        self.stop();
        self.last = self.around.pop().unwrap_or_default();
    }

    fn stop(&mut self) {
        self.bytes.push(0);
    }
}
