//! Signatures: sixteen bytes in a message's header, over all of the message with those bytes zero ([MS-SMB2] 3.1.4.1).

use aes::Aes128;
use cmac::{Cmac, Mac};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac::{self, HMAC_SHA256};
use subtle::ConstantTimeEq;

use crate::packet::header::{Command, Flags, HEADER_SIZE, SIGNATURE_AT};
use crate::packet::wire::numbers;

numbers! {
    /// With the numbers that 3.1.1 negotiates them by.
    SigningAlgorithm: u16 {
        HmacSha256 = 0,
        AesCmac = 1,
        AesGmac = 2,
    }
}

pub struct SigningKey(Algorithm);

enum Algorithm {
    Hmac(hmac::Key),
    Cmac(Box<Cmac<Aes128>>),
    Gmac(Box<LessSafeKey>),
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Algorithm::Hmac(_) => "SigningKey(HmacSha256)",
            Algorithm::Cmac(_) => "SigningKey(AesCmac)",
            Algorithm::Gmac(_) => "SigningKey(AesGmac)",
        })
    }
}

impl SigningKey {
    pub fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Self {
        Self(match algorithm {
            SigningAlgorithm::HmacSha256 => Algorithm::Hmac(hmac::Key::new(HMAC_SHA256, key)),
            SigningAlgorithm::AesCmac => Algorithm::Cmac(Box::new(Mac::new(key.into()))),
            SigningAlgorithm::AesGmac => {
                let key = UnboundKey::new(&AES_128_GCM, key).expect("sixteen bytes");
                Algorithm::Gmac(Box::new(LessSafeKey::new(key)))
            }
        })
    }

    /// Whether a message in two pieces would have to be copied: `ring` wants associated data in one.
    pub fn wants_one_piece(&self) -> bool {
        match self.0 {
            Algorithm::Gmac(_) => true,
            Algorithm::Hmac(_) | Algorithm::Cmac(_) => false,
        }
    }

    /// Signs a message that lies in one or two pieces, the first of which has the header with `SIGNED` set already.
    pub fn sign(&self, head: &mut [u8], payload: &[u8]) {
        head[SIGNATURE_AT..HEADER_SIZE].fill(0);
        let signature = self.signature(head, payload);
        head[SIGNATURE_AT..HEADER_SIZE].copy_from_slice(&signature);
    }

    /// Whether the signature is right, in a time that does not tell where it is wrong. The message is as before when this returns.
    pub fn verify(&self, message: &mut [u8]) -> bool {
        let Some(field) = message.get_mut(SIGNATURE_AT..HEADER_SIZE) else { return false };
        let mut given = [0; 16];
        given.copy_from_slice(field);
        field.fill(0);
        let right = self.signature(message, &[]);
        message[SIGNATURE_AT..HEADER_SIZE].copy_from_slice(&given);
        given.ct_eq(&right).into()
    }

    fn signature(&self, head: &[u8], payload: &[u8]) -> [u8; 16] {
        match &self.0 {
            Algorithm::Hmac(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(head);
                context.update(payload);
                first_sixteen(context.sign().as_ref())
            }
            Algorithm::Cmac(cmac) => {
                let mut cmac = Cmac::clone(cmac);
                cmac.update(head);
                cmac.update(payload);
                cmac.finalize().into_bytes().into()
            }
            Algorithm::Gmac(key) if payload.is_empty() => gmac(key, head),
            Algorithm::Gmac(key) => gmac(key, &[head, payload].concat()),
        }
    }
}

fn first_sixteen(bytes: &[u8]) -> [u8; 16] {
    let mut first = [0; 16];
    first.copy_from_slice(&bytes[..16]);
    first
}

fn gmac(key: &LessSafeKey, message: &[u8]) -> [u8; 16] {
    let tag = key.seal_in_place_separate_tag(gmac_nonce(message), Aad::from(message), &mut []);
    first_sixteen(tag.expect("a message shorter than GCM allows").as_ref())
}

