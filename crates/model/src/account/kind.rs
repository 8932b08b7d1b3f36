//! Account kinds: what an account can hold depends on what it was made as. A standard account (`StorageV2`) has every service; a premium one
//! has one service, and of blobs one or two types ("Storage account overview").
//!
//! Held true: what a kind refuses is refused here, in tables without a catch-all, so that a new kind has to say what it thinks of everything.

use crate::Refusal;
use crate::blob::{Kind as BlobKind, Tier};
use crate::service::Of;

/// What an account was made as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountKind {
    #[default]
    Standard,
    PremiumBlockBlob,
    PremiumPageBlob,
    PremiumFile,
}

/// The types of blobs, as an account kind sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobType {
    Block,
    Page,
    Append,
}

impl From<BlobKind> for BlobType {
    fn from(kind: BlobKind) -> Self {
        match kind {
            BlobKind::Block => BlobType::Block,
            BlobKind::Page { .. } => BlobType::Page,
            BlobKind::Append { .. } => BlobType::Append,
        }
    }
}

impl AccountKind {
    pub const NAMES: [(&'static str, AccountKind); 4] = [
        ("standard", AccountKind::Standard),
        ("premium-block-blob", AccountKind::PremiumBlockBlob),
        ("premium-page-blob", AccountKind::PremiumPageBlob),
        ("premium-file", AccountKind::PremiumFile),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("standard", |(name, _)| name)
    }

    /// `x-ms-sku-name`. There is one copy, on this machine.
    pub fn sku(self) -> &'static str {
        match self {
            AccountKind::Standard => "Standard_LRS",
            AccountKind::PremiumBlockBlob | AccountKind::PremiumPageBlob | AccountKind::PremiumFile => "Premium_LRS",
        }
    }

