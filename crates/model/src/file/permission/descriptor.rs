//! A security descriptor, between its two forms: the text of Windows' SDDL and the self-relative bytes of [MS-DTYP] 2.4.6.

/// Owner, group and what each may do. All three are required of a file's permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub owner: Sid,
    pub group: Sid,
    /// Without one (`D:NO_ACCESS_CONTROL`), everybody may do everything.
    pub dacl: Option<Acl>,
    sacl: Option<Acl>,
    /// The text says `S:NO_ACCESS_CONTROL`.
    no_sacl: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sid {
    authority: u64,
    parts: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Acl {
    protected: bool,
    inherit_request: bool,
    inherited: bool,
    pub aces: Vec<Ace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ace {
    pub kind: u8,
    flags: u8,
    pub rights: u32,
    pub sid: Sid,
}

/// SDDL's word for a list that is not there.
const NO_LIST: &str = "NO_ACCESS_CONTROL";

const OBJECT_INHERIT: u8 = 0x1;
const CONTAINER_INHERIT: u8 = 0x2;
const NO_PROPAGATE: u8 = 0x4;
const INHERIT_ONLY: u8 = 0x8;
const INHERITED: u8 = 0x10;

const KINDS: [(&str, u8); 3] = [("A", Ace::ALLOWED), ("D", Ace::DENIED), ("AU", 2)];
const FLAGS: [(&str, u8); 7] = [
    ("OI", OBJECT_INHERIT),
    ("CI", CONTAINER_INHERIT),
    ("NP", NO_PROPAGATE),
    ("IO", INHERIT_ONLY),
    ("ID", INHERITED),
    ("SA", 0x40),
    ("FA", 0x80),
];

/// Whole rights first: these are how Windows writes them.
const RIGHTS: [(&str, u32); 22] = [
    ("FA", 0x001F_01FF),
    ("FR", 0x0012_0089),
    ("FW", 0x0012_0116),
    ("FX", 0x0012_00A0),
    ("GA", 0x1000_0000),
    ("GX", 0x2000_0000),
    ("GW", 0x4000_0000),
    ("GR", 0x8000_0000),
    ("RC", 0x0002_0000),
    ("SD", 0x0001_0000),
    ("WD", 0x0004_0000),
    ("WO", 0x0008_0000),
    ("CC", 0x1),
    ("DC", 0x2),
    ("LC", 0x4),
    ("SW", 0x8),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", 0x40),
    ("LO", 0x80),
    ("CR", 0x100),
    ("AS", 0x0100_0000),
];

/// What generic rights are for files.
const GENERIC: [(u32, u32); 4] =
    [(0x1000_0000, 0x001F_01FF), (0x2000_0000, 0x0012_00A0), (0x4000_0000, 0x0012_0116), (0x8000_0000, 0x0012_0089)];

/// With generic rights as what they are for files.
pub(super) fn specific(rights: u32) -> u32 {
    let generic = GENERIC.iter().filter(|(generic, _)| rights & generic != 0);
    generic.fold(rights & 0x0FFF_FFFF, |all, (_, meant)| all | meant)
}

pub(super) fn is_inherit_only(ace: &Ace) -> bool {
    ace.flags & INHERIT_ONLY != 0
}

/// Those that need no domain to be known.
const ALIASES: [(&str, u64, &[u32]); 30] = [
    ("WD", 1, &[0]),
    ("CO", 3, &[0]),
    ("CG", 3, &[1]),
    ("OW", 3, &[4]),
    ("NU", 5, &[2]),
    ("IU", 5, &[4]),
    ("SU", 5, &[6]),
    ("AN", 5, &[7]),
    ("ED", 5, &[9]),
    ("PS", 5, &[10]),
    ("AU", 5, &[11]),
    ("RC", 5, &[12]),
    ("SY", 5, &[18]),
    ("LS", 5, &[19]),
    ("NS", 5, &[20]),
    ("WR", 5, &[33]),
    ("BA", 5, &[32, 544]),
    ("BU", 5, &[32, 545]),
    ("BG", 5, &[32, 546]),
    ("PU", 5, &[32, 547]),
    ("AO", 5, &[32, 548]),
    ("SO", 5, &[32, 549]),
    ("PO", 5, &[32, 550]),
    ("BO", 5, &[32, 551]),
    ("RE", 5, &[32, 552]),
    ("RU", 5, &[32, 554]),
    ("RD", 5, &[32, 555]),
    ("NO", 5, &[32, 556]),
    ("AC", 15, &[2, 1]),
    ("LW", 16, &[4096]),
];

impl Descriptor {
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let (mut owner, mut group, mut dacl, mut sacl, mut no_sacl) = (None, None, None, None, false);
        let mut rest = text;
        while !rest.is_empty() {
            let section = rest.get(..2)?;
            rest = &rest[2..];
            match section {
                "O:" if owner.is_none() => owner = Some(Sid::take(&mut rest)?),
                "G:" if group.is_none() => group = Some(Sid::take(&mut rest)?),
                "D:" if dacl.is_none() => match rest.strip_prefix(NO_LIST) {
                    Some(after) => (rest, dacl) = (after, Some(None)),
                    None => dacl = Some(Some(Acl::take(&mut rest)?)),
                },
                "S:" if sacl.is_none() && !no_sacl => match rest.strip_prefix(NO_LIST) {
                    Some(after) => (rest, no_sacl) = (after, true),
                    None => sacl = Some(Acl::take(&mut rest)?),
                },
                _ => return None,
            }
        }
        Some(Self { owner: owner?, group: group?, dacl: dacl?, sacl, no_sacl })
    }

    /// Whether the text says anything about auditing.
    pub(super) fn has_sacl(&self) -> bool {
        self.sacl.is_some() || self.no_sacl
    }

    pub(super) fn to_text(&self) -> String {
        let list = |list: &Option<Acl>| list.as_ref().map_or(NO_LIST.to_owned(), Acl::to_text);
        let (dacl, sacl) = (list(&self.dacl), list(&self.sacl));
        format!("O:{}G:{}D:{dacl}S:{sacl}", self.owner.to_text(), self.group.to_text())
    }

    pub(super) fn owned_by(self, owner: Sid, group: Sid) -> Self {
        Self { owner, group, ..self }
    }

    /// What something new below gets of it ([MS-DTYP] 2.5.3.4), owned by who makes it; by the directory's owner, if nobody is named.
    /// That it was inherited is only said where inheritance is automatic. Where nothing is passed on, it is its owner's and the system's.
    pub(super) fn inherited(&self, by_directory: bool, maker: Option<(Sid, Sid)>) -> Self {
        let (owner, group) = maker.unwrap_or_else(|| (self.owner.clone(), self.group.clone()));
        let (passed, automatic) = match &self.dacl {
            Some(dacl) => (dacl.aces.as_slice(), dacl.inherited),
            None => (&[][..], false),
        };
        let flag = if automatic { INHERITED } else { 0 };
        let aces = passed.iter().flat_map(|ace| ace.inherited(by_directory, &owner, &group));
        let mut aces: Vec<Ace> = aces.map(|ace| Ace { flags: ace.flags | flag, ..ace }).collect();
        if aces.is_empty() {
            let full = |sid: Sid| Ace { kind: Ace::ALLOWED, flags: 0, rights: RIGHTS[0].1, sid };
            aces = vec![full(owner.clone()), full(Sid::new(5, &[18]))];
        }
        let dacl = Some(Acl { inherited: automatic, aces, ..Acl::default() });
        Self { owner, group, dacl, sacl: None, no_sacl: true }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        const SELF_RELATIVE: u16 = 0x8000;
        const DACL: u16 = 0x4;
        const SACL: u16 = 0x10;
        let control = SELF_RELATIVE
            | DACL
            | self.dacl.as_ref().map_or(0, Acl::control)
            | self.sacl.as_ref().map_or(0, |sacl| SACL | (sacl.control() << 1));
        let mut bytes = vec![1, 0];
        bytes.extend_from_slice(&control.to_le_bytes());
        let parts = [
            Some(self.owner.to_bytes()),
            Some(self.group.to_bytes()),
            self.sacl.as_ref().map(Acl::to_bytes),
            self.dacl.as_ref().map(Acl::to_bytes),
        ];
        let mut offset = 20_u32;
        for part in &parts {
            let at = if part.is_some() { offset } else { 0 };
            bytes.extend_from_slice(&at.to_le_bytes());
            offset += part.as_ref().map_or(0, Vec::len) as u32;
        }
        parts.into_iter().flatten().for_each(|part| bytes.extend_from_slice(&part));
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if *bytes.first()? != 1 {
            return None;
        }
        let control = u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?);
        let part = |at: usize| {
            let offset = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
            (offset >= 20).then(|| bytes.get(offset..))?
        };
        let sacl = match (control & 0x10 != 0, part(12)) {
            (true, Some(at)) => Some(Acl::from_bytes(at, control >> 1)?),
            (true | false, _) => None,
        };
        let no_sacl = sacl.is_none();
        let dacl = match (control & 0x4 != 0, part(16)) {
            (true | false, Some(at)) => Some(Acl::from_bytes(at, control)?),
            (true, None) => None,
            (false, None) => return None,
        };
        Some(Self { owner: Sid::from_bytes(part(4)?)?, group: Sid::from_bytes(part(8)?)?, dacl, sacl, no_sacl })
    }
}

