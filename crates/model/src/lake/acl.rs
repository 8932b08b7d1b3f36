//! POSIX access control lists as Data Lake Storage writes them: `user::rwx,group::r-x,mask::r-x,other::---,default:user::rwx`.
//! "Access control lists (ACLs) in Azure Data Lake Storage" is the source.
//!
//! Held true: the access scope has the entries of the owner, the owning group and all others; with a named entry it has a mask;
//! entries are in the order in which they are answered, no two of one kind and id.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// "Limits on the number of Azure role assignments and ACL entries": per scope.
const ENTRIES_MAX: usize = 32;
const ID_MAX: usize = 256;

/// Read, write, execute, as an octal digit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits(pub u8);

impl Bits {
    pub const NONE: Bits = Bits(0);
    pub const EXECUTE: Bits = Bits(1);
    pub const WRITE: Bits = Bits(2);
    pub const READ: Bits = Bits(4);
    pub const ALL: Bits = Bits(7);

    pub fn has(self, wanted: Bits) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    pub const fn and(self, other: Bits) -> Bits {
        Bits(self.0 & other.0)
    }

    pub const fn or(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }

    pub const fn without(self, other: Bits) -> Bits {
        Bits(self.0 & !other.0)
    }

    fn parse(text: &str) -> Option<Self> {
        let [r, w, x] = <[u8; 3]>::try_from(text.as_bytes()).ok()?;
        let bit = |at: u8, letter: u8, value: u8| match at {
            b'-' => Some(0),
            _ if at == letter => Some(value),
            _ => None,
        };
        Some(Bits(bit(r, b'r', 4)? | bit(w, b'w', 2)? | bit(x, b'x', 1)?))
    }

    fn letters(self) -> [char; 3] {
        let letter = |value: u8, letter: char| if self.0 & value == 0 { '-' } else { letter };
        [letter(4, 'r'), letter(2, 'w'), letter(1, 'x')]
    }
}

/// What `x-ms-permissions` and `x-ms-umask` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub user: Bits,
    pub group: Bits,
    pub other: Bits,
    pub sticky: bool,
}

impl Mode {
    pub const DIRECTORY: Mode = Mode::of(0o777);
    pub const FILE: Mode = Mode::of(0o666);
    pub const UMASK: Mode = Mode::of(0o027);

    pub const fn of(octal: u16) -> Mode {
        Mode { user: digit(octal >> 6), group: digit(octal >> 3), other: digit(octal), sticky: octal & 0o1000 != 0 }
    }

    /// Four octal digits, or nine letters of which the last may say that the directory is sticky.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Self::read(text).ok_or(Refusal::InvalidPermission)
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() == 4 && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) {
            let octal = u16::from_str_radix(text, 8).ok()?;
            return (octal < 0o2000).then_some(Mode::of(octal));
        }
        let letters = text.strip_suffix('+').unwrap_or(text);
        if letters.len() != 9 || !letters.is_ascii() {
            return None;
        }
        let (last, sticky) = match letters.as_bytes()[8] {
            b't' => ("x", true),
            b'T' => ("-", true),
            _ => (&letters[8..], false),
        };
        let other = Bits::parse(&format!("{}{last}", &letters[6..8]))?;
        Some(Mode { user: Bits::parse(&letters[..3])?, group: Bits::parse(&letters[3..6])?, other, sticky })
    }

    /// `permissions & ~umask`
    pub fn masked(self, umask: Mode) -> Mode {
        Mode {
            user: self.user.without(umask.user),
            group: self.group.without(umask.group),
            other: self.other.without(umask.other),
            sticky: self.sticky,
        }
    }
}

const fn digit(octal: u16) -> Bits {
    Bits((octal & 7) as u8)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AclScope {
    Access,
    /// What is made in a directory inherits these.
    Default,
}

/// In the order of answers; an empty id is the owner's or the owning group's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    User,
    Group,
    Mask,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub scope: AclScope,
    pub kind: Kind,
    pub id: String,
    pub bits: Bits,
}

impl Entry {
    fn place(&self) -> (AclScope, Kind, &str) {
        (self.scope, self.kind, &self.id)
    }

    fn is_named(&self) -> bool {
        !self.id.is_empty()
    }
}

/// Entries as somebody asks for them: not necessarily a whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acl(Vec<Entry>);

