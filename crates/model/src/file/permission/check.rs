//! Who may do what by a security descriptor ([MS-DTYP] 2.5.3.2), and what that comes to for files ([MS-FSA] 2.1.5.1).
//!
//! * Entries count in their order: what one has granted, a later one does not deny, and the other way round.
//! * An owner may always read and change the list, unless an entry for OWNER RIGHTS says what an owner may.
//! * A directory's list reaches what is in it: who may delete children may delete each, and who may list may read attributes.
//! * Nobody has privileges: no SACL, no ownership for others, no way round by backup intent. Traversing directories is asked of nobody.

use crate::{AccountName, Refusal};

use super::Sddl;
use super::descriptor::{Ace, Descriptor, Sid, is_inherit_only, specific};
use crate::file::{Done, Kind};

/// Rights to a file or a directory ([MS-SMB2] 2.2.13.1), those that stand for others spelt out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u32);

impl Rights {
    /// Also: to list a directory.
    pub const READ_DATA: Rights = Rights(0x1);
    /// Also: to make files in a directory.
    pub const WRITE_DATA: Rights = Rights(0x2);
    /// Also: to make directories in a directory.
    pub const APPEND_DATA: Rights = Rights(0x4);
    pub const WRITE_EA: Rights = Rights(0x10);
    pub const EXECUTE: Rights = Rights(0x20);
    pub const DELETE_CHILD: Rights = Rights(0x40);
    pub const READ_ATTRIBUTES: Rights = Rights(0x80);
    pub const WRITE_ATTRIBUTES: Rights = Rights(0x100);
    pub const DELETE: Rights = Rights(0x1_0000);
    pub const READ_CONTROL: Rights = Rights(0x2_0000);
    pub const WRITE_DAC: Rights = Rights(0x4_0000);
    pub const SYNCHRONIZE: Rights = Rights(0x10_0000);
    pub const ALL: Rights = Rights(0x1f_01ff);

    /// What has no meaning for files is left out.
    pub fn from_bits(bits: u32) -> Self {
        Self(specific(bits) & Self::ALL.0)
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    pub const fn with(self, other: Rights) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Rights) -> Self {
        Self(self.0 & !other.0)
    }

    /// All of them.
    pub const fn has(self, all_of: Rights) -> bool {
        self.0 & all_of.0 == all_of.0
    }

    pub const fn has_any(self, any_of: Rights) -> bool {
        self.0 & any_of.0 != 0
    }
}

/// What an open asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedRights {
    /// Each of these, or nothing.
    pub all: Rights,
    /// And whatever else there is (MAXIMUM_ALLOWED).
    pub most: bool,
}

/// Somebody who has logged on, as descriptors name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    user: Sid,
    primary_group: Sid,
    groups: Vec<Sid>,
}

/// Groups of everybody who logs on with a key: Everyone, NETWORK, Authenticated Users, Administrators and Users.
const GROUPS: [(u64, &[u32]); 5] = [(1, &[0]), (5, &[2]), (5, &[11]), (5, &[32, 544]), (5, &[32, 545])];

impl Principal {
    /// Who logs on with a key of the account. The SID is made of the account's name, so it is the same wherever the data goes.
    pub fn of_account(account: &AccountName) -> Self {
        let [one, two, three] = [1, 2, 3].map(|salt| digest(account.as_str(), salt));
        let user = Sid::new(5, &[21, one, two, three, 1000]);
        let primary_group = Sid::new(5, &[21, one, two, three, 513]);
        let mut groups: Vec<Sid> = GROUPS.iter().map(|(authority, parts)| Sid::new(*authority, parts)).collect();
        groups.push(primary_group.clone());
        Self { user, primary_group, groups }
    }

    fn is(&self, sid: &Sid) -> bool {
        self.user == *sid || self.groups.contains(sid)
    }

    /// Whether it may make this SID the owner of something: nobody gives ownership away.
    pub fn may_own(&self, authority: u64, parts: &[u32]) -> bool {
        self.is(&Sid::new(authority, parts))
    }

