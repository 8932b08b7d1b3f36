//! A connection, from a frame to its requests and from their answers to a frame, and the two commands that make it what it is: NEGOTIATE and
//! SESSION_SETUP ([MS-SMB2] 3.3.5.2 to 3.3.5.5).
//!
//! What a client may not do at all ends the connection (`Close`); what it may not do now is refused with a status.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use super::negotiation::{self, Agreed, Encryption, Policy};
use super::protection::{self, Answer, Arrived, Standing};
use super::setup::{self, Named, Outcome, Wish};
use super::{Answers, ConnectionId, Session, Sessions, Window, credits};
use crate::crypt::Preauth;
use crate::logon::{self, Identity, Logon, Passwords, Step};
use crate::packet::compound::{Encoded, bounds};
use crate::packet::frame::Kind;
use crate::packet::logon::{SessionFlags, SetupRequest, SetupResponse};
use crate::packet::transform::Transform;
use crate::packet::{Command, Header, Malformed, Request, Response, legacy, negotiate};
use crate::status::Status;
use crate::time::FileTime;

/// Logons under way at once on one connection. Windows has one.
pub const LOGONS_MAX: usize = 2;

/// Sessions at once on one connection. Windows has one for each user of a machine.
pub const SESSIONS_MAX: usize = 64;

/// A token of 64 KiB, and the fields around it.
pub const FRAME_MAX_BEFORE_LOGON: usize = 65 << 10;
/// Headers, names and contexts beside the longest data of one request.
const FRAME_OVERHEAD: usize = 128 << 10;

/// Why a connection is ended, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    Malformed(Malformed),
    /// A message id that was not granted, or not any more.
    Sequence,
    /// Compressed, or an answer, or SMB 1 where it has no business.
    Protocol,
    /// Sealed with another key, for no session, or about another one than it says.
    Sealing,
    /// No nonce is left.
    Exhausted,
}

impl From<Malformed> for Close {
    fn from(wrong: Malformed) -> Self {
        Self::Malformed(wrong)
    }
}

#[derive(Debug)]
enum Phase {
    New,
    /// It came from SMB 1, and negotiates once more.
    Again,
    Agreed(Agreed),
}

#[derive(Debug)]
pub struct Connection {
    pub id: ConnectionId,
    phase: Phase,
    /// Over NEGOTIATE and its answer.
    preauth: Preauth,
    window: Window,
    /// By the session that each is to become, to renew or to join.
    logons: BTreeMap<u64, Attempt>,
    /// Somebody has logged on at some time.
    known: bool,
    /// Sessions that were opened here. Some may have ended.
    opened: BTreeSet<u64>,
}

#[derive(Debug)]
struct Attempt {
    logon: Logon,
    preauth: Preauth,
    wish: Wish,
}

/// A logon that has come to its end.
struct Proven {
    id: u64,
    attempt: Attempt,
    identity: Identity,
    previous: u64,
}

/// One request of a frame.
#[derive(Clone, Debug)]
pub struct Received {
    pub header: Header,
    /// Header and body.
    pub message: Bytes,
    /// As the header says, or as the request before it if it is related.
    pub session: u64,
    pub arrived: Arrived,
    pub standing: Standing,
}

impl Received {
    /// Whether it is served, and how it is answered then.
    pub fn accept(&self) -> Result<Answer, Status> {
        protection::accept(self.header.command, self.standing, self.arrived)
    }

    /// How it is answered if not. Who signed for a session that has ended hears of it by its key, if that is still known.
    pub fn refusal(&self) -> Answer {
        match (self.standing, self.header.is_signed()) {
            (Standing::Unknown, true) => Answer::Signed,
            (standing, _) => protection::refusal(standing, self.arrived),
        }
    }
}

/// The answer to a request, before it is signed or sealed.
#[derive(Clone, Debug)]
pub struct Reply {
    pub header: Header,
    pub response: Response,
    pub answer: Answer,
}

impl Reply {
    /// Whether it is hashed as it is sent, so that only [`Connection::send`] may make a frame of it.
    pub fn is_of_logon(&self) -> bool {
        matches!(self.header.command, Command::Negotiate | Command::SessionSetup)
    }
}

