//! What CREATE asks for and answers beside its fields ([MS-SMB2] 2.2.13.2, 2.2.14.2). A context has a name, mostly of four letters; what
//! is unknown is kept as it came.

use bytes::Bytes;

use super::file::FileId;
use super::oplock::LeaseState;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, record};
use crate::text::Wide;

pub const CONTEXTS_MAX: usize = 32;
/// Four letters, or a GUID.
const NAME_MAX: usize = 64;
const HEAD: usize = 16;

bits! { LeaseFlags: u32 {
    BREAK_IN_PROGRESS = 0x2,
    PARENT_KEY_SET = 0x4,
} }

/// The two versions of a lease, asked for and given in the same form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    pub key: [u8; 16],
    pub state: LeaseState,
    pub flags: LeaseFlags,
    /// Only in the second version.
    pub second: Option<LeaseSecond>,
}

record! { LeaseSecond { parent: [u8; 16], epoch: u16 => 2 } }

impl Field for Lease {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (key, state, flags) = (source.read()?, source.read()?, source.read()?);
        source.skip(8)?;
        let second = match source.left() {
            0 => None,
            _ => Some(source.read()?),
        };
        Ok(Self { key, state, flags, second })
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(&self.key);
        sink.write(&self.state);
        sink.write(&self.flags);
        sink.zeros(8);
        self.second.iter().for_each(|second| sink.write(second));
    }
}

bits! { DurableFlags: u32 {
    PERSISTENT = 0x2,
} }

record! { DurableAsked { timeout: u32, flags: DurableFlags => 8, create: [u8; 16] } }
record! { DurableGiven { timeout: u32, flags: DurableFlags } }
record! { DurableReconnect { file: FileId, create: [u8; 16], flags: DurableFlags } }
record! { MaximalAccess { status: u32, access: u32 } }
record! { OnDiskId { file: u64, volume: u64 => 16 } }
record! { AppInstance, size 20, skip 2 { id: [u8; 16] } }
record! { AppleQuery { command: u32 => 4, asked: u64, client: u64 } }

/// The answer to macOS: which of its questions is answered, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppleAnswer {
    pub command: u32,
    pub server: Option<u64>,
    pub volume: Option<u64>,
    pub model: Option<Wide>,
}

impl Field for AppleAnswer {
    fn read(source: &mut Source) -> Parsed<Self> {
        let command = source.u32()?;
        source.skip(4)?;
        let answered = source.u64()?;
        let server = if answered & 1 != 0 { Some(source.u64()?) } else { None };
        let volume = if answered & 2 != 0 { Some(source.u64()?) } else { None };
        if answered & 4 == 0 {
            return Ok(Self { command, server, volume, model: None });
        }
        source.skip(4)?;
        let length = source.size32()?;
        let model = Some(Wide::from_wire(source.take(length)?)?);
        Ok(Self { command, server, volume, model })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u32(self.command);
        sink.zeros(4);
        let answered = [self.server.is_some(), self.volume.is_some(), self.model.is_some()];
        sink.u64((0..3).map(|bit| u64::from(answered[bit]) << bit).sum());
        self.server.iter().for_each(|bits| sink.u64(*bits));
        self.volume.iter().for_each(|bits| sink.u64(*bits));
        if let Some(model) = &self.model {
            sink.zeros(4);
            sink.size32(model.len());
            model.write(sink);
        }
    }
}

/// In a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// ExtA: extended attributes. Kept unread: they are refused.
    ExtendedAttributes(Bytes),
    /// SecD
    Security(Bytes),
    /// DHnQ
    Durable,
    /// DHnC
    Reconnect(FileId),
    /// AlSi
    Allocation(u64),
    /// MxAc: also the time up to which the client knows it already.
    MaximalAccess(Option<u64>),
    /// TWrp: the moment of a snapshot.
    Timewarp(u64),
    /// QFid
    OnDiskId,
    /// RqLs
    Lease(Lease),
    /// DH2Q
    DurableSecond(DurableAsked),
    /// DH2C
    ReconnectSecond(DurableReconnect),
    AppInstance(AppInstance),
    /// AAPL
    Apple(AppleQuery),
    Unknown {
        name: Bytes,
        data: Bytes,
    },
}

/// In an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// DHnQ
    Durable,
    MaximalAccess(MaximalAccess),
    OnDiskId(OnDiskId),
    Lease(Lease),
    DurableSecond(DurableGiven),
    Apple(AppleAnswer),
    Unknown {
        name: Bytes,
        data: Bytes,
    },
}

const APP_INSTANCE: [u8; 16] =
    [0x45, 0xbc, 0xa6, 0x6a, 0xef, 0xa7, 0xf7, 0x4a, 0x90, 0x08, 0xfa, 0x46, 0x2e, 0x14, 0x4d, 0x74];

/// A named value in a list of them.
pub(super) trait Context: Sized {
    fn parse(name: Bytes, data: Bytes) -> Parsed<Self>;
    fn name(&self) -> Bytes;
    fn data(&self) -> Bytes;
}

impl Context for Asked {
    fn parse(name: Bytes, data: Bytes) -> Parsed<Self> {
        Ok(match &name[..] {
            b"ExtA" => Self::ExtendedAttributes(data),
            b"SecD" => Self::Security(data),
            b"DHnQ" => Self::Durable,
            b"DHnC" => Self::Reconnect(FileId::from_bytes(data)?),
            b"AlSi" => Self::Allocation(u64::from_bytes(data)?),
            b"MxAc" if data.is_empty() => Self::MaximalAccess(None),
            b"MxAc" => Self::MaximalAccess(Some(u64::from_bytes(data)?)),
            b"TWrp" => Self::Timewarp(u64::from_bytes(data)?),
            b"QFid" => Self::OnDiskId,
            b"RqLs" => Self::Lease(Lease::from_bytes(data)?),
            b"DH2Q" => Self::DurableSecond(DurableAsked::from_bytes(data)?),
            b"DH2C" => Self::ReconnectSecond(DurableReconnect::from_bytes(data)?),
            b"AAPL" => Self::Apple(AppleQuery::from_bytes(data)?),
            id if id == APP_INSTANCE => Self::AppInstance(AppInstance::from_bytes(data)?),
            _ => Self::Unknown { name, data },
        })
    }

