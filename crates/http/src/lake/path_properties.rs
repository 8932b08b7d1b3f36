//! Get Properties and Get Status, by HEAD on this endpoint; Set Properties.

use http::StatusCode;
use lazuli_model::blob::ReadBlob;
use lazuli_model::lake::SetPathProperties;
use lazuli_store::PathAccess;

use super::headers as own;
use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::head::Style;
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::digest::md5_text;
use crate::wire::headers;

pub const GET: Spec = Spec {
    name: "GetPathProperties",
    methods: &["HEAD"],
    on: On::Blob,
    when: &[When::NoQuery("action")],
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};

/// What the system keeps, without the client's properties.
pub const STATUS: Spec =
    Spec { name: "GetPathStatus", when: &[When::QueryIs("action", "getStatus")], needs: "er", ..GET };
pub const STATUS_OF_ROOT: Spec = Spec { name: "GetRootStatus", on: On::Container, ..STATUS };

pub const SET: Spec = Spec {
    name: "SetPathProperties",
    methods: &["PATCH"],
    when: &[When::QueryIs("action", "setProperties")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..GET
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    match ask.spec.methods {
        ["PATCH"] => set(ask).await,
        _ => get(ask).await,
    }
}

async fn get(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let read = ReadBlob {
        which: Default::default(),
        key: encryption::key_hash(head)?,
        conditions: headers::conditions(head, &GET)?,
        lease: headers::lease_id(head)?,
    };
    let found = ask.store.path_access(&own::path_at(head)?, read, false).await?;
    Ok(describe(ask, &found, ask.spec.name == GET.name))
}

fn describe(ask: &Ask, found: &PathAccess, whole: bool) -> Answer {
    let blob = &found.blob;
    let is_directory = found.node.as_ref().is_some_and(|node| node.is_directory);
    let answer = Answer::new(StatusCode::OK)
        .etag(blob.etag, blob.modified)
        .number(&name::CONTENT_LENGTH, blob.content.length)
        .constant(&name::ACCEPT_RANGES, "bytes")
        .constant(&name::RESOURCE_TYPE, if is_directory { "directory" } else { "file" })
        .date(&name::CREATION_TIME, blob.created)
        .constant(&name::SERVER_ENCRYPTED, "true");
    let answer = match &found.node {
        Some(node) => {
            let answer = if whole { own::read_access(answer, &ask.head, node) } else { own::owners(answer, node) };
            let transaction = node.transaction.clone().filter(|_| ask.head.has(Since::ClientTransaction));
            answer
                .optional(&name::ENCRYPTION_CONTEXT, node.context.clone())
                .optional(&name::CLIENT_TRANSACTION_ID, transaction)
        }
        None => answer,
    };
    let answer = encryption::describe(answer, &blob.encryption)
        .optional(&name::EXPIRY_TIME, blob.expires.map(lazuli_model::Timestamp::to_http));
    if !whole {
        return answer;
    }
    let kept = &blob.headers;
    let answer = answer
        .optional(&name::CONTENT_TYPE, kept.content_type.as_deref())
        .optional(&name::CONTENT_ENCODING, kept.encoding.as_deref())
        .optional(&name::CONTENT_LANGUAGE, kept.language.as_deref())
        .optional(&name::CACHE_CONTROL, kept.cache_control.as_deref())
        .optional(&name::CONTENT_DISPOSITION, kept.disposition.as_deref())
        .optional(&name::CONTENT_MD5, kept.md5.as_ref().map(md5_text))
        .optional(&name::PROPERTIES, own::properties_text(&blob.metadata));
    let answer = headers::lease(answer, blob.lease, ask.head.now);
    match ask.head.style {
        Style::Host => answer,
        // Clients that know one host in path style (C++, AzCopy) ask it for what Get Blob Properties tells.
        Style::Path => as_blob(answer, found),
    }
}

fn as_blob(answer: Answer, found: &PathAccess) -> Answer {
    let answer = answer.constant(&name::BLOB_TYPE, crate::blob::headers::kind_text(found.blob.kind));
    let answer = headers::metadata_of(answer, &found.blob.metadata);
    match found.node.as_ref().is_some_and(|node| node.is_directory) {
        true => answer.constant(&name::META_IS_FOLDER, "true"),
        false => answer,
    }
}

async fn set(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let set = SetPathProperties {
        headers: own::content_headers(head)?,
        metadata: own::properties(head)?,
        conditions: headers::conditions(head, &SET)?,
        lease: headers::lease_id(head)?,
    };
    let at = own::path_at(head)?;
    if at.path.is_root() {
        return Err(Refusal::InvalidUri.into());
    }
    let blob = ask.store.set_path_properties(&at, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified).constant(&name::NAMESPACE_ENABLED, "true"))
}