impl Sid {
    pub(super) fn new(authority: u64, parts: &[u32]) -> Self {
        Self { authority, parts: parts.to_vec() }
    }

    pub(super) fn as_parts(&self) -> (u64, &[u32]) {
        (self.authority, &self.parts)
    }

    /// `BA`, or `S-1-5-32-544`; `rest` begins after it.
    fn take(rest: &mut &str) -> Option<Self> {
        if !rest.starts_with("S-") {
            let alias = rest.get(..2)?;
            let (_, authority, parts) = ALIASES.iter().find(|(name, ..)| *name == alias)?;
            *rest = &rest[2..];
            return Some(Self { authority: *authority, parts: parts.to_vec() });
        }
        let end = rest[2..].find(|c: char| !c.is_ascii_digit() && c != '-').map_or(rest.len(), |end| end + 2);
        let (text, after) = rest.split_at(end);
        *rest = after;
        let mut numbers = text[2..].split('-');
        if numbers.next()? != "1" {
            return None;
        }
        let authority = numbers.next()?.parse().ok().filter(|authority| *authority < 1 << 48)?;
        let parts = numbers.map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
        (1..=15).contains(&parts.len()).then_some(Self { authority, parts })
    }

    pub(super) fn to_text(&self) -> String {
        let alias = ALIASES.iter().find(|(_, authority, parts)| *authority == self.authority && *parts == self.parts);
        match alias {
            Some((name, ..)) => (*name).to_owned(),
            None => self.parts.iter().fold(format!("S-1-{}", self.authority), |text, part| format!("{text}-{part}")),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1, self.parts.len() as u8];
        bytes.extend_from_slice(&self.authority.to_be_bytes()[2..]);
        self.parts.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let count = usize::from(*bytes.get(1)?);
        if bytes[0] != 1 || !(1..=15).contains(&count) {
            return None;
        }
        let authority = bytes.get(2..8)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let parts = bytes.get(8..8 + count * 4)?.chunks(4).map(|part| part.try_into().ok().map(u32::from_le_bytes));
        Some(Self { authority, parts: parts.collect::<Option<_>>()? })
    }
}

