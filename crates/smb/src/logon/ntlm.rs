//! NTLM's three messages ([MS-NLMP] 2.2). Only what NTLMv2 needs is read; names have to be in UTF-16.

use bytes::Bytes;

use crate::packet::wire::{Field, Malformed, Parsed, Sink, Source, bits};
use crate::text::{self, Wide};
use crate::time::FileTime;

pub const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";
/// Where AUTHENTICATE has its checksum, if it has one.
pub const MIC_AT: usize = 72;
const TARGET_INFO_MAX: usize = 64;
/// Where the longest of a message's fields begin.
const CHALLENGE_FIELDS: usize = 56;
const AUTHENTICATE_FIELDS: usize = 88;

bits! { Flags: u32 {
    UNICODE = 0x1,
    REQUEST_TARGET = 0x4,
    SIGN = 0x10,
    SEAL = 0x20,
    NTLM = 0x200,
    ANONYMOUS = 0x800,
    ALWAYS_SIGN = 0x8000,
    TARGET_TYPE_SERVER = 0x2_0000,
    EXTENDED_SECURITY = 0x8_0000,
    TARGET_INFO = 0x80_0000,
    VERSION = 0x200_0000,
    KEY_128 = 0x2000_0000,
    KEY_EXCHANGE = 0x4000_0000,
    KEY_56 = 0x8000_0000,
} }

/// Everything that a client may ask for and gets.
const SUPPORTED: Flags = Flags(
    Flags::UNICODE.0
        | Flags::REQUEST_TARGET.0
        | Flags::SIGN.0
        | Flags::SEAL.0
        | Flags::NTLM.0
        | Flags::ALWAYS_SIGN.0
        | Flags::EXTENDED_SECURITY.0
        | Flags::VERSION.0
        | Flags::KEY_128.0
        | Flags::KEY_EXCHANGE.0
        | Flags::KEY_56.0,
);

/// Without these a logon is not NTLMv2 in UTF-16.
pub const NEEDED: Flags = Flags(Flags::UNICODE.0 | Flags::NTLM.0 | Flags::EXTENDED_SECURITY.0);

fn begin(source: &mut Source, kind: u32) -> Parsed<()> {
    if source.array()? != SIGNATURE {
        return Err(Malformed::Signature);
    }
    if source.u32()? != kind { Err(Malformed::Value) } else { Ok(()) }
}

/// A length, the room it has, which means nothing, and an offset.
fn field(source: &mut Source) -> Parsed<Bytes> {
    let length = source.size16()?;
    source.skip(2)?;
    let offset = source.size32()?;
    source.range(offset, length)
}

/// NEGOTIATE: what the client can do. Its names are not needed.
pub fn parse_negotiate(message: Bytes) -> Parsed<Flags> {
    let mut source = Source::new(message);
    begin(&mut source, 1)?;
    source.read()
}

pub fn encode_negotiate(flags: Flags) -> Vec<u8> {
    let mut sink = Sink::new();
    sink.bytes(&SIGNATURE);
    sink.u32(1);
    sink.write(&flags);
    sink.zeros(24);
    sink.finish().to_vec()
}

const END: u16 = 0;
const COMPUTER: u16 = 1;
const DOMAIN: u16 = 2;
const DNS_COMPUTER: u16 = 3;
const DNS_DOMAIN: u16 = 4;
const FLAGS: u16 = 6;
const TIMESTAMP: u16 = 7;
const TARGET_NAME: u16 = 9;
const CHANNEL_BINDINGS: u16 = 10;

/// What CHALLENGE says of the server, and what the client gives back of it with words of its own ([MS-NLMP] 2.2.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetInfo {
    pub timestamp: Option<FileTime>,
    pub flags: u32,
    /// `cifs/host`, as the client knows it.
    pub target: Option<Wide>,
    pub channel: Option<[u8; 16]>,
}

impl TargetInfo {
    /// AUTHENTICATE has a checksum over all three messages.
    pub fn has_mic(&self) -> bool {
        self.flags & 2 != 0
    }

    fn parse(source: &mut Source) -> Parsed<Self> {
        let mut info = Self::default();
        for _ in 0..TARGET_INFO_MAX {
            let (kind, length) = (source.u16()?, source.size16()?);
            let value = source.take(length)?;
            match kind {
                END => return Ok(info),
                FLAGS => info.flags = u32::from_bytes(value)?,
                TIMESTAMP => info.timestamp = Some(FileTime::from_bytes(value)?),
                TARGET_NAME => info.target = Some(Wide::from_wire(value)?),
                CHANNEL_BINDINGS => info.channel = Some(Field::from_bytes(value)?),
                _ => {}
            }
        }
        Err(Malformed::Count)
    }
}

/// CHALLENGE, with eight random bytes that the client's answer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    pub flags: Flags,
    pub server_challenge: [u8; 8],
    pub name: String,
    pub now: FileTime,
}

impl Challenge {
    pub fn new(asked: Flags, server_challenge: [u8; 8], name: &str, now: FileTime) -> Self {
        let flags = Flags(asked.0 & SUPPORTED.0).with(Flags::TARGET_INFO).with(Flags::TARGET_TYPE_SERVER);
        Self { flags, server_challenge, name: name.to_owned(), now }
    }

