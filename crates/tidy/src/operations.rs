//! Every operation that has a row (`Spec`) is served, and stands in the list of what is covered, `docs/operations.md`; and the list
//! has no others.

use std::collections::BTreeSet;

use crate::Complaint;
use crate::tree::{File, Tree};

const LIST: &str = "docs/operations.md";
const SERVICES: &str = "crates/http/src/";
/// Rows that judge the right to another resource that an operation names, and route nothing.
const UNROUTED: [&str; 1] = ["rename_file::MOVED"];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let Some(list) = tree.get(LIST) else { return Vec::new() };
    let listed: BTreeSet<&str> = list.text.lines().filter_map(listed_in).collect();
    let mut complaints = Vec::new();
    let mut known = BTreeSet::new();
    for file in tree.rust().filter(|file| file.path.starts_with(SERVICES)) {
        let Some(parent) = service(tree, file) else { continue };
        for (at, constant, name) in specs(file) {
            let served = format!("{}::{constant}", file.stem());
            if UNROUTED.contains(&served.as_str()) {
                continue;
            }
            known.insert(name);
            if !listed.contains(name) {
                complaints.push(file.complaint(at, format!("{name} is not in {LIST}")));
            }
            if !parent.text.contains(&served) {
                complaints.push(file.complaint(at, format!("{served} is in no table of what is served")));
            }
        }
    }
    for (at, line) in list.lines() {
        if let Some(name) = listed_in(line)
            && !known.contains(name)
        {
            complaints.push(list.complaint(at, format!("there is no operation {name}")));
        }
    }
    complaints
}

/// The module of the service that `file` is in, with the table of what it serves.
fn service<'a>(tree: &'a Tree, file: &File) -> Option<&'a File> {
    let (directory, _) = file.path.rsplit_once('/')?;
    tree.get(&format!("{directory}/mod.rs")).filter(|parent| parent.text.contains("served_table!["))
}

/// Line, constant and name of each operation in a file.
fn specs(file: &File) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    let mut constant = None;
    for (at, line) in file.lines() {
        let line = line.trim_start();
        if let Some((name, _)) = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(": Spec =")) {
            constant = Some((at, name));
        }
        if let Some(((at, constant), rest)) = constant.zip(line.split_once("name: \"").map(|(_, rest)| rest)) {
            found.extend(rest.split('"').next().map(|name| (at, constant, name)));
        }
        if line.split_once("name: \"").is_some() {
            constant = None;
        }
    }
    found
}

/// The operation of a row: “| PutBlob | …”.
fn listed_in(line: &str) -> Option<&str> {
    let name = line.strip_prefix("| ")?.split(" |").next()?.trim();
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_name && name != "Operation").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_are_not_listed_or_not_served() {
        let spec =
            |constant: &str, name: &str| format!("pub const {constant}: Spec = Spec {{\n    name: \"{name}\",\n}};\n");
        let (put, get) = (spec("SPEC", "PutBlob") + &spec("OTHER", "PutOther"), spec("SPEC", "GetBlob"));
        let tree = Tree::of(&[
            ("crates/http/src/blob/get_blob.rs", &get),
            ("crates/http/src/blob/mod.rs", "served_table![put_blob::SPEC, put_blob::OTHER]"),
            ("crates/http/src/blob/put_blob.rs", &put),
            (LIST, "| Operation | On |\n|---|---|\n| GetBlob | x |\n| PutBlob | x |\n| Gone | x |"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|complaint| complaint.what).collect();
        assert_eq!(
            found,
            [
                "get_blob::SPEC is in no table of what is served",
                "PutOther is not in docs/operations.md",
                "there is no operation Gone"
            ]
        );
    }
}
