//! What 3.1.1 negotiates beside the dialect ([MS-SMB2] 2.2.3.1). Unknown kinds are kept as they came.

use bytes::Bytes;

use super::wire::{Field, Malformed, Parsed, Sink, Source};
use crate::text::Wide;

pub const CONTEXTS_MAX: usize = 32;
/// Of one kind of algorithm; there are fewer than ten of any.
const ALGORITHMS_MAX: usize = 32;

pub const SHA512: u16 = 1;

pub const AES128_CCM: u16 = 1;
pub const AES128_GCM: u16 = 2;
pub const AES256_CCM: u16 = 3;
pub const AES256_GCM: u16 = 4;

pub const HMAC_SHA256: u16 = 0;
pub const AES_CMAC: u16 = 1;
pub const AES_GMAC: u16 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context {
    Preauth {
        hashes: Vec<u16>,
        salt: Bytes,
    },
    Encryption(Vec<u16>),
    /// Read, and never chosen.
    Compression {
        flags: u32,
        algorithms: Vec<u16>,
    },
    /// Which host the client wanted to reach.
    NetName(Wide),
    Transport(u32),
    Rdma(Vec<u16>),
    Signing(Vec<u16>),
    Unknown {
        kind: u16,
        data: Bytes,
    },
}

const PREAUTH: u16 = 1;
const ENCRYPTION: u16 = 2;
const COMPRESSION: u16 = 3;
const NET_NAME: u16 = 5;
const TRANSPORT: u16 = 6;
const RDMA: u16 = 7;
const SIGNING: u16 = 8;

impl Context {
    pub fn kind(&self) -> u16 {
        match self {
            Self::Preauth { .. } => PREAUTH,
            Self::Encryption(_) => ENCRYPTION,
            Self::Compression { .. } => COMPRESSION,
            Self::NetName(_) => NET_NAME,
            Self::Transport(_) => TRANSPORT,
            Self::Rdma(_) => RDMA,
            Self::Signing(_) => SIGNING,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    fn parse(kind: u16, data: Bytes) -> Parsed<Self> {
        let source = &mut Source::new(data);
        Ok(match kind {
            PREAUTH => {
                let (count, salt) = (source.size16()?, source.size16()?);
                Self::Preauth { hashes: algorithms(source, count)?, salt: source.take(salt)? }
            }
            ENCRYPTION => Self::Encryption(counted(source)?),
            COMPRESSION => {
                let count = source.size16()?;
                source.skip(2)?;
                Self::Compression { flags: source.u32()?, algorithms: algorithms(source, count)? }
            }
            NET_NAME => Self::NetName(Wide::from_wire(source.rest())?),
            TRANSPORT => Self::Transport(source.u32()?),
            RDMA => {
                let count = source.size16()?;
                source.skip(6)?;
                Self::Rdma(algorithms(source, count)?)
            }
            SIGNING => Self::Signing(counted(source)?),
            kind => Self::Unknown { kind, data: source.rest() },
        })
    }

    fn write_data(&self, sink: &mut Sink) {
        match self {
            Self::Preauth { hashes, salt } => {
                sink.size16(hashes.len());
                sink.size16(salt.len());
                sink.list(hashes);
                sink.bytes(salt);
            }
            Self::Encryption(algorithms) | Self::Signing(algorithms) => {
                sink.size16(algorithms.len());
                sink.list(algorithms);
            }
            Self::Compression { flags, algorithms } => {
                sink.size16(algorithms.len());
                sink.zeros(2);
                sink.u32(*flags);
                sink.list(algorithms);
            }
            Self::NetName(name) => name.write(sink),
            Self::Transport(flags) => sink.u32(*flags),
            Self::Rdma(transforms) => {
                sink.size16(transforms.len());
                sink.zeros(6);
                sink.list(transforms);
            }
            Self::Unknown { data, .. } => sink.bytes(data),
        }
    }
}

fn counted(source: &mut Source) -> Parsed<Vec<u16>> {
    let count = source.size16()?;
    algorithms(source, count)
}

fn algorithms(source: &mut Source, count: usize) -> Parsed<Vec<u16>> {
    if count == 0 || count > ALGORITHMS_MAX {
        return Err(Malformed::Count);
    }
    source.list(count)
}

pub(super) fn read_list(source: &Source, offset: usize, count: usize) -> Parsed<Vec<Context>> {
    if count > CONTEXTS_MAX {
        return Err(Malformed::Count);
    }
    let mut source = source.clone();
    let mut contexts: Vec<Context> = Vec::new();
    for at in 0..count {
        if at == 0 {
            let gap = offset.checked_sub(source.position()).ok_or(Malformed::Range)?;
            source.skip(gap)?;
        } else {
            source.align(8);
        }
        contexts.push(source.read()?);
    }
    Ok(contexts)
}

pub(super) fn write_list(sink: &mut Sink, contexts: &[Context]) {
    for context in contexts {
        sink.align(8);
        sink.write(context);
    }
}

/// Salts have to be there; how long they are is the sender's matter.
pub fn salted(salt: &[u8]) -> Context {
    Context::Preauth { hashes: vec![SHA512], salt: Bytes::copy_from_slice(salt) }
}

impl Field for Context {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (kind, length) = (source.u16()?, source.size16()?);
        source.skip(4)?;
        Self::parse(kind, source.take(length)?)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(self.kind());
        let length_at = sink.offset();
        sink.zeros(6);
        let start = sink.offset();
        self.write_data(sink);
        sink.patch_u16(length_at, sink.offset() - start);
    }
}
