//! `lazuli check` and `lazuli salvage`: what to do with a data directory that does not open. Neither needs a server, nor writes to the directory
//! in question.

use std::path::Path;

use lazuli_engine::embedded::{self, Report};

/// Goes over all that is stored. What is damaged makes it fail.
pub fn check(location: &Path) -> Result<String, String> {
    let report = embedded::check(location, &lazuli_store::claimed, &mut tell).map_err(|error| error.to_string())?;
    let counts = counts(&report);
    if report.damage.is_empty() {
        return Ok(format!("{counts}\nnothing is damaged\n"));
    }
    Err(format!(
        "{counts}\n{}\n{} damaged: see `lazuli salvage`",
        list(&report),
        number(&report, "place is", "places are")
    ))
}

/// Copies what is whole to a new directory, and lists what is not.
pub fn salvage(location: &Path, to: &Path) -> Result<String, String> {
    let report = embedded::salvage(location, to, &mut tell).map_err(|error| error.to_string())?;
    let counts = counts(&report);
    let lost = if report.damage.is_empty() { "nothing is lost".into() } else { list(&report) };
    Ok(format!("{counts}\n{lost}\nwhat is whole is in {}\n", to.display()))
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
