//! Content, gone over without opening the directory: nothing is made, settled or removed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::directory::parse_name;
use super::inventory::Inventory;
use super::layout::{self, BLOCK, check_header, crc64, footer_length, open_footer};
use crate::Fault;
use crate::content::Piece;

pub(crate) struct Verifier {
    path: PathBuf,
}

/// The header that the file of this name has, if it is that of an extent.
pub(crate) fn header_of(name: &str) -> Option<[u8; layout::HEADER as usize]> {
    match parse_name(Path::new(name))? {
        (id, "open" | "extent") => Some(layout::header(id)),
        _ => None,
    }
}

impl Verifier {
    pub fn new(path: &Path) -> Self {
        Self { path: path.into() }
    }

    fn files(&self) -> Vec<(u64, PathBuf)> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let extents = entries.filter_map(|path| match parse_name(&path)? {
            (id, "open" | "extent") => Some((id, path)),
            _ => None,
        });
        extents.collect()
    }

    pub fn count(&self) -> u64 {
        self.files().len() as u64
    }

    /// What the inventory lists and is not there, and headers that are damaged.
    pub fn compare(&self) -> Vec<String> {
        let files = self.files();
        let mut damage: Vec<String> = Vec::new();
        match Inventory::read(&self.path) {
            Ok(inventory) => {
                for (id, length) in inventory.unwrap_or_default().lengths {
                    let found = files.iter().find(|(found, _)| *found == id).and_then(|(_, path)| path.metadata().ok());
                    if found.is_none_or(|found| found.len() < length) {
                        damage.push(format!(
                            "{}: extent {id} is missing, or shorter than {length} bytes",
                            self.path.display()
                        ));
                    }
                }
            }
            Err(error) => damage.push(format!("{}: its inventory: {error}", self.path.display())),
        }
        for (id, path) in files {
            let mut header = [0; 32];
            let read = File::open(&path).and_then(|file| file.read_exact_at(&mut header, 0));
            if read.is_err() || check_header(id, &header).is_err() {
                damage.push(format!("{}: its header is damaged", path.display()));
            }
        }
        damage
    }

    /// Reads a piece, and compares it with its checksums.
    pub fn verify(&self, piece: &Piece) -> Result<(), Fault> {
        let lost = |what: String| {
            let Piece { extent, offset, length, .. } = piece;
            Fault::Corrupt(format!("{length} bytes at {offset} of extent {extent}: {what}"))
        };
        let file = self.files().into_iter().find(|(id, _)| *id == piece.extent);
        let (_, path) = file.ok_or_else(|| lost("the extent is missing".into()))?;
        let file = File::open(path).map_err(|error| lost(error.to_string()))?;
        let mut footer = vec![0; footer_length(piece.length) as usize];
        file.read_exact_at(&mut footer, piece.offset + piece.length).map_err(|error| lost(error.to_string()))?;
        let (mut at, mut block) = (0, vec![0; BLOCK]);
        for sum in open_footer(piece, &footer)? {
            let part = &mut block[..BLOCK.min((piece.length - at) as usize)];
            file.read_exact_at(part, piece.offset + at).map_err(|error| lost(error.to_string()))?;
            if crc64(part) != sum {
                return Err(lost(format!("what is at {at} of it does not agree with its checksum")));
            }
            at += part.len() as u64;
        }
        Ok(())
    }
}