    fn name(&self) -> Bytes {
        Bytes::from_static(match self {
            Self::ExtendedAttributes(_) => b"ExtA",
            Self::Security(_) => b"SecD",
            Self::Durable => b"DHnQ",
            Self::Reconnect(_) => b"DHnC",
            Self::Allocation(_) => b"AlSi",
            Self::MaximalAccess(_) => b"MxAc",
            Self::Timewarp(_) => b"TWrp",
            Self::OnDiskId => b"QFid",
            Self::Lease(_) => b"RqLs",
            Self::DurableSecond(_) => b"DH2Q",
            Self::ReconnectSecond(_) => b"DH2C",
            Self::AppInstance(_) => &APP_INSTANCE,
            Self::Apple(_) => b"AAPL",
            Self::Unknown { name, .. } => return name.clone(),
        })
    }

    fn data(&self) -> Bytes {
        match self {
            Self::ExtendedAttributes(data) | Self::Security(data) | Self::Unknown { data, .. } => data.clone(),
            Self::Durable => [0; 16].to_bytes(),
            Self::Reconnect(file) => file.to_bytes(),
            Self::Allocation(size) => size.to_bytes(),
            Self::MaximalAccess(None) | Self::OnDiskId => Bytes::new(),
            Self::MaximalAccess(Some(time)) | Self::Timewarp(time) => time.to_bytes(),
            Self::Lease(lease) => lease.to_bytes(),
            Self::DurableSecond(asked) => asked.to_bytes(),
            Self::ReconnectSecond(reconnect) => reconnect.to_bytes(),
            Self::AppInstance(id) => id.to_bytes(),
            Self::Apple(query) => query.to_bytes(),
        }
    }
}

impl Context for Given {
    fn parse(name: Bytes, data: Bytes) -> Parsed<Self> {
        Ok(match &name[..] {
            b"DHnQ" => Self::Durable,
            b"MxAc" => Self::MaximalAccess(MaximalAccess::from_bytes(data)?),
            b"QFid" => Self::OnDiskId(OnDiskId::from_bytes(data)?),
            b"RqLs" => Self::Lease(Lease::from_bytes(data)?),
            b"DH2Q" => Self::DurableSecond(DurableGiven::from_bytes(data)?),
            b"AAPL" => Self::Apple(AppleAnswer::from_bytes(data)?),
            _ => Self::Unknown { name, data },
        })
    }

    fn name(&self) -> Bytes {
        Bytes::from_static(match self {
            Self::Durable => b"DHnQ",
            Self::MaximalAccess(_) => b"MxAc",
            Self::OnDiskId(_) => b"QFid",
            Self::Lease(_) => b"RqLs",
            Self::DurableSecond(_) => b"DH2Q",
            Self::Apple(_) => b"AAPL",
            Self::Unknown { name, .. } => return name.clone(),
        })
    }

    fn data(&self) -> Bytes {
        match self {
            Self::Durable => [0; 8].to_bytes(),
            Self::MaximalAccess(access) => access.to_bytes(),
            Self::OnDiskId(id) => id.to_bytes(),
            Self::Lease(lease) => lease.to_bytes(),
            Self::DurableSecond(given) => given.to_bytes(),
            Self::Apple(answer) => answer.to_bytes(),
            Self::Unknown { data, .. } => data.clone(),
        }
    }
}

pub(super) fn read_list<C: Context>(list: Bytes) -> Parsed<Vec<C>> {
    let mut contexts = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        if contexts.len() == CONTEXTS_MAX {
            return Err(Malformed::Count);
        }
        let mut source = Source::new(rest.clone());
        let next = source.size32()?;
        let (name_at, name_length) = (source.size16()?, source.size16()?);
        source.skip(2)?;
        let (data_at, data_length) = (source.size16()?, source.size32()?);
        if name_length > NAME_MAX {
            return Err(Malformed::Length);
        }
        let (name, data) = (source.buffer(name_at, name_length)?, source.buffer(data_at, data_length)?);
        contexts.push(C::parse(name, data)?);
        if next == 0 {
            break;
        }
        if next < HEAD || !next.is_multiple_of(8) || next >= rest.len() {
            return Err(Malformed::Range);
        }
        rest = rest.slice(next..);
    }
    Ok(contexts)
}

pub(super) fn write_list<C: Context>(contexts: &[C]) -> Bytes {
    let mut sink = Sink::new();
    for (at, context) in contexts.iter().enumerate() {
        let (name, data) = (context.name(), context.data());
        let start = sink.offset();
        sink.zeros(4);
        sink.size16(HEAD);
        sink.size16(name.len());
        sink.zeros(2);
        let data_at = (HEAD + name.len()).next_multiple_of(8);
        sink.size16(if data.is_empty() { 0 } else { data_at });
        sink.size32(data.len());
        sink.bytes(&name);
        sink.zeros(data_at - HEAD - name.len());
        sink.bytes(&data);
        if at + 1 < contexts.len() {
            sink.align(8);
            sink.patch_u32(start, sink.offset() - start);
        }
    }
    sink.finish().freeze()
}
