//! Get and Set Access Control, of a path or of the root directory.

use http::StatusCode;
use lazuli_model::blob::{ReadBlob, Which};
use lazuli_model::lake::{Acl, Mode, SetAccessControl};

use super::headers as own;
use crate::answer::{Answer, name};
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure};
use crate::serve::Ask;
use crate::wire::headers;

pub const GET: Spec = Spec {
    name: "GetAccessControl",
    methods: &["HEAD"],
    on: On::Blob,
    when: &[When::QueryIs("action", "getAccessControl")],
    needs: "eop",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};
pub const GET_OF_ROOT: Spec = Spec { name: "GetRootAccessControl", on: On::Container, ..GET };

pub const SET: Spec = Spec {
    name: "SetAccessControl",
    methods: &["PATCH"],
    when: &[When::QueryIs("action", "setAccessControl")],
    needs: "op",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..GET
};
pub const SET_OF_ROOT: Spec = Spec { name: "SetRootAccessControl", on: On::Container, ..SET };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    match ask.spec.methods {
        ["HEAD"] => get(ask).await,
        _ => set(ask).await,
    }
}

async fn get(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let (conditions, lease) = (headers::conditions(head, &GET)?, headers::lease_id(head)?);
    own::flag(head, "upn")?;
    let at = own::path_at(head)?;
    if at.path.is_root() && !ask.settings.hierarchical_namespace {
        return Err(Denied::HierarchicalNamespaceNotEnabled.into());
    }
    let read = ReadBlob { which: Which::Current, key: None, conditions, lease };
    // Who may is told without the key of what is in it.
    let found = ask.store.path_access(&at, read, true).await?;
    let node = found.node.ok_or(Denied::HierarchicalNamespaceNotEnabled)?;
    let answer = Answer::new(StatusCode::OK).etag(found.blob.etag, found.blob.modified);
    Ok(own::owners(answer, &node).text(&name::ACL, node.access.acl().to_string()))
}

async fn set(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    if head.says("x-ms-acl") && head.says("x-ms-permissions") {
        return Err(Denied::InvalidInput { reason: "Send x-ms-acl or x-ms-permissions, and not both.".into() }.into());
    }
    let set = SetAccessControl {
        owner: own::kept_text(head, "x-ms-owner", own::PRINCIPAL_MAX)?,
        group: own::kept_text(head, "x-ms-group", own::PRINCIPAL_MAX)?,
        permissions: head.text("x-ms-permissions").map(Mode::parse).transpose()?,
        acl: head.text("x-ms-acl").map(|text| Acl::parse(text, false)).transpose()?,
        conditions: headers::conditions(head, &SET)?,
        lease: headers::lease_id(head)?,
    };
    let blob = ask.store.set_access_control(&own::path_at(head)?, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified).constant(&name::NAMESPACE_ENABLED, "true"))
}
