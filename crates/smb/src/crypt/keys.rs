//! The keys of a session, derived from what the logon leaves ([MS-SMB2] 3.1.4.2; SP800-108 in counter mode).

use ring::hmac::{self, HMAC_SHA256};

use super::preauth::Preauth;
use super::sealing::Cipher;
use crate::packet::negotiate::Dialect;

/// A session's keys, named by who uses them: what the server seals the client opens, and the other way round.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    pub signing: [u8; 16],
    /// For what the server sends. As long as the cipher wants it.
    pub server: Vec<u8>,
    /// For what the client sends.
    pub client: Vec<u8>,
    pub application: [u8; 16],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// One output block of the function is enough: no key is longer than a SHA-256.
pub fn derive(key: &[u8], label: &[u8], context: &[u8], length: usize) -> Vec<u8> {
    assert!(length <= 32, "one block");
    let key = hmac::Key::new(HMAC_SHA256, key);
    let mut signing = hmac::Context::with_key(&key);
    signing.update(&1_u32.to_be_bytes());
    signing.update(label);
    signing.update(&[0]);
    signing.update(context);
    signing.update(&(length as u32 * 8).to_be_bytes());
    signing.sign().as_ref()[..length].to_vec()
}

/// The labels and contexts of a dialect family. The space in `ServerIn ` is the protocol's.
struct Labels<'a> {
    signing: (&'a [u8], &'a [u8]),
    server: (&'a [u8], &'a [u8]),
    client: (&'a [u8], &'a [u8]),
    application: (&'a [u8], &'a [u8]),
}

impl Keys {
    /// 2.x signs with the session's key itself and cannot encrypt.
    pub fn new(dialect: Dialect, session_key: [u8; 16], preauth: &Preauth, cipher: Option<Cipher>) -> Self {
        let length = cipher.map_or(16, Cipher::key_length);
        match dialect {
            Dialect::Smb202 | Dialect::Smb210 => {
                Self { signing: session_key, server: Vec::new(), client: Vec::new(), application: session_key }
            }
            Dialect::Smb300 | Dialect::Smb302 => Self::labelled(
                &session_key,
                length,
                &Labels {
                    signing: (b"SMB2AESCMAC\0", b"SmbSign\0"),
                    server: (b"SMB2AESCCM\0", b"ServerOut\0"),
                    client: (b"SMB2AESCCM\0", b"ServerIn \0"),
                    application: (b"SMB2APP\0", b"SmbRpc\0"),
                },
            ),
            Dialect::Smb311 => Self::labelled(
                &session_key,
                length,
                &Labels {
                    signing: (b"SMBSigningKey\0", preauth.as_bytes()),
                    server: (b"SMBS2CCipherKey\0", preauth.as_bytes()),
                    client: (b"SMBC2SCipherKey\0", preauth.as_bytes()),
                    application: (b"SMBAppKey\0", preauth.as_bytes()),
                },
            ),
        }
    }

    fn labelled(key: &[u8], length: usize, labels: &Labels<'_>) -> Self {
        let short = |(label, context)| derive(key, label, context, 16).try_into().expect("sixteen bytes");
        Self {
            signing: short(labels.signing),
            server: derive(key, labels.server.0, labels.server.1, length),
            client: derive(key, labels.client.0, labels.client.1, length),
            application: short(labels.application),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{hex, hex16};
    use super::*;

    /// "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys", its appendix. The tables are written from
    /// the client's side: what it calls encryption is our `client`.
    #[test]
    fn published_keys_of_3_0() {
        let keys = |session| Keys::new(Dialect::Smb300, hex16(session), &Preauth::default(), Some(Cipher::Aes128Ccm));
        let first = keys("7CD451825D0450D235424E44BA6E78CC");
        assert_eq!(first.signing, hex16("0B7E9C5CAC36C0F6EA9AB275298CEDCE"));
        assert_eq!(first.client, hex("FAD27796665B313EBB578F388632B4F7"));
        assert_eq!(first.server, hex("B0F0427F7CEB416D1D9DCC0CD4F99447"));
        assert_eq!(first.application, hex16("BB23A4575AA26C721AF525AF15A87B4F"));
        let second = keys("4E01A2B313BCF660CC250BEF021AEDE6");
        assert_eq!(second.signing, hex16("BA1A17DBBFEC349BCA105563D598952F"), "of the second channel");
        let third = keys("B4546771B515F766A86735532DD6C4F0");
        assert_eq!(third.signing, hex16("F773CD23C18FD1E08EE510CADA7CF852"));
        assert_eq!(third.application, hex16("77432F808CE99156B5BC6A3676D730D1"));
    }

    #[test]
    fn published_keys_of_3_1_1() {
        let preauth = Preauth(
            hex("0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79
                 28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01")
            .try_into()
            .expect("a hash"),
        );
        let session = hex16("270E1BA896585EEB7AF3472D3B4C75A7");
        let keys = Keys::new(Dialect::Smb311, session, &preauth, Some(Cipher::Aes128Gcm));
        assert_eq!(keys.signing, hex16("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
        assert_eq!(keys.client, hex("629BCBC54422A0F572B97F45989B6073"));
        assert_eq!(keys.server, hex("E2AF0DCEFAC68DA71A0DFBD0D1350D74"));
        assert_eq!(keys.application, hex16("6D7AD7954E9EC61E907B4D473DC178FF"));
        let long = Keys::new(Dialect::Smb311, session, &preauth, Some(Cipher::Aes256Gcm));
        assert_eq!((long.server.len(), long.signing), (32, keys.signing), "only the ciphers' keys get longer");
        assert_ne!(long.server[..16], keys.server, "the length is part of what is hashed");
    }

    #[test]
    fn before_3_0_the_key_is_the_key() {
        let keys = Keys::new(Dialect::Smb210, [7; 16], &Preauth::default(), None);
        assert_eq!((keys.signing, keys.server.len()), ([7; 16], 0));
        assert_eq!(format!("{keys:?}"), "Keys", "keys are not printed");
    }
}
