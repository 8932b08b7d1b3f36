//! A client of the test's own on one side, the state machine on the other. Clients that nobody here wrote are in `tests/clients`.

use super::*;
use crate::crypt::{hex, hex16};
use crate::packet::wire::Field;
use crate::text::Wide;

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const OTHER: &str = "b3RoZXIga2V5";
const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];
pub(crate) const ASKED: Flags = Flags(0xe208_8297);

fn accounts(name: &str) -> Option<Passwords> {
    (name == "devstoreaccount1").then(|| [KEY.to_owned(), OTHER.to_owned()])
}

/// What a client does, with everything that may go wrong.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) user: &'static str,
    pub(crate) domain: &'static str,
    /// Hashed in place of the one that is sent.
    pub(crate) hashed_domain: Option<&'static str>,
    pub(crate) password: &'static str,
    pub(crate) flags: Flags,
    pub(crate) mechanisms: Option<Vec<&'static [u8]>>,
    pub(crate) with_mic: bool,
    pub(crate) with_list_mic: bool,
    pub(crate) change: fn(&mut Authenticate),
}

pub(crate) const CLIENT: Client = Client {
    user: "devstoreaccount1",
    domain: "AZURE",
    hashed_domain: None,
    password: KEY,
    flags: ASKED,
    mechanisms: None,
    with_mic: true,
    with_list_mic: true,
    change: |_| {},
};

impl Client {
    fn run(&self) -> (Step, [u8; 16]) {
        let mut logon = Logon::new("lazuli");
        let mut step = |token: Vec<u8>| logon.step(token.into(), FileTime(7), [3; 8], accounts);
        let negotiate = ntlm::encode_negotiate(self.flags);
        let mechanisms = self.mechanisms.as_deref();
        let first = match mechanisms {
            None => negotiate.clone(),
            Some(list) => spnego::encode_init(list, (list.first() == Some(&NTLMSSP)).then_some(&negotiate[..])),
        };
        let mut answer = step(first);
        if mechanisms.is_some_and(|list| list[0] != NTLMSSP) {
            let Step::Continue(token) = answer else { return (answer, [0; 16]) };
            assert_eq!(spnego::parse_resp(&token).expect("a token").state, Some(State::RequestMic as u8));
            answer = step(spnego::encode_resp(None, None, Some(&negotiate), None));
        }
        let Step::Continue(token) = answer else { return (answer, [0; 16]) };
        let challenge = match mechanisms {
            None => token,
            Some(_) => spnego::parse_resp(&token).expect("a token").token.expect("a challenge").to_vec(),
        };
        let (message, key, flags) = self.authenticate(&negotiate, &challenge);
        let Some(list) = mechanisms else { return (step(message), key) };
        let list = spnego::encode_init(list, None);
        let list = spnego::parse_init(&list).expect("our own").list;
        let mic = proof::signature(&key, flags, Side::Client, list);
        let last = step(spnego::encode_resp(None, None, Some(&message), self.with_list_mic.then_some(&mic)));
        if let Step::Done(identity) = &last {
            let own = proof::signature(&key, flags, Side::Server, list);
            let resp = spnego::parse_resp(&identity.token).expect("a token");
            assert_eq!(resp.list_mic, self.with_list_mic.then_some(&own[..]));
            assert_eq!(resp.state, Some(State::Completed as u8));
        }
        (last, key)
    }

