//! What a SESSION_SETUP wants, and what becomes of its session ([MS-SMB2] 3.3.5.5).

use super::negotiation::{Agreed, Encryption};
use crate::crypt::SigningAlgorithm;
use crate::packet::logon::{SetupFlags, SetupRequest};
use crate::packet::negotiate::Dialect;
use crate::status::Status;

/// What is known of the session that is named.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    Nothing,
    Unknown,
    /// A logon that has begun on this connection.
    InProgress,
    /// A session with a key.
    Session {
        agreed: &'a Agreed,
        here: bool,
        expired: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    New,
    /// The next token of a logon that has begun.
    Continue,
    /// Somebody who is in proves again who they are.
    Reauthenticate,
    /// A session gets this connection as a further channel.
    Bind,
}

/// What is wanted, or why it cannot be had. `signed` is whether the request has a signature; whether it is right is for the caller to find out.
pub fn wish(agreed: &Agreed, request: &SetupRequest, named: Named<'_>, signed: bool) -> Result<Wish, Status> {
    if request.flags.has(SetupFlags::BINDING) {
        return bind(agreed, named, signed);
    }
    match named {
        Named::Nothing => Ok(Wish::New),
        Named::Unknown | Named::Session { here: false, .. } => Err(Status::UserSessionDeleted),
        Named::InProgress => Ok(Wish::Continue),
        Named::Session { here: true, .. } => Ok(Wish::Reauthenticate),
    }
}

/// Which of several mistakes is told is what Windows tells (smb2.session.bind_negative_*).
fn bind(here: &Agreed, named: Named<'_>, signed: bool) -> Result<Wish, Status> {
    let (agreed, same_connection, expired) = match named {
        Named::Nothing | Named::Unknown => return Err(Status::UserSessionDeleted),
        // The second step of a binding names its own logon.
        Named::InProgress => return Ok(Wish::Continue),
        Named::Session { agreed, here, expired } => (agreed, here, expired),
    };
    // GMAC needs nonces that the other algorithms do not have, so a session signs with it everywhere or nowhere.
    match (agreed.signing, here.signing) {
        (SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac | SigningAlgorithm::HmacSha256) => {
            return Err(Status::RequestOutOfSequence);
        }
        (SigningAlgorithm::AesCmac | SigningAlgorithm::HmacSha256, SigningAlgorithm::AesGmac) => {
            return Err(Status::NotSupported);
        }
        (SigningAlgorithm::AesGmac, SigningAlgorithm::AesGmac)
        | (
            SigningAlgorithm::AesCmac | SigningAlgorithm::HmacSha256,
            SigningAlgorithm::AesCmac | SigningAlgorithm::HmacSha256,
        ) => {}
    }
    match here.dialect {
        Dialect::Smb202 | Dialect::Smb210 => return Err(Status::RequestNotAccepted),
        Dialect::Smb300 | Dialect::Smb302 | Dialect::Smb311 => {}
    }
    if agreed.dialect != here.dialect || agreed.cipher != here.cipher || !signed {
        return Err(Status::InvalidParameter);
    }
    if !here.multi_channel() || !agreed.multi_channel() || same_connection {
        return Err(Status::RequestNotAccepted);
    }
    if agreed.client != here.client {
        return Err(Status::UserSessionDeleted);
    }
    if expired { Err(Status::NetworkSessionExpired) } else { Ok(Wish::Bind) }
}

/// What becomes of a session when somebody has proven to be `account`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A session with new keys. With `end`, the client's former one is over: it has lost its connection and not told us.
    Opened { end: Option<u64> },
    /// The same session, with the keys that it had.
    Kept,
    /// One more channel, with a signing key of its own.
    Bound,
    /// It is somebody else's.
    Denied,
}

/// `owner` is whose session it is, if it is one already; `previous` is whose the former session is.
pub fn outcome(wish: Wish, account: &str, owner: Option<&str>, previous: Option<(u64, &str)>) -> Outcome {
    let own = owner == Some(account);
    match wish {
        Wish::New | Wish::Continue => {
            let end = previous.filter(|(_, of)| *of == account).map(|(id, _)| id);
            Outcome::Opened { end }
        }
        Wish::Reauthenticate if own => Outcome::Kept,
        Wish::Bind if own => Outcome::Bound,
        Wish::Reauthenticate | Wish::Bind => Outcome::Denied,
    }
}

/// Whether a session on such a connection is sealed from its beginning; or refused, since it has to be and cannot.
pub fn sealed(encryption: Encryption, agreed: &Agreed) -> Result<bool, Status> {
    match (encryption, agreed.cipher) {
        (Encryption::Offered, _) => Ok(false),
        (Encryption::Required, Some(_)) => Ok(true),
        (Encryption::Required, None) => Err(Status::AccessDenied),
    }
}

