//! Whole conversations of SMB clients, from the first byte on: frames go into a connection, and its answers come out. Nobody gets in whose password
//! is not known here; whatever is said, answers are whole and what is kept is bounded. The kept inputs are what real clients sent, and those get in where
//! their password is known.

use bytes::{Bytes, BytesMut};
use lazuli_smb::logon::Passwords;
use lazuli_smb::packet::compound::{Encoded, bounds};
use lazuli_smb::packet::error::ErrorData;
use lazuli_smb::packet::frame::{self, Kind};
use lazuli_smb::packet::{Command, Header, Request, Response};
use lazuli_smb::session::connection::LogonInput;
use lazuli_smb::session::negotiation::Encryption;
use lazuli_smb::session::{Close, Connection, ConnectionId, Policy, Received, Reply, Sessions};
use lazuli_smb::status::Status;
use lazuli_smb::time::FileTime;

pub const WORDS: &[&str] = &["\0\0\0\x44", "SMB@\0", "NTLMSSP\0", "\x11\x03", "\x08\0\0\0"];

/// When the kept conversations were recorded: their proofs are over this time, this challenge and these names.
const NOW: FileTime = FileTime(133_591_680_000_000_000);
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const FRAME_MAX: usize = 1 << 16;

fn known(name: &str) -> Option<Passwords> {
    (name == "devstoreaccount1").then(|| [KEY.to_owned(), KEY.to_owned()])
}

fn unknown(_: &str) -> Option<Passwords> {
    None
}

pub fn run(input: &[u8]) {
    for encryption in [Encryption::Offered, Encryption::Required] {
        converse(input, encryption, known);
        let sessions = converse(input, encryption, unknown);
        assert_eq!(sessions, 0, "nobody is known here");
    }
}

/// How many sessions there are at the end.
pub fn converse(input: &[u8], encryption: Encryption, passwords: fn(&str) -> Option<Passwords>) -> usize {
    let policy = Policy { server: [7; 16], started: NOW, encryption, transfer_max: 8 << 20 };
    let mut gateway =
        Gateway { policy, sessions: Sessions::default(), connection: Connection::new(ConnectionId(1)), passwords };
    let mut arrived = BytesMut::from(input);
    while let Ok(Some(message)) = frame::next(&mut arrived, FRAME_MAX) {
        match gateway.frame(message) {
            Ok(answer) => whole(&answer),
            Err(_) => break,
        }
    }
    gateway.sessions.disconnect(ConnectionId(1)).len()
}

/// Every answer is one that a client can take apart.
fn whole(answer: &BytesMut) {
    if Kind::of(answer) == Ok(Kind::Plain) {
        let answer = answer.clone().freeze();
        for place in bounds(&answer).expect("our own") {
            let part = answer.slice(place);
            let header = Header::parse(&part).expect("our own");
            assert!(header.is_response());
            Response::parse(&header, part).expect("our own");
        }
    }
}

struct Gateway {
    policy: Policy,
    sessions: Sessions,
    connection: Connection,
    passwords: fn(&str) -> Option<Passwords>,
}

impl Gateway {
    fn frame(&mut self, message: BytesMut) -> Result<BytesMut, Close> {
        if Kind::of(&message)? == Kind::Legacy {
            return self.connection.negotiate_legacy(&self.policy, message.freeze(), NOW);
        }
        let mut replies = Vec::new();
        for received in self.connection.receive(message, &self.sessions, NOW)? {
            if received.header.command != Command::Cancel {
                replies.push(self.reply(&received)?);
            }
        }
        if replies.is_empty() {
            return Ok(BytesMut::new());
        }
        self.connection.send(replies, &self.sessions).map(Encoded::flatten)
    }

    fn reply(&mut self, received: &Received) -> Result<Reply, Close> {
        let no = Response::Error(ErrorData::Plain(Bytes::from_static(b"no")));
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
                let (policy, passwords) = (&self.policy, self.passwords);
                let encryption = Encryption::Offered;
                let input = LogonInput { policy, server: "lazuli", encryption, now: NOW, random: [3; 8], passwords };
                let setup = self.connection.setup(received, &request, &mut self.sessions, input)?;
                (setup.status, setup.session, setup.response.map_or(no, Response::SessionSetup), setup.answer)
            }
            Ok((answer, Request::Echo)) => (Status::Success, received.session, Response::Echo, answer),
            Ok((answer, _)) => (Status::NotSupported, received.session, no, answer),
        };
        let header = self.connection.answer(&received.header, session, status);
        Ok(Reply { header, response, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corpus does reach beyond the logon, and the signed and sealed requests behind it.
    #[test]
    fn the_kept_conversations_get_in() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzzing/corpus/smb_connection");
        let files = std::fs::read_dir(corpus).expect("a corpus").map(|file| file.expect("an entry").path());
        let inputs: Vec<Vec<u8>> = files.map(|path| std::fs::read(path).expect("an input")).collect();
        assert!(inputs.iter().any(|input| converse(input, Encryption::Offered, known) == 1));
    }
}
