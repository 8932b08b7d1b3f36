//! The console's API (docs/lab-api.md): log in, look at records, make trouble, and reach the services from the page.
//!
//! Held true:
//! * a credential of the data plane opens the data plane and the record of its own account, and never the lab;
//! * the lab's paths do not exist unless the server was started with `--lab`;
//! * a client that is not known gets nothing but 401, and what is changed with a cookie needs the CSRF header too.

mod data_plane;
mod lab;
mod login;
pub mod loopback;
mod opens;
mod records;
mod sas;
pub mod session;
mod status;

use std::net::IpAddr;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::console::Console;
pub use sas::encoded;
use session::Session;

pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;
pub type Answer = Response<Body>;

/// What a document may be long.
const DOCUMENT_MAX: usize = 64 << 10;

/// Why a request is not answered with what it asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "there is nothing here; docs/lab-api.md says what there is")
    }

    fn no_session() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "NoSession", "log in first: POST /api/session")
    }
}

pub type Told = Result<Answer, Refused>;

/// Who asks.
pub enum Caller {
    /// By the operator's token.
    Operator,
    Session(Box<Session>),
}

impl Caller {
    fn is_operator(&self) -> bool {
        match self {
            Caller::Operator => true,
            Caller::Session(session) => session.operator,
        }
    }

    fn operator(&self) -> Result<(), Refused> {
        match self.is_operator() {
            true => Ok(()),
            false => Err(Refused::forbidden("this needs the operator's token: POST /api/session/operator")),
        }
    }

    /// The account whose records it may see; `None` is all.
    fn sees(&self) -> Result<Option<String>, Refused> {
        match self {
            Caller::Operator => Ok(None),
            Caller::Session(session) => session.sees().map_err(|()| {
                Refused::forbidden("the record of an account is for its key; log in with that, or as operator")
            }),
        }
    }
}

/// Whether a path is this API's.
pub fn is_ours(path: &str) -> bool {
    path.starts_with("/api/") || path.starts_with("/data/")
}

impl Console {
    /// Answers what [`is_ours`].
    pub async fn answer_api(&self, request: Request<Incoming>, peer: IpAddr, own: IpAddr) -> Answer {
        self.route(request, peer, own).await.unwrap_or_else(|refused| {
            json_with(refused.status, &serde_json::json!({"error": {"code": refused.code, "message": refused.message}}))
        })
    }

    fn caller(&self, request: &Request<Incoming>, peer: IpAddr, own: IpAddr) -> Result<Caller, Refused> {
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if self.admin.admits(header, peer, own) {
            return Ok(Caller::Operator);
        }
        let session = self.sessions.of(request.headers(), &self.cookie).ok_or_else(Refused::no_session)?;
        let session = session.asked_from(peer, own);
        let path = request.uri().path();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let safe = path.starts_with("/api/") || path.starts_with("/data/blob/") || path.starts_with("/data/file/");
        let needs_csrf = !(reads && safe);
        if needs_csrf && !session.has_csrf(request.headers()) {
            let message = "send the csrf of the session in the header X-Lazuli-CSRF";
            return Err(Refused::new(StatusCode::FORBIDDEN, "CsrfMissing", message));
        }
        Ok(Caller::Session(Box::new(session)))
    }

