//! Each rule of `docs/rules.md` names tests that exist, each test that is named after a rule has its row there, and no number is left out.

use std::collections::BTreeSet;

use crate::Complaint;
use crate::tree::Tree;

const RULES: &str = "docs/rules.md";
/// Where tests are named after the rules they hold.
const OBSERVED: &str = "crates/http/tests/observed/";
/// The last number of each letter. All before it have a row, and a test of that name somewhere.
const LAST: [(char, u32); 6] = [('b', 31), ('q', 2), ('t', 5), ('f', 14), ('a', 22), ('l', 20)];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let Some(rules) = tree.get(RULES) else { return Vec::new() };
    let tests: BTreeSet<&str> = tree.rust().flat_map(|file| functions(&file.text)).collect();
    let files: BTreeSet<&str> = tree.rust().map(|file| file.stem()).collect();
    let mut complaints = Vec::new();
    let mut known = BTreeSet::new();
    for (at, line) in rules.lines().filter(|(_, line)| is_row(line)) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        known.extend(cells[0].split(',').map(|id| id.trim().to_lowercase()));
        for test in cells.last().into_iter().flat_map(|cell| cell.split(';')) {
            let name = test_name(test);
            let begins = |function: &&str| {
                function.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            let is_there = name.is_empty() || files.contains(name) || tests.iter().any(begins);
            if !is_there {
                complaints.push(rules.complaint(at, format!("no test is named {name}")));
            }
        }
    }
    for file in tree.rust().filter(|file| file.path.starts_with(OBSERVED)) {
        for function in functions(&file.text) {
            for id in function.split('_').take_while(|part| is_id(part)) {
                if !known.contains(id) {
                    complaints
                        .push(file.complaint(0, format!("{function} is a test of {id}, which has no row in {RULES}")));
                }
            }
        }
    }
    let of_ids: BTreeSet<&str> =
        tests.iter().flat_map(|function| function.split('_').take_while(|part| is_id(part))).collect();
    let all = LAST.iter().flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number}")));
    // A tree without the letter's first rule is a test's.
    for id in all.filter(|id| known.contains(&format!("{}1", &id[..1])) && known.len() > LAST.len()) {
        if !known.contains(&id) {
            complaints.push(rules.complaint(0, format!("{id} has no row")));
        } else if !of_ids.contains(id.as_str()) {
            complaints.push(rules.complaint(0, format!("no test is named {id}_…")));
        }
    }
    complaints
}

fn is_row(line: &str) -> bool {
    line.starts_with("| ") && line[2..].starts_with(|character: char| character.is_ascii_uppercase())
}

/// A letter of a service and a number.
fn is_id(part: &str) -> bool {
    part.len() > 1
        && part.starts_with(['a', 'b', 'f', 'l', 'q', 't'])
        && part[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// The last name in “store: `history` b21”; nothing in “as B1”.
fn test_name(test: &str) -> &str {
    if test.contains(" as ") || test.trim_start().starts_with("as ") {
        return "";
    }
    let last = test.rsplit([' ', '`']).find(|word| !word.is_empty()).unwrap_or("");
    let name = last.rsplit("::").next().unwrap_or(last);
    name.trim_end_matches('…').trim_end_matches('_')
}

fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let behind = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ")?;
        behind.split(['(', '<']).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_without_tests_and_tests_without_rules() {
        let rules = "| # | What | Versions | Test |\n|---|---|---|---|\n| B1 | x | | `copies` b1; model: as B2 |\n\
                     | B2, A7 | y | | store: `gone_it_is` |\n| B3 | z | | model: `b3_…`; `names::tests` |";
        let tree = Tree::of(&[
            (RULES, rules),
            ("crates/http/tests/observed/copies.rs", "async fn b1_a7_copies() {}\nfn b9_new() {}\nfn b_tree() {}"),
            ("crates/model/src/x/tests.rs", "    fn b3_is_held() {}"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|complaint| complaint.what).collect();
        assert_eq!(found, ["no test is named gone_it_is", "b9_new is a test of b9, which has no row in docs/rules.md"]);
    }
}
