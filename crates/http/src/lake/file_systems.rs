//! File systems by this endpoint: create, properties, delete, list; and the probe of the account.

use http::StatusCode;
use lazuli_model::container::{CreateContainer, DeleteContainer, ReadContainer, SetContainerMetadata};
use lazuli_store::ListContainers;
use serde_json::{Value, json};

use super::headers as own;
use crate::answer::{Answer, name};
use crate::blob::create_container::permitted_access;
use crate::blob::encryption;
use crate::operation::{ANY, AccountNeeds, DATES, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

const OF_FILE_SYSTEM: Spec =
    Spec { on: On::Container, when: &[When::QueryIs("resource", "filesystem")], lake: true, ..Spec::PLAIN };

pub const CREATE: Spec = Spec {
    name: "CreateFileSystem",
    methods: &["PUT"],
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..OF_FILE_SYSTEM
};
pub const GET: Spec = Spec {
    name: "GetFileSystemProperties",
    methods: &["HEAD"],
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    takes: LEASE,
    ..OF_FILE_SYSTEM
};
pub const SET: Spec = Spec {
    name: "SetFileSystemProperties",
    methods: &["PATCH"],
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    takes: DATES | LEASE,
    ..OF_FILE_SYSTEM
};
pub const DELETE: Spec = Spec {
    name: "DeleteFileSystem",
    methods: &["DELETE"],
    account_sas: Some(AccountNeeds { resource: 'c', any: "d" }),
    takes: DATES | LEASE,
    ..OF_FILE_SYSTEM
};
pub const LIST: Spec = Spec {
    name: "ListFileSystems",
    methods: &["GET"],
    on: On::Service,
    when: &[When::QueryIs("resource", "account")],
    account_sas: Some(AccountNeeds { resource: 's', any: "l" }),
    lake: true,
    ..Spec::PLAIN
};
/// Whether the account has a hierarchical namespace, by the header of the answer.
pub const PROBE: Spec = Spec {
    name: "GetFileSystemAccount",
    methods: &["HEAD"],
    account_sas: Some(AccountNeeds { resource: 's', any: ANY }),
    ..LIST
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let answer = match (ask.spec.on, ask.spec.methods) {
        (On::Service, ["HEAD"]) => Answer::new(StatusCode::OK)
            .constant(&name::IS_HNS_ENABLED, if ask.settings.hierarchical_namespace { "true" } else { "false" }),
        (On::Service, _) => list(ask).await?,
        (_, ["PUT"]) => create(ask).await?,
        (_, ["HEAD"]) => get(ask).await?,
        (_, ["PATCH"]) => set(ask).await?,
        _ => delete(ask).await?,
    };
    Ok(answer)
}

fn namespace(answer: Answer, ask: &Ask) -> Answer {
    answer.constant(&name::NAMESPACE_ENABLED, if ask.settings.hierarchical_namespace { "true" } else { "false" })
}

async fn create(ask: &mut Ask) -> Result<Answer, Failure> {
    let scope = encryption::of_container(ask)?;
    let (id, metadata) = ((ask.ids)(), own::properties(&ask.head)?.unwrap_or_default());
    let create = CreateContainer { id, scope, metadata, public: permitted_access(ask)? };
    let made = ask.store.create_container(&ask.head.container_at()?, create).await?;
    Ok(namespace(Answer::new(StatusCode::CREATED).etag(made.etag, made.modified), ask))
}

async fn get(ask: &mut Ask) -> Result<Answer, Failure> {
    let read = ReadContainer { lease: headers::lease_id(&ask.head)? };
    let found = ask.store.container(&ask.head.container_at()?, read).await?;
    let answer = Answer::new(StatusCode::OK)
        .etag(found.etag, found.modified)
        .optional(&name::PROPERTIES, own::properties_text(&found.metadata));
    Ok(namespace(answer, ask))
}

async fn set(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let metadata = own::properties(head)?.ok_or(Refusal::MissingRequiredHeader { header: "x-ms-properties".into() })?;
    let (conditions, lease) = (headers::conditions(head, &SET)?, headers::lease_id(head)?);
    let set = SetContainerMetadata { metadata, conditions, lease };
    let found = ask.store.set_container_metadata(&head.container_at()?, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(found.etag, found.modified))
}

async fn delete(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let delete = DeleteContainer { conditions: headers::conditions(head, &DELETE)?, lease: headers::lease_id(head)? };
    ask.store.delete_container(&head.container_at()?, delete).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}

async fn list(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let most = head.query_opt("maxResults", |text| text.parse::<u32>().ok().filter(|most| *most > 0))?;
    let list = ListContainers {
        prefix: head.query.get("prefix").unwrap_or_default().to_owned(),
        marker: head.query.get("continuation").filter(|text| !text.is_empty()).map(str::to_owned),
        most: most.unwrap_or(5000).min(5000),
        ..ListContainers::default()
    };
    let page = ask.store.list_containers(&head.account()?, list).await?;
    let one = |item: &lazuli_store::ContainerItem| -> Value {
        json!({
            "etag": item.container.etag.to_string(),
            "lastModified": item.container.modified.to_http(),
            "name": item.name.as_str(),
        })
    };
    let all: Vec<Value> = page.items.iter().map(one).collect();
    let answer = Answer::new(StatusCode::OK).optional(&name::CONTINUATION, page.next);
    Ok(answer.json("application/json;charset=utf-8", format!("{}\n", json!({ "filesystems": all }))))
}
