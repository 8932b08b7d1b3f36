//! The protocol data units of connection-oriented DCE/RPC ([C706] chapter 12), in little-endian order, without authentication.

use bytes::Bytes;

use super::Interface;
use crate::packet::wire::{Field, Malformed, Parsed, Sink, Source, numbers};

const HEADER: usize = 16;
/// What Windows and Samba use on pipes.
pub const FRAGMENT_MAX: usize = 4280;
/// Nobody may ask for shorter ones.
pub const FRAGMENT_MIN: usize = 1432;
const CONTEXTS_MAX: usize = 16;
const SYNTAXES_MAX: usize = 8;
const VERSION: [u8; 2] = [5, 0];
const LITTLE_ENDIAN: u8 = 0x10;

const FIRST: u8 = 1;
const LAST: u8 = 2;
const OBJECT: u8 = 0x80;

numbers! { Kind: u8 {
    Request = 0,
    Response = 2,
    Fault = 3,
    Bind = 11,
    BindAck = 12,
    BindNak = 13,
    AlterContext = 14,
    AlterContextResponse = 15,
    Auth3 = 16,
    Cancel = 18,
    Orphaned = 19,
} }

numbers! {
    /// Why a call has no result ([MS-RPCE], [C706] appendix E).
    Fault: u32 {
        UnknownOperation = 0x1c01_0002,
        UnknownContext = 0x1c00_001a,
        BadStub = 0x0000_06f7,
    }
}

/// An interface or an encoding, with its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syntax {
    pub uuid: [u8; 16],
    pub version: u32,
}

