//! All that a data directory holds, gone over.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::super::directory::OpenError;
use super::super::inventory::Inventory;
use super::super::keys::LOG;
use super::super::{old, recovery, tree};
use super::{Claims, Places, Report, lock, logs, tables};
use crate::content::Piece;
use crate::{Key, extents};

/// Reads everything there is at `path`, and lists what is damaged. `tell` hears what is being done.
pub fn check(path: &Path, claims: Claims<'_>, tell: &mut dyn FnMut(&str)) -> Result<Report, OpenError> {
    let _lock = lock(path)?;
    let places = Places::of(path);
    let mut report = Report::default();
    tell("comparing the files with the inventory, and judging the log");
    if places.is_old {
        old::judge(&places.keys).unwrap_or_else(|error| report.add_error(&error));
    } else {
        check_keys(&places, &mut report);
    }
    tell("reading every table");
    let version = tables::named(&places.tree, &mut Report::default());
    version.tables.iter().for_each(|named| tables::check(&places.tree, named, &mut report));
    let mut pieces = BTreeMap::new();
    let mut see = |key: &Bytes, value: Option<Bytes>| {
        // What is not a claim any more was one, perhaps.
        let piece = Key::from_stored(key.clone()).zip(value).and_then(|(key, value)| claims(&key, &value));
        match piece {
            Some(piece) => drop(pieces.insert(key.clone(), piece)),
            None => drop(pieces.remove(key)),
        }
    };
    // What cannot be read is said above.
    let mut unread = Report::default();
    tables::read(&places.tree, &version, &mut unread, &mut see);
    if places.is_old {
        drop(old::read(&places.keys, &mut see));
    } else {
        logs::read(&places.keys.join(LOG), &mut unread, &mut see);
    }
    (report.batches, report.entries) = (unread.batches, unread.entries);
    tell("reading every piece of content that a row claims");
    check_extents(&places.extents, pieces.into_values(), &mut report);
    Ok(report)
}

fn check_keys(places: &Places, report: &mut Report) {
    let inventory = match Inventory::read(&places.keys) {
        Ok(inventory) => inventory,
        Err(error) => return report.add_error(&error),
    };
    tree::compare(&places.tree, &inventory).unwrap_or_else(|error| report.add_error(&error));
    if let Err(error) = recovery::judge(&places.keys, &inventory) {
        report.add_error(&error);
    }
}

fn check_extents(path: &Path, pieces: impl Iterator<Item = Piece>, report: &mut Report) {
    let verifier = extents::Verifier::new(path);
    report.extents = verifier.count();
    verifier.compare().into_iter().for_each(|what| report.damage.push(what));
    for piece in pieces {
        report.pieces += 1;
        report.piece_bytes += piece.length;
        if let Err(fault) = verifier.verify(&piece) {
            report.add(path, format!("{fault:?}"));
        }
    }
}
