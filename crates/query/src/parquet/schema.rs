//! What a Parquet file says of itself at its end: its schema as a tree, and where the columns of each row group are.

use lazuli_model::depth::{self, Depth};

use super::thrift::{Kind, Reader};

/// Leaves of a schema.
pub(super) const COLUMNS_MAX: usize = 1024;
/// Row groups of a file.
const GROUPS_MAX: usize = 1 << 16;

pub(super) struct File {
    pub fields: Vec<Node>,
    pub groups: Vec<Group>,
}

/// The columns of some rows, in the order of the schema's leaves.
pub(super) struct Group {
    pub rows: u64,
    pub chunks: Vec<Chunk>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub codec: i64,
    pub values: u64,
    pub offset: u64,
    pub length: u64,
    /// Its pages and its dictionary, unpacked.
    pub unpacked: u64,
}

/// A field of the schema. Levels are those at which it is there at all.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub name: String,
    pub optional: bool,
    pub repeated: bool,
    pub definition: u16,
    pub repetition: u16,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Leaf {
        column: usize,
        form: Form,
    },
    Group(Vec<Node>),
    /// A group around a repeated one, which is all that matters of it.
    List(Box<Node>),
    Map(Box<Node>),
}

/// How a leaf is stored, and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub physical: Physical,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    Fixed(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Plain,
    Text,
    Unsigned,
    Date,
    /// Ticks of 100 ns: multiply, then divide.
    Time {
        times: i64,
        over: i64,
    },
    Decimal {
        scale: u32,
    },
}

impl Node {
    /// The first of the columns below.
    pub(super) fn first_column(&self) -> Option<usize> {
        match &self.shape {
            Shape::Leaf { column, .. } => Some(*column),
            Shape::Group(children) => children.iter().find_map(Node::first_column),
            Shape::List(inner) | Shape::Map(inner) => inner.first_column(),
        }
    }

    pub(super) fn each_column<'a>(&'a self, act: &mut dyn FnMut(usize, &'a Node, Form)) {
        match &self.shape {
            Shape::Leaf { column, form } => act(*column, self, *form),
            Shape::Group(children) => children.iter().for_each(|child| child.each_column(act)),
            Shape::List(inner) | Shape::Map(inner) => inner.each_column(act),
        }
    }
}

/// `None` for what is not read as the metadata of a file.
pub(super) fn read(bytes: &[u8]) -> Option<File> {
    let mut reader = Reader::new(bytes);
    let (mut schema, mut groups) = (None, Vec::new());
    let mut fields = reader.fields(depth::THRIFT)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            2 => schema = Some(tree(&mut reader, kind, fields.depth)?),
            4 => groups = all_groups(&mut reader, kind, fields.depth)?,
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    let (fields, columns) = schema?;
    groups.iter().all(|group| group.chunks.len() == columns).then_some(File { fields, groups })
}

/// The fields of the root, and how many leaves there are.
fn tree(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<(Vec<Node>, usize)> {
    let mut left = reader.structs(kind)?;
    let root = element(reader, &mut left, depth)?;
    let mut columns = 0;
    let mut fields = Vec::new();
    for _ in 0..root.children? {
        fields.push(node(reader, &mut left, (0, 0), &mut columns, (depth, depth::SCHEMA))?);
    }
    (left == 0).then_some((fields, columns))
}

/// A field of the schema as it is written; they follow each other as the tree is gone through.
#[derive(Default)]
struct Element {
    kind: Option<i64>,
    length: Option<i64>,
    repetition: i64,
    name: Option<String>,
    children: Option<i64>,
    converted: Option<i64>,
    scale: i64,
    logical: Option<Logical>,
}

/// What of the logical types is of use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logical {
    Map,
    List,
    Means(Meaning),
    Other,
}

