//! Arrow's IPC stream format, as much of it as answers need: a schema of flat columns, and batches of rows. Written by
//! hand, because the crates that write it are larger than all the rest of this server ("Arrow Columnar Format" is the source).

use crate::value::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int64,
    Double,
    Text,
    /// Milliseconds since 1970, UTC.
    Time,
    Decimal {
        precision: i32,
        scale: i32,
    },
    /// Text by text; null where there is none.
    Map,
}

impl Kind {
    pub fn parse(text: &str, precision: i32, scale: i32) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "bool" => Kind::Bool,
            "int64" => Kind::Int64,
            "double" => Kind::Double,
            "string" => Kind::Text,
            "timestamp[ms]" => Kind::Time,
            "decimal" => Kind::Decimal { precision: precision.clamp(1, 38), scale },
            _ => return None,
        })
    }
}

/// A cell. Times and decimals are whole numbers already.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Map(Vec<(String, String)>),
}

const TICKS_PER_MILLISECOND: u64 = 10_000;
const UNIX_EPOCH_MILLISECONDS: i64 = 62_135_596_800_000;

impl Cell {
    /// What a value is in a column; null if it is not of its kind.
    pub fn of(value: &Value<'_>, kind: Kind) -> Self {
        let int = |value: Result<Value<'_>, _>| match value {
            Ok(Value::Int(number)) => Cell::Int(number),
            Ok(_) | Err(crate::value::BadType) => Cell::Null,
        };
        match kind {
            _ if value.is_null() => Cell::Null,
            Kind::Bool => match value.to_bool() {
                Ok(Value::Bool(value)) => Cell::Bool(value),
                Ok(_) | Err(_) => Cell::Null,
            },
            // The digits as they are: the scale says where the point goes (recorded).
            Kind::Int64 | Kind::Decimal { .. } => int(value.to_int()),
            Kind::Double => match value.to_float() {
                Ok(Value::Float(number)) => Cell::Double(number),
                Ok(_) | Err(_) => Cell::Null,
            },
            Kind::Time => match value.to_time() {
                Ok(Value::Time(time)) => Cell::Int(milliseconds(time)),
                Ok(_) | Err(_) => Cell::Null,
            },
            Kind::Text => Cell::Text(value.to_text().into_owned()),
            Kind::Map => Cell::Null,
        }
    }
}

pub fn milliseconds(time: lazuli_model::Timestamp) -> i64 {
    i64::try_from(time.ticks() / TICKS_PER_MILLISECOND).unwrap_or(i64::MAX) - UNIX_EPOCH_MILLISECONDS
}

/// A FlatBuffer under construction: it is written from its end to its beginning, and offsets count from the end. Laid out as the
/// library of C++ lays it out, whose bytes the service's answers have.
#[derive(Default)]
struct Flat {
    /// Reversed.
    back: Vec<u8>,
    /// The widest alignment that was asked for.
    widest: usize,
    /// The lists of places that tables have, which tables of the same form share.
    lists: Vec<(Offset, Vec<u8>)>,
}

type Offset = u32;

impl Flat {
    fn push(&mut self, bytes: &[u8]) {
        self.back.extend(bytes.iter().rev());
    }

    fn align(&mut self, to: usize, after: usize) {
        self.widest = self.widest.max(to);
        while !(self.back.len() + after).is_multiple_of(to) {
            self.back.push(0);
        }
    }

    fn here(&self) -> Offset {
        self.back.len() as Offset
    }

    fn offset(&mut self, to: Offset) {
        self.align(4, 0);
        let distance = self.here() + 4 - to;
        self.push(&distance.to_le_bytes());
    }

    fn text(&mut self, text: &str) -> Offset {
        self.align(4, text.len() + 1);
        self.push(&[0]);
        self.push(text.as_bytes());
        self.push(&(text.len() as u32).to_le_bytes());
        self.here()
    }

    fn offsets(&mut self, offsets: &[Offset]) -> Offset {
        self.align(4, 0);
        for offset in offsets.iter().rev() {
            self.offset(*offset);
        }
        self.push(&(offsets.len() as u32).to_le_bytes());
        self.here()
    }

