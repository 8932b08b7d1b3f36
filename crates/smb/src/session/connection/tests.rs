//! A client in memory: it negotiates, logs on, signs and seals with the reverse of what the server does.

use super::*;
use crate::crypt::{Keys, Opener, Sealer, SigningKey};
use crate::logon::tests::{ASKED, CLIENT, Client as Person};
use crate::logon::{ntlm, spnego};
use crate::packet::compound::Chain;
use crate::packet::error::ErrorData;
use crate::packet::header::{Flags, SIGNATURE_AT};
use crate::packet::logon::SetupFlags;
use crate::packet::negotiate::{Capabilities, Dialect, SecurityMode};
use crate::packet::negotiate_context::{AES_GMAC, AES128_GCM, Context, salted};
use crate::session::negotiation::Encryption;

const NOW: FileTime = FileTime(1000);

fn accounts(name: &str) -> Option<Passwords> {
    ["devstoreaccount1", "other"].contains(&name).then(|| [CLIENT.password.to_owned(), String::from("second")])
}

/// What all connections share.
struct Gateway {
    sessions: Sessions,
    policy: Policy,
    now: FileTime,
    connections: u64,
}

impl Gateway {
    fn new(encryption: Encryption) -> Self {
        let policy = Policy { server: [5; 16], started: NOW, encryption, transfer_max: 8 << 20 };
        Self { sessions: Sessions::default(), policy, now: NOW, connections: 0 }
    }

    fn client(&mut self, dialect: Dialect) -> Client {
        self.connections += 1;
        let mut client = Client {
            connection: Connection::new(ConnectionId(self.connections)),
            dialect,
            next_id: 0,
            preauth: Preauth::default(),
            session: 0,
            signing_key: [0; 16],
            signing: None,
            sealing: None,
        };
        let request = Request::Negotiate(negotiate::Request {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities(0x7f),
            client: [6; 16],
            dialects: vec![dialect.code()],
            contexts: vec![salted(&[1; 32]), Context::Encryption(vec![AES128_GCM]), Context::Signing(vec![AES_GMAC])],
        });
        let (frame, answer) = client.exchange(self, &request, |_| {}).expect("an answer");
        client.preauth = Preauth::default().then(&frame).then(&answer);
        client
    }

    /// One frame through the server, with the commands that are there.
    fn serve(&mut self, connection: &mut Connection, frame: BytesMut) -> Result<BytesMut, Close> {
        let mut replies = Vec::new();
        for received in connection.receive(frame, &self.sessions, self.now)? {
            let reply = self.reply(connection, &received)?;
            replies.push(reply);
        }
        connection.send(replies, &self.sessions).map(Encoded::flatten)
    }

    fn reply(&mut self, connection: &mut Connection, received: &Received) -> Result<Reply, Close> {
        let no = Response::Error(ErrorData::None);
        let request = received.accept().and_then(|answer| connection.parse(received).map(|request| (answer, request)));
        let (status, session, response, answer) = match request {
            Err(status) => (status, received.session, no, received.refusal()),
            Ok((answer, Request::Negotiate(request))) => {
                match connection.negotiate(&self.policy, received, &request, self.now, [7; 32])? {
                    Ok(response) => (Status::Success, 0, response, answer),
                    Err(status) => (status, 0, no, answer),
                }
            }
            Ok((_, Request::SessionSetup(request))) => {
                let (policy, server, now, random) = (&self.policy, "lazuli", self.now, [3; 8]);
                let input =
                    LogonInput { policy, server, encryption: Encryption::Offered, now, random, passwords: accounts };
                let setup = connection.setup(received, &request, &mut self.sessions, input)?;
                (setup.status, setup.session, setup.response.map_or(no, Response::SessionSetup), setup.answer)
            }
            Ok((answer, Request::Echo)) => (Status::Success, received.session, Response::Echo, answer),
            Ok((answer, _)) => (Status::NotSupported, received.session, no, answer),
        };
        let header = connection.answer(&received.header, session, status);
        Ok(Reply { header, response, answer })
    }
}

