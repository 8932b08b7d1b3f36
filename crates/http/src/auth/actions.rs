//! What an operation needs of a role. Derived from the same table of operations as everything else, so that an operation cannot be
//! forgotten: one that nothing special is known of needs to write.

use lazuli_model::roles::{Action, Data};

use crate::head::{Head, Service};
use crate::operation::{On, Spec};

/// All of them are needed.
pub fn of(spec: &Spec, head: &Head) -> Vec<Action> {
    let action = match head.service {
        Service::Blob | Service::Dfs => on_blobs(spec, head),
        Service::Queue => on_queues(spec),
        Service::Table => on_tables(spec, head),
        Service::File => on_files(spec, head),
    };
    let mut all = vec![action];
    // Tags that are set with a write.
    if spec.also.iter().any(|(header, letter)| *letter == 't' && head.text(header).is_some()) {
        all.push(Action::BlobTags);
    }
    all
}

fn reads(spec: &Spec) -> bool {
    spec.methods.iter().any(|method| matches!(*method, "GET" | "HEAD")) && !spec.changes
}

fn deletes(spec: &Spec) -> bool {
    spec.methods.contains(&"DELETE")
}

/// What every service has of its own: properties, statistics, delegation keys, batches.
fn of_service(spec: &Spec, data: Data) -> Action {
    match spec.comp {
        Some("userdelegationkey") => Action::Delegate(data),
        Some("batch") => Action::Any,
        Some("properties") if spec.restype == Some("account") => Action::Any,
        Some(_) | None if reads(spec) => Action::ServiceRead,
        Some(_) | None => Action::ServiceWrite,
    }
}

fn on_blobs(spec: &Spec, head: &Head) -> Action {
    // Account information is asked of anything.
    if spec.restype == Some("account") {
        return Action::Any;
    }
    match spec.on {
        On::Service => match spec.comp {
            Some("list") => Action::ContainerRead,
            Some("blobs") => Action::BlobFilter,
            Some(_) | None => of_service(spec, Data::Blob),
        },
        On::Container => match spec.comp {
            // It can do no more than its maker; what it is for is reading.
            Some("list" | "session") => Action::BlobRead,
            Some("blobs") => Action::BlobFilter,
            Some("batch") => Action::Any,
            Some("acl") => Action::ContainerAcl,
            Some(_) | None if reads(spec) => Action::ContainerRead,
            Some(_) | None if deletes(spec) => Action::ContainerDelete,
            Some(_) | None => Action::ContainerWrite,
        },
        // Of these the Blob service has blobs alone.
        On::Blob
        | On::Queue
        | On::Messages
        | On::Message
        | On::Share
        | On::Directory
        | On::File
        | On::Tables
        | On::Table
        | On::Entities
        | On::Entity
        | On::Batch => match spec.comp {
            Some("tags") => Action::BlobTags,
            Some("immutabilityPolicies" | "legalhold") => Action::BlobOwn,
            Some("appendblock") => Action::BlobAdd,
            Some("query") => Action::BlobRead,
            Some(_) | None if reads(spec) => Action::BlobRead,
            Some(_) | None if deletes(spec) && head.query.get("versionid").is_some() => Action::BlobDeleteVersion,
            Some(_) | None if deletes(spec) => Action::BlobDelete,
            Some(_) | None => Action::BlobWrite,
        },
    }
}

fn on_queues(spec: &Spec) -> Action {
    match (spec.on, spec.name) {
        (On::Service, _) if spec.comp == Some("list") => Action::QueueRead,
        (On::Service, _) => of_service(spec, Data::Queue),
        (_, "PeekMessages") => Action::MessageRead,
        (_, "GetMessages" | "DeleteMessage") => Action::MessageProcess,
        (_, "PutMessage") => Action::MessageAdd,
        (_, "UpdateMessage") => Action::MessageUpdate,
        (_, "ClearMessages") => Action::MessageClear,
        _ if spec.comp == Some("acl") => Action::QueueAcl,
        _ if reads(spec) => Action::QueueRead,
        _ if deletes(spec) => Action::QueueDelete,
        _ => Action::QueueWrite,
    }
}

fn on_tables(spec: &Spec, head: &Head) -> Action {
    let entities = spec.name.contains("Entit");
    match (spec.on, head.method.as_str()) {
        (On::Service, _) if spec.comp.is_some() => of_service(spec, Data::Table),
        // What is in a batch is looked at one by one.
        (On::Batch, _) => Action::Any,
        (_, "GET" | "HEAD") if entities => Action::EntityRead,
        (_, "POST") if entities && spec.name.starts_with("Insert") => Action::EntityAdd,
        (_, "DELETE") if entities => Action::EntityDelete,
        (_, "PUT" | "PATCH" | "MERGE" | "POST") if entities && head.text("if-match").is_some() => Action::EntityUpdate,
        _ if entities => Action::EntityUpsert,
        (_, "GET" | "HEAD") => Action::TableRead,
        (_, "DELETE") => Action::TableDelete,
        _ => Action::TableWrite,
    }
}

fn on_files(spec: &Spec, _head: &Head) -> Action {
    if spec.on == On::Service && spec.comp != Some("list") {
        return of_service(spec, Data::File);
    }
    match spec.comp {
        Some("acl" | "filepermission") => Action::FilePermissions,
        Some(_) | None if reads(spec) => Action::FileRead,
        Some(_) | None if deletes(spec) => Action::FileDelete,
        Some(_) | None => Action::FileWrite,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::{NOW, arrival, head_on};
    use crate::operation::CATALOGUES;

    /// What the reference lists under "Permissions".
    #[test]
    fn operations_need_what_the_reference_says() {
        let table = [
            ("GetBlob", Action::BlobRead),
            ("PutBlob", Action::BlobWrite),
            ("DeleteBlob", Action::BlobDelete),
            ("SetBlobTags", Action::BlobTags),
            ("ListBlobs", Action::BlobRead),
            ("ListContainers", Action::ContainerRead),
            ("CreateContainer", Action::ContainerWrite),
            ("DeleteContainer", Action::ContainerDelete),
            ("SetContainerAcl", Action::ContainerAcl),
            ("GetServiceProperties", Action::ServiceRead),
            ("SetServiceProperties", Action::ServiceWrite),
            ("GetAccountInfo", Action::Any),
            ("GetUserDelegationKey", Action::Delegate(Data::Blob)),
            ("GetMessages", Action::MessageProcess),
            ("PeekMessages", Action::MessageRead),
            ("PutMessage", Action::MessageAdd),
            ("ClearMessages", Action::MessageClear),
            ("ListQueues", Action::QueueRead),
            ("CreateQueue", Action::QueueWrite),
            ("DeleteQueue", Action::QueueDelete),
            ("GetFile", Action::FileRead),
            ("PutRange", Action::FileWrite),
            ("DeleteFile", Action::FileDelete),
            ("CreatePermission", Action::FilePermissions),
            ("ListShares", Action::FileRead),
            ("GetFileUserDelegationKey", Action::Delegate(Data::File)),
        ];
        let mut seen = 0;
        for catalogue in CATALOGUES {
            let service = match catalogue.name {
                "Queue" => Service::Queue,
                "File" => Service::File,
                _ => Service::Blob,
            };
            for operation in catalogue.served {
                let spec = operation.spec;
                let head = head_on(arrival(service, NOW), spec.methods[0], "/devstoreaccount1/name/messages", &[]);
                if let Some((_, action)) = table.iter().find(|(name, _)| *name == spec.name) {
                    assert_eq!(of(spec, &head), [*action], "{}", spec.name);
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, table.len());
    }
}
