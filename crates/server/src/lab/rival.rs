//! The other client, who is faster: real requests, signed with the account's key, that change what a request is about before it runs. They are recorded
//! like any client's, so the record names them as the winner.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::PoisonError;

use http_body_util::BodyExt;
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::{Request, Response};
use lazuli_http::serve::LabExpiry;
use lazuli_http::{Head, Service, Target};

use super::Lab;
use crate::api::body;
use crate::ids;

/// What a rival's request says besides who it is.
struct Move {
    method: &'static str,
    query: String,
    headers: Vec<(String, String)>,
    body: &'static str,
}

impl Move {
    fn new(method: &'static str, query: &str) -> Self {
        Self { method, query: query.into(), headers: Vec::new(), body: "" }
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl Lab {
    /// Another client changes the object: its ETag or receipt is then another.
    pub(super) async fn lose_race(&self, rule: u64, head: &Head) {
        let change = match &head.target {
            Target::Blob { .. } => {
                let Some(found) = self.act(rule, head, Move::new("HEAD", "")).await else { return };
                let change = match found.status().is_success() {
                    false => Move::new("PUT", "").with("x-ms-blob-type", "BlockBlob"),
                    // The same metadata again: nothing is different afterwards but the ETag and the date.
                    true => kept(&found, Move::new("PUT", "comp=metadata")),
                };
                match head.text("x-ms-lease-id") {
                    Some(lease) => change.with("x-ms-lease-id", lease),
                    None => change,
                }
            }
            Target::Message { .. } => {
                let receipt = encoded(head.query.get("popreceipt").unwrap_or_default());
                Move::new("PUT", &format!("popreceipt={receipt}&visibilitytimeout=30"))
            }
            Target::Table(_) => Move { body: "{}", ..Move::new("PATCH", "") }
                .with("content-type", "application/json")
                .with("if-match", "*"),
            Target::Container(_) => {
                let Some(found) = self.act(rule, head, Move::new("HEAD", "restype=container")).await else { return };
                kept(&found, Move::new("PUT", "restype=container&comp=metadata"))
            }
            Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Share(_) | Target::Path { .. } => return,
        };
        self.act(rule, head, change).await;
    }

    /// Another client breaks the lease.
    pub(super) async fn break_lease(&self, rule: u64, head: &Head) {
        let query = match &head.target {
            Target::Container(_) => "restype=container&comp=lease",
            Target::Share(_) => "restype=share&comp=lease",
            Target::Blob { .. } | Target::Path { .. } => "comp=lease",
            Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } | Target::Table(_) => {
                return;
            }
        };
        let change = Move::new("PUT", query).with("x-ms-lease-action", "break");
        // A file's lease is broken at once, and has no period.
        let change = match matches!(head.target, Target::Path { .. }) {
            true => change,
            false => change.with("x-ms-lease-break-period", "0"),
        };
        self.act(rule, head, change).await;
    }

    /// The lease's time is over. No client can ask for that, so the lab records it by itself.
    pub(super) async fn expire_lease(&self, rule: u64, head: &Head) {
        let Ok(at) = head.blob_at() else { return };
        match self.store.expire_blob_lease(&at).await {
            Ok(Some((id, at))) => self.edge.note_expiry(head, &LabExpiry { rule, id, at, request_id: ids::random() }),
            Ok(None) => {}
            Err(failure) => tracing::info!(?failure, "the lab could not let a lease expire"),
        }
    }

    async fn act(&self, rule: u64, head: &Head, change: Move) -> Option<Response<()>> {
        let account = self.edge.accounts().get(&head.account)?;
        // As the path was sent, but in path style and to the primary.
        let rest = match head.style {
            lazuli_http::Style::Host => head.raw_path.trim_start_matches('/'),
            lazuli_http::Style::Path => {
                head.raw_path.trim_start_matches('/').split_once('/').map_or("", |(_, rest)| rest)
            }
        };
        let query = if change.query.is_empty() { String::new() } else { format!("?{}", change.query) };
        let client = format!("lab-rule-{rule}-{:032x}", ids::random());
        let mut request = Request::builder()
            .method(change.method)
            .uri(format!("/{}/{rest}{query}", head.account))
            .header(HOST, "127.0.0.1")
            .header(CONTENT_LENGTH, change.body.len())
            .header("user-agent", "lazuli-lab")
            .header("x-ms-client-request-id", &client);
        for (name, value) in &change.headers {
            request = request.header(name, value);
        }
        let request = request.body(body(change.body)).ok()?;
        let service = if head.service == Service::Dfs { Service::Blob } else { head.service };
        self.rivals.lock().unwrap_or_else(PoisonError::into_inner).insert(client.clone());
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let answered = self.loopback.send_signed(service, peer, &account, request).await;
        self.rivals.lock().unwrap_or_else(PoisonError::into_inner).remove(&client);
        match answered {
            Ok(answer) => {
                let (parts, rest) = answer.into_parts();
                let _ = rest.collect().await;
                Some(Response::from_parts(parts, ()))
            }
            Err(why) => {
                tracing::info!(why, "a rival of the lab got no answer");
                None
            }
        }
    }
}

/// With the metadata that was found.
fn kept(found: &Response<()>, change: Move) -> Move {
    let metadata = found.headers().iter().filter(|(name, _)| name.as_str().starts_with("x-ms-meta-"));
    metadata.fold(change, |change, (name, value)| change.with(name.as_str(), value.to_str().unwrap_or_default()))
}

fn encoded(text: &str) -> String {
    text.replace('%', "%25").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}