struct Client {
    connection: Connection,
    dialect: Dialect,
    next_id: u64,
    preauth: Preauth,
    session: u64,
    signing_key: [u8; 16],
    signing: Option<SigningKey>,
    sealing: Option<(Sealer, Opener)>,
}

impl Client {
    /// A request as it is sent, after `change`, and the frame of its answer.
    fn exchange(
        &mut self,
        gateway: &mut Gateway,
        request: &Request,
        change: impl FnOnce(&mut Header),
    ) -> Result<(BytesMut, BytesMut), Close> {
        let mut header =
            Header { credits: 10, session: self.session, ..Header::request(request.command(), self.next_id) };
        change(&mut header);
        self.next_id += 1;
        let Encoded { mut head, payload } = request.encode(&header);
        if let (true, Some(key)) = (header.is_signed(), &self.signing) {
            key.sign(&mut head, &payload);
        }
        let frame = Encoded { head, payload }.flatten();
        let answer = gateway.serve(&mut self.connection, frame.clone())?;
        Ok((frame, answer))
    }

    fn ask(
        &mut self,
        gateway: &mut Gateway,
        request: &Request,
        change: impl FnOnce(&mut Header),
    ) -> Result<Status, Close> {
        let (_, mut answer) = self.exchange(gateway, request, change)?;
        let header = Header::parse(&answer.clone().freeze()).expect("a header");
        if header.is_signed() {
            let key = self.signing.as_ref().expect("a key");
            assert!(key.verify(&mut answer), "the answer's signature");
        }
        Ok(Status::from_code(header.status).expect("a status"))
    }

    fn echo(&mut self, gateway: &mut Gateway) -> Result<Status, Close> {
        self.ask(gateway, &Request::Echo, signed)
    }

    /// Logs on in two steps. `joined` has the session that this connection is to join, and its key.
    fn log_on(&mut self, gateway: &mut Gateway, person: &Person, joined: Option<Join>, previous: u64) -> Status {
        let binding = joined.is_some();
        if let Some(joined) = joined {
            (self.session, self.signing) = (joined.session, Some(SigningKey::new(joined.agreed.signing, &joined.key)));
        }
        let flags = if binding { SetupFlags::BINDING } else { SetupFlags::default() };
        let setup = |token: Vec<u8>| {
            Request::SessionSetup(SetupRequest {
                flags,
                previous_session: previous,
                token: token.into(),
                ..Default::default()
            })
        };
        // To renew a session or to join one, requests are signed.
        let protect = if self.signing.is_some() { signed } else { |_: &mut Header| {} };
        let negotiate = ntlm::encode_negotiate(ASKED);
        let first = setup(spnego::encode_init(&[spnego::NTLMSSP], Some(&negotiate)));
        let (frame, answer) = self.exchange(gateway, &first, protect).expect("an answer");
        let mut preauth = self.preauth.then(&frame).then(&answer);
        let header = Header::parse(&answer.clone().freeze()).expect("a header");
        let Ok(Response::SessionSetup(response)) = Response::parse(&header, answer.freeze()) else {
            return Status::from_code(header.status).expect("a status");
        };
        self.session = header.session;
        let token = spnego::parse_resp(&response.token).expect("a token").token.expect("a challenge");
        let (message, key, _) = person.authenticate(&negotiate, token);
        let last = setup(spnego::encode_resp(None, None, Some(&message), None));
        let (frame, mut answer) = self.exchange(gateway, &last, protect).expect("an answer");
        preauth = preauth.then(&frame);
        let header = Header::parse(&answer.clone().freeze()).expect("a header");
        let status = Status::from_code(header.status).expect("a status");
        let renewed = !binding && self.signing.is_some();
        if status == Status::Success && !renewed {
            let agreed = self.connection.agreed().expect("agreed");
            let keys = Keys::new(self.dialect, key, &preauth, agreed.cipher);
            let signing = SigningKey::new(agreed.signing, &keys.signing);
            assert!(header.is_signed() && signing.verify(&mut answer), "the last answer is signed with the new key");
            (self.signing, self.signing_key) = (Some(signing), keys.signing);
            self.sealing = agreed
                .cipher
                .map(|cipher| (Sealer::new(cipher, &keys.client, self.session), Opener::new(cipher, &keys.server)));
        }
        status
    }

