//! Keys are bytes in one order: space, then column, then row. What the bytes mean is the store's affair
//! (docs/keys.md draws them).

use bytes::Bytes;

/// A container, a table, a share…: a range of the key space of its own. Ids are never reused, so a write that
/// comes too late lands nowhere visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u128);

/// A kind of row within a space, so that each listing is one range.
///
/// A column whose high bit is set is **volatile**: its rows live only as long as the gateway that they are for. See
/// [`Engine`](crate::Engine) for what that means. The bit stands in the key, so every engine and every tool knows it from
/// the key alone; and the volatile rows of a space come after its durable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column(pub u8);

impl Column {
    const VOLATILE: u8 = 0x80;

    /// The volatile column of this letter.
    pub const fn volatile(letter: u8) -> Self {
        assert!(letter < Self::VOLATILE, "a letter is ASCII");
        Self(letter | Self::VOLATILE)
    }

    pub const fn is_volatile(self) -> bool {
        self.0 >= Self::VOLATILE
    }
}

/// The unit of atomicity. Every key has one partition that owns it, for good.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    pub space: Space,
    pub name: Bytes,
}

impl Partition {
    pub fn new(space: Space, name: impl Into<Bytes>) -> Self {
        Self { space, name: name.into() }
    }

    /// A key of this partition: its row is `parts` put together. A [`Layout`] finds the partition again from the key.
    pub fn key(&self, column: Column, parts: &[&[u8]]) -> Key {
        Key::new(self.space, column, parts)
    }
}

/// Finds the partition that owns a key from the key alone: the table of columns of the crate that lays out the key space.
///
/// An engine that spreads partitions over several places routes by it, and moves rows by it when a place is split. `None` is
/// for keys of an older layout, which only an engine that keeps everything in one place can hold.
pub type Layout = fn(&Key) -> Option<Partition>;

/// `space (16, big endian) | column (1) | row`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

impl Key {
    /// Bytes before the row.
    pub const HEAD: usize = 17;

    /// The key whose row is `parts` put together.
    pub fn new(space: Space, column: Column, parts: &[&[u8]]) -> Self {
        let mut bytes = Vec::with_capacity(Self::HEAD + parts.iter().map(|part| part.len()).sum::<usize>());
        bytes.extend_from_slice(&space.0.to_be_bytes());
        bytes.push(column.0);
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Self(bytes.into())
    }

    /// A key as an engine stored it.
    pub fn from_stored(bytes: Bytes) -> Option<Self> {
        (bytes.len() >= Self::HEAD).then_some(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Where its bytes are.
    pub(crate) fn buffer(&self) -> &Bytes {
        &self.0
    }

    pub fn space(&self) -> Space {
        Space(u128::from_be_bytes(self.0[..16].try_into().expect("a key has a head")))
    }

    pub fn column(&self) -> Column {
        Column(self.0[16])
    }

    pub fn is_volatile(&self) -> bool {
        self.column().is_volatile()
    }

    /// Where the volatile rows of a space begin.
    pub(crate) fn first_volatile(space: Space) -> Self {
        Self::new(space, Column(Column::VOLATILE), &[])
    }

    pub fn row(&self) -> Bytes {
        self.0.slice(Self::HEAD..)
    }

    /// The least key that is greater than every key beginning with this one.
    pub fn after_prefix(&self) -> Self {
        let mut bytes = self.0.to_vec();
        while let Some(last) = bytes.pop() {
            if last < u8::MAX {
                bytes.push(last + 1);
                return Self(bytes.into());
            }
        }
        Self(Bytes::from_static(&[u8::MAX; Self::HEAD + 1]))
    }

    /// The least key that is greater than this one.
    pub fn successor(&self) -> Self {
        let mut bytes = self.0.to_vec();
        bytes.push(0);
        Self(bytes.into())
    }
}
