//! A client of SMB 2.1 over any stream: it negotiates, logs on by NTLMv2, signs, and asks. It uses the server's own codec the other way
//! round; the rules of a client are here. Breaks are kept until they are asked for.
//!
//! Held true: requests have consecutive message ids; an answer is given to the request whose id it has, however late it comes.

use std::collections::{HashMap, VecDeque};

use bytes::{Bytes, BytesMut};
use lazuli_smb::crypt::{SigningAlgorithm, SigningKey};
use lazuli_smb::logon::ntlm::{self, Authenticate, Challenge};
use lazuli_smb::logon::{proof, spnego};
use lazuli_smb::packet::compound::{Encoded, bounds};
use lazuli_smb::packet::header::{Flags, Target};
use lazuli_smb::packet::logon::SetupRequest;
use lazuli_smb::packet::negotiate::{self, Capabilities, SecurityMode};
use lazuli_smb::packet::oplock::Break;
use lazuli_smb::packet::{Header, Request, Response, frame, tree};
use lazuli_smb::status::Status;
use lazuli_smb::time::FileTime;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const DIALECT: u16 = 0x0210;
const ASKED: ntlm::Flags = ntlm::Flags(0xe208_8297);
/// Credits that each request asks for.
const CREDITS: u16 = 64;

/// The connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

pub type Answered = Result<(Status, Response), Gone>;

pub struct SmbClient<S> {
    stream: S,
    arrived: BytesMut,
    pub session: u64,
    pub tree: u32,
    pub next_id: u64,
    signing: Option<SigningKey>,
    /// Answers that nobody has asked for yet.
    early: HashMap<u64, (Header, Status, Response)>,
    breaks: VecDeque<Break>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SmbClient<S> {
    /// Negotiated; nobody has logged on. A client is known by its `guid`.
    pub async fn negotiate(stream: S, guid: u128) -> Result<Self, Gone> {
        let mut client = Self {
            stream,
            arrived: BytesMut::new(),
            session: 0,
            tree: 0,
            next_id: 0,
            signing: None,
            early: HashMap::new(),
            breaks: VecDeque::new(),
        };
        let asked = negotiate::Request {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities(0x7f),
            client: guid.to_le_bytes(),
            dialects: vec![DIALECT],
            contexts: Vec::new(),
        };
        client.ask(&Request::Negotiate(asked)).await?;
        Ok(client)
    }

    /// Logs on, and connects to a share.
    pub async fn connect(stream: S, guid: u128, account: &str, key: &str, share: &str) -> Result<Self, Gone> {
        let mut client = Self::negotiate(stream, guid).await?;
        if client.log_on(account, key).await? != Status::Success {
            return Err(Gone);
        }
        let path = format!(r"\\127.0.0.1\{share}");
        let asked = tree::Request { flags: Default::default(), path: path.as_str().into(), contexts: None };
        let id = client.send(&Request::TreeConnect(asked)).await?;
        let (header, status, _) = client.answer_with_header(id).await?;
        client.tree = header.tree().unwrap_or(0);
        if status == Status::Success { Ok(client) } else { Err(Gone) }
    }

    pub async fn log_on(&mut self, account: &str, key: &str) -> Result<Status, Gone> {
        self.authenticate(|negotiate, challenge| prove(negotiate, challenge, account, key)).await
    }

    /// Says that it is nobody. In a session this is signed, like everything.
    pub async fn log_on_as_nobody(&mut self) -> Result<Status, Gone> {
        self.authenticate(|_, challenge| say_nobody(challenge)).await
    }

    async fn authenticate(
        &mut self,
        says: impl FnOnce(&[u8], &[u8]) -> Option<(Vec<u8>, [u8; 16])>,
    ) -> Result<Status, Gone> {
        let setup = |token: Vec<u8>| {
            Request::SessionSetup(SetupRequest { security_mode: 1, token: token.into(), ..Default::default() })
        };
        let negotiate = ntlm::encode_negotiate(ASKED);
        let id = self.send(&setup(spnego::encode_init(&[spnego::NTLMSSP], Some(&negotiate)))).await?;
        let (header, status, response) = self.answer_with_header(id).await?;
        let Response::SessionSetup(response) = response else { return Ok(status) };
        self.session = header.session;
        let challenge = spnego::parse_resp(&response.token).and_then(|resp| resp.token.map(<[u8]>::to_vec));
        let (message, session_key) = says(&negotiate, &challenge.ok_or(Gone)?).ok_or(Gone)?;
        let (status, _) = self.ask(&setup(spnego::encode_resp(None, None, Some(&message), None))).await?;
        // A session that is there keeps the key that it has.
        if status == Status::Success && self.signing.is_none() {
            self.signing = Some(SigningKey::new(SigningAlgorithm::HmacSha256, &session_key));
        }
        Ok(status)
    }

    /// One request, and its last answer.
    pub async fn ask(&mut self, request: &Request) -> Answered {
        let id = self.send(request).await?;
        self.answer(id).await
    }

    /// Sends a request, signed if there is a key. Gives its id.
    pub async fn send(&mut self, request: &Request) -> Result<u64, Gone> {
        let id = self.next_id;
        self.next_id += 1;
        let header = self.header(request, id);
        let message = self.signed(request, &header);
        self.send_frame(&message).await?;
        Ok(id)
    }

    pub fn header(&self, request: &Request, id: u64) -> Header {
        let flags = if self.signing.is_some() { Flags::SIGNED } else { Flags::default() };
        let target = Target::Sync { process: 0xfeff, tree: self.tree };
        let header = Header::request(request.command(), id);
        Header { credit_charge: 1, credits: CREDITS, session: self.session, flags, target, ..header }
    }

    pub fn signed(&self, request: &Request, header: &Header) -> BytesMut {
        let Encoded { mut head, payload } = request.encode(header);
        if let (true, Some(key)) = (header.is_signed(), &self.signing) {
            key.sign(&mut head, &payload);
        }
        Encoded { head, payload }.flatten()
    }

    pub async fn send_frame(&mut self, message: &[u8]) -> Result<(), Gone> {
        self.send_bytes(&frame::framed(message)).await
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        self.stream.write_all(bytes).await.map_err(|_| Gone)?;
        self.stream.flush().await.map_err(|_| Gone)
    }

    /// The last answer to the request with that id.
    pub async fn answer(&mut self, id: u64) -> Answered {
        self.answer_with_header(id).await.map(|(_, status, response)| (status, response))
    }

    async fn answer_with_header(&mut self, id: u64) -> Result<(Header, Status, Response), Gone> {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return Ok(answer);
            }
            self.advance().await?;
        }
    }

    /// The answer, if it has come.
    pub fn take_answer(&mut self, id: u64) -> Option<(Status, Response)> {
        self.early.remove(&id).map(|(_, status, response)| (status, response))
    }

    /// Takes in the next frame: answers, or a break. What is only announced is not kept.
    pub async fn advance(&mut self) -> Result<(), Gone> {
        let message = self.frame().await?;
        for place in bounds(&message).map_err(|_| Gone)? {
            let part = message.slice(place);
            let header = Header::parse(&part).map_err(|_| Gone)?;
            let response = Response::parse(&header, part).map_err(|_| Gone)?;
            let status = Status::from_code(header.status).ok_or(Gone)?;
            if let (Response::OplockBreak(told), u64::MAX) = (&response, header.message_id) {
                self.breaks.push_back(told.clone());
            } else if status != Status::Pending {
                self.early.insert(header.message_id, (header, status, response));
            }
        }
        Ok(())
    }

    async fn frame(&mut self) -> Result<Bytes, Gone> {
        loop {
            if let Some(message) = frame::next(&mut self.arrived, frame::FRAME_MAX).map_err(|_| Gone)? {
                return Ok(message.freeze());
            }
            if self.stream.read_buf(&mut self.arrived).await.map_err(|_| Gone)? == 0 {
                return Err(Gone);
            }
        }
    }

    /// A break that has come, if one has.
    pub fn take_break(&mut self) -> Option<Break> {
        self.breaks.pop_front()
    }
}

