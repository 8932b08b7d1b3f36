//! How each refusal looks on the wire: status, code, message and detail elements, as Azure words them. Messages were
//! taken from recorded answers of the service where there are any, and otherwise from the reference.

use std::borrow::Cow;
use std::fmt::Write as _;

pub mod denied;

use lazuli_model::Timestamp;
use lazuli_store::Fault;

use crate::refusal::{Failure, Refusal};
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

/// What is said in one way, whatever the request is about, is said here; the rest in the table of what is denied.
pub fn of_subject(refusal: &Refusal, subject: Subject) -> Status {
    use Refusal::*;
    let say = Status::new;
    match refusal {
        Denied(denied) => denied::of(denied, subject),
        ConditionHeadersNotSupported => {
            say(400, "ConditionHeadersNotSupported", "Condition headers are not supported.")
        }
        ExceedsMaxBatchRequestCount => say(
            400,
            "ExceedsMaxBatchRequestCount",
            "The batch operation exceeds maximum number of allowed subrequests.",
        ),
        AllBatchSubRequestsShouldBeSameApi => {
            say(400, "AllBatchSubRequestsShouldBeSameApi", "All batch subrequests should be the same api.")
        }
        HierarchicalNamespaceNotSupported { what } => say(
            409,
            "FeatureNotSupportedForHierarchicalNamespaceAccount",
            "This feature is not supported for hierarchical namespace accounts.",
        )
        .with_any("Reason", what),
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
        InvalidMd5 { value } => say(
            400,
            "InvalidMd5",
            "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.",
        )
        .with_any("UserSpecifiedMd5", value),
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
        MissingContentLengthHeader => {
            say(411, "MissingContentLengthHeader", "The Content-Length header was not specified.")
        }
        InvalidHeaderValue { header, value } => {
            say(400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
                .with("HeaderName", header.as_ref())
                .with("HeaderValue", value)
        }
        MissingRequiredHeader { header } => {
            say(400, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
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
        InvalidUri => say(400, "InvalidUri", "The requested URI does not represent any resource on the server."),
        InvalidXmlDocument { line, position, reason } => {
            say(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
                .with("LineNumber", line.to_string())
                .with("LinePosition", position.to_string())
                .with("Reason", reason.as_ref())
        }
        InvalidXmlNodeValue { name, value, reason } => {
            say(400, "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.")
                .with("XmlNodeName", name.as_ref())
                .with("XmlNodeValue", value)
                .with_any("Reason", reason)
        }
        MissingRequiredXmlNode { name } => {
            say(400, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.")
                .with("XmlNodeName", name.as_ref())
        }
        UnsupportedXmlNode { name } => {
            say(400, "UnsupportedXmlNode", "One of the XML nodes specified in the request body is not supported.")
                .with("XmlNodeName", name)
        }
        // Rule F2.
        OperationNotNamed => say(
            400,
            "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.",
        )
        .with("QueryParameterName", "comp")
        .with("QueryParameterValue", "")
        .with("Reason", ""),
        UnsupportedHttpVerb => say(405, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb."),
        // Rule A12.
        CorsHeaderMissing => say(400, "InvalidHeaderValue", "A required CORS header is not present."),
        CorsPreflightFailure => {
            say(403, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.")
                .with("MessageDetails", "No CORS rules matches this request")
        }
        NumberOfKeys { resource } => Status::new(
            400,
            "InvalidInput",
            format!(
                "The number of keys specified in the URI does not match number of key properties for the resource '{resource}'."
            ),
        ),
        JsonVerboseFormatNotSupported => {
            say(415, "JsonVerboseFormatNotSupported", "The JSON verbose format is not supported.")
        }
        AtomFormatNotSupported => say(415, "AtomFormatNotSupported", "Atom format is not supported."),
        MediaTypeNotSupported => say(415, "MediaTypeNotSupported", "None of the provided media types are supported"),
        XMethodNotUsingPost => {
            say(400, "XMethodNotUsingPost", "The request uses X-HTTP-Method with a HTTP verb other than POST.")
        }
        XMethodIncorrectCount => say(400, "XMethodIncorrectCount", "More than one X-HTTP-Method is specified."),
        XMethodIncorrectValue => say(400, "XMethodIncorrectValue", "The specified X-HTTP-Method is invalid."),
        MethodNotAllowed => {
            say(405, "MethodNotAllowed", "The requested method is not allowed on the specified resource.")
        }
        InBatch { index, refusal } => {
            let status = of(refusal);
            Status { message: format!("{index}:{}", status.message).into(), ..status }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Denied;

    const ID: &str = "19514c3a-301e-009b-3d93-9c3724000000";

    /// Bodies as the service was recorded to send them.
    #[test]
    fn bodies_are_those_recorded() {
        let time = Timestamp::parse_iso("2022-07-20T23:50:03.6531306Z").expect("a time");
        let reason = "Retention days must be greater than 0 and less than or equal to 365 days.";
        let table = [
            (
                Refusal::Denied(Denied::BlobNotFound),
                "BlobNotFound",
                "The specified blob does not exist.",
                String::new(),
            ),
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
                Refusal::Denied(Denied::RequestBodyTooLarge { limit: 65536 }),
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
        for refusal in [
            Refusal::Denied(Denied::LeaseIdMissing),
            Refusal::Denied(Denied::AuthenticationFailed { detail: "é\n".into() }),
        ] {
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
        assert_eq!(of(&Refusal::Denied(Denied::NoAuthenticationInformation)).challenge(), Some(CHALLENGE));
        assert_eq!(of(&Refusal::Denied(Denied::AuthenticationFailed { detail: "".into() })).challenge(), None);
    }
}