/// What SESSION_SETUP has come to.
#[derive(Debug)]
pub struct Setup {
    pub status: Status,
    /// Also the new one's.
    pub session: u64,
    /// `None` for a refusal.
    pub response: Option<SetupResponse>,
    pub answer: Answer,
    /// A session that has ended: the client's former one, or this one after a failed reauthentication. Its key still signs what its client
    /// is told.
    pub ended: Option<u64>,
}

/// What is handed in for a logon.
pub struct LogonInput<'a, P> {
    pub policy: &'a Policy,
    /// What the server calls itself.
    pub server: &'a str,
    /// What the account asks for, where that is more than the policy does.
    pub encryption: Encryption,
    pub now: FileTime,
    pub random: [u8; 8],
    pub passwords: P,
}

impl Connection {
    pub fn new(id: ConnectionId) -> Self {
        Self {
            id,
            phase: Phase::New,
            preauth: Preauth::default(),
            window: Window::default(),
            logons: BTreeMap::new(),
            known: false,
            opened: BTreeSet::new(),
        }
    }

    pub fn agreed(&self) -> Option<&Agreed> {
        match &self.phase {
            Phase::New | Phase::Again => None,
            Phase::Agreed(agreed) => Some(agreed),
        }
    }

    /// Whether somebody has logged on: until then, less is granted.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// The longest frame to be read. Before a logon, only tokens are long, and they count their bytes with sixteen bits.
    pub fn frame_max(&self) -> usize {
        match (self.known, self.agreed()) {
            (true, Some(agreed)) => agreed.transfer_max as usize + FRAME_OVERHEAD,
            (true, None) | (false, _) => FRAME_MAX_BEFORE_LOGON,
        }
    }

    /// The requests of a frame: opened, verified where it lies, and counted. CANCEL is not counted.
    pub fn receive(&mut self, frame: BytesMut, sessions: &Sessions, now: FileTime) -> Result<Vec<Received>, Close> {
        match Kind::of(&frame)? {
            Kind::Plain => self.plain(frame, sessions, now),
            Kind::Sealed => self.sealed(frame, sessions, now),
            Kind::Legacy | Kind::Compressed => Err(Close::Protocol),
        }
    }

    fn plain(&mut self, mut frame: BytesMut, sessions: &Sessions, now: FileTime) -> Result<Vec<Received>, Close> {
        let places = bounds(&frame)?;
        let mut looked: Vec<(Header, u64, Arrived)> = Vec::new();
        for place in &places {
            let header = Header::parse(&Bytes::copy_from_slice(&frame[place.clone()][..64]))?;
            let session = subject(&header, looked.last().map(|(_, session, _)| *session));
            let arrived = self.signature(&header, session, &mut frame[place.clone()], sessions);
            looked.push((header, session, arrived));
        }
        let frame = frame.freeze();
        let parts = places.into_iter().zip(looked);
        let parts = parts.map(|(place, (header, session, arrived))| (frame.slice(place), header, session, arrived));
        self.admit(parts.collect(), sessions, now)
    }

    fn sealed(&mut self, frame: BytesMut, sessions: &Sessions, now: FileTime) -> Result<Vec<Received>, Close> {
        let transform = Transform::parse(&frame)?;
        let session = sessions.get(transform.session).filter(|session| session.signing(self.id).is_some());
        let opener = session.and_then(|session| session.opener.as_ref()).ok_or(Close::Sealing)?;
        let message = opener.open(&transform, frame).ok_or(Close::Sealing)?;
        let mut parts: Vec<(Bytes, Header, u64, Arrived)> = Vec::new();
        for place in bounds(&message)? {
            let part = message.slice(place);
            let header = Header::parse(&part)?;
            let session = subject(&header, parts.last().map(|(_, _, session, _)| *session));
            if session != transform.session {
                return Err(Close::Sealing);
            }
            parts.push((part, header, session, Arrived::Sealed));
        }
        self.admit(parts, sessions, now)
    }

