//! CREATE ([MS-SMB2] 2.2.13, 2.2.14).

use bytes::Bytes;

use super::create_context::{Asked, Given, read_list, write_list};
use super::file::FileId;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers};
use crate::text::Wide;
use crate::time::FileTime;

/// Longer than any path that the store keeps, in bytes of UTF-16.
pub const NAME_MAX: usize = 8192;

numbers! { Impersonation: u32 {
    Anonymous = 0,
    Identification = 1,
    Impersonation = 2,
    Delegate = 3,
} }

numbers! {
    /// What is done where something is already, and where nothing is.
    Disposition: u32 {
        Supersede = 0,
        Open = 1,
        Create = 2,
        OpenIf = 3,
        Overwrite = 4,
        OverwriteIf = 5,
    }
}

numbers! {
    /// What was done.
    Action: u32 {
        Superseded = 0,
        Opened = 1,
        Created = 2,
        Overwritten = 3,
    }
}

bits! { ShareAccess: u32 {
    READ = 0x1,
    WRITE = 0x2,
    DELETE = 0x4,
} }

bits! { CreateOptions: u32 {
    DIRECTORY_FILE = 0x1,
    WRITE_THROUGH = 0x2,
    SEQUENTIAL_ONLY = 0x4,
    NO_INTERMEDIATE_BUFFERING = 0x8,
    SYNCHRONOUS_IO_ALERT = 0x10,
    SYNCHRONOUS_IO_NONALERT = 0x20,
    NON_DIRECTORY_FILE = 0x40,
    COMPLETE_IF_OPLOCKED = 0x100,
    NO_EA_KNOWLEDGE = 0x200,
    RANDOM_ACCESS = 0x800,
    DELETE_ON_CLOSE = 0x1000,
    OPEN_BY_FILE_ID = 0x2000,
    OPEN_FOR_BACKUP_INTENT = 0x4000,
    NO_COMPRESSION = 0x8000,
    OPEN_REMOTE_INSTANCE = 0x400,
    OPEN_REQUIRING_OPLOCK = 0x1_0000,
    DISALLOW_EXCLUSIVE = 0x2_0000,
    RESERVE_OPFILTER = 0x10_0000,
    OPEN_REPARSE_POINT = 0x20_0000,
    OPEN_NO_RECALL = 0x40_0000,
    OPEN_FOR_FREE_SPACE_QUERY = 0x80_0000,
} }

bits! { Access: u32 {
    READ_DATA = 0x1,
    WRITE_DATA = 0x2,
    APPEND_DATA = 0x4,
    READ_EA = 0x8,
    WRITE_EA = 0x10,
    EXECUTE = 0x20,
    DELETE_CHILD = 0x40,
    READ_ATTRIBUTES = 0x80,
    WRITE_ATTRIBUTES = 0x100,
    DELETE = 0x1_0000,
    READ_CONTROL = 0x2_0000,
    WRITE_DAC = 0x4_0000,
    WRITE_OWNER = 0x8_0000,
    SYNCHRONIZE = 0x10_0000,
    ACCESS_SYSTEM_SECURITY = 0x100_0000,
    MAXIMUM_ALLOWED = 0x200_0000,
    GENERIC_ALL = 0x1000_0000,
    GENERIC_EXECUTE = 0x2000_0000,
    GENERIC_WRITE = 0x4000_0000,
    GENERIC_READ = 0x8000_0000,
    ALL = 0x1f_01ff,
} }

impl Access {
    /// The rights that stand for others, spelt out ([MS-SMB2] 2.2.13.1.1).
    pub fn specific(self) -> Self {
        const GENERIC: [(Access, u32); 4] = [
            (Access::GENERIC_READ, 0x12_0089),
            (Access::GENERIC_WRITE, 0x12_0116),
            (Access::GENERIC_EXECUTE, 0x12_00a0),
            (Access::GENERIC_ALL, 0x1f_01ff),
        ];
        let spelt = GENERIC.iter().filter(|(generic, _)| self.has(*generic)).fold(0, |all, (_, bits)| all | bits);
        Self(self.0 & 0x0fff_ffff | spelt)
    }
}