    /// Structs of pairs of 64 bits.
    fn pairs(&mut self, pairs: &[(i64, i64)]) -> Offset {
        self.align(8, 0);
        for (first, second) in pairs.iter().rev() {
            self.push(&second.to_le_bytes());
            self.push(&first.to_le_bytes());
        }
        self.push(&(pairs.len() as u32).to_le_bytes());
        self.here()
    }

    /// A table whose slots are these, in order; `None` is a default.
    fn table(&mut self, slots: &[Option<Slot>]) -> Offset {
        let end = self.here();
        let mut places = vec![0; slots.len()];
        // From the end: the widest first, and the last of those of one width.
        for width in [8, 4, 2, 1] {
            for (at, slot) in slots.iter().enumerate().rev() {
                let Some(slot) = slot.as_ref().filter(|slot| slot.width() == width) else { continue };
                self.align(width, 0);
                match slot {
                    Slot::Byte(value) => self.push(&[*value]),
                    Slot::Short(value) => self.push(&value.to_le_bytes()),
                    Slot::Int(value) => self.push(&value.to_le_bytes()),
                    Slot::Long(value) => self.push(&value.to_le_bytes()),
                    Slot::Offset(to) => self.offset(*to),
                }
                places[at] = self.here();
            }
        }
        // The table itself begins with how far it is to its list of places, which is set when that is known.
        self.align(4, 0);
        self.push(&[0; 4]);
        let table = self.here();
        let used = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let mut list = vec![(4 + 2 * used) as u16, (table - end) as u16];
        list.extend(places[..used].iter().map(|place| if *place == 0 { 0 } else { (table - place) as u16 }));
        let list: Vec<u8> = list.iter().flat_map(|place| place.to_le_bytes()).collect();
        let shared = self.lists.iter().find(|(_, other)| *other == list).map(|(at, _)| *at);
        let at = shared.unwrap_or_else(|| {
            self.push(&list);
            self.lists.push((self.here(), list));
            self.here()
        });
        let distance = (at as i32 - table as i32).to_le_bytes();
        let first = table as usize - 1;
        for (place, byte) in distance.iter().enumerate() {
            self.back[first - place] = *byte;
        }
        table
    }

    fn finish(mut self, root: Offset) -> Vec<u8> {
        let widest = self.widest.max(4);
        self.align(widest, 4);
        let distance = self.here() + 4 - root;
        self.push(&distance.to_le_bytes());
        self.back.reverse();
        self.back
    }
}

enum Slot {
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    Offset(Offset),
}

impl Slot {
    fn width(&self) -> usize {
        match self {
            Slot::Byte(_) => 1,
            Slot::Short(_) => 2,
            Slot::Int(_) | Slot::Offset(_) => 4,
            Slot::Long(_) => 8,
        }
    }
}

const VERSION_5: i16 = 4;

/// `continuation, length of metadata, metadata, body`; the body begins at a multiple of eight.
fn message(flat: Flat, header: Offset, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut flat = flat;
    let root = flat.table(&[
        Some(Slot::Short(VERSION_5)),
        Some(Slot::Byte(kind)),
        Some(Slot::Offset(header)),
        (!body.is_empty()).then_some(Slot::Long(body.len() as i64)),
    ]);
    let mut metadata = flat.finish(root);
    metadata.resize(metadata.len().next_multiple_of(8), 0);
    let mut out = Vec::with_capacity(metadata.len() + body.len() + 8);
    out.extend_from_slice(&[0xff; 4]);
    out.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
    out.extend_from_slice(&metadata);
    out.extend_from_slice(body);
    out
}