impl Acl {
    fn take(rest: &mut &str) -> Option<Self> {
        let mut acl = Self::default();
        loop {
            if let Some(after) = rest.strip_prefix("AR") {
                (*rest, acl.inherit_request) = (after, true);
            } else if let Some(after) = rest.strip_prefix("AI") {
                (*rest, acl.inherited) = (after, true);
            } else if let Some(after) = rest.strip_prefix('P') {
                (*rest, acl.protected) = (after, true);
            } else {
                break;
            }
        }
        while let Some(after) = rest.strip_prefix('(') {
            let (ace, after) = after.split_once(')')?;
            acl.aces.push(Ace::from_text(ace)?);
            *rest = after;
        }
        Some(acl)
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for (set, flag) in [(self.protected, "P"), (self.inherit_request, "AR"), (self.inherited, "AI")] {
            text.push_str(if set { flag } else { "" });
        }
        self.aces.iter().for_each(|ace| text.push_str(&ace.to_text()));
        text
    }

    /// The bits of the descriptor's control field, for the DACL; those for the SACL are one further left.
    fn control(&self) -> u16 {
        u16::from(self.inherit_request) << 8 | u16::from(self.inherited) << 10 | u16::from(self.protected) << 12
    }

    fn to_bytes(&self) -> Vec<u8> {
        let aces: Vec<u8> = self.aces.iter().flat_map(Ace::to_bytes).collect();
        let mut bytes = vec![2, 0];
        bytes.extend_from_slice(&((8 + aces.len()) as u16).to_le_bytes());
        bytes.extend_from_slice(&(self.aces.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&aces);
        bytes
    }

    fn from_bytes(bytes: &[u8], control: u16) -> Option<Self> {
        let count = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?);
        let mut acl = Self {
            protected: control & 1 << 12 != 0,
            inherit_request: control & 1 << 8 != 0,
            inherited: control & 1 << 10 != 0,
            aces: Vec::new(),
        };
        let mut rest = bytes.get(8..)?;
        for _ in 0..count {
            let size = usize::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?));
            acl.aces.push(Ace::from_bytes(rest.get(..size)?)?);
            rest = &rest[size..];
        }
        Some(acl)
    }
}

