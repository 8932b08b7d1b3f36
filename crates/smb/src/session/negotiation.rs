//! What is spoken on a connection ([MS-SMB2] 3.3.5.4). The server has one policy; the client's offer makes the rest.

use bytes::Bytes;

use crate::crypt::{Cipher, SigningAlgorithm};
use crate::logon::spnego;
use crate::packet::fsctl::{ValidateRequest, ValidateResponse};
use crate::packet::legacy::Offer;
use crate::packet::negotiate::{Capabilities, Dialect, Request, Response, SecurityMode, WILDCARD};
use crate::packet::negotiate_context::{Context, SHA512, salted};
use crate::status::Status;
use crate::time::FileTime;

/// Without multi-credit requests nothing is longer.
const SMALL_MAX: u32 = 65536;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encryption {
    /// A client that seals its requests gets sealed answers.
    Offered,
    /// Every session is sealed. A client without a common cipher is refused at its logon.
    Required,
}

/// What the server does, for all connections.
#[derive(Clone, Debug)]
pub struct Policy {
    pub server: [u8; 16],
    pub started: FileTime,
    pub encryption: Encryption,
    /// Of a READ, a WRITE or any other answer.
    pub transfer_max: u32,
}

/// What a connection has agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    pub dialect: Dialect,
    /// `None`: nothing can be sealed.
    pub cipher: Option<Cipher>,
    pub signing: SigningAlgorithm,
    pub client: [u8; 16],
    /// As the client said them; it may ask us later whether that is what we heard.
    pub client_capabilities: Capabilities,
    pub client_security: SecurityMode,
    pub offered: Vec<u16>,
    pub capabilities: Capabilities,
    pub transfer_max: u32,
}

impl Agreed {
    /// A request may cost more than one credit.
    pub fn multi_credit(&self) -> bool {
        self.capabilities.has(Capabilities::LARGE_MTU)
    }

    pub fn multi_channel(&self) -> bool {
        self.capabilities.has(Capabilities::MULTI_CHANNEL)
    }
}

/// Every session is signed, so it is required of everybody, and said to be.
pub const SECURITY_MODE: SecurityMode =
    SecurityMode(SecurityMode::SIGNING_ENABLED.0 | SecurityMode::SIGNING_REQUIRED.0);

/// Decides. `salt` is random.
pub fn negotiate(
    policy: &Policy,
    request: &Request,
    now: FileTime,
    salt: [u8; 32],
) -> Result<(Agreed, Response), Status> {
    if request.dialects.is_empty() {
        return Err(Status::InvalidParameter);
    }
    let dialect = Dialect::ALL.iter().rev().find(|dialect| request.offers(**dialect)).ok_or(Status::NotSupported)?;
    let (cipher, signing, contexts) = match dialect {
        Dialect::Smb202 | Dialect::Smb210 => (None, SigningAlgorithm::HmacSha256, Vec::new()),
        Dialect::Smb300 | Dialect::Smb302 => {
            let encrypts = request.capabilities.has(Capabilities::ENCRYPTION);
            (encrypts.then_some(Cipher::Aes128Ccm), SigningAlgorithm::AesCmac, Vec::new())
        }
        Dialect::Smb311 => by_contexts(&request.contexts, &salt)?,
    };
    let agreed = Agreed {
        dialect: *dialect,
        cipher,
        signing,
        client: request.client,
        client_capabilities: request.capabilities,
        client_security: request.security_mode,
        offered: request.dialects.clone(),
        capabilities: capabilities(*dialect, request.capabilities, cipher),
        transfer_max: if *dialect == Dialect::Smb202 { SMALL_MAX } else { policy.transfer_max },
    };
    let response = answer(policy, dialect.code(), agreed.capabilities, agreed.transfer_max, now, contexts);
    Ok((agreed, response))
}

/// The answer to a client that began with SMB 1. Where it may negotiate again, nothing is agreed on yet.
pub fn negotiate_legacy(policy: &Policy, offer: Offer, now: FileTime) -> Result<(Option<Agreed>, Response), Status> {
    match offer {
        Offer::Nothing => Err(Status::NotSupported),
        Offer::Wildcard => {
            let capabilities = Capabilities::LEASING.with(Capabilities::LARGE_MTU);
            Ok((None, answer(policy, WILDCARD, capabilities, policy.transfer_max, now, Vec::new())))
        }
        Offer::OnlyFirst => {
            let request = Request {
                security_mode: SecurityMode::default(),
                capabilities: Capabilities::default(),
                client: [0; 16],
                dialects: vec![Dialect::Smb202.code()],
                contexts: Vec::new(),
            };
            negotiate(policy, &request, now, [0; 32]).map(|(agreed, response)| (Some(agreed), response))
        }
    }
}

