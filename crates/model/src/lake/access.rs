//! Who may do what to a path: the check of "Access control lists (ACLs) in Azure Data Lake Storage", line by line.
//!
//! Roles and signatures come first, and a caller they let in is not asked here ([`Caller::superuser`]). Held true: nobody reaches a path
//! without the right to pass through every directory above it.

use super::acl::{AccessControl, Bits, Kind};
use crate::Refusal;

/// Who acts, for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The object id, where one is known: what is made belongs to it.
    pub oid: Option<String>,
    pub groups: Vec<String>,
    /// Whether access control lists are asked.
    pub is_bound: bool,
}

impl Caller {
    /// The holder of a key, of a SAS that a key signed, or of a role that says enough.
    pub fn superuser() -> Self {
        Self::default()
    }

    fn is(&self, id: &str) -> bool {
        self.oid.as_deref() == Some(id)
    }

    fn is_member(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group) || self.is(group)
    }

    /// Who owns what it makes, and in which group (observed: the caller's id for both).
    pub fn owner(&self) -> &str {
        self.oid.as_deref().unwrap_or(super::SUPERUSER)
    }
}

/// What an operation needs, of a path or of the directory that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To pass through: of every directory above.
    Traverse,
    Read,
    Write,
    /// Read and write: to append.
    ReadWrite,
    /// To put a name into a directory, or take one out.
    Link,
    /// To list a directory.
    List,
}

impl Right {
    fn bits(self) -> Bits {
        match self {
            Right::Traverse => Bits::EXECUTE,
            Right::Read => Bits::READ,
            Right::Write => Bits::WRITE,
            Right::ReadWrite => Bits::READ.or(Bits::WRITE),
            Right::Link => Bits::WRITE.or(Bits::EXECUTE),
            Right::List => Bits::READ.or(Bits::EXECUTE),
        }
    }
}

/// Whether `caller` has a right by the list alone.
pub fn permit(caller: &Caller, control: &AccessControl, right: Right) -> Result<(), Refusal> {
    if !caller.is_bound || allows(caller, control, right.bits()) {
        return Ok(());
    }
    Err(Refusal::AuthorizationPermissionMismatch)
}

fn allows(caller: &Caller, control: &AccessControl, wanted: Bits) -> bool {
    // The owner. The mask has no say.
    if caller.is(&control.owner) {
        return control.bits(Kind::User, "").unwrap_or_default().has(wanted);
    }
    let mask = control.mask();
    if let Some(oid) = &caller.oid
        && let Some(bits) = control.bits(Kind::User, oid)
    {
        return bits.and(mask).has(wanted);
    }
    // Of several groups, one that grants all is enough. The documented check then goes on to all others, for members of a group too.
    let of_groups = control.entries().filter(|entry| entry.kind == Kind::Group);
    let mut groups = of_groups.map(|entry| (if entry.id.is_empty() { &control.group } else { &entry.id }, entry.bits));
    if groups.any(|(group, bits)| caller.is_member(group) && bits.and(mask).has(wanted)) {
        return true;
    }
    control.bits(Kind::Other, "").unwrap_or_default().and(mask).has(wanted)
}

/// Whether a name may be taken out of a directory: of one with the sticky bit only by the owner of either.
pub fn permit_removal(caller: &Caller, parent: &AccessControl, child: &AccessControl) -> Result<(), Refusal> {
    permit(caller, parent, Right::Link)?;
    if caller.is_bound && parent.sticky && !caller.is(&parent.owner) && !caller.is(&child.owner) {
        return Err(Refusal::AuthorizationPermissionMismatch);
    }
    Ok(())
}