impl Acl {
    /// `x-ms-acl`. With `bare`, entries have no permissions: they are to be removed.
    pub fn parse(text: &str, bare: bool) -> Result<Self, Refusal> {
        let entries: Option<Vec<Entry>> = text.split(',').map(|entry| read_entry(entry.trim(), bare)).collect();
        Self::of(entries.ok_or(Refusal::InvalidAccessControlList)?)
    }

    fn of(mut entries: Vec<Entry>) -> Result<Self, Refusal> {
        entries.sort_by(|a, b| a.place().cmp(&b.place()));
        let repeated = entries.windows(2).any(|two| two[0].place() == two[1].place());
        let most = [AclScope::Access, AclScope::Default]
            .map(|scope| entries.iter().filter(|entry| entry.scope == scope).count());
        match repeated || most.iter().any(|count| *count > ENTRIES_MAX) {
            true => Err(Refusal::InvalidAccessControlList),
            false => Ok(Self(entries)),
        }
    }

    fn get(&self, scope: AclScope, kind: Kind, id: &str) -> Option<Bits> {
        self.0.iter().find(|entry| entry.place() == (scope, kind, id)).map(|entry| entry.bits)
    }

    fn put(&mut self, entry: Entry) {
        match self.0.binary_search_by(|own| own.place().cmp(&entry.place())) {
            Ok(at) => self.0[at] = entry,
            Err(at) => self.0.insert(at, entry),
        }
    }

    fn remove(&mut self, place: (AclScope, Kind, &str)) {
        self.0.retain(|entry| entry.place() != place);
    }

    fn scope(&self, scope: AclScope) -> impl Iterator<Item = &Entry> {
        self.0.iter().filter(move |entry| entry.scope == scope)
    }

    /// The union of what the mask limits: what it is where nobody says.
    fn widest(&self, scope: AclScope) -> Bits {
        let limited = self.scope(scope).filter(|entry| entry.kind == Kind::Group || entry.is_named());
        limited.fold(Bits::NONE, |bits, entry| bits.or(entry.bits))
    }

    /// The mask that named entries need, where there is none.
    fn complete(&mut self, scope: AclScope) {
        let named = self.scope(scope).any(Entry::is_named);
        if named && self.get(scope, Kind::Mask, "").is_none() {
            let bits = self.widest(scope);
            self.put(Entry { scope, kind: Kind::Mask, id: String::new(), bits });
        }
    }
}

/// `[default:]kind:id:rwx`, or without permissions `[default:]kind[:id]`.
fn read_entry(text: &str, bare: bool) -> Option<Entry> {
    let mut parts: Vec<&str> = text.split(':').collect();
    let scope = match parts.first() {
        Some(&"default") => {
            parts.remove(0);
            AclScope::Default
        }
        _ => AclScope::Access,
    };
    let kind = match *parts.first()? {
        "user" => Kind::User,
        "group" => Kind::Group,
        "mask" => Kind::Mask,
        "other" => Kind::Other,
        _ => return None,
    };
    let (id, bits) = match (bare, &parts[1..]) {
        (true, []) => ("", Bits::NONE),
        // What is answered by getAccessControl may come back whole.
        (true, [id] | [id, ""]) => (*id, Bits::NONE),
        (false, [id, bits]) => (*id, Bits::parse(bits)?),
        (_, _) => return None,
    };
    let named_alone = !id.is_empty() && matches!(kind, Kind::Mask | Kind::Other);
    if named_alone || id.len() > ID_MAX || id.chars().any(char::is_control) {
        return None;
    }
    Some(Entry { scope, kind, id: id.to_owned(), bits })
}

impl std::fmt::Display for Acl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, entry) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let scope = if entry.scope == AclScope::Default { "default:" } else { "" };
            let kind = match entry.kind {
                Kind::User => "user",
                Kind::Group => "group",
                Kind::Mask => "mask",
                Kind::Other => "other",
            };
            let [r, w, x] = entry.bits.letters();
            write!(f, "{comma}{scope}{kind}:{}:{r}{w}{x}", entry.id)?;
        }
        Ok(())
    }
}

/// What setAccessControlRecursive does to each list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Set,
    Modify,
    Remove,
}

/// Whose a path is, and who may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessControl {
    pub owner: String,
    pub group: String,
    acl: Acl,
    pub sticky: bool,
}

impl AccessControl {
    pub fn new(owner: &str, group: &str, mode: Mode) -> Self {
        let mut new = Self { owner: owner.to_owned(), group: group.to_owned(), acl: Acl::default(), sticky: false };
        new.set_mode(mode);
        new
    }

