//! How this endpoint says no: in JSON, and of paths and file systems where the Blob API speaks of blobs and containers.

use http::{HeaderMap, StatusCode};
use hyper::ext::ReasonPhrase;
use lazuli_model::Timestamp;
use serde_json::json;

use crate::answer::{Answer, name};
use crate::refusal::{Denied, Failure, Refusal};
use crate::status::{self, Status, Subject};

/// The code and message of a refusal, as this endpoint words it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not said otherwise here is said as the Blob service says it"
)]
pub fn status(failure: &Failure) -> Status {
    let say = Status::new;
    let Failure::Refused(Refusal::Denied(denied)) = failure else { return status::of_failure(failure, Subject::Blob) };
    match denied {
        Denied::BlobNotFound | Denied::BlobSoftDeleted => {
            say(404, "PathNotFound", "The specified path does not exist.")
        }
        Denied::ContainerNotFound => say(404, "FilesystemNotFound", "The specified filesystem does not exist."),
        Denied::ContainerAlreadyExists => {
            say(409, "FilesystemAlreadyExists", "The specified filesystem already exists.")
        }
        Denied::ContainerBeingDeleted => {
            say(409, "FilesystemBeingDeleted", "The specified filesystem is being deleted.")
        }
        Denied::BlobAlreadyExists => say(409, "PathAlreadyExists", "The specified path already exists."),
        Denied::LeaseIdMissing => say(
            412,
            "LeaseIdMissing",
            "There is currently a lease on the resource and no lease ID was specified in the request.",
        ),
        Denied::LeaseNotPresentWithBlobOperation | Denied::LeaseNotPresentWithContainerOperation => {
            say(412, "LeaseNotPresent", "There is currently no lease on the resource.")
        }
        Denied::LeaseNotPresentWithLeaseOperation => {
            say(409, "LeaseNotPresent", "There is currently no lease on the resource.")
        }
        Denied::LeaseIdMismatchWithBlobOperation | Denied::LeaseIdMismatchWithContainerOperation => say(
            412,
            "LeaseIdMismatch",
            "The lease ID specified did not match the lease ID for the resource with the specified lease operation.",
        ),
        Denied::LeaseIdMismatchWithLeaseOperation => say(
            409,
            "LeaseIdMismatch",
            "The lease ID specified did not match the lease ID for the resource with the specified lease operation.",
        ),
        Denied::SourceConditionNotMet => say(
            412,
            "SourceConditionNotMet",
            "The source condition specified using HTTP conditional header(s) is not met.",
        ),
        Denied::Md5Mismatch { .. } => say(
            400,
            "Md5Mismatch",
            "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
        ),
        Denied::Crc64Mismatch { .. } => say(
            400,
            "Crc64Mismatch",
            "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
        ),
        // On this endpoint a request without credentials is 403 and gets no challenge (observed).
        Denied::NoAuthenticationInformation | Denied::ResourceNotFound => {
            status::denied::of(&Denied::AuthenticationFailed { detail: "".into() }, Subject::Blob)
        }
        Denied::ResourceTypeMismatch => say(
            409,
            "PathConflict",
            "The specified path, or an element of the path, exists and its resource type is invalid for this operation.",
        ),
        Denied::DirectoryNotEmpty => say(
            409,
            "DirectoryNotEmpty",
            "The recursive query parameter value must be true to delete a non-empty directory.",
        ),
        denied => status::denied::of(denied, Subject::Blob),
    }
}

/// As the Blob service refuses, in the JSON of this endpoint.
pub fn answer(failure: &Failure, beside: HeaderMap, head_only: bool, request_id: &str, now: Timestamp) -> Answer {
    let status = status(failure);
    let code = StatusCode::from_u16(status.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = Answer::new(code).constant(&name::ERROR_CODE, status.code);
    answer.headers.extend(beside);
    answer.reason = ReasonPhrase::try_from(status.message.as_bytes()).ok();
    if head_only || code == StatusCode::NOT_MODIFIED {
        return answer;
    }
    let message = format!("{}\nRequestId:{request_id}\nTime:{}", status.message, now.to_iso());
    let error = json!({ "code": status.code, "message": message }).to_string();
    let body = match status.details.as_slice() {
        // A blank behind the comma, as observed.
        [("HeaderName", header), ("HeaderValue", value)] => {
            let (header, value) = (json!(header), json!(value));
            let detail = format!(",\"detail\":{{\"HeaderName\":{header}, \"HeaderValue\":{value}}}}}");
            format!("{{\"error\":{}{detail}}}", error.trim_end_matches('}'))
        }
        _ => format!("{{\"error\":{error}}}"),
    };
    answer.json("application/json;charset=utf-8", body)
}
