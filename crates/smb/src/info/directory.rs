//! Entries of directories, in each of the forms that clients ask for ([MS-FSCC] 2.4.10 and others). One entry is one value; the class says
//! which of its fields are written, and in which order.

use bytes::{Bytes, BytesMut};

use super::file::Attributes;
use crate::packet::wire::{Malformed, Parsed, Sink, Source, numbers};
use crate::text::Wide;
use crate::time::FileTime;

numbers! { Class: u8 {
    Directory = 1,
    Full = 2,
    Both = 3,
    Names = 12,
    IdBoth = 37,
    IdFull = 38,
    IdExtd = 60,
    IdExtdBoth = 63,
} }

/// No short names: the field for them is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub created: FileTime,
    pub accessed: FileTime,
    pub written: FileTime,
    pub changed: FileTime,
    pub end_of_file: u64,
    pub allocation: u64,
    pub attributes: Attributes,
    pub ea_size: u32,
    pub reparse_tag: u32,
    pub id: u64,
    pub name: Wide,
}

impl Entry {
    fn write(&self, class: Class, sink: &mut Sink) {
        sink.zeros(8);
        if class == Class::Names {
            sink.size32(self.name.len());
            return self.name.write(sink);
        }
        [self.created, self.accessed, self.written, self.changed].iter().for_each(|time| sink.write(time));
        sink.u64(self.end_of_file);
        sink.u64(self.allocation);
        sink.write(&self.attributes);
        sink.size32(self.name.len());
        match class {
            Class::Names | Class::Directory => {}
            Class::Full => sink.u32(self.ea_size),
            Class::Both => {
                sink.u32(self.ea_size);
                sink.zeros(SHORT_NAME);
            }
            Class::IdFull => {
                sink.u32(self.ea_size);
                sink.zeros(4);
                sink.u64(self.id);
            }
            Class::IdBoth => {
                sink.u32(self.ea_size);
                sink.zeros(SHORT_NAME + 2);
                sink.u64(self.id);
            }
            Class::IdExtd | Class::IdExtdBoth => {
                sink.u32(self.ea_size);
                sink.u32(self.reparse_tag);
                sink.u64(self.id);
                sink.zeros(8);
                sink.zeros(if class == Class::IdExtdBoth { SHORT_NAME } else { 0 });
            }
        }
        self.name.write(sink);
    }

    fn read(class: Class, source: &mut Source) -> Parsed<Self> {
        source.skip(4)?;
        if class == Class::Names {
            let length = source.size32()?;
            return Ok(Self { name: Wide::from_wire(source.take(length)?)?, ..Self::default() });
        }
        let mut entry = Self {
            created: source.read()?,
            accessed: source.read()?,
            written: source.read()?,
            changed: source.read()?,
            end_of_file: source.u64()?,
            allocation: source.u64()?,
            attributes: source.read()?,
            ..Self::default()
        };
        let length = source.size32()?;
        match class {
            Class::Names | Class::Directory => {}
            Class::Full => entry.ea_size = source.u32()?,
            Class::Both => {
                entry.ea_size = source.u32()?;
                source.skip(SHORT_NAME)?;
            }
            Class::IdFull => {
                entry.ea_size = source.u32()?;
                source.skip(4)?;
                entry.id = source.u64()?;
            }
            Class::IdBoth => {
                entry.ea_size = source.u32()?;
                source.skip(SHORT_NAME + 2)?;
                entry.id = source.u64()?;
            }
            Class::IdExtd | Class::IdExtdBoth => {
                (entry.ea_size, entry.reparse_tag, entry.id) = (source.u32()?, source.u32()?, source.u64()?);
                source.skip(8)?;
                source.skip(if class == Class::IdExtdBoth { SHORT_NAME } else { 0 })?;
            }
        }
        entry.name = Wide::from_wire(source.take(length)?)?;
        Ok(entry)
    }
}

/// A length, a byte that means nothing, and room for twelve characters.
const SHORT_NAME: usize = 26;
/// More do not fit into the longest answer.
const ENTRIES_MAX: usize = 1 << 20;

