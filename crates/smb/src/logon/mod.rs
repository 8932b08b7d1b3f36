//! Who is there: NTLMv2, inside SPNEGO or by itself. A user is an account and the password one of its two keys, as text.
//!
//! * Nobody gets in without a proof over the server's own challenge: no guests, no anonymous logons, no NTLMv1, no LM. Who is in already may say
//!   that it is nobody from now on (`Step::Nobody`): this gives up rights and gets none.
//! * A wrong name costs what a wrong key costs. Both keys are tried, with each of the domains that clients are known to hash, whatever has matched.
//! * A client that says that it signs the three messages, or the list of mechanisms, is held to it: those words are covered by the proof.
//! * What is kept before somebody is known is bounded by `FIRST_MAX`.

use bytes::Bytes;
use subtle::ConstantTimeEq;

use crate::status::Status;
use crate::time::FileTime;

pub mod der;
pub mod ntlm;
pub mod proof;
pub mod spnego;

use ntlm::{Authenticate, Challenge, Flags, MIC_AT, NEEDED, Response};
use proof::Side;
use spnego::{NTLMSSP, State};

/// The longest first message that is kept until the last one comes. Windows' has about a hundred bytes, with Kerberos inside up to some thousands, which
/// are not kept.
const FIRST_MAX: usize = 4096;
const LAST_MAX: usize = 16384;

/// Hashed for a name that nobody has, which takes as long as an account's key: that has 88 characters, too. It opens nothing.
const NOBODY: &str = "========================================================================================";

/// One attempt to log on. It takes two or three steps and is over then, whichever way it goes.
#[derive(Debug)]
pub struct Logon {
    /// What the server calls itself.
    name: String,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    First,
    /// The client guessed another mechanism; it has been told which it is to be.
    Guessed {
        list: Vec<u8>,
    },
    Challenged(Box<Challenged>),
    Over,
}

#[derive(Debug)]
struct Challenged {
    negotiate: Bytes,
    challenge: Vec<u8>,
    server_challenge: [u8; 8],
    /// What was offered to the client.
    flags: Flags,
    wrapping: Wrapping,
}

#[derive(Clone, Debug)]
enum Wrapping {
    Raw,
    /// The list has to be vouched for where the client's first choice was not taken.
    Spnego {
        list: Vec<u8>,
        mic_required: bool,
    },
}

/// What an account's password may be.
pub type Passwords = [String; 2];

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// STATUS_MORE_PROCESSING_REQUIRED, with this token.
    Continue(Vec<u8>),
    Done(Identity),
    /// The client says that it is nobody, and proves nothing. With the last token.
    Nobody(Vec<u8>),
    Refused(Refused),
}

#[derive(PartialEq, Eq)]
pub struct Identity {
    pub account: String,
    /// What the session's keys are derived from.
    pub session_key: [u8; 16],
    pub token: Vec<u8>,
    /// As the client names itself; for the log.
    pub workstation: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({} from {:?})", self.account, self.workstation)
    }
}

/// Why not. Clients learn less: see `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not a token, or not the one that was due.
    Malformed,
    /// Neither NTLM nor SPNEGO with NTLM.
    Mechanism,
    /// No UTF-16, or no extended session security.
    Flags,
    Anonymous,
    /// NTLMv1, LM, or NTLM2 session security.
    OldProtocol,
    /// Nobody of that name, or not that password.
    Password,
    /// The proof is right, and a checksum over what was said before it is not: somebody has changed it.
    Changed,
}

impl Refused {
    pub fn status(self) -> Status {
        match self {
            Self::Malformed | Self::Mechanism | Self::Flags => Status::InvalidParameter,
            Self::Anonymous => Status::AccessDenied,
            Self::OldProtocol | Self::Password => Status::LogonFailure,
            Self::Changed => Status::AccessDenied,
        }
    }
}

impl Logon {
    pub fn new(server: &str) -> Self {
        Self { name: server.to_owned(), stage: Stage::First }
    }

    /// Who the client says that it is, if this token says so: asked before `step`, which wants the passwords at hand.
    pub fn asks_for(&self, token: Bytes) -> Option<String> {
        let Stage::Challenged(challenged) = &self.stage else { return None };
        if token.len() > LAST_MAX {
            return None;
        }
        let (message, _) = challenged.unwrap(token).ok()?;
        let said = Authenticate::parse(message).ok()?;
        said.user.to_text().ok().map(|user| account_of(&user))
    }

