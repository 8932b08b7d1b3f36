//! Which refusals are somebody else's doing: those by a condition, a lease, a lock, a receipt or a sharing mode.

use lazuli_model::Refusal;
use lazuli_model::table::Refused;

use crate::refusal;

#[expect(clippy::wildcard_enum_match_arm, reason = "what is wrong with a request as such is nobody else's doing")]
pub(crate) fn is_conflict(refusal: &refusal::Refusal) -> bool {
    match refusal {
        refusal::Refusal::Denied(denied) => {
            by_condition(denied) || by_lease(denied) || by_receipt(denied) || by_open(denied) || by_table(denied)
        }
        refusal::Refusal::InBatch { refusal, .. } => is_conflict(refusal),
        _ => false,
    }
}

fn by_condition(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::ConditionNotMet
            | Refusal::NotModified
            | Refusal::SourceConditionNotMet
            | Refusal::TargetConditionNotMet
            | Refusal::AppendPositionConditionNotMet
            | Refusal::MaxBlobSizeConditionNotMet
            | Refusal::SequenceNumberConditionNotMet
            | Refusal::BlobOverwritten
            | Refusal::BlobAlreadyExists
            | Refusal::ContainerAlreadyExists
            | Refusal::QueueAlreadyExists
            | Refusal::ShareAlreadyExists
            | Refusal::ResourceAlreadyExists
            | Refusal::PendingCopyOperation
            | Refusal::NoPendingCopyOperation
            | Refusal::CopyIdMismatch
    )
}

fn by_lease(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::LeaseAlreadyBroken
            | Refusal::LeaseAlreadyPresent
            | Refusal::LeaseIdMismatchWithBlobOperation
            | Refusal::LeaseIdMismatchWithContainerOperation
            | Refusal::LeaseIdMismatchWithFileOperation
            | Refusal::LeaseIdMismatchWithLeaseOperation
            | Refusal::LeaseIdMissing
            | Refusal::LeaseIsBreakingAndCannotBeAcquired
            | Refusal::LeaseIsBreakingAndCannotBeChanged
            | Refusal::LeaseIsBrokenAndCannotBeRenewed
            | Refusal::LeaseLost
            | Refusal::LeaseNotPresentWithBlobOperation
            | Refusal::LeaseNotPresentWithContainerOperation
            | Refusal::LeaseNotPresentWithFileOperation
            | Refusal::LeaseNotPresentWithLeaseOperation
    )
}

fn by_receipt(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::MessageNotFound | Refusal::PopReceiptMismatch)
}

fn by_open(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::SharingViolation
            | Refusal::FileLockConflict
            | Refusal::DeletePending
            | Refusal::ClientCacheFlushDelay
            | Refusal::CannotDeleteFileOrDirectory
    )
}

fn by_table(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Table(
            Refused::UpdateConditionNotSatisfied | Refused::EntityAlreadyExists | Refused::TableAlreadyExists
        )
    )
}
