//! Which refusals are somebody else's doing: those by a condition, a lease, a lock, a receipt or a sharing mode.

use lazuli_model::Refusal;
use lazuli_model::table::Refused;

pub(crate) fn is_conflict(refusal: &Refusal) -> bool {
    by_condition(refusal) || by_lease(refusal) || by_receipt(refusal) || by_open(refusal) || by_table(refusal)
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
    if let Refusal::Table(Refused::InBatch { refusal, .. }) = refusal {
        return is_conflict(refusal);
    }
    matches!(
        refusal,
        Refusal::Table(
            Refused::UpdateConditionNotSatisfied | Refused::EntityAlreadyExists | Refused::TableAlreadyExists
        )
    )
}
