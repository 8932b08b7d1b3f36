//! `lazuli import`: moves all that is stored from a directory to a cluster, or back. Held true: the journal is synced before anything
//! rests on it, so that an import that was broken off goes on where it was; it goes when the import is complete.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lazuli_engine::Fault;
use lazuli_engine::content::Piece;
use lazuli_engine::embedded::DataDirectory;
use lazuli_store::{Failure, ImportJournal, Imported};

use crate::cli::Flags;
use crate::data::Data;
use crate::ids;
use crate::settings::{ClusterPlace, Place};

/// The word for the pool that --pool, --ceph-conf and --ceph-user name.
const CLUSTER: &str = "rados";
/// Rows between two lines that say how far it is.
const TOLD_EVERY: u64 = 20_000;

pub fn run(flags: &Flags, from: &str, to: &str) -> Result<String, String> {
    let (source, target) = (place(flags, from), place(flags, to));
    let directory = match (&source, &target) {
        (Place::Directory(one), Place::Directory(other)) if one == other => {
            return Err("the source and the target are the same directory".into());
        }
        (Place::Directory(directory), _) | (_, Place::Directory(directory)) => directory.clone(),
        (Place::Memory | Place::Cluster(_), Place::Memory | Place::Cluster(_)) => {
            return Err("one side has to be a directory: import there, and from there to the other pool".into());
        }
    };
    if let Place::Directory(source) = &source
        && !DataDirectory::is_at(source)
    {
        return Err(format!("{} is no data directory", source.display()));
    }
    let path = journal_beside(&directory);
    let mut journal = Journal::open(&path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let imported = runtime.block_on(async {
        let source = Data::open(&source, ids::random())?;
        let target = Data::open(&target, ids::random())?;
        let mut told = 0;
        let mut tell = |so_far: Imported| {
            let Imported { spaces, rows, pieces, bytes } = so_far;
            if rows + pieces >= told + TOLD_EVERY {
                told = rows + pieces;
                eprintln!(
                    "{spaces} containers, queues, tables and shares, {rows} rows, {pieces} pieces with {bytes} bytes …"
                );
            }
        };
        let imported = target.store.import(&source.store, &mut journal, &mut tell).await;
        target.close();
        source.close();
        imported.map_err(|failure| match failure {
            Failure::Broken(Fault::Unavailable(why) | Fault::Corrupt(why)) => {
                format!("{why}. Nothing is served of what was moved so far")
            }
            failure @ (Failure::Refused(_) | Failure::Broken(Fault::Full | Fault::Busy)) => {
                format!("{failure:?}. Run it again: it goes on where it was")
            }
        })
    })?;
    std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let Imported { spaces, rows, pieces, bytes } = imported;
    Ok(format!(
        "{spaces} containers, queues, tables and shares: {rows} rows and {pieces} pieces with {bytes} bytes were moved and read back\n\
         Give servers of {to} the key file of {from} (--key-file), if accounts were made there\n"
    ))
}

fn place(flags: &Flags, word: &str) -> Place {
    match word {
        CLUSTER => Place::Cluster(ClusterPlace {
            pool: flags.pool.clone(),
            configuration: flags.ceph_conf.clone(),
            user: flags.ceph_user.clone(),
        }),
        directory => Place::Directory(directory.into()),
    }
}

/// Beside the directory, which is no place for files of others.
fn journal_beside(directory: &Path) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    path.push(".import");
    path.into()
}

/// Lines of text: `import ID`, `piece EXTENT OFFSET EXTENT OFFSET LENGTH SEAL`, `space ID`; numbers in hexadecimal.
struct Journal {
    id: u128,
    file: File,
    pieces: HashMap<(u64, u64), Piece>,
    spaces: HashSet<u128>,
}

impl Journal {
    fn open(path: &Path) -> Result<Self, String> {
        let said = |error: io::Error| format!("{}: {error}", path.display());
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(said(error)),
        };
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(said)?;
        let mut journal = Self { id: 0, file, pieces: HashMap::new(), spaces: HashSet::new() };
        // A last line without its end was being written when the process ended: nothing rests on it.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        journal.file.set_len(whole.len() as u64).map_err(said)?;
        for line in whole.lines() {
            journal.take_in(line).ok_or_else(|| format!("{} is no journal of an import: {line}", path.display()))?;
        }
        if journal.id == 0 {
            journal.id = ids::random().max(1);
            journal.append(&format!("import {:x}\n", journal.id)).map_err(said)?;
        }
        Ok(journal)
    }

    fn take_in(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let numbers: Vec<u128> = rest.split(' ').map(|n| u128::from_str_radix(n, 16).ok()).collect::<Option<_>>()?;
        match (word, &numbers[..]) {
            ("import", [id]) => self.id = *id,
            ("space", [space]) => drop(self.spaces.insert(*space)),
            ("piece", all @ [_, _, _, _, _, _]) => {
                let mut all = all.iter().map(|n| u64::try_from(*n).ok());
                let mut next = || all.next().flatten();
                let start = (next()?, next()?);
                let piece = Piece { extent: next()?, offset: next()?, length: next()?, seal: next()? };
                self.pieces.insert(start, piece);
            }
            (_, _) => return None,
        }
        Some(())
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

fn unwritten(error: io::Error) -> Fault {
    Fault::Unavailable(format!("the journal cannot be written: {error}"))
}

impl ImportJournal for Journal {
    fn id(&self) -> u128 {
        self.id
    }

    fn moved(&self, start: (u64, u64)) -> Option<Piece> {
        self.pieces.get(&start).copied()
    }

    fn note(&mut self, pieces: &[((u64, u64), Piece)]) -> Result<(), Fault> {
        let mut text = String::new();
        for ((from, at), Piece { extent, offset, length, seal }) in pieces {
            let _ = writeln!(text, "piece {from:x} {at:x} {extent:x} {offset:x} {length:x} {seal:x}");
        }
        self.append(&text).map_err(unwritten)?;
        self.pieces.extend(pieces.iter().copied());
        Ok(())
    }

    fn is_done(&self, space: u128) -> bool {
        self.spaces.contains(&space)
    }

    fn done(&mut self, space: u128) -> Result<(), Fault> {
        self.append(&format!("space {space:x}\n")).map_err(unwritten)?;
        self.spaces.insert(space);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_goes_on_from_its_last_whole_line() {
        let directory = std::env::temp_dir().join(format!("lazuli-journal-{}", std::process::id()));
        let path = journal_beside(&directory);
        let piece = Piece { extent: 1, offset: 2, length: 3, seal: u64::MAX };
        let mut journal = Journal::open(&path).expect("it can be made");
        journal.note(&[((7, 8), piece)]).expect("it can be written");
        journal.done(u128::MAX).expect("it can be written");
        let id = journal.id();
        drop(journal);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"piece 1 2 3"))
            .expect("a torn line");
        let mut journal = Journal::open(&path).expect("it can be read");
        assert_eq!((journal.id(), journal.moved((7, 8)), journal.moved((1, 2))), (id, Some(piece), None));
        assert!(journal.is_done(u128::MAX) && !journal.is_done(1));
        journal.done(1).expect("it can be written");
        assert!(Journal::open(&path).expect("it can be read").is_done(1));
        std::fs::write(&path, "something else\n").expect("it can be written");
        assert!(Journal::open(&path).is_err());
        std::fs::remove_file(&path).expect("it is there");
    }
}