/// Fields with values that have no meaning are kept: which of them is refused first, and how, is for the command to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub oplock: u8,
    pub impersonation: u32,
    pub access: Access,
    pub attributes: u32,
    pub sharing: ShareAccess,
    pub disposition: u32,
    pub options: CreateOptions,
    pub name: Wide,
    pub contexts: Vec<Asked>,
}

impl Field for Request {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(57)?;
        source.skip(1)?;
        let (oplock, impersonation) = (source.u8()?, source.u32()?);
        source.skip(16)?;
        let (access, attributes, sharing) = (source.read()?, source.u32()?, source.read()?);
        let (disposition, options) = (source.u32()?, source.read()?);
        let (name_at, name_length) = (source.size16()?, source.size16()?);
        let (contexts_at, contexts_length) = (source.size32()?, source.size32()?);
        if name_length > NAME_MAX {
            return Err(Malformed::Length);
        }
        let name = Wide::from_wire(source.buffer(name_at, name_length)?)?;
        let contexts = read_list(source.buffer(contexts_at, contexts_length)?)?;
        Ok(Self { oplock, impersonation, access, attributes, sharing, disposition, options, name, contexts })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(57);
        sink.zeros(1);
        sink.u8(self.oplock);
        sink.u32(self.impersonation);
        sink.zeros(16);
        sink.write(&self.access);
        sink.u32(self.attributes);
        sink.write(&self.sharing);
        sink.u32(self.disposition);
        sink.write(&self.options);
        sink.size16(sink.offset() + 12);
        sink.size16(self.name.len());
        let contexts_at = sink.offset();
        sink.zeros(8);
        self.name.write(sink);
        if self.name.is_empty() {
            // The buffer has at least one byte.
            sink.zeros(1);
        }
        append(sink, contexts_at, &write_list(&self.contexts));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub oplock: u8,
    pub action: Action,
    pub created: FileTime,
    pub accessed: FileTime,
    pub written: FileTime,
    pub changed: FileTime,
    pub allocation: u64,
    pub end_of_file: u64,
    pub attributes: u32,
    pub file: FileId,
    pub contexts: Vec<Given>,
}

impl Field for Response {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(89)?;
        let oplock = source.u8()?;
        source.skip(1)?;
        let action = source.read()?;
        let (created, accessed, written, changed) = (source.read()?, source.read()?, source.read()?, source.read()?);
        let (allocation, end_of_file, attributes) = (source.u64()?, source.u64()?, source.u32()?);
        source.skip(4)?;
        let (file, offset, length) = (source.read()?, source.size32()?, source.size32()?);
        let contexts = read_list(source.buffer(offset, length)?)?;
        Ok(Self {
            oplock,
            action,
            created,
            accessed,
            written,
            changed,
            allocation,
            end_of_file,
            attributes,
            file,
            contexts,
        })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(89);
        sink.u8(self.oplock);
        sink.zeros(1);
        sink.write(&self.action);
        [self.created, self.accessed, self.written, self.changed].iter().for_each(|time| sink.write(time));
        sink.u64(self.allocation);
        sink.u64(self.end_of_file);
        sink.u32(self.attributes);
        sink.zeros(4);
        sink.write(&self.file);
        let contexts_at = sink.offset();
        sink.zeros(8);
        append(sink, contexts_at, &write_list(&self.contexts));
    }
}

fn append(sink: &mut Sink, fields_at: usize, contexts: &Bytes) {
    if contexts.is_empty() {
        return;
    }
    sink.align(8);
    sink.patch_u32(fields_at, sink.offset());
    sink.patch_u32(fields_at + 4, contexts.len());
    sink.bytes(contexts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_rights_stand_for_others() {
        let table = [
            (Access::GENERIC_READ, 0x12_0089),
            (Access::GENERIC_READ.with(Access::GENERIC_WRITE), 0x12_019f),
            (Access::GENERIC_ALL, 0x1f_01ff),
            (Access::MAXIMUM_ALLOWED.with(Access::GENERIC_EXECUTE), 0x212_00a0),
            (Access::READ_DATA, 0x1),
        ];
        for (asked, specific) in table {
            assert_eq!(asked.specific(), Access(specific), "{asked:?}");
        }
    }
}
