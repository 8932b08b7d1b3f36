//! A column of a row group: its pages one after the other, and out of each its values, one by one, with their levels.
//!
//! Held true: a page is checked against its bound, and against the room that all columns have together, before it is unpacked; no
//! more than a page and a dictionary are held. What is unpacked and decoded is charged.

use bytes::Bytes;
use lazuli_model::depth;
use serde_json::Value as Json;

use super::bits::Hybrid;
use super::codec::unpack;
use super::delta::{Deltas, Lengths, Prefixes};
use super::schema::{Chunk, Form, Node, Physical};
use super::thrift::{Fields, Kind, Reader};
use super::value::{json, plain_length};
use super::{Bad, Costs, PAGE_MOST};
use crate::RECORD_MAX;

const DICTIONARY_MAX: usize = 8 << 20;
/// The header of a page, with whatever statistics are in it.
const HEADER_MAX: usize = 1 << 20;

pub(super) struct Column {
    bytes: Bytes,
    codec: i64,
    form: Form,
    definition: u16,
    repetition: u16,
    /// Values that are still to come, in this page and after it.
    left: u64,
    dictionary: Dictionary,
    page: Option<Page>,
    next: Option<(u16, u16)>,
}

/// Values by number.
#[derive(Default)]
struct Dictionary {
    bytes: Bytes,
    /// Where each ends, if they are not all equally long.
    ends: Vec<u32>,
    width: Option<usize>,
    /// Room that it takes.
    held: usize,
}

struct Page {
    left: u64,
    /// Room that it takes.
    held: usize,
    repetitions: Option<Hybrid>,
    definitions: Option<Hybrid>,
    values: Values,
}

enum Values {
    Plain(Bytes),
    /// Booleans, by bits.
    Bits(Hybrid),
    Indices(Hybrid),
    Deltas(Deltas),
    Lengths(Lengths),
    Prefixes(Box<Prefixes>),
    /// The first bytes of all values, then the second, and so on.
    Split {
        bytes: Bytes,
        width: usize,
        at: usize,
    },
}

impl Column {
    pub(super) fn new(bytes: Bytes, chunk: Chunk, leaf: &Node, form: Form) -> Self {
        Self {
            bytes,
            codec: chunk.codec,
            form,
            definition: leaf.definition,
            repetition: leaf.repetition,
            left: chunk.values,
            dictionary: Dictionary::default(),
            page: None,
            next: None,
        }
    }

    /// The levels of what comes next: repetition and definition. `None` at the end.
    pub(super) fn peek(&mut self, costs: &Costs<'_>) -> Result<Option<(u16, u16)>, Bad> {
        if self.next.is_none() && self.left > 0 {
            while self.page.as_ref().is_none_or(|page| page.left == 0) {
                self.turn(costs)?;
            }
            let page = self.page.as_mut().ok_or(Bad::Corrupt)?;
            let level = |of: &mut Option<Hybrid>| match of {
                None => Ok(0),
                Some(levels) => levels.next().and_then(|level| u16::try_from(level).ok()).ok_or(Bad::Corrupt),
            };
            let levels = (level(&mut page.repetitions)?, level(&mut page.definitions)?);
            if levels.0 > self.repetition || levels.1 > self.definition {
                return Err(Bad::Corrupt);
            }
            page.left -= 1;
            self.left -= 1;
            self.next = Some(levels);
        }
        Ok(self.next)
    }

    /// What comes next: null where its level is not the leaf's own.
    pub(super) fn take(&mut self, costs: &Costs<'_>) -> Result<Json, Bad> {
        let (_, definition) = self.peek(costs)?.ok_or(Bad::Corrupt)?;
        costs.budget.steps(1)?;
        self.next = None;
        if definition < self.definition {
            return Ok(Json::Null);
        }
        let page = self.page.as_mut().ok_or(Bad::Corrupt)?;
        match &mut page.values {
            Values::Bits(bits) => Ok(Json::Bool(bits.next().ok_or(Bad::Corrupt)? == 1)),
            Values::Indices(indices) => {
                let index = indices.next().ok_or(Bad::Corrupt)? as usize;
                value_of(self.form, self.dictionary.get(index).ok_or(Bad::Corrupt)?, costs)
            }
            Values::Plain(bytes) => value_of(self.form, &plain(self.form.physical, bytes)?, costs),
            Values::Deltas(deltas) => {
                let value = deltas.next()?.to_le_bytes();
                json(self.form, if self.form.physical == Physical::Int32 { &value[..4] } else { &value })
            }
            Values::Lengths(lengths) => value_of(self.form, &lengths.next()?, costs),
            Values::Prefixes(prefixes) => value_of(self.form, prefixes.next()?, costs),
            Values::Split { bytes, width, at } => {
                let count = bytes.len() / *width;
                if *at == count {
                    return Err(Bad::Corrupt);
                }
                let value: Vec<u8> = bytes.iter().skip(*at).step_by(count).copied().collect();
                *at += 1;
                json(self.form, &value)
            }
        }
    }

