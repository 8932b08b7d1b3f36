//! NTLMv2's arithmetic ([MS-NLMP] 3.3.2, 3.4): what follows from a password, and what proves that it is known.

use hmac::{Hmac, KeyInit, Mac};
use md4::Md4;
use md5::{Digest, Md5};
use rc4::consts::U16;
use rc4::{KeyInit as _, Rc4, StreamCipher};

use super::ntlm::Flags;
use crate::text;

pub fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = <Hmac<Md5> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// NTOWFv1: all that a server would have to keep of a password.
pub fn nt_hash(password: &str) -> [u8; 16] {
    Md4::digest(text::encode(password)).into()
}

/// NTOWFv2: bound to a user and a domain, both as the client wrote them but for the user's case.
pub fn owf_v2(nt_hash: &[u8; 16], user: &str, domain: &str) -> [u8; 16] {
    hmac_md5(nt_hash, &[&text::encode(&user.to_uppercase()), &text::encode(domain)])
}

pub fn proof(owf: &[u8; 16], server_challenge: &[u8; 8], blob: &[u8]) -> [u8; 16] {
    hmac_md5(owf, &[server_challenge, blob])
}

pub fn session_base_key(owf: &[u8; 16], proof: &[u8; 16]) -> [u8; 16] {
    hmac_md5(owf, &[proof])
}

/// RC4 once, with a key of its own: it is its own reverse.
pub fn rc4(key: &[u8; 16], data: &[u8; 16]) -> [u8; 16] {
    let mut out = *data;
    Rc4::<U16>::new(key.into()).apply_keystream(&mut out);
    out
}

/// The checksum over all three messages, of which the third has zeros in its place.
pub fn mic(session_key: &[u8; 16], negotiate: &[u8], challenge: &[u8], authenticate: [&[u8]; 2]) -> [u8; 16] {
    hmac_md5(session_key, &[negotiate, challenge, authenticate[0], &[0; 16], authenticate[1]])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// The first signature that a side makes with the session's key (GSS_GetMIC; [MS-NLMP] 3.4.4.2): SPNEGO's, over the list of mechanisms.
pub fn signature(session_key: &[u8; 16], flags: Flags, side: Side, message: &[u8]) -> [u8; 16] {
    let direction = match side {
        Side::Client => "client-to-server",
        Side::Server => "server-to-client",
    };
    let magic = |kind| format!("session key to {direction} {kind} key magic constant\0");
    let signing: [u8; 16] = Md5::new().chain_update(session_key).chain_update(magic("signing")).finalize().into();
    let strength = match (flags.has(Flags::KEY_128), flags.has(Flags::KEY_56)) {
        (true, _) => 16,
        (false, true) => 7,
        (false, false) => 5,
    };
    let weakened = &session_key[..strength];
    let sealing: [u8; 16] = Md5::new().chain_update(weakened).chain_update(magic("sealing")).finalize().into();
    let sequence = [0; 4];
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&hmac_md5(&signing, &[&sequence, message])[..8]);
    if flags.has(Flags::KEY_EXCHANGE) {
        Rc4::<U16>::new((&sealing).into()).apply_keystream(&mut checksum);
    }
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(&checksum);
    signature
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypt::{hex, hex16};

    /// [MS-NLMP] 4.2.1 and 4.2.4: user "User", domain "Domain", password "Password", all the rest as given there.
    #[test]
    fn published_values_of_ntlm_v2() {
        let challenge: [u8; 8] = hex("0123456789abcdef").try_into().expect("eight bytes");
        let hash = nt_hash("Password");
        assert_eq!(hash, hex16("a4f49c406510bdcab6824ee7c30fd852"));
        let owf = owf_v2(&hash, "User", "Domain");
        assert_eq!(owf, hex16("0c868a403bfd7a93a3001ef22ef02e3f"));
        let blob = hex("01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000
             02000c0044006f006d00610069006e0001000c005300650072007600650072000000000000000000");
        let proof = proof(&owf, &challenge, &blob);
        assert_eq!(proof, hex16("68cd0ab851e51c96aabc927bebef6a1c"));
        let base = session_base_key(&owf, &proof);
        assert_eq!(base, hex16("8de40ccadbc14a82f15cb0ad0de95ca3"));
        assert_eq!(rc4(&base, &[0x55; 16]), hex16("c5dad2544fc9799094ce1ce90bc9d03e"));
        assert_eq!(rc4(&base, &hex16("c5dad2544fc9799094ce1ce90bc9d03e")), [0x55; 16]);
    }

    /// [MS-NLMP] 4.2.4.4 signs a message after sealing it, so only the keys can be compared; the signature is that of Windows' own logon in "The
    /// anatomy of signing and cryptographic keys", both sides of it.
    #[test]
    fn published_signatures_of_a_mechanism_list() {
        let key = hex16("270E1BA896585EEB7AF3472D3B4C75A7");
        let list = hex("300C060A2B06010401823702020A");
        let flags = Flags(0xe288_8215);
        assert_eq!(signature(&key, flags, Side::Client, &list), hex16("0100000063775A9A5FD97F0600000000"));
        assert_eq!(signature(&key, flags, Side::Server, &list), hex16("010000003B453CDC3524164200000000"));
    }

    #[test]
    fn the_users_case_does_not_matter_and_the_domains_does() {
        let hash = nt_hash("Password");
        assert_eq!(owf_v2(&hash, "uSER", "Domain"), owf_v2(&hash, "User", "Domain"));
        assert_ne!(owf_v2(&hash, "User", "DOMAIN"), owf_v2(&hash, "User", "Domain"));
    }
}
