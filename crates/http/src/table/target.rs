//! What a path of the Table service names. A table is the first segment; what it is asked for stands in parentheses behind the last.

use lazuli_model::TableName;
use lazuli_model::table::Key;
use lazuli_store::TableAt;

use crate::head::{self, Head, decode};
use crate::operation::On;
use crate::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `Tables`
    Tables,
    /// `Tables('name')`
    Table(String),
    /// `name` or `name()`
    Entities(String),
    /// `name(PartitionKey='…',RowKey='…')`; without a key when the parentheses hold something else.
    Entity {
        table: String,
        key: Option<Key>,
    },
    Batch,
}

impl Target {
    pub fn on(&self) -> On {
        match self {
            Target::Tables => On::Tables,
            Target::Table(_) => On::Table,
            Target::Entities(_) => On::Entities,
            Target::Entity { .. } => On::Entity,
            Target::Batch => On::Batch,
        }
    }

    /// The table, as it is written.
    pub fn table(&self) -> Option<&str> {
        match self {
            Target::Table(name) | Target::Entities(name) | Target::Entity { table: name, .. } => Some(name),
            Target::Tables | Target::Batch => None,
        }
    }

    /// The keys of the entity, where the path names one.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Target::Entity { key, .. } => key.as_ref(),
            Target::Tables | Target::Table(_) | Target::Entities(_) | Target::Batch => None,
        }
    }
}

/// `rest` is the path behind the account, without its leading slash, percent-encoded.
pub fn target(rest: &str) -> Result<head::Target, Refusal> {
    let path = decode(rest)?;
    if path.is_empty() {
        return Ok(head::Target::Service);
    }
    // A slash within quotes is part of a key, and refused later in better words.
    let first = path.split(['/', '(']).next().unwrap_or_default();
    let inside = path.find('(').map(|at| path[at + 1..].trim_end_matches('/').strip_suffix(')'));
    let target = match (first, inside) {
        (_, Some(None)) => return Err(Refusal::InvalidUri),
        ("$batch", None) => Target::Batch,
        (name, None | Some(Some(""))) if name.eq_ignore_ascii_case("tables") => Target::Tables,
        (name, Some(Some(inside))) if name.eq_ignore_ascii_case("tables") => {
            Target::Table(quoted(inside).filter(|(_, rest)| rest.is_empty()).ok_or(Refusal::InvalidUri)?.0)
        }
        (name, None | Some(Some(""))) => Target::Entities(name.to_owned()),
        (name, Some(Some(inside))) => Target::Entity { table: name.to_owned(), key: key(inside) },
    };
    Ok(head::Target::Table(target))
}

/// `PartitionKey='…',RowKey='…'`, in either order.
fn key(inside: &str) -> Option<Key> {
    let (mut partition, mut row) = (None, None);
    let mut rest = inside;
    loop {
        let (name, value) = rest.split_once('=')?;
        let (value, behind) = quoted(value)?;
        match name.trim() {
            "PartitionKey" if partition.is_none() => partition = Some(value),
            "RowKey" if row.is_none() => row = Some(value),
            _ => return None,
        }
        match behind.trim_start().strip_prefix(',') {
            Some(more) => rest = more,
            None if behind.trim().is_empty() => return Some(Key::new(partition?, row?)),
            None => return None,
        }
    }
}

/// The text between quotes, of which two are one, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim_start().strip_prefix('\'')?;
    let mut inside = String::new();
    loop {
        let end = rest.find('\'')?;
        inside.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(more) => {
                inside.push('\'');
                rest = more;
            }
            None => return Some((inside, rest)),
        }
    }
}

impl Head {
    pub fn table_target(&self) -> Result<&Target, Refusal> {
        match &self.target {
            head::Target::Table(target) => Ok(target),
            head::Target::Share(_) | head::Target::Path { .. } => Err(Refusal::InvalidUri),
            head::Target::Service | head::Target::Container(_) | head::Target::Blob { .. } => Err(Refusal::InvalidUri),
            head::Target::Queue(_) | head::Target::Messages(_) | head::Target::Message { .. } => {
                Err(Refusal::InvalidUri)
            }
        }
    }

    pub fn table_at(&self) -> Result<TableAt, Refusal> {
        let name = self.table_target()?.table().ok_or(Refusal::InvalidUri)?;
        Ok(TableAt { account: self.account()?, table: TableName::parse(name)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_the_service_reads_them() {
        let entity = |table: &str, partition: &str, row: &str| Target::Entity {
            table: table.into(),
            key: Some(Key::new(partition, row)),
        };
        let table = [
            ("Tables", Target::Tables),
            ("Tables()", Target::Tables),
            ("tables('abc')", Target::Table("abc".into())),
            ("Tables(%27abc%27)", Target::Table("abc".into())),
            ("$batch", Target::Batch),
            ("abc", Target::Entities("abc".into())),
            ("abc()", Target::Entities("abc".into())),
            ("abc/", Target::Entities("abc".into())),
            // Observed: what follows a table's name is looked at by queries alone.
            ("abc/Tables", Target::Entities("abc".into())),
            ("abc/Tables('abc')", Target::Entity { table: "abc".into(), key: None }),
            ("a%2F%2F", Target::Entities("a".into())),
            ("abc(PartitionKey='p',RowKey='r')", entity("abc", "p", "r")),
            ("abc(RowKey='r',PartitionKey='p')", entity("abc", "p", "r")),
            ("abc(PartitionKey='a''''b',RowKey='''')", entity("abc", "a''b", "'")),
            ("abc(PartitionKey='a,b=c',RowKey='(%20)')", entity("abc", "a,b=c", "( )")),
            ("abc(PartitionKey='',RowKey='')", entity("abc", "", "")),
            ("abc(PartitionKey='p')", Target::Entity { table: "abc".into(), key: None }),
            ("abc('p')", Target::Entity { table: "abc".into(), key: None }),
        ];
        for (path, expected) in table {
            assert_eq!(target(path), Ok(head::Target::Table(expected)), "{path}");
        }
        for path in ["abc(", "Tables(x)", "Tables('x'", "abc(PartitionKey='p',RowKey='r'"] {
            assert_eq!(target(path), Err(Refusal::InvalidUri), "{path}");
        }
        assert_eq!(target(""), Ok(head::Target::Service));
    }
}
