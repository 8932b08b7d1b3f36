//! The directory of extents: which files there are, how one comes to be, is sealed, and goes.
//!
//! * `N.new` is being made and holds nothing; `N.open` is, or was, appended to; `N.extent` is sealed.
//! * A name is durable before anything in its file is.
//! * Ids are never reused, even across restarts: a wish to free a piece may be repeated after a crash and must
//!   not hit a later one. So the file with the greatest id stays, emptied, until there is a greater one.
//! * What the inventory lists is there, or the directory is not opened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, OFlags, SeekFrom};
use rustix::io::Errno;

use super::inventory::{self, Inventory};
use super::layout::{self, BadHeader, HEADER};
use crate::extents::OpenError;
use crate::{Fault, private};

pub(crate) struct Directory {
    path: PathBuf,
    /// Locked for as long as this process uses the directory, and synced after each change of a name.
    handle: File,
    /// Whether the file system can punch holes. If not, space comes back only with whole files.
    pub punches: bool,
    direct: bool,
    ids: Mutex<Ids>,
}

struct Ids {
    greatest: u64,
    /// As it was last written.
    listed: Inventory,
    /// The greatest extent, if it holds nothing: removed when a greater one exists.
    hollow: Option<u64>,
    /// Without punching: the rooms in use, by extent. A file goes when it is sealed and has none.
    rooms: BTreeMap<u64, BTreeSet<u64>>,
    /// Extents that were asked for and not found, though they are not listed.
    sought: BTreeSet<u64>,
}

impl Ids {
    /// Extents that should have a file.
    fn expected(&self) -> BTreeSet<u64> {
        self.listed.lengths.keys().chain(&self.sought).copied().collect()
    }
}

/// A new extent, open twice: through the page cache, and past it where the file system can.
pub(crate) struct Created {
    pub id: u64,
    pub file: File,
    pub direct: Option<File>,
}

