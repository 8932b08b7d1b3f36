//! Thrift's compact protocol, as far as Parquet's metadata are written in it: bytes become a tree of numbered fields.
//! Whatever the bytes are, there is a tree or nothing; depth is bounded, and a tree is no longer than its bytes.

const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub enum Thing {
    Bool(bool),
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Thing>),
    Struct(Vec<(i16, Thing)>),
    /// Of a type that nothing here is read of.
    Other,
}

impl Thing {
    pub fn field(&self, id: i16) -> Option<&Thing> {
        match self {
            Thing::Struct(fields) => fields.iter().find(|(field, _)| *field == id).map(|(_, thing)| thing),
            Thing::Bool(_) | Thing::Int(_) | Thing::Bytes(_) | Thing::List(_) | Thing::Other => None,
        }
    }

    pub fn int(&self, id: i16) -> Option<i64> {
        match self.field(id)? {
            Thing::Int(number) => Some(*number),
            Thing::Bool(_) | Thing::Bytes(_) | Thing::List(_) | Thing::Struct(_) | Thing::Other => None,
        }
    }

    pub fn flag(&self, id: i16) -> Option<bool> {
        match self.field(id)? {
            Thing::Bool(value) => Some(*value),
            Thing::Int(_) | Thing::Bytes(_) | Thing::List(_) | Thing::Struct(_) | Thing::Other => None,
        }
    }

    pub fn text(&self, id: i16) -> Option<String> {
        match self.field(id)? {
            Thing::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
            Thing::Bool(_) | Thing::Int(_) | Thing::List(_) | Thing::Struct(_) | Thing::Other => None,
        }
    }

    /// Empty for what is no list.
    pub fn list(&self, id: i16) -> &[Thing] {
        match self.field(id) {
            Some(Thing::List(items)) => items,
            Some(_) | None => &[],
        }
    }
}

/// The struct that `bytes` begin with, and how long it is.
pub fn read(bytes: &[u8]) -> Option<(Thing, usize)> {
    let mut input = Input { bytes, at: 0 };
    let thing = input.structure(0)?;
    Some((thing, input.at))
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn int(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip(&mut self, length: usize) -> Option<&[u8]> {
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn structure(&mut self, depth: usize) -> Option<Thing> {
        if depth > DEPTH_MAX {
            return None;
        }
        let (mut fields, mut last) = (Vec::new(), 0_i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Thing::Struct(fields));
            }
            last = match head >> 4 {
                0 => i16::try_from(self.int()?).ok()?,
                delta => last.checked_add(i16::from(delta))?,
            };
            let thing = match head & 15 {
                1 => Thing::Bool(true),
                2 => Thing::Bool(false),
                kind => self.thing(kind, depth)?,
            };
            fields.push((last, thing));
        }
    }

    fn thing(&mut self, kind: u8, depth: usize) -> Option<Thing> {
        Some(match kind {
            1 | 2 => Thing::Bool(self.byte()? == 1),
            3 => Thing::Int(i64::from(self.byte()? as i8)),
            4..=6 => Thing::Int(self.int()?),
            7 => self.skip(8).map(|_| Thing::Other)?,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Thing::Bytes(self.skip(length)?.to_vec())
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.thing(head & 15, depth + 1)?);
                }
                Thing::List(items)
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.thing(kinds >> 4, depth + 1)?;
                    self.thing(kinds & 15, depth + 1)?;
                }
                Thing::Other
            }
            12 => self.structure(depth + 1)?,
            13 => self.skip(16).map(|_| Thing::Other)?,
            _ => return None,
        })
    }
}