    pub fn encode(&self) -> Vec<u8> {
        let name = text::encode(&self.name.to_uppercase());
        let dns = text::encode(&self.name.to_lowercase());
        let mut info = Sink::new();
        let now = self.now.to_bytes();
        let pairs =
            [(DOMAIN, &name[..]), (COMPUTER, &name), (DNS_DOMAIN, &dns), (DNS_COMPUTER, &dns), (TIMESTAMP, &now)];
        for (kind, value) in pairs.into_iter().chain([(END, &[][..])]) {
            info.u16(kind);
            info.size16(value.len());
            info.bytes(value);
        }
        let info = info.finish();
        let mut sink = Sink::new();
        sink.bytes(&SIGNATURE);
        sink.u32(2);
        write_field(&mut sink, name.len(), CHALLENGE_FIELDS);
        sink.write(&self.flags);
        sink.bytes(&self.server_challenge);
        sink.zeros(8);
        write_field(&mut sink, info.len(), CHALLENGE_FIELDS + name.len());
        // Windows 10, NTLM revision 15: some clients look at whether there is a version, none at which.
        sink.bytes(&[10, 0, 0, 0, 0, 0, 0, 15]);
        sink.bytes(&name);
        sink.bytes(&info);
        sink.finish().to_vec()
    }

    /// Flags, challenge and target info, as a client reads them.
    pub fn parse(message: Bytes) -> Parsed<(Flags, [u8; 8], Bytes)> {
        let mut source = Source::new(message);
        begin(&mut source, 2)?;
        source.skip(8)?;
        let (flags, challenge) = (source.read()?, source.read()?);
        source.skip(8)?;
        Ok((flags, challenge, field(&mut source)?))
    }
}

fn write_field(sink: &mut Sink, length: usize, offset: usize) {
    sink.size16(length);
    sink.size16(length);
    sink.size32(offset);
}

/// AUTHENTICATE: who the client is, and that it knows the password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authenticate {
    pub flags: Flags,
    pub lm: Bytes,
    pub nt: Bytes,
    pub domain: Wide,
    pub user: Wide,
    pub workstation: Wide,
    /// The session's key, encrypted with one that follows from the password.
    pub sealed_key: Bytes,
    /// As it stands in the message; whether it means anything is said in `nt`.
    pub mic: Option<[u8; 16]>,
}

impl Authenticate {
    pub fn parse(message: Bytes) -> Parsed<Self> {
        let mut source = Source::new(message.clone());
        begin(&mut source, 3)?;
        let (lm, nt) = (field(&mut source)?, field(&mut source)?);
        let (domain, user, workstation) = (field(&mut source)?, field(&mut source)?, field(&mut source)?);
        let (sealed_key, flags): (Bytes, Flags) = (field(&mut source)?, source.read()?);
        let mic = message.get(MIC_AT..MIC_AT + 16).and_then(|mic| mic.try_into().ok());
        Ok(Self {
            flags,
            lm,
            nt,
            domain: Wide::from_wire(domain)?,
            user: Wide::from_wire(user)?,
            workstation: Wide::from_wire(workstation)?,
            sealed_key,
            mic,
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            &self.lm[..],
            &self.nt,
            self.domain.as_bytes(),
            self.user.as_bytes(),
            self.workstation.as_bytes(),
            &self.sealed_key,
        ];
        let mut sink = Sink::new();
        sink.bytes(&SIGNATURE);
        sink.u32(3);
        let mut offset = AUTHENTICATE_FIELDS;
        for field in fields {
            write_field(&mut sink, field.len(), offset);
            offset += field.len();
        }
        sink.write(&self.flags);
        sink.bytes(&[10, 0, 0, 0, 0, 0, 0, 15]);
        sink.bytes(&self.mic.unwrap_or_default());
        fields.iter().for_each(|field| sink.bytes(field));
        sink.finish().to_vec()
    }
}

/// The response of NTLMv2: a proof, and what it was made over ([MS-NLMP] 2.2.2.7, 2.2.2.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub proof: [u8; 16],
    /// All that follows, as it came.
    pub blob: Bytes,
    pub time: FileTime,
    pub client_challenge: [u8; 8],
    pub info: TargetInfo,
}

impl Response {
    /// Shorter ones are of NTLMv1, which is broken: refused.
    pub fn parse(nt: Bytes) -> Parsed<Self> {
        let mut source = Source::new(nt.clone());
        let proof = source.read()?;
        let blob = nt.slice(16..);
        if source.array()? != [1, 1] {
            return Err(Malformed::Value);
        }
        source.skip(6)?;
        let (time, client_challenge) = (source.read()?, source.read()?);
        source.skip(4)?;
        Ok(Self { proof, blob, time, client_challenge, info: TargetInfo::parse(&mut source)? })
    }
}

/// What a client makes its proof over: its own time and challenge, and the server's words with its own added.
pub fn encode_blob(time: FileTime, client_challenge: [u8; 8], server_info: &[u8], with_mic: bool) -> Vec<u8> {
    let mut sink = Sink::new();
    sink.bytes(&[1, 1]);
    sink.zeros(6);
    sink.write(&time);
    sink.bytes(&client_challenge);
    sink.zeros(4);
    // Without the end, which comes after what is added.
    sink.bytes(server_info.get(..server_info.len().saturating_sub(4)).unwrap_or_default());
    if with_mic {
        sink.u16(FLAGS);
        sink.u16(4);
        sink.u32(2);
    }
    sink.zeros(4);
    sink.zeros(4);
    sink.finish().to_vec()
}
