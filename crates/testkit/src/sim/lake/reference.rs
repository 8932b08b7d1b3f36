//! A file system as both doors see it, Data Lake's and Blob's: names in a tree, and who may. Written from the documentation ("Path - Create",
//! "Path - Update", "Access control model in Azure Data Lake Storage") and not from `model`.
//!
//! A file's length is the number of the write that made it, so a listing tells of every name what it stands for: an entry that is lost, doubled or
//! reachable by two names is a listing without an order.

use std::collections::BTreeMap;

use crate::linear::Specification;

pub struct FileSystem;

/// Whom lists bind not, and two whom they do.
pub const OWNER: u8 = 0;
pub const CALLERS: [Option<&str>; 3] = [None, Some("alice"), Some("bob")];
/// The root directory's permissions: everybody may do everything in it.
pub const ROOT_MODE: u16 = 0o757;

#[derive(Clone, Debug)]
pub enum Call {
    Create {
        path: String,
        is_directory: bool,
    },
    /// Put Blob.
    Put {
        path: String,
        value: u64,
    },
    /// Append at the beginning; with a flush, in the same call.
    Append {
        path: String,
        value: u64,
        flush: bool,
    },
    Flush {
        path: String,
        value: u64,
    },
    Rename {
        from: String,
        to: String,
        /// Into `to`, if that is a directory (`mode=posix`).
        into: bool,
    },
    Delete {
        path: String,
        recursive: bool,
    },
    DeleteBlob {
        path: String,
    },
    SetMode {
        path: String,
        mode: u16,
    },
    /// Get Blob.
    Read {
        path: String,
    },
    List,
    ListBlobs,
    /// The first part of a recursive delete by a caller whom lists bind: it may delete in every directory below.
    LookBelow {
        path: String,
    },
}

impl Call {
    pub fn looks(&self) -> bool {
        matches!(self, Call::Read { .. } | Call::List | Call::ListBlobs | Call::LookBelow { .. })
    }
}

#[derive(Clone, Debug)]
pub struct LakeCall {
    pub by: u8,
    pub call: Call,
}

impl LakeCall {
    /// The look that comes before it, if there is one.
    pub fn looks_below(&self) -> Option<LakeCall> {
        let Call::Delete { path, recursive: true } = &self.call else { return None };
        (self.by != OWNER).then(|| LakeCall { by: self.by, call: Call::LookBelow { path: path.clone() } })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// The write that is seen.
    Value(u64),
    /// Every name, and the write that made it; none for a directory.
    Paths(Vec<(String, Option<u64>)>),
    /// As the Blob API lists it: a directory is an empty blob.
    Blobs(Vec<(String, u64)>),
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    /// None for a directory.
    value: Option<u64>,
    /// The longest that waits to be flushed.
    appended: u64,
    owner: u8,
    mode: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// By path; the root directory is the empty one.
    tree: BTreeMap<String, Entry>,
}

const READ: u16 = 4;
const WRITE: u16 = 2;
const EXECUTE: u16 = 1;
const DENIED: &str = "AuthorizationPermissionMismatch";

type Why = Vec<&'static str>;

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

impl Entry {
    fn new(is_directory: bool, owner: u8) -> Self {
        // 0777 and 0666 without the default umask, 0027.
        let (value, mode) = if is_directory { (None, 0o750) } else { (Some(0), 0o640) };
        Self { value, appended: 0, owner, mode }
    }

    fn allows(&self, by: u8, wanted: u16) -> bool {
        let bits = if by == self.owner { self.mode >> 6 } else { self.mode & 7 };
        by == OWNER || bits & wanted == wanted
    }
}

impl State {
    fn is_directory(&self, path: &str) -> Option<bool> {
        self.tree.get(path).map(|entry| entry.value.is_none())
    }

    fn children(&self, path: &str) -> impl Iterator<Item = &String> {
        self.tree.keys().filter(move |other| !other.is_empty() && (path.is_empty() || is_below(other, path)))
    }

    /// The directories above a path, from the root on, as far as they are there; and whether a file is among them.
    fn above<'a>(&self, path: &'a str) -> (Vec<&'a str>, bool) {
        let mut found = vec![""];
        let ends = path.match_indices('/').map(|(end, _)| end);
        for above in ends.map(|end| &path[..end]) {
            match self.is_directory(above) {
                Some(true) => found.push(above),
                Some(false) => return (found, true),
                None => break,
            }
        }
        (found, false)
    }

    /// Who may not pass through a directory above learns nothing else.
    fn pass(&self, by: u8, path: &str) -> Result<(), Why> {
        let (above, _) = self.above(path);
        let passes = |directory: &&str| self.tree.get(*directory).is_some_and(|entry| entry.allows(by, EXECUTE));
        if path.is_empty() || above.iter().all(passes) { Ok(()) } else { Err(vec![DENIED]) }
    }