    /// A sealed request, and what is in its answer.
    fn sealed_echo(&mut self, gateway: &mut Gateway, about: u64) -> Result<Status, Close> {
        let header = Header { session: about, ..Header::request(Command::Echo, self.next_id) };
        self.next_id += 1;
        let message = Request::Echo.encode(&header).flatten();
        let mut frame = Sealer::room(message.len());
        frame.extend_from_slice(&message);
        let (sealer, opener) = self.sealing.as_mut().expect("a cipher");
        sealer.seal(&mut frame).expect("nonces are left");
        let answer = gateway.serve(&mut self.connection, frame)?;
        let transform = Transform::parse(&answer).expect("a sealed answer");
        let opened = opener.open(&transform, answer).expect("the session's key");
        Ok(Status::from_code(Header::parse(&opened).expect("a header").status).expect("a status"))
    }
}

struct Join {
    session: u64,
    key: [u8; 16],
    agreed: Agreed,
}

fn signed(header: &mut Header) {
    header.flags = header.flags.with(Flags::SIGNED);
}

/// What a client needs to join the session of another connection of its own.
fn first_key(client: &Client) -> Join {
    let agreed = client.connection.agreed().expect("agreed").clone();
    Join { session: client.session, key: client.signing_key, agreed }
}

fn logged_on(dialect: Dialect, encryption: Encryption) -> (Gateway, Client) {
    let mut gateway = Gateway::new(encryption);
    let mut client = gateway.client(dialect);
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::Success, "{dialect:?}");
    (gateway, client)
}

#[test]
fn every_dialect_logs_on_and_signs() {
    for dialect in Dialect::ALL {
        let (mut gateway, mut client) = logged_on(*dialect, Encryption::Offered);
        assert_eq!(client.echo(&mut gateway), Ok(Status::Success), "{dialect:?}");
        assert_eq!(client.ask(&mut gateway, &Request::Echo, |_| {}), Ok(Status::AccessDenied), "unsigned");
        assert!(client.connection.is_known());
    }
}

#[test]
fn sealed_requests_have_sealed_answers() {
    for dialect in [Dialect::Smb300, Dialect::Smb302, Dialect::Smb311] {
        for encryption in [Encryption::Offered, Encryption::Required] {
            let (mut gateway, mut client) = logged_on(dialect, encryption);
            let session = client.session;
            assert_eq!(client.sealed_echo(&mut gateway, session), Ok(Status::Success));
            let plain = if encryption == Encryption::Required { Status::AccessDenied } else { Status::Success };
            assert_eq!(client.echo(&mut gateway), Ok(plain), "signed and not sealed");
        }
    }
}

#[test]
fn what_is_sealed_is_about_its_own_session() {
    let (mut gateway, mut client) = logged_on(Dialect::Smb311, Encryption::Offered);
    let session = client.session;
    assert_eq!(client.sealed_echo(&mut gateway, session + 1), Err(Close::Sealing));
    client.sealing =
        client.sealing.map(|(_, opener)| (Sealer::new(crate::crypt::Cipher::Aes128Gcm, &[9; 16], session), opener));
    assert_eq!(client.sealed_echo(&mut gateway, session), Err(Close::Sealing), "another key");
}

#[test]
fn nobody_gets_in_without_the_password() {
    let mut gateway = Gateway::new(Encryption::Offered);
    let mut client = gateway.client(Dialect::Smb311);
    let wrong = Person { password: "wrong", ..CLIENT };
    assert_eq!(client.log_on(&mut gateway, &wrong, None, 0), Status::LogonFailure);
    assert_eq!(client.ask(&mut gateway, &Request::Echo, |_| {}), Ok(Status::UserSessionDeleted));
    assert!(!client.connection.is_known());
    client.session = 0;
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::Success, "the connection may try again");
}