    pub fn acl(&self) -> &Acl {
        &self.acl
    }

    pub fn bits(&self, kind: Kind, id: &str) -> Option<Bits> {
        self.acl.get(AclScope::Access, kind, id)
    }

    /// What limits named entries and the owning group.
    pub fn mask(&self) -> Bits {
        self.bits(Kind::Mask, "").unwrap_or(Bits::ALL)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.acl.scope(AclScope::Access)
    }

    /// chmod: the group's three are the mask's, if there is one.
    pub fn set_mode(&mut self, mode: Mode) {
        let limits = if self.bits(Kind::Mask, "").is_some() { Kind::Mask } else { Kind::Group };
        for (kind, bits) in [(Kind::User, mode.user), (limits, mode.group), (Kind::Other, mode.other)] {
            self.acl.put(Entry { scope: AclScope::Access, kind, id: String::new(), bits });
        }
        self.sticky = mode.sticky;
    }

    /// `x-ms-acl` takes the place of what was there; of the owner, the owning group and all others, what is not said stays. Files have
    /// nothing to be inherited.
    pub fn set_acl(&mut self, acl: &Acl, is_directory: bool) -> Result<(), Refusal> {
        let before = std::mem::replace(&mut self.acl, acl.clone());
        for kind in [Kind::User, Kind::Group, Kind::Other] {
            if self.bits(kind, "").is_none() {
                let bits = before.get(AclScope::Access, kind, "").unwrap_or_default();
                self.acl.put(Entry { scope: AclScope::Access, kind, id: String::new(), bits });
            }
        }
        self.settle(is_directory)
    }

    /// One step of setAccessControlRecursive.
    pub fn change(&mut self, change: Change, acl: &Acl, is_directory: bool) -> Result<(), Refusal> {
        match change {
            Change::Set => return self.set_acl(acl, is_directory),
            Change::Modify => acl.0.iter().for_each(|entry| self.acl.put(entry.clone())),
            Change::Remove => {
                for entry in &acl.0 {
                    // The three that every list has stay.
                    let base = entry.scope == AclScope::Access && !entry.is_named() && entry.kind != Kind::Mask;
                    if !base {
                        self.acl.remove(entry.place());
                    }
                }
            }
        }
        self.settle(is_directory)
    }

    fn settle(&mut self, is_directory: bool) -> Result<(), Refusal> {
        if !is_directory {
            self.acl.0.retain(|entry| entry.scope == AclScope::Access);
        }
        self.acl.complete(AclScope::Access);
        self.acl.complete(AclScope::Default);
        self.acl = Acl::of(std::mem::take(&mut self.acl.0))?;
        Ok(())
    }

    /// What something made in this directory begins with. Where the directory has default entries, they are the child's, as far as `mode` goes,
    /// and the umask has no say.
    pub fn inherit(&self, owner: &str, group: &str, mode: Mode, umask: Mode, is_directory: bool) -> Self {
        let defaults: Vec<&Entry> = self.acl.scope(AclScope::Default).collect();
        if defaults.is_empty() {
            return Self::new(owner, group, mode.masked(umask));
        }
        let mut child = Self::new(owner, group, mode);
        for entry in &defaults {
            child.acl.put(Entry { scope: AclScope::Access, ..(*entry).clone() });
            if is_directory {
                child.acl.put((*entry).clone());
            }
        }
        child.acl.complete(AclScope::Access);
        let limits = if child.bits(Kind::Mask, "").is_some() { Kind::Mask } else { Kind::Group };
        for (kind, most) in [(Kind::User, mode.user), (limits, mode.group), (Kind::Other, mode.other)] {
            let bits = child.bits(kind, "").unwrap_or_default().and(most);
            child.acl.put(Entry { scope: AclScope::Access, kind, id: String::new(), bits });
        }
        child
    }

    /// `x-ms-permissions`: `rwxr-x---`, with `+` where there are more than the three entries.
    pub fn permissions(&self) -> String {
        let of = |kind| self.bits(kind, "").unwrap_or_default().letters();
        let group = self.bits(Kind::Mask, "").map_or_else(|| of(Kind::Group), Bits::letters);
        let mut text: String = of(Kind::User).into_iter().chain(group).chain(of(Kind::Other)).collect();
        if self.sticky {
            let last = if text.pop() == Some('x') { 't' } else { 'T' };
            text.push(last);
        }
        if self.acl.0.len() > 3 {
            text.push('+');
        }
        text
    }
}

#[cfg(test)]
mod tests;
