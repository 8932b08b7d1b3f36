//! How each refusal looks on the wire: status, code, message and detail elements, as Azure words them. Messages were
//! taken from recorded answers of the service where there are any, and otherwise from the reference.

use std::borrow::Cow;
use std::fmt::Write as _;

use lazuli_model::{Refusal, Timestamp};
use lazuli_store::{Failure, Fault};

use crate::wire::xml;

/// What an error answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub status: u16,
    /// Also the header `x-ms-error-code`.
    pub code: &'static str,
    /// The message's first line, which is also the reason phrase.
    pub message: Cow<'static, str>,
    /// Further elements of the body, in order. An empty value is an empty element.
    pub details: Vec<(&'static str, String)>,
}

/// What the request was about, where the message names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Blob,
    Container,
    Share,
    File,
}

/// `WWW-Authenticate` of a 401.
pub const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize \
                             resource_id=https://storage.azure.com";

const CHALLENGED: &str =
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
const CONDITION: &str = "The condition specified using HTTP conditional header(s) is not met.";
const BUSY: &str = "The server is currently unable to receive requests. Please retry your request.";
const INTERNAL: &str = "Server encountered an internal error. Please try again after some time.";

impl Status {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), details: Vec::new() }
    }

    fn with(mut self, element: &'static str, value: impl Into<String>) -> Self {
        self.details.push((element, value.into()));
        self
    }

    /// Left out when there is nothing to say.
    fn with_any(self, element: &'static str, value: &str) -> Self {
        if value.is_empty() { self } else { self.with(element, value) }
    }

    /// The value of `WWW-Authenticate`, for a 401.
    pub fn challenge(&self) -> Option<&'static str> {
        // A credential for the source of a copy is not challenged (observed).
        (self.status == 401 && self.code != "CannotVerifyCopySource").then_some(CHALLENGE)
    }

    /// The XML body. None goes with a 304 or to a HEAD; that is for the caller to know.
    pub fn body(&self, request_id: &str, now: Timestamp) -> Vec<u8> {
        let mut out = xml::document(256 + self.message.len());
        let _ = write!(out, "<Error><Code>{}</Code><Message>", self.code);
        xml::escape(&mut out, &self.message);
        let _ = write!(out, "\nRequestId:{request_id}\nTime:{}</Message>", now.to_iso());
        for (element, value) in &self.details {
            xml::element(&mut out, element, value);
        }
        out.push_str("</Error>");
        out.into_bytes()
    }
}

/// A refusal or a fault. Of a fault the client is told as little as possible.
pub fn of_failure(failure: &Failure, subject: Subject) -> Status {
    match failure {
        Failure::Refused(refusal) => of_subject(refusal, subject),
        Failure::Broken(Fault::Full | Fault::Unavailable(_) | Fault::Busy) => Status::new(503, "ServerBusy", BUSY),
        Failure::Broken(Fault::Corrupt(_)) => Status::new(500, "InternalError", INTERNAL),
    }
}

/// As [`of_subject`], about a blob.
pub fn of(refusal: &Refusal) -> Status {
    of_subject(refusal, Subject::Blob)
}