pub fn schema(fields: &[Field], metadata: &[(&str, &str)]) -> Vec<u8> {
    let mut flat = Flat::default();
    let pairs: Vec<Offset> = metadata
        .iter()
        .map(|(key, value)| {
            let (key, value) = (flat.text(key), flat.text(value));
            flat.table(&[Some(Slot::Offset(key)), Some(Slot::Offset(value))])
        })
        .collect();
    let metadata = (!pairs.is_empty()).then(|| flat.offsets(&pairs));
    let fields: Vec<Offset> = fields.iter().map(|field| describe(&mut flat, &field.name, field.kind, true)).collect();
    let fields = flat.offsets(&fields);
    let header = flat.table(&[None, Some(Slot::Offset(fields)), metadata.map(Slot::Offset)]);
    message(flat, header, 1, &[])
}

fn describe(flat: &mut Flat, name: &str, kind: Kind, nullable: bool) -> Offset {
    let children: Vec<Offset> = match kind {
        Kind::Map => {
            let key = describe(flat, "key", Kind::Text, false);
            let value = describe(flat, "value", Kind::Text, true);
            let both = flat.offsets(&[key, value]);
            let structure = flat.table(&[]);
            let name = flat.text("entries");
            let slots = [
                Some(Slot::Offset(name)),
                None,
                Some(Slot::Byte(13)),
                Some(Slot::Offset(structure)),
                None,
                Some(Slot::Offset(both)),
            ];
            vec![flat.table(&slots)]
        }
        Kind::Bool | Kind::Int64 | Kind::Double | Kind::Text | Kind::Time | Kind::Decimal { .. } => Vec::new(),
    };
    // The numbers are those of the union `Type` in Arrow's Schema.fbs.
    let (number, kind) = match kind {
        Kind::Int64 => (2, flat.table(&[Some(Slot::Int(64)), Some(Slot::Byte(1))])),
        Kind::Double => (3, flat.table(&[Some(Slot::Short(2))])),
        Kind::Text => (5, flat.table(&[])),
        Kind::Bool => (6, flat.table(&[])),
        Kind::Decimal { precision, scale } => {
            // Of 128 bits, which is the default.
            let scale = (scale != 0).then_some(Slot::Int(scale));
            (7, flat.table(&[Some(Slot::Int(precision)), scale]))
        }
        // Milliseconds; without a zone, which clients take for UTC.
        Kind::Time => (10, flat.table(&[Some(Slot::Short(1))])),
        Kind::Map => (17, flat.table(&[])),
    };
    let name = flat.text(name);
    let children = flat.offsets(&children);
    flat.table(&[
        Some(Slot::Offset(name)),
        nullable.then_some(Slot::Byte(1)),
        Some(Slot::Byte(number)),
        Some(Slot::Offset(kind)),
        None,
        Some(Slot::Offset(children)),
    ])
}

/// What a batch's body consists of.
#[derive(Default)]
struct Columns {
    nodes: Vec<(i64, i64)>,
    buffers: Vec<(i64, i64)>,
    body: Vec<u8>,
}

impl Columns {
    fn buffer(&mut self, bytes: &[u8]) {
        self.buffers.push((self.body.len() as i64, bytes.len() as i64));
        self.body.extend_from_slice(bytes);
        self.body.resize(self.body.len().next_multiple_of(8), 0);
    }

    fn bits(&mut self, bits: impl ExactSizeIterator<Item = bool>) {
        let mut bytes = vec![0_u8; bits.len().div_ceil(8)];
        for (at, _) in bits.enumerate().filter(|(_, bit)| *bit) {
            bytes[at / 8] |= 1 << (at % 8);
        }
        self.buffer(&bytes);
    }

    fn validity(&mut self, there: &[bool]) {
        let nulls = there.iter().filter(|there| !**there).count();
        self.nodes.push((there.len() as i64, nulls as i64));
        if nulls == 0 { self.buffer(&[]) } else { self.bits(there.iter().copied()) }
    }

    fn texts<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        let (mut offsets, mut bytes) = (0_i32.to_le_bytes().to_vec(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            offsets.extend_from_slice(&(bytes.len() as i32).to_le_bytes());
        }
        self.buffer(&offsets);
        self.buffer(&bytes);
    }