#[test]
fn where_sealing_is_required_old_dialects_do_not_log_on() {
    let mut gateway = Gateway::new(Encryption::Required);
    let mut client = gateway.client(Dialect::Smb210);
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::AccessDenied);
}

#[test]
fn a_forged_request_is_refused_and_a_repeated_one_ends_the_connection() {
    let (mut gateway, mut client) = logged_on(Dialect::Smb311, Encryption::Offered);
    let (mut frame, _) = client.exchange(&mut gateway, &Request::Echo, signed).expect("an answer");
    assert_eq!(gateway.serve(&mut client.connection, frame.clone()), Err(Close::Sequence));
    // The same with another id, which its signature does not cover.
    frame[24] = client.next_id as u8;
    frame[SIGNATURE_AT] ^= 1;
    let answer = gateway.serve(&mut client.connection, frame).expect("an answer").freeze();
    assert_eq!(Header::parse(&answer).expect("a header").status, Status::AccessDenied.code());
}

#[test]
fn negotiation_comes_first_and_once() {
    let mut gateway = Gateway::new(Encryption::Offered);
    let mut early = Connection::new(ConnectionId(99));
    let frame = Request::Echo.encode(&Header::request(Command::Echo, 0)).flatten();
    assert_eq!(gateway.serve(&mut early, frame), Err(Close::Protocol));
    let mut client = gateway.client(Dialect::Smb302);
    let again = Request::Negotiate(negotiate::Request {
        security_mode: SecurityMode::default(),
        capabilities: Capabilities::default(),
        client: [6; 16],
        dialects: vec![0x0202],
        contexts: vec![],
    });
    assert_eq!(client.exchange(&mut gateway, &again, |_| {}), Err(Close::Protocol));
    let answer = |header: &mut Header| header.flags = Flags::RESPONSE;
    assert_eq!(client.exchange(&mut gateway, &Request::Echo, answer), Err(Close::Protocol), "answers are ours to give");
}

#[test]
fn a_client_of_smb1_is_led_over_once() {
    let gateway = Gateway::new(Encryption::Offered);
    let mut connection = Connection::new(ConnectionId(1));
    let offer = legacy::encode(&["NT LM 0.12", "SMB 2.002", "SMB 2.???"]);
    let answer = connection.negotiate_legacy(&gateway.policy, offer.clone(), NOW).expect("an answer").freeze();
    let header = Header::parse(&answer).expect("a header");
    let Ok(Response::Negotiate(response)) = Response::parse(&header, answer) else { panic!("an answer") };
    assert_eq!((response.dialect, header.credits), (negotiate::WILDCARD, 1));
    assert!(connection.agreed().is_none());
    assert_eq!(connection.negotiate_legacy(&gateway.policy, offer, NOW), Err(Close::Protocol));
}

#[test]
fn a_session_is_renewed_by_its_owner_with_the_keys_it_had() {
    let (mut gateway, mut client) = logged_on(Dialect::Smb311, Encryption::Offered);
    let session = client.session;
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::Success);
    assert_eq!((client.session, client.echo(&mut gateway)), (session, Ok(Status::Success)));
    let other = Person { user: "other", ..CLIENT };
    assert_eq!(client.log_on(&mut gateway, &other, None, 0), Status::AccessDenied);
    assert_eq!(client.echo(&mut gateway), Ok(Status::Success), "it is still there");
    let wrong = Person { password: "wrong", ..CLIENT };
    assert_eq!(client.log_on(&mut gateway, &wrong, None, 0), Status::LogonFailure);
    assert!(gateway.sessions.get(session).is_none(), "who cannot prove it again loses it");
    assert_eq!(client.echo(&mut gateway), Ok(Status::UserSessionDeleted));
}

