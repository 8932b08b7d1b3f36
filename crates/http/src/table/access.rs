//! Who may, as far as it is the Table service's own affair: SAS for a part of a table, and the verbs that come in disguise.

use http::Method;
use lazuli_model::roles;
use lazuli_model::table::{Action, Change, Expect, Key, Place, Within};
use lazuli_model::{Refusal, TableName, Version};
use lazuli_store::TableAt;

use crate::auth::{Grant, TableScope};
use crate::head::{Head, Target};
use crate::refusal;

/// Requests of this version and later that do not say who they are are told how to.
pub const CHALLENGE_SINCE: Version = Version::new(2020, 12, 6);

/// The table that a SAS is for.
pub fn signed_for(head: &Head) -> Option<TableAt> {
    let table = TableName::parse(head.query.get("tn")?).ok()?;
    Some(TableAt { account: head.account().ok()?, table })
}

/// What a SAS for a table opens. It must be the table that is asked for.
pub fn scope(head: &Head) -> Result<TableScope, Refusal> {
    let name = head.query.get("tn").unwrap_or_default().to_ascii_lowercase();
    if let Target::Table(target) = &head.target
        && let Some(table) = target.table()
        && !table.eq_ignore_ascii_case(&name)
    {
        return Err(Refusal::AuthorizationFailure);
    }
    // Absent and empty are signed alike, so they mean alike.
    let edge = |partition: &str, row: &str| match (head.query.get(partition), head.query.get(row)) {
        (Some(partition), row) => Ok(Some((partition.to_owned(), row.map(str::to_owned)))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(unbounded(row, partition)),
    };
    Ok(TableScope { name, within: Within { from: edge("spk", "srk")?, to: edge("epk", "erk")? } })
}

/// A row's key bounds nothing without its partition's ("Create a service SAS": the two come together).
fn unbounded(row: &str, partition: &str) -> Refusal {
    Refusal::AuthenticationFailed { detail: format!("{row} needs {partition}.").into() }
}

pub fn unauthenticated(head: &Head) -> Refusal {
    if head.version_sent && head.version >= CHALLENGE_SINCE {
        // Rule T5.
        Refusal::NoAuthenticationInformation
    } else {
        Refusal::AuthenticationFailed { detail: "".into() }
    }
}

/// `POST` with `X-HTTP-Method` is the method that it names, once its signature was checked ("Table service error codes").
pub fn untunnel(head: &mut Head) -> Result<(), refusal::Refusal> {
    let mut named = head.headers.get_all("x-http-method").iter();
    let Some(first) = named.next() else { return Ok(()) };
    if named.next().is_some() {
        return Err(refusal::Refusal::XMethodIncorrectCount);
    }
    if head.method != Method::POST {
        return Err(refusal::Refusal::XMethodNotUsingPost);
    }
    let known = ["MERGE", "PUT", "PATCH", "DELETE", "GET"];
    let method = first.to_str().ok().filter(|name| known.contains(name));
    let method = method.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    head.method = method.ok_or(refusal::Refusal::XMethodIncorrectValue)?;
    Ok(())
}

/// Whether a change of `table` is within what was granted.
pub fn may_change(grant: &Grant, account: &str, table: &TableName, change: &Change) -> Result<(), Refusal> {
    let (letters, action) = match &change.action {
        Action::Insert(_) => ("a", roles::Action::EntityAdd),
        Action::Replace(Place::Found(_), _) | Action::Merge(Place::Found(_), _) => ("u", roles::Action::EntityUpdate),
        Action::Replace(Place::Anywhere, _) | Action::Merge(Place::Anywhere, _) => ("au", roles::Action::EntityUpsert),
        Action::Delete(Expect::Any | Expect::Tag(_)) => ("d", roles::Action::EntityDelete),
    };
    if !letters.chars().all(|letter| grant.letters.has(letter)) {
        return Err(Refusal::AuthorizationPermissionMismatch);
    }
    has_role(grant, account, table, action)?;
    may_reach(grant, table, &change.key)
}

/// Whether a token allows this on `table`. Other credentials have been judged before.
pub fn has_role(grant: &Grant, account: &str, table: &TableName, action: roles::Action) -> Result<(), Refusal> {
    match &grant.principal {
        Some(principal) if !principal.may(action, account, Some(table.as_str())) => {
            Err(Refusal::AuthorizationPermissionMismatch)
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether an entity is within what was granted.
pub fn may_reach(grant: &Grant, table: &TableName, key: &Key) -> Result<(), Refusal> {
    match &grant.table {
        None => Ok(()),
        Some(scope) if scope.name == table.folded() && scope.within.holds(&key.partition, &key.row) => Ok(()),
        Some(_) => Err(Refusal::AuthorizationFailure),
    }
}

/// The same for a read: what is outside is not there (rule T2).
pub fn may_see(grant: &Grant, table: &TableName, key: &Key) -> Result<(), Refusal> {
    match &grant.table {
        Some(scope) if scope.name == table.folded() && !scope.within.holds(&key.partition, &key.row) => {
            Err(Refusal::ResourceNotFound)
        }
        Some(_) | None => may_reach(grant, table, key),
    }
}

/// The part of `table` that was granted.
pub fn granted(grant: &Grant, table: &TableName) -> Result<Within, Refusal> {
    match &grant.table {
        None => Ok(Within::default()),
        Some(scope) if scope.name == table.folded() => Ok(scope.within.clone()),
        Some(_) => Err(Refusal::AuthorizationFailure),
    }
}
