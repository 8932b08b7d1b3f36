//! Every "no" of the protocol, named as Azure names it. `http::status` says how each one looks on the wire.

use std::borrow::Cow;

/// Refusals with fields carry what the error body must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    // Conditions
    /// 412.
    ConditionNotMet,
    /// 304, also with the code ConditionNotMet: a read's If-None-Match or If-Modified-Since.
    NotModified,
    MultipleConditionHeadersNotSupported,
    ConditionHeadersNotSupported,
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
    /// 400: the account is of a kind that has no such blobs.
    BlobTypeNotSupported {
        why: &'static str,
    },
    /// 400: the account is of a kind that has no tiers.
    BlobAccessTierNotSupportedForAccountType,
    /// 404, with the code BlobNotFound and a header that says why.
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
    InvalidBlobType,
    InvalidBlockId,
    InvalidBlockList,
    /// Delete, of the current version by its id.
    OperationNotAllowedOnRootBlob,
    PermanentDeleteNotEnabled,
    ExceedsMaxBatchRequestCount,
    AllBatchSubRequestsShouldBeSameApi,
    ResourceNotFound,
    ResourceTypeMismatch,
    SnapshotsPresent,
    SnapshotCountExceeded,
    TagsTooLarge,
    DuplicateTagNames,
    EmptyTagName,
    InvalidTag,
    UnauthorizedBlobOverwrite,

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
    RequestForbiddenByContainerEncryptionPolicy,
    /// The account does not allow immutability policies and legal holds.
    ImmutabilityNotEnabled,

    // Copies
    BothUserTagsAndSourceTagsCopyPresent,
    /// The source's own answer, passed on.
    CannotVerifyCopySource {
        status: u16,
        code: Cow<'static, str>,
        message: Cow<'static, str>,
    },
    CopyIdMismatch,
    InvalidSourceBlobType,
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
    ContainerQuotaDowngradeNotAllowed,
    DeletePending,
    DeleteShareWhenSnapshotLeased,
    DirectoryNotEmpty,
    FileInvalidPermission,
    FileLockConflict,
    FileShareProvisionedBandwidthInvalid,
    FileShareProvisionedIopsInvalid,
    InvalidFileOrDirectoryPathName,
    ParentNotFound,
    ReadOnlyAttribute,
    ResourceAlreadyExists,
    ShareAlreadyExists,
    ShareBeingDeleted,
    ShareHasSnapshots,
    ShareNotFound,
    /// The files would be longer than the share's quota.
    ShareSizeLimitReached,
    ShareSnapshotNotFound,
    ShareSnapshotCountExceeded,
    ShareSnapshotOperationNotSupported,
    SharingViolation,

    // Paths of a hierarchical namespace
    ExpiryNotSupportedForDirectory,
    HierarchicalNamespaceNotSupported {
        what: Cow<'static, str>,
    },
    InvalidAccessControlList,
    InvalidContinuation,
    InvalidFlushPosition,
    InvalidPermission,
    InvalidRenameSourcePath,
    PathAlreadyExists {
        is_directory: bool,
    },
    SourcePathNotFound,

    // Tables and entities
    Table(crate::table::Refused),

    // Content
    Crc64Mismatch {
        user: String,
        server: String,
    },
    InvalidMd5 {
        value: String,
    },
    Md5Mismatch {
        user: String,
        server: String,
    },
    BothCrc64AndMd5HeaderPresent,
    BothCrc64AndMd5RangeHeaderPresent,
    InvalidRange,
    RequestBodyTooLarge {
        limit: u64,
    },
    MissingContentLengthHeader,
    /// The client sent fewer bytes than it said, or broke the framing of the body.
    InvalidInput {
        reason: Cow<'static, str>,
    },

    // Names, headers, queries, XML
    EmptyMetadataKey,
    InvalidMetadata,
    MetadataTooLarge,
    InvalidHeaderValue {
        header: Cow<'static, str>,
        value: String,
    },
    MissingRequiredHeader {
        header: Cow<'static, str>,
    },
    UnsupportedHeader {
        header: Cow<'static, str>,
    },
    InvalidQueryParameterValue {
        name: Cow<'static, str>,
        value: String,
        reason: Cow<'static, str>,
    },
    OutOfRangeQueryParameterValue {
        name: Cow<'static, str>,
        value: String,
        least: String,
        most: String,
    },
    MutuallyExclusiveQueryParameters,
    MissingRequiredQueryParameter {
        name: Cow<'static, str>,
    },
    /// 400, with the code InvalidQueryParameterValue and a message of its own: the `where` of Find Blobs by Tags.
    InvalidTagQuery {
        query: String,
        message: String,
    },
    UnsupportedQueryParameter {
        name: Cow<'static, str>,
        value: String,
    },
    InvalidResourceName,
    /// 400, with the code OutOfRangeInput: a name that is too short or too long.
    ResourceNameLength,
    OutOfRangeInput,
    InvalidUri,
    RequestUrlFailedToParse,
    /// `line` and `position` count from 1; both are 0, and `reason` empty, where Azure says no more.
    InvalidXmlDocument {
        line: u32,
        position: u32,
        reason: Cow<'static, str>,
    },
    InvalidXmlNodeValue {
        name: Cow<'static, str>,
        value: String,
        reason: Cow<'static, str>,
    },
    MissingRequiredXmlNode {
        name: Cow<'static, str>,
    },
    UnsupportedXmlNode {
        name: String,
    },
    /// 400, with the code InvalidQueryParameterValue: the root of the File service without `comp`.
    OperationNotNamed,
    UnsupportedHttpVerb,
    InvalidHttpVerb,

    // Who may
    AuthenticationFailed {
        detail: Cow<'static, str>,
    },
    /// 400: the Authorization header is not of the form that its scheme has.
    InvalidAuthenticationInfo,
    /// 401, with the code InvalidAuthenticationInfo: a bearer token that is not accepted.
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
    /// 403, with the code InsufficientAccountPermissions: the secondary is for reading.
    SecondaryIsReadOnly,
    PublicAccessNotPermitted,
    /// 400: plain http, to an account that wants none.
    AccountRequiresHttps {
        account: String,
    },
    TlsVersionNotPermitted,
    /// 403: the account's keys sign nothing.
    KeyBasedAuthenticationNotPermitted,
    CorsPreflightFailure,
    /// 400, with the code InvalidHeaderValue: a preflight that does not say what is asked for.
    CorsHeaderMissing,

    // The service itself
    FeatureVersionMismatch,
    /// A call of the Data Lake API on a flat account.
    HierarchicalNamespaceNotEnabled,
    OperationTimedOut,
    ServerBusy,
    InternalError,
    /// 501: the operation or header exists in Azure and not here (docs/fidelity.md).
    NotImplemented {
        what: Cow<'static, str>,
    },
}