    /// `x-ms-account-kind`.
    pub fn told(self) -> &'static str {
        match self {
            AccountKind::Standard | AccountKind::PremiumPageBlob => "StorageV2",
            AccountKind::PremiumBlockBlob => "BlockBlobStorage",
            AccountKind::PremiumFile => "FileStorage",
        }
    }

    /// Whether accounts of this kind have the service at all.
    pub fn serves(self, service: Of) -> bool {
        match (self, service) {
            (AccountKind::Standard, Of::Blob | Of::Queue | Of::Table | Of::File) => true,
            (AccountKind::PremiumBlockBlob | AccountKind::PremiumPageBlob, Of::Blob) => true,
            (AccountKind::PremiumBlockBlob | AccountKind::PremiumPageBlob, Of::Queue | Of::Table | Of::File) => false,
            (AccountKind::PremiumFile, Of::File) => true,
            (AccountKind::PremiumFile, Of::Blob | Of::Queue | Of::Table) => false,
        }
    }

    /// Whether a blob of this type can be made. The texts are the service's (github.com/Azure/azure-storage-python issue 264,
    /// Azure/azure-diagnostics-tools issue 78); that for append blobs is made after them.
    pub fn permit_blob(self, made: BlobType) -> Result<(), Refusal> {
        let why = match (self, made) {
            (AccountKind::Standard, BlobType::Block | BlobType::Page | BlobType::Append) => return Ok(()),
            (AccountKind::PremiumBlockBlob, BlobType::Block | BlobType::Append) => return Ok(()),
            (AccountKind::PremiumPageBlob, BlobType::Page) => return Ok(()),
            (AccountKind::PremiumBlockBlob, BlobType::Page) => "Page blob is not supported for this account type.",
            (AccountKind::PremiumPageBlob, BlobType::Block) => "Block blobs are not supported.",
            (AccountKind::PremiumPageBlob, BlobType::Append) => "Append blobs are not supported.",
            (AccountKind::PremiumFile, BlobType::Block | BlobType::Page | BlobType::Append) => {
                "Blobs are not supported for this account type."
            }
        };
        Err(Refusal::BlobTypeNotSupported { why })
    }

    /// Whether `tier` can be asked for, whatever the blob. Rule B7: a premium page blob has the tiers of disks alone. Premium block blobs have
    /// none ("Access tiers for blob data"); of a standard account, what a tier is for is the blob's to say.
    pub fn permit_tier(self, tier: Tier) -> Result<(), Refusal> {
        let is_disk = match tier {
            Tier::Premium(_) => true,
            Tier::Hot | Tier::Cool | Tier::Cold | Tier::Archive | Tier::Smart => false,
        };
        match self {
            AccountKind::Standard => Ok(()),
            AccountKind::PremiumPageBlob | AccountKind::PremiumFile if is_disk => Ok(()),
            AccountKind::PremiumPageBlob | AccountKind::PremiumFile => Err(Refusal::InvalidBlobTier),
            AccountKind::PremiumBlockBlob => Err(Refusal::BlobAccessTierNotSupportedForAccountType),
        }
    }

    /// Whether block blobs that nobody has set a tier for tell the account's default.
    pub fn infers_block_tier(self) -> bool {
        match self {
            AccountKind::Standard => true,
            AccountKind::PremiumBlockBlob | AccountKind::PremiumPageBlob | AccountKind::PremiumFile => false,
        }
    }

    /// Whether blobs have tags. Premium page blob accounts take the headers, and act as if they were not there (observed: a condition that
    /// does not hold is met).
    pub fn has_tags(self) -> bool {
        match self {
            AccountKind::Standard | AccountKind::PremiumBlockBlob => true,
            AccountKind::PremiumPageBlob | AccountKind::PremiumFile => false,
        }
    }

    /// Whether pages are answered with their CRC64. Premium page blob accounts tell the MD5, as all did before (observed).
    pub fn tells_crc64_of_pages(self) -> bool {
        match self {
            AccountKind::Standard | AccountKind::PremiumBlockBlob | AccountKind::PremiumFile => true,
            AccountKind::PremiumPageBlob => false,
        }
    }

    /// Whether page blobs that nobody has set a tier for tell the one of their length (observed).
    pub fn infers_page_tier(self) -> bool {
        match self {
            AccountKind::PremiumPageBlob => true,
            AccountKind::Standard | AccountKind::PremiumBlockBlob | AccountKind::PremiumFile => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::Premium;
    use AccountKind::*;

    #[test]
    fn every_kind_has_a_name() {
        for (name, kind) in AccountKind::NAMES {
            assert_eq!(kind.name(), name);
        }
    }

    #[test]
    fn services_of_kinds() {
        for (kind, served) in [
            (Standard, [true, true, true, true]),
            (PremiumBlockBlob, [true, false, false, false]),
            (PremiumPageBlob, [true, false, false, false]),
            (PremiumFile, [false, false, false, true]),
        ] {
            assert_eq!([Of::Blob, Of::Queue, Of::Table, Of::File].map(|of| kind.serves(of)), served, "{kind:?}");
        }
    }

    #[test]
    fn blob_types_of_kinds() {
        for (kind, permitted) in [
            (Standard, [true, true, true]),
            (PremiumBlockBlob, [true, false, true]),
            (PremiumPageBlob, [false, true, false]),
            (PremiumFile, [false, false, false]),
        ] {
            let types = [BlobType::Block, BlobType::Page, BlobType::Append];
            assert_eq!(types.map(|made| kind.permit_blob(made).is_ok()), permitted, "{kind:?}");
        }
    }

    #[test]
    fn b7_tiers_of_kinds() {
        let disk = Tier::Premium(Premium::P10);
        for tier in [Tier::Hot, Tier::Cool, Tier::Cold, Tier::Archive, Tier::Smart] {
            assert_eq!(Standard.permit_tier(tier), Ok(()));
            assert_eq!(PremiumPageBlob.permit_tier(tier), Err(Refusal::InvalidBlobTier));
            assert_eq!(PremiumBlockBlob.permit_tier(tier), Err(Refusal::BlobAccessTierNotSupportedForAccountType));
        }
        assert_eq!(PremiumPageBlob.permit_tier(disk), Ok(()));
        assert_eq!(PremiumBlockBlob.permit_tier(disk), Err(Refusal::BlobAccessTierNotSupportedForAccountType));
    }
}
