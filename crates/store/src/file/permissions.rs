//! Create Permission, Get Permission, and what a new or changed entry's permission is.

use lazuli_model::Refusal;
use lazuli_model::file::{FileId, Format, PermissionKey, Principal, Sddl, SetPermission};

use super::ShareAt;
use super::tree::Tree;
use crate::records::{Permission, encode};
use crate::transact::{Decided, get};
use crate::{Failure, Store};

/// Keys that are tried when two descriptors have the same one.
const PROBES: u64 = 8;

impl Store {
    pub async fn create_permission(
        &self,
        at: &ShareAt,
        text: String,
        format: Format,
    ) -> Result<PermissionKey, Failure> {
        let sddl = Sddl::parse(&text, format)?;
        self.change_tree(at, move |tree| tree.keep_permission(&sddl)).await
    }

    pub async fn permission(&self, at: &ShareAt, key: PermissionKey, format: Format) -> Result<String, Failure> {
        let sddl = self.look_tree(at, None, |tree| tree.permission(key)).await?;
        Ok(sddl.ok_or(Refusal::FileInvalidPermission)?.to_format(format)?)
    }
}

impl Tree<'_, '_> {
    pub fn permission(&mut self, key: PermissionKey) -> Decided<Option<Sddl>> {
        let kept: Option<Permission> = get(self.txn, &self.keys.permission(key))?;
        let root = || Some(Sddl::root()).filter(|root| root.key() == key);
        Ok(kept.map(|kept| kept.0).or_else(root))
    }

    /// The key under which the share knows a descriptor.
    pub fn keep_permission(&mut self, sddl: &Sddl) -> Decided<PermissionKey> {
        let first = sddl.key();
        for probe in 0..PROBES {
            let key = PermissionKey(first.0.wrapping_add(probe));
            match self.permission(key)? {
                Some(kept) if kept.key() == first => return Ok(key),
                Some(_) => {}
                None => {
                    self.txn.put(self.keys.permission(key), encode(&Permission(sddl.clone())));
                    return Ok(key);
                }
            }
        }
        Err(Refusal::FileInvalidPermission.into())
    }

    /// The descriptor of an entry.
    pub fn permission_of(&mut self, file: FileId) -> Decided<Sddl> {
        let found = match self.node(file)?.map(|node| node.smb.permission) {
            Some(key) => self.permission(key)?,
            None => None,
        };
        Ok(found.unwrap_or_else(Sddl::root))
    }

    /// What something new in `parent` has; it is `maker`'s, if descriptors bind who makes it.
    pub fn new_permission(
        &mut self,
        set: Option<&SetPermission>,
        parent: FileId,
        directory: bool,
        maker: Option<&Principal>,
    ) -> Decided<PermissionKey> {
        match self.set_permission(set, parent, directory)? {
            Some(key) => Ok(key),
            None => self.inherited_permission(parent, directory, maker),
        }
    }

    /// What something that is there is to have from now on; nothing when it stays as it is.
    pub fn set_permission(
        &mut self,
        set: Option<&SetPermission>,
        parent: FileId,
        directory: bool,
    ) -> Decided<Option<PermissionKey>> {
        match set {
            None | Some(SetPermission::Preserve) => Ok(None),
            Some(SetPermission::Inherit) => self.inherited_permission(parent, directory, None).map(Some),
            Some(SetPermission::Text { text, format }) => {
                let sddl = Sddl::parse(text, *format)?;
                self.keep_permission(&sddl).map(Some)
            }
            Some(SetPermission::Key(key)) => match self.permission(*key)? {
                Some(_) => Ok(Some(*key)),
                None => Err(Refusal::FileInvalidPermission.into()),
            },
        }
    }

    fn inherited_permission(
        &mut self,
        parent: FileId,
        directory: bool,
        maker: Option<&Principal>,
    ) -> Decided<PermissionKey> {
        let parents = self.permission_of(parent)?;
        self.keep_permission(&parents.inherited(directory, maker))
    }
}
