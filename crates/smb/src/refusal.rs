//! What SMB says when the store says no: one table from refusals to NTSTATUS. Where the same refusal has another name in one command, the
//! command says so before it comes here.

use lazuli_model::Refusal;
use lazuli_store::{Failure, Fault};

use crate::status::Status;

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => of_refusal(&refusal),
            Failure::Broken(fault) => of_fault(&fault),
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        of_refusal(&refusal)
    }
}

fn of_fault(fault: &Fault) -> Status {
    match fault {
        Fault::Full => Status::DiskFull,
        Fault::Busy => Status::InsuffServerResources,
        Fault::Unavailable(_) => Status::UnexpectedIoError,
        Fault::Corrupt(_) => Status::InternalError,
    }
}

/// What concerns blobs, queues and tables cannot come up here: it would be a mistake of ours, and is called one.
#[expect(clippy::wildcard_enum_match_arm, reason = "refusals of the other services")]
fn of_refusal(refusal: &Refusal) -> Status {
    match refusal {
        Refusal::ResourceNotFound => Status::ObjectNameNotFound,
        Refusal::ParentNotFound => Status::ObjectPathNotFound,
        Refusal::ResourceAlreadyExists => Status::ObjectNameCollision,
        Refusal::ResourceTypeMismatch => Status::ObjectTypeMismatch,
        Refusal::InvalidResourceName | Refusal::InvalidFileOrDirectoryPathName | Refusal::ResourceNameLength => {
            Status::ObjectNameInvalid
        }
        Refusal::SharingViolation => Status::SharingViolation,
        Refusal::DeletePending => Status::DeletePending,
        Refusal::FileLockConflict => Status::FileLockConflict,
        Refusal::ReadOnlyAttribute | Refusal::CannotDeleteFileOrDirectory => Status::AccessDenied,
        Refusal::AuthorizationPermissionMismatch => Status::AccessDenied,
        Refusal::DirectoryNotEmpty => Status::DirectoryNotEmpty,
        Refusal::ShareNotFound | Refusal::ShareSnapshotNotFound => Status::NetworkNameDeleted,
        Refusal::ShareSizeLimitReached | Refusal::OutOfRangeInput => Status::DiskFull,
        Refusal::FileInvalidPermission => Status::InvalidSecurityDescr,
        Refusal::InvalidRange => Status::InvalidParameter,
        Refusal::InvalidInput { .. } => Status::InvalidParameter,
        Refusal::ServerBusy => Status::InsuffServerResources,
        // ERROR_NOT_ENOUGH_QUOTA, which Azure's clients see when a file has too many handles ("Troubleshoot Azure Files").
        Refusal::TooManyHandles => Status::QuotaExceeded,
        Refusal::TooManyLocks => Status::InsufficientResources,
        Refusal::BodyTooLong | Refusal::BodyTooShort | Refusal::BodyBrokenOff => Status::InvalidParameter,
        Refusal::ClientCacheFlushDelay => Status::SharingViolation,
        Refusal::LeaseIdMissing | Refusal::LeaseIdMismatchWithFileOperation => Status::SharingViolation,
        _ => Status::InternalError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_names_that_windows_gives_them() {
        let table = [
            (Refusal::ResourceNotFound, Status::ObjectNameNotFound),
            (Refusal::ParentNotFound, Status::ObjectPathNotFound),
            (Refusal::SharingViolation, Status::SharingViolation),
            (Refusal::DeletePending, Status::DeletePending),
            (Refusal::FileLockConflict, Status::FileLockConflict),
            (Refusal::ShareSizeLimitReached, Status::DiskFull),
            (Refusal::ShareNotFound, Status::NetworkNameDeleted),
        ];
        for (refusal, status) in table {
            assert_eq!(Status::from(Failure::Refused(refusal)), status);
        }
        assert_eq!(Status::from(Failure::Broken(Fault::Full)), Status::DiskFull);
    }
}
