//! Every "no" of a rule, named as Azure names it. Each protocol has its own words for them: `http/status`, `smb/refusal.rs`. What is wrong
//! with a request as such, with its headers or its XML, only the protocol knows: `http/refusal.rs`.

use std::borrow::Cow;

use crate::Timestamp;
use crate::blob::Which;

/// Refusals with fields carry what an error message must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    // Conditions
    ConditionNotMet,
    /// A read's condition says that the reader has it already.
    NotModified,
    MultipleConditionsNotSupported,
    UnsatisfiableCondition,

    // Leases
    InfiniteLeaseDurationRequired,
    LeaseAlreadyBroken,
    LeaseAlreadyPresent,
    LeaseIdMismatchWithBlobOperation,
    LeaseIdMismatchWithContainerOperation,
    LeaseIdMismatchWithFileOperation,
    LeaseIdMismatchWithLeaseOperation,
    LeaseIdMissing,
    LeaseIsBreakingAndCannotBeAcquired,
    LeaseIsBreakingAndCannotBeChanged,
    LeaseIsBrokenAndCannotBeRenewed,
    LeaseLost,
    LeaseNotPresentWithBlobOperation,
    LeaseNotPresentWithContainerOperation,
    LeaseNotPresentWithFileOperation,
    LeaseNotPresentWithLeaseOperation,

    // Containers and blobs
    BlobAlreadyExists,
    AccessTierNotSupportedForBlobType,
    BlobArchived,
    BlobBeingRehydrated,
    BlobImmutableDueToLegalHold,
    BlobImmutableDueToPolicy,
    BlobNotFound,
    /// The account is of a kind that has no such blobs.
    BlobTypeNotSupported {
        why: &'static str,
    },
    /// The account is of a kind that has no tiers.
    BlobAccessTierNotSupportedForAccountType,
    /// There is no such blob, but a deleted one that could be restored.
    BlobSoftDeleted,
    BlobSnapshotNotSoftDeleted,
    BlobTierInadequateForContentLength,
    CannotChangeToLowerTier,
    BlockCountExceedsLimit,
    BlockListTooLong,
    ContainerAlreadyExists,
    ContainerBeingDeleted,
    ContainerHasLegalHold,
    ContainerImmutabilityPolicyLocked,
    ContainerNotFound,
    InvalidBlobOrBlock,
    InvalidBlobTier,
    /// A write into the destination of object replication.
    BlobOperationNotSupported,
    InvalidBlobType,
    InvalidBlockId {
        id: String,
        reason: &'static str,
    },
    InvalidBlockList,
    /// Delete, of the current version by its id.
    OperationNotAllowedOnRootBlob,
    PermanentDeleteNotEnabled,
    ResourceNotFound,
    ResourceTypeMismatch,
    /// A snapshot or a version has no snapshots of its own that could be deleted with it.
    SnapshotsOfSnapshot {
        which: Which,
    },
    SnapshotsPresent,
    TagsTooLarge,
    DuplicateTagNames,
    EmptyTagName,
    InvalidTag,
    InvalidTagCondition {
        text: String,
    },
    /// A search that cannot be read, with what to say of it.
    InvalidTagQuery {
        query: String,
        message: String,
    },
    UnauthorizedBlobOverwrite,
    /// It would be a deletion, without a deletion's permission.
    ExpiryTimePassed {
        time: Timestamp,
    },
    /// A position in a listing that no listing gave out.
    InvalidMarker {
        marker: String,
    },
    InvalidStoredPolicies,

    // Page and append blobs
    AppendPositionConditionNotMet,
    BlobIsSealed,
    BlobOverwritten,
    IncrementalCopyBlobMismatch,
    IncrementalCopyOfEarlierSnapshotNotAllowed,
    IncrementalCopySourceMustBeSnapshot,
    OperationNotAllowedOnIncrementalCopyBlob,
    InvalidPageRange,
    MaxBlobSizeConditionNotMet,
    PreviousSnapshotCannotBeNewer,
    PreviousSnapshotNotFound,
    SequenceNumberConditionNotMet,
    SequenceNumberIncrementTooLarge,
    // Encryption
    BlobCustomerSpecifiedEncryptionMismatch,
    BlobDoesNotUseCustomerSpecifiedEncryption,
    BlobUsesCustomerSpecifiedEncryption,
    /// A scope that exists and was disabled: nothing in it can be read or written.
    EncryptionScopeDisabled,
    /// There is no such scope, or it contradicts what else was asked for.
    InvalidEncryptionScope {
        name: String,
    },
    RequestForbiddenByContainerEncryptionPolicy,
    /// The account does not allow immutability policies and legal holds.
    ImmutabilityNotEnabled,

    // Copies
    CopyIdMismatch,
    NoPendingCopyOperation,
    PendingCopyOperation,
    SourceConditionNotMet,
    TargetConditionNotMet,

    // Queues and messages
    MessageNotFound,
    PopReceiptMismatch,
    QueueAlreadyExists,
    QueueNotFound,

    // Shares, directories and files
    CannotDeleteFileOrDirectory,
    ClientCacheFlushDelay,
    DeletePending,
    DeleteShareWhenSnapshotLeased,
    DirectoryNotEmpty,
    FileInvalidPermission,
    FileLockConflict,
    InvalidFileOrDirectoryPathName,
    ParentNotFound,
    ReadOnlyAttribute,
    ResourceAlreadyExists,
    ShareAlreadyExists,
    ShareHasSnapshots,
    ShareNotFound,
    /// The files would be longer than the share's quota.
    ShareSizeLimitReached,
    ShareSnapshotNotFound,
    ShareSnapshotCountExceeded,
    ShareSnapshotOperationNotSupported,
    SharingViolation,

    // Paths of a hierarchical namespace
    DelimiterNotSupported {
        delimiter: String,
    },
    /// What cannot be done to the root of a tree.
    PathIsRoot,
    ExpiryNotSupportedForDirectory,
    InvalidAccessControlList,
    InvalidContinuation,
    InvalidFlushPosition,
    InvalidPermission,
    InvalidRenameSourcePath,
    InvalidSourceOrDestinationResourceType,
    PathAlreadyExists {
        is_directory: bool,
    },
    RenameDestinationParentPathNotFound,
    SourcePathNotFound,

    // Tables and entities
    Table(crate::table::Refused),

    // Content
    Crc64Mismatch {
        user: String,
        server: String,
    },
    Md5Mismatch {
        user: String,
        server: String,
    },
    InvalidRange,
    RequestBodyTooLarge {
        limit: u64,
    },
    BodyTooLong,
    BodyTooShort,
    /// The client went away before the end.
    BodyBrokenOff,
    InvalidInput {
        reason: Cow<'static, str>,
    },

    // Names and metadata
    EmptyMetadataKey,
    InvalidMetadata,
    MetadataTooLarge,
    InvalidResourceName,
    /// A name that is too short or too long.
    ResourceNameLength,
    OutOfRangeInput,

    // Who may
    AuthenticationFailed {
        detail: Cow<'static, str>,
    },
    /// A credential that is not of the form that its scheme has.
    InvalidAuthenticationInfo,
    /// A bearer token that is not accepted.
    InvalidAccessToken {
        detail: Cow<'static, str>,
    },
    NoAuthenticationInformation,
    AuthorizationFailure,
    AuthorizationPermissionMismatch,
    AuthorizationProtocolMismatch,
    AuthorizationResourceTypeMismatch,
    AuthorizationServiceMismatch,
    AuthorizationSourceIpMismatch,
    InsufficientAccountPermissions,
    /// The secondary is for reading.
    SecondaryIsReadOnly,
    PublicAccessNotPermitted,
    /// Without encryption, to an account that wants none of that.
    AccountRequiresHttps {
        account: String,
    },
    TlsVersionNotPermitted,
    /// The account's keys sign nothing.
    KeyBasedAuthenticationNotPermitted,

    // The service itself
    /// A call of the Data Lake API on a flat account.
    HierarchicalNamespaceNotEnabled,
    OperationTimedOut,
    ServerBusy,
    /// Of one file or directory, over SMB.
    TooManyHandles,
    /// Of one file, over SMB.
    TooManyLocks,
    InternalError,
}
