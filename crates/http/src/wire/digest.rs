//! Digests that a client sends with content, and the comparison with what arrived.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::head::Head;
use crate::refusal::{Denied, Refusal};

/// What the client says of the bytes it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// `Content-MD5`: of this request's body.
    pub transfer_md5: Option<[u8; 16]>,
    /// `x-ms-blob-content-md5`: to be kept with the blob; Put Blob checks it too.
    pub blob_md5: Option<[u8; 16]>,
    /// `x-ms-content-crc64`.
    pub crc64: Option<u64>,
}

impl Claimed {
    /// Rule A6: of a body that is a whole blob, `x-ms-blob-content-md5` speaks, and Content-MD5 only without it; of any other body,
    /// `x-ms-blob-content-md5` says nothing.
    pub fn read(head: &Head, whole: bool) -> Result<Self, Refusal> {
        let blob_md5 = match whole {
            true => head.text("x-ms-blob-content-md5").map(parse_md5).transpose()?,
            false => None,
        };
        let claimed = Self {
            transfer_md5: match blob_md5 {
                Some(_) => None,
                None => head.text("content-md5").map(parse_md5).transpose()?,
            },
            blob_md5,
            crc64: head.opt("x-ms-content-crc64", parse_crc64)?,
        };
        if claimed.transfer_md5.is_some() && claimed.crc64.is_some() {
            return Err(Refusal::BothCrc64AndMd5HeaderPresent);
        }
        Ok(claimed)
    }

    /// What arrived against what was said.
    pub fn check(&self, md5: Option<[u8; 16]>, crc64: u64) -> Result<(), Refusal> {
        for user in [self.transfer_md5, self.blob_md5].into_iter().flatten() {
            match md5 {
                Some(server) if server == user => {}
                Some(server) => {
                    return Err(Denied::Md5Mismatch { user: md5_text(user), server: md5_text(server) }.into());
                }
                None => return Err(Denied::InternalError.into()),
            }
        }
        match self.crc64 {
            Some(user) if user != crc64 => {
                Err(Denied::Crc64Mismatch { user: crc64_text(user), server: crc64_text(crc64) }.into())
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Base64 of an MD5 that is only kept: whatever it decodes to.
pub fn parse_kept_md5(text: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text).map_err(|_| Refusal::InvalidMd5 { value: text.to_owned() })
}

/// Base64 of 16 bytes.
pub fn parse_md5(text: &str) -> Result<[u8; 16], Refusal> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    bytes.ok_or_else(|| Refusal::InvalidMd5 { value: text.to_owned() })
}

pub fn md5_text(md5: impl AsRef<[u8]>) -> String {
    STANDARD.encode(md5)
}

/// Base64 of the eight bytes, the least significant first.
pub fn parse_crc64(text: &str) -> Option<u64> {
    let bytes = STANDARD.decode(text).ok()?;
    Some(u64::from_le_bytes(<[u8; 8]>::try_from(bytes).ok()?))
}

pub fn crc64_text(crc64: u64) -> String {
    STANDARD.encode(crc64.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::noise::survive;

    const MD5: &str = "XUFAKrxLKna5cZ2REBfFkg==";

    fn hello() -> u64 {
        crc_fast::crc64_nvme(b"hello")
    }

    #[test]
    fn crc64_is_written_as_the_clients_write_it() {
        assert_eq!(crc64_text(hello()), "V0JSBnCFdzM=");
        assert_eq!(parse_crc64("V0JSBnCFdzM="), Some(hello()));
        for wrong in ["", "V0JS", "V0JSBnCFdzM", "?", "V0JSBnCFdzMA"] {
            assert_eq!(parse_crc64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn md5_must_be_sixteen_bytes() {
        assert_eq!(parse_md5(MD5).map(md5_text), Ok(MD5.to_owned()));
        for wrong in ["", "AAAA", "XUFAKrxLKna5cZ2REBfFkg", "é"] {
            assert_eq!(parse_md5(wrong), Err(Refusal::InvalidMd5 { value: wrong.to_owned() }));
        }
    }

    #[test]
    fn what_arrives_is_compared_with_what_was_said() {
        let md5 = parse_md5(MD5).expect("md5");
        let other = [0; 16];
        let mismatch = || Err(Denied::Md5Mismatch { user: md5_text(other), server: MD5.to_owned() }.into());
        let none = Claimed::default();
        let transfer = |md5| Claimed { transfer_md5: Some(md5), ..none };
        let blob = |md5| Claimed { blob_md5: Some(md5), ..none };
        let crc = |crc64| Claimed { crc64: Some(crc64), ..none };
        let crc_mismatch = Err(Denied::Crc64Mismatch { user: crc64_text(1), server: crc64_text(hello()) }.into());
        let table = [
            (none, Ok(())),
            (transfer(md5), Ok(())),
            (transfer(other), mismatch()),
            (blob(md5), Ok(())),
            (blob(other), mismatch()),
            (crc(hello()), Ok(())),
            (crc(1), crc_mismatch),
        ];
        for (claimed, expected) in table {
            assert_eq!(claimed.check(Some(md5), hello()), expected, "{claimed:?}");
        }
    }

    #[test]
    fn nonsense_does_not_panic() {
        survive(&[MD5.as_bytes(), b"V0JSBnCFdzM="], |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let _ = (parse_md5(&text), parse_crc64(&text));
        });
    }
}
