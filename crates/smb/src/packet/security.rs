//! Security descriptors as they travel ([MS-DTYP] 2.4): any part may be missing, and entries of unknown kinds are kept. What is stored is
//! `model`'s, and whole.

use bytes::Bytes;

use super::query::SecurityInformation;
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits};

const PARTS_MAX: usize = 15;
/// An ACL counts its bytes with sixteen bits, and the shortest entry has four.
const ACES_MAX: usize = 0xffff / 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sid {
    pub authority: u64,
    pub parts: Vec<u32>,
}

impl Field for Sid {
    fn read(source: &mut Source) -> Parsed<Self> {
        let [revision, count] = source.array()?;
        let count = usize::from(count);
        if revision != 1 || count > PARTS_MAX {
            return Err(Malformed::Value);
        }
        let authority = source.array::<6>()?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Ok(Self { authority, parts: source.list(count)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u8(1);
        sink.u8(self.parts.len() as u8);
        sink.bytes(&self.authority.to_be_bytes()[2..]);
        sink.list(&self.parts);
    }
}

/// An entry of a list; what it grants to whom is only read where the kind is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ace {
    pub kind: u8,
    pub flags: u8,
    pub body: Bytes,
}

impl Ace {
    /// Rights and SID of the plain kinds: allowed, denied, audit, alarm.
    pub fn plain(&self) -> Option<(u32, Sid)> {
        let mut source = Source::new(self.body.clone());
        match self.kind {
            0..=3 => Some((source.u32().ok()?, source.read().ok()?)),
            _ => None,
        }
    }

    /// One of the plain kinds.
    pub fn plainly(kind: u8, flags: u8, rights: u32, sid: &Sid) -> Self {
        let mut sink = Sink::new();
        sink.u32(rights);
        sink.write(sid);
        Self { kind, flags, body: sink.finish().freeze() }
    }

