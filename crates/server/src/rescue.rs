//! `lazuli check` and `lazuli salvage`: what to do with a data directory that does not open. Neither needs a server. While anything is
//! damaged, neither writes to the directory in question. Where no file is damaged, `check` opens it, as a start would, and compares
//! what the records say of each other.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use lazuli_engine::content;
use lazuli_engine::embedded::{self, Embedded, Report};
use lazuli_store::{Audit, Store};

use crate::{admin, secrets};

/// Goes over all that is stored. What is damaged makes it fail.
pub fn check(location: &Path) -> Result<String, String> {
    let report = embedded::check(location, &lazuli_store::claimed, &mut tell).map_err(|error| error.to_string())?;
    let counts = counts(&report);
    if report.damage.is_empty() {
        return check_records(location).map(|records| format!("{counts}\n{records}nothing is damaged\n"));
    }
    Err(format!(
        "{counts}\n{}\n{} damaged: see `lazuli salvage`",
        list(&report),
        number(&report, "place is", "places are")
    ))
}

/// Whether the records agree with each other: claims with manifests, counts with rows. Every file is whole.
fn check_records(location: &Path) -> Result<String, String> {
    if location.join("keys/keyspaces").exists() {
        return Ok("the records are compared once a server has brought the directory up to date\n".into());
    }
    let engine = Embedded::open(location, embedded::Options::default()).map_err(|error| error.to_string())?;
    // No content is read: that every piece is there, and whole, was seen before.
    let store = Store::new(Arc::new(engine), Arc::new(content::Memory::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let audit = runtime.block_on(store.audit(&mut tell));
    let audit = audit.map_err(|failure| format!("the records cannot be read: {failure:?}"))?;
    let Audit { spaces, rows, pieces, garbage, damaged, damage, known: _ } = &audit;
    let counts = format!(
        "{rows} records of {spaces} containers, queues and shares, {pieces} claims, {garbage} left to the sweeper\n"
    );
    if *damaged == 0 {
        return Ok(counts);
    }
    let list: String = damage.iter().map(|what| format!("  {what}\n")).collect();
    Err(format!(
        "{counts}{list}{damaged} records do not agree with others. What can be read is right; please report this, with the list"
    ))
}

/// Copies what is whole to a new directory, and lists what is not.
pub fn salvage(location: &Path, to: &Path) -> Result<String, String> {
    if is_within(to, location) {
        return Err(format!(
            "{} is within {}, which is only read: choose another directory",
            to.display(),
            location.display()
        ));
    }
    let report = embedded::salvage(location, to, &mut tell).map_err(|error| error.to_string())?;
    let counts = counts(&report);
    let lost = if report.damage.is_empty() { "nothing is lost".into() } else { list(&report) };
    let key = copy_key_file(location, to)?;
    Ok(format!("{counts}\n{lost}\n{key}what is whole is in {}\n", to.display()))
}

/// Whether `path`, which need not be there, is `directory` or below it. Links are followed as far as there are any.
fn is_within(path: &Path, directory: &Path) -> bool {
    let (Ok(path), Ok(directory)) = (std::path::absolute(path), directory.canonicalize()) else { return false };
    path.ancestors().find_map(|there| there.canonicalize().ok()).is_some_and(|there| there.starts_with(&directory))
}

/// Without it what is sealed cannot be opened, and no server starts there.
fn copy_key_file(location: &Path, to: &Path) -> Result<String, String> {
    let (from, to) = (secrets::key_file(location, None), secrets::key_file(to, None));
    match std::fs::read(&from) {
        Ok(text) => {
            admin::write_private(&to, &text).map_err(|error| format!("cannot write {}: {error}", to.display()))?;
            Ok(format!("the key file {} was copied, too\n", from.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Ok(format!("the key file {} cannot be read: {error}\n", from.display())),
    }
}

fn tell(what: &str) {
    eprintln!("{what} …");
}

fn counts(report: &Report) -> String {
    let Report { batches, tables, entries, extents, pieces, piece_bytes, damage: _ } = report;
    let mut text = format!("{entries} entries in {tables} tables and {batches} batches, {extents} extents");
    if *pieces > 0 {
        text += &format!(", {pieces} pieces of content with {piece_bytes} bytes");
    }
    text
}

fn list(report: &Report) -> String {
    report.damage.iter().map(|what| format!("  {what}")).collect::<Vec<_>>().join("\n")
}

fn number(report: &Report, one: &str, many: &str) -> String {
    format!("{} {}", report.damage.len(), if report.damage.len() == 1 { one } else { many })
}
