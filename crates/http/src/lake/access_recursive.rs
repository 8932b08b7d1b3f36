//! Set Access Control Recursive: the lists of a directory and of all below it, so many at a time.

use http::StatusCode;
use lazuli_model::lake::{Acl, Change};
use lazuli_store::{AccessWalk, AccessWalked};
use serde_json::{Value, json};

use super::headers as own;
use crate::answer::{Answer, Payload, name};
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;

/// "Path - Update": what one call tries at most, and where nobody says.
const MOST: usize = 2000;

pub const SPEC: Spec = Spec {
    name: "SetAccessControlRecursive",
    methods: &["PATCH"],
    on: On::Blob,
    when: &[When::QueryIs("action", "setAccessControlRecursive")],
    needs: "op",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    lake: true,
    ..Spec::PLAIN
};
pub const OF_ROOT: Spec = Spec { name: "SetRootAccessControlRecursive", on: On::Container, ..SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let change = head.query_opt("mode", |text| match text.to_ascii_lowercase().as_str() {
        "set" => Some(Change::Set),
        "modify" => Some(Change::Modify),
        "remove" => Some(Change::Remove),
        _ => None,
    })?;
    let change = change.ok_or(Refusal::MissingRequiredQueryParameter { name: "mode".into() })?;
    let acl = head.text("x-ms-acl").ok_or(Refusal::MissingRequiredHeader { header: "x-ms-acl".into() })?;
    let most = head.query_opt("maxRecords", |text| text.parse::<usize>().ok().filter(|most| *most > 0))?;
    let walk = AccessWalk {
        change,
        acl: Acl::parse(acl, change == Change::Remove)?,
        most: most.unwrap_or(MOST).min(MOST),
        force: own::flag(head, "forceFlag")?,
        continuation: head.query.get("continuation").filter(|text| !text.is_empty()).map(str::to_owned),
    };
    let walked = ask.store.set_access_recursive(&own::path_at(head)?, walk).await?;
    Ok(answer(walked))
}

fn answer(walked: AccessWalked) -> Answer {
    let failure = |path: &str, is_directory: bool| -> Value {
        json!({
            "errorMessage": "This request is not authorized to perform this operation using this permission.",
            "name": path,
            "type": if is_directory { "DIRECTORY" } else { "FILE" },
        })
    };
    let failures: Vec<Value> =
        walked.failures.iter().map(|failed| failure(&failed.path, failed.is_directory)).collect();
    let body = json!({
        "directoriesSuccessful": walked.directories,
        "failedEntries": failures,
        "failureCount": walked.failures.len(),
        "filesSuccessful": walked.files,
    });
    let answer = Answer::new(StatusCode::OK).constant(&name::NAMESPACE_ENABLED, "true");
    let answer = answer.optional(&name::CONTINUATION, walked.next);
    // Without a type (observed).
    Answer { payload: Payload::Whole(format!("{body}\n").into()), ..answer }
}
