//! The same on the file system below, as durable as the server's: every file and every name is on disk before it counts.

use super::{FEW, GONE, MANY, PAGE, Size, Work, deep};
use crate::process::Process;
use crate::request::{file_name, noise};
use crate::turns::{Turn, Turns};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Local {
    root: PathBuf,
}

impl Local {
    /// With the same directories. What is only read was not synced one by one.
    pub fn new(root: &Path, few: u64, many: u64) -> io::Result<Self> {
        for (directory, count) in [(GONE, few), (FEW, few), (MANY, many)] {
            let directory = below(root, directory);
            fs::create_dir_all(&directory)?;
            (0..count).try_for_each(|number| File::create_new(directory.join(file_name(number))).map(drop))?;
        }
        for directory in ["new", "written"] {
            fs::create_dir(root.join(directory))?;
        }
        for depth in super::DEPTHS {
            let file = below(root, &deep(depth));
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::create(file)?;
        }
        rustix::fs::syncfs(File::open(root)?)?;
        Ok(Self { root: root.to_owned() })
    }

    pub fn turns<'a>(&'a self, work: Work, size: Size<'a>, numbers: &'a AtomicU64) -> Turns<'a> {
        let (counts, bytes) = (work.counts(size.files), work.bytes());
        let connect = Box::new(move || self.client(work, size, numbers));
        Turns { who: "file system", process: Process::own(), counts, bytes, connect }
    }

    fn client<'a>(&'a self, work: Work, size: Size<'a>, numbers: &'a AtomicU64) -> io::Result<Turn<'a>> {
        let directory = below(&self.root, size.directory);
        let Size { files, .. } = size;
        let next = move || numbers.fetch_add(1, Ordering::Relaxed);
        Ok(match work {
            Work::Create => {
                let opened = File::open(&directory)?;
                Box::new(move || {
                    File::create_new(directory.join(file_name(next())))?.sync_all()?;
                    opened.sync_all()
                })
            }
            Work::List => Box::new(move || {
                let mut page = fs::read_dir(&directory)?.take(PAGE as usize);
                page.try_for_each(|entry| entry?.metadata().map(drop))
            }),
            Work::ListAll => Box::new(move || {
                let mut seen = 0;
                for entry in fs::read_dir(&directory)? {
                    entry?.metadata()?;
                    seen += 1;
                }
                if seen == files { Ok(()) } else { Err(io::Error::other(format!("{seen} names instead of {files}"))) }
            }),
            Work::Stat => Box::new(move || {
                let number = next().wrapping_mul(0x9E37_79B9_7F4A_7C15) % files;
                fs::metadata(directory.join(file_name(number))).map(drop)
            }),
            Work::Deep(_) => Box::new(move || fs::metadata(&directory).map(drop)),
            Work::Rename => {
                let (root, moved) = (File::open(&self.root)?, self.root.join("moved"));
                Box::new(move || {
                    let is_there = next().is_multiple_of(2);
                    let (from, to) = if is_there { (&directory, &moved) } else { (&moved, &directory) };
                    fs::rename(from, to)?;
                    root.sync_all()
                })
            }
            Work::Delete => Box::new(move || {
                fs::remove_dir_all(&directory)?;
                rustix::fs::syncfs(File::open(&self.root)?).map_err(Into::into)
            }),
            Work::WriteSmall | Work::WriteLarge => self.writer(work, numbers)?,
            Work::Append => self.appender(numbers)?,
            Work::ListFrom => return Err(io::Error::other("a directory is read from its beginning")),
        })
    }

    /// A new file at each turn, synced once, and its name.
    fn writer<'a>(&'a self, work: Work, numbers: &'a AtomicU64) -> io::Result<Turn<'a>> {
        let written = self.root.join("written");
        let ((parts, size), opened) = (work.parts(), File::open(&written)?);
        let body = noise(size as usize);
        Ok(Box::new(move || {
            let mut file = File::create_new(written.join(file_name(numbers.fetch_add(1, Ordering::Relaxed))))?;
            (0..parts).try_for_each(|_| file.write_all(&body))?;
            file.sync_all()?;
            opened.sync_all()
        }))
    }

    fn appender<'a>(&'a self, numbers: &'a AtomicU64) -> io::Result<Turn<'a>> {
        let name = format!("a{:010}", numbers.fetch_add(1, Ordering::Relaxed));
        let synced = OFlags::DSYNC.bits() as i32;
        let path = self.root.join("written").join(name);
        let mut file = OpenOptions::new().create_new(true).append(true).custom_flags(synced).open(path)?;
        let body = noise(Work::Append.parts().1 as usize);
        Ok(Box::new(move || file.write_all(&body)))
    }
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
