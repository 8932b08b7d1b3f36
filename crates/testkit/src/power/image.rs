//! The bytes of a file as pages that are shared until they are changed, so that a thousand disks cost what differs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

const PAGE: u64 = 4096;
pub const SECTOR: u64 = 512;

/// Absent pages are zeros.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    pub length: u64,
    pages: BTreeMap<u64, Arc<[u8; PAGE as usize]>>,
}

/// A change of a file's content or length.
#[derive(Clone, Debug)]
pub enum Edit {
    Write { at: u64, bytes: Bytes },
    Truncate(u64),
    Punch { at: u64, length: u64 },
    Allocate { end: u64 },
}

impl Pages {
    pub fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Write { at, bytes } => self.write(*at, bytes),
            Edit::Truncate(length) => self.truncate(*length),
            Edit::Punch { at, length } => self.zero(*at, (*at + *length).min(self.length)),
            Edit::Allocate { end } => self.length = self.length.max(*end),
        }
    }

    pub fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        self.length = self.length.max(at + bytes.len() as u64);
        while !bytes.is_empty() {
            let within = at % PAGE;
            let (part, rest) = bytes.split_at(bytes.len().min((PAGE - within) as usize));
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Arc::new([0; PAGE as usize]));
            Arc::make_mut(page)[within as usize..within as usize + part.len()].copy_from_slice(part);
            at += part.len() as u64;
            bytes = rest;
        }
    }

    fn truncate(&mut self, length: u64) {
        if length < self.length {
            self.zero(length, self.length);
        }
        self.length = length;
    }

    fn zero(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let touched: Vec<u64> = self.pages.range(from / PAGE..=(to - 1) / PAGE).map(|(index, _)| *index).collect();
        for index in touched {
            let (start, end) = (from.max(index * PAGE) - index * PAGE, to.min((index + 1) * PAGE) - index * PAGE);
            if (start, end) == (0, PAGE) {
                self.pages.remove(&index);
            } else if let Some(page) = self.pages.get_mut(&index) {
                Arc::make_mut(page)[start as usize..end as usize].fill(0);
            }
        }
    }

    pub fn save(&self, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        file.set_len(self.length)?;
        let mut run: Vec<u8> = Vec::new();
        let mut start = 0;
        for (index, page) in &self.pages {
            let at = index * PAGE;
            if start + run.len() as u64 != at || run.len() > 1 << 20 {
                file.write_all_at(&run, start)?;
                run.clear();
                start = at;
            }
            run.extend_from_slice(&page[..PAGE.min(self.length.saturating_sub(at)) as usize]);
        }
        file.write_all_at(&run, start)
    }

    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length as usize];
        for (index, page) in &self.pages {
            let at = (index * PAGE).min(self.length) as usize;
            let length = PAGE.min(self.length.saturating_sub(index * PAGE)) as usize;
            bytes[at..at + length].copy_from_slice(&page[..length]);
        }
        bytes
    }
}
