//! Static websites: the container `$web`, read by anyone through a door of its own, as the Blob service's properties say. Nothing but
//! GET and HEAD; what is missing is the error document, with a 404.
//!
//! The account is in the host's name (`account.web.…`, as in Azure, where links from the root work) or first in the path.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use lazuli_model::Version;
use lazuli_model::service::{Of, StaticWebsite};

use super::{Ask, Done, Edge, Origin};
use crate::answer::{Answer, Payload, name};
use crate::auth::{Grant, Identity};
use crate::blob::{get_blob, get_blob_properties};
use crate::body::Upload;
use crate::head::{Arrival, Head, Target, guid};
use crate::refusal::{Denied, Failure, Refusal};

pub(crate) const CONTAINER: &str = "$web";

/// The head of a visit, as if it were asked of the Blob service in path style.
pub(super) fn head(mut parts: Parts, arrival: Arrival) -> Result<Head, Refusal> {
    let host = parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
    let (account, rest) = match account_in_host(host) {
        Some(account) => (account, path),
        None => path.split_once('/').unwrap_or((path, "")),
    };
    let wanted = format!("/{account}/{CONTAINER}/{rest}");
    parts.uri = Uri::try_from(wanted).map_err(|_| Refusal::InvalidUri)?;
    parts.headers.insert(http::header::HOST, HeaderValue::from_static("localhost"));
    let mut head = Head::read(parts, arrival)?;
    (head.version, head.version_sent) = (Version::NEWEST, true);
    Ok(head)
}

/// `account.web.…` or `account.z6.web.…`
fn account_in_host(host: &str) -> Option<&str> {
    let mut labels = host.split([':', '.']);
    let name = labels.next().filter(|name| !name.is_empty())?;
    labels.take(2).any(|label| label == "web").then(|| name.strip_suffix("-secondary").unwrap_or(name))
}

impl Edge {
    /// Answers a visit.
    pub(super) async fn visit(self: &Arc<Self>, head: Head, body: Upload) -> Done {
        body.drain();
        let learnt = self.accounts.learn(&head.account, &self.store).await;
        let origin = Origin::of(&head, &self.accounts);
        let outcome = match learnt {
            Ok(()) => self.page(&head).await,
            Err(failure) => Err(failure),
        };
        Done { outcome: outcome.map(plain), origin, version: Some(head.version), ..Done::empty() }
    }

    async fn page(self: &Arc<Self>, head: &Head) -> Result<Answer, Failure> {
        if head.method != Method::GET && head.method != Method::HEAD {
            return Err(Refusal::UnsupportedHttpVerb.into());
        }
        let Some(account) = self.accounts.get(&head.account) else { return Ok(missing(head)) };
        let site = self.store.service_properties(account.name(), Of::Blob).await?.static_website;
        if !site.enabled {
            return Ok(missing(head));
        }
        let path = if let Target::Blob { blob, .. } = &head.target { blob.as_str() } else { "" };
        for blob in candidates(path, &site) {
            if let Some(answer) = self.document(head, &blob).await? {
                return Ok(answer);
            }
        }
        if let Some(error) = site.error_document_404_path.as_deref().filter(|path| !path.is_empty()) {
            // The whole of it, whatever was asked of the page that is missing.
            let mut whole = head.clone();
            for header in
                ["range", "x-ms-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"]
            {
                whole.headers.remove(header);
            }
            if let Some(mut answer) = self.document(&whole, error.trim_start_matches('/')).await? {
                answer.status = StatusCode::NOT_FOUND;
                return Ok(answer);
            }
        }
        Ok(missing(head))
    }

