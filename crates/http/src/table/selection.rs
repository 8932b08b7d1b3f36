//! `$select`: the properties that an answer shows. Names count once each, however often they are written, and there are no more than an
//! entity can have, so that what an entity takes in an answer does not depend on how long the request was.

use std::collections::HashMap;

use lazuli_model::table::{PROPERTIES_MAX, Refused};

use crate::refusal::Refusal;

/// With the keys and the timestamp.
const NAMES_MAX: usize = PROPERTIES_MAX + 3;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Selection {
    /// `None` is all: no name, or `*` among them.
    pub fn read(list: &str) -> Result<Option<Self>, Refusal> {
        let mut selection = Self::default();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                return Ok(None);
            }
            if selection.places.contains_key(name) {
                continue;
            }
            if selection.names.len() == NAMES_MAX {
                let message = format!("The $select query option names more than {NAMES_MAX} properties.");
                return Err(Refused::InvalidInput(message.into()).into());
            }
            selection.places.insert(name.to_owned(), selection.names.len());
            selection.names.push(name.to_owned());
        }
        Ok((!selection.names.is_empty()).then_some(selection))
    }

    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Those that are wanted, besides the keys and the timestamp, and that are none of `found`.
    pub fn missing<'a>(&'a self, found: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
        let mut is_there = [false; NAMES_MAX];
        for name in found.chain(["PartitionKey", "RowKey", "Timestamp"]) {
            if let Some(place) = self.places.get(name) {
                is_there[*place] = true;
            }
        }
        self.names.iter().zip(is_there).filter(|(_, is_there)| !is_there).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_once() {
        let names = |list: &str| Selection::read(list).map(|selection| selection.map(|selection| selection.names));
        for (list, expected) in
            [("", None), (" , ", None), ("a,*", None), ("b, a ,b,a", Some(vec!["b".to_owned(), "a".to_owned()]))]
        {
            assert_eq!(names(list), Ok(expected), "{list}");
        }
        let selection = Selection::read("RowKey,b,c,a").unwrap().unwrap();
        assert_eq!(selection.missing(["a", "x"].into_iter()).collect::<Vec<_>>(), ["b", "c"]);
    }

    /// H6: the same name 20,000 times is one name; 256 names are refused.
    #[test]
    fn there_are_no_more_than_an_entity_can_have() {
        assert_eq!(Selection::read(&"z1,".repeat(20_000)).unwrap().unwrap().names, ["z1"]);
        let many = |count: usize| (0..count).map(|at| format!("z{at}")).collect::<Vec<_>>().join(",");
        assert!(Selection::read(&many(NAMES_MAX)).is_ok_and(|selection| selection.is_some()));
        assert!(Selection::read(&many(NAMES_MAX + 1)).is_err());
    }
}
