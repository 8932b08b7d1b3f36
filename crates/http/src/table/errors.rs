//! How this service says no: in JSON, or in XML where the request was about XML. What is said before an operation began is
//! framed differently from what an operation says, and what was found out from the stored state is not to be cached (observed).

use http::{HeaderMap, StatusCode};
use hyper::ext::ReasonPhrase;
use lazuli_model::Timestamp;
use lazuli_model::table::Refused;

use super::answers::{Prefer, prefer};
use super::format::{Format, Level};
use super::json;
use crate::answer::{Answer, name};
use crate::head::{Head, Service};
use crate::refusal::{Denied, Failure, Refusal};
use crate::status::Status;
use crate::wire::xml;

/// What of a request decides how it is refused.
#[derive(Clone, Debug)]
pub struct Manner {
    form: Form,
    /// The operation began.
    admitted: bool,
    preference: Option<Prefer>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Json(Level),
    Xml,
}

impl Manner {
    /// `None` for another service.
    pub fn of(head: &Head) -> Option<Self> {
        if head.service != Service::Table {
            return None;
        }
        let about_xml = head.query.get("comp").is_some() || head.query.get("restype").is_some();
        let form = match Format::wanted(head) {
            _ if about_xml => Form::Xml,
            Ok(Format::Json(level)) => Form::Json(level),
            Ok(Format::Atom) => Form::Xml,
            Err(_) => Form::Json(Level::Minimal),
        };
        Some(Self { form, admitted: false, preference: prefer(head) })
    }

    pub fn admitted(self) -> Self {
        Self { admitted: true, ..self }
    }

    pub fn refuse(
        &self,
        status: &Status,
        failure: &Failure,
        beside: HeaderMap,
        request_id: &str,
        now: Timestamp,
    ) -> Answer {
        let code = StatusCode::from_u16(status.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = Answer::new(code).constant(&name::CONTENT_TYPE_OPTIONS, "nosniff");
        answer.headers.extend(beside);
        if let Some(challenge) = status.challenge() {
            answer = answer.constant(&name::WWW_AUTHENTICATE, challenge);
        }
        // Rule T1: a request with a valid credential is refused as the operation refuses.
        let admitted = self.admitted || is_of_rights(failure);
        // Rule T3.
        if let Some(preference) = self.preference.filter(|_| admitted) {
            answer = answer.constant(&name::PREFERENCE_APPLIED, preference.applied());
        }
        if !admitted || matches!(self.form, Form::Xml) {
            answer = answer.constant(&name::ERROR_CODE, status.code);
            answer.reason = ReasonPhrase::try_from(status.message.as_bytes()).ok();
        }
        match self.form {
            Form::Json(level) => {
                let kind = if admitted { level.content_type() } else { "application/json" };
                if admitted && (is_of_the_state(failure) || is_of_rights(failure)) {
                    answer = answer.constant(&name::CACHE_CONTROL, "no-cache");
                }
                answer.json(kind, error(status, request_id, now))
            }
            Form::Xml => answer.xml(error_xml(status, request_id, now)),
        }
    }
}

/// Whether a refusal is about what a caller may do, and not about who it is.
fn is_of_rights(failure: &Failure) -> bool {
    let rights = [
        Denied::AuthorizationFailure,
        Denied::AuthorizationPermissionMismatch,
        Denied::AuthorizationResourceTypeMismatch,
    ];
    matches!(failure, Failure::Refused(Refusal::Denied(denied)) if rights.contains(denied))
}

/// Whether a refusal came from what an operation did, and not from how the request was written.
pub fn is_of_the_state(failure: &Failure) -> bool {
    let Failure::Refused(refusal) = failure else { return false };
    if let Refusal::InBatch { refusal, .. } = refusal {
        return is_of_the_state(&Failure::Refused((**refusal).clone()));
    }
    let Refusal::Denied(Denied::Table(refused)) = refusal else {
        return *refusal == Refusal::Denied(Denied::ResourceNotFound);
    };
    match refused {
        Refused::NameLength | Refused::TableNotFound | Refused::InvalidInput(_) => false,
        Refused::NotImplemented => false,
        Refused::TableAlreadyExists | Refused::EntityAlreadyExists => true,
        Refused::UpdateConditionNotSatisfied | Refused::PropertiesNeedValue => true,
        Refused::PropertyNameInvalid | Refused::PropertyNameTooLong | Refused::PropertyValueTooLarge => true,
        Refused::TooManyProperties | Refused::EntityTooLarge | Refused::KeyValueTooLarge => true,
        Refused::PrimaryKeyPropertyIsInvalidType | Refused::DuplicatePropertiesSpecified => true,
        Refused::OutOfRange { .. } => true,
        Refused::InvalidDuplicateRow | Refused::CommandsInBatchActOnDifferentPartitions => true,
        Refused::TooManyOperations => true,
        Refused::InBatch { refusal, .. } => is_of_the_state(&Failure::from((**refusal).clone())),
    }
}

pub fn error(status: &Status, request_id: &str, now: Timestamp) -> String {
    let mut out = String::with_capacity(256 + status.message.len());
    out.push_str("{\"odata.error\":{\"code\":");
    json::string(&mut out, status.code);
    out.push_str(",\"message\":{\"lang\":\"en-US\",\"value\":");
    json::string(&mut out, &format!("{}\nRequestId:{request_id}\nTime:{}", status.message, now.to_iso()));
    out.push_str("}}}");
    out
}

fn error_xml(status: &Status, request_id: &str, now: Timestamp) -> String {
    let mut message = String::new();
    xml::escape(&mut message, &status.message);
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
         <m:code>{}</m:code><m:message xml:lang=\"en-US\">{message}\nRequestId:{request_id}\nTime:{}</m:message></m:error>",
        status.code,
        now.to_iso()
    )
}
