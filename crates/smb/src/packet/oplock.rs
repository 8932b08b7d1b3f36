//! OPLOCK_BREAK, in its two forms ([MS-SMB2] 2.2.23 to 2.2.25). The structure's size tells them apart.

use super::file::FileId;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers, record};

numbers! { OplockLevel: u8 {
    None = 0x0,
    Two = 0x1,
    Exclusive = 0x8,
    Batch = 0x9,
    /// What may be cached is in a create context.
    Lease = 0xff,
} }

bits! { LeaseState: u32 {
    NONE = 0x0,
    READ = 0x1,
    HANDLE = 0x2,
    WRITE = 0x4,
} }

record! { OplockBreak, size 24 { level: u8 => 5, file: FileId } }

bits! { LeaseBreakFlags: u32 {
    ACK_REQUIRED = 0x1,
} }

record! { LeaseBreak, size 44 {
    epoch: u16,
    flags: LeaseBreakFlags,
    key: [u8; 16],
    current: LeaseState,
    new: LeaseState => 12,
} }

record! { LeaseAck, size 36, skip 2 { flags: u32, key: [u8; 16], state: LeaseState => 8 } }

/// From the client it acknowledges a break; from the server it is the break, or the answer to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    Oplock(OplockBreak),
    Lease(LeaseBreak),
    LeaseAck(LeaseAck),
}

impl Field for Break {
    fn read(source: &mut Source) -> Parsed<Self> {
        match source.clone().u16()? {
            24 => source.read().map(Self::Oplock),
            36 => source.read().map(Self::LeaseAck),
            44 => source.read().map(Self::Lease),
            _ => Err(Malformed::StructureSize),
        }
    }

    fn write(&self, sink: &mut Sink) {
        match self {
            Self::Oplock(body) => sink.write(body),
            Self::Lease(body) => sink.write(body),
            Self::LeaseAck(body) => sink.write(body),
        }
    }
}
