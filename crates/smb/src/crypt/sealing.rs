//! Encryption, in place ([MS-SMB2] 3.1.4.3). The sender makes a new nonce for each message by counting; the receiver takes what it is given, and
//! opens nothing whose tag is wrong.

use std::sync::atomic::{AtomicU64, Ordering};

use aes::{Aes128, Aes256};
use bytes::{Bytes, BytesMut};
use ccm::aead::generic_array::GenericArray;
use ccm::consts::{U11, U16};
use ccm::{AeadInPlace, Ccm, KeyInit};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};

use crate::packet::transform::{COVERED_FROM, TAG_AT, TRANSFORM_SIZE, Transform};
use crate::packet::wire::{Field, numbers};

numbers! {
    /// With the numbers that 3.1.1 negotiates them by.
    Cipher: u16 {
        Aes128Ccm = 1,
        Aes128Gcm = 2,
        Aes256Ccm = 3,
        Aes256Gcm = 4,
    }
}

impl Cipher {
    pub fn key_length(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }
}

enum Key {
    Gcm(Box<LessSafeKey>),
    Ccm128(Box<Ccm<Aes128, U16, U11>>),
    Ccm256(Box<Ccm<Aes256, U16, U11>>),
}

impl Key {
    fn new(cipher: Cipher, key: &[u8]) -> Self {
        let gcm =
            |algorithm| Self::Gcm(Box::new(LessSafeKey::new(UnboundKey::new(algorithm, key).expect("its length"))));
        match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&AES_256_GCM),
            Cipher::Aes128Ccm => Self::Ccm128(Box::new(Ccm::new_from_slice(key).expect("its length"))),
            Cipher::Aes256Ccm => Self::Ccm256(Box::new(Ccm::new_from_slice(key).expect("its length"))),
        }
    }

    fn seal(&self, nonce: &[u8; 16], covered: &[u8], message: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        match self {
            Self::Gcm(key) => {
                let sealed = key.seal_in_place_separate_tag(gcm_nonce(nonce), Aad::from(covered), message);
                tag.copy_from_slice(sealed.expect("a message shorter than GCM allows").as_ref());
            }
            Self::Ccm128(key) => {
                let sealed = key.encrypt_in_place_detached(GenericArray::from_slice(&nonce[..11]), covered, message);
                tag.copy_from_slice(&sealed.expect("a message shorter than CCM allows"));
            }
            Self::Ccm256(key) => {
                let sealed = key.encrypt_in_place_detached(GenericArray::from_slice(&nonce[..11]), covered, message);
                tag.copy_from_slice(&sealed.expect("a message shorter than CCM allows"));
            }
        }
        tag
    }

    /// Each implementation compares tags in constant time.
    fn open(&self, nonce: &[u8; 16], covered: &[u8], message: &mut [u8], tag: &[u8; 16]) -> bool {
        let short = GenericArray::from_slice(&nonce[..11]);
        match self {
            Self::Gcm(key) => key
                .open_in_place_separate_tag(gcm_nonce(nonce), Aad::from(covered), Tag::from(*tag), message, 0..)
                .is_ok(),
            Self::Ccm128(key) => key.decrypt_in_place_detached(short, covered, message, tag.into()).is_ok(),
            Self::Ccm256(key) => key.decrypt_in_place_detached(short, covered, message, tag.into()).is_ok(),
        }
    }
}

fn gcm_nonce(nonce: &[u8; 16]) -> Nonce {
    Nonce::try_assume_unique_for_key(&nonce[..12]).expect("twelve bytes")
}

/// Encrypts what one side sends in one session. Its nonces count from zero and are never repeated: there is one for each session and
/// direction, whatever the number of connections, and it cannot be cloned.
pub struct Sealer {
    key: Key,
    session: u64,
    sent: AtomicU64,
}

