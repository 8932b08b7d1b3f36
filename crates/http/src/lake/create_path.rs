//! Create: an empty file, or a directory.

use http::{HeaderValue, StatusCode};
use lazuli_model::LeaseId;
use lazuli_model::blob::Encryption;
use lazuli_model::lake::{Acl, CreatePath, Mode};
use lazuli_model::lease::Length;

use super::headers as own;
use crate::answer::{Answer, name};
use crate::blob::{encryption, set_blob_expiry};
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreatePath",
    methods: &["PUT"],
    on: On::Blob,
    when: &[When::NoHeader("x-ms-rename-source")],
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = own::path_at(&ask.head)?;
    let create = parse(ask, encryption::settle(ask).await?)?;
    let made = ask.store.create_path(&at, create).await;
    if let Err(lazuli_store::Failure::Refused(Denied::PathAlreadyExists { is_directory })) = made
        && ask.head.has(Since::ExistingPath)
    {
        let kind = HeaderValue::from_static(if is_directory { "directory" } else { "file" });
        ask.beside.insert(name::EXISTING_RESOURCE_TYPE.clone(), kind);
    }
    let made = made?;
    let answer = Answer::new(StatusCode::CREATED).etag(made.etag, made.modified);
    let answer = match ask.head.has(Since::PathEncrypted) {
        true => answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"),
        false => answer,
    };
    Ok(encryption::describe(answer, &made.encryption))
}

fn parse(ask: &Ask, encryption: Encryption) -> Result<CreatePath, Refusal> {
    let head = &ask.head;
    let is_directory = head.query_opt("resource", |text| match text.to_ascii_lowercase().as_str() {
        "file" => Some(false),
        "directory" => Some(true),
        _ => None,
    })?;
    let is_directory = is_directory.ok_or(Refusal::MissingRequiredQueryParameter { name: "resource".into() })?;
    let mode = |header: &'static str| head.text(header).map(Mode::parse).transpose();
    let acquire = match head.opt("x-ms-proposed-lease-id", LeaseId::parse)? {
        Some(proposed) => Some((proposed, head.required("x-ms-lease-duration", Length::parse)?)),
        None => None,
    };
    if head.says("x-ms-acl") && head.says("x-ms-permissions") {
        return Err(Denied::InvalidInput { reason: "Send x-ms-acl or x-ms-permissions, and not both.".into() }.into());
    }
    Ok(CreatePath {
        is_directory,
        headers: own::new_headers(head)?,
        metadata: own::properties(head)?.unwrap_or_default(),
        permissions: mode("x-ms-permissions")?,
        umask: mode("x-ms-umask")?,
        acl: head.text("x-ms-acl").map(|text| Acl::parse(text, false)).transpose()?,
        owner: own::kept_text(head, "x-ms-owner", own::PRINCIPAL_MAX)?,
        group: own::kept_text(head, "x-ms-group", own::PRINCIPAL_MAX)?,
        acquire,
        expiry: head.says("x-ms-expiry-option").then(|| set_blob_expiry::expiry(head)).transpose()?,
        context: own::kept_text(head, "x-ms-encryption-context", own::CONTEXT_MAX)?,
        transaction: own::kept_text(head, "x-ms-client-transaction-id", own::CONTEXT_MAX)?,
        encryption,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
        may_overwrite: ask.grant.may_overwrite,
    })
}
