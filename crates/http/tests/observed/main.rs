//! Rules that were read off the real service, over the wire. A test is named by the number of its rule in docs/rules.md: `b10_…` is rule B10.

#[path = "../client/mod.rs"]
mod client;

mod blob;
mod containers;
mod copies;
mod file;
mod lake;
mod lake_access;
mod queue;
mod table;
mod versions;

use client::{Answer, Client};

pub type Headers<'a> = &'a [(&'a str, &'a str)];

/// Method, target, headers and body.
pub type Request<'a> = (&'a str, &'a str, Headers<'a>, &'a str);

/// Sends what has to succeed.
pub async fn done(client: &mut Client, version: &str, (method, target, headers, body): Request<'_>) -> Answer {
    let headers: Vec<_> = headers.iter().copied().chain([("x-ms-version", version)]).collect();
    let answer = client.send(method, target, &headers, body.as_bytes()).await;
    assert!(answer.status < 300, "{method} {target} {headers:?}: {} {}", answer.status, answer.text());
    answer
}

/// Sends, and gives the status, the code and the text.
pub async fn said(client: &mut Client, version: &str, request: Request<'_>) -> (u16, String, String) {
    let (method, target, headers, body) = request;
    let headers: Vec<_> = headers.iter().copied().chain([("x-ms-version", version)]).collect();
    let answer = client.send(method, target, &headers, body.as_bytes()).await;
    let code = answer.header("x-ms-error-code").unwrap_or_default().to_owned();
    (answer.status, code, answer.text())
}

/// What stands between the tags of an element, if there is one.
pub fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(value, _)| value)
}

/// The first line of the message, and the elements behind it.
pub fn details(text: &str) -> (&str, &str) {
    let message = element(text, "Message").unwrap_or_default().lines().next().unwrap_or_default();
    let rest = text.split_once("</Message>").map_or("", |(_, rest)| rest);
    (message, rest.strip_suffix("</Error>").unwrap_or(rest))
}
