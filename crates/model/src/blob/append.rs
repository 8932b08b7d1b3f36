//! Append blobs: blocks put one behind the other, and never changed. Sealed, a blob takes no more.
//!
//! Order of refusals: conditions, absent, lease, the kind, the seal, the position, the size, the number of blocks.

use crate::blob::copy::permit_no_copy;
use crate::blob::{BLOCKS_MAX, Blob, ContentRef, Encryption, Kind, PutBlob, existing};
use crate::lease::{self, On};
use crate::{Conditions, ETag, LeaseId, Refusal, Timestamp};

/// Append Block, whether its bytes come with it or from elsewhere.
#[derive(Clone, Debug)]
pub struct AppendBlock {
    /// The length that the blob must have.
    pub position: Option<u64>,
    /// The length that it must not exceed afterwards.
    pub most: Option<u64>,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl AppendBlock {
    /// The record after `length` more bytes.
    pub fn decide(&self, current: Option<&Blob>, length: u64, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        let is_sealed = is_sealed(blob)?;
        blob.encryption.permit_write(&self.encryption)?;
        blob.permit_mutable(now)?;
        permit_no_copy(blob)?;
        if is_sealed {
            return Err(Refusal::BlobIsSealed);
        }
        permit_position(self.position, blob)?;
        let content = &blob.content;
        let after = content.length.saturating_add(length);
        if self.most.is_some_and(|most| after > most) {
            return Err(Refusal::MaxBlobSizeConditionNotMet);
        }
        if content.blocks as usize >= BLOCKS_MAX {
            return Err(Refusal::BlockCountExceedsLimit);
        }
        let content = ContentRef { length: after, blocks: content.blocks + 1, ..content.clone() };
        Ok(Blob { etag: ETag::of(now), modified: now, content, lease, ..blob.clone() })
    }
}

#[derive(Clone, Debug)]
pub struct SealBlob {
    pub position: Option<u64>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl SealBlob {
    /// Sealing what is sealed is fine, and changes nothing ("Append Blob Seal").
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        let is_sealed = is_sealed(blob)?;
        blob.permit_mutable(now)?;
        permit_position(self.position, blob)?;
        if is_sealed {
            return Ok(blob.clone());
        }
        let kind = Kind::Append { sealed: true };
        Ok(Blob { kind, etag: ETag::of(now), modified: now, lease, ..blob.clone() })
    }
}

impl PutBlob {
    /// An append blob, which begins empty.
    pub fn decide_append(&self, current: Option<&Blob>, id: u64, now: Timestamp) -> Result<Blob, Refusal> {
        self.decide_as(Kind::Append { sealed: false }, current, ContentRef::sparse(id, 0), None, now)
    }
}

fn permit_position(position: Option<u64>, blob: &Blob) -> Result<(), Refusal> {
    let met = position.is_none_or(|position| position == blob.content.length);
    if met { Ok(()) } else { Err(Refusal::AppendPositionConditionNotMet) }
}

fn is_sealed(blob: &Blob) -> Result<bool, Refusal> {
    match blob.kind {
        Kind::Append { sealed } => Ok(sealed),
        Kind::Block | Kind::Page { .. } => Err(Refusal::InvalidBlobType),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64) -> Timestamp {
        Timestamp::from_ticks(ticks)
    }

    fn blob(kind: Kind, length: u64, blocks: u32) -> Blob {
        Blob::new(kind, ContentRef { blocks, ..ContentRef::sparse(7, length) }, at(1))
    }

    /// "Append Block", and CONCURRENCY: position and size are of the blob as it is, and as it would be.
    #[test]
    fn a_block_goes_where_its_conditions_say() {
        const OPEN: Kind = Kind::Append { sealed: false };
        const MOST: u32 = BLOCKS_MAX as u32;
        let cases = [
            (OPEN, 1, None, None, Ok((110, 2))),
            (OPEN, 1, Some(100), Some(110), Ok((110, 2))),
            (OPEN, 1, Some(99), None, Err(Refusal::AppendPositionConditionNotMet)),
            (OPEN, 1, None, Some(109), Err(Refusal::MaxBlobSizeConditionNotMet)),
            (OPEN, 1, Some(99), Some(1), Err(Refusal::AppendPositionConditionNotMet)),
            (OPEN, MOST - 1, None, None, Ok((110, MOST))),
            (OPEN, MOST, None, None, Err(Refusal::BlockCountExceedsLimit)),
            (Kind::Append { sealed: true }, 1, None, None, Err(Refusal::BlobIsSealed)),
            (Kind::Block, 1, None, None, Err(Refusal::InvalidBlobType)),
            (Kind::Page { sequence: 0 }, 1, None, None, Err(Refusal::InvalidBlobType)),
        ];
        for (kind, blocks, position, most, want) in cases {
            let append = AppendBlock {
                position,
                most,
                encryption: Encryption::Service,
                conditions: Conditions::default(),
                lease: None,
            };
            let got = append.decide(Some(&blob(kind, 100, blocks)), 10, at(2));
            assert_eq!(
                got.map(|blob| (blob.content.length, blob.content.blocks)),
                want,
                "{kind:?} {position:?} {most:?}"
            );
        }
    }

    #[test]
    fn a_seal_stays() {
        let seal = |position| SealBlob { position, conditions: Conditions::default(), lease: None };
        let open = blob(Kind::Append { sealed: false }, 100, 1);
        assert_eq!(seal(Some(1)).decide(Some(&open), at(2)), Err(Refusal::AppendPositionConditionNotMet));
        let sealed = seal(Some(100)).decide(Some(&open), at(2)).unwrap();
        assert_eq!((sealed.kind, sealed.modified), (Kind::Append { sealed: true }, at(2)));
        assert_eq!(seal(None).decide(Some(&sealed), at(3)), Ok(sealed.clone()));
        assert_eq!(seal(None).decide(Some(&blob(Kind::Block, 0, 0)), at(3)), Err(Refusal::InvalidBlobType));
    }
}
