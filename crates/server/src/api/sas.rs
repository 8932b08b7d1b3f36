//! Makes a SAS with the key of a session, and says whether a SAS would be accepted, and why not.

use std::net::IpAddr;

use http_body_util::{BodyExt, Limited};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Uri};
use lazuli_http::{Query, Service, auth};
use serde::Deserialize;
use serde_json::{Map, Value, json as value};

use super::session::Credential;
use super::{Caller, Refused, Told, body, json, loopback};
use crate::console::Console;
use crate::listen::Door;

/// The newest form of a SAS that all clients know.
const VERSION: &str = "2021-12-02";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// For the account as a whole.
    #[serde(default)]
    account: bool,
    services: Option<String>,
    resource_types: Option<String>,
    service: Option<String>,
    container: Option<String>,
    name: Option<String>,
    permissions: Option<String>,
    start: Option<String>,
    expiry: Option<String>,
    policy: Option<String>,
    ip: Option<String>,
    protocol: Option<String>,
    #[serde(default)]
    directory: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSas {
    url: String,
    method: Option<String>,
}

impl Console {
    pub(super) fn make_sas(&self, caller: &Caller, wanted: Wanted) -> Told {
        let account = match caller {
            Caller::Session(session) => match &session.credential {
                Credential::Key(account) => account.clone(),
                Credential::None | Credential::Sas { .. } | Credential::Token { .. } => {
                    return Err(Refused::forbidden("a SAS is signed with an account's key: log in with one"));
                }
            },
            Caller::Operator => return Err(Refused::forbidden("log in with an account's key")),
        };
        let service = service(wanted.service.as_deref().unwrap_or("blob"))?;
        let mut fields: Vec<(&str, String)> = vec![("sv", VERSION.into())];
        let mut add = |name: &'static str, text: &Option<String>| {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                fields.push((name, text.clone()));
            }
        };
        let times = [("st", &wanted.start), ("se", &wanted.expiry), ("sp", &wanted.permissions)];
        times.into_iter().for_each(|(name, text)| add(name, text));
        [("si", &wanted.policy), ("sip", &wanted.ip), ("spr", &wanted.protocol)]
            .into_iter()
            .for_each(|(name, text)| add(name, text));
        let mut path = format!("/{}", account.name());
        if wanted.account {
            fields.push(("ss", wanted.services.unwrap_or_else(|| "bqtf".into())));
            fields.push(("srt", wanted.resource_types.unwrap_or_else(|| "sco".into())));
        } else {
            let container =
                wanted.container.ok_or_else(|| Refused::bad("name the container, queue, table or share"))?;
            path = format!("{path}/{}", encoded(&container));
            if let Some(name) = &wanted.name {
                path = format!("{path}/{}", encoded(name));
            }
            match (service, &wanted.name) {
                (Service::Blob | Service::Dfs, Some(name)) if wanted.directory => {
                    fields.push(("sr", "d".into()));
                    fields.push(("sdd", name.split('/').filter(|part| !part.is_empty()).count().to_string()));
                }
                (Service::Blob | Service::Dfs, Some(_)) => fields.push(("sr", "b".into())),
                (Service::Blob | Service::Dfs, None) => fields.push(("sr", "c".into())),
                (Service::File, Some(_)) => fields.push(("sr", "f".into())),
                (Service::File, None) => fields.push(("sr", "s".into())),
                (Service::Table, _) => fields.push(("tn", container)),
                (Service::Queue, _) => {}
            }
        }
        let query: Vec<String> = fields.iter().map(|(name, text)| format!("{name}={}", encoded_value(text))).collect();
        let query = query.join("&");
        let uri: Uri = format!("{path}?{query}").parse().map_err(|_| Refused::bad("this is no name"))?;
        let request = Request::get(uri).header(HOST, "127.0.0.1").body(()).map_err(|_| Refused::bad("no request"))?;
        let head = loopback::head(service, &request).map_err(Refused::bad)?;
        let signature = auth::sign_sas(&head, &account).map_err(|refusal| Refused::bad(format!("{refusal:?}")))?;
        let sas = format!("{query}&sig={}", encoded_value(&signature));
        let url = self.endpoint(service).map(|endpoint| format!("{endpoint}{path}?{sas}"));
        Ok(json(&value!({"sas": sas, "url": url})))
    }

    fn endpoint(&self, service: Service) -> Option<&str> {
        self.endpoints.iter().find(|(door, _)| *door == Door::Api(service)).map(|(_, url)| url.as_str())
    }

    /// Asks as the SAS would, with a method that changes nothing.
    pub(super) async fn check_sas(&self, caller: &Caller, check: CheckSas, peer: IpAddr) -> Told {
        if let Caller::Session(session) = caller
            && session.credential.account().is_none()
            && !session.operator
        {
            return Err(Refused::no_session());
        }
        let method = check.method.as_deref().unwrap_or("GET");
        let url: Uri = check.url.parse().map_err(|_| Refused::bad("this is no URL"))?;
        let host = url.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let found = self.endpoints.iter().find_map(|(door, own)| match door {
            Door::Api(service) if !host.is_empty() && own.ends_with(&host) => Some(*service),
            Door::Api(_) | Door::Website | Door::Smb => None,
        });
        let service = found.ok_or_else(|| Refused::bad("this URL is not one of this server's services"))?;
        let names_blob = service == Service::Blob && url.path().split('/').filter(|part| !part.is_empty()).count() > 2;
        let query = Query::parse(url.query().unwrap_or_default()).map_err(|_| Refused::bad("this is no query"))?;
        // Not every operation of a blob asks for conditions: Put Block and Undelete Blob do not.
        let is_plain = ["comp", "restype", "action", "resource"].iter().all(|name| query.get(name).is_none());
        if !(matches!(method, "GET" | "HEAD") || names_blob && is_plain && matches!(method, "PUT" | "DELETE")) {
            let message =
                "GET and HEAD can be tried without doing anything, and PUT and DELETE of a blob; nothing else";
            return Err(Refused::bad(message));
        }
        let fields: Map<String, Value> = query
            .iter()
            .filter(|(name, _)| !name.eq_ignore_ascii_case("sig"))
            .map(|(name, text)| (name.to_owned(), value!(text)))
            .collect();
        let path = url.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &host)
            .header("range", "bytes=0-0")
            .body(body(""))
            .map_err(|_| Refused::bad("this is no URL"))?;
        if !matches!(method, "GET" | "HEAD") {
            // A condition that nothing meets: rights are judged before it, and nothing is changed after it.
            let headers = request.headers_mut();
            headers.insert("if-match", HeaderValue::from_static("\"0x0\""));
            headers.insert("x-ms-blob-type", HeaderValue::from_static("BlockBlob"));
            headers.insert("content-length", HeaderValue::from_static("0"));
        }
        loopback::date(&mut request);
        let answer = self.loopback.send(service, peer, false, request).await.map_err(Refused::bad)?;
        let code = answer.headers().get("x-ms-error-code").and_then(|code| code.to_str().ok()).map(str::to_owned);
        let status = answer.status().as_u16();
        let text = Limited::new(answer.into_body(), 16 << 10).collect().await.map(|body| body.to_bytes());
        let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
        let between = |tag: &str| text.split(&format!("<{tag}>")).nth(1).and_then(|rest| rest.split("</").next());
        let reason = between("AuthenticationErrorDetail").or_else(|| between("Message")).unwrap_or_default().to_owned();
        // What is not there, or not a page, was found only after the SAS had been accepted.
        let denied = matches!(status, 401 | 403);
        let reason = if denied { reason } else { String::new() };
        Ok(json(&value!({"fields": fields, "accepted": !denied, "status": status, "code": code, "reason": reason})))
    }
}

fn service(name: &str) -> Result<Service, Refused> {
    match name {
        "blob" => Ok(Service::Blob),
        "queue" => Ok(Service::Queue),
        "table" => Ok(Service::Table),
        "file" => Ok(Service::File),
        "dfs" => Ok(Service::Dfs),
        _ => Err(Refused::bad("service is blob, queue, table, file or dfs")),
    }
}

/// A path, with its slashes.
pub fn encoded(path: &str) -> String {
    percent(path, |byte| byte.is_ascii_alphanumeric() || b"-_.~/$".contains(&byte))
}

fn encoded_value(text: &str) -> String {
    percent(text, |byte| byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte))
}

fn percent(text: &str, plain: impl Fn(u8) -> bool) -> String {
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
