//! A message as a value: which command it is, and that command's body.

use bytes::{Bytes, BytesMut};

use super::compound::Encoded;
use super::error::ErrorData;
use super::header::{Command, HEADER_SIZE, Header};
use super::logon::{Empty, SetupRequest, SetupResponse};
use super::oplock::Break;
use super::payload::Payload;
use super::query::{DirectoryRequest, InfoRequest, NotifyRequest, Output, SetRequest, SetResponse};
use super::wire::{Malformed, Parsed, Sink, Source};
use super::{create, file, ioctl, negotiate, tree};
use crate::status::Status;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Negotiate(negotiate::Request),
    SessionSetup(SetupRequest),
    Logoff,
    TreeConnect(tree::Request),
    TreeDisconnect,
    Create(create::Request),
    Close(file::CloseRequest),
    Flush(file::FlushRequest),
    Read(file::ReadRequest),
    Write(file::WriteRequest),
    Lock(file::LockRequest),
    Ioctl(ioctl::Request),
    Cancel,
    Echo,
    QueryDirectory(DirectoryRequest),
    ChangeNotify(NotifyRequest),
    QueryInfo(InfoRequest),
    SetInfo(SetRequest),
    OplockBreak(Break),
}

impl Request {
    /// The body behind a header that has been read.
    pub fn parse(command: Command, message: Bytes) -> Parsed<Self> {
        let source = &mut Source::starting(message, HEADER_SIZE);
        let empty = |source: &mut Source| source.read::<Empty>();
        Ok(match command {
            Command::Negotiate => Self::Negotiate(source.read()?),
            Command::SessionSetup => Self::SessionSetup(source.read()?),
            Command::Logoff => empty(source).map(|_| Self::Logoff)?,
            Command::TreeConnect => Self::TreeConnect(source.read()?),
            Command::TreeDisconnect => empty(source).map(|_| Self::TreeDisconnect)?,
            Command::Create => Self::Create(source.read()?),
            Command::Close => Self::Close(source.read()?),
            Command::Flush => Self::Flush(source.read()?),
            Command::Read => Self::Read(source.read()?),
            Command::Write => Self::Write(source.read()?),
            Command::Lock => Self::Lock(source.read()?),
            Command::Ioctl => Self::Ioctl(source.read()?),
            Command::Cancel => empty(source).map(|_| Self::Cancel)?,
            Command::Echo => empty(source).map(|_| Self::Echo)?,
            Command::QueryDirectory => Self::QueryDirectory(source.read()?),
            Command::ChangeNotify => Self::ChangeNotify(source.read()?),
            Command::QueryInfo => Self::QueryInfo(source.read()?),
            Command::SetInfo => Self::SetInfo(source.read()?),
            Command::OplockBreak => match source.read()? {
                Break::Lease(_) => return Err(Malformed::StructureSize),
                acknowledged @ (Break::Oplock(_) | Break::LeaseAck(_)) => Self::OplockBreak(acknowledged),
            },
            Command::Unknown(_) => return Err(Malformed::Value),
        })
    }

    pub fn command(&self) -> Command {
        match self {
            Self::Negotiate(_) => Command::Negotiate,
            Self::SessionSetup(_) => Command::SessionSetup,
            Self::Logoff => Command::Logoff,
            Self::TreeConnect(_) => Command::TreeConnect,
            Self::TreeDisconnect => Command::TreeDisconnect,
            Self::Create(_) => Command::Create,
            Self::Close(_) => Command::Close,
            Self::Flush(_) => Command::Flush,
            Self::Read(_) => Command::Read,
            Self::Write(_) => Command::Write,
            Self::Lock(_) => Command::Lock,
            Self::Ioctl(_) => Command::Ioctl,
            Self::Cancel => Command::Cancel,
            Self::Echo => Command::Echo,
            Self::QueryDirectory(_) => Command::QueryDirectory,
            Self::ChangeNotify(_) => Command::ChangeNotify,
            Self::QueryInfo(_) => Command::QueryInfo,
            Self::SetInfo(_) => Command::SetInfo,
            Self::OplockBreak(_) => Command::OplockBreak,
        }
    }

    /// With `header` in front, whose command has to be this one's.
    pub fn encode(&self, header: &Header) -> Encoded {
        let payload = if let Self::Write(request) = self { request.data.clone().into() } else { Payload::default() };
        let head = headed(header, |sink| match self {
            Self::Negotiate(body) => sink.write(body),
            Self::SessionSetup(body) => sink.write(body),
            Self::TreeConnect(body) => sink.write(body),
            Self::Create(body) => sink.write(body),
            Self::Close(body) => sink.write(body),
            Self::Flush(body) => sink.write(body),
            Self::Read(body) => sink.write(body),
            Self::Write(body) => sink.write(body),
            Self::Lock(body) => sink.write(body),
            Self::Ioctl(body) => sink.write(body),
            Self::QueryDirectory(body) => sink.write(body),
            Self::ChangeNotify(body) => sink.write(body),
            Self::QueryInfo(body) => sink.write(body),
            Self::SetInfo(body) => sink.write(body),
            Self::OplockBreak(body) => sink.write(body),
            Self::Logoff | Self::TreeDisconnect | Self::Cancel | Self::Echo => sink.write(&Empty {}),
        });
        Encoded { head, payload }
    }