    fn signature(&self, header: &Header, session: u64, message: &mut [u8], sessions: &Sessions) -> Arrived {
        if !header.is_signed() {
            return Arrived::Plain;
        }
        let session = sessions.get(session);
        let joining = || session.filter(|_| header.command == Command::SessionSetup).map(Session::binding);
        match session.and_then(|session| session.signing(self.id)).or_else(joining) {
            Some(key) if key.verify(message) => Arrived::Signed,
            Some(_) | None => Arrived::Forged,
        }
    }

    fn admit(
        &mut self,
        parts: Vec<(Bytes, Header, u64, Arrived)>,
        sessions: &Sessions,
        now: FileTime,
    ) -> Result<Vec<Received>, Close> {
        let several = parts.len() > 1;
        let mut received = Vec::new();
        for (message, header, session, arrived) in parts {
            let alone = matches!(header.command, Command::Negotiate | Command::SessionSetup);
            let early = self.agreed().is_none() && header.command != Command::Negotiate;
            if header.is_response() || early || (alone && several) {
                return Err(Close::Protocol);
            }
            if header.command != Command::Cancel {
                let charge = if self.multi_credit() { header.credit_charge } else { 1 };
                self.window.take(header.message_id, charge).map_err(|_| Close::Sequence)?;
            }
            let standing = self.standing(session, header.command, sessions, now);
            received.push(Received { header, message, session, arrived, standing });
        }
        Ok(received)
    }

    fn multi_credit(&self) -> bool {
        self.agreed().is_some_and(Agreed::multi_credit)
    }

    fn standing(&self, id: u64, command: Command, sessions: &Sessions, now: FileTime) -> Standing {
        let session = sessions.get(id);
        let here = session.filter(|session| session.signing(self.id).is_some());
        match (id, here) {
            (0, _) => Standing::None,
            (_, Some(session)) if session.is_expired(now) => Standing::Expired { sealed: session.encrypted },
            (_, Some(session)) => Standing::Valid { sealed: session.encrypted },
            (id, None) if self.logons.contains_key(&id) => Standing::InProgress,
            // It may want to join.
            (_, None) if session.is_some() && command == Command::SessionSetup => Standing::InProgress,
            (_, None) => Standing::Unknown,
        }
    }

    /// The body of a request, if it is one and pays for what it moves.
    pub fn parse(&self, received: &Received) -> Result<Request, Status> {
        let (header, message) = (&received.header, received.message.clone());
        let request = Request::parse(header.command, message).map_err(|_| Status::InvalidParameter)?;
        let paid = credits::charge(header.credit_charge, request.moves(), self.multi_credit());
        paid.map(|_| request).map_err(|_| Status::InvalidParameter)
    }

    /// The header of an answer, with what is granted.
    pub fn answer(&mut self, request: &Header, session: u64, status: Status) -> Header {
        let max = if self.known { credits::MAX } else { credits::MAX_BEFORE_LOGON };
        let credits = self.window.grant(request.credits, request.credit_charge, max);
        Header { session, ..request.response(status.code(), credits) }
    }

    /// A frame of answers. Those that are part of a logon become part of its hash, as they are sent.
    pub fn send(&mut self, replies: Vec<Reply>, sessions: &Sessions) -> Result<Encoded, Close> {
        let sealed = replies.iter().any(|reply| reply.answer == Answer::Sealed);
        let headers: Vec<Header> = replies.iter().map(|reply| reply.header.clone()).collect();
        let frame = Answers::new(self.id, replies, sessions)?.encode()?;
        if !sealed {
            headers.iter().for_each(|header| self.hash(header, &frame.head));
        }
        Ok(frame)
    }

    fn hash(&mut self, header: &Header, frame: &[u8]) {
        if header.command == Command::Negotiate {
            self.preauth = self.preauth.then(frame);
        }
        if let (Command::SessionSetup, Some(attempt)) = (header.command, self.logons.get_mut(&header.session)) {
            attempt.preauth = attempt.preauth.then(frame);
        }
    }