impl Field for Syntax {
    fn read(source: &mut Source) -> Parsed<Self> {
        Ok(Self { uuid: source.read()?, version: source.u32()? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(&self.uuid);
        sink.u32(self.version);
    }
}

/// 8a885d04-1ceb-11c9-9fe8-08002b104860, version 2: the one encoding that is spoken here.
pub const NDR: Syntax = Syntax {
    uuid: [0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10, 0x48, 0x60],
    version: 2,
};

/// The beginning of 6cb71c2c-9812-4540-…, whose other half says what the client can do.
const FEATURES: [u8; 8] = [0x2c, 0x1c, 0xb7, 0x6c, 0x12, 0x98, 0x40, 0x45];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub id: u16,
    pub interface: Syntax,
    pub encodings: Vec<Syntax>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Accepted,
    UnknownInterface,
    UnknownEncoding,
    /// An offer of features, of which none is taken.
    Features,
}

impl Decision {
    pub fn is_accepted(self) -> bool {
        self == Self::Accepted
    }
}

impl Context {
    pub fn decide(&self, interface: Syntax) -> Decision {
        // Minor versions, in the upper half, are upward compatible.
        let same = self.interface.uuid == interface.uuid && self.interface.version as u16 == interface.version as u16;
        if self.encodings.iter().any(|encoding| encoding.uuid.starts_with(&FEATURES)) {
            Decision::Features
        } else if !same {
            Decision::UnknownInterface
        } else if self.encodings.contains(&NDR) {
            Decision::Accepted
        } else {
            Decision::UnknownEncoding
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// More contexts for a connection that is there already.
    pub alter: bool,
    pub send_max: u16,
    pub receive_max: u16,
    pub group: u32,
    pub contexts: Vec<Context>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub first: bool,
    pub last: bool,
    pub context: u16,
    pub opnum: u16,
    pub stub: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    Bind(Bind),
    Request(Call),
    Cancelled,
}

/// How long the first unit is, once it has all arrived.
pub fn length(bytes: &[u8]) -> Parsed<Option<usize>> {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(u16::from_le_bytes([header[8], header[9]]));
    if header[..2] != VERSION || header[4] != LITTLE_ENDIAN {
        return Err(Malformed::Signature);
    }
    if length < HEADER {
        return Err(Malformed::Length);
    }
    Ok((bytes.len() >= length).then_some(length))
}

impl Pdu {
    /// The call's id, and what it is.
    pub fn parse(unit: Bytes) -> Parsed<(u32, Self)> {
        let mut source = Source::new(unit);
        source.skip(2)?;
        let (kind, flags): (Kind, u8) = (source.read()?, source.u8()?);
        source.skip(6)?;
        let (auth, call_id) = (source.size16()?, source.u32()?);
        if auth != 0 {
            return Err(Malformed::Value);
        }
        let pdu = match kind {
            Kind::Bind | Kind::AlterContext => Self::Bind(parse_bind(&mut source, kind == Kind::AlterContext)?),
            Kind::Request => Self::Request(parse_call(&mut source, flags)?),
            Kind::Cancel | Kind::Orphaned => Self::Cancelled,
            Kind::Response | Kind::Fault | Kind::BindAck | Kind::BindNak | Kind::AlterContextResponse | Kind::Auth3 => {
                return Err(Malformed::Value);
            }
        };
        Ok((call_id, pdu))
    }
}

fn parse_bind(source: &mut Source, alter: bool) -> Parsed<Bind> {
    let (send_max, receive_max, group) = (source.u16()?, source.u16()?, source.u32()?);
    let count = usize::from(source.u8()?);
    source.skip(3)?;
    if count > CONTEXTS_MAX {
        return Err(Malformed::Count);
    }
    let mut contexts = Vec::new();
    for _ in 0..count {
        let (id, encodings) = (source.u16()?, usize::from(source.u8()?));
        source.skip(1)?;
        if encodings > SYNTAXES_MAX {
            return Err(Malformed::Count);
        }
        contexts.push(Context { id, interface: source.read()?, encodings: source.list(encodings)? });
    }
    Ok(Bind { alter, send_max, receive_max, group, contexts })
}

fn parse_call(source: &mut Source, flags: u8) -> Parsed<Call> {
    source.skip(4)?;
    let (context, opnum) = (source.u16()?, source.u16()?);
    if flags & OBJECT != 0 {
        source.skip(16)?;
    }
    Ok(Call { first: flags & FIRST != 0, last: flags & LAST != 0, context, opnum, stub: source.rest() })
}

fn unit(kind: Kind, flags: u8, call_id: u32, body: impl FnOnce(&mut Sink)) -> Vec<u8> {
    let mut sink = Sink::new();
    sink.bytes(&VERSION);
    sink.write(&kind);
    sink.u8(flags);
    sink.bytes(&[LITTLE_ENDIAN, 0, 0, 0]);
    sink.zeros(4);
    sink.u32(call_id);
    body(&mut sink);
    sink.patch_u16(8, sink.offset());
    sink.finish().to_vec()
}

pub fn encode_bind_ack(call_id: u32, bind: &Bind, interface: Interface, results: &[Decision]) -> Vec<u8> {
    let kind = if bind.alter { Kind::AlterContextResponse } else { Kind::BindAck };
    unit(kind, FIRST | LAST, call_id, |sink| {
        let fragment = usize::from(bind.send_max).clamp(FRAGMENT_MIN, FRAGMENT_MAX);
        sink.size16(fragment);
        sink.size16(usize::from(bind.receive_max).clamp(FRAGMENT_MIN, FRAGMENT_MAX));
        // Zero asks for a new group of connections; which number it gets means nothing on a pipe.
        sink.u32(if bind.group == 0 { 0x53f0 } else { bind.group });
        let address: &[u8] = match (bind.alter, interface) {
            (true, _) => b"",
            (false, Interface::Srvsvc) => b"\\PIPE\\srvsvc\0",
            (false, Interface::Wkssvc) => b"\\PIPE\\wkssvc\0",
        };
        sink.size16(address.len());
        sink.bytes(address);
        sink.align(4);
        sink.u8(results.len() as u8);
        sink.zeros(3);
        for result in results {
            let (code, reason, syntax) = match result {
                Decision::Accepted => (0, 0, NDR),
                Decision::UnknownInterface => (2, 1, Syntax { uuid: [0; 16], version: 0 }),
                Decision::UnknownEncoding => (2, 2, Syntax { uuid: [0; 16], version: 0 }),
                Decision::Features => (3, 0, Syntax { uuid: [0; 16], version: 0 }),
            };
            sink.u16(code);
            sink.u16(reason);
            sink.write(&syntax);
        }
    })
}

/// In as many fragments as it takes, one behind the other.
pub fn encode_response(call_id: u32, context: u16, stub: &[u8], fragment_max: usize) -> Vec<u8> {
    let room = fragment_max - HEADER - 8;
    let count = stub.len().div_ceil(room).max(1);
    let mut out = Vec::new();
    for at in 0..count {
        let piece = &stub[at * room..stub.len().min((at + 1) * room)];
        let flags = if at == 0 { FIRST } else { 0 } | if at + 1 == count { LAST } else { 0 };
        out.extend(unit(Kind::Response, flags, call_id, |sink| {
            sink.size32(stub.len() - at * room);
            sink.u16(context);
            sink.zeros(2);
            sink.bytes(piece);
        }));
    }
    out
}

pub fn encode_fault(call_id: u32, context: u16, fault: Fault) -> Vec<u8> {
    unit(Kind::Fault, FIRST | LAST, call_id, |sink| {
        sink.u32(0);
        sink.u16(context);
        sink.zeros(2);
        sink.write(&fault);
        sink.zeros(4);
    })
}

/// What a client sends to begin with.
pub fn encode_bind(call_id: u32, bind: &Bind) -> Vec<u8> {
    let kind = if bind.alter { Kind::AlterContext } else { Kind::Bind };
    unit(kind, FIRST | LAST, call_id, |sink| {
        sink.u16(bind.send_max);
        sink.u16(bind.receive_max);
        sink.u32(bind.group);
        sink.u8(bind.contexts.len() as u8);
        sink.zeros(3);
        for context in &bind.contexts {
            sink.u16(context.id);
            sink.u8(context.encodings.len() as u8);
            sink.zeros(1);
            sink.write(&context.interface);
            sink.list(&context.encodings);
        }
    })
}

/// What a client sends to call.
pub fn encode_request(call_id: u32, call: &Call) -> Vec<u8> {
    let flags = u8::from(call.first) | u8::from(call.last) << 1;
    unit(Kind::Request, flags, call_id, |sink| {
        sink.size32(call.stub.len());
        sink.u16(call.context);
        sink.u16(call.opnum);
        sink.bytes(&call.stub);
    })
}
