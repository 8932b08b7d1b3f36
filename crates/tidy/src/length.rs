//! A file is read in one sitting, so it has at most 600 lines.

use crate::Complaint;
use crate::tree::Tree;

const MOST: usize = 600;
/// At this length an exception has done its work; between the two a file may still come and go.
const SHORT: usize = 550;

/// Files that are longer, and how long they may be. To be split; never to be made longer.
const LONGER: &[(&str, usize)] = &[
    ("crates/engine/src/extents/tests.rs", 700),
    ("crates/engine/src/suite.rs", 650),
    ("crates/engine/tests/embedded.rs", 800),
    ("crates/http/src/auth/tests.rs", 650),
    ("crates/http/src/head.rs", 700),
    ("crates/http/src/serve.rs", 900),
    ("crates/query/src/run.rs", 700),
    ("crates/query/src/sql.rs", 750),
    ("crates/server/tests/torture.rs", 650),
    ("crates/store/src/keys.rs", 850),
    ("crates/store/src/records.rs", 750),
    ("crates/store/tests/reference.rs", 700),
    ("crates/testkit/src/sim/blob.rs", 700),
    ("crates/server/src/cli.rs", 720),
    ("crates/http/src/wire/xml/listing.rs", 650),
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, LONGER)
}

fn check_with(tree: &Tree, longer: &[(&str, usize)]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.rust() {
        let lines = file.text.lines().count();
        let excepted = longer.iter().find(|(path, _)| *path == file.path);
        let most = excepted.map_or(MOST, |(_, most)| *most);
        if lines > most {
            complaints.push(
                file.complaint(0, format!("{lines} lines, and at most {most} are read in one sitting: split it")),
            );
        } else if excepted.is_some() && lines <= SHORT {
            complaints.push(file.complaint(0, "short enough now: take it off the list in crates/tidy/src/length.rs"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_and_exceptions_that_are_not_needed() {
        let (long, short) = ("x\n".repeat(601), "x\n".repeat(550));
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &short), ("c.rs", &long), ("d.rs", &short), ("e.md", &long)]);
        let found = check_with(&tree, &[("c.rs", 700), ("d.rs", 700)]);
        let paths: Vec<&str> = found.iter().map(|complaint| complaint.path.as_str()).collect();
        assert_eq!(paths, ["a.rs", "d.rs"]);
    }
}