    /// What the client says next. `random` is new for each logon; `passwords` is asked once, for a name in lower case.
    pub fn step(
        &mut self,
        token: Bytes,
        now: FileTime,
        random: [u8; 8],
        passwords: impl FnOnce(&str) -> Option<Passwords>,
    ) -> Step {
        let taken = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::First => self.first(token, now, random),
            Stage::Guessed { list } => self.guessed(list, token, now, random),
            Stage::Challenged(challenged) => challenged.last(token, passwords),
            Stage::Over => Err(Refused::Malformed),
        };
        taken.unwrap_or_else(Step::Refused)
    }

    fn first(&mut self, token: Bytes, now: FileTime, random: [u8; 8]) -> Result<Step, Refused> {
        if token.starts_with(&ntlm::SIGNATURE) {
            return self.challenge(token, Wrapping::Raw, now, random);
        }
        let init = spnego::parse_init(&token).ok_or(Refused::Malformed)?;
        let Some(place) = init.mechanisms.iter().position(|mechanism| *mechanism == NTLMSSP) else {
            return Err(Refused::Mechanism);
        };
        let list = kept(init.list)?;
        match init.token {
            Some(message) if place == 0 => {
                let wrapping = Wrapping::Spnego { list, mic_required: false };
                self.challenge(token.slice_ref(message), wrapping, now, random)
            }
            Some(_) | None => {
                self.stage = Stage::Guessed { list };
                Ok(Step::Continue(spnego::encode_resp(Some(State::RequestMic), Some(NTLMSSP), None, None)))
            }
        }
    }

    fn guessed(&mut self, list: Vec<u8>, token: Bytes, now: FileTime, random: [u8; 8]) -> Result<Step, Refused> {
        let resp = spnego::parse_resp(&token).ok_or(Refused::Malformed)?;
        let message = token.slice_ref(resp.token.ok_or(Refused::Malformed)?);
        self.challenge(message, Wrapping::Spnego { list, mic_required: true }, now, random)
    }

    fn challenge(
        &mut self,
        negotiate: Bytes,
        wrapping: Wrapping,
        now: FileTime,
        random: [u8; 8],
    ) -> Result<Step, Refused> {
        let asked = ntlm::parse_negotiate(negotiate.clone()).map_err(|_| Refused::Malformed)?;
        if !asked.has(NEEDED) {
            return Err(Refused::Flags);
        }
        // A copy, so that no larger buffer is kept with it.
        let negotiate = Bytes::from(kept(&negotiate)?);
        let challenge = Challenge::new(asked, random, &self.name, now);
        let message = challenge.encode();
        let token = match &wrapping {
            Wrapping::Raw => message.clone(),
            Wrapping::Spnego { .. } => {
                spnego::encode_resp(Some(State::Incomplete), Some(NTLMSSP), Some(&message), None)
            }
        };
        self.stage = Stage::Challenged(Box::new(Challenged {
            negotiate,
            challenge: message,
            server_challenge: random,
            flags: challenge.flags,
            wrapping,
        }));
        Ok(Step::Continue(token))
    }
}

fn kept(bytes: &[u8]) -> Result<Vec<u8>, Refused> {
    if bytes.len() > FIRST_MAX { Err(Refused::Malformed) } else { Ok(bytes.to_vec()) }
}

impl Challenged {
    fn last(&self, token: Bytes, passwords: impl FnOnce(&str) -> Option<Passwords>) -> Result<Step, Refused> {
        if token.len() > LAST_MAX {
            return Err(Refused::Malformed);
        }
        let (message, list_mic) = self.unwrap(token)?;
        let said = Authenticate::parse(message.clone()).map_err(|_| Refused::Malformed)?;
        if said.user.is_empty() && said.nt.is_empty() {
            return self.nobody(&said, list_mic.as_deref()).map(Step::Nobody);
        }
        if !said.flags.has(NEEDED) {
            return Err(Refused::Flags);
        }
        // 24 bytes are NTLMv1's; a proof with nothing behind it is nobody's.
        if said.nt.len() <= 24 {
            return Err(Refused::OldProtocol);
        }
        let response = Response::parse(said.nt.clone()).map_err(|_| Refused::Malformed)?;
        let user = said.user.to_text().map_err(|_| Refused::Password)?;
        let domain = said.domain.to_text().map_err(|_| Refused::Password)?;
        let account = account_of(&user);
        let base = prove(&user, &domain, &self.server_challenge, &response, passwords(&account))?;
        let flags = Flags(said.flags.0 & self.flags.0);
        let session_key = exchanged(flags, &base, &said)?;
        self.check_mic(&session_key, &said, &response, &message)?;
        let token = self.check_list(&session_key, flags, list_mic.as_deref())?;
        let workstation = said.workstation.to_text().unwrap_or_default();
        Ok(Step::Done(Identity { account, session_key, token, workstation }))
    }

