//! Rename: the new name is in the URL, the old one in a header, perhaps with a SAS of its own.

use http::StatusCode;
use lazuli_model::conditions::Match;
use lazuli_model::lake::{RenameMode, RenamePath};
use lazuli_model::{Conditions, LeaseId, Timestamp};
use lazuli_store::PathAt;
use percent_encoding::percent_decode_str;

use super::headers as own;
use crate::answer::Answer;
use crate::blob::get_blob;
use crate::head::{Head, Style, Target};
use crate::operation::{AccountNeeds, By, DATES, ETAGS, LEASE, On, Second, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "RenamePath",
    methods: &["PUT"],
    on: On::Blob,
    when: &[When::Header("x-ms-rename-source")],
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: ETAGS | DATES | LEASE,
    seconds: &[Second { by: By::RenameSource, judged_as: &[&get_blob::SPEC, &MOVED] }],
    lake: true,
    ..Spec::PLAIN
};

/// What the source loses: its name. It must be readable too, because others may read it at its new place.
pub const MOVED: Spec = Spec {
    name: "RenamePathSource",
    methods: &["DELETE"],
    on: On::Blob,
    needs: "md",
    account_sas: Some(AccountNeeds { resource: 'o', any: "md" }),
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let to = own::path_at(&ask.head)?;
    let from = source(ask).await?;
    let rename = RenamePath { create_only: !ask.grant.may_overwrite, ..parse(&ask.head)? };
    let moved = ask.store.rename_path(&from, &to, rename).await?;
    let answer = Answer::new(StatusCode::CREATED);
    Ok(if ask.head.has(Since::PathEncrypted) { answer.etag(moved.etag, moved.modified) } else { answer })
}

/// `/filesystem/path?sas`, percent-encoded. It may be taken away only by who may.
async fn source(ask: &Ask) -> Result<PathAt, Failure> {
    let naming = ask.required_naming(By::RenameSource)?;
    let (path, query) = naming.text.split_once('?').unwrap_or((naming.text, ""));
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| naming.invalid())?;
    let rest = decoded.strip_prefix('/').unwrap_or(&decoded);
    let rest = if names_account(&ask.head, rest) { rest.split_once('/').map_or("", |(_, rest)| rest) } else { rest };
    let (container, path) = rest.split_once('/').ok_or_else(|| naming.invalid())?;
    let target = Target::Blob { container: container.to_owned(), blob: path.to_owned() };
    ask.permit_second(naming.second, target.clone(), query).await?;
    Ok(own::path_at(&Head { target, ..ask.head.clone() })?)
}

/// Whether the account stands in the source, as clients have it in path style: some in the source and not in the URL, some in both. A file
/// system that is called like its account is none of these: it is named in the URL as well, or there is no telling.
fn names_account(head: &Head, source: &str) -> bool {
    let first = head.raw_path.split('/').nth(1).unwrap_or_default();
    let in_source = source.split('/').next() == Some(&head.account) && source.split('/').count() > 2;
    let into_namesake = matches!(&head.target, Target::Blob { container, .. } if *container == head.account);
    head.style == Style::Path && (first != head.account || in_source && !into_namesake)
}

fn parse(head: &Head) -> Result<RenamePath, Refusal> {
    let tags = |header: &str| head.text(header).map(Match::parse);
    let date = |header: &'static str| head.opt(header, Timestamp::parse_http);
    let mode = head.query_opt("mode", |text| match text.to_ascii_lowercase().as_str() {
        "legacy" => Some(RenameMode::Legacy),
        "posix" => Some(RenameMode::Posix),
        _ => None,
    })?;
    // A SAS for one path opens nothing that is in it.
    let is_for_path = head.query.get("sr") == Some("b");
    Ok(RenamePath {
        mode: if is_for_path { RenameMode::Legacy } else { mode.unwrap_or(RenameMode::Posix) },
        source_conditions: Conditions {
            if_match: tags("x-ms-source-if-match"),
            if_none_match: tags("x-ms-source-if-none-match"),
            if_modified_since: date("x-ms-source-if-modified-since")?,
            if_unmodified_since: date("x-ms-source-if-unmodified-since")?,
            if_tags: None,
        },
        source_lease: head.opt("x-ms-source-lease-id", LeaseId::parse)?,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
        create_only: false,
        transaction: head.text("x-ms-client-transaction-id").map(str::to_owned),
    })
}