    fn column(&mut self, cells: &[&Cell], kind: Kind) {
        self.validity(&cells.iter().map(|cell| **cell != Cell::Null).collect::<Vec<_>>());
        let int = |cell: &&Cell| if let Cell::Int(number) = cell { *number } else { 0 };
        match kind {
            Kind::Bool => self.bits(cells.iter().map(|cell| matches!(cell, Cell::Bool(true)))),
            Kind::Int64 | Kind::Time => {
                self.buffer(&cells.iter().flat_map(|cell| int(cell).to_le_bytes()).collect::<Vec<_>>())
            }
            Kind::Decimal { .. } => {
                self.buffer(&cells.iter().flat_map(|cell| i128::from(int(cell)).to_le_bytes()).collect::<Vec<_>>());
            }
            Kind::Double => {
                let double = |cell: &&Cell| if let Cell::Double(number) = cell { *number } else { 0.0 };
                self.buffer(&cells.iter().flat_map(|cell| double(cell).to_le_bytes()).collect::<Vec<_>>());
            }
            Kind::Text => {
                self.texts(cells.iter().map(|cell| if let Cell::Text(text) = cell { text.as_str() } else { "" }))
            }
            Kind::Map => {
                let entries =
                    |cell: &&'_ Cell| if let Cell::Map(entries) = cell { entries.clone() } else { Vec::new() };
                let mut offsets = 0_i32.to_le_bytes().to_vec();
                let mut all = Vec::new();
                for cell in cells {
                    all.extend(entries(cell));
                    offsets.extend_from_slice(&(all.len() as i32).to_le_bytes());
                }
                self.buffer(&offsets);
                let there = vec![true; all.len()];
                self.validity(&there);
                self.validity(&there);
                self.texts(all.iter().map(|(key, _)| key.as_str()));
                self.validity(&there);
                self.texts(all.iter().map(|(_, value)| value.as_str()));
            }
        }
    }
}

pub fn batch(fields: &[Field], rows: &[Vec<Cell>]) -> Vec<u8> {
    let mut columns = Columns::default();
    for (at, field) in fields.iter().enumerate() {
        let cells: Vec<&Cell> = rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Null)).collect();
        columns.column(&cells, field.kind);
    }
    let mut flat = Flat::default();
    let nodes = flat.pairs(&columns.nodes);
    let buffers = flat.pairs(&columns.buffers);
    let length = (!rows.is_empty()).then_some(Slot::Long(rows.len() as i64));
    let header = flat.table(&[length, Some(Slot::Offset(nodes)), Some(Slot::Offset(buffers))]);
    message(flat, header, 3, &columns.body)
}

/// The end of a stream.
pub const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|two| (two[0] * 16 + two[1]) as u8).collect()
    }

    /// What the service answered to a query for one decimal, of which one row was left.
    #[test]
    fn bytes_are_those_of_the_service() {
        let fields = [Field { name: "abc".into(), kind: Kind::Decimal { precision: 4, scale: 2 } }];
        let told = "ffffffff78000000 1000000000000a00 0c00060005000800 0a00000000010400 0c00000008000800 0000040008000000
                    0400000001000000 1400000010001400 0800060007000c00 0000100010000000 0000010710000000 1c00000004000000
                    0000000003000000 6162630008000c00 0400080008000000 0400000002000000";
        assert_eq!(schema(&fields, &[]), hex(told));
        let none = "ffffffff70000000 1000000000000a00 0e00060005000800 0a00000000030400 1000000000000a00 0c00000004000800
                    0a00000030000000 0400000002000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000
                    0000000001000000 0000000000000000 0000000000000000";
        assert_eq!(batch(&fields, &[]), hex(none));
        let one =
            "ffffffff88000000 1400000000000000 0c00160006000500 08000c000c000000 0003040018000000 1000000000000000
                   00000a0018000c00 040008000a000000 3c00000010000000 0100000000000000 0000000002000000 0000000000000000
                   0000000000000000 0000000000000000 1000000000000000 0000000001000000 0100000000000000 0000000000000000
                   9001000000000000 0000000000000000";
        assert_eq!(batch(&fields, &[vec![Cell::Int(400)]]), hex(one));
    }
}
