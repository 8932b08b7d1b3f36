//! Signatures, encryption and the keys for them ([MS-SMB2] 3.1.4). `ring` does what it can (GCM, GMAC, HMAC, SHA-512), since it is several times
//! faster than anything else in Rust; RustCrypto does CMAC and CCM, which `ring` does not have.

pub mod keys;
pub mod preauth;
pub mod sealing;
pub mod signing;

pub use keys::{Keys, derive};
pub use preauth::Preauth;
pub use sealing::{Cipher, Opener, Sealer};
pub use signing::{SigningAlgorithm, SigningKey};

/// Bytes of a text of hexadecimal digits, with or without white space.
#[cfg(test)]
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
pub(crate) fn hex16(text: &str) -> [u8; 16] {
    hex(text).try_into().expect("sixteen bytes")
}
