//! Style that checks itself: `cargo run -p lazuli-tidy` prints what is untidy in the tree, one line each, and fails if there is
//! anything. The test below does the same, so that `cargo test` has it too.
//!
//! A rule is a function from the tree to complaints. A rule that the tree does not keep everywhere yet has a list of exceptions,
//! which may only become shorter: an exception that is not needed any more is a complaint as well.

mod length;
mod module_heads;
mod named_files;
mod observed_rules;
mod operations;
mod planted;
mod tree;
mod type_names;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use tree::Tree;

/// What is wrong, where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    path: String,
    /// 1 is the first; 0 is for the whole file.
    line: usize,
    what: String,
}

const RULES: &[fn(&Tree) -> Vec<Complaint>] = &[
    length::check,
    module_heads::check,
    named_files::check,
    observed_rules::check,
    operations::check,
    planted::check,
    type_names::check,
    words::check,
];

fn complaints(tree: &Tree) -> Vec<Complaint> {
    let mut all: Vec<Complaint> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    all.sort();
    all
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let tree = match Tree::read(&root()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("the tree cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let complaints = complaints(&tree);
    for Complaint { path, line, what } in &complaints {
        println!("{path}:{line}: {what}");
    }
    println!("{} files, {} complaints", tree.files().len(), complaints.len());
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let tree = Tree::read(&root()).expect("the tree can be read");
        assert!(tree.files().len() > 500, "this is the tree");
        let complaints = complaints(&tree);
        let lines: Vec<String> = complaints.iter().map(|it| format!("{}:{}: {}", it.path, it.line, it.what)).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}
