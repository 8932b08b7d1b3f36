//! Copies what is whole of a damaged directory into a new one.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{SeekFrom, seek};

use super::super::directory::{DataDirectory, Found, OpenError};
use super::super::error::{At, Error, Result};
use super::super::keys::{Keys, LOG, MARK, Settings, Writes};
use super::super::old;
use super::read_around::read_around;
use super::{Places, Report, lock, logs, tables};
use crate::{Key, Stamp, extents};

/// What is written with one sync.
const BATCH_BYTES: usize = 4 << 20;
const SETTINGS: Settings = Settings { cache_bytes: 1 << 20, memtable_bytes: 64 << 20 };

/// Copies rows and content from `from` to `to`, which is new or empty, and lists what could not be copied.
pub fn salvage(from: &Path, to: &Path, tell: &mut dyn FnMut(&str)) -> std::result::Result<Report, OpenError> {
    let _lock = lock(from)?;
    let directory = DataDirectory::open(to)?;
    if directory.found() != Found::New {
        return Err(OpenError::Foreign { path: to.into(), found: "keys".into() });
    }
    let refused = |error: Error| OpenError::from_keys(to, &error);
    let (places, mut report) = (Places::of(from), Report::default());
    tell("copying content");
    copy_extents(&places.extents, &directory.extents(), &mut report).map_err(refused)?;
    tell("copying rows");
    Keys::create(&directory.keys()).map_err(refused)?;
    let keys = Keys::open(&directory.keys(), SETTINGS, directory.lock(), Arc::default()).map_err(refused)?;
    copy_rows(&places, &keys, &mut report).map_err(refused)?;
    keys.finish().map_err(refused)?;
    directory.ready()?;
    Ok(report)
}

fn copy_rows(places: &Places, keys: &Keys, report: &mut Report) -> Result<()> {
    let mut writing = Writing { keys, writes: Writes::new(), bytes: 0, mark: Stamp(0), failed: None };
    let version = tables::named(&places.tree, report);
    tables::read(&places.tree, &version, report, &mut |key, value| writing.write(key, value));
    let mark = if places.is_old {
        let read = old::read(&places.keys, &mut |key: &Bytes, value| writing.write(key, value));
        read.unwrap_or_else(|error| {
            report.add_error(&error);
            Stamp(0)
        })
    } else {
        logs::read(&places.keys.join(LOG), report, &mut |key, value| writing.write(key, value))
    };
    writing.mark = writing.mark.max(mark);
    writing.commit();
    writing.failed.map_or(Ok(()), Err)
}

struct Writing<'a> {
    keys: &'a Keys,
    writes: Writes,
    bytes: usize,
    mark: Stamp,
    failed: Option<Error>,
}

impl Writing<'_> {
    fn write(&mut self, key: &Bytes, value: Option<Bytes>) {
        if key[..] == MARK {
            let ticks = value.and_then(|value| Some(u64::from_be_bytes(value[..].try_into().ok()?)));
            self.mark = self.mark.max(Stamp(ticks.unwrap_or(0)));
            return;
        }
        let Some(key) = Key::from_stored(key.clone()) else { return };
        self.bytes += key.as_bytes().len() + value.as_ref().map_or(0, Bytes::len);
        self.writes.insert(key, value);
        if self.bytes >= BATCH_BYTES {
            self.commit();
        }
    }

    fn commit(&mut self) {
        self.bytes = 0;
        let writes = std::mem::take(&mut self.writes);
        if self.failed.is_none() {
            self.failed = self.keys.commit(&writes, self.mark).err();
            self.keys.rotate_if_due();
            while self.failed.is_none() && self.keys.backlog().is_too_long() {
                std::thread::park_timeout(std::time::Duration::from_millis(1));
                self.failed = self.keys.check().err();
            }
        }
    }
}

/// Extents are copied as they are: content has checksums, which are looked at when it is read.
fn copy_extents(from: &Path, to: &Path, report: &mut Report) -> Result<()> {
    extents::Verifier::new(from).compare().into_iter().for_each(|what| report.damage.push(what));
    DirBuilder::new().recursive(true).mode(0o700).create(to).at(to)?;
    let Ok(files) = fs::read_dir(from) else { return Ok(()) };
    for path in files.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some(header) = extents::header_of(&name) else { continue };
        report.extents += 1;
        let target = to.join(&name);
        let source = match File::open(&path) {
            Ok(source) if !source.metadata().is_ok_and(|found| found.is_file()) => {
                report.add(&path, "all of it is lost (it is no file)");
                continue;
            }
            Ok(source) => source,
            Err(error) => {
                report.add(&path, format!("all of it is lost ({error})"));
                continue;
            }
        };
        let copied = copy_sparse(&source, &target).and_then(|lost| {
            let file = File::options().write(true).open(&target)?;
            file.write_all_at(&header, 0)?;
            file.sync_all().map(|()| lost)
        });
        let lost = copied.at(&target)?;
        if lost > 0 {
            report.add(&path, format!("{lost} bytes of it cannot be read"));
        }
    }
    fs::remove_file(to.join(extents::inventory::NAME))
        .or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
        .at(to)?;
    extents::take_inventory(to).map_err(|error| Error::damaged(to, error.to_string()))
}

/// Holes stay holes. Gives how many bytes could not be read, which are holes too.
fn copy_sparse(source: &File, to: &Path) -> std::io::Result<u64> {
    let target = File::options().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let (mut at, mut lost) = (0, 0);
    while at < length
        && let Ok(data) = seek(source, SeekFrom::Data(at))
    {
        let end = seek(source, SeekFrom::Hole(data)).unwrap_or(length);
        lost += read_around(source, data, end, |place, part| target.write_all_at(part, place))?;
        at = end;
    }
    Ok(lost)
}
