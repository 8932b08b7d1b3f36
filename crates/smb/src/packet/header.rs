//! The header in front of every message ([MS-SMB2] 2.2.1).

use bytes::Bytes;

use super::wire::{Field, Malformed, Parsed, Sink, Source, bits};

pub const HEADER_SIZE: usize = 64;
pub const PROTOCOL: [u8; 4] = *b"\xfeSMB";
/// Where the fields lie that are filled in last.
pub const NEXT_AT: usize = 20;
pub const SIGNATURE_AT: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Negotiate,
    SessionSetup,
    Logoff,
    TreeConnect,
    TreeDisconnect,
    Create,
    Close,
    Flush,
    Read,
    Write,
    Lock,
    Ioctl,
    Cancel,
    Echo,
    QueryDirectory,
    ChangeNotify,
    QueryInfo,
    SetInfo,
    OplockBreak,
    Unknown(u16),
}

impl Command {
    pub const KNOWN: [Self; 19] = [
        Self::Negotiate,
        Self::SessionSetup,
        Self::Logoff,
        Self::TreeConnect,
        Self::TreeDisconnect,
        Self::Create,
        Self::Close,
        Self::Flush,
        Self::Read,
        Self::Write,
        Self::Lock,
        Self::Ioctl,
        Self::Cancel,
        Self::Echo,
        Self::QueryDirectory,
        Self::ChangeNotify,
        Self::QueryInfo,
        Self::SetInfo,
        Self::OplockBreak,
    ];

    pub fn from_code(code: u16) -> Self {
        Self::KNOWN.get(usize::from(code)).copied().unwrap_or(Self::Unknown(code))
    }

    pub fn code(self) -> u16 {
        if let Self::Unknown(code) = self {
            return code;
        }
        Self::KNOWN.iter().position(|command| *command == self).map_or(u16::MAX, |at| at as u16)
    }
}

impl Field for Command {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.u16().map(Self::from_code)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u16(self.code());
    }
}

bits! { Flags: u32 {
    RESPONSE = 0x1,
    ASYNC = 0x2,
    RELATED = 0x4,
    SIGNED = 0x8,
    DFS = 0x1000_0000,
    REPLAY = 0x2000_0000,
} }

/// What a message is about: a tree, or an answer that was promised for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Sync { process: u32, tree: u32 },
    Async { id: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub credit_charge: u16,
    /// In an answer, its status. In a request of SMB 3, the channel's sequence, in the lower half.
    pub status: u32,
    pub command: Command,
    /// Asked for, or granted.
    pub credits: u16,
    /// Without `ASYNC`, which `target` says.
    pub flags: Flags,
    /// Where the next message of a compound begins, from here; 0 in the last.
    pub next: u32,
    pub message_id: u64,
    pub target: Target,
    pub session: u64,
    pub signature: [u8; 16],
}

impl Header {
    /// A request; what else it needs is set by name.
    pub fn request(command: Command, message_id: u64) -> Self {
        Self {
            credit_charge: 0,
            status: 0,
            command,
            credits: 0,
            flags: Flags::default(),
            next: 0,
            message_id,
            target: Target::Sync { process: 0xfeff, tree: 0 },
            session: 0,
            signature: [0; 16],
        }
    }

    /// The answer to a request: the same ids, and nothing else of it.
    pub fn response(&self, status: u32, credits: u16) -> Self {
        let related = Flags(self.flags.0 & Flags::RELATED.0);
        Self { status, credits, flags: related.with(Flags::RESPONSE), next: 0, signature: [0; 16], ..self.clone() }
    }

    pub fn is_response(&self) -> bool {
        self.flags.has(Flags::RESPONSE)
    }

    pub fn is_signed(&self) -> bool {
        self.flags.has(Flags::SIGNED)
    }

    pub fn is_related(&self) -> bool {
        self.flags.has(Flags::RELATED)
    }