    pub(crate) fn authenticate(&self, negotiate: &[u8], challenge: &[u8]) -> (Vec<u8>, [u8; 16], Flags) {
        let (flags, random, info) = Challenge::parse(challenge.to_vec().into()).expect("a challenge");
        let hash = proof::nt_hash(self.password);
        let owf = proof::owf_v2(&hash, self.user, self.hashed_domain.unwrap_or(self.domain));
        let blob = ntlm::encode_blob(FileTime(9), [0xaa; 8], &info, self.with_mic);
        let proven = proof::proof(&owf, &random, &blob);
        let base = proof::session_base_key(&owf, &proven);
        let exchange = flags.has(Flags::KEY_EXCHANGE);
        let key = if exchange { [0x55; 16] } else { base };
        let mut said = Authenticate {
            flags,
            lm: vec![0; 24].into(),
            nt: [&proven[..], &blob].concat().into(),
            domain: self.domain.into(),
            user: self.user.into(),
            workstation: "HOST".into(),
            sealed_key: if exchange { proof::rc4(&base, &key).to_bytes() } else { Bytes::new() },
            mic: None,
        };
        (self.change)(&mut said);
        let mut message = said.encode();
        if self.with_mic && said.mic.is_none() {
            let around = [&message[..MIC_AT], &message[MIC_AT + 16..]];
            let mic = proof::mic(&key, negotiate, challenge, around);
            message[MIC_AT..MIC_AT + 16].copy_from_slice(&mic);
        }
        (message, key, flags)
    }

    fn refused(&self) -> Refused {
        let step = self.run().0;
        let Step::Refused(refused) = step else { panic!("{step:?} for {:?}", self.user) };
        refused
    }

    fn gets_in(&self) {
        match self.run() {
            (Step::Done(identity), key) => {
                assert_eq!((identity.account.as_str(), identity.session_key), ("devstoreaccount1", key));
            }
            (other, _) => panic!("{other:?} for {:?} of {:?}", self.user, self.domain),
        }
    }
}

fn wrappings() -> [Option<Vec<&'static [u8]>>; 3] {
    [None, Some(vec![NTLMSSP]), Some(vec![KERBEROS, NTLMSSP])]
}

#[test]
fn the_right_password_gets_in_however_it_is_wrapped() {
    for mechanisms in wrappings() {
        for (with_mic, flags) in [(true, ASKED), (false, ASKED), (true, ASKED.without(Flags::KEY_EXCHANGE))] {
            Client { mechanisms: mechanisms.clone(), with_mic, flags, ..CLIENT }.gets_in();
        }
    }
    Client { mechanisms: Some(vec![NTLMSSP, KERBEROS]), with_list_mic: false, ..CLIENT }.gets_in();
}

#[test]
fn either_key_and_any_spelling_of_the_user_is_right() {
    for password in [KEY, OTHER] {
        for domain in ["", "AZURE", "localhost", "WORKGROUP", "größe"] {
            Client { password, domain, ..CLIENT }.gets_in();
        }
        for user in ["DevStoreAccount1", r"AZURE\devstoreaccount1", r"localhost\devstoreaccount1"] {
            Client { password, user, domain: "", ..CLIENT }.gets_in();
        }
    }
    Client { domain: "azure", hashed_domain: Some("AZURE"), ..CLIENT }.gets_in();
    Client { domain: "azure", hashed_domain: Some(""), ..CLIENT }.gets_in();
}

#[test]
fn a_wrong_password_or_name_does_not() {
    for mechanisms in wrappings() {
        let client = Client { mechanisms, ..CLIENT };
        assert_eq!(Client { password: "wrong", ..client.clone() }.refused(), Refused::Password);
        assert_eq!(Client { password: "", ..client.clone() }.refused(), Refused::Password);
        assert_eq!(Client { user: "nobody", ..client.clone() }.refused(), Refused::Password);
        assert_eq!(Client { user: "guest", password: "", ..client.clone() }.refused(), Refused::Password);
        assert_eq!(Client { hashed_domain: Some("ELSEWHERE"), ..client }.refused(), Refused::Password);
    }
    // What is hashed for names that nobody has is not a password either.
    assert_eq!(NOBODY.len(), KEY.len());
    assert_eq!(Client { user: "nobody", password: NOBODY, ..CLIENT }.refused(), Refused::Password);
    assert_eq!(Refused::Password.status(), Status::LogonFailure);
}