/// The message's id, and who sends it: no two messages of a session with the same key have the same. CANCEL repeats the id of what it cancels,
/// and has a bit of its own.
fn gmac_nonce(message: &[u8]) -> Nonce {
    let command = u16::from_le_bytes([message[12], message[13]]);
    let from_server = message[16] & Flags::RESPONSE.0 as u8 != 0;
    let cancel = command == Command::Cancel.code();
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&message[24..32]);
    nonce[8] = u8::from(from_server) | u8::from(cancel) << 1;
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use super::super::{hex, hex16};
    use super::*;
    use crate::packet::Header;
    use crate::packet::wire::Field;

    fn message(command: Command, response: bool) -> Vec<u8> {
        let header = Header::request(command, 7);
        let header = if response { header.response(0, 1) } else { header };
        let header = Header { flags: header.flags.with(Flags::SIGNED), ..header };
        [&header.to_bytes()[..], b"a body of some length"].concat()
    }

    #[test]
    fn what_is_signed_verifies_and_any_changed_bit_does_not() {
        for algorithm in SigningAlgorithm::ALL {
            let key = SigningKey::new(*algorithm, &[9; 16]);
            let mut whole = message(Command::Read, true);
            key.sign(&mut whole, &[]);
            let mut head = message(Command::Read, true);
            let payload = head.split_off(70);
            key.sign(&mut head, &payload);
            assert_eq!([head, payload].concat(), whole, "in one piece or in two");
            assert!(key.verify(&mut whole));
            assert!(!SigningKey::new(*algorithm, &[8; 16]).verify(&mut whole));
            for bit in 0..whole.len() * 8 {
                whole[bit / 8] ^= 1 << (bit % 8);
                assert!(!key.verify(&mut whole), "{algorithm:?}, bit {bit}");
                whole[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(key.verify(&mut whole), "it is as before");
            assert!(!key.verify(&mut whole[..63]), "half a header");
        }
    }

    /// RFC 4493, section 4.
    #[test]
    fn published_cmacs() {
        let key = hex16("2b7e151628aed2a6abf7158809cf4f3c");
        let text = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
                        30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
        let table = [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ];
        for (length, mac) in table {
            let key = SigningKey::new(SigningAlgorithm::AesCmac, &key);
            assert_eq!(key.signature(&text[..length / 2], &text[length / 2..length]), hex16(mac));
        }
    }

    /// The last answer of the first logon in "The anatomy of signing and cryptographic keys".
    #[test]
    fn a_published_signed_answer() {
        let mut answer = hex("FE534D4240000100000000000100800009000000000000000300000000000000FFFE000000000000
             1900000000100000EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A01
             00A3120410010000003B453CDC3524164200000000");
        let key = SigningKey::new(SigningAlgorithm::AesCmac, &hex16("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
        assert!(key.verify(&mut answer));
    }

    /// The nonce differs by id, by direction and for CANCEL.
    #[test]
    fn no_two_messages_share_a_nonce() {
        let nonce = |message: &[u8]| *gmac_nonce(message).as_ref();
        let request = nonce(&message(Command::Read, false));
        assert_eq!(request, [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(nonce(&message(Command::Read, true))[8], 1);
        assert_eq!(nonce(&message(Command::Cancel, false))[8], 2);
    }

    /// GMAC is GCM over nothing: the tag that AES-GCM gives for the same associated data.
    #[test]
    fn gmac_is_the_tag_of_an_empty_message() {
        let key = SigningKey::new(SigningAlgorithm::AesGmac, &[9; 16]);
        let mut signed = message(Command::Read, false);
        key.sign(&mut signed, &[]);
        let mut zeroed = signed.clone();
        zeroed[SIGNATURE_AT..HEADER_SIZE].fill(0);
        let aead = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[9; 16]).expect("a key"));
        let mut tag = signed[SIGNATURE_AT..HEADER_SIZE].to_vec();
        let nonce = Nonce::assume_unique_for_key([7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(aead.open_in_place(nonce, Aad::from(&zeroed[..]), &mut tag).is_ok());
    }
}
