//! Data Lake Storage Gen2: file systems and paths, one file per operation. It is another way into the Blob service: a file system is a
//! container, a path is a blob, and what is not here (leases by `comp=lease`, metadata, undelete) is asked of the Blob API.
//!
//! In path style clients know one host for both, so that calls are told apart by what they say ([`is_call`]).

pub mod access_control;
pub mod access_recursive;
pub mod append_data;
pub mod create_path;
pub mod delete_path;
pub mod file_systems;
pub mod flush_data;
pub mod lease_path;
pub mod list_paths;
pub mod path_properties;
pub mod read_path;
pub mod rename_path;

mod headers;
pub(crate) mod refuse;

pub(crate) use headers::{describe_node, directory_of, folder_metadata, is_directory, resource_type, says_folder};

use http::Method;

use crate::head::{Head, Service};
use crate::operation::{Operation, Spec, served_table};
use crate::refusal::Refusal;

pub static SERVED: &[Operation] = served_table![
    append_data::SPEC,
    flush_data::SPEC,
    create_path::SPEC,
    read_path::SPEC,
    path_properties::GET,
    path_properties::STATUS,
    path_properties::STATUS_OF_ROOT,
    path_properties::SET,
    list_paths::SPEC,
    rename_path::SPEC,
    delete_path::SPEC,
    access_control::GET,
    access_control::GET_OF_ROOT,
    access_control::SET,
    access_control::SET_OF_ROOT,
    access_recursive::SPEC,
    access_recursive::OF_ROOT,
    lease_path::SPEC,
    file_systems::CREATE,
    file_systems::GET,
    file_systems::SET,
    file_systems::DELETE,
    file_systems::LIST,
    file_systems::PROBE,
];

/// Whether only the Data Lake API has what `head` asks for.
pub fn is_call(head: &Head) -> bool {
    let asks = |name: &str| head.query.get(name).is_some();
    let is_lake = || asks("resource") || asks("action") || head.method == Method::PATCH || renames(head);
    match head.service {
        // Deleting a path is told from deleting a blob by what it says of what is below it.
        Service::Blob => is_lake() || head.method == Method::DELETE && asks("recursive"),
        // What names a component or a kind of resource is the Blob API's.
        Service::Dfs => is_lake() || !asks("comp") && !asks("restype"),
        Service::Queue | Service::Table | Service::File => false,
    }
}

/// What Azure does not offer with a hierarchical namespace: blob index tags.
pub(crate) fn permit_hierarchical(spec: &Spec, head: &Head) -> Result<(), Refusal> {
    let of_blobs = head.service == Service::Blob || head.service == Service::Dfs;
    let tags = matches!(spec.comp, Some("tags" | "blobs")) || head.says("x-ms-tags");
    match head.hierarchical && of_blobs && tags {
        true => Err(Refusal::HierarchicalNamespaceNotSupported { what: "Blob index tags".into() }),
        false => Ok(()),
    }
}

fn renames(head: &Head) -> bool {
    head.method == Method::PUT && head.headers.says("x-ms-rename-source")
}
