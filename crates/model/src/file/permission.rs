//! Security descriptors and the keys by which a share knows them. A key is made of the descriptor alone, so the same one
//! has the same key in every share, whichever way it was written.

mod check;
mod descriptor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::Refusal;
pub use check::{AskedRights, Principal, Rights};
use descriptor::Descriptor;

/// Printed as two numbers with a star between them; the second was the same in all recorded answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PermissionKey(pub u64);

const SECOND: &str = "9622787259914961209";

impl PermissionKey {
    pub fn parse(text: &str) -> Option<Self> {
        let (first, second) = text.trim().split_once('*')?;
        (second == SECOND).then(|| first.parse().ok().map(Self))?
    }
}

impl std::fmt::Display for PermissionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}*{SECOND}", self.0)
    }
}

/// `x-ms-file-permission-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Sddl,
    /// A self-relative descriptor in Base64.
    Binary,
}

/// A security descriptor as text. Without a SACL it says so: observed, the service adds `S:NO_ACCESS_CONTROL`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sddl(String);

/// Longer ones are refused ("Create Permission": 8 KiB).
pub const PERMISSION_MAX: usize = 8 << 10;

/// What the root of a share lets people do, until it is told otherwise.
const ROOT: &str = "O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;AU)(A;OICI;0x1200a9;;;BU)\
                    S:NO_ACCESS_CONTROL";

/// What a directory in such a root starts with (rule F9).
const IN_ROOT: &str = "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)\
                       (A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)";

const NO_SACL: &str = "S:NO_ACCESS_CONTROL";

impl Sddl {
    pub fn parse(text: &str, format: Format) -> Result<Self, Refusal> {
        let invalid = || Refusal::FileInvalidPermission;
        if text.len() > PERMISSION_MAX {
            return Err(invalid());
        }
        match format {
            Format::Sddl => {
                let descriptor = Descriptor::from_text(text.trim()).ok_or_else(invalid)?;
                let sacl = if descriptor.has_sacl() { "" } else { NO_SACL };
                Ok(Self(format!("{}{sacl}", text.trim())))
            }
            Format::Binary => {
                let bytes = STANDARD.decode(text.trim()).map_err(|_| invalid())?;
                let descriptor = Descriptor::from_bytes(&bytes).ok_or_else(invalid)?;
                Ok(Self(descriptor.to_text()))
            }
        }
    }