    async fn route(&self, request: Request<Incoming>, peer: IpAddr, own: IpAddr) -> Told {
        let path = request.uri().path().to_owned();
        if path == "/api/session" && request.method() == Method::POST {
            return self.log_in(request, peer, own).await;
        }
        let caller = self.caller(&request, peer, own)?;
        if let Caller::Session(session) = &caller
            && !session.credential.is_current(&self.edge, &self.data.store).await
        {
            self.sessions.end(&session.id);
            return Err(Refused::no_session());
        }
        if let Some(rest) = path.strip_prefix("/data/") {
            return self.forward(&caller, rest, request, peer).await;
        }
        let path: Vec<&str> = path.split('/').skip(2).collect();
        let method = request.method().as_str().to_owned();
        match (method.as_str(), path.as_slice()) {
            (_, ["session", ..]) => self.of_session(&caller, request, peer, own).await,
            ("GET", ["server"]) => self.describe_server(&caller),
            ("GET", ["health"]) => self.describe_health().await,
            ("GET", ["metrics"]) => self.describe_metrics(&caller).await,
            ("GET", ["accounts"]) => self.list_accounts(&caller).await,
            ("POST", ["accounts", name, "settings"]) => {
                let name = (*name).to_owned();
                self.set_account(&caller, &name, document(request).await?).await
            }
            ("GET", ["log"]) => self.tail(&caller, &request),
            ("GET", ["records"]) => self.list_records(&caller, &request),
            ("GET", ["timeline"]) => self.timeline(&caller, &request),
            ("GET", ["explain", id]) => self.explain(&caller, id),
            ("GET", ["leases"]) => self.live_leases(&caller),
            ("GET", ["messages"]) => self.live_messages(&caller),
            ("GET", ["hot"]) => self.hottest(&caller, &request),
            ("GET", ["opens"]) => self.live_opens(&caller).await,
            ("GET", ["events"]) => self.events(caller, &request),
            ("POST", ["sas"]) => self.make_sas(&caller, document(request).await?),
            ("POST", ["sas", "check"]) => self.check_sas(&caller, document(request).await?, peer).await,
            (_, ["lab", rest @ ..]) => self.lab(&caller, &method, rest, request).await,
            _ => Err(Refused::not_found()),
        }
    }
}

/// The body of a request, read as JSON.
async fn document<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Refused> {
    let body = Limited::new(request.into_body(), DOCUMENT_MAX).collect().await;
    let bytes = body.map_err(|_| Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", "at most 64 KiB"))?.to_bytes();
    let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
    serde_json::from_slice(&bytes).map_err(|error| Refused::bad(error.to_string()))
}

/// A parameter of the query, decoded.
fn parameter(request: &Request<Incoming>, name: &str) -> Option<String> {
    let query = lazuli_http::Query::parse(request.uri().query().unwrap_or_default()).ok()?;
    query.get(name).map(str::to_owned)
}

pub fn body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

fn json(value: &impl Serialize) -> Answer {
    json_with(StatusCode::OK, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Answer {
    let mut answer = Response::new(body(serde_json::to_vec(value).unwrap_or_default()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(body(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::session::{Credential, Sessions};
    use super::*;

    fn caller(credential: Credential, operator: bool) -> Caller {
        Caller::Session(Box::new(Sessions::default().begin(credential, operator).unwrap()))
    }

    #[tokio::test]
    async fn an_operators_session_is_good_from_this_machine() {
        let own = IpAddr::from([10, 0, 0, 1]);
        for (peer, operates) in [([127, 0, 0, 1], true), ([10, 0, 0, 1], true), ([10, 0, 0, 2], false)] {
            let session = Sessions::default().begin(Credential::None, true).unwrap().asked_from(peer.into(), own);
            assert_eq!(Caller::Session(Box::new(session)).is_operator(), operates, "{peer:?}");
        }
    }

    /// No credential of the data plane is the operator's, and only an account's key shows the account's record.
    #[tokio::test]
    async fn who_may_is_told_apart() {
        let mut accounts = lazuli_http::Accounts::new();
        accounts.add(lazuli_model::AccountName::parse("account1").unwrap(), &["a2V5"]).unwrap();
        let key = || Credential::Key(accounts.get("account1").unwrap());
        let sas = || Credential::Sas { account: "account1".into(), query: "sig=x".into() };
        let token = || Credential::Token { account: "account1".into(), token: "x".into() };
        let own = Some(Some("account1".to_owned()));
        for (caller, operates, sees) in [
            (caller(key(), false), false, own),
            (caller(sas(), false), false, None),
            (caller(token(), false), false, None),
            (caller(Credential::None, true), true, Some(None)),
            (caller(key(), true), true, Some(None)),
            (Caller::Operator, true, Some(None)),
        ] {
            assert_eq!((caller.operator().is_ok(), caller.sees().ok()), (operates, sees));
        }
    }
}
