//! Rows put together again from their columns. Of what is nested, the levels say where a list begins and what is absent:
//! a value whose repetition level is that of a list goes on with it, a lower one ends it.

use serde_json::{Map, Value as Json};

use super::column::Column;
use super::schema::{Node, Shape};
use super::{Bad, Costs};
use crate::RECORD_MAX;

/// What a value costs at least.
const VALUE_BYTES: usize = 16;
/// What a row costs, even one without columns.
const ROW_STEPS: u64 = 32;

pub(super) struct Rows {
    /// By their place in the schema; `None` for what nobody asked for.
    columns: Vec<Option<Column>>,
    /// Of this row.
    room: usize,
}

/// A row that is being put together.
struct Row<'a> {
    columns: &'a mut [Option<Column>],
    room: &'a mut usize,
    costs: &'a Costs<'a>,
}

impl Rows {
    pub(super) fn new(columns: Vec<Option<Column>>) -> Self {
        Self { columns, room: 0 }
    }

    pub(super) fn next(&mut self, fields: &[Node], costs: &Costs<'_>) -> Result<Json, Bad> {
        self.room = RECORD_MAX;
        let mut row = Row { columns: &mut self.columns, room: &mut self.room, costs };
        let mut record = Map::new();
        costs.budget.steps(ROW_STEPS)?;
        for field in fields {
            if row.levels(field)?.0 != 0 {
                return Err(Bad::Corrupt);
            }
            record.insert(field.name.clone(), row.field(field)?);
        }
        Ok(Json::Object(record))
    }
}

impl Row<'_> {
    fn column(&mut self, at: usize) -> Result<&mut Column, Bad> {
        self.columns.get_mut(at).and_then(Option::as_mut).ok_or(Bad::Corrupt)
    }

    fn levels(&mut self, node: &Node) -> Result<(u16, u16), Bad> {
        let first = node.first_column().ok_or(Bad::Corrupt)?;
        let costs = self.costs;
        self.column(first)?.peek(costs)?.ok_or(Bad::Corrupt)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Bad> {
        *self.room = self.room.checked_sub(bytes).ok_or(Bad::TooLarge)?;
        Ok(())
    }

    fn field(&mut self, node: &Node) -> Result<Json, Bad> {
        self.spend(VALUE_BYTES + node.name.len())?;
        if node.repeated {
            return Ok(Json::Array(self.items(node, |rows| rows.inside(node))?));
        }
        if node.optional && self.levels(node)?.1 < node.definition {
            self.skip(node)?;
            return Ok(Json::Null);
        }
        self.inside(node)
    }

    /// A field that is there.
    fn inside(&mut self, node: &Node) -> Result<Json, Bad> {
        match &node.shape {
            Shape::Leaf { column, .. } => {
                let costs = self.costs;
                let value = self.column(*column)?.take(costs)?;
                self.spend(value.as_str().map_or(0, str::len))?;
                Ok(value)
            }
            Shape::Group(children) => {
                let mut group = Map::new();
                for child in children {
                    group.insert(child.name.clone(), self.field(child)?);
                }
                Ok(Json::Object(group))
            }
            Shape::List(inner) => Ok(Json::Array(self.items(inner, |rows| rows.element(inner))?)),
            Shape::Map(inner) => self.pairs(inner),
        }
    }

    /// An element of a list is the one field of a repeated group, or the group ("Logical types": backward compatibility).
    fn element(&mut self, repeated: &Node) -> Result<Json, Bad> {
        match &repeated.shape {
            Shape::Group(children)
                if children.len() == 1 && repeated.name != "array" && !repeated.name.ends_with("_tuple") =>
            {
                self.field(&children[0])
            }
            Shape::Group(_) | Shape::Leaf { .. } | Shape::List(_) | Shape::Map(_) => self.inside(repeated),
        }
    }

    fn pairs(&mut self, repeated: &Node) -> Result<Json, Bad> {
        let Shape::Group(children) = &repeated.shape else { return Err(Bad::Corrupt) };
        let [key, rest @ ..] = &children[..] else { return Err(Bad::Corrupt) };
        let pairs = self.items(repeated, |rows| {
            let key = rows.field(key)?;
            let value = rest.first().map_or(Ok(Json::Null), |value| rows.field(value))?;
            Ok(Json::Array(vec![key, value]))
        })?;
        let mut map = Map::new();
        for pair in pairs {
            if let Json::Array(pair) = pair
                && let Ok([key, value]) = <[Json; 2]>::try_from(pair)
            {
                map.insert(key.as_str().map_or_else(|| key.to_string(), str::to_owned), value);
            }
        }
        Ok(Json::Object(map))
    }

    fn items(&mut self, node: &Node, mut read: impl FnMut(&mut Self) -> Result<Json, Bad>) -> Result<Vec<Json>, Bad> {
        if self.levels(node)?.1 < node.definition {
            self.skip(node)?;
            return Ok(Vec::new());
        }
        let first = node.first_column().ok_or(Bad::Corrupt)?;
        let (mut items, costs) = (Vec::new(), self.costs);
        loop {
            self.spend(VALUE_BYTES)?;
            items.push(read(self)?);
            match self.column(first)?.peek(costs)? {
                Some((repetition, _)) if repetition == node.repetition => {}
                Some(_) | None => return Ok(items),
            }
        }
    }

    /// What is absent has one value, without any, in each of its columns.
    fn skip(&mut self, node: &Node) -> Result<(), Bad> {
        let mut columns = Vec::new();
        node.each_column(&mut |column, _, _| columns.push(column));
        let costs = self.costs;
        columns.into_iter().try_for_each(|column| self.column(column)?.take(costs).map(drop))
    }
}
