//! Documents and comments name files that exist. `store/blob/put_blob.rs` is `crates/store/src/blob/put_blob.rs`; a file that is
//! named by less than its path is looked for by its end.

use crate::Complaint;
use crate::tree::Tree;

const ENDINGS: [&str; 4] = [".rs", ".md", ".py", ".patch"];

/// Files of others, and names that only look like files.
const FOREIGN: &[&str] = &[
    // Of the store that wrote earlier data directories.
    "journal/entry.rs",
    "version/persist.rs",
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.markdown().chain(tree.rust()) {
        let is_document = file.path.ends_with(".md");
        for (at, line) in file.lines() {
            let prose = if is_document { Some(line) } else { line.split_once("//").map(|(_, comment)| comment) };
            for name in prose.into_iter().flat_map(named) {
                if !exists(tree, name) && !FOREIGN.contains(&name) {
                    complaints.push(file.complaint(at, format!("names {name}, which does not exist")));
                }
            }
            if is_document {
                for target in links(line) {
                    if !tree.has(&resolve(&file.path, target)) {
                        complaints.push(file.complaint(at, format!("links to {target}, which does not exist")));
                    }
                }
            }
        }
    }
    complaints
}

/// What looks like the name of a file in a line.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    line.split(move |character: char| !is_part(character))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending)))
        // Web addresses, patterns and files elsewhere.
        .filter(|word| !word.starts_with('/') && !word.starts_with("..") && !word.contains("//"))
}

fn exists(tree: &Tree, name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    let in_crate = name.split_once('/').map(|(first, rest)| format!("crates/{first}/src/{rest}"));
    tree.has_ending(name) || in_crate.is_some_and(|path| tree.has(&path))
}

/// The targets of the links of a line, without those to other sites and without what is behind `#`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter_map(|target| {
        let target = target.split('#').next()?;
        let is_ours = !target.is_empty() && !target.contains(':') && !target.contains(' ');
        is_ours.then_some(target)
    })
}

/// `target` as a path from the root, where `from` is the path of the document.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_links_of_nothing() {
        let text = "`http/serve.rs`, `serve.rs`, `gone.rs` and [this](keys.md#top), [that](../README.md), [none](none.md),\n\
                    [there](https://example.org/).";
        let tree = Tree::of(&[
            ("README.md", ""),
            ("crates/http/src/serve.rs", concat!("/", "/ as in docs/old.md")),
            ("docs/keys.md", text),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|it| (it.path, it.line, it.what)).collect();
        let wanted = [
            ("docs/keys.md", 1, "names gone.rs, which does not exist"),
            ("docs/keys.md", 1, "names none.md, which does not exist"),
            ("docs/keys.md", 1, "links to none.md, which does not exist"),
            ("crates/http/src/serve.rs", 1, "names docs/old.md, which does not exist"),
        ];
        let wanted = wanted.map(|(path, line, what)| (path.to_owned(), line, what.to_owned()));
        assert_eq!(found, wanted);
    }
}
