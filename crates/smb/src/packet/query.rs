//! Questions about files and directories, and what changes them: QUERY_DIRECTORY, CHANGE_NOTIFY, QUERY_INFO, SET_INFO
//! ([MS-SMB2] 2.2.33 to 2.2.40). The information itself is in `info`.

use bytes::Bytes;

use super::file::FileId;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers, record};
use crate::text::Wide;

/// A component's longest name, in bytes; a pattern is no longer.
pub const PATTERN_MAX: usize = 512;

bits! { DirectoryFlags: u8 {
    RESTART = 0x1,
    SINGLE_ENTRY = 0x2,
    INDEX_SPECIFIED = 0x4,
    REOPEN = 0x10,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryRequest {
    /// A number of `info::directory::Class`.
    pub class: u8,
    pub flags: DirectoryFlags,
    pub index: u32,
    pub file: FileId,
    pub output_max: u32,
    pub pattern: Wide,
}

impl Field for DirectoryRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(33)?;
        let (class, flags, index, file) = (source.u8()?, source.read()?, source.u32()?, source.read()?);
        let (offset, length, output_max) = (source.size16()?, source.size16()?, source.u32()?);
        if length > PATTERN_MAX {
            return Err(Malformed::Length);
        }
        let pattern = Wide::from_wire(source.buffer(offset, length)?)?;
        Ok(Self { class, flags, index, file, output_max, pattern })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(33);
        sink.u8(self.class);
        sink.write(&self.flags);
        sink.u32(self.index);
        sink.write(&self.file);
        sink.size16(sink.offset() + 8);
        sink.size16(self.pattern.len());
        sink.u32(self.output_max);
        self.pattern.write(sink);
    }
}

/// The answer to QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output(pub Bytes);

impl Field for Output {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(9)?;
        let (offset, length) = (source.size16()?, source.size32()?);
        source.buffer(offset, length).map(Self)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(9);
        sink.size16(sink.offset() + 6);
        sink.size32(self.0.len());
        sink.bytes(&self.0);
    }
}

bits! { NotifyFlags: u16 {
    WATCH_TREE = 0x1,
} }

bits! { NotifyFilter: u32 {
    FILE_NAME = 0x1,
    DIR_NAME = 0x2,
    ATTRIBUTES = 0x4,
    SIZE = 0x8,
    LAST_WRITE = 0x10,
    LAST_ACCESS = 0x20,
    CREATION = 0x40,
    EA = 0x80,
    SECURITY = 0x100,
    STREAM_NAME = 0x200,
    STREAM_SIZE = 0x400,
    STREAM_WRITE = 0x800,
} }

record! { NotifyRequest, size 32 { flags: NotifyFlags, output_max: u32, file: FileId, filter: NotifyFilter => 4 } }

numbers! {
    /// What an information class is about.
    InfoType: u8 {
        File = 1,
        FileSystem = 2,
        Security = 3,
        Quota = 4,
    }
}

bits! {
    /// Which parts of a security descriptor are meant.
    SecurityInformation: u32 {
        OWNER = 0x1,
        GROUP = 0x2,
        DACL = 0x4,
        SACL = 0x8,
        LABEL = 0x10,
        ATTRIBUTE = 0x20,
        SCOPE = 0x40,
        BACKUP = 0x1_0000,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoRequest {
    pub kind: InfoType,
    pub class: u8,
    pub output_max: u32,
    pub additional: u32,
    pub flags: u32,
    pub file: FileId,
    pub input: Bytes,
}

impl Field for InfoRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(41)?;
        let (kind, class, output_max) = (source.read()?, source.u8()?, source.u32()?);
        let offset = source.size16()?;
        source.skip(2)?;
        let length = source.size32()?;
        let (additional, flags, file) = (source.u32()?, source.u32()?, source.read()?);
        let input = source.buffer(offset, length)?;
        Ok(Self { kind, class, output_max, additional, flags, file, input })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(41);
        sink.write(&self.kind);
        sink.u8(self.class);
        sink.u32(self.output_max);
        sink.size16(sink.offset() + 32);
        sink.zeros(2);
        sink.size32(self.input.len());
        sink.u32(self.additional);
        sink.u32(self.flags);
        sink.write(&self.file);
        sink.bytes(&self.input);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRequest {
    pub kind: InfoType,
    pub class: u8,
    pub additional: u32,
    pub file: FileId,
    pub input: Bytes,
}

impl Field for SetRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(33)?;
        let (kind, class, length, offset) = (source.read()?, source.u8()?, source.size32()?, source.size16()?);
        source.skip(2)?;
        let (additional, file) = (source.u32()?, source.read()?);
        Ok(Self { kind, class, additional, file, input: source.buffer(offset, length)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(33);
        sink.write(&self.kind);
        sink.u8(self.class);
        sink.size32(self.input.len());
        sink.size16(sink.offset() + 24);
        sink.zeros(2);
        sink.u32(self.additional);
        sink.write(&self.file);
        sink.bytes(&self.input);
    }
}

record! { SetResponse, size 2 {} }