    /// The next page; a dictionary is kept.
    fn turn(&mut self, costs: &Costs<'_>) -> Result<(), Bad> {
        let (header, length) = Header::read(&self.bytes).ok_or(Bad::Corrupt)?;
        costs.budget.look(length)?;
        let size = |size: i64| usize::try_from(size).map_err(|_| Bad::Corrupt);
        let (unpacked, packed) = (size(header.unpacked)?, size(header.packed)?);
        if unpacked > PAGE_MOST || (header.kind == DICTIONARY && unpacked > DICTIONARY_MAX) {
            return Err(Bad::TooLarge);
        }
        let end = length.checked_add(packed).filter(|end| *end <= self.bytes.len()).ok_or(Bad::Corrupt)?;
        let body = self.bytes.slice(length..end);
        self.bytes = self.bytes.slice(end..);
        costs.unpack(packed.max(unpacked))?;
        match header.kind {
            DATA => {
                self.drop_page(costs);
                costs.hold(unpacked)?;
                let mut rest = unpack(self.codec, body, unpacked)?;
                let left = u64::try_from(header.count).map_err(|_| Bad::Corrupt)?;
                let repetitions = self.prefixed(&mut rest, self.repetition)?;
                let definitions = self.prefixed(&mut rest, self.definition)?;
                let values = self.values(header.encoding, rest)?;
                self.page = Some(Page { left, held: unpacked, repetitions, definitions, values });
            }
            DICTIONARY => {
                costs.release(std::mem::take(&mut self.dictionary).held);
                // Beside its bytes it has an end for each value of four bytes or more.
                let held = unpacked * 2;
                costs.hold(held)?;
                let body = unpack(self.codec, body, unpacked)?;
                self.dictionary = Dictionary::read(self.form.physical, body, header.count, held)?;
            }
            DATA_V2 => {
                let (definitions, repetitions) = (size(header.definitions)?, size(header.repetitions)?);
                let levels = definitions.checked_add(repetitions).filter(|levels| *levels <= body.len().min(unpacked));
                let levels = levels.ok_or(Bad::Corrupt)?;
                let codec = if header.is_packed { self.codec } else { 0 };
                self.drop_page(costs);
                costs.hold(unpacked)?;
                let values = unpack(codec, body.slice(levels..), unpacked - levels)?;
                let of = |bytes: Bytes, most: u16| (most > 0).then(|| Hybrid::new(bytes, width(most)));
                self.page = Some(Page {
                    left: u64::try_from(header.count).map_err(|_| Bad::Corrupt)?,
                    held: unpacked,
                    repetitions: of(body.slice(..repetitions), self.repetition),
                    definitions: of(body.slice(repetitions..levels), self.definition),
                    values: self.values(header.encoding, values)?,
                });
            }
            _ => {} // an index, of use to nobody
        }
        Ok(())
    }

    fn drop_page(&mut self, costs: &Costs<'_>) {
        costs.release(self.page.take().map_or(0, |page| page.held));
    }

    /// Levels of a page of the first version: their length, then they.
    fn prefixed(&self, rest: &mut Bytes, most: u16) -> Result<Option<Hybrid>, Bad> {
        if most == 0 {
            return Ok(None);
        }
        let length = rest.first_chunk().map(|length| u32::from_le_bytes(*length) as usize).ok_or(Bad::Corrupt)?;
        let end = length.checked_add(4).filter(|end| *end <= rest.len()).ok_or(Bad::Corrupt)?;
        let levels = rest.slice(4..end);
        *rest = rest.slice(end..);
        Ok(Some(Hybrid::new(levels, width(most))))
    }

    fn values(&self, encoding: Option<i64>, bytes: Bytes) -> Result<Values, Bad> {
        match (encoding, self.form.physical) {
            (Some(0), Physical::Boolean) => Ok(Values::Bits(Hybrid::packed(bytes, 1))),
            (Some(0), _) => Ok(Values::Plain(bytes)),
            (Some(2 | 8), _) => match bytes.first() {
                Some(width) if *width <= 32 => Ok(Values::Indices(Hybrid::new(bytes.slice(1..), *width))),
                Some(_) => Err(Bad::Corrupt),
                None => Ok(Values::Indices(Hybrid::new(bytes, 0))),
            },
            (Some(3), Physical::Boolean) if bytes.len() >= 4 => Ok(Values::Bits(Hybrid::new(bytes.slice(4..), 1))),
            (Some(5), Physical::Int32 | Physical::Int64) => Ok(Values::Deltas(Deltas::new(bytes)?)),
            (Some(6), Physical::Bytes) => Ok(Values::Lengths(Lengths::new(bytes)?)),
            (Some(7), Physical::Bytes | Physical::Fixed(_)) => Ok(Values::Prefixes(Box::new(Prefixes::new(bytes)?))),
            (Some(9), physical) => match plain_length(physical) {
                Some(width) if width > 0 && bytes.len().is_multiple_of(width) => {
                    Ok(Values::Split { bytes, width, at: 0 })
                }
                Some(_) | None => Err(Bad::Corrupt),
            },
            (Some(other), _) => Err(Bad::Unsupported(format!("the encoding {other}"))),
            (None, _) => Err(Bad::Corrupt),
        }
    }
}

