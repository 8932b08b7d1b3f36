//! Statuses that a server answers with, by name ([MS-ERREF] 2.3). Which refusal becomes which of them is for the commands to say.

macro_rules! statuses {
    ($($name:ident = $code:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Status {
            $($name,)*
        }

        impl Status {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub const fn code(self) -> u32 {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

statuses! {
    Success = 0x0000_0000,
    Pending = 0x0000_0103,
    NotifyCleanup = 0x0000_010b,
    NotifyEnumDir = 0x0000_010c,
    BufferOverflow = 0x8000_0005,
    NoMoreFiles = 0x8000_0006,
    StoppedOnSymlink = 0x8000_002d,
    Unsuccessful = 0xc000_0001,
    NotImplemented = 0xc000_0002,
    InvalidInfoClass = 0xc000_0003,
    InfoLengthMismatch = 0xc000_0004,
    InvalidHandle = 0xc000_0008,
    InvalidViewSize = 0xc000_001f,
    InvalidParameter = 0xc000_000d,
    NoSuchDevice = 0xc000_000e,
    NoSuchFile = 0xc000_000f,
    InvalidDeviceRequest = 0xc000_0010,
    EndOfFile = 0xc000_0011,
    MoreProcessingRequired = 0xc000_0016,
    AccessDenied = 0xc000_0022,
    BufferTooSmall = 0xc000_0023,
    ObjectTypeMismatch = 0xc000_0024,
    ObjectNameInvalid = 0xc000_0033,
    ObjectNameNotFound = 0xc000_0034,
    ObjectNameCollision = 0xc000_0035,
    ObjectPathInvalid = 0xc000_0039,
    ObjectPathNotFound = 0xc000_003a,
    ObjectPathSyntaxBad = 0xc000_003b,
    SharingViolation = 0xc000_0043,
    QuotaExceeded = 0xc000_0044,
    EasNotSupported = 0xc000_004f,
    EaTooLarge = 0xc000_0050,
    FileLockConflict = 0xc000_0054,
    LockNotGranted = 0xc000_0055,
    DeletePending = 0xc000_0056,
    PrivilegeNotHeld = 0xc000_0061,
    LogonFailure = 0xc000_006d,
    AccountRestriction = 0xc000_006e,
    PasswordExpired = 0xc000_0071,
    InvalidAcl = 0xc000_0077,
    InvalidSid = 0xc000_0078,
    InvalidOwner = 0xc000_005a,
    InvalidSecurityDescr = 0xc000_0079,
    RangeNotLocked = 0xc000_007e,
    DiskFull = 0xc000_007f,
    BadImpersonationLevel = 0xc000_00a5,
    InsufficientResources = 0xc000_009a,
    MediaWriteProtected = 0xc000_00a2,
    PipeNotAvailable = 0xc000_00ac,
    InvalidPipeState = 0xc000_00ad,
    PipeBusy = 0xc000_00ae,
    PipeDisconnected = 0xc000_00b0,
    PipeClosing = 0xc000_00b1,
    InvalidReadMode = 0xc000_00b4,
    IoTimeout = 0xc000_00b5,
    FileIsADirectory = 0xc000_00ba,
    NotSupported = 0xc000_00bb,
    BadNetworkPath = 0xc000_00be,
    RequestNotAccepted = 0xc000_00d0,
    NetworkAccessDenied = 0xc000_00ca,
    BadDeviceType = 0xc000_00cb,
    BadNetworkName = 0xc000_00cc,
    NotSameDevice = 0xc000_00d4,
    FileRenamed = 0xc000_00d5,
    InvalidOplockProtocol = 0xc000_00e3,
    InternalError = 0xc000_00e5,
    UnexpectedIoError = 0xc000_00e9,
    DirectoryNotEmpty = 0xc000_0101,
    NotADirectory = 0xc000_0103,
    Cancelled = 0xc000_0120,
    CannotDelete = 0xc000_0121,
    FileDeleted = 0xc000_0123,
    FileClosed = 0xc000_0128,
    FsDriverRequired = 0xc000_019c,
    UserSessionDeleted = 0xc000_0203,
    InsuffServerResources = 0xc000_0205,
    InvalidBufferSize = 0xc000_0206,
    NotFound = 0xc000_0225,
    PathNotCovered = 0xc000_0257,
    NetworkNameDeleted = 0xc000_00c9,
    VolumeDismounted = 0xc000_026e,
    NotAReparsePoint = 0xc000_0275,
    NetworkSessionExpired = 0xc000_035c,
    ServerUnavailable = 0xc000_0466,
    FileNotAvailable = 0xc000_0467,
    ShareUnavailable = 0xc000_0480,
    InvalidLockRange = 0xc000_01a1,
    TooManyOpenedFiles = 0xc000_011f,
    TooManySessions = 0xc000_00ce,
    HandleNoLongerValid = 0xc019_0028,
    HashNotPresent = 0xc000_a101,
    SmbBadClusterDialect = 0xc05d_0001,
    SmbNoPreauthIntegrityHashOverlap = 0xc05d_0000,
    SmbGuestLogonBlocked = 0xc05d_0002,
    InvalidSignature = 0xc000_a000,
    UnmappableCharacter = 0xc000_0162,
    DuplicateObjectid = 0xc000_022a,
    IoReparseTagNotHandled = 0xc000_0279,
    RequestOutOfSequence = 0xc000_042a,
    CryptoSystemInvalid = 0xc000_02f3,
}

impl Status {
    /// The two highest bits are set: nothing was done.
    pub const fn is_error(self) -> bool {
        self.code() >> 30 == 3
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_status_has_one_name_and_one_number() {
        let codes: HashSet<u32> = Status::ALL.iter().map(|status| status.code()).collect();
        assert_eq!(codes.len(), Status::ALL.len());
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(*status), "{}", status.name());
        }
        assert!(Status::AccessDenied.is_error());
        assert!(!Status::BufferOverflow.is_error());
        assert!(!Status::Pending.is_error());
        assert_eq!(Status::from_code(0xdead_beef), None);
    }
}
