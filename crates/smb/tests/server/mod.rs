//! The least server that a client can log on to: it negotiates, lets people in, connects trees and lists shares. Everything that it decides is
//! decided by the crate; it only moves bytes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use bytes::{Bytes, BytesMut};
use lazuli_smb::crypt::{Cipher, SigningAlgorithm};
use lazuli_smb::logon::Passwords;
use lazuli_smb::packet::create::{self, Action};
use lazuli_smb::packet::error::ErrorData;
use lazuli_smb::packet::file::{CloseResponse, FileId, ReadResponse, WriteResponse};
use lazuli_smb::packet::frame::{self, Kind};
use lazuli_smb::packet::fsctl::{Fsctl, ValidateRequest};
use lazuli_smb::packet::header::Target;
use lazuli_smb::packet::negotiate::Dialect;
use lazuli_smb::packet::query::Output;
use lazuli_smb::packet::tree::{self, share_of};
use lazuli_smb::packet::wire::Field;
use lazuli_smb::packet::{Command, Request, Response, ioctl};
use lazuli_smb::rpc::{self, Interface, Pipe, Share};
use lazuli_smb::session::connection::LogonInput;
use lazuli_smb::session::negotiation::{self, Encryption};
use lazuli_smb::session::protection::Arrived;
use lazuli_smb::session::{Close, Connection, ConnectionId, Policy, Received, Reply, Sessions, Tree};
use lazuli_smb::status::Status;
use lazuli_smb::time::FileTime;

pub const USER: &str = "devstoreaccount1";
pub const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
pub const OTHER: &str = "c2Vjb25kIGtleQ==";
/// The third of May 2024.
pub const NOW: FileTime = FileTime(133_591_680_000_000_000);

pub fn passwords(name: &str) -> Option<Passwords> {
    (name == USER).then(|| [KEY.to_owned(), OTHER.to_owned()])
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub legacy: usize,
    pub dialect: Option<Dialect>,
    pub cipher: Option<Cipher>,
    pub signing: Option<SigningAlgorithm>,
    /// Trees that are shares of files.
    pub connected: usize,
    /// Requests that were served, by how they arrived.
    pub signed: usize,
    pub sealed: usize,
    /// Requests that were not, because of how they arrived.
    pub refused: usize,
}

