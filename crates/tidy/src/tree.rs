//! The text files of the repository, read once. Directories that hold what was built or stored are left out.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::Complaint;

/// Nothing in these is ours to write, or is text.
const SKIPPED: [&str; 5] = [".git", "target", "lazuli-data", "node_modules", "__pycache__"];
/// Tables of recorded bytes, drawings and machine-written lists.
const SKIPPED_ENDINGS: [&str; 6] = [".svg", ".bin", ".lock", ".pem", ".seed", ".pfx"];

#[derive(Debug)]
pub(crate) struct File {
    /// From the root, with slashes.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// Every file and directory, also those that are not text.
    paths: BTreeSet<String>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add_directory(root, "")?;
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(tree)
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        let files: Vec<File> = files.iter().map(file).collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Self { files, paths }
    }

    fn add_directory(&mut self, directory: &Path, prefix: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            self.paths.insert(path.clone());
            if entry.file_type()?.is_dir() {
                self.add_directory(&entry.path(), &path)?;
            } else if entry.file_type()?.is_file() && !SKIPPED_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                // What is not UTF-8 is not text.
                if let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) {
                    self.files.push(File { path, text });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether some path is `end`, or ends with it behind a slash.
    pub(crate) fn has_ending(&self, end: &str) -> bool {
        let is_behind = |path: &String| path.strip_suffix(end).is_some_and(|before| before.ends_with('/'));
        self.has(end) || self.paths.iter().any(is_behind)
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files of our crates.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub(crate) fn markdown(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }
}

impl File {
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }

    pub(crate) fn complaint(&self, line: usize, what: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, what: what.into() }
    }

    /// Lines with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }
}
