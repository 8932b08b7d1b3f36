//! A module opens by saying what it is for. Tests and examples may let their names speak.

use crate::Complaint;
use crate::tree::Tree;

/// Names that say nothing about what is inside.
const NAMELESS: [&str; 6] = ["utils", "util", "common", "helpers", "helper", "manager"];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.rust() {
        let is_source = file.path.contains("/src/") && !file.path.contains("/tests");
        if is_source && !file.text.starts_with("//! ") {
            complaints.push(file.complaint(1, "open the module by saying what it is for (`//! …`)"));
        }
        if file.path.split(['/', '.']).any(|part| NAMELESS.contains(&part)) {
            complaints.push(file.complaint(0, "name it after what is inside"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_without_a_head_or_a_name() {
        let tree = Tree::of(&[
            ("crates/a/src/good.rs", "//! Good."),
            ("crates/a/src/silent.rs", "use x;"),
            ("crates/a/src/tests.rs", "use x;"),
            ("crates/a/tests/wire.rs", "use x;"),
            ("crates/a/src/utils/x.rs", "//! X."),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|complaint| complaint.path).collect();
        assert_eq!(found, ["crates/a/src/silent.rs", "crates/a/src/utils/x.rs"]);
    }
}