/// AUTHENTICATE of nobody, and the key that it comes with.
fn say_nobody(challenge: &[u8]) -> Option<(Vec<u8>, [u8; 16])> {
    let (flags, ..) = Challenge::parse(challenge.to_vec().into()).ok()?;
    let session_key = [0x55; 16];
    let said = Authenticate {
        flags,
        lm: vec![0].into(),
        nt: Bytes::new(),
        domain: "".into(),
        user: "".into(),
        workstation: "HOST".into(),
        sealed_key: Bytes::copy_from_slice(&proof::rc4(&[0; 16], &session_key)),
        mic: None,
    };
    Some((said.encode(), session_key))
}

/// AUTHENTICATE, and the key of the session that it begins.
fn prove(negotiate: &[u8], challenge: &[u8], account: &str, key: &str) -> Option<(Vec<u8>, [u8; 16])> {
    let (flags, random, info) = Challenge::parse(challenge.to_vec().into()).ok()?;
    let owf = proof::owf_v2(&proof::nt_hash(key), account, "AZURE");
    let blob = ntlm::encode_blob(FileTime(9), [0xaa; 8], &info, true);
    let proven = proof::proof(&owf, &random, &blob);
    let base = proof::session_base_key(&owf, &proven);
    let session_key = [0x55; 16];
    let said = Authenticate {
        flags,
        lm: vec![0; 24].into(),
        nt: [&proven[..], &blob].concat().into(),
        domain: "AZURE".into(),
        user: account.into(),
        workstation: "HOST".into(),
        sealed_key: Bytes::copy_from_slice(&proof::rc4(&base, &session_key)),
        mic: None,
    };
    let mut message = said.encode();
    let around = [&message[..ntlm::MIC_AT], &message[ntlm::MIC_AT + 16..]];
    let mic = proof::mic(&session_key, negotiate, challenge, around);
    message[ntlm::MIC_AT..ntlm::MIC_AT + 16].copy_from_slice(&mic);
    Some((message, session_key))
}
