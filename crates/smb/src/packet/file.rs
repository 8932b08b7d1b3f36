//! What is done with an open file: CLOSE, FLUSH, READ, WRITE and LOCK ([MS-SMB2] 2.2.15 to 2.2.27).

use bytes::Bytes;

use super::payload::Payload;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, record};
use crate::time::FileTime;

/// Names an open. In a compound, all ones stand for the open of the message before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    pub persistent: u64,
    pub volatile: u64,
}

impl FileId {
    pub const RELATED: Self = Self { persistent: u64::MAX, volatile: u64::MAX };
}

impl Field for FileId {
    fn read(source: &mut Source) -> Parsed<Self> {
        Ok(Self { persistent: source.u64()?, volatile: source.u64()? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u64(self.persistent);
        sink.u64(self.volatile);
    }
}

bits! { CloseFlags: u16 {
    POST_QUERY = 0x1,
} }

record! { CloseRequest, size 24 { flags: CloseFlags => 4, file: FileId } }

record! { CloseResponse, size 60 {
    flags: CloseFlags => 4,
    created: FileTime,
    accessed: FileTime,
    written: FileTime,
    changed: FileTime,
    allocation: u64,
    end_of_file: u64,
    attributes: u32,
} }

record! { FlushRequest, size 24, skip 6 { file: FileId } }

bits! { ReadFlags: u8 {
    UNBUFFERED = 0x1,
    COMPRESSED = 0x2,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    pub flags: ReadFlags,
    pub length: u32,
    pub offset: u64,
    pub file: FileId,
    pub minimum: u32,
    /// Other than zero, it is for RDMA.
    pub channel: u32,
    pub remaining: u32,
}

impl Field for ReadRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(49)?;
        source.skip(1)?;
        let request = Self {
            flags: source.read()?,
            length: source.u32()?,
            offset: source.u64()?,
            file: source.read()?,
            minimum: source.u32()?,
            channel: source.u32()?,
            remaining: source.u32()?,
        };
        source.skip(4)?;
        Ok(request)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(49);
        // Where the answer's data are wanted; ours are there always.
        sink.u8(READ_DATA_AT as u8);
        sink.write(&self.flags);
        sink.u32(self.length);
        sink.u64(self.offset);
        sink.write(&self.file);
        sink.u32(self.minimum);
        sink.u32(self.channel);
        sink.u32(self.remaining);
        sink.zeros(4);
        // The buffer has at least one byte.
        sink.zeros(1);
    }
}

/// Behind the header and sixteen bytes of the answer.
pub const READ_DATA_AT: usize = 80;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadResponse {
    /// Written behind the rest, and not copied for it.
    pub data: Payload,
    pub remaining: u32,
}

impl Field for ReadResponse {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(17)?;
        let offset = usize::from(source.u8()?);
        source.skip(1)?;
        let (length, remaining) = (source.size32()?, source.u32()?);
        source.skip(4)?;
        Ok(Self { data: source.buffer(offset, length)?.into(), remaining })
    }

    /// Everything but the data.
    fn write(&self, sink: &mut Sink) {
        sink.u16(17);
        sink.u8((sink.offset() + 14) as u8);
        sink.zeros(1);
        sink.size32(self.data.len());
        sink.u32(self.remaining);
        sink.zeros(4);
    }
}

bits! { WriteFlags: u32 {
    WRITE_THROUGH = 0x1,
    UNBUFFERED = 0x2,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteRequest {
    pub offset: u64,
    pub file: FileId,
    /// Other than zero, it is for RDMA.
    pub channel: u32,
    pub remaining: u32,
    pub flags: WriteFlags,
    /// A part of the message, not copied.
    pub data: Bytes,
}

impl Field for WriteRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(49)?;
        let (data_offset, length) = (source.size16()?, source.size32()?);
        let (offset, file, channel, remaining) = (source.u64()?, source.read()?, source.u32()?, source.u32()?);
        source.skip(4)?;
        let flags = source.read()?;
        let data = source.buffer(data_offset, length)?;
        Ok(Self { offset, file, channel, remaining, flags, data })
    }

    /// Everything but the data.
    fn write(&self, sink: &mut Sink) {
        sink.u16(49);
        sink.size16(sink.offset() + 46);
        sink.size32(self.data.len());
        sink.u64(self.offset);
        sink.write(&self.file);
        sink.u32(self.channel);
        sink.u32(self.remaining);
        sink.zeros(4);
        sink.write(&self.flags);
    }
}

record! { WriteResponse, size 17, skip 2 { count: u32, remaining: u32 => 4 } }

bits! { LockFlags: u32 {
    SHARED = 0x1,
    EXCLUSIVE = 0x2,
    UNLOCK = 0x4,
    FAIL_IMMEDIATELY = 0x10,
} }

record! { LockElement { offset: u64, length: u64, flags: LockFlags => 4 } }

/// Windows takes as many as fit; nobody sends more than a few.
pub const LOCKS_MAX: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockRequest {
    /// Of a durable open: four bits of number below twenty-eight of index, so that a repeated request is known.
    pub sequence: u32,
    pub file: FileId,
    pub locks: Vec<LockElement>,
}

impl Field for LockRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(48)?;
        let (count, sequence, file) = (source.size16()?, source.u32()?, source.read()?);
        if count > LOCKS_MAX {
            return Err(Malformed::Count);
        }
        Ok(Self { sequence, file, locks: source.list(count)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(48);
        sink.size16(self.locks.len());
        sink.u32(self.sequence);
        sink.write(&self.file);
        sink.list(&self.locks);
    }
}
