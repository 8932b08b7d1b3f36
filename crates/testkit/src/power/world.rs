//! Files and names, with what of them is certain and what a power cut may take.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use bytes::Bytes;

use super::image::{Edit, Pages, SECTOR};
use super::{Change, MARKS};
use crate::chance::Chance;

/// How the names of different directories survive; see the head of [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ordered,
    Loose,
}

/// A disk that says it has synced and has not: to see whether the checks would notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lies {
    None,
    /// About files whose path ends so.
    Files(&'static str),
    /// About directories whose path ends so.
    Directories(&'static str),
}

type Id = usize;

enum Node {
    File { synced: Pages, loose: Vec<Edit>, done: usize },
    Directory { synced: BTreeMap<String, Id>, now: BTreeMap<String, Id>, loose: Vec<(u64, Naming)>, done: usize },
}

/// A change of names in one directory.
#[derive(Clone, Debug)]
enum Naming {
    Put(String, Id),
    Remove(String),
    Move(String, String),
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<String, Id>) {
        match self {
            Naming::Put(name, id) => drop(names.insert(name.clone(), *id)),
            Naming::Remove(name) => drop(names.remove(name)),
            Naming::Move(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
        }
    }
}

pub struct World {
    nodes: Vec<Node>,
    paths: Vec<String>,
    by_inode: HashMap<u64, Id>,
    /// Syncs under way, and how much had been done to their file when they began.
    syncing: HashMap<(u64, u64), (Id, usize)>,
    lies: Lies,
    /// The latest change of names, and the latest that is certain.
    named: u64,
    named_synced: u64,
    /// What the workload has marked so far.
    pub marks: Vec<u8>,
    marks_node: Option<Id>,
}

const ROOT: Id = 0;

impl World {
    pub fn new(lies: Lies) -> Self {
        Self {
            nodes: vec![directory()],
            paths: vec![String::new()],
            by_inode: HashMap::new(),
            syncing: HashMap::new(),
            lies,
            named: 0,
            named_synced: 0,
            marks: Vec::new(),
            marks_node: None,
        }
    }

    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Open { inode, path, created, truncated, directory } => {
                self.open(*inode, path, *created, *directory);
                if *truncated {
                    self.edit(*inode, Edit::Truncate(0));
                }
            }
            Change::Write { inode, at, bytes } => self.write(*inode, *at, bytes),
            Change::Truncate { inode, length } => self.edit(*inode, Edit::Truncate(*length)),
            Change::Punch { inode, at, length } => self.edit(*inode, Edit::Punch { at: *at, length: *length }),
            Change::Allocate { inode, end } => self.edit(*inode, Edit::Allocate { end: *end }),
            Change::Rename { from, to } => self.rename(from, to),
            Change::Unlink { path } | Change::RemoveDirectory { path } => {
                let (parent, name) = self.parent(path);
                self.name(parent, Naming::Remove(name));
            }
            Change::MakeDirectory { inode, path } => {
                self.create(*inode, path, directory());
            }
            Change::SyncBegin { inode, id } => {
                if let Some(node) = self.by_inode.get(inode) {
                    self.syncing.insert(*id, (*node, self.done(*node)));
                }
            }
            Change::SyncEnd { id, .. } => {
                if let Some((node, done)) = self.syncing.remove(id) {
                    self.sync(node, done);
                }
            }
        }
    }

    fn open(&mut self, inode: u64, path: &str, created: bool, is_directory: bool) {
        if created {
            let node = if is_directory { directory() } else { file() };
            let id = self.create(inode, path, node);
            if path == MARKS {
                self.marks_node = Some(id);
            }
            return;
        }
        let id = if path.is_empty() { ROOT } else { self.find(path).unwrap_or_else(|| panic!("{path} is unknown")) };
        self.by_inode.insert(inode, id);
    }

    fn create(&mut self, inode: u64, path: &str, node: Node) -> Id {
        let id = self.nodes.len();
        self.nodes.push(node);
        self.paths.push(path.to_owned());
        self.by_inode.insert(inode, id);
        let (parent, name) = self.parent(path);
        self.name(parent, Naming::Put(name, id));
        id
    }

    fn write(&mut self, inode: u64, at: u64, bytes: &Bytes) {
        if self.marks_node.is_some_and(|marks| self.by_inode.get(&inode) == Some(&marks)) {
            self.marks.extend_from_slice(bytes);
        }
        self.edit(inode, Edit::Write { at, bytes: bytes.clone() });
    }

    fn edit(&mut self, inode: u64, edit: Edit) {
        let id = *self.by_inode.get(&inode).expect("a file is opened before it is changed");
        let Node::File { loose, .. } = &mut self.nodes[id] else { panic!("{} is a directory", self.paths[id]) };
        loose.push(edit);
    }

    fn rename(&mut self, from: &str, to: &str) {
        let id = self.find(from).unwrap_or_else(|| panic!("{from} is unknown"));
        self.paths[id] = to.to_owned();
        let ((from_parent, from_name), (to_parent, to_name)) = (self.parent(from), self.parent(to));
        if from_parent == to_parent {
            return self.name(from_parent, Naming::Move(from_name, to_name));
        }
        self.name(to_parent, Naming::Put(to_name, id));
        self.name(from_parent, Naming::Remove(from_name));
    }

    fn name(&mut self, parent: Id, naming: Naming) {
        self.named += 1;
        let Node::Directory { now, loose, .. } = &mut self.nodes[parent] else { panic!("not a directory") };
        naming.apply(now);
        loose.push((self.named, naming));
    }

    fn done(&self, id: Id) -> usize {
        match &self.nodes[id] {
            Node::File { loose, done, .. } => done + loose.len(),
            Node::Directory { loose, done, .. } => done + loose.len(),
        }
    }

    fn sync(&mut self, id: Id, upto: usize) {
        let path = &self.paths[id];
        match &mut self.nodes[id] {
            Node::File { synced, loose, done } => {
                if matches!(self.lies, Lies::Files(end) if path.ends_with(end)) {
                    return;
                }
                loose.drain(..upto.saturating_sub(*done)).for_each(|edit| synced.apply(&edit));
                *done = upto.max(*done);
            }
            Node::Directory { synced, loose, done, .. } => {
                if matches!(self.lies, Lies::Directories(end) if path.ends_with(end)) {
                    return;
                }
                for (at, naming) in loose.drain(..upto.saturating_sub(*done)) {
                    naming.apply(synced);
                    self.named_synced = self.named_synced.max(at);
                }
                *done = upto.max(*done);
            }
        }
    }

    /// Changes of names that no sync has made certain, to explain a loss.
    pub fn uncertain_names(&self) -> Vec<String> {
        let of = |(id, node): (Id, &Node)| match node {
            Node::File { .. } => Vec::new(),
            Node::Directory { loose, .. } => {
                loose.iter().map(|(at, naming)| format!("{}: {at} {naming:?}", self.paths[id])).collect()
            }
        };
        self.nodes.iter().enumerate().flat_map(of).collect()
    }

    fn find(&self, path: &str) -> Option<Id> {
        path.split('/').try_fold(ROOT, |id, name| match &self.nodes[id] {
            Node::Directory { now, .. } => now.get(name).copied(),
            Node::File { .. } => None,
        })
    }

    fn parent(&self, path: &str) -> (Id, String) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let id = if parent.is_empty() { Some(ROOT) } else { self.find(parent) };
        (id.unwrap_or_else(|| panic!("{parent} is unknown")), name.to_owned())
    }
}