const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;

/// What stands before a page.
#[derive(Debug, Default)]
struct Header {
    kind: i64,
    unpacked: i64,
    packed: i64,
    count: i64,
    encoding: Option<i64>,
    definitions: i64,
    repetitions: i64,
    is_packed: bool,
}

impl Header {
    /// With its length.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(&bytes[..bytes.len().min(HEADER_MAX)]);
        let mut header = Self { kind: -1, unpacked: -1, packed: -1, count: -1, is_packed: true, ..Self::default() };
        let mut fields = reader.fields(depth::THRIFT)?;
        while let Some((id, kind)) = reader.next(&mut fields)? {
            match id {
                1 => header.kind = reader.int(kind)?,
                2 => header.unpacked = reader.int(kind)?,
                3 => header.packed = reader.int(kind)?,
                5 | 7 | 8 => header.read_inner(id, &mut reader, kind, &fields)?,
                _ => reader.skip(kind, fields.depth)?,
            }
        }
        (header.kind >= 0).then_some((header, reader.at()))
    }

    /// What a page of its kind has: data (5), a dictionary (7), data of the second version (8).
    fn read_inner(&mut self, of: i16, reader: &mut Reader<'_>, kind: Kind, outer: &Fields) -> Option<()> {
        let mut fields = reader.structure(kind, outer.depth)?;
        while let Some((id, kind)) = reader.next(&mut fields)? {
            match (of, id) {
                (_, 1) => self.count = reader.int(kind)?,
                (5, 2) | (8, 4) => self.encoding = Some(reader.int(kind)?),
                (8, 5) => self.definitions = reader.int(kind)?,
                (8, 6) => self.repetitions = reader.int(kind)?,
                (8, 7) => self.is_packed = reader.flag(kind)?,
                _ => reader.skip(kind, fields.depth)?,
            }
        }
        Some(())
    }
}

impl Dictionary {
    fn read(physical: Physical, bytes: Bytes, count: i64, held: usize) -> Result<Self, Bad> {
        let count = usize::try_from(count).map_err(|_| Bad::Corrupt)?;
        if let Some(width) = plain_length(physical) {
            let is_whole = count.checked_mul(width).is_some_and(|length| length <= bytes.len());
            return if is_whole {
                Ok(Self { bytes, ends: Vec::new(), width: Some(width), held })
            } else {
                Err(Bad::Corrupt)
            };
        }
        let mut ends = Vec::new();
        let mut rest = bytes.clone();
        for _ in 0..count {
            plain(physical, &mut rest)?;
            ends.push((bytes.len() - rest.len()) as u32);
        }
        Ok(Self { bytes, ends, width: None, held })
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        if let Some(width) = self.width {
            let from = index.checked_mul(width)?;
            return self.bytes.get(from..from.checked_add(width)?);
        }
        let end = *self.ends.get(index)? as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        // Its length comes first.
        self.bytes.get(start + 4..end)
    }
}

/// A value may be made of the same bytes any number of times.
fn value_of(form: Form, bytes: &[u8], costs: &Costs<'_>) -> Result<Json, Bad> {
    costs.budget.look(bytes.len())?;
    if bytes.len() > RECORD_MAX {
        return Err(Bad::TooLarge);
    }
    json(form, bytes)
}

/// Bits that hold `most`.
fn width(most: u16) -> u8 {
    (u16::BITS - most.leading_zeros()) as u8
}

/// The value that `bytes` begin with, which is then theirs no more.
fn plain(physical: Physical, bytes: &mut Bytes) -> Result<Bytes, Bad> {
    let (skip, length) = match plain_length(physical) {
        Some(length) => (0, length),
        None => {
            let length = bytes.first_chunk().map(|length| u32::from_le_bytes(*length) as usize);
            (4, length.ok_or(Bad::Corrupt)?)
        }
    };
    let end = length.checked_add(skip).filter(|end| *end <= bytes.len()).ok_or(Bad::Corrupt)?;
    let value = bytes.slice(skip..end);
    *bytes = bytes.slice(end..);
    Ok(value)
}