#[test]
fn nobody_and_yesterdays_protocols_do_not() {
    let anonymous = |said: &mut Authenticate| {
        (said.user, said.domain, said.nt, said.lm) = (Wide::default(), Wide::default(), Bytes::new(), vec![0].into());
    };
    let step = Client { change: anonymous, ..CLIENT }.run().0;
    assert!(matches!(step, Step::Nobody(_)), "it is said to be nobody, and has no key: {step:?}");
    assert_eq!(Refused::Anonymous.status(), Status::AccessDenied);
    let version_one = |said: &mut Authenticate| said.nt = vec![7; 24].into();
    assert_eq!(Client { change: version_one, ..CLIENT }.refused(), Refused::OldProtocol);
    let lm_alone = |said: &mut Authenticate| said.nt = Bytes::new();
    assert_eq!(Client { change: lm_alone, ..CLIENT }.refused(), Refused::OldProtocol);
    for missing in [Flags::UNICODE, Flags::NTLM, Flags::EXTENDED_SECURITY] {
        assert_eq!(Client { flags: ASKED.without(missing), ..CLIENT }.refused(), Refused::Flags);
    }
    let later = |said: &mut Authenticate| said.flags = said.flags.without(Flags::EXTENDED_SECURITY);
    assert_eq!(Client { change: later, ..CLIENT }.refused(), Refused::Flags);
    assert_eq!(Client { mechanisms: Some(vec![KERBEROS]), ..CLIENT }.refused(), Refused::Mechanism);
}

#[test]
fn what_is_changed_on_the_way_is_noticed() {
    let wrong_mic = |said: &mut Authenticate| said.mic = Some([1; 16]);
    assert_eq!(Client { change: wrong_mic, ..CLIENT }.refused(), Refused::Changed);
    let zero_mic = |said: &mut Authenticate| said.mic = Some([0; 16]);
    assert_eq!(Client { change: zero_mic, ..CLIENT }.refused(), Refused::Changed, "no checksum is a wrong one");
    let key = |said: &mut Authenticate| said.sealed_key = vec![0; 16].into();
    assert_eq!(Client { change: key, ..CLIENT }.refused(), Refused::Changed);
    let guessed = Client { mechanisms: Some(vec![KERBEROS, NTLMSSP]), with_list_mic: false, ..CLIENT };
    assert_eq!(guessed.refused(), Refused::Changed, "who was told another mechanism has to vouch for the list");
    let short_key = |said: &mut Authenticate| said.sealed_key = vec![0; 15].into();
    assert_eq!(Client { change: short_key, ..CLIENT }.refused(), Refused::Malformed);
}

/// A checksum over the list that is made with another key, or over another list.
#[test]
fn the_list_of_mechanisms_is_vouched_for() {
    let mut logon = Logon::new("lazuli");
    let negotiate = ntlm::encode_negotiate(ASKED);
    let mut step = |token: Vec<u8>| logon.step(token.into(), FileTime(7), [3; 8], accounts);
    let Step::Continue(token) = step(spnego::encode_init(&[NTLMSSP], Some(&negotiate))) else { panic!("a challenge") };
    let challenge = spnego::parse_resp(&token).expect("a token").token.expect("a challenge").to_vec();
    let (message, key, flags) = CLIENT.authenticate(&negotiate, &challenge);
    let mic = proof::signature(&key, flags, Side::Client, b"another list");
    let last = step(spnego::encode_resp(None, None, Some(&message), Some(&mic)));
    assert_eq!(last, Step::Refused(Refused::Changed));
}

#[test]
fn a_proof_is_for_one_challenge_and_a_logon_for_one_attempt() {
    let negotiate = ntlm::encode_negotiate(ASKED);
    let mut first = Logon::new("lazuli");
    let Step::Continue(challenge) = first.step(negotiate.clone().into(), FileTime(7), [3; 8], accounts) else {
        panic!("a challenge")
    };
    let (message, ..) = CLIENT.authenticate(&negotiate, &challenge);
    let mut second = Logon::new("lazuli");
    second.step(negotiate.into(), FileTime(7), [4; 8], accounts);
    let replayed = second.step(message.clone().into(), FileTime(7), [4; 8], accounts);
    assert_eq!(replayed, Step::Refused(Refused::Password));
    assert!(matches!(first.step(message.clone().into(), FileTime(7), [3; 8], accounts), Step::Done(_)));
    let again = first.step(message.into(), FileTime(7), [3; 8], accounts);
    assert_eq!(again, Step::Refused(Refused::Malformed), "it is over");
}