    /// NEGOTIATE, which a client may say once; `salt` is random.
    pub fn negotiate(
        &mut self,
        policy: &Policy,
        received: &Received,
        request: &negotiate::Request,
        now: FileTime,
        salt: [u8; 32],
    ) -> Result<Result<Response, Status>, Close> {
        if self.agreed().is_some() {
            return Err(Close::Protocol);
        }
        self.preauth = Preauth::default().then(&received.message);
        Ok(negotiation::negotiate(policy, request, now, salt).map(|(agreed, response)| {
            self.phase = Phase::Agreed(agreed);
            Response::Negotiate(response)
        }))
    }

    /// The first frame of a client that knows SMB 1 too, and its answer.
    pub fn negotiate_legacy(&mut self, policy: &Policy, frame: Bytes, now: FileTime) -> Result<BytesMut, Close> {
        if !matches!(self.phase, Phase::New) {
            return Err(Close::Protocol);
        }
        let offer = legacy::parse(frame)?;
        let (agreed, response) = negotiation::negotiate_legacy(policy, offer, now).map_err(|_| Close::Protocol)?;
        self.window.take(0, 1).map_err(|_| Close::Sequence)?;
        self.phase = agreed.map_or(Phase::Again, Phase::Agreed);
        let header = self.answer(&Header::request(Command::Negotiate, 0), 0, Status::Success);
        Ok(Response::Negotiate(response).encode(&header).flatten())
    }

    /// Whose passwords the next step of a logon is going to want.
    pub fn asks_for(&self, received: &Received, request: &SetupRequest) -> Option<String> {
        self.logons.get(&received.session)?.logon.asks_for(request.token.clone())
    }

    /// SESSION_SETUP, one step of it.
    pub fn setup<P: FnOnce(&str) -> Option<Passwords>>(
        &mut self,
        received: &Received,
        request: &SetupRequest,
        sessions: &mut Sessions,
        input: LogonInput<'_, P>,
    ) -> Result<Setup, Close> {
        let agreed = self.agreed().cloned().ok_or(Close::Protocol)?;
        let wished = received.accept().and_then(|answer| {
            let wish = self.wish(&agreed, received, request, sessions, input.now)?;
            Ok((wish, answer))
        });
        let (wish, answer) = match wished {
            Ok(wished) => wished,
            Err(status) => return Ok(refused(status, received.session, received.refusal())),
        };
        let id = if wish == Wish::New { sessions.new_id() } else { received.session };
        let started = || Attempt { logon: Logon::new(input.server), preauth: self.preauth, wish };
        let mut attempt = self.logons.remove(&id).unwrap_or_else(started);
        attempt.preauth = attempt.preauth.then(&received.message);
        let step = attempt.logon.step(request.token.clone(), input.now, input.random, input.passwords);
        Ok(match step {
            Step::Continue(token) => {
                self.logons.insert(id, attempt);
                let response = SetupResponse { flags: SessionFlags::default(), token: token.into() };
                let status = Status::MoreProcessingRequired;
                Setup { status, session: id, response: Some(response), answer, ended: None }
            }
            Step::Refused(no) => turned_down(id, &attempt, no, sessions, answer),
            Step::Nobody(token) => match (attempt.wish, sessions.get_mut(id)) {
                (Wish::Reauthenticate, Some(session)) if !session.is_expired(input.now) => {
                    session.nobody = true;
                    let response = SetupResponse { flags: SessionFlags::default(), token: token.into() };
                    Setup { status: Status::Success, session: id, response: Some(response), answer, ended: None }
                }
                (Wish::New | Wish::Continue | Wish::Bind | Wish::Reauthenticate, _) => {
                    turned_down(id, &attempt, logon::Refused::Anonymous, sessions, answer)
                }
            },
            Step::Done(identity) => {
                let proven = Proven { id, attempt, identity, previous: request.previous_session };
                self.finish(&agreed, proven, sessions, input.policy.encryption.max(input.encryption), answer)
            }
        })
    }

