//! The file system, used as durably as the server must use it: every write is on disk before it counts.

use super::{LARGE, PAGE, SMALL, Window, Work, summary};
use crate::clock::now;
use crate::request::noise;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

    /// As many threads as clients, until the time is over or `limit` is reached.
    pub fn window(
        &self,
        work: Work,
        numbers: &AtomicU64,
        clients: usize,
        period: Duration,
        limit: u64,
    ) -> io::Result<Window> {
        let began = now();
        let times: io::Result<Vec<Vec<Duration>>> = std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..clients).map(|_| scope.spawn(|| self.client(work, numbers, period, limit))).collect();
            clients.into_iter().map(|client| client.join().expect("no client panics")).collect()
        });
        let bytes = match work {
            Work::WriteSmall | Work::ReadSmall => SMALL,
            Work::WriteLarge | Work::ReadLarge => LARGE,
            Work::Create | Work::List | Work::Stat => 0,
        };
        Ok(summary(times?.concat(), now() - began, bytes))
    }

    fn client(&self, work: Work, numbers: &AtomicU64, period: Duration, limit: u64) -> io::Result<Vec<Duration>> {
        let many = File::open(self.root.join("many"))?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(OFlags::DSYNC.bits() as i32).open(
            self.root.join(if matches!(work, Work::WriteLarge | Work::ReadLarge) { "sequential" } else { "random" }),
        )?;
        let mut buffer = noise(LARGE as usize);
        let (began, mut times) = (now(), Vec::new());
        loop {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let before = now();
            if number >= limit || before - began >= period {
                return Ok(times);
            }
            let scattered = number.wrapping_mul(0x9E37_79B9) % (self.length / SMALL) * SMALL;
            let next = number % (self.length / LARGE) * LARGE;
            match work {
                Work::WriteSmall => file.write_all_at(&buffer[..SMALL as usize], scattered)?,
                Work::ReadSmall => file.read_exact_at(&mut buffer[..SMALL as usize], scattered)?,
                Work::WriteLarge => file.write_all_at(&buffer, next)?,
                Work::ReadLarge => file.read_exact_at(&mut buffer, next)?,
                Work::Create => {
                    File::create_new(self.name(number))?.sync_all()?;
                    many.sync_all()?;
                }
                Work::List => {
                    for entry in fs::read_dir(self.root.join("many"))?.take(PAGE as usize) {
                        entry?.metadata()?;
                    }
                }
                Work::Stat => {
                    fs::metadata(self.name(number % self.files))?;
                }
            }
            times.push(now() - before);
        }
    }

    fn name(&self, number: u64) -> PathBuf {
        self.root.join(format!("many/n{number:010}"))
    }

    /// There and back.
    pub fn rename(&self, turn: usize) -> io::Result<()> {
        let (many, moved) = (self.root.join("many"), self.root.join("moved"));
        let (from, to) = if turn.is_multiple_of(2) { (many, moved) } else { (moved, many) };
        fs::rename(from, to)?;
        File::open(&self.root)?.sync_all()
    }
}
