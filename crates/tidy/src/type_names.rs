//! One name, one thing: within a crate, a public type has a name that no other public type has. Tests, and records of earlier formats, are left out.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::tree::{File, Tree};

/// Names that are taken more than once, as crate and name. To be replaced by the field's own words; no new ones.
const TAKEN_TWICE: &[(&str, &str)] = &[
    ("engine", "Memory"),
    ("engine", "Options"),
    ("http", "Target"),
    ("model", "Action"),
    ("model", "Change"),
    ("model", "Entry"),
    ("model", "Kind"),
    ("model", "Node"),
    ("model", "On"),
    ("model", "Place"),
    ("model", "Policy"),
    ("model", "Seen"),
    ("query", "Row"),
    ("server", "Answer"),
    ("server", "Ask"),
    ("server", "Credential"),
    ("server", "Door"),
    ("server", "Place"),
    ("smb", "Change"),
    ("smb", "Context"),
    ("smb", "Interface"),
    ("smb", "Request"),
    ("smb", "Response"),
    ("store", "Entry"),
    ("store", "Found"),
    ("store", "Head"),
    ("testkit", "Answer"),
    ("testkit", "Call"),
    ("testkit", "Change"),
    ("testkit", "Disk"),
    ("testkit", "Guard"),
    ("testkit", "Held"),
    ("testkit", "Known"),
    ("testkit", "Marks"),
    ("testkit", "OneBlob"),
    ("testkit", "OneQueue"),
    ("testkit", "Op"),
    ("testkit", "Request"),
    ("testkit", "State"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, TAKEN_TWICE)
}

fn check_with(tree: &Tree, taken_twice: &[(&str, &str)]) -> Vec<Complaint> {
    let mut places: BTreeMap<(&str, &str), Vec<(&File, usize)>> = BTreeMap::new();
    for file in tree.rust() {
        let Some((name, rest)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) else {
            continue;
        };
        if rest.contains("tests") || rest.contains("old/") {
            continue;
        }
        let lines = file.text.lines().take_while(|line| *line != "#[cfg(test)]");
        for (number, line) in lines.enumerate() {
            if let Some(type_name) = public_type(line) {
                places.entry((name, type_name)).or_default().push((file, number + 1));
            }
        }
    }
    let mut complaints = Vec::new();
    for (name, places) in &places {
        let excepted = taken_twice.contains(name);
        for (file, line) in places.iter().skip(1).filter(|_| !excepted) {
            let what = format!("the type {} is in {} too: one name, one thing", name.1, places[0].0.path);
            complaints.push(file.complaint(*line, what));
        }
        if excepted && places.len() == 1 {
            let (file, line) = places[0];
            complaints.push(file.complaint(line, "unique now: take it off the list in crates/tidy/src/type_names.rs"));
        }
    }
    complaints
}

/// The name of a public type that is declared in the first column.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| rest.strip_prefix(word))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once_in_a_crate() {
        let tree = Tree::of(&[
            ("crates/a/src/one.rs", "pub struct Same;\npub enum Old {\n}\nstruct Own;\n"),
            ("crates/a/src/two.rs", "pub trait Same: Send {\n}\npub type Old<T> = Vec<T>;\nstruct Own;\n"),
            ("crates/a/src/tests.rs", "pub struct Same;\n"),
            ("crates/a/src/three.rs", "pub struct Once;\n#[cfg(test)]\npub struct Same;\n"),
            ("crates/b/src/one.rs", "pub struct Same(u8);\n"),
        ]);
        let found = check_with(&tree, &[("a", "Old"), ("a", "Once")]);
        let found: Vec<(&str, usize)> = found.iter().map(|it| (it.path.as_str(), it.line)).collect();
        assert_eq!(found, [("crates/a/src/three.rs", 1), ("crates/a/src/two.rs", 1)]);
    }
}