#[test]
fn an_expired_session_waits_for_its_owner() {
    let (mut gateway, mut client) = logged_on(Dialect::Smb302, Encryption::Offered);
    gateway.sessions.get_mut(client.session).expect("a session").expires = Some(FileTime(1001));
    assert_eq!(client.echo(&mut gateway), Ok(Status::Success));
    gateway.now = FileTime(1001);
    assert_eq!(client.echo(&mut gateway), Ok(Status::NetworkSessionExpired));
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::Success);
    assert_eq!(client.echo(&mut gateway), Ok(Status::Success));
}

#[test]
fn a_client_that_comes_back_ends_its_former_session_and_nobody_elses() {
    let (mut gateway, client) = logged_on(Dialect::Smb311, Encryption::Offered);
    let mut stranger = gateway.client(Dialect::Smb311);
    let other = Person { user: "other", ..CLIENT };
    assert_eq!(stranger.log_on(&mut gateway, &other, None, client.session), Status::Success);
    assert!(gateway.sessions.get(client.session).is_some());
    let mut back = gateway.client(Dialect::Smb311);
    assert_eq!(back.log_on(&mut gateway, &CLIENT, None, client.session), Status::Success);
    assert!(gateway.sessions.get(client.session).is_none());
    assert_eq!(back.echo(&mut gateway), Ok(Status::Success));
}

#[test]
fn a_second_connection_joins_a_session() {
    for dialect in [Dialect::Smb300, Dialect::Smb311] {
        let (mut gateway, mut first) = logged_on(dialect, Encryption::Offered);
        let mut second = gateway.client(dialect);
        let joined = first_key(&first);
        assert_eq!(second.log_on(&mut gateway, &CLIENT, Some(joined), 0), Status::Success);
        assert_eq!((second.session, second.echo(&mut gateway)), (first.session, Ok(Status::Success)));
        assert_eq!(first.echo(&mut gateway), Ok(Status::Success));
        assert!(gateway.sessions.disconnect(first.connection.id).is_empty(), "one is left");
        assert_eq!(second.echo(&mut gateway), Ok(Status::Success));
        assert_eq!(gateway.sessions.disconnect(second.connection.id).len(), 1);
    }
}

#[test]
fn only_the_owner_joins_and_only_with_the_sessions_key() {
    let (mut gateway, first) = logged_on(Dialect::Smb311, Encryption::Offered);
    let other = Person { user: "other", ..CLIENT };
    let mut second = gateway.client(Dialect::Smb311);
    let joined = first_key(&first);
    assert_eq!(second.log_on(&mut gateway, &other, Some(joined), 0), Status::AccessDenied);
    let mut third = gateway.client(Dialect::Smb311);
    let joined = Join { key: [9; 16], ..first_key(&first) };
    assert_eq!(third.log_on(&mut gateway, &CLIENT, Some(joined), 0), Status::AccessDenied);
    let mut fourth = gateway.client(Dialect::Smb302);
    let joined = first_key(&first);
    assert_eq!(fourth.log_on(&mut gateway, &CLIENT, Some(joined), 0), Status::RequestOutOfSequence, "it has no GMAC");
}

#[test]
fn few_logons_are_under_way_at_once() {
    let mut gateway = Gateway::new(Encryption::Offered);
    let mut client = gateway.client(Dialect::Smb302);
    let token = spnego::encode_init(&[spnego::NTLMSSP], Some(&ntlm::encode_negotiate(ASKED)));
    let first = Request::SessionSetup(SetupRequest { token: token.into(), ..Default::default() });
    let statuses: Vec<Status> = (0..3).map(|_| client.ask(&mut gateway, &first, |_| {}).expect("an answer")).collect();
    let more = Status::MoreProcessingRequired;
    assert_eq!(statuses, [more, more, Status::InsufficientResources]);
}