impl AccessControl {
    /// Permissions and lists are for the owner to change; the owner is for nobody that lists are asked for; the group, for an owner
    /// who is a member of the new one.
    pub fn permit_change(&self, caller: &Caller, owner: Option<&str>, group: Option<&str>) -> Result<(), Refusal> {
        let owns = !caller.is_bound || caller.is(&self.owner);
        let gives_away = caller.is_bound && owner.is_some_and(|owner| owner != self.owner);
        let foreign = caller.is_bound && group.is_some_and(|group| group != self.group && !caller.is_member(group));
        if owns && !gives_away && !foreign { Ok(()) } else { Err(Refusal::AuthorizationPermissionMismatch) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::acl::{Acl, Mode};
    use super::*;

    fn control(acl: &str) -> AccessControl {
        let mut control = AccessControl::new("owner", "staff", Mode::of(0));
        control.set_acl(&Acl::parse(acl, false).unwrap(), true).unwrap();
        control
    }

    fn caller(oid: &str, groups: &[&str]) -> Caller {
        Caller { oid: Some(oid.into()), groups: groups.iter().map(|group| group.to_string()).collect(), is_bound: true }
    }

    /// The documented algorithm: super-user, owner (no mask), named users, groups, others.
    #[test]
    fn the_check_goes_in_the_documented_order() {
        let list = "user::r--,user:alice:rwx,user:bob:---,group::r-x,group:ops:-wx,mask::rw-,other::--x";
        for (who, right, may) in [
            (caller("owner", &[]), Right::Read, true),
            (caller("owner", &[]), Right::Write, false), // though groups and others might
            (caller("alice", &[]), Right::ReadWrite, true),
            (caller("alice", &[]), Right::Traverse, false), // the mask takes x away
            (caller("bob", &["staff", "ops"]), Right::Read, false), // a named user is not asked for groups
            (caller("carol", &["staff"]), Right::Read, true),
            (caller("carol", &["staff"]), Right::Write, false),
            (caller("carol", &["staff", "ops"]), Right::Write, true), // one of the groups grants it
            (caller("carol", &["staff", "ops"]), Right::ReadWrite, false), // none grants both
            (caller("dave", &[]), Right::Read, false),
            (caller("dave", &[]), Right::Traverse, false), // the mask limits others, too
            (Caller::superuser(), Right::Link, true),
            (Caller { oid: Some("dave".into()), ..Caller::superuser() }, Right::Link, true), // by a role
        ] {
            assert_eq!(permit(&who, &control(list), right).is_ok(), may, "{who:?} {right:?}");
        }
        let open = control("user::rwx,group::---,other::--x");
        assert!(permit(&caller("dave", &[]), &open, Right::Traverse).is_ok());
        assert!(permit(&caller("carol", &["staff"]), &open, Right::Read).is_err());
    }

    /// "Common scenarios related to ACL permissions": what each operation needs of each level.
    #[test]
    fn the_documented_scenarios() {
        let read_only = control("user::---,group::---,other::r--");
        let execute = control("user::---,group::---,other::--x");
        let write_execute = control("user::---,group::---,other::-wx");
        let read_execute = control("user::---,group::---,other::r-x");
        let who = caller("agent", &[]);
        for (scenario, needs, enough, less) in [
            ("read Data.txt", Right::Read, &read_only, &execute),
            ("pass /Oregon/", Right::Traverse, &execute, &read_only),
            ("create in /Oregon/", Right::Link, &write_execute, &read_execute),
            ("delete from /Oregon/", Right::Link, &write_execute, &execute),
            ("list /Oregon/", Right::List, &read_execute, &read_only),
        ] {
            assert!(permit(&who, enough, needs).is_ok(), "{scenario}");
            assert!(permit(&who, less, needs).is_err(), "{scenario}");
        }
    }

    #[test]
    fn the_sticky_bit() {
        let own = |owner: &str, sticky| {
            let mut own = control("user::rwx,group::rwx,other::rwx");
            (own.owner, own.sticky) = (owner.to_owned(), sticky);
            own
        };
        for (who, parent, sticky, child, may) in [
            ("a", "p", false, "c", true),
            ("a", "p", true, "c", false),
            ("c", "p", true, "c", true),
            ("p", "p", true, "c", true),
        ] {
            let refused = permit_removal(&caller(who, &[]), &own(parent, sticky), &own(child, false));
            assert_eq!(refused.is_ok(), may, "{who} {parent} {sticky} {child}");
        }
        assert!(permit_removal(&Caller::superuser(), &own("p", true), &own("c", false)).is_ok());
    }

    #[test]
    fn who_may_change_a_list() {
        let own = control("user::rwx,group::r-x,other::---");
        for (who, owner, group, may) in [
            (caller("owner", &[]), None, None, true),
            (caller("other", &["staff"]), None, None, false),
            (caller("owner", &[]), Some("other"), None, false),
            (caller("owner", &[]), Some("owner"), None, true),
            (caller("owner", &["new"]), None, Some("new"), true),
            (caller("owner", &[]), None, Some("new"), false),
            (Caller::superuser(), Some("other"), Some("new"), true),
        ] {
            assert_eq!(own.permit_change(&who, owner, group).is_ok(), may, "{who:?} {owner:?} {group:?}");
        }
    }
}