/// All nonces have been used: the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl Sealer {
    pub fn new(cipher: Cipher, key: &[u8], session: u64) -> Self {
        Self { key: Key::new(cipher, key), session, sent: AtomicU64::new(0) }
    }

    /// Room for the header that `seal` fills in, to begin a buffer with.
    pub fn room(message: usize) -> BytesMut {
        let mut frame = BytesMut::with_capacity(TRANSFORM_SIZE + message);
        frame.resize(TRANSFORM_SIZE, 0);
        frame
    }

    /// Encrypts the message that lies behind the room for the header, and fills that in.
    pub fn seal(&self, frame: &mut [u8]) -> Result<(), Exhausted> {
        let nonce = self.next_nonce()?;
        let (head, message) = frame.split_at_mut(TRANSFORM_SIZE);
        let size = u32::try_from(message.len()).expect("a message shorter than a frame");
        let transform = Transform { tag: [0; 16], nonce, size, session: self.session };
        head.copy_from_slice(&transform.to_bytes());
        let tag = self.key.seal(&nonce, &head[COVERED_FROM..], message);
        head[TAG_AT..COVERED_FROM].copy_from_slice(&tag);
        Ok(())
    }

    fn next_nonce(&self) -> Result<[u8; 16], Exhausted> {
        let next = |sent: u64| sent.checked_add(1);
        let sent = self.sent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|_| Exhausted)?;
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&sent.to_le_bytes());
        Ok(nonce)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer({:x}, {} sent)", self.session, self.sent.load(Ordering::Relaxed))
    }
}

/// Decrypts what the other side sends in one session.
pub struct Opener {
    key: Key,
}

impl Opener {
    pub fn new(cipher: Cipher, key: &[u8]) -> Self {
        Self { key: Key::new(cipher, key) }
    }

