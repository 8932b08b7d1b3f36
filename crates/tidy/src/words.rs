//! Words that are not written here: riddles, and what belongs to one machine.

use crate::Complaint;
use crate::tree::{File, Tree};

/// Where a word may not stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In what is read by people: documents, comments, messages.
    Prose,
    Anywhere,
}

struct Banned {
    word: &'static str,
    on: Where,
    instead: &'static str,
}

const fn prose(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, on: Where::Prose, instead }
}

const fn anywhere(word: &'static str, instead: &'static str) -> Banned {
    Banned { word, on: Where::Anywhere, instead }
}

/// Compared without case, as whole words. Written in pieces, so that this list does not complain of itself.
const BANNED: &[Banned] = &[
    prose(concat!("who", "ever"), "say who: the caller, the reader, the writer, the client"),
    prose(concat!("whom", "ever"), "say whom"),
    anywhere(concat!("crates", ".io"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("pypi", ".org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("npmjs", ".org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("proxy.golang", ".org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("deb.debian", ".org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("repo1.maven", ".org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("repo.maven", ".apache.org"), "name no registry: the tools know where theirs is"),
    anywhere(concat!("/wo", "rk/"), "name no path of one machine"),
    anywhere(concat!("/ro", "ot/"), "name no path of one machine"),
];

/// Files that are allowed a word, with the reason.
const ALLOWED: &[(&str, &str)] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.files() {
        for (at, line) in file.lines() {
            let lower = line.to_lowercase();
            for banned in BANNED {
                if has_word(&lower, banned.word)
                    && (banned.on == Where::Anywhere || is_prose(file, line))
                    && !is_allowed(file, banned)
                {
                    complaints.push(file.complaint(at, format!("“{}”: {}", banned.word, banned.instead)));
                }
            }
        }
    }
    complaints
}

fn is_allowed(file: &File, banned: &Banned) -> bool {
    ALLOWED.contains(&(file.path.as_str(), banned.word))
}

fn is_prose(file: &File, line: &str) -> bool {
    !file.path.ends_with(".rs") || line.contains("//") || line.contains('"')
}

/// Whether `word` stands in `line` with no letter before or behind it.
fn has_word(line: &str, word: &str) -> bool {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let begins = word.starts_with(char::is_alphanumeric);
    let ends = word.ends_with(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let (before, behind) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !(begins && is_letter(before) || ends && is_letter(behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_words() {
        for (line, word, found) in [
            ("one of them", "one", true),
            ("someone of them", "one", false),
            ("ones", "one", false),
            ("(one)", "one", true),
            ("in /srv/x", "/srv/", true),
            ("at/srv/x", "/srv/", true),
        ] {
            assert_eq!(has_word(line, word), found, "{word} in {line}");
        }
    }

    #[test]
    fn a_machine_path_is_found_anywhere() {
        let line = format!("let path = {}x;", concat!("/wo", "rk/"));
        let tree = Tree::of(&[("a.rs", line.as_str()), ("b.rs", "let path = x;")]);
        let found: Vec<_> = check(&tree).into_iter().map(|complaint| (complaint.path, complaint.line)).collect();
        assert_eq!(found, [("a.rs".to_owned(), 1)]);
    }
}