    /// The key of an anonymous logon is made of zeros ([MS-NLMP] 3.3.2). The list of mechanisms is signed with it all the same.
    fn nobody(&self, said: &Authenticate, list_mic: Option<&[u8]>) -> Result<Vec<u8>, Refused> {
        let flags = Flags(said.flags.0 & self.flags.0);
        let session_key = exchanged(flags, &[0; 16], said)?;
        self.check_list(&session_key, flags, list_mic)
    }

    /// The message of NTLM in the token, and SPNEGO's checksum, if any.
    fn unwrap(&self, token: Bytes) -> Result<(Bytes, Option<Bytes>), Refused> {
        match &self.wrapping {
            Wrapping::Raw => Ok((token, None)),
            Wrapping::Spnego { .. } => {
                let resp = spnego::parse_resp(&token).ok_or(Refused::Malformed)?;
                let message = token.slice_ref(resp.token.ok_or(Refused::Malformed)?);
                Ok((message, resp.list_mic.map(|mic| token.slice_ref(mic))))
            }
        }
    }

    /// That nobody has changed the messages, if the client says that it has signed them. It says so inside of what it proved.
    fn check_mic(
        &self,
        session_key: &[u8; 16],
        said: &Authenticate,
        response: &Response,
        message: &Bytes,
    ) -> Result<(), Refused> {
        if !response.info.has_mic() {
            return Ok(());
        }
        let given = said.mic.ok_or(Refused::Malformed)?;
        let around = [&message[..MIC_AT], &message[MIC_AT + 16..]];
        let right = proof::mic(session_key, &self.negotiate, &self.challenge, around);
        if bool::from(given.ct_eq(&right)) { Ok(()) } else { Err(Refused::Changed) }
    }

    /// That nobody has changed the list of mechanisms; and the last token, in which the server vouches for it too.
    fn check_list(&self, session_key: &[u8; 16], flags: Flags, given: Option<&[u8]>) -> Result<Vec<u8>, Refused> {
        let (list, required) = match &self.wrapping {
            Wrapping::Raw => return Ok(Vec::new()),
            Wrapping::Spnego { list, mic_required } => (list, *mic_required),
        };
        let Some(given) = given else {
            let token = spnego::encode_resp(Some(State::Completed), None, None, None);
            return if required { Err(Refused::Changed) } else { Ok(token) };
        };
        let right = proof::signature(session_key, flags, Side::Client, list);
        if !bool::from(given.ct_eq(&right[..])) {
            return Err(Refused::Changed);
        }
        let own = proof::signature(session_key, flags, Side::Server, list);
        Ok(spnego::encode_resp(Some(State::Completed), None, None, Some(&own)))
    }
}

/// `name`, `AZURE\name` and `localhost\name` are the same, wherever the client puts the domain: it is not looked at.
fn account_of(user: &str) -> String {
    user.rsplit('\\').next().unwrap_or(user).to_ascii_lowercase()
}

/// The key that follows from the password that was meant. Tries everything whatever has matched before, and with no account's passwords
/// if there is none of that name.
fn prove(
    user: &str,
    domain: &str,
    server_challenge: &[u8; 8],
    response: &Response,
    passwords: Option<Passwords>,
) -> Result<[u8; 16], Refused> {
    let known = passwords.is_some();
    let passwords = passwords.unwrap_or_else(|| [NOBODY.to_owned(), NOBODY.to_owned()]);
    // What was typed, what Windows sometimes makes of it, and what some clients leave away.
    let domains = [domain, &domain.to_uppercase(), ""];
    let mut found = (subtle::Choice::from(0), [0; 16]);
    for password in &passwords {
        let hash = proof::nt_hash(password);
        for domain in domains {
            let owf = proof::owf_v2(&hash, user, domain);
            let right = proof::proof(&owf, server_challenge, &response.blob);
            let base = proof::session_base_key(&owf, &response.proof);
            let matches = right.ct_eq(&response.proof);
            for (kept, new) in found.1.iter_mut().zip(base) {
                subtle::ConditionallySelectable::conditional_assign(kept, &new, matches);
            }
            found.0 |= matches;
        }
    }
    if bool::from(found.0) && known { Ok(found.1) } else { Err(Refused::Password) }
}

/// The key that both go on with: the client's own, if it sends one, encrypted.
fn exchanged(flags: Flags, base: &[u8; 16], said: &Authenticate) -> Result<[u8; 16], Refused> {
    if !flags.has(Flags::KEY_EXCHANGE) {
        return Ok(*base);
    }
    let sealed: [u8; 16] = said.sealed_key[..].try_into().map_err(|_| Refused::Malformed)?;
    Ok(proof::rc4(base, &sealed))
}

#[cfg(test)]
pub(crate) mod tests;
