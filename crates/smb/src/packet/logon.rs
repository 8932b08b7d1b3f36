//! SESSION_SETUP and LOGOFF ([MS-SMB2] 2.2.5 to 2.2.8).

use bytes::Bytes;

use super::wire::{Field, Parsed, Sink, Source, bits, record};

bits! { SetupFlags: u8 {
    /// The session exists already, and gets another connection.
    BINDING = 0x1,
} }

bits! { SessionFlags: u16 {
    GUEST = 0x1,
    NULL = 0x2,
    ENCRYPT_DATA = 0x4,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupRequest {
    pub flags: SetupFlags,
    pub security_mode: u8,
    pub capabilities: u32,
    pub previous_session: u64,
    pub token: Bytes,
}

impl Field for SetupRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(25)?;
        let (flags, security_mode, capabilities) = (source.read()?, source.u8()?, source.u32()?);
        source.skip(4)?;
        let (offset, length, previous_session) = (source.size16()?, source.size16()?, source.u64()?);
        let token = source.buffer(offset, length)?;
        Ok(Self { flags, security_mode, capabilities, previous_session, token })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(25);
        sink.write(&self.flags);
        sink.u8(self.security_mode);
        sink.u32(self.capabilities);
        sink.zeros(4);
        sink.size16(sink.offset() + 12);
        sink.size16(self.token.len());
        sink.u64(self.previous_session);
        sink.bytes(&self.token);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupResponse {
    pub flags: SessionFlags,
    pub token: Bytes,
}

impl Field for SetupResponse {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.structure(9)?;
        let flags = source.read()?;
        let (offset, length) = (source.size16()?, source.size16()?);
        Ok(Self { flags, token: source.buffer(offset, length)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(9);
        sink.write(&self.flags);
        sink.size16(sink.offset() + 4);
        sink.size16(self.token.len());
        sink.bytes(&self.token);
    }
}

record! {
    /// LOGOFF, TREE_DISCONNECT, ECHO and CANCEL say nothing, and neither do the answers to these, to FLUSH and to LOCK.
    Empty, size 4, skip 2 {}
}
