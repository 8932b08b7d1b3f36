//! What is asked of IPC$: which shares there are, and what the server is. DCE/RPC over a named pipe ([C706], [MS-RPCE]), with just the calls that
//! clients make before they connect to a share ([MS-SRVS], [MS-WKST]).
//!
//! Pure: bytes that were written to a pipe and a list of shares go in, bytes to be read from it come out. Security contexts are not needed,
//! since the session is signed; calls that change something are answered as not being there.

pub mod ndr;
pub mod pdu;
pub mod srvsvc;
pub mod wkssvc;

use bytes::Bytes;

use crate::packet::wire::Malformed;
use pdu::{Bind, Call, Fault, Pdu};

/// What is told of the server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub name: String,
    pub comment: String,
    pub shares: Vec<Share>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub name: String,
    pub comment: String,
    /// IPC$, and not a share of files.
    pub pipes: bool,
}

/// What a pipe is for, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Srvsvc,
    Wkssvc,
}

impl Interface {
    /// `None` for a pipe that is not there.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.trim_start_matches('\\').to_ascii_lowercase();
        match name.strip_prefix(r"pipe\").unwrap_or(&name) {
            "srvsvc" => Some(Self::Srvsvc),
            "wkssvc" => Some(Self::Wkssvc),
            _ => None,
        }
    }

    fn syntax(self) -> pdu::Syntax {
        match self {
            Self::Srvsvc => srvsvc::SYNTAX,
            Self::Wkssvc => wkssvc::SYNTAX,
        }
    }

    fn call(self, opnum: u16, stub: Bytes, server: &Server) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Srvsvc => srvsvc::call(opnum, stub, server),
            Self::Wkssvc => wkssvc::call(opnum, stub, server),
        }
    }
}

/// What has been written to a pipe and is not whole yet is kept up to here.
const WRITTEN_MAX: usize = 64 << 10;

/// One write of many calls is answered up to here, and at least one call.
const ANSWERS_MAX: usize = 4 << 20;
/// Clients bind two or three.
const BOUND_MAX: usize = 64;

/// One open pipe.
#[derive(Debug)]
pub struct Pipe {
    interface: Interface,
    /// Contexts that were bound to the interface.
    bound: Vec<u16>,
    written: Vec<u8>,
    /// The beginning of a request that comes in fragments.
    stub: Vec<u8>,
    fragment_max: usize,
}

impl Pipe {
    pub fn new(interface: Interface) -> Self {
        Self { interface, bound: Vec::new(), written: Vec::new(), stub: Vec::new(), fragment_max: pdu::FRAGMENT_MAX }
    }

    /// Takes what the client writes; gives what it can read then. A mistake in it ends the pipe.
    pub fn write(&mut self, bytes: &[u8], server: &Server) -> Result<Vec<u8>, Malformed> {
        if self.written.len() + bytes.len() > WRITTEN_MAX {
            return Err(Malformed::Length);
        }
        self.written.extend_from_slice(bytes);
        let mut answers = Vec::new();
        while let Some(length) = pdu::length(&self.written)? {
            if answers.len() > ANSWERS_MAX {
                return Err(Malformed::Length);
            }
            let rest = self.written.split_off(length);
            let whole = Bytes::from(std::mem::replace(&mut self.written, rest));
            let (call_id, pdu) = Pdu::parse(whole)?;
            answers.extend(self.answer(call_id, pdu, server)?);
        }
        Ok(answers)
    }

    fn answer(&mut self, call_id: u32, pdu: Pdu, server: &Server) -> Result<Vec<u8>, Malformed> {
        match pdu {
            Pdu::Bind(bind) => Ok(self.bind(call_id, &bind)),
            Pdu::Request(call) => self.request(call_id, call, server),
            // A client that goes away in the middle of a call.
            Pdu::Cancelled => {
                self.stub.clear();
                Ok(Vec::new())
            }
        }
    }

    fn bind(&mut self, call_id: u32, bind: &Bind) -> Vec<u8> {
        self.fragment_max = usize::from(bind.receive_max).clamp(pdu::FRAGMENT_MIN, pdu::FRAGMENT_MAX);
        let results: Vec<_> = bind.contexts.iter().map(|context| context.decide(self.interface.syntax())).collect();
        let bound = bind.contexts.iter().zip(&results).filter(|(_, result)| result.is_accepted());
        self.bound.extend(bound.map(|(context, _)| context.id));
        self.bound.sort_unstable();
        self.bound.dedup();
        self.bound.truncate(BOUND_MAX);
        pdu::encode_bind_ack(call_id, bind, self.interface, &results)
    }

    fn request(&mut self, call_id: u32, call: Call, server: &Server) -> Result<Vec<u8>, Malformed> {
        if call.first {
            self.stub.clear();
        }
        if self.stub.len() + call.stub.len() > WRITTEN_MAX {
            return Err(Malformed::Length);
        }
        self.stub.extend_from_slice(&call.stub);
        if !call.last {
            return Ok(Vec::new());
        }
        let stub = Bytes::from(std::mem::take(&mut self.stub));
        let result = match self.bound.contains(&call.context) {
            true => self.interface.call(call.opnum, stub, server),
            false => Err(Fault::UnknownContext),
        };
        Ok(match result {
            Ok(answer) => pdu::encode_response(call_id, call.context, &answer, self.fragment_max),
            Err(fault) => pdu::encode_fault(call_id, call.context, fault),
        })
    }
}

#[cfg(test)]
mod tests;
