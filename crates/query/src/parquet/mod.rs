//! Parquet as the input of a query: rows become records as those of JSON are, and the rest is the same.
//!
//! Held true: of a row group only the columns that the query names are read, by ranges; they, their pages and each row have
//! bounds, and what exceeds them ends the query with an error record. The memory of a row group is asked for before it is read. Whatever
//! the bytes are, nothing panics, and each row is charged: how many there are is only a claim.

mod bits;
mod codec;
mod column;
mod delta;
mod rows;
mod schema;
mod thrift;
mod value;

use std::cell::Cell;

use bytes::Bytes;

use self::column::Column;
use self::rows::Rows;
use self::schema::{Chunk, File, Group, Node};
use crate::budget::{Budget, Exceeded};
use crate::run::{Judge, Turn};

/// What a file says of itself.
const META_MAX: u64 = 8 << 20;
/// Columns of one row group, as they are stored.
const STORED_MAX: u64 = 128 << 20;
/// With their pages and dictionaries, unpacked, as many as are held at once.
pub const GROUP_MAX: usize = 192 << 20;
const PAGE_MOST: usize = 32 << 20;
/// What a column may take beyond what it says.
const COLUMN_SLACK: u64 = 64 << 10;
/// Bytes that are unpacked in one step.
const STEP_UNPACKED: usize = 8;

const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// Why a file is read no further.
#[derive(Debug, PartialEq, Eq)]
pub enum Bad {
    Corrupt,
    TooLarge,
    Exceeded(Exceeded),
    /// What it has.
    Unsupported(String),
}

impl From<Exceeded> for Bad {
    fn from(exceeded: Exceeded) -> Self {
        Bad::Exceeded(exceeded)
    }
}

/// What reading is charged to.
pub struct Costs<'a> {
    budget: &'a Budget,
    /// Bytes that pages and dictionaries of the row group may still take.
    room: &'a Cell<usize>,
}

impl Costs<'_> {
    fn hold(&self, bytes: usize) -> Result<(), Bad> {
        self.room.set(self.room.get().checked_sub(bytes).ok_or(Bad::TooLarge)?);
        Ok(())
    }

    fn release(&self, bytes: usize) {
        self.room.set(self.room.get() + bytes);
    }

    fn unpack(&self, bytes: usize) -> Result<(), Bad> {
        Ok(self.budget.steps(1 + (bytes / STEP_UNPACKED) as u64)?)
    }
}

/// A file being gone through.
pub struct Scan {
    length: u64,
    file: File,
    fields: Vec<Node>,
    room: Cell<usize>,
    /// Bytes of the file that were read: its metadata, and the columns that are wanted of the row groups so far.
    read: u64,
    state: State,
}

enum State {
    /// The last bytes of the file, which say where its metadata is.
    Tail,
    Metadata {
        from: u64,
    },
    /// About to begin the row group of this number.
    Group(usize),
    /// Reading the columns of a row group.
    Columns {
        group: usize,
        wanted: Vec<Wanted>,
        columns: Vec<Option<Column>>,
    },
    Rows {
        group: usize,
        rows: Box<Rows>,
        done: u64,
    },
}

/// A column that is to be read: the last of these is next.
struct Wanted {
    column: usize,
    leaf: Node,
    form: schema::Form,
}

type Next = Result<Turn, (Bad, u64)>;

impl Scan {
    pub(crate) fn new(length: u64) -> Self {
        let file = File { fields: Vec::new(), groups: Vec::new() };
        Self { length, file, fields: Vec::new(), room: Cell::new(0), read: 0, state: State::Tail }
    }

    pub(crate) fn turn(&mut self, judge: &mut Judge, given: Option<Bytes>) -> Turn {
        judge.budget.begin_record();
        self.step(judge, given).unwrap_or_else(|(bad, position)| {
            judge.fail_in_parquet(bad, position);
            Turn::Over
        })
    }

    fn step(&mut self, judge: &mut Judge, given: Option<Bytes>) -> Next {
        match std::mem::replace(&mut self.state, State::Tail) {
            State::Tail => match given {
                None => Ok(Turn::Range { from: self.length.saturating_sub(TAIL), to: self.length }),
                Some(tail) => self.tail(&tail),
            },
            State::Metadata { from } => self.metadata(judge, from, &given.unwrap_or_default()),
            State::Group(group) => self.begin(group),
            State::Columns { group, mut wanted, mut columns } => {
                if let Some(bytes) = given
                    && let Some(Wanted { column, leaf, form }) = wanted.pop()
                {
                    columns[column] = Some(Column::new(bytes, self.file.groups[group].chunks[column], &leaf, form));
                }
                self.columns(group, wanted, columns)
            }
            State::Rows { group, rows, done } => self.rows(judge, group, rows, done),
        }
    }

