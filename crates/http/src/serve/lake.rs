//! Calls of the Data Lake API. Clients that can do without it ask first whether the account has a hierarchical namespace, and take
//! 400 for no. In path style they ask on the Blob endpoint: one host has both.

use http::{HeaderMap, Method, StatusCode};
use hyper::ext::ReasonPhrase;
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::Failure;
use serde_json::json;

use super::Echo;
use crate::accounts::Accounts;
use crate::answer::{Answer, name};
use crate::auth::Identity;
use crate::head::{Head, Service};
use crate::status::{self, Subject};

/// Whether only the Data Lake API has what `head` asks for.
pub(super) fn is_call(head: &Head) -> bool {
    let asks = |name: &str| head.query.get(name).is_some();
    let is_lake = || asks("resource") || asks("action") || head.method == Method::PATCH || renames(head);
    match head.service {
        Service::Blob => is_lake(),
        Service::Dfs => is_lake() || asks("recursive"),
        Service::Queue | Service::Table | Service::File => false,
    }
}

fn renames(head: &Head) -> bool {
    head.method == Method::PUT && head.headers.contains_key("x-ms-rename-source")
}

/// Why it is not done.
pub(super) fn refusal(identity: &Identity, head: &Head, accounts: &Accounts) -> Refusal {
    let is_hierarchical = accounts.get(&head.account).is_some_and(|account| account.settings().hierarchical_namespace);
    if let Identity::Anonymous = identity {
        // On this endpoint a request without credentials is 403 and gets no challenge (observed).
        Refusal::AuthenticationFailed { detail: "".into() }
    } else if is_hierarchical {
        // 501, because a 500 would make SDKs try again for a minute.
        Refusal::NotImplemented { what: "The Data Lake API".into() }
    } else {
        Refusal::HierarchicalNamespaceNotEnabled
    }
}

/// As [`super::refuse`], in the JSON of this endpoint.
pub(super) fn refuse(failure: &Failure, beside: HeaderMap, echo: &Echo, now: Timestamp) -> Answer {
    let status = status::of_failure(failure, Subject::Blob);
    let code = StatusCode::from_u16(status.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = Answer::new(code).constant(&name::ERROR_CODE, status.code);
    answer.headers.extend(beside);
    answer.reason = ReasonPhrase::try_from(status.message.as_bytes()).ok();
    if echo.head_only {
        return answer;
    }
    let message = format!("{}\nRequestId:{}\nTime:{}", status.message, echo.id, now.to_iso());
    let body = json!({ "error": { "code": status.code, "message": message } });
    answer.json("application/json;charset=utf-8", body.to_string())
}