fn file() -> Node {
    Node::File { synced: Pages::default(), loose: Vec::new(), done: 0 }
}

fn directory() -> Node {
    Node::Directory { synced: BTreeMap::new(), now: BTreeMap::new(), loose: Vec::new(), done: 0 }
}

/// How much of what is not certain a file keeps.
#[derive(Clone, Copy, Debug)]
enum Luck {
    Nothing,
    Everything,
    /// Up to some operation, the last of them torn.
    Prefix,
    /// Each operation by itself, writes by sectors.
    Any,
}

/// What is on a disk: every file below `DIR`, by path.
pub type Disk = BTreeMap<String, Option<Pages>>;

impl World {
    /// One of the disks that a power cut right now could leave.
    pub fn image(&self, order: Order, chance: &mut Chance) -> Disk {
        let common = *chance.pick(&[None, None, Some(Luck::Nothing), Some(Luck::Everything)]);
        let names_upto = self.named_synced + chance.below((self.named - self.named_synced) as usize + 1) as u64;
        let mut disk = Disk::new();
        self.draw(ROOT, "", order, names_upto, common, chance, &mut disk);
        disk
    }

    /// The disk as the processes saw it.
    pub fn complete(&self) -> Disk {
        let mut disk = Disk::new();
        let everything = Some(Luck::Everything);
        self.draw(ROOT, "", Order::Ordered, u64::MAX, everything, &mut Chance::new(0), &mut disk);
        disk
    }