/// The table. A new refusal does not compile until its row is written.
pub fn of_subject(refusal: &Refusal, subject: Subject) -> Status {
    use Refusal::*;
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
    match refusal {
        ConditionNotMet => say(412, "ConditionNotMet", CONDITION),
        NotModified => say(304, "ConditionNotMet", CONDITION),
        MultipleConditionHeadersNotSupported => {
            say(400, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")
        }
        ConditionHeadersNotSupported => say(400, "ConditionHeadersNotSupported", "Condition headers are not supported."),
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
        InvalidBlobType => say(409, "InvalidBlobType", "The blob type is invalid for this operation."),
        InvalidBlockId => {
            say(400, "InvalidBlockId", "The specified block ID is invalid. The block ID must be Base64-encoded.")
        }
        InvalidBlockList => say(400, "InvalidBlockList", "The specified block list is invalid."),
        OperationNotAllowedOnRootBlob => {
            say(403, "OperationNotAllowedOnRootBlob", "The specified operation is not allowed on root blob.")
        }
        PermanentDeleteNotEnabled => {
            say(409, "PermanentDeleteNotEnabled", "Permanent delete is not enabled for this account.")
        }
        ExceedsMaxBatchRequestCount => say(
            400,
            "ExceedsMaxBatchRequestCount",
            "The batch operation exceeds maximum number of allowed subrequests.",
        ),
        AllBatchSubRequestsShouldBeSameApi => say(
            400,
            "AllBatchSubRequestsShouldBeSameApi",
            "All batch subrequests should be the same api.",
        ),
        ExpiryNotSupportedForDirectory => {
            say(400, "ExpiryNotSupportedForDirectory", "Set Expiry is not supported for a directory")
        }
        HierarchicalNamespaceNotSupported { what } => say(
            409,
            "FeatureNotSupportedForHierarchicalNamespaceAccount",
            "This feature is not supported for hierarchical namespace accounts.",
        )
        .with_any("Reason", what),
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
        SnapshotCountExceeded => {
            say(409, "SnapshotCountExceeded", "The snapshot count against this blob has been exceeded.")
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
        BothUserTagsAndSourceTagsCopyPresent => say(
            400,
            "BothUserTagsAndSourceTagsCopyPresentException",
            "x-ms-tags header must not be present when x-ms-copy-source-tag-option is COPY.",
        ),
        CannotVerifyCopySource { status, code, message } => {
            let said = Status { message: message.clone(), ..say(*status, "CannotVerifyCopySource", "") };
            match code.as_ref() {
                "" => said, // an older version, which names no more than the message
                code => said
                    .with("CopySourceStatusCode", status.to_string())
                    .with("CopySourceErrorCode", code)
                    .with("CopySourceErrorMessage", message.as_ref()),
            }
        }
        CopyIdMismatch => say(
            409,
            "CopyIdMismatch",
            "The specified copy ID did not match the copy ID for the pending copy operation.",
        ),
        InvalidSourceBlobType => {
            say(409, "InvalidSourceBlobType", "The copy source blob type is invalid for this operation.")
        }
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
        ContainerQuotaDowngradeNotAllowed => say(
            409,
            "ContainerQuotaDowngradeNotAllowed",
            "The share quota cannot be lowered until a day after it was last raised.",
        ),
        DeletePending => {
            say(409, "DeletePending", "The specified resource is marked for deletion by an SMB client.")
        }
        DeleteShareWhenSnapshotLeased => say(
            409,
            "DeleteShareWhenSnapshotLeased",
            "Unable to delete share because one or more share snapshots have active leases. Release the share snapshot leases or delete the share with the include-leased parameter for x-ms-delete-snapshots.",
        ),
        DirectoryNotEmpty => say(409, "DirectoryNotEmpty", "The specified directory is not empty."),
        FileInvalidPermission => say(400, "FileInvalidPermission", "The specified file permission is not valid."),
        FileLockConflict => {
            say(409, "FileLockConflict", "A portion of the specified file is locked by an SMB client.")
        }
        FileShareProvisionedBandwidthInvalid => say(
            400,
            "FileShareProvisionedBandwidthInvalid",
            "The provisioned bandwidth of the share is outside the permissible range.",
        ),
        FileShareProvisionedIopsInvalid => say(
            400,
            "FileShareProvisionedIopsInvalid",
            "The provisioned IOPS of the share are outside the permissible range.",
        ),
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
        ShareBeingDeleted => {
            say(409, "ShareBeingDeleted", "The specified share is being deleted. Try operation later.")
        }
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
        InvalidMd5 { value } => say(
            400,
            "InvalidMd5",
            "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.",
        )
        .with_any("UserSpecifiedMd5", value),
        Md5Mismatch { user, server } => say(
            400,
            "Md5Mismatch",
            "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
        )
        .with_any("UserSpecifiedMd5", user)
        .with_any("ServerCalculatedMd5", server),
        BothCrc64AndMd5HeaderPresent => say(
            400,
            "BothCrc64AndMd5HeaderPresent",
            "Both x-ms-content-crc64 header and content-md5 header are present.",
        ),
        BothCrc64AndMd5RangeHeaderPresent => say(
            400,
            "BothCrc64AndMd5RangeHeaderPresent",
            "Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are present.",
        ),
        InvalidRange => {
            say(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")
        }
        RequestBodyTooLarge { limit } => say(
            413,
            "RequestBodyTooLarge",
            "The request body is too large and exceeds the maximum permissible limit.",
        )
        .with("MaxLimit", limit.to_string()),
        MissingContentLengthHeader => {
            say(411, "MissingContentLengthHeader", "The Content-Length header was not specified.")
        }
        InvalidInput { reason } => {
            say(400, "InvalidInput", "One of the request inputs is not valid.").with_any("Reason", reason)
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
        InvalidHeaderValue { header, value } => {
            say(400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
                .with("HeaderName", header.as_ref())
                .with("HeaderValue", value)
        }
        MissingRequiredHeader { header } => say(
            400,
            "MissingRequiredHeader",
            "An HTTP header that's mandatory for this request is not specified.",
        )
        .with("HeaderName", header.as_ref()),
        UnsupportedHeader { header } => {
            say(400, "UnsupportedHeader", "One of the HTTP headers specified in the request is not supported.")
                .with("HeaderName", header.as_ref())
        }
        InvalidQueryParameterValue { name, value, reason } => say(
            400,
            "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.",
        )
        .with("QueryParameterName", name.as_ref())
        .with("QueryParameterValue", value)
        .with_any("Reason", reason),
        // Rule A9.
        InvalidTagQuery { query, message } => Status::new(400, "InvalidQueryParameterValue", message.clone())
            .with("QueryParameterName", "where")
            .with("QueryParameterValue", query)
            .with("Reason", "This query parameter value is invalid."),
        OutOfRangeQueryParameterValue { name, value, least, most } => say(
            400,
            "OutOfRangeQueryParameterValue",
            "One of the query parameters specified in the request URI is outside the permissible range.",
        )
        .with("QueryParameterName", name.as_ref())
        .with("QueryParameterValue", value)
        .with("MinimumAllowed", least)
        .with("MaximumAllowed", most),
        MutuallyExclusiveQueryParameters => say(
            400,
            "MutuallyExclusiveQueryParameters",
            "The query parameters specified in the request URI exclude each other.",
        ),
        MissingRequiredQueryParameter { name } => say(
            400,
            "MissingRequiredQueryParameter",
            "A query parameter that's mandatory for this request is not specified.",
        )
        .with("QueryParameterName", name.as_ref()),
        UnsupportedQueryParameter { name, value } => say(
            400,
            "UnsupportedQueryParameter",
            "One of the query parameters specified in the request URI is not supported.",
        )
        .with("QueryParameterName", name.as_ref())
        .with("QueryParameterValue", value),
        // The spelling is the service's.
        InvalidResourceName => {
            say(400, "InvalidResourceName", "The specifed resource name contains invalid characters.")
        }
        // Rule A17.
        ResourceNameLength => {
            say(400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
        }
        OutOfRangeInput => say(400, "OutOfRangeInput", "One of the request inputs is out of range."),
        InvalidUri => {
            say(400, "InvalidUri", "The requested URI does not represent any resource on the server.")
        }
        RequestUrlFailedToParse => {
            say(400, "RequestUrlFailedToParse", "The url in the request could not be parsed.")
        }
        InvalidXmlDocument { line, position, reason } => {
            say(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
                .with("LineNumber", line.to_string())
                .with("LinePosition", position.to_string())
                .with("Reason", reason.as_ref())
        }
        InvalidXmlNodeValue { name, value, reason } => say(
            400,
            "InvalidXmlNodeValue",
            "The value for one of the XML nodes is not in the correct format.",
        )
        .with("XmlNodeName", name.as_ref())
        .with("XmlNodeValue", value)
        .with_any("Reason", reason),
        MissingRequiredXmlNode { name } => {
            say(400, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.")
                .with("XmlNodeName", name.as_ref())
        }
        UnsupportedXmlNode { name } => say(
            400,
            "UnsupportedXmlNode",
            "One of the XML nodes specified in the request body is not supported.",
        )
        .with("XmlNodeName", name),
        // Rule F2.
        OperationNotNamed => say(
            400,
            "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.",
        )
        .with("QueryParameterName", "comp")
        .with("QueryParameterValue", "")
        .with("Reason", ""),
        UnsupportedHttpVerb => {
            say(405, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
        }
        InvalidHttpVerb => say(
            400,
            "InvalidHttpVerb",
            "The HTTP verb specified is invalid - it is not recognized by the server.",
        ),

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
        // Rule A12.
        CorsHeaderMissing => say(400, "InvalidHeaderValue", "A required CORS header is not present."),
        CorsPreflightFailure => {
            say(403, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.")
                .with("MessageDetails", "No CORS rules matches this request")
        }
        FeatureVersionMismatch => say(
            409,
            "FeatureVersionMismatch",
            "The operation for the resource is not supported by the version specified in the request.",
        ),
        // As observed by clients that probe for it; the reference does not have it.
        HierarchicalNamespaceNotEnabled => say(
            400,
            "HierarchicalNamespaceNotEnabled",
            "This operation is only supported on a hierarchical namespace account.",
        ),
        OperationTimedOut => {
            say(500, "OperationTimedOut", "The operation could not be completed within the permitted time.")
        }
        ServerBusy => say(503, "ServerBusy", BUSY),
        InternalError => say(500, "InternalError", INTERNAL),
        NotImplemented { what } => {
            say(501, "NotImplemented", "The requested operation is not implemented on the specified resource.")
                .with_any("Reason", what)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "19514c3a-301e-009b-3d93-9c3724000000";

    /// Bodies as the service was recorded to send them.
    #[test]
    fn bodies_are_those_recorded() {
        let time = Timestamp::parse_iso("2022-07-20T23:50:03.6531306Z").expect("a time");
        let reason = "Retention days must be greater than 0 and less than or equal to 365 days.";
        let table = [
            (Refusal::BlobNotFound, "BlobNotFound", "The specified blob does not exist.", String::new()),
            (
                Refusal::InvalidXmlDocument { line: 2, position: 176, reason: reason.into() },
                "InvalidXmlDocument",
                "XML specified is not syntactically valid.",
                format!("<LineNumber>2</LineNumber><LinePosition>176</LinePosition><Reason>{reason}</Reason>"),
            ),
            (
                Refusal::InvalidXmlDocument { line: 0, position: 0, reason: "".into() },
                "InvalidXmlDocument",
                "XML specified is not syntactically valid.",
                "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />".to_owned(),
            ),
            (
                Refusal::RequestBodyTooLarge { limit: 65536 },
                "RequestBodyTooLarge",
                "The request body is too large and exceeds the maximum permissible limit.",
                "<MaxLimit>65536</MaxLimit>".to_owned(),
            ),
            (
                Refusal::InvalidHeaderValue { header: "x-ms-encryption-scope".into(), value: "a<b&c".into() },
                "InvalidHeaderValue",
                "The value for one of the HTTP headers is not in the correct format.",
                "<HeaderName>x-ms-encryption-scope</HeaderName><HeaderValue>a&lt;b&amp;c</HeaderValue>".to_owned(),
            ),
        ];
        for (refusal, code, message, details) in table {
            let body = String::from_utf8(of(&refusal).body(ID, time)).expect("UTF-8");
            assert_eq!(
                body,
                format!(
                    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>{message}\n\
                     RequestId:{ID}\nTime:2022-07-20T23:50:03.6531306Z</Message>{details}</Error>"
                )
            );
        }
    }

    /// The message becomes the reason phrase, and the code a header.
    #[test]
    fn messages_fit_a_status_line() {
        for refusal in [Refusal::LeaseIdMissing, Refusal::AuthenticationFailed { detail: "é\n".into() }] {
            for subject in [Subject::Blob, Subject::Container, Subject::Share, Subject::File] {
                let status = of_subject(&refusal, subject);
                assert!(status.message.bytes().all(|b| (b' '..=b'~').contains(&b)), "{status:?}");
            }
        }
    }

    #[test]
    fn a_characters_that_xml_cannot_hold_are_replaced() {
        let refusal = Refusal::InvalidHeaderValue { header: "x-ms-meta-a".into(), value: "\u{1}\u{ffff}".into() };
        let body = String::from_utf8(of(&refusal).body(ID, Timestamp::from_ticks(0))).expect("UTF-8");
        assert!(body.contains("<HeaderValue>\u{fffd}\u{fffd}</HeaderValue>"), "{body}");
    }

    #[test]
    fn a_401_carries_a_challenge() {
        assert_eq!(of(&Refusal::NoAuthenticationInformation).challenge(), Some(CHALLENGE));
        assert_eq!(of(&Refusal::AuthenticationFailed { detail: "".into() }).challenge(), None);
    }
}