pub struct Server {
    pub port: u16,
    report: Arc<Mutex<Report>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(encryption: Encryption) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (report, over) = (Arc::new(Mutex::new(Report::default())), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (report.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let report = seen.clone();
                std::thread::spawn(move || Client::new(encryption, report).serve(stream));
            }
        });
        Self { port, report, over, thread: Some(thread) }
    }

    pub fn report(&self) -> Report {
        self.report.lock().expect("nobody panicked").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// One client's connection, and the sessions on it.
struct Client {
    policy: Policy,
    report: Arc<Mutex<Report>>,
    connection: Connection,
    sessions: Sessions,
    pipes: HashMap<u64, (Pipe, Vec<u8>)>,
    next_pipe: u64,
    leaving: Option<u64>,
    /// What was connected last.
    tree: Option<u32>,
}

impl Client {
    fn new(encryption: Encryption, report: Arc<Mutex<Report>>) -> Self {
        Self {
            policy: Policy { server: [7; 16], started: NOW, encryption, transfer_max: 8 << 20 },
            report,
            connection: Connection::new(ConnectionId(1)),
            sessions: Sessions::default(),
            pipes: HashMap::new(),
            next_pipe: 1,
            leaving: None,
            tree: None,
        }
    }

    fn serve(mut self, mut stream: TcpStream) {
        let mut head = [0; 4];
        while stream.read_exact(&mut head).is_ok() {
            let Ok(length) = frame::length(head, frame::FRAME_MAX) else { return };
            let mut message = BytesMut::zeroed(length);
            if stream.read_exact(&mut message).is_err() {
                return;
            }
            match self.frame(message) {
                Ok(Some(answer)) => drop(stream.write_all(&frame::framed(&answer))),
                Ok(None) => {}
                Err(_) => return,
            }
            if let Some(session) = self.leaving.take() {
                self.sessions.end(session);
            }
        }
    }

    fn note(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.report.lock().expect("nobody panicked"));
    }

    fn frame(&mut self, frame: BytesMut) -> Result<Option<BytesMut>, Close> {
        if Kind::of(&frame)? == Kind::Legacy {
            self.note(|report| report.legacy += 1);
            return self.connection.negotiate_legacy(&self.policy, frame.freeze(), NOW).map(Some);
        }
        let mut replies = Vec::new();
        for received in self.connection.receive(frame, &self.sessions, NOW)? {
            if received.header.command != Command::Cancel {
                let reply = self.reply(&received)?;
                replies.push(reply);
            }
        }
        if replies.is_empty() {
            return Ok(None);
        }
        self.connection.send(replies, &self.sessions).map(|frame| Some(frame.flatten()))
    }

    fn reply(&mut self, received: &Received) -> Result<Reply, Close> {
        let no = Response::Error(ErrorData::None);
        self.note(|report| match (received.accept(), received.arrived) {
            (Err(_), _) => report.refused += 1,
            (Ok(_), Arrived::Signed) => report.signed += 1,
            (Ok(_), Arrived::Sealed) => report.sealed += 1,
            (Ok(_), Arrived::Plain | Arrived::Forged) => {}
        });
        let request = received.accept().and_then(|answer| Ok((answer, self.connection.parse(received)?)));
        let (status, session, response, answer) = match request {
            Err(status) => (status, received.session, no, received.refusal()),
            Ok((answer, Request::Negotiate(request))) => {
                match self.connection.negotiate(&self.policy, received, &request, NOW, [9; 32])? {
                    Ok(response) => (Status::Success, 0, response, answer),
                    Err(status) => (status, 0, no, answer),
                }
            }
            Ok((_, Request::SessionSetup(request))) => {
                let (policy, encryption) = (&self.policy, Encryption::Offered);
                let input = LogonInput { policy, server: "lazuli", encryption, now: NOW, random: [3; 8], passwords };
                let setup = self.connection.setup(received, &request, &mut self.sessions, input)?;
                (setup.status, setup.session, setup.response.map_or(no, Response::SessionSetup), setup.answer)
            }
            Ok((answer, request)) => match self.command(received, request)? {
                Ok(response) => (Status::Success, received.session, response, answer),
                Err(status) => (status, received.session, no, answer),
            },
        };
        if let Some(agreed) = self.connection.agreed() {
            self.note(|report| {
                (report.dialect, report.cipher) = (Some(agreed.dialect), agreed.cipher);
                report.signing = Some(agreed.signing);
            });
        }
        let mut header = self.connection.answer(&received.header, session, status);
        if let (Response::TreeConnect(_), Some(tree)) = (&response, self.tree) {
            header.target = Target::Sync { process: 0xfeff, tree };
        }
        Ok(Reply { header, response, answer })
    }

    fn command(&mut self, received: &Received, request: Request) -> Result<Result<Response, Status>, Close> {
        Ok(match request {
            Request::Echo => Ok(Response::Echo),
            Request::Logoff => {
                // Its answer is still signed.
                self.leaving = Some(received.session);
                Ok(Response::Logoff)
            }
            Request::TreeConnect(request) => self.connect(received.session, &request),
            Request::TreeDisconnect => Ok(Response::TreeDisconnect),
            Request::Create(request) => self.open(&request),
            Request::Write(request) => self
                .pipe_write(request.file, &request.data)
                .map(|count| Response::Write(WriteResponse { count, remaining: 0 })),
            Request::Read(request) => self
                .pipe_read(request.file, request.length as usize)
                .map(|data| Response::Read(ReadResponse { data: data.into(), remaining: 0 })),
            Request::Ioctl(request) => return self.ioctl(&request),
            Request::QueryInfo(_) => Ok(Response::QueryInfo(Output(Bytes::from_static(&[0; 24])))),
            Request::Close(request) => {
                self.pipes.remove(&request.file.volatile);
                Ok(Response::Close(CloseResponse::default()))
            }
            Request::Negotiate(_)
            | Request::SessionSetup(_)
            | Request::Flush(_)
            | Request::Lock(_)
            | Request::Cancel => Err(Status::NotSupported),
            Request::QueryDirectory(_) | Request::ChangeNotify(_) => Err(Status::NotSupported),
            Request::SetInfo(_) | Request::OplockBreak(_) => Err(Status::NotSupported),
        })
    }

    fn connect(&mut self, session: u64, request: &tree::Request) -> Result<Response, Status> {
        let path = request.path.to_text().map_err(|_| Status::BadNetworkName)?;
        let share = share_of(&path).ok_or(Status::BadNetworkName)?;
        let pipes = share.eq_ignore_ascii_case("IPC$");
        if !pipes && share != "share" {
            return Err(Status::BadNetworkName);
        }
        let session = self.sessions.get_mut(session).ok_or(Status::UserSessionDeleted)?;
        let tree = Tree { share: share.to_owned(), pipes, encrypted: false, bound: false };
        self.tree = Some(session.connect(tree).ok_or(Status::InsufficientResources)?);
        self.note(|report| report.connected += usize::from(!pipes));
        let kind = if pipes { tree::ShareType::Pipe } else { tree::ShareType::Disk };
        Ok(Response::TreeConnect(tree::Answer { kind: kind.code(), maximal_access: 0x1f_01ff, ..Default::default() }))
    }

    fn open(&mut self, request: &create::Request) -> Result<Response, Status> {
        let name = request.name.to_text().map_err(|_| Status::ObjectNameInvalid)?;
        let interface = Interface::of(&name).ok_or(Status::ObjectNameNotFound)?;
        self.next_pipe += 1;
        let id = self.next_pipe;
        self.pipes.insert(id, (Pipe::new(interface), Vec::new()));
        Ok(Response::Create(create::Response {
            oplock: 0,
            action: Action::Opened,
            created: NOW,
            accessed: NOW,
            written: NOW,
            changed: NOW,
            allocation: 4096,
            end_of_file: 0,
            attributes: 0x80,
            file: FileId { persistent: id, volatile: id },
            contexts: Vec::new(),
        }))
    }

    fn pipe_write(&mut self, file: FileId, data: &[u8]) -> Result<u32, Status> {
        let share = |name: &str, pipes| Share { name: name.into(), comment: format!("about {name}"), pipes };
        let server = rpc::Server {
            name: "LAZULI".into(),
            comment: "Lazuli".into(),
            shares: vec![share("share", false), share("backup", false), share("IPC$", true)],
        };
        let (pipe, waiting) = self.pipes.get_mut(&file.volatile).ok_or(Status::FileClosed)?;
        waiting.extend(pipe.write(data, &server).map_err(|_| Status::PipeDisconnected)?);
        Ok(data.len() as u32)
    }

    fn pipe_read(&mut self, file: FileId, max: usize) -> Result<Bytes, Status> {
        let (_, waiting) = self.pipes.get_mut(&file.volatile).ok_or(Status::FileClosed)?;
        let rest = waiting.split_off(waiting.len().min(max));
        Ok(std::mem::replace(waiting, rest).into())
    }

    fn ioctl(&mut self, request: &ioctl::Request) -> Result<Result<Response, Status>, Close> {
        let output = match Fsctl::from_code(request.code) {
            Some(Fsctl::PipeTransceive) => self
                .pipe_write(request.file, &request.input)
                .and_then(|_| self.pipe_read(request.file, request.output_max as usize)),
            Some(Fsctl::ValidateNegotiate) => {
                let agreed = self.connection.agreed().ok_or(Close::Protocol)?;
                let asked = ValidateRequest::from_bytes(request.input.clone())?;
                Ok(negotiation::validate(&self.policy, agreed, &asked).ok_or(Close::Protocol)?.to_bytes())
            }
            Some(_) | None => Err(Status::NotSupported),
        };
        Ok(output.map(|output| Response::Ioctl(ioctl::Response { code: request.code, file: request.file, output })))
    }
}