    fn needs(&self, by: u8, path: &str, wanted: u16, why: &mut Why) {
        if self.tree.get(path).is_some_and(|entry| !entry.allows(by, wanted)) {
            why.push(DENIED);
        }
    }

    /// The right to put a name into the lowest directory above `path` that is there.
    fn needs_link(&self, by: u8, path: &str, why: &mut Why) {
        let (above, _) = self.above(path);
        self.needs(by, above.last().copied().unwrap_or_default(), WRITE | EXECUTE, why);
    }

    /// Whether there is a directory below in which `by` may not delete.
    fn denies_below(&self, by: u8, path: &str) -> bool {
        let entries = self.children(path).filter_map(|below| self.tree.get(below));
        entries.filter(|entry| entry.value.is_none()).any(|entry| !entry.allows(by, READ | WRITE | EXECUTE))
    }

    fn make_parents(&mut self, by: u8, path: &str) {
        for (end, _) in path.match_indices('/') {
            self.tree.entry(path[..end].to_owned()).or_insert_with(|| Entry::new(true, by));
        }
    }

    fn paths(&self) -> Vec<(String, Option<u64>)> {
        let entries = self.tree.iter().filter(|(path, _)| !path.is_empty());
        let mut paths: Vec<_> = entries.map(|(path, entry)| (path.clone(), entry.value)).collect();
        // Depth first: a directory, then what is in it.
        paths.sort_by_key(|(path, _)| path.split('/').map(str::to_owned).collect::<Vec<_>>());
        paths
    }
}

fn free(why: Why) -> Result<(), Why> {
    if why.is_empty() { Ok(()) } else { Err(why) }
}

/// The state after and what it shows, or why not.
fn apply(state: &State, asked: &LakeCall) -> Result<(State, Answer), Why> {
    let (mut next, by) = (state.clone(), asked.by);
    let mut why = Why::new();
    let mut answer = Answer::Done;
    match &asked.call {
        Call::Create { path, is_directory } => {
            state.pass(by, path)?;
            if state.above(path).1 || state.is_directory(path).is_some_and(|there| there != *is_directory) {
                why.push("PathAlreadyExists");
            }
            match state.tree.get(path) {
                Some(_) => state.needs(by, path, WRITE, &mut why),
                None => state.needs_link(by, path, &mut why),
            }
            free(why)?;
            next.make_parents(by, path);
            // A directory that is made again stays as it is.
            if state.is_directory(path) != Some(true) {
                next.tree.insert(path.clone(), Entry::new(*is_directory, by));
            }
        }
        Call::Put { path, value } => {
            state.pass(by, path)?;
            if state.above(path).1 {
                why.push("PathAlreadyExists");
            }
            if state.is_directory(path) == Some(true) {
                why.push("ResourceTypeMismatch");
            }
            match state.tree.get(path) {
                Some(_) => state.needs(by, path, WRITE, &mut why),
                None => state.needs_link(by, path, &mut why),
            }
            free(why)?;
            next.make_parents(by, path);
            let entry = next.tree.entry(path.clone()).or_insert_with(|| Entry::new(false, by));
            (entry.value, entry.appended) = (Some(*value), 0);
        }
        Call::Append { path, value, flush } => {
            writable(state, by, path)?;
            let entry = next.tree.get_mut(path).ok_or(vec![])?;
            match flush {
                true => (entry.value, entry.appended) = (Some(*value), 0),
                false => entry.appended = entry.appended.max(*value),
            }
        }
        Call::Flush { path, value } => {
            writable(state, by, path)?;
            let entry = next.tree.get_mut(path).ok_or(vec![])?;
            if entry.value.unwrap_or(0).max(entry.appended) < *value {
                return Err(vec!["InvalidFlushPosition"]);
            }
            (entry.value, entry.appended) = (Some(*value), 0);
        }
        Call::Rename { from, to, into } => {
            next = rename(state, by, from, to, *into)?;
        }
        Call::Delete { path, recursive } => {
            next = delete(state, by, path, *recursive)?;
        }
        Call::DeleteBlob { path } => {
            next = delete(state, by, path, false)?;
        }
        Call::SetMode { path, mode } => {
            state.pass(by, path)?;
            let entry = next.tree.get_mut(path).ok_or(vec!["BlobNotFound"])?;
            free(if by == OWNER || by == entry.owner { vec![] } else { vec![DENIED] })?;
            entry.mode = *mode;
        }
        Call::Read { path } => {
            state.pass(by, path)?;
            let entry = state.tree.get(path).ok_or(vec!["BlobNotFound"])?;
            state.needs(by, path, READ, &mut why);
            free(why)?;
            answer = Answer::Value(entry.value.unwrap_or(0));
        }
        Call::List => {
            let mut directories = state.tree.iter().filter(|(_, entry)| entry.value.is_none());
            free(if directories.all(|(_, entry)| entry.allows(by, READ | EXECUTE)) { vec![] } else { vec![DENIED] })?;
            answer = Answer::Paths(state.paths());
        }
        Call::ListBlobs => {
            let blobs = state.paths().into_iter().map(|(path, value)| (path, value.unwrap_or(0)));
            answer = Answer::Blobs(blobs.collect());
        }
        Call::LookBelow { path } => {
            free(if state.denies_below(by, path) { vec![DENIED] } else { vec![] })?;
        }
    }
    Ok((next, answer))
}

