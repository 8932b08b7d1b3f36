//! Why a request is refused: a rule denies it, which both protocols know and `model` names, or something is wrong with it as a request of HTTP.

use std::borrow::Cow;

pub use lazuli_model::Refusal as Denied;
use lazuli_model::table::Refused;
use lazuli_store::Fault;

/// Refusals with fields carry what the error body must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// By a rule.
    Denied(Denied),

    // Headers
    InvalidHeaderValue {
        header: Cow<'static, str>,
        value: String,
    },
    MissingRequiredHeader {
        header: Cow<'static, str>,
    },
    ConditionHeadersNotSupported,
    BothCrc64AndMd5HeaderPresent,
    BothCrc64AndMd5RangeHeaderPresent,
    InvalidMd5 {
        value: String,
    },
    MissingContentLengthHeader,

    // The URI
    InvalidUri,
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
    MissingRequiredQueryParameter {
        name: Cow<'static, str>,
    },
    MutuallyExclusiveQueryParameters,
    /// 400, with the code InvalidQueryParameterValue: the root of the File service without `comp`.
    OperationNotNamed,
    UnsupportedHttpVerb,

    // XML
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

    // Tables
    JsonVerboseFormatNotSupported,
    AtomFormatNotSupported,
    MediaTypeNotSupported,
    XMethodNotUsingPost,
    XMethodIncorrectCount,
    XMethodIncorrectValue,
    MethodNotAllowed,
    /// The URI has other keys than an entity has.
    NumberOfKeys {
        resource: String,
    },

    // Requests that hold others, or lead to them
    /// The operation at `index` of an entity group transaction was refused, and so was the whole.
    InBatch {
        index: usize,
        refusal: Box<Refusal>,
    },
    ExceedsMaxBatchRequestCount,
    AllBatchSubRequestsShouldBeSameApi,
    BothUserTagsAndSourceTagsCopyPresent,
    /// The source's own answer, passed on.
    CannotVerifyCopySource {
        status: u16,
        code: Cow<'static, str>,
        message: Cow<'static, str>,
    },
    CorsPreflightFailure,
    /// 400, with the code InvalidHeaderValue: a preflight that does not say what is asked for.
    CorsHeaderMissing,
    HierarchicalNamespaceNotSupported {
        what: Cow<'static, str>,
    },
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        if let Denied::Table(Refused::InBatch { index, refusal }) = denied {
            return Refusal::InBatch { index, refusal: Box::new((*refusal).into()) };
        }
        Refusal::Denied(denied)
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Denied::from(refused).into()
    }
}

/// Why an operation did not come about: it was refused, or something of ours is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Refused(Refusal),
    Broken(Fault),
}

impl From<lazuli_store::Failure> for Failure {
    fn from(failure: lazuli_store::Failure) -> Self {
        match failure {
            lazuli_store::Failure::Refused(denied) => Failure::Refused(denied.into()),
            lazuli_store::Failure::Broken(fault) => Failure::Broken(fault),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(refusal)
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        Failure::Refused(denied.into())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::Broken(fault)
    }
}