#[cfg(test)]
mod tests {
    use super::super::negotiation::tests::agreed;
    use super::*;
    use crate::crypt::Cipher;
    use crate::packet::negotiate::Capabilities;

    fn request(binding: bool) -> SetupRequest {
        let flags = if binding { SetupFlags::BINDING } else { SetupFlags::default() };
        SetupRequest { flags, ..Default::default() }
    }

    #[test]
    fn what_is_wanted_without_binding() {
        let agreed = agreed(Dialect::Smb302);
        let session = |here| Named::Session { agreed: &agreed, here, expired: false };
        let expired = Named::Session { agreed: &agreed, here: true, expired: true };
        let table = [
            (Named::Nothing, Ok(Wish::New)),
            (Named::Unknown, Err(Status::UserSessionDeleted)),
            (Named::InProgress, Ok(Wish::Continue)),
            (session(true), Ok(Wish::Reauthenticate)),
            (session(false), Err(Status::UserSessionDeleted)),
            (expired, Ok(Wish::Reauthenticate)),
        ];
        for (named, wanted) in table {
            assert_eq!(wish(&agreed, &request(false), named, false), wanted, "{named:?}");
        }
    }

    #[test]
    fn a_channel_is_bound_to_a_session_of_its_own_kind() {
        let first = agreed(Dialect::Smb311);
        let bind = |second: &Agreed, signed| {
            let named = Named::Session { agreed: &first, here: false, expired: false };
            wish(second, &request(true), named, signed)
        };
        assert_eq!(bind(&first, true), Ok(Wish::Bind));
        assert_eq!(bind(&first, false), Err(Status::InvalidParameter));
        type Change = fn(&mut Agreed);
        let table: [(Change, Status); 7] = [
            (|second| second.dialect = Dialect::Smb302, Status::InvalidParameter),
            (|second| second.dialect = Dialect::Smb210, Status::RequestNotAccepted),
            (|second| second.cipher = Some(Cipher::Aes128Ccm), Status::InvalidParameter),
            (|second| second.cipher = None, Status::InvalidParameter),
            (|second| second.signing = SigningAlgorithm::HmacSha256, Status::RequestOutOfSequence),
            (|second| second.client[0] ^= 1, Status::UserSessionDeleted),
            (|second| second.capabilities = Capabilities::LARGE_MTU, Status::RequestNotAccepted),
        ];
        for (change, status) in table {
            let mut second = first.clone();
            change(&mut second);
            assert_eq!(bind(&second, true), Err(status), "{second:?}");
        }
        let mut plain = first.clone();
        plain.signing = SigningAlgorithm::AesCmac;
        let named = Named::Session { agreed: &plain, here: false, expired: false };
        assert_eq!(wish(&first, &request(true), named, true), Err(Status::NotSupported), "GMAC joins no CMAC");
        let mut slow = plain.clone();
        slow.signing = SigningAlgorithm::HmacSha256;
        assert_eq!(wish(&slow, &request(true), named, true), Ok(Wish::Bind), "each channel has its own");
        let named =
            |here, expired| wish(&first, &request(true), Named::Session { agreed: &first, here, expired }, true);
        assert_eq!(named(true, false), Err(Status::RequestNotAccepted), "it is bound already");
        assert_eq!(named(false, true), Err(Status::NetworkSessionExpired));
        assert_eq!(wish(&first, &request(true), Named::Unknown, true), Err(Status::UserSessionDeleted));
        assert_eq!(wish(&first, &request(true), Named::InProgress, true), Ok(Wish::Continue));
    }

    #[test]
    fn a_session_stays_with_its_owner() {
        let table = [
            (Wish::New, None, None, Outcome::Opened { end: None }),
            (Wish::New, None, Some((9, "me")), Outcome::Opened { end: Some(9) }),
            (Wish::New, None, Some((9, "you")), Outcome::Opened { end: None }),
            (Wish::Reauthenticate, Some("me"), None, Outcome::Kept),
            (Wish::Reauthenticate, Some("you"), None, Outcome::Denied),
            (Wish::Bind, Some("me"), None, Outcome::Bound),
            (Wish::Bind, Some("you"), None, Outcome::Denied),
            (Wish::Bind, None, None, Outcome::Denied),
        ];
        for (wish, owner, previous, expected) in table {
            assert_eq!(outcome(wish, "me", owner, previous), expected, "{wish:?} of {owner:?}");
        }
    }

    #[test]
    fn where_sealing_is_required_nobody_gets_in_without() {
        let (old, new) = (agreed(Dialect::Smb210), agreed(Dialect::Smb311));
        assert_eq!(sealed(Encryption::Offered, &old), Ok(false));
        assert_eq!(sealed(Encryption::Offered, &new), Ok(false));
        assert_eq!(sealed(Encryption::Required, &old), Err(Status::AccessDenied));
        assert_eq!(sealed(Encryption::Required, &new), Ok(true));
    }
}