fn writable(state: &State, by: u8, path: &str) -> Result<(), Why> {
    state.pass(by, path)?;
    let mut why = Why::new();
    match state.is_directory(path) {
        Some(true) => why.push("ResourceTypeMismatch"),
        Some(false) => {}
        None => return Err(vec!["BlobNotFound"]),
    }
    state.needs(by, path, READ | WRITE, &mut why);
    free(why)
}

fn rename(state: &State, by: u8, from: &str, to: &str, into: bool) -> Result<State, Why> {
    if is_below(to, from) {
        return Err(vec!["InvalidRenameSourcePath"]);
    }
    state.pass(by, from)?;
    let source = state.is_directory(from).ok_or(vec!["SourcePathNotFound"])?;
    state.pass(by, to)?;
    if into && state.is_directory(to) == Some(true) {
        let name = from.rsplit('/').next().unwrap_or_default();
        return rename(state, by, from, &format!("{to}/{name}"), false);
    }
    let mut why = Why::new();
    if state.is_directory(parent(to)) != Some(true) {
        let has_file_above = state.above(to).1;
        return Err(vec![if has_file_above { "PathAlreadyExists" } else { "RenameDestinationParentPathNotFound" }]);
    }
    if from == to {
        return Ok(state.clone());
    }
    if let Some(there) = state.is_directory(to) {
        if there != source {
            why.push("InvalidSourceOrDestinationResourceType");
        }
        if state.children(to).next().is_some() {
            why.push("PathAlreadyExists");
        }
    }
    state.needs(by, parent(from), WRITE | EXECUTE, &mut why);
    state.needs(by, parent(to), WRITE | EXECUTE, &mut why);
    free(why)?;
    let mut next = state.clone();
    let moved: Vec<String> = state.children(from).cloned().chain([from.to_owned()]).collect();
    let entries: Vec<_> = moved.iter().filter_map(|path| next.tree.remove_entry(path)).collect();
    for (path, entry) in entries {
        next.tree.insert(format!("{to}{}", &path[from.len()..]), entry);
    }
    Ok(next)
}

fn delete(state: &State, by: u8, path: &str, recursive: bool) -> Result<State, Why> {
    state.pass(by, path)?;
    if !state.tree.contains_key(path) {
        return Err(vec!["BlobNotFound"]);
    }
    let mut why = Why::new();
    state.needs(by, parent(path), WRITE | EXECUTE, &mut why);
    let below: Vec<String> = state.children(path).cloned().collect();
    if !below.is_empty() {
        match recursive {
            true => state.needs(by, path, READ | WRITE | EXECUTE, &mut why),
            false => why.push("DirectoryNotEmpty"),
        }
    }
    free(why)?;
    let mut next = state.clone();
    for gone in below.iter().map(String::as_str).chain([path]) {
        next.tree.remove(gone);
    }
    Ok(next)
}

/// Whether a recursive delete may be refused by its look: at what is below, or because the directory is another one when it is deleted.
fn refuses_before(state: &State, asked: &LakeCall, code: &str) -> bool {
    let Some(LakeCall { by, call: Call::LookBelow { path } }) = asked.looks_below() else { return false };
    code == "ServerBusy" || code == DENIED && state.denies_below(by, &path)
}

impl Specification for FileSystem {
    type State = State;
    type Op = LakeCall;
    type Answer = Answer;

    fn initial(&self) -> State {
        let root = Entry { mode: ROOT_MODE, ..Entry::new(true, OWNER) };
        State { tree: [(String::new(), root)].into() }
    }

    fn step(&self, state: &State, asked: &LakeCall, answer: Option<&Answer>) -> Vec<State> {
        let next = match (apply(state, asked), answer) {
            (Ok((next, _)), None) => Some(next),
            (Err(_), None) => Some(state.clone()),
            (Ok(_), Some(Answer::Refused(code))) => refuses_before(state, asked, code).then(|| state.clone()),
            (Ok((next, shown)), Some(answer)) => (shown == *answer).then_some(next),
            (Err(why), Some(Answer::Refused(code))) => why.contains(&code.as_str()).then(|| state.clone()),
            (Err(_), Some(_)) => None,
        };
        next.into_iter().collect()
    }

    fn is_inert(&self, asked: &LakeCall, answer: &Answer) -> bool {
        asked.call.looks() || matches!(answer, Answer::Refused(_))
    }
}
