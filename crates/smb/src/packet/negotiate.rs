//! NEGOTIATE ([MS-SMB2] 2.2.3, 2.2.4). What is offered and chosen is decided in `session/negotiation.rs`.

use bytes::Bytes;

use super::negotiate_context::{self as context, Context};
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers};
use crate::time::FileTime;

pub const DIALECTS_MAX: usize = 64;

numbers! {
    /// What is spoken, oldest first.
    Dialect: u16 {
        Smb202 = 0x0202,
        Smb210 = 0x0210,
        Smb300 = 0x0300,
        Smb302 = 0x0302,
        Smb311 = 0x0311,
    }
}

/// Stands for "SMB 2, negotiate again", in the answer to an SMB 1 client.
pub const WILDCARD: u16 = 0x02ff;

bits! { SecurityMode: u16 {
    SIGNING_ENABLED = 0x1,
    SIGNING_REQUIRED = 0x2,
} }

bits! { Capabilities: u32 {
    DFS = 0x1,
    LEASING = 0x2,
    LARGE_MTU = 0x4,
    MULTI_CHANNEL = 0x8,
    PERSISTENT_HANDLES = 0x10,
    DIRECTORY_LEASING = 0x20,
    ENCRYPTION = 0x40,
    NOTIFICATIONS = 0x80,
} }

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub security_mode: SecurityMode,
    pub capabilities: Capabilities,
    pub client: [u8; 16],
    /// As they came, also those that nobody knows.
    pub dialects: Vec<u16>,
    /// Only with 3.1.1 among the dialects.
    pub contexts: Vec<Context>,
}

impl Request {
    pub fn offers(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect.code())
    }
}

impl Field for Request {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(36)?;
        let count = source.size16()?;
        if count > DIALECTS_MAX {
            return Err(Malformed::Count);
        }
        let security_mode = source.read()?;
        source.skip(2)?;
        let (capabilities, client) = (source.read()?, source.read()?);
        let (offset, contexts) = (source.size32()?, source.size16()?);
        source.skip(2)?;
        let dialects: Vec<u16> = source.list(count)?;
        let has_contexts = dialects.contains(&Dialect::Smb311.code());
        let contexts = if has_contexts { context::read_list(source, offset, contexts)? } else { Vec::new() };
        Ok(Self { security_mode, capabilities, client, dialects, contexts })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(36);
        sink.size16(self.dialects.len());
        sink.write(&self.security_mode);
        sink.zeros(2);
        sink.write(&self.capabilities);
        sink.bytes(&self.client);
        let offset_at = sink.offset();
        sink.zeros(8);
        sink.list(&self.dialects);
        if self.offers(Dialect::Smb311) {
            sink.align(8);
            sink.patch_u32(offset_at, sink.offset());
            sink.patch_u16(offset_at + 4, self.contexts.len());
            context::write_list(sink, &self.contexts);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub security_mode: SecurityMode,
    /// A [`Dialect`]'s number, or [`WILDCARD`].
    pub dialect: u16,
    pub server: [u8; 16],
    pub capabilities: Capabilities,
    pub max_transact: u32,
    pub max_read: u32,
    pub max_write: u32,
    pub now: FileTime,
    pub started: FileTime,
    pub token: Bytes,
    /// Only with 3.1.1.
    pub contexts: Vec<Context>,
}

impl Field for Response {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(65)?;
        let (security_mode, dialect, contexts) = (source.read()?, source.u16()?, source.size16()?);
        let (server, capabilities) = (source.read()?, source.read()?);
        let (max_transact, max_read, max_write) = (source.u32()?, source.u32()?, source.u32()?);
        let (now, started) = (source.read()?, source.read()?);
        let (offset, length, context_offset) = (source.size16()?, source.size16()?, source.size32()?);
        let token = source.buffer(offset, length)?;
        let has_contexts = dialect == Dialect::Smb311.code();
        let contexts = if has_contexts { context::read_list(source, context_offset, contexts)? } else { Vec::new() };
        Ok(Self {
            security_mode,
            dialect,
            server,
            capabilities,
            max_transact,
            max_read,
            max_write,
            now,
            started,
            token,
            contexts,
        })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(65);
        sink.write(&self.security_mode);
        sink.u16(self.dialect);
        sink.size16(self.contexts.len());
        sink.bytes(&self.server);
        sink.write(&self.capabilities);
        sink.u32(self.max_transact);
        sink.u32(self.max_read);
        sink.u32(self.max_write);
        sink.write(&self.now);
        sink.write(&self.started);
        sink.size16(sink.offset() + 8);
        sink.size16(self.token.len());
        let offset_at = sink.offset();
        sink.zeros(4);
        sink.bytes(&self.token);
        if !self.contexts.is_empty() {
            sink.align(8);
            sink.patch_u32(offset_at, sink.offset());
            context::write_list(sink, &self.contexts);
        }
    }
}
