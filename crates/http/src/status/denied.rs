//! How what a rule denies looks on the wire. Messages were taken from recorded answers of the service where there are any, and otherwise from
//! the reference.

use lazuli_model::blob::Which;

use super::{BUSY, CHALLENGED, CONDITION, INTERNAL, Status, Subject, of as refusal};
use crate::refusal::{Denied, Refusal};

fn header(name: &'static str, value: &str) -> Status {
    refusal(&Refusal::InvalidHeaderValue { header: name.into(), value: value.to_owned() })
}

fn parameter(name: &'static str, value: &str, reason: &'static str) -> Status {
    refusal(&Refusal::InvalidQueryParameterValue { name: name.into(), value: value.to_owned(), reason: reason.into() })
}

fn input(reason: &str) -> Status {
    Status::new(400, "InvalidInput", "One of the request inputs is not valid.").with_any("Reason", reason)
}

/// The table. A new refusal does not compile until its row is written.
pub fn of(denied: &Denied, subject: Subject) -> Status {
    use Denied::*;
    let say = Status::new;
    let pick = |blob: &'static str, container: &'static str, share: &'static str, file: &'static str| match subject {
        Subject::Blob => blob,
        Subject::Container => container,
        Subject::Share => share,
        Subject::File => file,
    };
    let mismatch = pick(
        "The lease ID specified did not match the lease ID for the blob.",
        "The lease ID specified did not match the lease ID for the container.",
        "The lease ID specified did not match the lease ID for the file share.",
        "The lease ID specified did not match the lease ID for the file.",
    );
    let absent = pick(
        "There is currently no lease on the blob.",
        "There is currently no lease on the container.",
        "There is currently no lease on the file share.",
        "There is currently no lease on the file.",
    );
    match denied {
        ConditionNotMet => say(412, "ConditionNotMet", CONDITION),
        NotModified => say(304, "ConditionNotMet", CONDITION),
        MultipleConditionsNotSupported => {
            say(400, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")
        }
        UnsatisfiableCondition => {
            say(400, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation.")
        }
        InfiniteLeaseDurationRequired => say(
            412,
            "InfiniteLeaseDurationRequired",
            "The lease ID matched, but the specified lease must be an infinite-duration lease.",
        ),
        LeaseAlreadyBroken => {
            say(409, "LeaseAlreadyBroken", "The lease has already been broken and cannot be broken again.")
        }
        LeaseAlreadyPresent => say(409, "LeaseAlreadyPresent", "There is already a lease present."),
        LeaseIdMismatchWithBlobOperation => say(412, "LeaseIdMismatchWithBlobOperation", mismatch),
        LeaseIdMismatchWithContainerOperation => say(
            412,
            "LeaseIdMismatchWithContainerOperation",
            match subject {
                Subject::Share => mismatch,
                Subject::Blob | Subject::Container | Subject::File => {
                    "The lease ID specified did not match the lease ID for the container."
                }
            },
        ),
        LeaseIdMismatchWithFileOperation => say(412, "LeaseIdMismatchWithFileOperation", mismatch),
        LeaseIdMismatchWithLeaseOperation => say(409, "LeaseIdMismatchWithLeaseOperation", mismatch),
        LeaseIdMissing => say(
            412,
            "LeaseIdMissing",
            pick(
                "There is currently a lease on the blob and no lease ID was specified in the request.",
                "There is currently a lease on the container and no lease ID was specified in the request.",
                "There is currently a lease on the file share and no lease ID was specified in the request.",
                "There is currently a lease on the file and no lease ID was specified in the request.",
            ),
        ),
        LeaseIsBreakingAndCannotBeAcquired => say(
            409,
            "LeaseIsBreakingAndCannotBeAcquired",
            "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.",
        ),
        LeaseIsBreakingAndCannotBeChanged => say(
            409,
            "LeaseIsBreakingAndCannotBeChanged",
            "The lease ID matched, but the lease is currently in breaking state and cannot be changed.",
        ),
        LeaseIsBrokenAndCannotBeRenewed => say(
            409,
            "LeaseIsBrokenAndCannotBeRenewed",
            "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.",
        ),
        LeaseLost => say(
            412,
            "LeaseLost",
            pick(
                "A lease ID was specified, but the lease for the blob has expired.",
                "A lease ID was specified, but the lease for the container has expired.",
                "A lease ID was specified, but the lease for the file share has expired.",
                "A lease ID was specified, but the lease for the file has expired.",
            ),
        ),
        LeaseNotPresentWithBlobOperation => {
            say(412, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.")
        }
        LeaseNotPresentWithContainerOperation => {
            say(412, "LeaseNotPresentWithContainerOperation", match subject {
                Subject::Share => absent,
                Subject::Blob | Subject::Container | Subject::File => "There is currently no lease on the container.",
            })
        }
        LeaseNotPresentWithFileOperation => say(412, "LeaseNotPresentWithFileOperation", absent),
        LeaseNotPresentWithLeaseOperation => say(409, "LeaseNotPresentWithLeaseOperation", absent),

        BlobAlreadyExists => say(409, "BlobAlreadyExists", "The specified blob already exists."),
        AccessTierNotSupportedForBlobType => say(
            400,
            "AccessTierNotSupportedForBlobType",
            "The access tier is not supported for this blob type.",
        ),
        BlobBeingRehydrated => say(
            409,
            "BlobBeingRehydrated",
            "This operation is not permitted because the blob is being rehydrated.",
        ),
        BlobImmutableDueToLegalHold => say(
            409,
            "BlobImmutableDueToLegalHold",
            "This operation is not permitted as the blob is immutable due to one or more legal holds.",
        ),
        BlobImmutableDueToPolicy => say(
            409,
            "BlobImmutableDueToPolicy",
            "This operation is not permitted as the blob is immutable due to a policy.",
        ),
        BlobTierInadequateForContentLength => say(
            409,
            "BlobTierInadequateForContentLength",
            "Specified blob tier size limit cannot be less than content length.",
        ),
        CannotChangeToLowerTier => {
            say(409, "CannotChangeToLowerTier", "A higher blob tier has already been explicitly set.")
        }
        ContainerHasLegalHold => say(
            409,
            "ContainerHasLegalHold",
            "This operation is not permitted as a blob in the container is immutable due to one or more legal holds.",
        ),
        ContainerImmutabilityPolicyLocked => say(
            409,
            "ContainerImmutabilityPolicyLocked",
            "This operation is not permitted as a blob in the container is immutable due to a policy.",
        ),
        BlobCustomerSpecifiedEncryptionMismatch => say(
            409,
            "BlobCustomerSpecifiedEncryptionMismatch",
            "The given customer specified encryption does not match the encryption used to encrypt the blob.",
        ),
        BlobDoesNotUseCustomerSpecifiedEncryption => say(
            409,
            "BlobDoesNotUseCustomerSpecifiedEncryption",
            "The blob is not encrypted with customer specified encryption, but one was provided in the request.",
        ),
        BlobUsesCustomerSpecifiedEncryption => say(
            409,
            "BlobUsesCustomerSpecifiedEncryption",
            "The blob is encrypted with customer specified encryption, but it was not provided in the request.",
        ),
        EncryptionScopeDisabled => {
            say(403, "EncryptionScopeDisabled", "The encryption scope is disabled; enable it in the account's settings.")
        }
        RequestForbiddenByContainerEncryptionPolicy => say(
            403,
            "RequestForbiddenByContainerEncryptionPolicy",
            "The request is forbidden by the container encryption policy.",
        ),
        ImmutabilityNotEnabled => say(
            400,
            "InvalidOperation",
            "The account does not allow immutability policies and legal holds; see its setting 'immutability'.",
        ),
        BlobArchived => say(409, "BlobArchived", "This operation is not permitted on an archived blob."),
        BlobNotFound | BlobSoftDeleted => say(404, "BlobNotFound", "The specified blob does not exist."),
        BlobTypeNotSupported { why } => say(400, "BlobTypeNotSupported", why),
        BlobAccessTierNotSupportedForAccountType => say(
            400,
            "BlobAccessTierNotSupportedForAccountType",
            "Blob access tier is not supported for this storage account type.",
        ),
        BlobSnapshotNotSoftDeleted => {
            say(409, "BlobSnapshotNotSoftDeleted", "The specified snapshot or version is not soft deleted.")
        }
        BlockCountExceedsLimit => say(
            409,
            "BlockCountExceedsLimit",
            "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.",
        ),
        BlockListTooLong => say(400, "BlockListTooLong", "The block list may not contain more than 50,000 blocks."),
        ContainerAlreadyExists => say(409, "ContainerAlreadyExists", "The specified container already exists."),
        ContainerBeingDeleted => {
            say(409, "ContainerBeingDeleted", "The specified container is being deleted. Try operation later.")
        }
        ContainerNotFound => say(404, "ContainerNotFound", "The specified container does not exist."),
        InvalidBlobOrBlock => say(400, "InvalidBlobOrBlock", "The specified blob or block content is invalid."),
        InvalidBlobTier => say(400, "InvalidBlobTier", "The specified blob tier is invalid."),
        BlobOperationNotSupported => {
            say(409, "BlobOperationNotSupported", "The operation is not supported in this scenario.")
        }
        InvalidBlobType => say(409, "InvalidBlobType", "The blob type is invalid for this operation."),
        InvalidBlockList => say(400, "InvalidBlockList", "The specified block list is invalid."),
        OperationNotAllowedOnRootBlob => {
            say(403, "OperationNotAllowedOnRootBlob", "The specified operation is not allowed on root blob.")
        }
        PermanentDeleteNotEnabled => {
            say(409, "PermanentDeleteNotEnabled", "Permanent delete is not enabled for this account.")
        }
        ExpiryNotSupportedForDirectory => {
            say(400, "ExpiryNotSupportedForDirectory", "Set Expiry is not supported for a directory")
        }
        // So spelt.
        InvalidAccessControlList => {
            say(400, "InvaldAccessControlList", "The access control list value is invalid.")
        }
        InvalidContinuation => say(500, "InternalError", INTERNAL),
        InvalidFlushPosition => say(
            400,
            "InvalidFlushPosition",
            "The uploaded data is not contiguous or the position query parameter value is not equal to the length of the file after appending the uploaded data.",
        ),
        InvalidPermission => say(400, "InvalidPermission", "The permission value is invalid."),
        InvalidRenameSourcePath => say(
            409,
            "InvalidRenameSourcePath",
            "The source directory cannot be the same as the destination directory, nor can the destination be a subdirectory of the source directory.",
        ),
        PathAlreadyExists { .. } => say(409, "PathAlreadyExists", "The specified path already exists."),
        InvalidSourceOrDestinationResourceType => say(
            409,
            "InvalidSourceOrDestinationResourceType",
            "The source and destination resource type must be identical.",
        ),
        RenameDestinationParentPathNotFound => say(
            404,
            "RenameDestinationParentPathNotFound",
            "The parent directory of the destination path does not exist.",
        ),
        SourcePathNotFound => {
            say(404, "SourcePathNotFound", "The source path for a rename operation does not exist.")
        }
        ResourceNotFound => say(404, "ResourceNotFound", "The specified resource does not exist."),
        ResourceTypeMismatch => say(
            409,
            "ResourceTypeMismatch",
            "The specified resource type does not match the type of the existing resource.",
        ),
        SnapshotsPresent => {
            say(409, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots.")
        }
        TagsTooLarge => say(400, "TagsTooLarge", "The tags specified exceed the maximum permissible limit."),
        DuplicateTagNames => {
            say(400, "DuplicateTagNames", "The tags specified are invalid. It contains duplicate tag names.")
        }
        EmptyTagName => say(400, "EmptyTagName", "The name of one of the tag key-value pairs is empty."),
        InvalidTag => {
            say(400, "InvalidTag", "The tags specified are invalid. It contains characters that are not permitted.")
        }
        UnauthorizedBlobOverwrite => {
            say(403, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites.")
        }

        AppendPositionConditionNotMet => {
            say(412, "AppendPositionConditionNotMet", "The append position condition specified was not met.")
        }
        BlobIsSealed => say(409, "BlobIsSealed", "The blob is sealed and its contents cannot be modified."),
        BlobOverwritten => say(409, "BlobOverwritten", "The blob has been recreated since the previous snapshot was taken."),
        IncrementalCopyBlobMismatch => say(
            409,
            "IncrementalCopyBlobMismatch",
            "The specified source blob is different than the copy source of the existing incremental copy blob.",
        ),
        IncrementalCopyOfEarlierSnapshotNotAllowed => say(
            409,
            "IncrementalCopyOfEarlierSnapshotNotAllowed",
            "The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.",
        ),
        IncrementalCopySourceMustBeSnapshot => say(
            409,
            "IncrementalCopySourceMustBeSnapshot",
            "The source for incremental copy request must be a snapshot.",
        ),
        OperationNotAllowedOnIncrementalCopyBlob => say(
            409,
            "OperationNotAllowedOnIncrementalCopyBlob",
            "The specified operation is not allowed on an incremental copy blob.",
        ),
        InvalidPageRange => say(416, "InvalidPageRange", "The page range specified is invalid."),
        MaxBlobSizeConditionNotMet => {
            say(412, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
        }
        PreviousSnapshotCannotBeNewer => say(
            400,
            "PreviousSnapshotCannotBeNewer",
            "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.",
        ),
        PreviousSnapshotNotFound => say(409, "PreviousSnapshotNotFound", "The previous snapshot is not found."),
        SequenceNumberConditionNotMet => {
            say(412, "SequenceNumberConditionNotMet", "The sequence number condition specified was not met.")
        }
        SequenceNumberIncrementTooLarge => say(
            409,
            "SequenceNumberIncrementTooLarge",
            "The sequence number increment cannot be performed because it would result in overflow of the sequence number.",
        ),
        CopyIdMismatch => say(
            409,
            "CopyIdMismatch",
            "The specified copy ID did not match the copy ID for the pending copy operation.",
        ),
        NoPendingCopyOperation => say(409, "NoPendingCopyOperation", "There is currently no pending copy operation."),
        PendingCopyOperation => say(409, "PendingCopyOperation", "There is currently a pending copy operation."),
        SourceConditionNotMet => say(
            412,
            "SourceConditionNotMet",
            "The source condition specified using HTTP conditional header(s) is not met.",
        ),
        TargetConditionNotMet => say(
            412,
            "TargetConditionNotMet",
            "The target condition specified using HTTP conditional header(s) is not met.",
        ),

        MessageNotFound => say(404, "MessageNotFound", "The specified message does not exist."),
        PopReceiptMismatch => say(
            400,
            "PopReceiptMismatch",
            "The specified pop receipt did not match the pop receipt for a dequeued message.",
        ),
        QueueAlreadyExists => say(409, "QueueAlreadyExists", "The specified queue already exists."),
        Table(refused) => crate::table::status::of(refused),
        QueueNotFound => say(404, "QueueNotFound", "The specified queue does not exist."),

        CannotDeleteFileOrDirectory => say(
            409,
            "CannotDeleteFileOrDirectory",
            "The file or directory could not be deleted because it is in use by an SMB client.",
        ),
        ClientCacheFlushDelay => say(
            500,
            "ClientCacheFlushDelay",
            "The specified resource state could not be flushed from an SMB client in the specified time.",
        ),
        DeletePending => {
            say(409, "DeletePending", "The specified resource is marked for deletion by an SMB client.")
        }
        DeleteShareWhenSnapshotLeased => say(
            409,
            "DeleteShareWhenSnapshotLeased",
            "Unable to delete share because one or more share snapshots have active leases. Release the share snapshot leases or delete the share with the include-leased parameter for x-ms-delete-snapshots.",
        ),
        // Delete Blob of a directory has a code of its own (seen in fsspec/adlfs #454).
        DirectoryNotEmpty => match subject {
            Subject::Blob | Subject::Container => {
                say(409, "DirectoryIsNotEmpty", "This operation is not permitted on a non-empty directory.")
            }
            Subject::Share | Subject::File => {
                say(409, "DirectoryNotEmpty", "The specified directory is not empty.")
            }
        },
        FileInvalidPermission => say(400, "FileInvalidPermission", "The specified file permission is not valid."),
        FileLockConflict => {
            say(409, "FileLockConflict", "A portion of the specified file is locked by an SMB client.")
        }
        InvalidFileOrDirectoryPathName => say(
            400,
            "InvalidFileOrDirectoryPathName",
            "The specified file or directory path name is invalid.",
        ),
        ParentNotFound => say(404, "ParentNotFound", "The specified parent path does not exist."),
        ReadOnlyAttribute => say(
            409,
            "ReadOnlyAttribute",
            "The specified resource is read-only and cannot be modified at this time.",
        ),
        ResourceAlreadyExists => say(409, "ResourceAlreadyExists", "The specified resource already exists."),
        ShareAlreadyExists => say(409, "ShareAlreadyExists", "The specified share already exists."),
        ShareHasSnapshots => say(
            409,
            "ShareHasSnapshots",
            "The share has snapshots and the operation requires no snapshots.",
        ),
        ShareNotFound => say(404, "ShareNotFound", "The specified share does not exist."),
        ShareSizeLimitReached => say(413, "ShareSizeLimitReached", "The specified share is full."),
        ShareSnapshotNotFound => say(404, "ShareSnapshotNotFound", "The specified share snapshot was not found."),
        ShareSnapshotCountExceeded => say(
            409,
            "ShareSnapshotCountExceeded",
            "The total number of snapshots for the share is over the limit.",
        ),
        ShareSnapshotOperationNotSupported => say(
            400,
            "ShareSnapshotOperationNotSupported",
            "The specified operation is not supported on a share snapshot.",
        ),
        SharingViolation => {
            say(409, "SharingViolation", "The specified resource may be in use by an SMB client.")
        }

        Crc64Mismatch { user, server } => say(
            400,
            "Crc64Mismatch",
            "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
        )
        .with("UserSpecifiedCrc", user)
        .with("ServerCalculatedCrc", server),
        Md5Mismatch { user, server } => say(
            400,
            "Md5Mismatch",
            "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
        )
        .with_any("UserSpecifiedMd5", user)
        .with_any("ServerCalculatedMd5", server),
        InvalidRange => {
            say(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")
        }
        RequestBodyTooLarge { limit } => say(
            413,
            "RequestBodyTooLarge",
            "The request body is too large and exceeds the maximum permissible limit.",
        )
        .with("MaxLimit", limit.to_string()),
        InvalidInput { reason } => {
            input(reason)
        }

        EmptyMetadataKey => {
            say(400, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
        }
        InvalidMetadata => say(
            400,
            "InvalidMetadata",
            "The metadata specified is invalid. It has characters that are not permitted.",
        ),
        MetadataTooLarge => {
            say(400, "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB).")
        }
        // Rule A9.
        InvalidTagQuery { query, message } => Status::new(400, "InvalidQueryParameterValue", message.clone())
            .with("QueryParameterName", "where")
            .with("QueryParameterValue", query)
            .with("Reason", "This query parameter value is invalid."),
        // The spelling is the service's.
        InvalidResourceName => {
            say(400, "InvalidResourceName", "The specifed resource name contains invalid characters.")
        }
        // Rule A17.
        ResourceNameLength => {
            say(400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
        }
        OutOfRangeInput => say(400, "OutOfRangeInput", "One of the request inputs is out of range."),

        AuthenticationFailed { detail } => say(
            403,
            "AuthenticationFailed",
            "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.",
        )
        .with_any("AuthenticationErrorDetail", detail),
        InvalidAuthenticationInfo => say(
            400,
            "InvalidAuthenticationInfo",
            "Authentication information is not given in the correct format. Check the value of Authorization header.",
        ),
        InvalidAccessToken { detail } => {
            say(401, "InvalidAuthenticationInfo", CHALLENGED).with_any("AuthenticationErrorDetail", detail)
        }
        NoAuthenticationInformation => say(401, "NoAuthenticationInformation", CHALLENGED),
        AuthorizationFailure => {
            say(403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
        }
        AuthorizationPermissionMismatch => say(
            403,
            "AuthorizationPermissionMismatch",
            "This request is not authorized to perform this operation using this permission.",
        ),
        AuthorizationProtocolMismatch => say(
            403,
            "AuthorizationProtocolMismatch",
            "This request is not authorized to perform this operation using this protocol.",
        ),
        AuthorizationResourceTypeMismatch => say(
            403,
            "AuthorizationResourceTypeMismatch",
            "This request is not authorized to perform this operation using this resource type.",
        ),
        AuthorizationServiceMismatch => say(
            403,
            "AuthorizationServiceMismatch",
            "This request is not authorized to perform this operation using this service.",
        ),
        AuthorizationSourceIpMismatch => say(
            403,
            "AuthorizationSourceIPMismatch",
            "This request is not authorized to perform this operation using this source IP.",
        ),
        InsufficientAccountPermissions => say(
            403,
            "InsufficientAccountPermissions",
            "The account being accessed does not have sufficient permissions to execute this operation.",
        ),
        SecondaryIsReadOnly => {
            say(403, "InsufficientAccountPermissions", "Write operations are not allowed on the secondary endpoint.")
        }
        AccountRequiresHttps { account } => {
            say(400, "AccountRequiresHttps", "The account being accessed does not support http.")
                .with("AccountName", account.as_str())
        }
        TlsVersionNotPermitted => say(
            400,
            "TlsVersionNotPermitted",
            "The TLS version of the connection is not permitted on this storage account.",
        ),
        KeyBasedAuthenticationNotPermitted => say(
            403,
            "KeyBasedAuthenticationNotPermitted",
            "Key based authentication is not permitted on this storage account.",
        ),
        PublicAccessNotPermitted => {
            say(409, "PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
        }
        // As observed by clients that probe for it; the reference does not have it.
        HierarchicalNamespaceNotEnabled => say(
            400,
            "HierarchicalNamespaceNotEnabled",
            "This operation is only supported on a hierarchical namespace account.",
        ),
        OperationTimedOut => {
            say(500, "OperationTimedOut", "The operation could not be completed within the permitted time.")
        }
        // REST opens nothing that stays open.
        ServerBusy | TooManyHandles | TooManyLocks => say(503, "ServerBusy", BUSY),
        InternalError => say(500, "InternalError", INTERNAL),
        InvalidBlockId { id, reason } => parameter("blockid", id, reason),
        SnapshotsOfSnapshot { which } => {
            let (name, time) = match which {
                Which::Version(time) => ("versionid", time.to_iso()),
                Which::Snapshot(time) => ("snapshot", time.to_iso()),
                Which::Current => ("snapshot", String::new()),
            };
            parameter(name, &time, "")
        }
        InvalidMarker { marker } => {
            parameter("marker", marker, "The marker is not one that a listing returned as NextMarker.")
        }
        DelimiterNotSupported { delimiter } => parameter("delimiter", delimiter, ""),
        InvalidTagCondition { text } => header("x-ms-if-tags", text),
        ExpiryTimePassed { time } => header("x-ms-expiry-time", &time.to_http()),
        InvalidEncryptionScope { name } => header("x-ms-encryption-scope", name),
        // Observed: too many policies are a bad document.
        InvalidStoredPolicies => refusal(&Refusal::InvalidXmlDocument { line: 0, position: 0, reason: "".into() }),
        PathIsRoot => refusal(&Refusal::InvalidUri),
        BodyTooLong => input("The body is longer than Content-Length says."),
        BodyTooShort => input("The body is shorter than Content-Length says."),
        BodyBrokenOff => input("The client hung up before the end of the body."),
    }
}