    pub fn allow(flags: u8, rights: u32, sid: &Sid) -> Self {
        Self::plainly(0, flags, rights, sid)
    }
}

impl Field for Ace {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (kind, flags, size) = (source.u8()?, source.u8()?, source.size16()?);
        let body = size.checked_sub(4).ok_or(Malformed::Length)?;
        Ok(Self { kind, flags, body: source.take(body)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.u8(self.kind);
        sink.u8(self.flags);
        sink.size16(4 + self.body.len());
        sink.bytes(&self.body);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    pub revision: u8,
    pub aces: Vec<Ace>,
}

impl Field for Acl {
    fn read(source: &mut Source) -> Parsed<Self> {
        let revision = source.u8()?;
        source.skip(1)?;
        let (size, count) = (source.size16()?, source.size16()?);
        source.skip(2)?;
        if count > ACES_MAX {
            return Err(Malformed::Count);
        }
        let mut entries = Source::new(source.take(size.checked_sub(8).ok_or(Malformed::Length)?)?);
        Ok(Self { revision, aces: entries.list(count)? })
    }

    fn write(&self, sink: &mut Sink) {
        let start = sink.offset();
        sink.u8(self.revision);
        sink.zeros(3);
        sink.size16(self.aces.len());
        sink.zeros(2);
        sink.list(&self.aces);
        sink.patch_u16(start + 2, sink.offset() - start);
    }
}

bits! { Control: u16 {
    OWNER_DEFAULTED = 0x1,
    GROUP_DEFAULTED = 0x2,
    DACL_PRESENT = 0x4,
    DACL_DEFAULTED = 0x8,
    SACL_PRESENT = 0x10,
    SACL_DEFAULTED = 0x20,
    DACL_INHERIT_REQUIRED = 0x100,
    SACL_INHERIT_REQUIRED = 0x200,
    DACL_INHERITED = 0x400,
    SACL_INHERITED = 0x800,
    DACL_PROTECTED = 0x1000,
    SACL_PROTECTED = 0x2000,
    SELF_RELATIVE = 0x8000,
} }

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityDescriptor {
    /// `SELF_RELATIVE` is always written. A list that is present in here and `None` below is a null one: everybody may do everything.
    pub control: Control,
    pub owner: Option<Sid>,
    pub group: Option<Sid>,
    pub sacl: Option<Acl>,
    pub dacl: Option<Acl>,
}

impl SecurityDescriptor {
    /// Only what was asked for.
    pub fn only(mut self, asked: SecurityInformation) -> Self {
        if !asked.has(SecurityInformation::OWNER) {
            self.owner = None;
        }
        if !asked.has(SecurityInformation::GROUP) {
            self.group = None;
        }
        if !asked.has(SecurityInformation::DACL) {
            self.dacl = None;
            self.control = Control(self.control.0 & !0x150c);
        }
        if !asked.has(SecurityInformation::SACL) {
            self.sacl = None;
            self.control = Control(self.control.0 & !0x2a30);
        }
        self
    }
}

impl Field for SecurityDescriptor {
    fn read(source: &mut Source) -> Parsed<Self> {
        let start = source.position();
        if source.u8()? != 1 {
            return Err(Malformed::Value);
        }
        source.skip(1)?;
        let control: Control = source.read()?;
        if !control.has(Control::SELF_RELATIVE) {
            return Err(Malformed::Value);
        }
        let (owner, group, sacl, dacl) = (source.size32()?, source.size32()?, source.size32()?, source.size32()?);
        let here = source.clone();
        Ok(Self {
            control,
            owner: part(&here, start, owner)?,
            group: part(&here, start, group)?,
            sacl: if control.has(Control::SACL_PRESENT) { part(&here, start, sacl)? } else { None },
            dacl: if control.has(Control::DACL_PRESENT) { part(&here, start, dacl)? } else { None },
        })
    }

    fn write(&self, sink: &mut Sink) {
        let start = sink.offset();
        sink.u8(1);
        sink.zeros(1);
        let present = |list: bool, bit| if list { bit } else { Control::default() };
        let control = self.control.with(Control::SELF_RELATIVE);
        let control = control.with(present(self.sacl.is_some(), Control::SACL_PRESENT));
        sink.write(&control.with(present(self.dacl.is_some(), Control::DACL_PRESENT)));
        sink.zeros(16);
        write_part(sink, start, 4, self.owner.as_ref());
        write_part(sink, start, 8, self.group.as_ref());
        write_part(sink, start, 12, self.sacl.as_ref());
        write_part(sink, start, 16, self.dacl.as_ref());
    }
}

/// At an offset from the descriptor's first byte; none at 0.
fn part<T: Field>(source: &Source, start: usize, offset: usize) -> Parsed<Option<T>> {
    if offset == 0 {
        return Ok(None);
    }
    let mut there = source.clone();
    let gap = (start + offset).checked_sub(there.position()).ok_or(Malformed::Range)?;
    there.skip(gap)?;
    there.read().map(Some)
}

fn write_part<T: Field>(sink: &mut Sink, start: usize, field: usize, part: Option<&T>) {
    if let Some(part) = part {
        sink.align(4);
        sink.patch_u32(start + field, sink.offset() - start);
        sink.write(part);
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use lazuli_model::file::{Format, Sddl};

    use super::*;

    fn sample() -> SecurityDescriptor {
        let sid = |parts: &[u32]| Sid { authority: 5, parts: parts.to_vec() };
        let acl = |aces| Some(Acl { revision: 2, aces });
        SecurityDescriptor {
            control: Control::SELF_RELATIVE
                .with(Control::DACL_PRESENT)
                .with(Control::SACL_PRESENT)
                .with(Control::DACL_PROTECTED),
            owner: Some(sid(&[18])),
            group: Some(sid(&[32, 544])),
            sacl: acl(vec![Ace { kind: 17, flags: 0, body: Bytes::from_static(b"label...") }]),
            dacl: acl(vec![Ace::allow(3, 0x1f_01ff, &sid(&[21, 1, 2, 3, 500]))]),
        }
    }

    #[test]
    fn descriptors_read_what_they_write_whatever_is_missing() {
        for asked in 0..16 {
            let part = sample().only(SecurityInformation(asked));
            assert_eq!(SecurityDescriptor::from_bytes(part.to_bytes()), Ok(part.clone()), "{asked:x}");
            assert_eq!(part.owner.is_some(), asked & 1 != 0);
            assert_eq!(part.dacl.is_some(), asked & 4 != 0);
        }
        let null =
            SecurityDescriptor { control: Control::SELF_RELATIVE.with(Control::DACL_PRESENT), ..Default::default() };
        assert_eq!(SecurityDescriptor::from_bytes(null.to_bytes()), Ok(null));
        let (rights, sid) = sample().dacl.expect("a list").aces[0].plain().expect("a plain entry");
        assert_eq!((rights, sid.parts.len()), (0x1f_01ff, 5));
    }

    /// The store keeps descriptors as `model` writes them, and hands out what it was given over REST.
    #[test]
    fn what_the_model_writes_is_read_here() {
        let sddl = Sddl::parse("O:BAG:SYD:P(A;OICI;FA;;;WD)", Format::Sddl).expect("a permission");
        let bytes = STANDARD.decode(sddl.to_format(Format::Binary).expect("a binary form")).expect("base64");
        let read = SecurityDescriptor::from_bytes(bytes.into()).expect("a descriptor");
        assert_eq!(read.owner, Some(Sid { authority: 5, parts: vec![32, 544] }));
        assert!(read.control.has(Control::DACL_PROTECTED));
        let (rights, sid) = read.dacl.expect("a list").aces[0].plain().expect("an entry");
        assert_eq!((rights, sid), (0x1f_01ff, Sid { authority: 1, parts: vec![0] }));
    }
}