fn element(reader: &mut Reader<'_>, left: &mut u64, depth: Depth) -> Option<Element> {
    *left = left.checked_sub(1)?;
    let mut element = Element::default();
    let mut fields = reader.fields(depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            1 => element.kind = Some(reader.int(kind)?),
            2 => element.length = Some(reader.int(kind)?),
            3 => element.repetition = reader.int(kind)?,
            4 => element.name = Some(reader.text(kind)?.to_owned()),
            5 => element.children = Some(reader.int(kind)?),
            6 => element.converted = Some(reader.int(kind)?),
            7 => element.scale = reader.int(kind)?,
            10 => element.logical = Some(logical(reader, kind, fields.depth)?),
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    Some(element)
}

/// A union: one field, whose number is the type.
fn logical(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<Logical> {
    let mut found = Logical::Other;
    let mut fields = reader.structure(kind, depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        let inner = fields.depth;
        found = match id {
            5 => Logical::Means(Meaning::Decimal { scale: scale(first_int(reader, kind, inner)?) }),
            8 => Logical::Means(unit_of_time(reader, kind, inner)?),
            10 => Logical::Means(signedness(reader, kind, inner)?),
            _ => {
                reader.skip(kind, inner)?;
                match id {
                    2 => Logical::Map,
                    3 => Logical::List,
                    1 | 4 | 12 => Logical::Means(Meaning::Text),
                    6 => Logical::Means(Meaning::Date),
                    _ => found,
                }
            }
        };
    }
    Some(found)
}

fn scale(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// The field with the number 1.
fn first_int(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<i64> {
    let mut number = 0;
    let mut fields = reader.structure(kind, depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            1 => number = reader.int(kind)?,
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    Some(number)
}

const MILLIS: Meaning = Meaning::Time { times: 10_000, over: 1 };
const MICROS: Meaning = Meaning::Time { times: 10, over: 1 };
const NANOS: Meaning = Meaning::Time { times: 1, over: 100 };

/// Of a timestamp: its second field is a union of units.
fn unit_of_time(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<Meaning> {
    let mut meaning = Meaning::Plain;
    let mut fields = reader.structure(kind, depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        if id != 2 {
            reader.skip(kind, fields.depth)?;
            continue;
        }
        let mut units = reader.structure(kind, fields.depth)?;
        while let Some((unit, kind)) = reader.next(&mut units)? {
            reader.skip(kind, units.depth)?;
            meaning = match unit {
                1 => MILLIS,
                2 => MICROS,
                3 => NANOS,
                _ => meaning,
            };
        }
    }
    Some(meaning)
}

fn signedness(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<Meaning> {
    let mut meaning = Meaning::Plain;
    let mut fields = reader.structure(kind, depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match (id, reader.flag(kind)) {
            (2, Some(false)) => meaning = Meaning::Unsigned,
            (_, _) => reader.skip(kind, fields.depth)?,
        }
    }
    Some(meaning)
}

/// The next field of the schema with all that is in it. Two depths: of what is read, and of the tree.
fn node(
    reader: &mut Reader<'_>,
    left: &mut u64,
    (mut definition, mut repetition): (u16, u16),
    columns: &mut usize,
    (depth, levels): (Depth, Depth),
) -> Option<Node> {
    let levels = levels.deeper()?;
    let element = element(reader, left, depth)?;
    let (optional, repeated) = (element.repetition == 1, element.repetition == 2);
    definition += u16::from(optional || repeated);
    repetition += u16::from(repeated);
    let children = element.children.unwrap_or(0);
    let shape = if element.kind.is_some() || children == 0 {
        let column = *columns;
        *columns = Some(column + 1).filter(|columns| *columns <= COLUMNS_MAX)?;
        Shape::Leaf { column, form: form(&element)? }
    } else {
        let mut inner = Vec::new();
        for _ in 0..children {
            inner.push(node(reader, left, (definition, repetition), columns, (depth, levels))?);
        }
        let is =
            |converted: i64, logical: Logical| element.converted == Some(converted) || element.logical == Some(logical);
        match inner.len() {
            1 if inner[0].repeated && is(3, Logical::List) => Shape::List(Box::new(inner.remove(0))),
            1 if inner[0].repeated && (is(1, Logical::Map) || is(2, Logical::Map)) => {
                Shape::Map(Box::new(inner.remove(0)))
            }
            _ => Shape::Group(inner),
        }
    };
    Some(Node { name: element.name?, optional, repeated, definition, repetition, shape })
}

fn form(element: &Element) -> Option<Form> {
    let length = || usize::try_from(element.length?).ok().filter(|length| *length > 0);
    let physical = match element.kind? {
        0 => Physical::Boolean,
        1 => Physical::Int32,
        2 => Physical::Int64,
        3 => Physical::Int96,
        4 => Physical::Float,
        5 => Physical::Double,
        6 => Physical::Bytes,
        7 => Physical::Fixed(length()?),
        _ => return None,
    };
    Some(Form { physical, meaning: meaning(element) })
}

/// From the logical type, or the older converted one.
fn meaning(element: &Element) -> Meaning {
    if let Some(Logical::Means(meaning)) = element.logical {
        return meaning;
    }
    match element.converted {
        Some(0 | 4 | 19) => Meaning::Text,
        Some(5) => Meaning::Decimal { scale: scale(element.scale) },
        Some(6) => Meaning::Date,
        Some(9) => MILLIS,
        Some(10) => MICROS,
        Some(11..=14) => Meaning::Unsigned,
        Some(_) | None => Meaning::Plain,
    }
}

fn all_groups(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<Vec<Group>> {
    let count = reader.structs(kind)?;
    let mut groups = Vec::new();
    for _ in 0..count {
        if groups.len() == GROUPS_MAX {
            return None;
        }
        groups.push(group(reader, depth)?);
    }
    Some(groups)
}

fn group(reader: &mut Reader<'_>, depth: Depth) -> Option<Group> {
    let (mut rows, mut chunks) = (None, Vec::new());
    let mut fields = reader.fields(depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            1 => {
                for _ in 0..reader.structs(kind)? {
                    if chunks.len() == COLUMNS_MAX {
                        return None;
                    }
                    chunks.push(chunk(reader, fields.depth)?);
                }
            }
            3 => rows = Some(u64::try_from(reader.int(kind)?).ok()?),
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    Some(Group { rows: rows?, chunks })
}

fn chunk(reader: &mut Reader<'_>, depth: Depth) -> Option<Chunk> {
    let mut found = None;
    let mut fields = reader.fields(depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            // A path to another file, which there is none of.
            1 => return None,
            3 => found = Some(column(reader, kind, fields.depth)?),
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    found
}

fn column(reader: &mut Reader<'_>, kind: Kind, depth: Depth) -> Option<Chunk> {
    let mut numbers = [None; 12];
    let mut fields = reader.structure(kind, depth)?;
    while let Some((id, kind)) = reader.next(&mut fields)? {
        match id {
            4 | 5 | 6 | 7 | 9 | 11 => numbers[id as usize] = Some(reader.int(kind)?),
            _ => reader.skip(kind, fields.depth)?,
        }
    }
    let number = |id: usize| u64::try_from(numbers[id]?).ok();
    let data = number(9)?;
    // Some writers say 0 where there is no dictionary.
    let offset = number(11).filter(|dictionary| *dictionary > 0).map_or(data, |dictionary| dictionary.min(data));
    Some(Chunk { codec: numbers[4]?, values: number(5)?, offset, length: number(7)?, unpacked: number(6)? })
}
