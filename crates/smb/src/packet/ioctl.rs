//! IOCTL ([MS-SMB2] 2.2.31, 2.2.32). What goes in and comes out is in `fsctl.rs`.

use bytes::Bytes;

use super::file::FileId;
use super::wire::{Field, Parsed, Sink, Source, bits};

bits! { IoctlFlags: u32 {
    /// Without it, the code is one for a device driver, and refused.
    FSCTL = 0x1,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub code: u32,
    pub file: FileId,
    pub input: Bytes,
    pub input_max: u32,
    pub output_max: u32,
    pub flags: IoctlFlags,
}

impl Field for Request {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(57)?;
        source.skip(2)?;
        let (code, file) = (source.u32()?, source.read()?);
        let (offset, length, input_max) = (source.size32()?, source.size32()?, source.u32()?);
        source.skip(8)?;
        let (output_max, flags) = (source.u32()?, source.read()?);
        source.skip(4)?;
        Ok(Self { code, file, input: source.buffer(offset, length)?, input_max, output_max, flags })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(57);
        sink.zeros(2);
        sink.u32(self.code);
        sink.write(&self.file);
        sink.size32(sink.offset() + 32);
        sink.size32(self.input.len());
        sink.u32(self.input_max);
        sink.zeros(8);
        sink.u32(self.output_max);
        sink.write(&self.flags);
        sink.zeros(4);
        sink.bytes(&self.input);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub code: u32,
    pub file: FileId,
    pub output: Bytes,
}

impl Field for Response {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(49)?;
        source.skip(2)?;
        let (code, file) = (source.u32()?, source.read()?);
        source.skip(8)?;
        let (offset, length) = (source.size32()?, source.size32()?);
        source.skip(8)?;
        Ok(Self { code, file, output: source.buffer(offset, length)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(49);
        sink.zeros(2);
        sink.u32(self.code);
        sink.write(&self.file);
        let behind = sink.offset() + 24;
        // Nothing is given back of what came in; clients want the offset all the same.
        sink.size32(behind);
        sink.u32(0);
        sink.size32(behind);
        sink.size32(self.output.len());
        sink.zeros(8);
        sink.bytes(&self.output);
    }
}
