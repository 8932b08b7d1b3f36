//! The chain of hashes over everything that is said before a session has a key ([MS-SMB2] 3.1.4.4.1). In 3.1.1 the keys are derived from it,
//! so that a changed word leaves both ends with different keys.

use ring::digest::{Context, SHA512};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preauth(pub(crate) [u8; 64]);

impl Default for Preauth {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Preauth {
    /// After one more message, in the form in which it was sent, without its frame's head.
    #[must_use]
    pub fn then(&self, message: &[u8]) -> Self {
        let mut context = Context::new(&SHA512);
        context.update(&self.0);
        context.update(message);
        let mut next = [0; 64];
        next.copy_from_slice(context.finish().as_ref());
        Self(next)
    }

    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;
    use crate::packet::{Command, Request};

    /// The first message of the first logon in "The anatomy of signing and cryptographic keys", and the hash after it.
    #[test]
    fn a_published_hash() {
        let negotiate = hex("FE534D4240000100000000000000800000000000000000000100000000000000FFFE000000000000
             00000000000000000000000000000000000000000000000024000500000000003F000000ECD86F32
             6276024F9F7752B89BB33F3A70000000020000000202100200030203110300000100260000000000
             010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A118225C15887F32FF0000
             0200060000000000020002000100");
        let hash = Preauth::default().then(&negotiate);
        let published = hex("DD94EFC5321BB618A2E208BA8920D2F422992526947A409B5037DE1E0FE8C7362B8C47122594CDE0
             CE26AA9DFC8BCDBDE0621957672623351A7540F1E54A0426");
        assert_eq!(hash.as_bytes()[..], published);
        let Ok(Request::Negotiate(read)) = Request::parse(Command::Negotiate, negotiate.into()) else {
            panic!("what Windows sends is read")
        };
        assert_eq!((read.dialects.len(), read.contexts.len()), (5, 2));
    }
}