    fn wish(
        &self,
        agreed: &Agreed,
        received: &Received,
        request: &SetupRequest,
        sessions: &Sessions,
        now: FileTime,
    ) -> Result<Wish, Status> {
        let id = received.session;
        let named = match (sessions.get(id), self.logons.get(&id)) {
            _ if id == 0 => Named::Nothing,
            (_, Some(_)) => Named::InProgress,
            (Some(session), None) => Named::Session {
                agreed: &session.agreed,
                here: session.signing(self.id).is_some(),
                expired: session.is_expired(now),
            },
            (None, None) => Named::Unknown,
        };
        let wish = setup::wish(agreed, request, named, received.header.is_signed())?;
        match wish {
            Wish::Bind if received.arrived != Arrived::Signed => Err(Status::AccessDenied),
            Wish::New | Wish::Bind | Wish::Reauthenticate if self.logons.len() >= LOGONS_MAX => {
                Err(Status::InsufficientResources)
            }
            Wish::New | Wish::Continue | Wish::Bind | Wish::Reauthenticate => Ok(wish),
        }
    }

    fn finish(
        &mut self,
        agreed: &Agreed,
        proven: Proven,
        sessions: &mut Sessions,
        encryption: Encryption,
        answer: Answer,
    ) -> Setup {
        let Proven { id, attempt, identity, previous } = proven;
        let owner = sessions.get(id).map(|session| session.account.as_str());
        let former = sessions.get(previous).map(|session| (previous, session.account.as_str()));
        let (mut flags, mut ended, mut answer) = (SessionFlags::default(), None, answer);
        match setup::outcome(attempt.wish, &identity.account, owner, former) {
            Outcome::Opened { end } => {
                let sealed = match setup::sealed(encryption, agreed) {
                    Ok(sealed) => sealed,
                    Err(status) => return refused(status, id, answer),
                };
                if !self.has_room(sessions) {
                    return refused(Status::InsufficientResources, id, answer);
                }
                self.opened.insert(id);
                let (account, key) = (identity.account, identity.session_key);
                sessions.insert(Session::new(id, account, agreed.clone(), sealed, key, &attempt.preauth, self.id));
                flags = if sealed { SessionFlags::ENCRYPT_DATA } else { flags };
                (ended, answer) = (end.filter(|end| sessions.end(*end)), Answer::Signed);
            }
            Outcome::Kept => {
                let session = sessions.get_mut(id);
                session.into_iter().for_each(|session| (session.expires, session.nobody) = (None, false));
            }
            Outcome::Bound => {
                let (signing, key) = (agreed.signing, identity.session_key);
                let session = sessions.get_mut(id);
                session.into_iter().for_each(|session| session.bind(self.id, signing, key, &attempt.preauth));
                answer = Answer::Signed;
            }
            Outcome::Denied => return refused(Status::AccessDenied, id, answer),
        }
        self.known = true;
        let response = Some(SetupResponse { flags, token: identity.token.into() });
        Setup { status: Status::Success, session: id, response, answer, ended }
    }
}

impl Connection {
    /// A logon is over before its proof is looked at.
    pub fn turn_away(&mut self, received: &Received) -> Setup {
        self.logons.remove(&received.session);
        refused(Status::AccessDenied, received.session, received.refusal())
    }

    /// Whether one more session fits. Those that have ended are forgotten then.
    fn has_room(&mut self, sessions: &Sessions) -> bool {
        if self.opened.len() >= SESSIONS_MAX {
            self.opened.retain(|id| sessions.get(*id).is_some());
        }
        self.opened.len() < SESSIONS_MAX
    }
}

/// Who fails to prove again who they are has no session any more.
fn turned_down(id: u64, attempt: &Attempt, no: logon::Refused, sessions: &mut Sessions, answer: Answer) -> Setup {
    let ended = (attempt.wish == Wish::Reauthenticate).then_some(id).filter(|id| sessions.end(*id));
    Setup { ended, ..refused(no.status(), id, answer) }
}

fn refused(status: Status, session: u64, answer: Answer) -> Setup {
    Setup { status, session, response: None, answer, ended: None }
}

/// Which session a request is about: a related one's is that of the request before it.
fn subject(header: &Header, before: Option<u64>) -> u64 {
    match (header.is_related(), before) {
        (true, Some(session)) => session,
        (true, None) | (false, _) => header.session,
    }
}

#[cfg(test)]
mod tests;