    /// The SIDs of what it makes, owner and group: authority and the rest.
    pub fn sids(&self) -> [(u64, &[u32]); 2] {
        [self.user.as_parts(), self.primary_group.as_parts()]
    }

    pub(super) fn owner(&self) -> (Sid, Sid) {
        (self.user.clone(), self.primary_group.clone())
    }
}

/// FNV-1a.
fn digest(text: &str, salt: u32) -> u32 {
    text.bytes().fold(0x811c_9dc5 ^ salt.wrapping_mul(0x9e37_79b9), |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl Sddl {
    /// What `who` may do by this descriptor alone.
    fn rights_of(&self, who: &Principal) -> Rights {
        match Descriptor::from_text(self.as_str()) {
            Some(descriptor) => rights(&descriptor, who),
            None => Rights::default(),
        }
    }

    /// All that `who` may do with something that has this descriptor, in a directory that has `parent`'s.
    pub fn maximal(&self, parent: Option<&Sddl>, who: &Principal) -> Rights {
        let above = parent.map_or(Rights::default(), |parent| parent.rights_of(who));
        let mut rights = self.rights_of(who);
        for (right, by_parent) in [(Rights::DELETE, Rights::DELETE_CHILD), (Rights::READ_ATTRIBUTES, Rights::READ_DATA)]
        {
            rights = if above.has(by_parent) { rights.with(right) } else { rights };
        }
        rights
    }

    /// What an open of something that is there gets of what it asks for; all of it, or none.
    pub fn permit_open(
        &self,
        parent: Option<&Sddl>,
        who: &Principal,
        asked: AskedRights,
        done: Done,
    ) -> Result<Rights, Refusal> {
        let maximal = self.maximal(parent, who);
        let implied = match done {
            Done::Opened | Done::Created => Rights::default(),
            Done::Overwritten => Rights::WRITE_DATA.with(Rights::WRITE_EA).with(Rights::WRITE_ATTRIBUTES),
            Done::Superseded => Rights::WRITE_DATA.with(Rights::DELETE),
        };
        if !maximal.has(asked.all.with(implied)) {
            return Err(Refusal::AuthorizationPermissionMismatch);
        }
        Ok(if asked.most { maximal } else { asked.all })
    }

    /// Whether `who` may make something in a directory that has this descriptor. Its maker gets whatever it asks for.
    pub fn permit_create(&self, who: &Principal, kind: Kind, asked: AskedRights) -> Result<Rights, Refusal> {
        let needed = match kind {
            Kind::Directory => Rights::APPEND_DATA,
            Kind::File | Kind::Symlink => Rights::WRITE_DATA,
        };
        if !self.rights_of(who).has(needed) {
            return Err(Refusal::AuthorizationPermissionMismatch);
        }
        Ok(if asked.most { Rights::ALL } else { asked.all })
    }

    /// Whether `who` may delete something that has this descriptor.
    pub fn permit_delete(&self, parent: &Sddl, who: &Principal) -> Result<(), Refusal> {
        match self.maximal(Some(parent), who).has(Rights::DELETE) {
            true => Ok(()),
            false => Err(Refusal::AuthorizationPermissionMismatch),
        }
    }
}

fn rights(descriptor: &Descriptor, who: &Principal) -> Rights {
    // No list at all is everybody's.
    let Some(dacl) = &descriptor.dacl else { return Rights::ALL };
    let owner_rights = Sid::new(3, &[4]);
    let owns = who.is(&descriptor.owner);
    let counting = || dacl.aces.iter().filter(|ace| !is_inherit_only(ace));
    let said = counting().any(|ace| ace.sid == owner_rights);
    let mut granted = if owns && !said { Rights::READ_CONTROL.with(Rights::WRITE_DAC) } else { Rights::default() };
    let mut denied = Rights::default();
    for ace in counting().filter(|ace| who.is(&ace.sid) || (owns && ace.sid == owner_rights)) {
        let meant = Rights::from_bits(ace.rights);
        match ace.kind {
            Ace::ALLOWED => granted = granted.with(meant.without(denied)),
            Ace::DENIED => denied = denied.with(meant.without(granted)),
            // Audit entries grant and deny nothing.
            _ => {}
        }
    }
    granted
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::*;

    const READ: u32 = 0x12_0089;

    fn me() -> Principal {
        Principal::of_account(&AccountName::parse("mine").expect("a name"))
    }

    /// `ME` is the SID of who asks, `YOU` that of somebody else.
    fn sddl(text: &str) -> Sddl {
        let you = Principal::of_account(&AccountName::parse("yours").expect("a name")).user.to_text();
        let text = text.replace("ME", &me().user.to_text()).replace("YOU", &you);
        Sddl::parse(&text, Format::Sddl).expect("a descriptor")
    }

    fn asked(bits: u32) -> AskedRights {
        AskedRights { all: Rights::from_bits(bits), most: false }
    }

    /// What the descriptor alone lets who asks do.
    #[test]
    fn entries_count_in_their_order() {
        let owner = 0x6_0000;
        let table = [
            ("O:YOUG:SYD:NO_ACCESS_CONTROL", 0x1f_01ff, "no list at all"),
            ("O:YOUG:SYD:", 0, "an empty list"),
            ("O:MEG:SYD:", owner, "an owner reads and changes the list"),
            ("O:BAG:SYD:", owner, "so does who is in the group that owns it"),
            ("O:YOUG:SYD:(A;;FR;;;ME)", READ, "a name"),
            ("O:YOUG:SYD:(A;;FR;;;AU)", READ, "a group"),
            ("O:YOUG:SYD:(A;;FR;;;YOU)", 0, "somebody else"),
            ("O:YOUG:SYD:(A;IO;FR;;;ME)", 0, "what is only passed on"),
            ("O:YOUG:SYD:(A;;GR;;;ME)", READ, "generic rights"),
            ("O:YOUG:SYD:(A;;FR;;;CO)", 0, "CREATOR OWNER is nobody"),
            ("O:YOUG:SYD:(D;;CC;;;ME)(A;;FR;;;ME)", READ & !1, "denied first"),
            ("O:YOUG:SYD:(A;;FR;;;ME)(D;;CC;;;ME)", READ, "denied too late"),
            ("O:YOUG:SYD:(D;;CC;;;WD)(A;;FR;;;ME)", READ & !1, "denied to everybody"),
            ("O:MEG:SYD:(D;;WD;;;ME)", owner, "an owner's own rights are not denied by name"),
            ("O:MEG:SYD:(A;;FR;;;ME)(A;;DC;;;OW)", READ | 2, "OWNER RIGHTS add, and take WRITE_DAC away"),
            ("O:MEG:SYD:(D;;CC;;;OW)(A;;FR;;;ME)", READ & !1, "OWNER RIGHTS deny"),
            ("O:MEG:SYD:(A;;FR;;;ME)(A;;DC;;;OW)(D;;CCDC;;;OW)", READ | 2, "too late"),
            ("O:YOUG:SYD:(A;;FA;;;OW)", 0, "OWNER RIGHTS of somebody else"),
            ("O:MEG:SYD:(A;OIIO;FA;;;OW)", owner, "OWNER RIGHTS that are only passed on"),
        ];
        for (text, rights, why) in table {
            assert_eq!(sddl(text).rights_of(&me()).bits(), rights, "{why}: {text}");
        }
    }

    #[test]
    fn a_directory_reaches_what_is_in_it() {
        let locked = sddl("O:YOUG:SYD:");
        let table = [
            ("O:YOUG:SYD:", 0),
            ("O:YOUG:SYD:(A;;CC;;;ME)", 0x80),
            ("O:YOUG:SYD:(A;;0x40;;;ME)", 0x1_0000),
            ("O:YOUG:SYD:(A;;FA;;;ME)", 0x1_0080),
        ];
        for (parent, rights) in table {
            assert_eq!(locked.maximal(Some(&sddl(parent)), &me()).bits(), rights, "{parent}");
        }
        assert_eq!(locked.maximal(None, &me()), Rights::default());
        assert!(locked.permit_delete(&sddl("O:YOUG:SYD:(A;;0x40;;;ME)"), &me()).is_ok());
        assert!(locked.permit_delete(&sddl("O:YOUG:SYD:(A;;FR;;;ME)"), &me()).is_err());
        assert!(sddl("O:YOUG:SYD:(A;;SD;;;ME)").permit_delete(&locked, &me()).is_ok());
    }

    #[test]
    fn an_open_gets_all_that_it_asks_for_or_nothing() {
        let file = sddl("O:YOUG:SYD:(A;;FR;;;ME)");
        let permit = |asked, done| file.permit_open(None, &me(), asked, done).map(Rights::bits).ok();
        assert_eq!(permit(asked(1), Done::Opened), Some(1));
        assert_eq!(permit(asked(3), Done::Opened), None);
        assert_eq!(permit(asked(0x8000_0000), Done::Opened), Some(READ));
        let most = |bits| AskedRights { most: true, ..asked(bits) };
        assert_eq!(permit(most(0), Done::Opened), Some(READ));
        assert_eq!(permit(most(1), Done::Opened), Some(READ));
        assert_eq!(permit(most(2), Done::Opened), None, "what is asked for besides has to be had");
        for done in [Done::Overwritten, Done::Superseded] {
            assert_eq!(permit(asked(1), done), None, "who may only read does not overwrite");
        }
        let writable = sddl("O:YOUG:SYD:(A;;FRFW;;;ME)");
        assert_eq!(writable.permit_open(None, &me(), asked(1), Done::Overwritten).map(Rights::bits), Ok(1));
        assert!(writable.permit_open(None, &me(), asked(1), Done::Superseded).is_err(), "that is a deletion too");
    }

    #[test]
    fn who_makes_something_needs_its_directory() {
        let table = [
            ("O:YOUG:SYD:(A;;DC;;;ME)", Kind::File, true),
            ("O:YOUG:SYD:(A;;DC;;;ME)", Kind::Directory, false),
            ("O:YOUG:SYD:(A;;LC;;;ME)", Kind::Directory, true),
            ("O:YOUG:SYD:(A;;LC;;;ME)", Kind::File, false),
        ];
        for (parent, kind, may) in table {
            assert_eq!(sddl(parent).permit_create(&me(), kind, asked(1)).is_ok(), may, "{kind:?} in {parent}");
        }
        let most = AskedRights { most: true, ..asked(0) };
        assert_eq!(Sddl::root().permit_create(&me(), Kind::File, most), Ok(Rights::ALL));
    }

    /// What nobody has restricted is open to who has the key.
    #[test]
    fn the_defaults_keep_nobody_with_a_key_out() {
        let directory = Sddl::root().inherited(true, None);
        for sddl in
            [Sddl::root(), directory.clone(), Sddl::root().inherited(false, None), directory.inherited(false, None)]
        {
            assert_eq!(sddl.rights_of(&me()), Rights::ALL, "{}", sddl.as_str());
        }
        let own = Sddl::root().inherited(true, Some(&me())).inherited(false, Some(&me()));
        assert_eq!(own.rights_of(&me()), Rights::ALL, "{}", own.as_str());
        assert!(own.as_str().starts_with(&format!("O:{}", me().user.to_text())), "{}", own.as_str());
        let alone = sddl("O:YOUG:SYD:(A;;FA;;;WD)").inherited(false, Some(&me()));
        assert_eq!(
            alone.rights_of(&me()),
            Rights::ALL,
            "nothing is passed on, so its maker has it: {}",
            alone.as_str()
        );
    }

    #[test]
    fn nobody_gives_ownership_away() {
        let [(authority, parts), _] = me().sids().map(|(authority, parts)| (authority, parts.to_vec()));
        assert!(me().may_own(authority, &parts));
        assert!(me().may_own(5, &[32, 544]), "an administrator");
        assert!(!me().may_own(5, &[18]), "the system");
        assert!(!me().may_own(authority, &[&parts[..4], &[1001]].concat()));
    }
}