    /// How many bytes a request moves: what it costs in credits is by this, one for each 64 KiB ([MS-SMB2] 3.3.5.2.5).
    pub fn moves(&self) -> u64 {
        let (sent, asked) = match self {
            Self::Read(request) => (0, request.length as usize),
            Self::Write(request) => (request.data.len(), 0),
            Self::Ioctl(request) => (request.input.len(), request.input_max as usize + request.output_max as usize),
            Self::QueryDirectory(request) => (0, request.output_max as usize),
            Self::ChangeNotify(request) => (0, request.output_max as usize),
            Self::QueryInfo(request) => (request.input.len(), request.output_max as usize),
            Self::SetInfo(request) => (request.input.len(), 0),
            Self::Negotiate(_)
            | Self::SessionSetup(_)
            | Self::Logoff
            | Self::TreeConnect(_)
            | Self::TreeDisconnect
            | Self::Create(_)
            | Self::Close(_)
            | Self::Flush(_)
            | Self::Lock(_)
            | Self::Cancel
            | Self::Echo
            | Self::OplockBreak(_) => (0, 0),
        };
        sent.max(asked) as u64
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    Negotiate(negotiate::Response),
    SessionSetup(SetupResponse),
    Logoff,
    TreeConnect(tree::Answer),
    TreeDisconnect,
    Create(create::Response),
    Close(file::CloseResponse),
    Flush,
    Read(file::ReadResponse),
    Write(file::WriteResponse),
    Lock,
    Ioctl(ioctl::Response),
    Echo,
    QueryDirectory(Output),
    ChangeNotify(Output),
    QueryInfo(Output),
    SetInfo,
    OplockBreak(Break),
    Error(ErrorData),
}

impl Response {
    pub fn parse(header: &Header, message: Bytes) -> Parsed<Self> {
        let source = &mut Source::starting(message, HEADER_SIZE);
        if says_no(header.command, header.status, source.clone().u16()?) {
            return source.read().map(Self::Error);
        }
        let empty = |source: &mut Source| source.read::<Empty>();
        Ok(match header.command {
            Command::Negotiate => Self::Negotiate(source.read()?),
            Command::SessionSetup => Self::SessionSetup(source.read()?),
            Command::Logoff => empty(source).map(|_| Self::Logoff)?,
            Command::TreeConnect => Self::TreeConnect(source.read()?),
            Command::TreeDisconnect => empty(source).map(|_| Self::TreeDisconnect)?,
            Command::Create => Self::Create(source.read()?),
            Command::Close => Self::Close(source.read()?),
            Command::Flush => empty(source).map(|_| Self::Flush)?,
            Command::Read => Self::Read(source.read()?),
            Command::Write => Self::Write(source.read()?),
            Command::Lock => empty(source).map(|_| Self::Lock)?,
            Command::Ioctl => Self::Ioctl(source.read()?),
            Command::Echo => empty(source).map(|_| Self::Echo)?,
            Command::QueryDirectory => Self::QueryDirectory(source.read()?),
            Command::ChangeNotify => Self::ChangeNotify(source.read()?),
            Command::QueryInfo => Self::QueryInfo(source.read()?),
            Command::SetInfo => source.read::<SetResponse>().map(|_| Self::SetInfo)?,
            Command::OplockBreak => Self::OplockBreak(source.read()?),
            Command::Cancel | Command::Unknown(_) => return Err(Malformed::Value),
        })
    }

    /// With `header` in front, whose status has to fit: an error's with `Error`, another with anything else.
    pub fn encode(&self, header: &Header) -> Encoded {
        let payload = if let Self::Read(response) = self { response.data.clone() } else { Payload::default() };
        let head = headed(header, |sink| match self {
            Self::Negotiate(body) => sink.write(body),
            Self::SessionSetup(body) => sink.write(body),
            Self::TreeConnect(body) => sink.write(body),
            Self::Create(body) => sink.write(body),
            Self::Close(body) => sink.write(body),
            Self::Read(body) => sink.write(body),
            Self::Write(body) => sink.write(body),
            Self::Ioctl(body) => sink.write(body),
            Self::QueryDirectory(body) | Self::ChangeNotify(body) | Self::QueryInfo(body) => sink.write(body),
            Self::SetInfo => sink.write(&SetResponse {}),
            Self::OplockBreak(body) => sink.write(body),
            Self::Error(body) => sink.write(body),
            Self::Logoff | Self::TreeDisconnect | Self::Flush | Self::Lock | Self::Echo => sink.write(&Empty {}),
        });
        Encoded { head, payload }
    }
}

/// Whether an answer has the body of an error. Some that are no success carry their command's own ([MS-SMB2] 3.3.4.4); a copy's limits come
/// with the same status as any other mistake in an IOCTL, so there the structure's size decides.
fn says_no(command: Command, status: u32, structure: u16) -> bool {
    const ERROR: u16 = 9;
    match (Status::from_code(status), command) {
        (Some(Status::Success), _) => false,
        (Some(Status::MoreProcessingRequired), Command::SessionSetup) => false,
        (Some(Status::BufferOverflow), Command::QueryInfo | Command::Read | Command::Ioctl) => false,
        (Some(Status::InvalidParameter), Command::Ioctl) => structure == ERROR,
        (Some(Status::NotifyEnumDir | Status::NotifyCleanup), Command::ChangeNotify) => false,
        (Some(_) | None, _) => true,
    }
}

fn headed(header: &Header, body: impl FnOnce(&mut Sink)) -> BytesMut {
    let mut sink = Sink::with_capacity(256);
    sink.write(header);
    body(&mut sink);
    sink.finish()
}