    /// The message in a frame whose header has been read, decrypted where it is; `None` if anything of it was changed.
    pub fn open(&self, transform: &Transform, mut frame: BytesMut) -> Option<Bytes> {
        if frame.len() < TRANSFORM_SIZE {
            return None;
        }
        let mut message = frame.split_off(TRANSFORM_SIZE);
        let opened = self.key.open(&transform.nonce, &frame[COVERED_FROM..], &mut message, &transform.tag);
        opened.then(|| message.freeze())
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opener")
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;

    fn key(cipher: Cipher) -> Vec<u8> {
        (0..cipher.key_length() as u8).collect()
    }

    fn sealed(sealer: &mut Sealer, message: &[u8]) -> BytesMut {
        let mut frame = Sealer::room(message.len());
        frame.extend_from_slice(message);
        sealer.seal(&mut frame).expect("nonces are left");
        frame
    }

    fn open(cipher: Cipher, key: &[u8], frame: &BytesMut) -> Option<Bytes> {
        let transform = Transform::parse(frame).ok()?;
        Opener::new(cipher, key).open(&transform, frame.clone())
    }

    #[test]
    fn what_is_sealed_opens_and_any_changed_bit_does_not() {
        for cipher in Cipher::ALL {
            let mut sealer = Sealer::new(*cipher, &key(*cipher), 77);
            let mut frame = sealed(&mut sealer, b"a message of any length");
            assert_eq!(open(*cipher, &key(*cipher), &frame).as_deref(), Some(&b"a message of any length"[..]));
            let other: Vec<u8> = key(*cipher).iter().map(|byte| byte ^ 1).collect();
            assert_eq!(open(*cipher, &other, &frame), None);
            for bit in 0..frame.len() * 8 {
                // What of the nonce is beyond the cipher's is covered all the same.
                frame[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(*cipher, &key(*cipher), &frame), None, "{cipher:?}, bit {bit}");
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn nonces_are_never_repeated_and_run_out() {
        let mut sealer = Sealer::new(Cipher::Aes128Gcm, &[1; 16], 7);
        let first = sealed(&mut sealer, b"same");
        let second = sealed(&mut sealer, b"same");
        assert_ne!(first[COVERED_FROM..36], second[COVERED_FROM..36]);
        assert_ne!(first[TRANSFORM_SIZE..], second[TRANSFORM_SIZE..]);
        sealer.sent = AtomicU64::new(u64::MAX);
        assert_eq!(sealer.seal(&mut Sealer::room(0)), Err(Exhausted));
    }

    #[test]
    fn it_happens_in_place() {
        let mut frame = Sealer::room(1 << 16);
        frame.extend_from_slice(&[5; 1 << 16]);
        let at = frame.as_ptr();
        Sealer::new(Cipher::Aes256Gcm, &[1; 32], 7).seal(&mut frame).expect("nonces are left");
        assert_eq!(frame.as_ptr(), at);
        let transform = Transform::parse(&frame).expect("a header");
        let opened = Opener::new(Cipher::Aes256Gcm, &[1; 32]).open(&transform, frame).expect("the same key");
        assert_eq!(opened.as_ptr() as usize, at as usize + TRANSFORM_SIZE);
    }

    /// "Encryption in SMB 3.0: A protocol perspective": a WRITE with its answer and a READ's answer, as Windows sent them.
    #[test]
    fn published_messages_of_3_0() {
        let (client, server) = (hex("261B72350558F2E9DCF613070383EDBF"), hex("8FE2B57EC34D2DB5B1A9727F526BBDB5"));
        let write = hex("FE534D4240000100000000000900400008000000000000000400000000000000
             FFFE0000010000001100001400E4080000000000000000000000000000000000
             3100700017000000000000000000000015010000390000020100000039020000
             00000000000000007000000000000000536D623320656E6372797074696F6E20
             74657374696E67");
        let sealed = hex("FD534D4281A286535415445DAE393921E44FA42E66E69A111892584FB5ED524A
             744DA3EE87000000000001001100001400E4080025C8FEE16605A437832D1CD5
             2DA9F4645333482A175FE5384563F45FCDAFAEF38BC62BA4D5C62897996625A4
             4C29BE5658DE2E6117585779E7B59FFD971278D08580D7FA899E410E910EABF5
             AA1DB43050B33B49182637759AC15D84BFCDF5B6B238993C0F4CF4D6012023F6
             C627297075D84B7803912D0A9639634453595EF3E33FFE4E7AC2AB");
        assert_eq!(open(Cipher::Aes128Ccm, &client, &BytesMut::from(&sealed[..])).as_deref(), Some(&write[..]));
        let mut message = write.clone();
        let nonce: [u8; 16] = sealed[20..36].try_into().expect("a nonce");
        let tag =
            Key::new(Cipher::Aes128Ccm, &client).seal(&nonce, &sealed[COVERED_FROM..TRANSFORM_SIZE], &mut message);
        assert_eq!((&tag[..], &message[..]), (&sealed[4..20], &sealed[TRANSFORM_SIZE..]));

        let read = hex("FD534D42ABD518B68C2F04D7879F482B689EB83F870000000000000011000014
             00E4080067000000000001001100001400E40800493D6FE2BDBEB435CF5F5469
             70C7BB57BF20E713C75A3D045507E0D68E5C0346659D6FFB8AC1504A786CA2BB
             89C9E7FE4F313E910A04180D2D0EA7DF636329E5A3285984500EF86FE9D55DA4
             FAB9531CFDD4C551D47F3C73124BB4590A45052B694048B991CCF5");
        let opened = open(Cipher::Aes128Ccm, &server, &BytesMut::from(&read[..])).expect("the server's key");
        assert!(opened.ends_with(b"Smb3 encryption testing"));
    }

    /// NIST SP 800-38C has no example with eleven bytes of nonce; RFC 3610 has none with a tag of sixteen. For GCM, test case 4 of the
    /// specification by McGrew and Viega.
    #[test]
    fn a_published_gcm() {
        let key = Key::new(Cipher::Aes128Gcm, &hex("feffe9928665731c6d6a8f9467308308"));
        let mut nonce = [0; 16];
        nonce[..12].copy_from_slice(&hex("cafebabefacedbaddecaf888"));
        let mut message = hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
                               1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
        let tag = key.seal(&nonce, &hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"), &mut message);
        assert_eq!(tag[..], hex("5bc94fbc3221a5db94fae95ae7121a47"));
        assert_eq!(message[..4], hex("42831ec2"));
    }
}