/// Entries, one after the other, until there is no more room.
pub struct Listing {
    class: Class,
    room: usize,
    out: BytesMut,
    /// Where the entry begins that was added last.
    last: Option<usize>,
}

impl Listing {
    pub fn new(class: Class, room: usize) -> Self {
        Self { class, room, out: BytesMut::new(), last: None }
    }

    /// Adds an entry, if it fits whole.
    pub fn push(&mut self, entry: &Entry) -> bool {
        let start = self.out.len().next_multiple_of(8);
        let mut sink = Sink::new();
        entry.write(self.class, &mut sink);
        let bytes = sink.finish();
        if start + bytes.len() > self.room {
            return false;
        }
        self.out.resize(start, 0);
        self.out.extend_from_slice(&bytes);
        if let Some(last) = self.last.replace(start) {
            self.out[last..last + 4].copy_from_slice(&((start - last) as u32).to_le_bytes());
        }
        true
    }

    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub fn finish(self) -> Bytes {
        self.out.freeze()
    }
}

pub fn read_list(class: Class, output: Bytes) -> Parsed<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        if entries.len() == ENTRIES_MAX {
            return Err(Malformed::Count);
        }
        let mut source = Source::new(rest.clone());
        let next = source.size32()?;
        entries.push(Entry::read(class, &mut source)?);
        match next {
            0 => break,
            8.. if next < rest.len() && next.is_multiple_of(8) => rest = rest.slice(next..),
            _ => return Err(Malformed::Range),
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            created: FileTime(1),
            accessed: FileTime(2),
            written: FileTime(3),
            changed: FileTime(4),
            end_of_file: 5,
            allocation: 4096,
            attributes: Attributes::ARCHIVE,
            ea_size: 6,
            reparse_tag: 7,
            id: 0x0102_0304_0506_0708,
            name: name.into(),
        }
    }

    /// Where the name begins, as [MS-FSCC] has it.
    const NAME_AT: [(Class, usize); 8] = [
        (Class::Directory, 64),
        (Class::Full, 68),
        (Class::Both, 94),
        (Class::Names, 12),
        (Class::IdBoth, 104),
        (Class::IdFull, 80),
        (Class::IdExtd, 88),
        (Class::IdExtdBoth, 114),
    ];

    #[test]
    fn every_class_reads_what_it_writes() {
        for (class, name_at) in NAME_AT {
            let mut listing = Listing::new(class, 1 << 16);
            let entries = ["a", "bcd", "größe.txt", ""].map(entry);
            assert!(entries.iter().all(|entry| listing.push(entry)));
            let bytes = listing.finish();
            assert_eq!(bytes[name_at..name_at + 2], [b'a', 0], "{class:?}");
            let read = read_list(class, bytes).expect("entries");
            let names: Vec<&Wide> = read.iter().map(|entry| &entry.name).collect();
            assert_eq!(names, entries.iter().map(|entry| &entry.name).collect::<Vec<_>>());
            let mut again = Listing::new(class, 1 << 16);
            assert!(read.iter().all(|entry| again.push(entry)));
            assert_eq!(read_list(class, again.finish()), Ok(read), "{class:?}");
        }
        let mut listing = Listing::new(Class::IdExtd, 4096);
        listing.push(&entry("x"));
        assert_eq!(read_list(Class::IdExtd, listing.finish()), Ok(vec![entry("x")]), "it has every field");
    }

    #[test]
    fn an_entry_that_does_not_fit_is_left_for_the_next_answer() {
        let length = 64 + 2;
        let table = [(length - 1, 0), (length, 1), (72 + length - 1, 1), (72 + length, 2)];
        for (room, count) in table {
            let mut listing = Listing::new(Class::Directory, room);
            let pushed = (0..3).take_while(|_| listing.push(&entry("a"))).count();
            assert_eq!(pushed, count, "in {room} bytes");
            assert_eq!(listing.is_empty(), count == 0);
            assert!(listing.finish().len() <= room);
        }
    }
}
