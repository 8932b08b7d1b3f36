//! A column of a row group: its pages one after the other, and out of each its values, one by one, with their levels.
//!
//! Held true: a page is checked against its bound before it is unpacked; no more than a page and a dictionary are held.

use bytes::Bytes;
use serde_json::Value as Json;

use super::Bad;
use super::bits::Hybrid;
use super::codec::unpack;
use super::delta::{Deltas, Lengths, Prefixes};
use super::schema::{Chunk, Form, Node, Physical};
use super::thrift;
use super::value::{json, plain_length};
use crate::query::RECORD_MAX;

/// Each of its values costs a little more than its bytes.
const DICTIONARY_MAX: usize = 8 << 20;

pub struct Column {
    bytes: Bytes,
    codec: i64,
    form: Form,
    definition: u16,
    repetition: u16,
    /// Values that are still to come, in this page and after it.
    left: u64,
    page_max: usize,
    dictionary: Vec<Bytes>,
    page: Option<Page>,
    next: Option<(u16, u16)>,
}

struct Page {
    left: u64,
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
    pub fn new(bytes: Bytes, chunk: Chunk, leaf: &Node, form: Form, page_max: usize) -> Self {
        Self {
            bytes,
            codec: chunk.codec,
            form,
            definition: leaf.definition,
            repetition: leaf.repetition,
            left: chunk.values,
            page_max,
            dictionary: Vec::new(),
            page: None,
            next: None,
        }
    }

    /// The levels of what comes next: repetition and definition. `None` at the end.
    pub fn peek(&mut self) -> Result<Option<(u16, u16)>, Bad> {
        if self.next.is_none() && self.left > 0 {
            while self.page.as_ref().is_none_or(|page| page.left == 0) {
                self.turn()?;
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
    pub fn take(&mut self) -> Result<Json, Bad> {
        let (_, definition) = self.peek()?.ok_or(Bad::Corrupt)?;
        self.next = None;
        if definition < self.definition {
            return Ok(Json::Null);
        }
        let page = self.page.as_mut().ok_or(Bad::Corrupt)?;
        match &mut page.values {
            Values::Bits(bits) => Ok(Json::Bool(bits.next().ok_or(Bad::Corrupt)? == 1)),
            Values::Indices(indices) => {
                let index = indices.next().ok_or(Bad::Corrupt)? as usize;
                json(self.form, self.dictionary.get(index).ok_or(Bad::Corrupt)?)
            }
            Values::Plain(bytes) => json(self.form, &plain(self.form.physical, bytes)?),
            Values::Deltas(deltas) => {
                let value = deltas.next()?.to_le_bytes();
                json(self.form, if self.form.physical == Physical::Int32 { &value[..4] } else { &value })
            }
            Values::Lengths(lengths) => json(self.form, &lengths.next()?),
            Values::Prefixes(prefixes) => {
                let value = prefixes.next()?;
                // It need not have been in the page as often as it is made of it.
                if value.len() > RECORD_MAX {
                    return Err(Bad::TooLarge);
                }
                json(self.form, value)
            }
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
    fn turn(&mut self) -> Result<(), Bad> {
        let (header, length) = thrift::read(&self.bytes).ok_or(Bad::Corrupt)?;
        let size = |id| header.int(id).and_then(|size| usize::try_from(size).ok()).ok_or(Bad::Corrupt);
        let (unpacked, packed) = (size(2)?, size(3)?);
        if unpacked > self.page_max || (header.int(1) == Some(2) && unpacked > DICTIONARY_MAX) {
            return Err(Bad::TooLarge);
        }
        let end = length.checked_add(packed).filter(|end| *end <= self.bytes.len()).ok_or(Bad::Corrupt)?;
        let body = self.bytes.slice(length..end);
        self.bytes = self.bytes.slice(end..);
        match header.int(1) {
            Some(0) => {
                let data = header.field(5).ok_or(Bad::Corrupt)?;
                let body = unpack(self.codec, body, unpacked)?;
                let count = data.int(1).and_then(|count| u64::try_from(count).ok()).ok_or(Bad::Corrupt)?;
                let mut rest = body;
                let repetitions = self.prefixed(&mut rest, self.repetition)?;
                let definitions = self.prefixed(&mut rest, self.definition)?;
                let values = self.values(data.int(2), rest)?;
                self.page = Some(Page { left: count, repetitions, definitions, values });
            }
            Some(2) => {
                let count = header.field(7).and_then(|dictionary| dictionary.int(1)).ok_or(Bad::Corrupt)?;
                let mut body = unpack(self.codec, body, unpacked)?;
                self.dictionary.clear();
                for _ in 0..count {
                    self.dictionary.push(plain(self.form.physical, &mut body)?);
                }
            }
            Some(3) => {
                let data = header.field(8).ok_or(Bad::Corrupt)?;
                let size = |id| data.int(id).and_then(|size| usize::try_from(size).ok()).ok_or(Bad::Corrupt);
                let (definitions, repetitions) = (size(5)?, size(6)?);
                let levels = definitions.checked_add(repetitions).filter(|levels| *levels <= body.len().min(unpacked));
                let levels = levels.ok_or(Bad::Corrupt)?;
                let codec = if data.flag(7) == Some(false) { 0 } else { self.codec };
                let values = unpack(codec, body.slice(levels..), unpacked - levels)?;
                let of = |bytes: Bytes, most: u16| (most > 0).then(|| Hybrid::new(bytes, width(most)));
                self.page = Some(Page {
                    left: size(1)? as u64,
                    repetitions: of(body.slice(..repetitions), self.repetition),
                    definitions: of(body.slice(repetitions..levels), self.definition),
                    values: self.values(data.int(4), values)?,
                });
            }
            Some(_) => {} // an index, of use to nobody
            None => return Err(Bad::Corrupt),
        }
        Ok(())
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