    /// A blob of the website, if there is one.
    async fn document(self: &Arc<Self>, head: &Head, blob: &str) -> Result<Option<Answer>, Failure> {
        let mut head = head.clone();
        head.target = Target::Blob { container: CONTAINER.into(), blob: blob.into() };
        let head_only = head.method == Method::HEAD;
        let settings = self.accounts.get(&head.account).map(|account| account.settings().clone()).unwrap_or_default();
        let mut ask = Ask {
            head,
            spec: if head_only { &get_blob_properties::SPEC } else { &get_blob::SPEC },
            identity: Identity::Anonymous,
            grant: Grant::default(),
            body: Upload::empty(),
            store: self.store.clone(),
            settings,
            ids: self.ids.clone(),
            edge: self.clone(),
            beside: HeaderMap::new(),
            seals: std::sync::OnceLock::new(),
            watch: None,
            plan: None,
        };
        let answer = match head_only {
            true => get_blob_properties::run(&mut ask).await,
            false => get_blob::run(&mut ask).await,
        };
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Failure::Refused(
                Refusal::InvalidUri
                | Refusal::Denied(
                    Denied::BlobNotFound
                    | Denied::ContainerNotFound
                    | Denied::InvalidResourceName
                    | Denied::OutOfRangeInput,
                ),
            )) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// Where a path's page may be. A directory's is its index document; the root may have a page of its own elsewhere.
fn candidates(path: &str, site: &StaticWebsite) -> Vec<String> {
    let index = site.index_document.as_deref().filter(|name| !name.is_empty());
    let default = site.default_index_document_path.as_deref().filter(|path| !path.is_empty());
    let directory = path.is_empty() || path.ends_with('/');
    let mut found = Vec::new();
    if !directory {
        found.push(path.to_owned());
    }
    let slash = if directory { "" } else { "/" };
    found.extend(index.map(|index| format!("{path}{slash}{index}")));
    if path.is_empty() {
        found.extend(default.map(|path| path.trim_start_matches('/').to_owned()));
    }
    found
}

/// What a browser has no use for stays here.
fn plain(mut answer: Answer) -> Answer {
    let inner: Vec<_> = answer
        .headers
        .keys()
        .filter(|key| key.as_str().starts_with("x-ms-") && **key != name::ERROR_CODE)
        .cloned()
        .collect();
    inner.iter().for_each(|key| drop(answer.headers.remove(key)));
    answer.spelt.clear();
    answer
}

fn missing(head: &Head) -> Answer {
    let (id, time) = (guid(head.request_id), head.now.to_iso());
    let page = format!(
        "<!DOCTYPE html><html><head><title>WebContentNotFound</title></head><body><h1>The requested content does not exist.</h1>\
         <p><ul><li>HttpStatusCode: 404</li><li>ErrorCode: WebContentNotFound</li><li>RequestId : {id}</li><li>TimeStamp : {time}</li>\
         </ul></p></body></html>"
    );
    let answer = Answer::new(StatusCode::NOT_FOUND)
        .constant(&name::ERROR_CODE, "WebContentNotFound")
        .constant(&name::CONTENT_TYPE, "text/html");
    Answer { payload: Payload::Whole(page.into()), ..answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_where_the_properties_say() {
        let index = StaticWebsite {
            enabled: true,
            index_document: Some("index.html".into()),
            error_document_404_path: None,
            default_index_document_path: None,
        };
        let single = StaticWebsite {
            index_document: None,
            default_index_document_path: Some("/app/main.html".into()),
            ..index.clone()
        };
        for (path, site, expected) in [
            ("", &index, vec!["index.html"]),
            ("a/", &index, vec!["a/index.html"]),
            ("a", &index, vec!["a", "a/index.html"]),
            ("", &single, vec!["app/main.html"]),
            ("a/", &single, vec![]),
            ("a.css", &single, vec!["a.css"]),
        ] {
            assert_eq!(candidates(path, site), expected, "{path}");
        }
    }

    #[test]
    fn the_account_is_in_the_host_or_in_the_path() {
        for (host, account) in [
            ("acc.web.localhost:10005", Some("acc")),
            ("acc.z6.web.core.windows.net", Some("acc")),
            ("acc-secondary.web.localhost", Some("acc")),
            ("127.0.0.1:10005", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(account_in_host(host), account, "{host}");
        }
    }
}