fn answer(
    policy: &Policy,
    dialect: u16,
    capabilities: Capabilities,
    transfer_max: u32,
    now: FileTime,
    contexts: Vec<Context>,
) -> Response {
    Response {
        security_mode: SECURITY_MODE,
        dialect,
        server: policy.server,
        capabilities,
        max_transact: transfer_max,
        max_read: transfer_max,
        max_write: transfer_max,
        now,
        started: policy.started,
        token: Bytes::from(spnego::offer()),
        contexts,
    }
}

fn capabilities(dialect: Dialect, client: Capabilities, cipher: Option<Cipher>) -> Capabilities {
    let large = Capabilities::LEASING.with(Capabilities::LARGE_MTU);
    let channels = Capabilities(client.0 & Capabilities::MULTI_CHANNEL.0);
    match dialect {
        Dialect::Smb202 => Capabilities::default(),
        Dialect::Smb210 => large,
        // Only these say by a flag that they encrypt; 3.1.1 says it by a context.
        Dialect::Smb300 | Dialect::Smb302 if cipher.is_some() => large.with(channels).with(Capabilities::ENCRYPTION),
        Dialect::Smb300 | Dialect::Smb302 | Dialect::Smb311 => large.with(channels),
    }
}

/// What 3.1.1 chooses among the client's algorithms. Each kind may be named once.
fn by_contexts(contexts: &[Context], salt: &[u8]) -> Result<(Option<Cipher>, SigningAlgorithm, Vec<Context>), Status> {
    let once = |kind: fn(&Context) -> bool| {
        let mut found = contexts.iter().filter(|context| kind(context));
        match (found.next(), found.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => Err(Status::InvalidParameter),
        }
    };
    match once(|context| matches!(context, Context::Preauth { .. }))? {
        Some(Context::Preauth { hashes, .. }) if hashes.contains(&SHA512) => {}
        Some(_) => return Err(Status::SmbNoPreauthIntegrityHashOverlap),
        None => return Err(Status::InvalidParameter),
    }
    let mut answers = vec![salted(salt)];
    let cipher = match once(|context| matches!(context, Context::Encryption(_)))? {
        Some(Context::Encryption(offered)) => {
            let cipher = best_cipher(offered);
            answers.push(Context::Encryption(vec![cipher.map_or(0, Cipher::code)]));
            cipher
        }
        Some(_) | None => None,
    };
    let signing = match once(|context| matches!(context, Context::Signing(_)))? {
        Some(Context::Signing(offered)) => {
            let signing = best_signing(offered);
            answers.push(Context::Signing(vec![signing.code()]));
            signing
        }
        Some(_) | None => SigningAlgorithm::AesCmac,
    };
    once(|context| matches!(context, Context::Compression { .. }))?;
    Ok((cipher, signing, answers))
}

/// The client's first choice, except that CCM, which takes several times as long, is only taken where there is nothing else.
fn best_cipher(offered: &[u16]) -> Option<Cipher> {
    let known = || offered.iter().filter_map(|code| Cipher::from_code(*code));
    let quick = |cipher: &Cipher| matches!(cipher, Cipher::Aes128Gcm | Cipher::Aes256Gcm);
    known().find(quick).or_else(|| known().next())
}

/// The quickest of those that the client has.
fn best_signing(offered: &[u16]) -> SigningAlgorithm {
    let by_speed = [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac, SigningAlgorithm::HmacSha256];
    by_speed.into_iter().find(|signing| offered.contains(&signing.code())).unwrap_or(SigningAlgorithm::AesCmac)
}

