//! Tokens of a logon, right, wrong and none: whatever a client sends, it does not get in without one of the passwords, and it costs no more than its length.
//! With a password, a client gets in whatever it calls itself, unless a byte is changed on the way.

use bytes::Bytes;
use lazuli_smb::logon::ntlm::{self, Authenticate, Challenge, Flags, MIC_AT};
use lazuli_smb::logon::{Logon, Passwords, Step, proof, spnego};
use lazuli_smb::packet::wire::Field;
use lazuli_smb::time::FileTime;

pub const WORDS: &[&str] = &["NTLMSSP\0", "\x01\0\0\0", "\x03\0\0\0", "+\x06\x01\x05\x05\x02", "`H\x06\x06", "\0\0"];

const PASSWORD: &str = "a key that no input has";
const ASKED: Flags = Flags(0xe208_8297);

fn passwords(_: &str) -> Option<Passwords> {
    Some([PASSWORD.to_owned(), "another that no input has".to_owned()])
}

/// Tokens, each behind its length in two bytes.
pub fn run(input: &[u8]) {
    let mut logon = Logon::new("lazuli");
    let mut rest = input;
    for _ in 0..4 {
        let Some((head, after)) = rest.split_at_checked(2) else { break };
        let length = usize::from(u16::from_le_bytes([head[0], head[1]])).min(after.len());
        let (token, after) = after.split_at(length);
        parse(token);
        match logon.step(Bytes::copy_from_slice(token), FileTime(7), [3; 8], passwords) {
            Step::Continue(answer) => assert!(answer.len() < 1024, "an answer does not grow"),
            Step::Done(identity) => panic!("{identity:?} got in with {token:x?}"),
            Step::Nobody(_) | Step::Refused(_) => {}
        }
        rest = after;
    }
    know_the_password(input);
}

/// Whatever parses is written as it was read.
fn parse(token: &[u8]) {
    if let Some(init) = spnego::parse_init(token) {
        let again = spnego::encode_init(&init.mechanisms, init.token);
        let read = spnego::parse_init(&again).expect("what we write we read");
        assert_eq!((read.mechanisms, read.token), (init.mechanisms, init.token));
    }
    if let Some(resp) = spnego::parse_resp(token) {
        let again = spnego::encode_resp(None, resp.mechanism, resp.token, resp.list_mic);
        assert_eq!(spnego::parse_resp(&again), Some(spnego::Resp { state: None, ..resp }));
    }
    if let Ok(said) = Authenticate::parse(Bytes::copy_from_slice(token)) {
        let names = said.encode();
        let read = Authenticate::parse(names.into()).expect("what we write we read");
        assert_eq!((&read.user, &read.nt, &read.sealed_key), (&said.user, &said.nt, &said.sealed_key));
    }
    let _ = Challenge::parse(Bytes::copy_from_slice(token));
    let _ = ntlm::Response::parse(Bytes::copy_from_slice(token));
}

/// A client whose name and whose one changed byte are the input's.
fn know_the_password(input: &[u8]) {
    let user: String = String::from_utf8_lossy(input.get(..8).unwrap_or_default()).replace('\\', "");
    if user.is_empty() {
        return;
    }
    let mut logon = Logon::new("lazuli");
    let negotiate = ntlm::encode_negotiate(ASKED);
    let Step::Continue(challenge) = logon.step(negotiate.clone().into(), FileTime(7), [3; 8], passwords) else {
        panic!("a challenge")
    };
    let message = authenticate(&user, &negotiate, &challenge);
    let mut changed = message.clone();
    let flips = input.get(8..11).map(|at| (usize::from(u16::from_le_bytes([at[0], at[1]])) % message.len(), at[2]));
    if let Some((at, bits)) = flips {
        changed[at] ^= bits;
    }
    let same = changed == message;
    match logon.step(changed.into(), FileTime(7), [3; 8], passwords) {
        Step::Done(identity) => {
            assert!(same, "{user:?} got in with {flips:?} changed");
            assert_eq!(identity.session_key, [0x55; 16]);
        }
        Step::Nobody(_) => assert!(user.is_empty(), "{user:?} is somebody"),
        Step::Refused(_) => assert!(!same, "{user:?} is right"),
        Step::Continue(_) => panic!("it is over"),
    }
}

fn authenticate(user: &str, negotiate: &[u8], challenge: &[u8]) -> Vec<u8> {
    let (flags, random, info) = Challenge::parse(challenge.to_vec().into()).expect("our own");
    let owf = proof::owf_v2(&proof::nt_hash(PASSWORD), user, "AZURE");
    let blob = ntlm::encode_blob(FileTime(9), [0xaa; 8], &info, true);
    let proven = proof::proof(&owf, &random, &blob);
    let base = proof::session_base_key(&owf, &proven);
    let said = Authenticate {
        flags,
        nt: [&proven[..], &blob].concat().into(),
        domain: "AZURE".into(),
        user: user.into(),
        sealed_key: proof::rc4(&base, &[0x55; 16]).to_bytes(),
        ..Default::default()
    };
    let mut message = said.encode();
    let mic = proof::mic(&[0x55; 16], negotiate, challenge, [&message[..MIC_AT], &message[MIC_AT + 16..]]);
    message[MIC_AT..MIC_AT + 16].copy_from_slice(&mic);
    message
}
