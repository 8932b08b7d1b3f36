//! What a request has to be signed or sealed with, and its answer ([MS-SMB2] 3.3.5.2.1, 3.3.5.2.4, 3.3.5.2.9). A session that has a key accepts nothing
//! weaker than signing, and one that is sealed nothing but sealed requests.

use crate::packet::Command;
use crate::status::Status;

/// How a request arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    Plain,
    /// With a signature, which is that of the session on this connection.
    Signed,
    /// With a signature that is not.
    Forged,
    /// In a frame that the session's key has opened, and about that session.
    Sealed,
}

/// What is known of the session that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// None is named.
    None,
    /// There is none of that id on this connection, or it has ended.
    Unknown,
    /// Somebody is logging on.
    InProgress,
    Valid {
        sealed: bool,
    },
    /// It was valid. Its client has to log on again.
    Expired {
        sealed: bool,
    },
}

/// How the answer goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Plain,
    Signed,
    Sealed,
}

/// Whether a request is served, and how it is answered; or with what it is refused.
pub fn accept(command: Command, standing: Standing, arrived: Arrived) -> Result<Answer, Status> {
    match standing {
        Standing::None => match (command, arrived) {
            (_, Arrived::Signed | Arrived::Forged | Arrived::Sealed) => Err(Status::UserSessionDeleted),
            (Command::Negotiate | Command::SessionSetup | Command::Echo | Command::Cancel, Arrived::Plain) => {
                Ok(Answer::Plain)
            }
            (_, Arrived::Plain) => Err(Status::UserSessionDeleted),
        },
        Standing::Unknown => Err(Status::UserSessionDeleted),
        Standing::InProgress => match (command, arrived) {
            (Command::SessionSetup, Arrived::Plain) => Ok(Answer::Plain),
            // A channel that is being bound signs with the session's key, which the caller has looked at.
            (Command::SessionSetup, Arrived::Signed) => Ok(Answer::Signed),
            (Command::SessionSetup, Arrived::Forged | Arrived::Sealed) => Err(Status::AccessDenied),
            (_, _) => Err(Status::UserSessionDeleted),
        },
        Standing::Valid { sealed } => keyed(sealed, arrived),
        Standing::Expired { sealed } => {
            let answer = keyed(sealed, arrived);
            // To log on again, to leave, and to let go.
            let is_allowed =
                matches!(command, Command::SessionSetup | Command::Logoff | Command::Close | Command::Lock);
            if is_allowed { answer } else { answer.and(Err(Status::NetworkSessionExpired)) }
        }
    }
}

fn keyed(sealed: bool, arrived: Arrived) -> Result<Answer, Status> {
    match (arrived, sealed) {
        (Arrived::Sealed, _) => Ok(Answer::Sealed),
        (Arrived::Signed, false) => Ok(Answer::Signed),
        (Arrived::Signed, true) | (Arrived::Plain | Arrived::Forged, _) => Err(Status::AccessDenied),
    }
}

/// How a refusal goes out: as the request came, if there is a key for it.
pub fn refusal(standing: Standing, arrived: Arrived) -> Answer {
    match (standing, arrived) {
        // While a channel is being bound, its requests are signed with the key of the session, and so is what they are told.
        (Standing::Valid { .. } | Standing::Expired { .. } | Standing::InProgress, Arrived::Signed) => Answer::Signed,
        // Who signs with another key has one, and does not believe what is not signed (smb2.session.bind_negative_smb3signCtoH).
        (Standing::Valid { .. } | Standing::Expired { .. }, Arrived::Forged) => Answer::Signed,
        (Standing::Valid { .. } | Standing::Expired { .. }, Arrived::Sealed) => Answer::Sealed,
        (Standing::None | Standing::Unknown, _)
        | (Standing::InProgress, Arrived::Plain | Arrived::Forged | Arrived::Sealed)
        | (Standing::Valid { .. } | Standing::Expired { .. }, Arrived::Plain) => Answer::Plain,
    }
}