/// VALIDATE_NEGOTIATE_INFO: that we heard what the client said. `None` ends the connection: somebody has changed it ([MS-SMB2] 3.3.5.15.12).
pub fn validate(policy: &Policy, agreed: &Agreed, request: &ValidateRequest) -> Option<ValidateResponse> {
    let same = request.client == agreed.client
        && request.capabilities == agreed.client_capabilities
        && request.security_mode == agreed.client_security
        && request.dialects == agreed.offered;
    same.then(|| ValidateResponse {
        capabilities: agreed.capabilities,
        server: policy.server,
        security_mode: SECURITY_MODE,
        dialect: agreed.dialect.code(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::packet::negotiate_context::{AES_CMAC, AES_GMAC, AES128_CCM, AES128_GCM, AES256_GCM, HMAC_SHA256};

    fn policy() -> Policy {
        Policy { server: [5; 16], started: FileTime(1), encryption: Encryption::Offered, transfer_max: 8 << 20 }
    }

    fn request(dialects: &[u16], contexts: Vec<Context>) -> Request {
        Request {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities(0x7f),
            client: [6; 16],
            dialects: dialects.to_vec(),
            contexts,
        }
    }

    fn decide(dialects: &[u16], contexts: Vec<Context>) -> Result<Agreed, Status> {
        negotiate(&policy(), &request(dialects, contexts), FileTime(2), [7; 32]).map(|(agreed, _)| agreed)
    }

    pub(crate) fn agreed(dialect: Dialect) -> Agreed {
        let contexts = vec![salted(&[1; 32]), Context::Encryption(vec![AES128_GCM]), Context::Signing(vec![AES_GMAC])];
        decide(&[dialect.code()], contexts).expect("an offer")
    }

    #[test]
    fn the_newest_dialect_of_both_is_spoken() {
        let table: [(&[u16], Result<u16, Status>); 9] = [
            (&[0x0202], Ok(0x0202)),
            (&[0x0202, 0x0210], Ok(0x0210)),
            (&[0x0300, 0x0202], Ok(0x0300)),
            (&[0x0202, 0x0210, 0x0300, 0x0302, 0x0311], Ok(0x0311)),
            (&[0x0302, 0x0999], Ok(0x0302)),
            (&[0x0311, 0x0202], Ok(0x0311)),
            (&[0x0999], Err(Status::NotSupported)),
            (&[WILDCARD], Err(Status::NotSupported)),
            (&[], Err(Status::InvalidParameter)),
        ];
        for (dialects, expected) in table {
            let agreed = decide(dialects, vec![salted(&[1; 32])]);
            assert_eq!(agreed.map(|agreed| agreed.dialect.code()), expected, "{dialects:x?}");
        }
    }

    #[test]
    fn capabilities_and_sizes_go_with_the_dialect() {
        let table = [
            (Dialect::Smb202, 0x0, 65536, SigningAlgorithm::HmacSha256, None),
            (Dialect::Smb210, 0x6, 8 << 20, SigningAlgorithm::HmacSha256, None),
            (Dialect::Smb300, 0x4e, 8 << 20, SigningAlgorithm::AesCmac, Some(Cipher::Aes128Ccm)),
            (Dialect::Smb302, 0x4e, 8 << 20, SigningAlgorithm::AesCmac, Some(Cipher::Aes128Ccm)),
            (Dialect::Smb311, 0xe, 8 << 20, SigningAlgorithm::AesGmac, Some(Cipher::Aes128Gcm)),
        ];
        for (dialect, capabilities, transfer_max, signing, cipher) in table {
            let agreed = agreed(dialect);
            assert_eq!(agreed.capabilities.0, capabilities, "{dialect:?}");
            assert_eq!((agreed.transfer_max, agreed.signing, agreed.cipher), (transfer_max, signing, cipher));
            assert_eq!(agreed.multi_credit(), dialect != Dialect::Smb202);
        }
        let plain = Request { capabilities: Capabilities::default(), ..request(&[0x0300], vec![]) };
        let (agreed, response) = negotiate(&policy(), &plain, FileTime(2), [7; 32]).expect("an offer");
        assert_eq!((agreed.cipher, agreed.capabilities.0), (None, 0x6));
        assert_eq!(response.security_mode.0, 3, "signing is required of everybody");
    }

    #[test]
    fn algorithms_are_chosen_by_what_both_have() {
        let encryption = |offered: &[u16]| Context::Encryption(offered.to_vec());
        let signing = |offered: &[u16]| Context::Signing(offered.to_vec());
        let table = [
            (vec![], None, SigningAlgorithm::AesCmac),
            (vec![encryption(&[AES128_CCM, AES128_GCM])], Some(Cipher::Aes128Gcm), SigningAlgorithm::AesCmac),
            (vec![encryption(&[AES256_GCM, AES128_GCM])], Some(Cipher::Aes256Gcm), SigningAlgorithm::AesCmac),
            (vec![encryption(&[3, 1])], Some(Cipher::Aes256Ccm), SigningAlgorithm::AesCmac),
            (vec![encryption(&[99])], None, SigningAlgorithm::AesCmac),
            (vec![signing(&[AES_CMAC, AES_GMAC])], None, SigningAlgorithm::AesGmac),
            (vec![signing(&[HMAC_SHA256])], None, SigningAlgorithm::HmacSha256),
            (vec![signing(&[99])], None, SigningAlgorithm::AesCmac),
        ];
        for (contexts, cipher, signing) in table {
            let all = [vec![salted(&[1; 32])], contexts.clone()].concat();
            let agreed = decide(&[0x0311], all).expect("an offer");
            assert_eq!((agreed.cipher, agreed.signing), (cipher, signing), "{contexts:?}");
        }
    }

    #[test]
    fn contexts_that_are_missing_or_repeated_are_refused() {
        let preauth = || salted(&[1; 32]);
        let other = Context::Preauth { hashes: vec![2], salt: Bytes::new() };
        let twice = |context: Context| vec![preauth(), context.clone(), context];
        let table = [
            (vec![], Status::InvalidParameter),
            (vec![preauth(), preauth()], Status::InvalidParameter),
            (vec![other], Status::SmbNoPreauthIntegrityHashOverlap),
            (twice(Context::Encryption(vec![1])), Status::InvalidParameter),
            (twice(Context::Signing(vec![1])), Status::InvalidParameter),
            (twice(Context::Compression { flags: 0, algorithms: vec![1] }), Status::InvalidParameter),
        ];
        for (contexts, status) in table {
            assert_eq!(decide(&[0x0311], contexts.clone()), Err(status), "{contexts:?}");
        }
        assert!(decide(&[0x0302], vec![]).is_ok(), "older dialects have none");
    }

    #[test]
    fn the_answer_names_what_was_chosen_and_no_compression() {
        let contexts = vec![
            salted(&[1; 32]),
            Context::Encryption(vec![AES256_GCM]),
            Context::Compression { flags: 0, algorithms: vec![1] },
            Context::Signing(vec![AES_GMAC]),
            Context::NetName("host".into()),
        ];
        let (_, response) =
            negotiate(&policy(), &request(&[0x0311], contexts), FileTime(2), [7; 32]).expect("an offer");
        let expected = vec![salted(&[7; 32]), Context::Encryption(vec![AES256_GCM]), Context::Signing(vec![AES_GMAC])];
        assert_eq!(response.contexts, expected);
    }

    #[test]
    fn a_client_of_smb1_negotiates_again_or_speaks_the_first() {
        let decide = |offer| negotiate_legacy(&policy(), offer, FileTime(2));
        let (agreed, response) = decide(Offer::Wildcard).expect("an answer");
        assert_eq!((agreed, response.dialect), (None, WILDCARD));
        let (agreed, response) = decide(Offer::OnlyFirst).expect("an answer");
        assert_eq!((agreed.map(|agreed| agreed.dialect), response.dialect), (Some(Dialect::Smb202), 0x0202));
        assert_eq!(decide(Offer::Nothing), Err(Status::NotSupported));
    }

    #[test]
    fn a_changed_negotiation_is_noticed() {
        let agreed = decide(&[0x0202, 0x0300], vec![]).expect("an offer");
        let right = ValidateRequest {
            capabilities: Capabilities(0x7f),
            client: [6; 16],
            security_mode: SecurityMode::SIGNING_ENABLED,
            dialects: vec![0x0202, 0x0300],
        };
        let answer = validate(&policy(), &agreed, &right).expect("nothing was changed");
        assert_eq!((answer.dialect, answer.server, answer.security_mode.0), (0x0300, [5; 16], 3));
        let changed: [fn(&mut ValidateRequest); 4] = [
            |request| request.capabilities = Capabilities(0x3f),
            |request| request.client[0] ^= 1,
            |request| request.security_mode = SECURITY_MODE,
            |request| request.dialects.push(0x0311),
        ];
        for change in changed {
            let mut request = right.clone();
            change(&mut request);
            assert_eq!(validate(&policy(), &agreed, &request), None, "{request:?}");
        }
    }
}