    fn tail(&mut self, tail: &[u8]) -> Next {
        let corrupt = (Bad::Corrupt, 0);
        let length = tail.first_chunk().map(|length| u64::from(u32::from_le_bytes(*length)));
        let Some(length) = length.filter(|_| tail.ends_with(MAGIC)) else { return Err(corrupt) };
        let Some(from) = self.length.checked_sub(TAIL + length) else { return Err(corrupt) };
        if length > META_MAX {
            return Err((Bad::TooLarge, from));
        }
        self.state = State::Metadata { from };
        Ok(Turn::Range { from, to: self.length - TAIL })
    }

    fn metadata(&mut self, judge: &mut Judge, from: u64, bytes: &[u8]) -> Next {
        judge.budget.look(bytes.len()).map_err(|exceeded| (exceeded.into(), from))?;
        self.file = schema::read(bytes).ok_or((Bad::Corrupt, 0))?;
        self.fields = self.file.fields.iter().filter(|node| judge.wants(&node.name)).cloned().collect();
        judge.call(self.fields.iter().map(|field| field.name.clone()).collect());
        self.read = self.length - from;
        self.state = State::Group(0);
        Ok(Turn::Again)
    }

    /// Asks for the memory of a row group: its columns as they are stored, and what they say that they are unpacked.
    fn begin(&mut self, group: usize) -> Next {
        let Some(chunks) = self.file.groups.get(group).map(|group| &group.chunks) else { return Ok(Turn::Over) };
        let mut wanted = Vec::new();
        for field in &self.fields {
            field.each_column(&mut |column, leaf, form| wanted.push(Wanted { column, leaf: leaf.clone(), form }));
        }
        wanted.reverse();
        let (mut stored, mut unpacked) = (0_u64, 0_u64);
        for Wanted { column, .. } in wanted.iter().rev() {
            let chunk = chunks.get(*column).ok_or((Bad::Corrupt, 0))?;
            stored = stored.saturating_add(chunk.length);
            unpacked = unpacked.saturating_add(chunk.unpacked.saturating_mul(2).saturating_add(COLUMN_SLACK));
            if stored > STORED_MAX {
                return Err((Bad::TooLarge, chunk.offset));
            }
        }
        let stored = stored as usize;
        let room = usize::try_from(unpacked).unwrap_or(usize::MAX).min(GROUP_MAX - stored);
        self.room.set(room);
        let columns = chunks.iter().map(|_| None).collect();
        self.state = State::Columns { group, wanted, columns };
        Ok(Turn::Memory(stored + room))
    }

    fn columns(&mut self, group: usize, wanted: Vec<Wanted>, columns: Vec<Option<Column>>) -> Next {
        let Some(next) = wanted.last() else {
            self.state = State::Rows { group, rows: Box::new(Rows::new(columns)), done: 0 };
            return Ok(Turn::Again);
        };
        let Chunk { offset, length, .. } = self.file.groups[group].chunks[next.column];
        let end = offset.checked_add(length).filter(|end| *end <= self.length).ok_or((Bad::Corrupt, offset))?;
        self.state = State::Columns { group, wanted, columns };
        Ok(Turn::Range { from: offset, to: end })
    }

    fn rows(&mut self, judge: &mut Judge, group: usize, mut rows: Box<Rows>, mut done: u64) -> Next {
        let Group { rows: count, chunks } = &self.file.groups[group];
        let position = chunks.iter().map(|chunk| chunk.offset).min().unwrap_or(0);
        while done < *count {
            judge.begin_row().map_err(|exceeded| (exceeded.into(), position))?;
            let costs = Costs { budget: &judge.budget, room: &self.room };
            let record = rows.next(&self.fields, &costs).map_err(|bad| (bad, position))?;
            done += 1;
            judge.record(record, position);
            if judge.rests() {
                self.state = State::Rows { group, rows, done };
                return Ok(Turn::Again);
            }
        }
        let mut wanted = Vec::new();
        self.fields.iter().for_each(|field| field.each_column(&mut |column, _, _| wanted.push(column)));
        let stored = wanted.into_iter().filter_map(|column| chunks.get(column)).map(|chunk| chunk.length);
        self.read = stored.fold(self.read, u64::saturating_add);
        judge.end_group(self.read);
        self.state = State::Group(group + 1);
        Ok(Turn::Again)
    }
}

#[cfg(test)]
mod tests;