impl Ace {
    pub(super) const ALLOWED: u8 = 0;
    pub(super) const DENIED: u8 = 1;

    /// `A;OICI;FA;;;BA`
    fn from_text(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split(';').collect();
        let [kind, flags, rights, "", "", sid] = fields[..] else { return None };
        let kind = KINDS.iter().find(|(name, _)| *name == kind)?.1;
        let flags = pairs(flags, &FLAGS)?.into_iter().fold(0, |all, flag| all | flag);
        let rights = match rights.strip_prefix("0x").or_else(|| rights.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => pairs(rights, &RIGHTS)?.into_iter().fold(0, |all, right| all | right),
        };
        let mut rest = sid;
        let sid = Sid::take(&mut rest)?;
        rest.is_empty().then_some(Self { kind, flags, rights, sid })
    }

    fn to_text(&self) -> String {
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or("A", |(name, _)| name);
        let flags: String = FLAGS.iter().filter(|(_, flag)| self.flags & flag != 0).map(|(name, _)| *name).collect();
        let whole = RIGHTS.iter().find(|(_, rights)| *rights == self.rights);
        let rights = whole.map_or_else(|| format!("0x{:x}", self.rights), |(name, _)| (*name).to_owned());
        format!("({kind};{flags};{rights};;;{})", self.sid.to_text())
    }

    /// The entries that take its place in something new: one that counts there, one that is only passed on, both, or none.
    fn inherited(&self, by_directory: bool, owner: &Sid, group: &Sid) -> Vec<Self> {
        let (objects, containers) = (self.flags & OBJECT_INHERIT != 0, self.flags & CONTAINER_INHERIT != 0);
        let audit = self.flags & 0xC0;
        let passed = audit | self.flags & (OBJECT_INHERIT | CONTAINER_INHERIT);
        let stops = self.flags & NO_PROPAGATE != 0;
        let counts = |flags: u8| self.meant(owner, group, flags);
        let passes = || Self { flags: passed | INHERIT_ONLY, ..self.clone() };
        match (by_directory, objects, containers) {
            (false, true, _) => vec![counts(audit)],
            (true, _, true) if stops => vec![counts(audit)],
            // What says whom or what it means only when it counts is kept as it is for what comes below.
            (true, _, true) if counts(0).sid != self.sid || counts(0).rights != self.rights => {
                vec![counts(audit), passes()]
            }
            (true, _, true) => vec![counts(passed)],
            (true, true, false) if !stops => vec![passes()],
            (true, true, false) | (true, false, false) | (false, false, _) => Vec::new(),
        }
    }

    /// With those meant by CREATOR OWNER and CREATOR GROUP, and generic rights as what they are for files.
    fn meant(&self, owner: &Sid, group: &Sid, flags: u8) -> Self {
        let sid = match (self.sid.authority, self.sid.parts.as_slice()) {
            (3, [0]) => owner,
            (3, [1]) => group,
            (_, _) => &self.sid,
        };
        Self { kind: self.kind, flags, rights: specific(self.rights), sid: sid.clone() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let sid = self.sid.to_bytes();
        let mut bytes = vec![self.kind, self.flags];
        bytes.extend_from_slice(&((8 + sid.len()) as u16).to_le_bytes());
        bytes.extend_from_slice(&self.rights.to_le_bytes());
        bytes.extend_from_slice(&sid);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let kind = *bytes.first()?;
        KINDS.iter().find(|(_, known)| *known == kind)?;
        let rights = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
        Some(Self { kind, flags: bytes[1], rights, sid: Sid::from_bytes(bytes.get(8..)?)? })
    }
}

/// Words of two letters, put together.
fn pairs<T: Copy>(text: &str, known: &[(&str, T)]) -> Option<Vec<T>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let words = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    words.map(|word| known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)).collect()
}
