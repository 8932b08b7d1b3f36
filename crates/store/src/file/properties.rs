//! Get and set the properties and metadata of directories; set those of files.

use lazuli_model::file::arbiter::Act;
use lazuli_model::file::{Entry, SetDirectoryProperties, SetFileMetadata, SetFileProperties};
use lazuli_model::{Lease, Metadata, Timestamp};

use super::{FileAt, entry};
use crate::{Failure, Store};

impl Store {
    /// Get Directory Properties and Metadata, also of the root.
    pub async fn directory(&self, at: &FileAt, snapshot: Option<Timestamp>) -> Result<Entry, Failure> {
        self.look_tree(&at.share_at(), snapshot, |tree| {
            let (node, parent) = tree.find_directory(&at.path)?;
            Ok(entry(node, parent, Lease::Available))
        })
        .await
    }

    pub async fn set_directory_properties(&self, at: &FileAt, set: SetDirectoryProperties) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            let (node, parent) = tree.find_directory(&path)?;
            let permission = tree.set_permission(set.smb.permission.as_ref(), parent, true)?;
            let node = set.decide(&node, permission, tree.now());
            tree.put_node(&node)?;
            Ok(entry(node, parent, Lease::Available))
        })
        .await
    }

    pub async fn set_directory_metadata(&self, at: &FileAt, metadata: Metadata) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            let (node, parent) = tree.find_directory(&path)?;
            let node = node.with_metadata(metadata.clone(), tree.now())?;
            tree.put_node(&node)?;
            Ok(entry(node, parent, Lease::Available))
        })
        .await
    }

    /// Set File Properties. To shorten a very long file takes several transactions; the length changes with the last.
    pub async fn set_file_properties(&self, at: &FileAt, set: SetFileProperties) -> Result<Entry, Failure> {
        loop {
            let found = self.approach(at, Act::Write).await?;
            let (path, set) = (at.path.clone(), set.clone());
            let done = self
                .change_found(found, move |tree| {
                    let (node, parent) = tree.find_file(&path)?;
                    let lease = tree.admit_leased(&node, Act::Write, set.lease)?;
                    let permission = tree.set_permission(set.smb.permission.as_ref(), parent, false)?;
                    let mut changed = set.decide(&node, permission, tree.now())?;
                    let (before, after) = (node.length, changed.length);
                    if after < before && !tree.clear_content(&mut changed, after, before, &[])? {
                        let partly = lazuli_model::file::Node { content_epoch: changed.content_epoch, ..node };
                        tree.put_node(&partly)?;
                        return Ok(None);
                    }
                    tree.resize(node.length, changed.length)?;
                    tree.put_node(&changed)?;
                    Ok(Some(entry(changed, parent, lease)))
                })
                .await?;
            if let Some(entry) = done {
                return Ok(entry);
            }
        }
    }

    pub async fn set_file_metadata(&self, at: &FileAt, set: SetFileMetadata) -> Result<Entry, Failure> {
        let found = self.approach(at, Act::Write).await?;
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let (node, parent) = tree.find_file(&path)?;
            let lease = tree.admit_leased(&node, Act::Write, set.lease)?;
            let node = node.with_metadata(set.metadata.clone(), tree.now())?;
            tree.put_node(&node)?;
            Ok(entry(node, parent, lease))
        })
        .await
    }
}