    /// From a self-relative descriptor.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let descriptor = Descriptor::from_bytes(bytes).ok_or(Refusal::FileInvalidPermission)?;
        let text = descriptor.to_text();
        if text.len() > PERMISSION_MAX { Err(Refusal::FileInvalidPermission) } else { Ok(Self(text)) }
    }

    /// As a self-relative descriptor.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Refusal> {
        Ok(Descriptor::from_text(&self.0).ok_or(Refusal::FileInvalidPermission)?.to_bytes())
    }

    pub fn root() -> Self {
        Self(ROOT.to_owned())
    }

    /// What something new in a directory that has this one starts with. It is `maker`'s; the directory's owner's, if nobody is named.
    pub fn inherited(&self, by_directory: bool, maker: Option<&Principal>) -> Self {
        let in_root = by_directory && self.0 == ROOT;
        if let (true, None) = (in_root, maker) {
            return Self(IN_ROOT.to_owned());
        }
        let Some(descriptor) = Descriptor::from_text(if in_root { IN_ROOT } else { &self.0 }) else {
            return self.clone();
        };
        let maker = maker.map(Principal::owner);
        match (in_root, maker) {
            (true, Some((owner, group))) => Self(descriptor.owned_by(owner, group).to_text()),
            (_, maker) => Self(descriptor.inherited(by_directory, maker).to_text()),
        }
    }

    pub fn to_format(&self, format: Format) -> Result<String, Refusal> {
        match format {
            Format::Sddl => Ok(self.0.clone()),
            Format::Binary => {
                let descriptor = Descriptor::from_text(&self.0).ok_or(Refusal::FileInvalidPermission)?;
                Ok(STANDARD.encode(descriptor.to_bytes()))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// From what it says, and not from how it says it.
    pub fn key(&self) -> PermissionKey {
        let bytes = Descriptor::from_text(&self.0).map(|descriptor| descriptor.to_bytes());
        let bytes = bytes.as_deref().unwrap_or(self.0.as_bytes());
        // FNV-1a, with a last stir so that all bits depend on all bytes.
        let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let stirred = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        PermissionKey(stirred ^ (stirred >> 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a recorded answer.
    const RECORDED: &str = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513\
                            D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)";

    #[test]
    fn the_same_descriptor_has_the_same_key() {
        let plain = Sddl::parse(RECORDED, Format::Sddl).unwrap();
        let full = Sddl::parse(&format!("{RECORDED}S:NO_ACCESS_CONTROL"), Format::Sddl).unwrap();
        assert_eq!(plain, full);
        assert_eq!(plain.as_str(), format!("{RECORDED}S:NO_ACCESS_CONTROL"));
        let binary = Sddl::parse(&plain.to_format(Format::Binary).unwrap(), Format::Binary).unwrap();
        assert_eq!(binary.key(), plain.key());
        assert_eq!(binary, plain, "and the same text, when it was written as Windows writes it");
        assert_ne!(Sddl::root().key(), plain.key());
        assert_eq!(PermissionKey::parse(&plain.key().to_string()), Some(plain.key()));
    }

    #[test]
    fn what_is_no_descriptor_is_refused() {
        let long = format!("O:BAG:SYD:{}", "(A;;FA;;;SY)".repeat(700));
        for bad in [
            "",
            "abcde",
            "O:BA",
            "O:BAG:SY",
            "D:(A;;FA;;;SY)",
            "O:BAG:SYD:(A;;FA;;;SY",
            "O:BAG:SYD:(A;;ZZ;;;SY)",
            &long,
        ] {
            assert_eq!(Sddl::parse(bad, Format::Sddl), Err(Refusal::FileInvalidPermission), "{bad}");
        }
        for bad in ["", "****", "AQAE"] {
            assert_eq!(Sddl::parse(bad, Format::Binary), Err(Refusal::FileInvalidPermission), "{bad}");
        }
    }

    /// Rule F9.
    #[test]
    fn f9_what_a_directory_in_the_root_inherits() {
        let directory = Sddl::root().inherited(true, None);
        assert_eq!(directory.as_str(), IN_ROOT);
        assert_eq!(Sddl::parse(IN_ROOT, Format::Sddl).unwrap().key(), directory.key());
        let below = "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;0xa0000000;;;BU)(A;OICI;0x1301bf;;;AU)\
                     (A;;FA;;;SY)(A;OICIIO;GA;;;CO)S:NO_ACCESS_CONTROL";
        assert_eq!(directory.inherited(true, None).as_str(), below, "the same again");
    }

    #[test]
    fn what_is_inherited() {
        let parent =
            Sddl::parse("O:BAG:SYD:AI(A;OICI;FA;;;BA)(A;CI;FR;;;BU)(A;OI;FW;;;AU)(A;;FX;;;WD)", Format::Sddl).unwrap();
        let directory = "O:BAG:SYD:AI(A;OICIID;FA;;;BA)(A;CIID;FR;;;BU)(A;OIIOID;FW;;;AU)S:NO_ACCESS_CONTROL";
        assert_eq!(parent.inherited(true, None).as_str(), directory);
        assert_eq!(
            parent.inherited(false, None).as_str(),
            "O:BAG:SYD:AI(A;ID;FA;;;BA)(A;ID;FW;;;AU)S:NO_ACCESS_CONTROL"
        );
        let owner = Sddl::parse("O:BAG:SYD:(A;OICI;GR;;;CO)(A;OINP;FW;;;CG)(A;CINP;GX;;;CG)", Format::Sddl).unwrap();
        let directory = "O:BAG:SYD:(A;;FR;;;BA)(A;OICIIO;GR;;;CO)(A;;FX;;;SY)S:NO_ACCESS_CONTROL";
        assert_eq!(
            owner.inherited(true, None).as_str(),
            directory,
            "whom it means is known now, and not said to be inherited"
        );
        assert_eq!(owner.inherited(false, None).as_str(), "O:BAG:SYD:(A;;FR;;;BA)(A;;FW;;;SY)S:NO_ACCESS_CONTROL");
    }
}
