//! `/data/SERVICE/REST`: the services, from the console's own origin, with the credential of the session. Held true: what is stored is never shown as
//! a page of this origin, and no secret leaves this process towards the browser.

use std::net::IpAddr;

use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_DISPOSITION, HOST, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use hyper::{Request, Response, StatusCode, Uri};
use lazuli_http::Service;

use super::session::{CSRF, Credential};
use super::{Caller, Refused, Told, loopback};
use crate::console::Console;

/// What a browser says of itself, and what belongs to the connection.
const LEFT_OUT: [&str; 15] = [
    "authorization",
    "cookie",
    "connection",
    "date",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "referer",
    "te",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "x-ms-date",
    CSRF,
];

impl Console {
    pub(super) async fn forward(&self, caller: &Caller, rest: &str, request: Request<Incoming>, peer: IpAddr) -> Told {
        let Caller::Session(session) = caller else {
            return Err(Refused::forbidden("the operator's token does not open data: use an account's key"));
        };
        if is_embedded(request.headers()) {
            return Err(Refused::forbidden("what is stored is fetched or downloaded, never made part of a page"));
        }
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let service = match name {
            "blob" => Service::Blob,
            "queue" => Service::Queue,
            "table" => Service::Table,
            "file" => Service::File,
            "dfs" => Service::Dfs,
            _ => return Err(Refused::not_found()),
        };
        let account = session.credential.account().ok_or_else(|| Refused::forbidden("log in with an account"))?;
        let shown = !session.has_csrf(request.headers());
        let mut uri = format!("/{account}/{rest}");
        if let Some(query) = request.uri().query() {
            uri = format!("{uri}?{query}");
        }
        let inner = request_to(request, &uri)?;
        let answer = self.ask_service(&session.credential, service, inner, peer).await?;
        let mut answer = answer.map(|body| body.map_err(Into::into).boxed_unsync());
        harmless(answer.headers_mut(), shown);
        Ok(answer)
    }

    /// Asks a service with a credential of a session.
    pub(super) async fn ask_service<B>(
        &self,
        credential: &Credential,
        service: Service,
        mut request: Request<B>,
        peer: IpAddr,
    ) -> Result<Response<Incoming>, Refused>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        // A token may be sent where nobody can read it on its way: from this machine, or where the operator says so.
        let secure = peer.to_canonical().is_loopback();
        let answered = match credential {
            Credential::None => return Err(Refused::forbidden("log in with an account")),
            Credential::Key(account) => self.loopback.send_signed(service, peer, account, request).await,
            Credential::Sas { query, .. } => {
                loopback::date(&mut request);
                let joined = match request.uri().query() {
                    Some(own) => format!("{}?{own}&{query}", request.uri().path()),
                    None => format!("{}?{query}", request.uri().path()),
                };
                *request.uri_mut() = joined.parse().map_err(|_| Refused::bad("this SAS fits into no address"))?;
                self.loopback.send(service, peer, false, request).await
            }
            Credential::Token { token, .. } => {
                loopback::date(&mut request);
                let value = HeaderValue::try_from(format!("Bearer {token}"));
                request.headers_mut().insert(AUTHORIZATION, value.map_err(|_| Refused::bad("this is no token"))?);
                self.loopback.send(service, peer, secure, request).await
            }
        };
        answered.map_err(|why| {
            Refused::new(StatusCode::BAD_GATEWAY, "NoAnswer", format!("the service gave no answer: {why}"))
        })
    }
}

/// Whether a page means to run or show the answer as part of itself: as a script, a style, an image, a frame. Browsers say so. The policy of the console's page allows
/// files of its own origin, and what is stored is of that origin, too.
fn is_embedded(headers: &HeaderMap) -> bool {
    let purpose = headers.get("sec-fetch-dest").map(HeaderValue::as_bytes);
    purpose.is_some_and(|purpose| !matches!(purpose, b"empty" | b"document"))
}

fn request_to(request: Request<Incoming>, uri: &str) -> Result<Request<Incoming>, Refused> {
    let uri: Uri = uri.parse().map_err(|_| Refused::bad("this is no path"))?;
    let (mut parts, body) = request.into_parts();
    parts.uri = uri;
    parts.version = hyper::Version::HTTP_11;
    let left_out = |name: &HeaderName| LEFT_OUT.contains(&name.as_str()) || name.as_str().starts_with("sec-");
    let kept: HeaderMap = parts
        .headers
        .iter()
        .filter(|(name, _)| !left_out(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    parts.headers = kept;
    // An address: then nobody looks for the account in it.
    parts.headers.insert(HOST, HeaderValue::from_static("127.0.0.1"));
    Ok(Request::from_parts(parts, body))
}

/// What keeps a browser from taking stored bytes for a page of the console. `shown`: it may be about to show them.
fn harmless(headers: &mut HeaderMap, shown: bool) {
    headers.remove(SET_COOKIE);
    headers.remove("transfer-encoding");
    headers.remove("connection");
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("content-security-policy", HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if shown {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_no_part_of_a_page() {
        let asked_as = |purpose: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-dest", HeaderValue::from_str(purpose).unwrap());
            is_embedded(&headers)
        };
        for purpose in ["script", "style", "image", "iframe", "object", "worker", "manifest", "?"] {
            assert!(asked_as(purpose), "{purpose}");
        }
        assert!(!asked_as("empty") && !asked_as("document") && !is_embedded(&HeaderMap::new()));
    }
}
