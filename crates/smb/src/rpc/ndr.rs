//! NDR, as far as the calls here need it ([C706] chapter 14): numbers, pointers to strings, arrays of structures. What a pointer points to comes behind
//! the structure that has the pointer, in order.

use bytes::Bytes;

use crate::packet::wire::{Malformed, Parsed, Sink, Source};
use crate::text::Wide;

/// Strings in requests are names of servers and shares.
const STRING_MAX: usize = 1024;

/// Reads a request's parameters.
pub struct Reader(Source);

impl Reader {
    pub fn new(stub: Bytes) -> Self {
        Self(Source::new(stub))
    }

    pub fn u32(&mut self) -> Parsed<u32> {
        self.0.align(4);
        self.0.u32()
    }

    /// Whether a pointer points to anything.
    pub fn pointer(&mut self) -> Parsed<bool> {
        Ok(self.u32()? != 0)
    }

    /// A string in UTF-16, without the zero at its end.
    pub fn string(&mut self) -> Parsed<Wide> {
        let (_, offset, count) = (self.u32()?, self.u32()?, self.u32()? as usize);
        if offset != 0 || count > STRING_MAX {
            return Err(Malformed::Count);
        }
        let units = self.0.take(count * 2)?;
        let end = units.chunks_exact(2).position(|unit| unit == [0, 0]).map_or(units.len(), |at| at * 2);
        Wide::from_wire(units.slice(..end))
    }

    pub fn optional_string(&mut self) -> Parsed<Option<Wide>> {
        if self.pointer()? { self.string().map(Some) } else { Ok(None) }
    }
}

/// Writes a result. Strings are pointed to first and written by `settle`.
#[derive(Default)]
pub struct Writer {
    sink: Sink,
    pointers: u32,
    deferred: Vec<Wide>,
}

impl Writer {
    pub fn u32(&mut self, value: u32) {
        self.sink.align(4);
        self.sink.u32(value);
    }

    /// To something that the caller writes when its turn comes.
    pub fn pointer(&mut self) {
        self.pointers += 1;
        self.u32(0x2_0000 + self.pointers * 4);
    }

    pub fn null(&mut self) {
        self.u32(0);
    }

    pub fn text(&mut self, text: &str) {
        self.pointer();
        self.deferred.push(text.into());
    }

    /// Writes the strings that were pointed to: at the end of the structure, or of the array of structures, that has the pointers.
    pub fn settle(&mut self) {
        for text in std::mem::take(&mut self.deferred) {
            self.string(&text);
        }
    }

    pub fn string(&mut self, text: &Wide) {
        let count = (text.len() / 2 + 1) as u32;
        self.u32(count);
        self.u32(0);
        self.u32(count);
        text.write(&mut self.sink);
        self.sink.zeros(2);
    }

    pub fn finish(mut self) -> Vec<u8> {
        debug_assert!(self.deferred.is_empty(), "every string is written");
        self.sink.align(4);
        self.sink.finish().to_vec()
    }
}
