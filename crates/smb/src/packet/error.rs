//! The body of an answer that says no ([MS-SMB2] 2.2.2).

use bytes::Bytes;

use super::wire::{Field, Malformed, Parsed, Sink, Source};

const CONTEXTS_MAX: usize = 8;

/// Why, in more than a number. Which form it takes depends on the dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ErrorData {
    #[default]
    None,
    /// Before 3.1.1: the data alone, such as the four bytes of the length that was needed.
    Plain(Bytes),
    /// In 3.1.1: each with an id, which is 0 unless it is about a share's redirection.
    Contexts(Vec<(u32, Bytes)>),
}

impl ErrorData {
    /// STATUS_BUFFER_TOO_SMALL says how long the buffer would have to be.
    pub fn needed(length: u32, contexts: bool) -> Self {
        let data = Bytes::copy_from_slice(&length.to_le_bytes());
        if contexts { Self::Contexts(vec![(0, data)]) } else { Self::Plain(data) }
    }
}

impl Field for ErrorData {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(9)?;
        let count = usize::from(source.u8()?);
        source.skip(1)?;
        let length = source.size32()?;
        let data = source.take(length)?;
        if count > CONTEXTS_MAX {
            return Err(Malformed::Count);
        }
        if count == 0 {
            return Ok(if data.is_empty() { Self::None } else { Self::Plain(data) });
        }
        let mut data = Source::new(data);
        let mut contexts = Vec::new();
        for _ in 0..count {
            data.align(8);
            let (length, id) = (data.size32()?, data.u32()?);
            contexts.push((id, data.take(length)?));
        }
        Ok(Self::Contexts(contexts))
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(9);
        let contexts = match self {
            Self::None => {
                sink.zeros(6);
                // The data has at least one byte, though its length says none.
                return sink.zeros(1);
            }
            Self::Plain(data) => {
                sink.zeros(2);
                sink.size32(data.len());
                return sink.bytes(data);
            }
            Self::Contexts(contexts) => contexts,
        };
        sink.u8(contexts.len() as u8);
        sink.zeros(1);
        let length_at = sink.offset();
        sink.zeros(4);
        let start = sink.offset();
        for (id, data) in contexts {
            let gap = (sink.offset() - start).next_multiple_of(8) - (sink.offset() - start);
            sink.zeros(gap);
            sink.size32(data.len());
            sink.u32(*id);
            sink.bytes(data);
        }
        sink.patch_u32(length_at, sink.offset() - start);
    }
}
