//! Every planted bug (`conformance/planted`) says which command finds it, and has a row with that command in `docs/planted-bugs.md`.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::tree::Tree;

const LIST: &str = "docs/planted-bugs.md";
const PATCHES: &str = "conformance/planted/";

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let Some(list) = tree.get(LIST) else { return Vec::new() };
    let mut rows: BTreeMap<&str, (usize, &str)> =
        list.lines().filter_map(|(at, line)| row(line).map(|number| (number, (at, line)))).collect();
    let mut complaints = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.starts_with(PATCHES) && file.path.ends_with(".patch")) {
        let number = file.stem().split('-').next().unwrap_or("");
        // The switch that wakes one of the others.
        if number == "00" {
            continue;
        }
        let Some(command) = file.text.lines().find_map(|line| line.strip_prefix("Caught by: ")) else {
            complaints.push(file.complaint(1, "says not which command finds it (`Caught by: …`)"));
            continue;
        };
        let shown = if command == "simulate" { "./simulate" } else { command };
        match rows.remove(number) {
            None => complaints.push(file.complaint(0, format!("has no row in {LIST}"))),
            Some((at, line)) if !line.contains(&format!("`{shown}`")) => {
                complaints.push(list.complaint(at, format!("{} names another command: {command}", file.path)));
            }
            Some(_) => {}
        }
    }
    for (number, (at, _)) in rows {
        complaints.push(list.complaint(at, format!("there is no patch {number}")));
    }
    complaints
}

/// The number of a row: “| 07 | …”.
fn row(line: &str) -> Option<&str> {
    let number = line.strip_prefix("| ")?.split(' ').next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_and_rows_that_disagree() {
        let tree = Tree::of(&[
            ("conformance/planted/00-switch.patch", ""),
            ("conformance/planted/01-one.patch", "One.\nCaught by: simulate\n"),
            ("conformance/planted/02-two.patch", "Two.\nCaught by: cargo test two\n"),
            ("conformance/planted/03-three.patch", "Three.\n"),
            ("conformance/planted/04-four.patch", "Four.\nCaught by: simulate\n"),
            (LIST, "| 01 | One | `./simulate` | |\n| 02 | Two | `cargo test` | |\n| 05 | Five | | |"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|complaint| (complaint.path, complaint.line)).collect();
        let wanted =
            [(LIST, 2), ("conformance/planted/03-three.patch", 1), ("conformance/planted/04-four.patch", 0), (LIST, 3)];
        assert_eq!(found, wanted.map(|(path, line)| (path.to_owned(), line)));
    }
}