impl Directory {
    /// Opens `path`, making it if need be, and lists the extents that must be settled.
    pub fn open(path: &Path, punch: bool, direct: bool) -> Result<(Self, BTreeSet<u64>), OpenError> {
        let wrong = |error| OpenError::Io(path.to_owned(), error);
        if !path.is_dir() {
            private::create_dir_all(path).map_err(wrong)?;
            sync_parent(path).map_err(wrong)?;
        }
        let handle = File::open(path).map_err(wrong)?;
        handle.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse(path.to_owned()),
            TryLockError::Error(error) => wrong(error),
        })?;
        let (mut open, mut sealed) = (BTreeSet::new(), BTreeSet::new());
        let mut unfinished = Vec::new();
        for entry in std::fs::read_dir(path).map_err(wrong)? {
            let file = entry.map_err(wrong)?.path();
            if [inventory::NAME, inventory::UNFINISHED].iter().any(|name| file.ends_with(name)) {
                continue;
            }
            match parse_name(&file) {
                Some((id, "open")) => drop(open.insert(id)),
                Some((id, "extent")) => drop(sealed.insert(id)),
                Some((_, "new")) => unfinished.push(file),
                Some(_) | None => return Err(OpenError::Foreign(file)),
            }
        }
        let known = Inventory::read(path).map_err(|error| {
            let (is_damaged, path) = (error.kind() == ErrorKind::InvalidData, path.join(inventory::NAME));
            if is_damaged { OpenError::Inventory(path) } else { OpenError::Io(path, error) }
        })?;
        let found = open.iter().chain(&sealed).max().copied().unwrap_or(0);
        let greatest = known.as_ref().map_or(0, |known| known.greatest).max(found);
        let listed = known.clone().unwrap_or_default();
        let ids = Ids { greatest, listed, hollow: None, rooms: BTreeMap::new(), sought: BTreeSet::new() };
        let mut directory = Self { path: path.to_owned(), handle, punches: false, direct, ids: Mutex::new(ids) };
        directory.require_listed()?;
        open.iter().try_for_each(|id| directory.check(*id))?;
        if sealed.contains(&greatest) {
            directory.check(greatest)?;
        }
        // From here on, nothing is refused any more.
        unfinished.iter().try_for_each(std::fs::remove_file).map_err(wrong)?;
        let punches = punch && probe_punching(path).map_err(wrong)?;
        directory.punches = punches;
        if known.is_none() {
            directory.list_all(&open, &sealed).map_err(wrong)?;
        }
        if sealed.contains(&greatest) {
            directory.ids().hollow = directory.is_hollow(greatest).map_err(wrong)?.then_some(greatest);
        }
        if !punches {
            open.extend(sealed); // nothing on disk says what is free in them
        }
        Ok((directory, open))
    }

    /// Refuses a directory of which something was lost.
    fn require_listed(&self) -> Result<(), OpenError> {
        for (id, length) in &self.ids().listed.lengths {
            match self.length(*id) {
                Ok(found) if found >= *length => {}
                Ok(_) => {
                    return Err(OpenError::Lost(self.find(*id).map_or(self.name(*id, "extent"), |(path, _)| path)));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(OpenError::Lost(self.name(*id, "extent")));
                }
                Err(error) => return Err(OpenError::Io(self.name(*id, "extent"), error)),
            }
        }
        Ok(())
    }

    /// The first inventory of a directory: what is there.
    fn list_all(&self, open: &BTreeSet<u64>, sealed: &BTreeSet<u64>) -> io::Result<()> {
        let mut lengths: BTreeMap<u64, u64> = open.iter().map(|id| (*id, 0)).collect();
        for id in sealed {
            lengths.insert(*id, self.synced_length(*id)?);
        }
        let mut ids = self.ids();
        ids.listed = Inventory { greatest: ids.greatest, lengths };
        ids.listed.write(&self.path)
    }

    /// Changes the inventory, on disk and then here.
    fn list(&self, ids: &mut Ids, change: impl FnOnce(&mut Inventory)) -> io::Result<()> {
        let mut next = Inventory { greatest: ids.greatest, ..ids.listed.clone() };
        change(&mut next);
        if next != ids.listed {
            next.write(&self.path)?;
            ids.listed = next;
        }
        Ok(())
    }

    fn check(&self, id: u64) -> Result<(), OpenError> {
        let (path, file) = self.find(id).map_err(|error| OpenError::Io(self.path.clone(), error))?;
        match read_header(&file, id) {
            Ok(()) => Ok(()),
            Err(HeaderError::Bad(BadHeader::Version(version))) => Err(OpenError::Newer(path, version)),
            Err(HeaderError::Bad(bad @ (BadHeader::Damaged | BadHeader::Extent(_)))) => {
                Err(OpenError::Damaged(path, bad == BadHeader::Damaged))
            }
            Err(HeaderError::Io(error)) => Err(OpenError::Io(path, error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new extent, ready to be appended to.
    pub fn create(&self) -> io::Result<Created> {
        let mut ids = self.ids();
        let id = ids.greatest + 1;
        let (new, open) = (self.name(id, "new"), self.name(id, "open"));
        let made = private::file().write(true).create(true).truncate(true).open(&new)?;
        made.write_all_at(&layout::header(id), 0)?;
        made.sync_all()?;
        std::fs::rename(&new, &open)?;
        ids.greatest = id; // from here on the name may be on disk, so the id is spent whatever comes
        self.handle.sync_all()?;
        let hollow = ids.hollow;
        self.list(&mut ids, |listed| {
            listed.lengths.insert(id, 0);
            hollow.map(|hollow| listed.lengths.remove(&hollow));
        })?;
        if let Some(hollow) = ids.hollow.take() {
            std::fs::remove_file(self.name(hollow, "extent"))?;
        }
        let direct = if self.direct { open_direct(&open)? } else { None };
        Ok(Created { id, file: made, direct })
    }

    /// The file of an extent, to read, with its header checked.
    pub fn open_to_read(&self, id: u64) -> Result<File, Fault> {
        let (path, file) = self.find(id).map_err(|error| {
            if error.kind() != ErrorKind::NotFound {
                return fault(&format!("opening extent {id}"), &error);
            }
            self.ids().sought.insert(id);
            Fault::Corrupt(format!("extent {id} is missing from {}: restore it from a backup", self.path.display()))
        })?;
        match read_header(&file, id) {
            Ok(()) => Ok(file),
            Err(HeaderError::Bad(bad)) => Err(Fault::Corrupt(format!("{}: {bad:?}", path.display()))),
            Err(HeaderError::Io(error)) => Err(fault(&format!("reading {}", path.display()), &error)),
        }
    }

    /// An extent may be sealed while it is being looked for, hence twice.
    fn find(&self, id: u64) -> io::Result<(PathBuf, File)> {
        let mut last = io::Error::from(ErrorKind::NotFound);
        for kind in ["extent", "open", "extent"] {
            let path = self.name(id, kind);
            match File::open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::NotFound => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// From now on nothing is appended to `id`, and what is live in it is known. Removes it if that is nothing.
    pub fn seal(&self, id: u64) -> io::Result<()> {
        match std::fs::rename(self.name(id, "open"), self.name(id, "extent")) {
            Ok(()) => {
                self.handle.sync_all()?;
                let length = self.synced_length(id)?;
                self.list(&mut self.ids(), |listed| {
                    listed.lengths.insert(id, length);
                })?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {} // it was sealed before
            Err(error) => return Err(error),
        }
        self.remove_if_hollow(id)
    }

    /// Notes that a room is in use; needed only where holes cannot be punched.
    pub fn occupy(&self, id: u64, offset: u64) {
        if !self.punches {
            self.ids().rooms.entry(id).or_default().insert(offset);
        }
    }

    /// Where holes cannot be punched: that all rooms in use of `id` have been noted, even if they are none.
    pub fn vacate_if_unknown(&self, id: u64) {
        if !self.punches {
            self.ids().rooms.entry(id).or_default();
        }
    }

    /// Gives `length` bytes at `offset` of `id` back, and the whole file if it was the last of them.
    pub fn give_back(&self, id: u64, offset: u64, length: u64) -> io::Result<()> {
        if self.punches {
            self.punch(id, offset, length)?;
        } else if let Some(rooms) = self.ids().rooms.get_mut(&id) {
            rooms.remove(&offset);
        }
        if self.name(id, "extent").exists() { self.remove_if_hollow(id) } else { Ok(()) }
    }

    /// Punches out part of an extent; what is already gone is no error.
    pub fn punch(&self, id: u64, offset: u64, length: u64) -> io::Result<()> {
        if !self.punches || length == 0 {
            return Ok(());
        }
        let file = match self.find_to_write(id) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        Ok(rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)?)
    }

    /// How long the file of `id` is, and will be after a power cut.
    fn synced_length(&self, id: u64) -> io::Result<u64> {
        let (_, file) = self.find(id)?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    }

    /// How long the file of `id` is.
    pub fn length(&self, id: u64) -> io::Result<u64> {
        Ok(self.find(id)?.1.metadata()?.len())
    }

    fn find_to_write(&self, id: u64) -> io::Result<File> {
        let (path, _) = self.find(id)?;
        OpenOptions::new().write(true).open(&path).or_else(|error| {
            let is_gone = error.kind() == ErrorKind::NotFound;
            if is_gone { OpenOptions::new().write(true).open(self.name(id, "extent")) } else { Err(error) }
        })
    }

    fn remove_if_hollow(&self, id: u64) -> io::Result<()> {
        if !self.is_hollow(id)? {
            return Ok(());
        }
        let mut ids = self.ids();
        ids.rooms.remove(&id);
        let path = self.name(id, "extent");
        if id == ids.greatest {
            self.list(&mut ids, |listed| {
                listed.lengths.insert(id, HEADER);
            })?;
            OpenOptions::new().write(true).open(&path)?.set_len(HEADER)?;
            ids.hollow = Some(id);
            return Ok(());
        }
        self.list(&mut ids, |listed| {
            listed.lengths.remove(&id);
        })?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Extents that should have a file and have none.
    pub fn missing(&self) -> io::Result<Vec<u64>> {
        let mut missing = self.ids().expected();
        for entry in std::fs::read_dir(&self.path)? {
            if let Some((id, "open" | "extent")) = parse_name(&entry?.path()) {
                missing.remove(&id);
            }
        }
        // One may have come, gone or been sealed since: what was not seen is looked for under the lock.
        let ids = self.ids();
        let is_gone = |id: &u64| {
            ids.expected().contains(id) && self.find(*id).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        Ok(missing.into_iter().filter(is_gone).collect())
    }

    fn is_hollow(&self, id: u64) -> io::Result<bool> {
        if !self.punches {
            return Ok(self.ids().rooms.get(&id).is_some_and(BTreeSet::is_empty));
        }
        match self.find(id) {
            Ok((_, file)) => match rustix::fs::seek(&file, SeekFrom::Data(HEADER)) {
                Ok(_) => Ok(false),
                Err(Errno::NXIO) => Ok(true),
                Err(error) => Err(error.into()),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn name(&self, id: u64, kind: &str) -> PathBuf {
        self.path.join(format!("{id:08}.{kind}"))
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum HeaderError {
    Bad(BadHeader),
    Io(io::Error),
}

fn read_header(file: &File, id: u64) -> Result<(), HeaderError> {
    let mut bytes = [0; 32];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => layout::check_header(id, &bytes).map_err(HeaderError::Bad),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(HeaderError::Bad(BadHeader::Damaged)),
        Err(error) => Err(HeaderError::Io(error)),
    }
}

/// The id and the kind that a file name says, if it is the name of an extent.
pub(super) fn parse_name(path: &Path) -> Option<(u64, &str)> {
    let (digits, kind) = path.file_name()?.to_str()?.split_once('.')?;
    let id = digits.parse().ok()?;
    let canonical = format!("{id:08}") == digits && id > 0;
    (canonical && ["new", "open", "extent"].contains(&kind)).then_some((id, kind))
}

/// Whether holes can be punched, found out by punching one: the answer depends on the file system and its options.
fn probe_punching(path: &Path) -> io::Result<bool> {
    let probe = path.join(format!("{:08}.new", u64::MAX)); // swept like any other, should we die right here
    let file = private::file().write(true).create(true).truncate(true).open(&probe)?;
    let punched = file.set_len(HEADER).and_then(|()| {
        Ok(rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, HEADER)?)
    });
    std::fs::remove_file(&probe)?;
    match punched {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error),
    }
}

/// Not every file system can write past the page cache; those that cannot say so here.
fn open_direct(path: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        Some(_) | None => File::open(".")?.sync_all(),
    }
}

/// What an error of the file system means to the caller.
pub(crate) fn fault(doing: &str, error: &io::Error) -> Fault {
    let kind = error.kind();
    if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) {
        Fault::Full
    } else if kind == ErrorKind::UnexpectedEof {
        Fault::Corrupt(format!("{doing}: the file is shorter than its records say"))
    } else {
        Fault::Unavailable(format!("{doing}: {error}"))
    }
}