    #[expect(clippy::too_many_arguments, reason = "a recursion over one drawing")]
    fn draw(
        &self,
        id: Id,
        path: &str,
        order: Order,
        names_upto: u64,
        common: Option<Luck>,
        chance: &mut Chance,
        disk: &mut Disk,
    ) {
        match &self.nodes[id] {
            Node::File { synced, loose, .. } => {
                let styles = [Luck::Nothing, Luck::Everything, Luck::Prefix, Luck::Any, Luck::Any];
                let luck = common.unwrap_or_else(|| *chance.pick(&styles));
                disk.insert(path.to_owned(), Some(survivors(synced, loose, luck, chance)));
            }
            Node::Directory { synced, loose, .. } => {
                if !path.is_empty() {
                    disk.insert(path.to_owned(), None);
                }
                let kept = match order {
                    Order::Ordered => loose.iter().take_while(|(at, _)| *at <= names_upto).count(),
                    Order::Loose => chance.below(loose.len() + 1),
                };
                let mut names = synced.clone();
                loose[..kept].iter().for_each(|(_, naming)| naming.apply(&mut names));
                for (name, child) in names {
                    let below = if path.is_empty() { name } else { format!("{path}/{name}") };
                    self.draw(child, &below, order, names_upto, common, chance, disk);
                }
            }
        }
    }
}

fn survivors(synced: &Pages, loose: &[Edit], luck: Luck, chance: &mut Chance) -> Pages {
    let mut pages = synced.clone();
    match luck {
        Luck::Nothing => {}
        Luck::Everything => loose.iter().for_each(|edit| pages.apply(edit)),
        Luck::Prefix => {
            let upto = chance.below(loose.len() + 1);
            loose[..upto].iter().for_each(|edit| pages.apply(edit));
            if let Some(Edit::Write { at, bytes }) = loose.get(upto) {
                let whole = bytes.len() as u64 / SECTOR + 1;
                let sectors = chance.below(whole as usize) as u64;
                let end = ((at / SECTOR + sectors) * SECTOR).saturating_sub(*at).min(bytes.len() as u64);
                pages.write(*at, &bytes[..end as usize]);
            }
        }
        Luck::Any => {
            for edit in loose {
                match (edit, chance.below(4)) {
                    (_, 0) => {}
                    (Edit::Write { at, bytes }, 1..=2) => tear(&mut pages, *at, bytes, chance),
                    (edit, _) => pages.apply(edit),
                }
            }
        }
    }
    pages
}

/// Keeps about half of the sectors of a write, or all but one: what looks nearly whole is the harder test.
fn tear(pages: &mut Pages, at: u64, bytes: &Bytes, chance: &mut Chance) {
    let (first, last) = (at / SECTOR, (at + bytes.len() as u64 - 1) / SECTOR);
    let only_lost = chance.one_in(2).then(|| first + chance.below((last - first) as usize + 1) as u64);
    for sector in first..=last {
        let lost = only_lost.map_or_else(|| chance.one_in(2), |only| only == sector);
        if !lost {
            let from = (sector * SECTOR).max(at) - at;
            let to = ((sector + 1) * SECTOR - at).min(bytes.len() as u64);
            pages.write(at + from, &bytes[from as usize..to as usize]);
        }
    }
}

/// Writes `disk`, what is below `prefix` of it, into the empty directory `to`.
pub fn save(disk: &Disk, prefix: &str, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for (path, pages) in disk {
        let Some(below) = path.strip_prefix(prefix).and_then(|below| below.strip_prefix('/')) else { continue };
        match pages {
            None => std::fs::create_dir_all(to.join(below))?,
            Some(pages) => pages.save(&to.join(below))?,
        }
    }
    Ok(())
}
