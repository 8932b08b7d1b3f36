//! The file system, used as durably as the server must use it: every write is on disk before it counts.

use super::{LARGE, PAGE, SMALL, Work};
use crate::process::Process;
use crate::request::{file_name, noise};
use crate::turns::{Turn, Turns};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Local {
    root: PathBuf,
    length: u64,
    files: u64,
}

impl Local {
    /// With files as full as the server's.
    pub fn new(root: &Path, mebibytes: u64, files: u64) -> io::Result<Self> {
        fs::create_dir_all(root.join("many"))?;
        let part = noise(LARGE as usize);
        for name in ["random", "sequential"] {
            let file = File::create(root.join(name))?;
            for at in 0..mebibytes {
                file.write_all_at(&part, at * LARGE)?;
            }
            file.sync_all()?;
        }
        Ok(Self { root: root.to_owned(), length: mebibytes << 20, files })
    }

    /// Of as many threads as there are clients, whose `numbers` go on as the server's do.
    pub fn turns<'a>(&'a self, work: Work, numbers: &'a AtomicU64) -> Turns<'a> {
        let bytes = match work {
            Work::WriteSmall | Work::ReadSmall => SMALL,
            Work::WriteLarge | Work::ReadLarge => LARGE,
            Work::Create | Work::List | Work::Stat | Work::Rename => 0,
        };
        let connect = Box::new(move || self.client(work, numbers));
        Turns { who: "file system", process: Process::own(), counts: 1.0, bytes, connect }
    }

    fn client<'a>(&'a self, work: Work, numbers: &'a AtomicU64) -> io::Result<Turn<'a>> {
        let (root, many) = (File::open(&self.root)?, File::open(self.root.join("many"))?);
        let name = if matches!(work, Work::WriteLarge | Work::ReadLarge) { "sequential" } else { "random" };
        let synced = OFlags::DSYNC.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(synced).open(self.root.join(name))?;
        let mut buffer = noise(LARGE as usize);
        Ok(Box::new(move || {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let scattered = number.wrapping_mul(0x9E37_79B9) % (self.length / SMALL) * SMALL;
            let next = number % (self.length / LARGE) * LARGE;
            match work {
                Work::WriteSmall => file.write_all_at(&buffer[..SMALL as usize], scattered),
                Work::ReadSmall => file.read_exact_at(&mut buffer[..SMALL as usize], scattered),
                Work::WriteLarge => file.write_all_at(&buffer, next),
                Work::ReadLarge => file.read_exact_at(&mut buffer, next),
                Work::Create => {
                    File::create_new(self.name(number))?.sync_all()?;
                    many.sync_all()
                }
                Work::List => {
                    let mut page = fs::read_dir(self.root.join("many"))?.take(PAGE as usize);
                    page.try_for_each(|entry| entry?.metadata().map(drop))
                }
                Work::Stat => fs::metadata(self.name(number % self.files)).map(drop),
                Work::Rename => {
                    let (many, moved) = (self.root.join("many"), self.root.join("moved"));
                    let (from, to) = if number.is_multiple_of(2) { (many, moved) } else { (moved, many) };
                    fs::rename(from, to)?;
                    root.sync_all()
                }
            }
        }))
    }

    fn name(&self, number: u64) -> PathBuf {
        self.root.join("many").join(file_name(number))
    }
}
