//! What a Parquet file says of itself at its end: its schema as a tree, and where the columns of each row group are.

use super::thrift::{self, Thing};

/// Nesting beyond this is not followed.
const DEPTH_MAX: usize = 32;
/// Leaves of a schema.
pub const COLUMNS_MAX: usize = 1024;

pub struct File {
    pub fields: Vec<Node>,
    pub groups: Vec<Group>,
}

/// The columns of some rows, in the order of the schema's leaves.
pub struct Group {
    pub rows: u64,
    pub chunks: Vec<Chunk>,
}

#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub codec: i64,
    pub values: u64,
    pub offset: u64,
    pub length: u64,
}

/// A field of the schema. Levels are those at which it is there at all.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub optional: bool,
    pub repeated: bool,
    pub definition: u16,
    pub repetition: u16,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub enum Shape {
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
pub struct Form {
    pub physical: Physical,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
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
pub enum Meaning {
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
    pub fn first_column(&self) -> Option<usize> {
        match &self.shape {
            Shape::Leaf { column, .. } => Some(*column),
            Shape::Group(children) => children.iter().find_map(Node::first_column),
            Shape::List(inner) | Shape::Map(inner) => inner.first_column(),
        }
    }

    pub fn each_column<'a>(&'a self, act: &mut dyn FnMut(usize, &'a Node, Form)) {
        match &self.shape {
            Shape::Leaf { column, form } => act(*column, self, *form),
            Shape::Group(children) => children.iter().for_each(|child| child.each_column(act)),
            Shape::List(inner) | Shape::Map(inner) => inner.each_column(act),
        }
    }
}

/// `None` for what is not read as the metadata of a file.
pub fn read(bytes: &[u8]) -> Option<File> {
    let (file, _) = thrift::read(bytes)?;
    let mut elements = file.list(2).iter();
    let root = elements.next()?;
    let mut columns = 0;
    let mut fields = Vec::new();
    for _ in 0..root.int(5)? {
        fields.push(node(&mut elements, 0, 0, &mut columns, 0)?);
    }
    let groups = file.list(4).iter().map(group).collect::<Option<Vec<_>>>()?;
    let fits = columns <= COLUMNS_MAX && groups.iter().all(|group| group.chunks.len() == columns);
    (fits && elements.next().is_none()).then_some(File { fields, groups })
}

fn node(
    elements: &mut std::slice::Iter<'_, Thing>,
    mut definition: u16,
    mut repetition: u16,
    columns: &mut usize,
    depth: usize,
) -> Option<Node> {
    let element = elements.next().filter(|_| depth < DEPTH_MAX)?;
    let kind = element.int(3).unwrap_or(0);
    let (optional, repeated) = (kind == 1, kind == 2);
    definition += u16::from(optional || repeated);
    repetition += u16::from(repeated);
    let children = element.int(5).unwrap_or(0);
    let shape = if element.field(1).is_some() || children == 0 {
        *columns += 1;
        Shape::Leaf { column: *columns - 1, form: form(element)? }
    } else {
        let mut inner = Vec::new();
        for _ in 0..children {
            inner.push(node(elements, definition, repetition, columns, depth + 1)?);
        }
        let is = |converted: i64, logical: i16| {
            element.int(6) == Some(converted) || element.field(10).is_some_and(|kind| kind.field(logical).is_some())
        };
        match inner.len() {
            1 if inner[0].repeated && is(3, 3) => Shape::List(Box::new(inner.remove(0))),
            1 if inner[0].repeated && (is(1, 2) || is(2, 2)) => Shape::Map(Box::new(inner.remove(0))),
            _ => Shape::Group(inner),
        }
    };
    Some(Node { name: element.text(4)?, optional, repeated, definition, repetition, shape })
}

fn form(element: &Thing) -> Option<Form> {
    let length = || usize::try_from(element.int(2)?).ok().filter(|length| *length > 0);
    let physical = match element.int(1)? {
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
fn meaning(element: &Thing) -> Meaning {
    let scale = u32::try_from(element.int(7).unwrap_or(0)).unwrap_or(0);
    let (millis, micros) = (Meaning::Time { times: 10_000, over: 1 }, Meaning::Time { times: 10, over: 1 });
    if let Some(logical) = element.field(10) {
        let unit = |of: &Thing| match of.field(2) {
            Some(unit) if unit.field(1).is_some() => millis,
            Some(unit) if unit.field(2).is_some() => micros,
            Some(unit) if unit.field(3).is_some() => Meaning::Time { times: 1, over: 100 },
            Some(_) | None => Meaning::Plain,
        };
        if logical.field(1).is_some() || logical.field(4).is_some() || logical.field(12).is_some() {
            return Meaning::Text;
        }
        if let Some(decimal) = logical.field(5) {
            return Meaning::Decimal { scale: u32::try_from(decimal.int(1).unwrap_or(0)).unwrap_or(0) };
        }
        if logical.field(6).is_some() {
            return Meaning::Date;
        }
        if let Some(stamp) = logical.field(8) {
            return unit(stamp);
        }
        if let Some(integer) = logical.field(10) {
            return if integer.flag(2) == Some(false) { Meaning::Unsigned } else { Meaning::Plain };
        }
    }
    match element.int(6) {
        Some(0 | 4 | 19) => Meaning::Text,
        Some(5) => Meaning::Decimal { scale },
        Some(6) => Meaning::Date,
        Some(9) => millis,
        Some(10) => micros,
        Some(11..=14) => Meaning::Unsigned,
        Some(_) | None => Meaning::Plain,
    }
}

fn group(group: &Thing) -> Option<Group> {
    let chunks = group.list(1).iter().map(chunk).collect::<Option<Vec<_>>>()?;
    Some(Group { rows: u64::try_from(group.int(3)?).ok()?, chunks })
}

fn chunk(chunk: &Thing) -> Option<Chunk> {
    // A path to another file, which there is none of.
    if chunk.field(1).is_some() {
        return None;
    }
    let column = chunk.field(3)?;
    let number = |id| u64::try_from(column.int(id)?).ok();
    let data = number(9)?;
    // Some writers say 0 where there is no dictionary.
    let offset = number(11).filter(|dictionary| *dictionary > 0).map_or(data, |dictionary| dictionary.min(data));
    Some(Chunk { codec: column.int(4)?, values: number(5)?, offset, length: number(7)? })
}