#[test]
fn little_is_granted_before_somebody_is_known() {
    let mut gateway = Gateway::new(Encryption::Offered);
    let mut client = gateway.client(Dialect::Smb302);
    let greedy = |header: &mut Header| header.credits = u16::MAX;
    client.ask(&mut gateway, &Request::Echo, greedy).expect("an answer");
    assert_eq!(client.connection.window.available(), usize::from(credits::MAX_BEFORE_LOGON));
    assert_eq!(client.connection.frame_max(), FRAME_MAX_BEFORE_LOGON);
    assert_eq!(client.log_on(&mut gateway, &CLIENT, None, 0), Status::Success);
    let (_, answer) = client
        .exchange(&mut gateway, &Request::Echo, |header| {
            signed(header);
            greedy(header);
        })
        .expect("an answer");
    assert!(Header::parse(&answer.freeze()).expect("a header").credits > 8000);
    assert_eq!(client.connection.window.available(), usize::from(credits::MAX));
    assert!(client.connection.frame_max() > 8 << 20);
}

/// What is read from a file stays where it is, unless GMAC or a cipher wants it in one piece and there is no room before it.
#[test]
fn the_data_of_an_answer_are_copied_only_where_they_must_be() {
    use crate::packet::Payload;
    use crate::packet::file::ReadResponse;
    let read = || Payload::from(Bytes::from(vec![7; 100_000]));
    let gathered = || {
        let mut whole = Payload::begin(100_000);
        whole.extend_from_slice(&read());
        Payload::gathered(whole)
    };
    for dialect in Dialect::ALL {
        for (answer, room) in [Answer::Signed, Answer::Sealed].into_iter().flat_map(|a| [(a, false), (a, true)]) {
            let (gateway, mut client) = logged_on(*dialect, Encryption::Offered);
            if answer == Answer::Sealed && client.sealing.is_none() {
                continue;
            }
            let data = if room { gathered() } else { read() };
            let place = data.as_ptr();
            let response = Response::Read(ReadResponse { data, remaining: 0 });
            let request = Header { session: client.session, ..Header::request(Command::Read, 9) };
            let header = request.response(0, 1);
            let frame = client.connection.send(vec![Reply { header, response, answer }], &gateway.sessions);
            let frame = frame.expect("a frame");
            let in_one = answer == Answer::Sealed || *dialect == Dialect::Smb311;
            let data = if in_one { &frame.head[frame.head.len() - 100_000..] } else { &frame.payload };
            assert_eq!(data.as_ptr() == place, room || !in_one, "{dialect:?} {answer:?} {room}");
            match answer {
                Answer::Signed => assert!(client.signing.as_ref().expect("a key").verify(&mut frame.flatten())),
                Answer::Plain | Answer::Sealed => {
                    let (_, opener) = client.sealing.as_ref().expect("a key");
                    let transform = crate::packet::transform::Transform::parse(&frame.head).expect("a header");
                    let message = opener.open(&transform, frame.flatten()).expect("a right tag");
                    assert!(message.ends_with(&read()));
                }
            }
        }
    }
}

/// Related requests carry all ones for their session, and are about that of the first.
#[test]
fn a_related_request_is_about_the_session_of_the_one_before() {
    let (mut gateway, mut client) = logged_on(Dialect::Smb311, Encryption::Offered);
    let key = client.signing.take().expect("a key");
    let header = |id, session, flags: Flags| Header {
        session,
        flags: flags.with(Flags::SIGNED),
        ..Header::request(Command::Echo, id)
    };
    let messages = [
        Request::Echo.encode(&header(client.next_id, client.session, Flags::default())),
        Request::Echo.encode(&header(client.next_id + 1, u64::MAX, Flags::RELATED)),
    ];
    let mut chain = Chain::join(messages);
    (0..2).for_each(|at| chain.sign(at, |head, payload| key.sign(head, payload)));
    let answer = gateway.serve(&mut client.connection, chain.flatten()).expect("an answer");
    for place in bounds(&answer).expect("two answers") {
        let mut part = answer[place].to_vec();
        assert!(key.verify(&mut part));
        let header = Header::parse(&part.into()).expect("a header");
        assert_eq!((header.status, header.session), (0, client.session));
    }
}
