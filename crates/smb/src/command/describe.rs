//! A file's record, as clients are shown it.

use lazuli_model::file::{FileId, Kind, Node};

use crate::info::directory;
use crate::info::file::{Attributes, Basic, NetworkOpen, Standard};
use crate::time::FileTime;

/// What is allocated is counted in these.
pub(super) const CLUSTER: u64 = 4096;

pub(super) fn allocation(node: &Node) -> u64 {
    match node.kind {
        Kind::Directory => 0,
        Kind::File | Kind::Symlink => clusters(node.length),
    }
}

/// So many bytes, in whole clusters.
pub(super) fn clusters(length: u64) -> u64 {
    length.checked_next_multiple_of(CLUSTER).unwrap_or(length)
}

pub(super) fn end_of_file(node: &Node) -> u64 {
    if node.kind == Kind::Directory { 0 } else { node.length }
}

pub(super) fn attributes(node: &Node) -> Attributes {
    let bits = node.smb.attributes.bits() & !0x80;
    let bits = if node.kind == Kind::Directory { bits | 0x10 } else { bits & !0x10 };
    Attributes(if bits == 0 { 0x80 } else { bits })
}

/// Of the share's root too, which is 0 within.
pub(super) fn file_id(id: FileId) -> u64 {
    if id == FileId::ROOT { 1 } else { id.0 }
}

/// Created, accessed, written, changed. There is no time of the last access: it is that of the last write.
pub(super) fn times(node: &Node) -> [FileTime; 4] {
    let smb = &node.smb;
    [smb.created.into(), smb.written.into(), smb.written.into(), smb.changed.into()]
}

pub(super) fn basic(node: &Node) -> Basic {
    let [created, accessed, written, changed] = times(node);
    Basic { created, accessed, written, changed, attributes: attributes(node) }
}

pub(super) fn standard(node: &Node, delete_pending: bool) -> Standard {
    Standard {
        allocation: allocation(node),
        end_of_file: end_of_file(node),
        links: if delete_pending { node.links.saturating_sub(1) } else { node.links },
        delete_pending,
        directory: node.kind == Kind::Directory,
    }
}

pub(super) fn network_open(node: &Node) -> NetworkOpen {
    let [created, accessed, written, changed] = times(node);
    NetworkOpen {
        created,
        accessed,
        written,
        changed,
        allocation: allocation(node),
        end_of_file: end_of_file(node),
        attributes: attributes(node),
    }
}

pub(super) fn entry(node: &Node, name: &str) -> directory::Entry {
    let [created, accessed, written, changed] = times(node);
    directory::Entry {
        created,
        accessed,
        written,
        changed,
        end_of_file: end_of_file(node),
        allocation: allocation(node),
        attributes: attributes(node),
        ea_size: 0,
        reparse_tag: 0,
        id: file_id(node.id),
        name: name.into(),
    }
}