#[test]
fn nothing_long_is_kept_before_somebody_is_known() {
    let mut long = ntlm::encode_negotiate(ASKED);
    long.resize(FIRST_MAX + 1, 0);
    let refused = Logon::new("lazuli").step(long.into(), FileTime(7), [3; 8], accounts);
    assert_eq!(refused, Step::Refused(Refused::Malformed));
}

#[test]
fn tokens_cut_short_are_refused() {
    let negotiate = ntlm::encode_negotiate(ASKED);
    let whole = spnego::encode_init(&[NTLMSSP], Some(&negotiate));
    for end in 0..whole.len() {
        let step = Logon::new("lazuli").step(Bytes::copy_from_slice(&whole[..end]), FileTime(7), [3; 8], accounts);
        assert!(matches!(step, Step::Refused(_)), "cut at {end}");
    }
    let challenged = || {
        let mut logon = Logon::new("lazuli");
        let step = logon.step(negotiate.clone().into(), FileTime(7), [3; 8], accounts);
        let Step::Continue(challenge) = step else { panic!("{step:?}") };
        (logon, challenge)
    };
    let (message, ..) = CLIENT.authenticate(&negotiate, &challenged().1);
    for end in 0..message.len() {
        let step = challenged().0.step(Bytes::copy_from_slice(&message[..end]), FileTime(7), [3; 8], accounts);
        assert!(matches!(step, Step::Refused(_)), "cut at {end}");
    }
}

/// The three messages of Windows' own logon, from "The anatomy of signing and cryptographic keys": the password is not known, the key is.
#[test]
fn the_checksum_of_a_published_logon() {
    let negotiate = hex("4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F");
    let challenge =
        hex("4E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D008000000000000000050005000440000000A009227
         0000000F53005500540033003100310002000C0053005500540033003100310001000C0053005500540033003100310004000C00
         53005500540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED00100000000");
    let authenticate =
        hex("4E544C4D53535000030000001800180090000000EE00EE00A80000000C000C00580000001A001A0064000000120012007E000000
         1000100096010000158288E2060380250000000FECAC77A5F385A8BF9C38C706EEEDDCD353005500540033003100310061006400
         6D0069006E006900730074007200610074006F007200440052004900560045005200330031003100000000000000000000000000
         00000000000000000000000063078EB639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223CC90F
         0000000002000C0053005500540033003100310001000C0053005500540033003100310004000C00530055005400330031003100
         03000C0053005500540033003100310007000800A1A1F5ADCBAED001060004000200000008003000300000000000000000000000
         00300000B61FEFCAA857EA57BF1EDCEBF8974B8E0EBA5A6DFD9D07A31D11B548F8C9D0CC0A001000000000000000000000000000
         000000000900160063006900660073002F005300550054003300310031000000000000000000000000003B9BDFF38F5EE8F9663F
         11A0F4C03A78");
    let said = Authenticate::parse(authenticate.clone().into()).expect("a message");
    assert_eq!(said.user.to_text().as_deref(), Ok("administrator"));
    let response = Response::parse(said.nt.clone()).expect("NTLMv2");
    assert!(response.info.has_mic());
    assert_eq!(response.info.target, Some("cifs/SUT311".into()));
    let key = hex16("270E1BA896585EEB7AF3472D3B4C75A7");
    let around = [&authenticate[..MIC_AT], &authenticate[MIC_AT + 16..]];
    assert_eq!(Some(proof::mic(&key, &negotiate, &challenge, around)), said.mic);
    let (flags, random, _) = Challenge::parse(challenge.into()).expect("a challenge");
    assert_eq!((flags, random[0]), (Flags(0xe28a_8215), 0x0d));
}