/// Whether a tree may be used by a request that arrived so: one that is sealed only takes sealed ones ([MS-SMB2] 3.3.5.2.11).
pub fn accept_tree(tree_sealed: bool, arrived: Arrived) -> Result<(), Status> {
    match (tree_sealed, arrived) {
        (false, _) | (true, Arrived::Sealed) => Ok(()),
        (true, Arrived::Plain | Arrived::Signed | Arrived::Forged) => Err(Status::AccessDenied),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [Arrived; 4] = [Arrived::Plain, Arrived::Signed, Arrived::Forged, Arrived::Sealed];

    /// One line for each standing and command: plain, signed, forged, sealed. `p`, `s` and `e` are how it is answered; `-` is ACCESS_DENIED, `x` the
    /// session is gone, `t` it has expired.
    const TABLE: &[(&str, Standing, Command, &str)] = &[
        ("none", Standing::None, Command::Negotiate, "pxxx"),
        ("none", Standing::None, Command::SessionSetup, "pxxx"),
        ("none", Standing::None, Command::Echo, "pxxx"),
        ("none", Standing::None, Command::TreeConnect, "xxxx"),
        ("none", Standing::None, Command::Create, "xxxx"),
        ("unknown", Standing::Unknown, Command::SessionSetup, "xxxx"),
        ("unknown", Standing::Unknown, Command::Read, "xxxx"),
        ("in progress", Standing::InProgress, Command::SessionSetup, "ps--"),
        ("in progress", Standing::InProgress, Command::TreeConnect, "xxxx"),
        ("in progress", Standing::InProgress, Command::Logoff, "xxxx"),
        ("valid", Standing::Valid { sealed: false }, Command::Read, "-s-e"),
        ("valid", Standing::Valid { sealed: false }, Command::SessionSetup, "-s-e"),
        ("valid", Standing::Valid { sealed: false }, Command::Cancel, "-s-e"),
        ("valid", Standing::Valid { sealed: false }, Command::Echo, "-s-e"),
        ("sealed", Standing::Valid { sealed: true }, Command::Read, "---e"),
        ("sealed", Standing::Valid { sealed: true }, Command::SessionSetup, "---e"),
        ("expired", Standing::Expired { sealed: false }, Command::Read, "-t-t"),
        ("expired", Standing::Expired { sealed: false }, Command::SessionSetup, "-s-e"),
        ("expired", Standing::Expired { sealed: false }, Command::Close, "-s-e"),
        ("expired", Standing::Expired { sealed: true }, Command::Logoff, "---e"),
        ("expired", Standing::Expired { sealed: true }, Command::Write, "---t"),
    ];

    #[test]
    fn the_table() {
        for (name, standing, command, expected) in TABLE {
            let letters: String = WAYS.iter().map(|arrived| letter(accept(*command, *standing, *arrived))).collect();
            assert_eq!(letters, *expected, "{name} {command:?}");
        }
    }

    fn letter(outcome: Result<Answer, Status>) -> char {
        match outcome {
            Ok(Answer::Plain) => 'p',
            Ok(Answer::Signed) => 's',
            Ok(Answer::Sealed) => 'e',
            Err(Status::AccessDenied) => '-',
            Err(Status::UserSessionDeleted) => 'x',
            Err(Status::NetworkSessionExpired) => 't',
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_session_with_a_key_accepts_nothing_weaker_than_signing() {
        for command in Command::KNOWN {
            for standing in [Standing::Valid { sealed: false }, Standing::Expired { sealed: false }] {
                for arrived in [Arrived::Plain, Arrived::Forged] {
                    assert_eq!(accept(command, standing, arrived), Err(Status::AccessDenied), "{command:?}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_goes_out_as_the_request_came() {
        let answers = |standing| WAYS.map(|arrived| letter(Ok(refusal(standing, arrived)))).iter().collect::<String>();
        assert_eq!(answers(Standing::Valid { sealed: true }), "psse");
        assert_eq!(answers(Standing::Expired { sealed: false }), "psse");
        assert_eq!(answers(Standing::Unknown), "pppp");
        assert_eq!(answers(Standing::InProgress), "pspp");
    }

    #[test]
    fn a_sealed_tree_takes_sealed_requests() {
        for arrived in WAYS {
            assert!(accept_tree(false, arrived).is_ok());
            assert_eq!(accept_tree(true, arrived).is_ok(), arrived == Arrived::Sealed);
        }
    }
}