    pub fn tree(&self) -> Option<u32> {
        match self.target {
            Target::Sync { tree, .. } => Some(tree),
            Target::Async { .. } => None,
        }
    }

    /// How often the client has changed channels, as a request of SMB 3 says.
    pub fn channel_sequence(&self) -> u16 {
        self.status as u16
    }

    pub fn parse(message: &Bytes) -> Parsed<Self> {
        Self::from_bytes(message.clone())
    }
}

impl Field for Header {
    fn read(source: &mut Source) -> Parsed<Self> {
        if source.array()? != PROTOCOL {
            return Err(Malformed::Signature);
        }
        source.structure(HEADER_SIZE as u16)?;
        let (credit_charge, status, command) = (source.u16()?, source.u32()?, source.read()?);
        let (credits, flags, next) = (source.u16()?, source.read::<Flags>()?, source.u32()?);
        let message_id = source.u64()?;
        let target = if flags.has(Flags::ASYNC) {
            Target::Async { id: source.u64()? }
        } else {
            Target::Sync { process: source.u32()?, tree: source.u32()? }
        };
        let flags = flags.without(Flags::ASYNC);
        let (session, signature) = (source.u64()?, source.array()?);
        Ok(Self { credit_charge, status, command, credits, flags, next, message_id, target, session, signature })
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(&PROTOCOL);
        sink.u16(HEADER_SIZE as u16);
        sink.u16(self.credit_charge);
        sink.u32(self.status);
        sink.write(&self.command);
        sink.u16(self.credits);
        match self.target {
            Target::Sync { .. } => sink.write(&self.flags.without(Flags::ASYNC)),
            Target::Async { .. } => sink.write(&self.flags.with(Flags::ASYNC)),
        }
        sink.u32(self.next);
        sink.u64(self.message_id);
        match self.target {
            Target::Sync { process, tree } => {
                sink.u32(process);
                sink.u32(tree);
            }
            Target::Async { id } => sink.u64(id),
        }
        sink.u64(self.session);
        sink.bytes(&self.signature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_what_they_write() {
        let sync = Header {
            credit_charge: 3,
            status: 0xc000_0022,
            command: Command::Read,
            credits: 17,
            flags: Flags::RESPONSE.with(Flags::SIGNED),
            next: 128,
            message_id: 0x0102_0304_0506_0708,
            target: Target::Sync { process: 0xfeff, tree: 5 },
            session: 0x1122_3344_5566_7788,
            signature: *b"0123456789abcdef",
        };
        let deferred = Header { target: Target::Async { id: 77 }, ..sync.clone() };
        for header in [sync, deferred] {
            let bytes = header.to_bytes();
            assert_eq!(bytes.len(), HEADER_SIZE);
            assert_eq!(bytes[SIGNATURE_AT..], *b"0123456789abcdef");
            assert_eq!(bytes[NEXT_AT..NEXT_AT + 4], [128, 0, 0, 0]);
            assert_eq!(Header::parse(&bytes), Ok(header));
        }
    }

    #[test]
    fn commands_have_the_numbers_of_the_protocol() {
        for code in 0..=u16::from(u8::MAX) {
            assert_eq!(Command::from_code(code).code(), code);
        }
        assert_eq!(Command::OplockBreak.code(), 0x12);
        assert_eq!(Command::QueryDirectory.code(), 0xe);
        assert_eq!(Command::from_code(0x13), Command::Unknown(0x13));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let mut bytes = Header::request(Command::Echo, 1).to_bytes().to_vec();
        assert_eq!(Header::parse(&bytes[..63].to_vec().into()), Err(Malformed::Short));
        bytes[4] = 65;
        assert_eq!(Header::parse(&bytes.clone().into()), Err(Malformed::StructureSize));
        bytes[0] = 0xff;
        assert_eq!(Header::parse(&bytes.into()), Err(Malformed::Signature));
    }
}
