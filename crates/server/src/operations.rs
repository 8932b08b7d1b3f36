//! `lazuli operations`: the table that requests are routed by, as text.

use std::fmt::Write;

use lazuli_http::Spec;
use lazuli_http::operation::{CATALOGUES, On};

pub fn table() -> String {
    let mut text = format!("{:<28} {:<9} {:<10} {:<24} SAS\n", "Served", "Method", "On", "Query");
    for operation in CATALOGUES.iter().flat_map(|service| service.served) {
        line(&mut text, operation.spec);
    }
    text
}

fn line(text: &mut String, spec: &Spec) {
    let on = match spec.on {
        On::Service => "service",
        On::Container => "container",
        On::Blob => "blob",
        On::Queue => "queue",
        On::Messages => "messages",
        On::Message => "message",
        On::Share => "share",
        On::Directory => "directory",
        On::File => "file",
        On::Tables => "tables",
        On::Table => "table",
        On::Entities => "entities",
        On::Entity => "entity",
        On::Batch => "batch",
    };
    let query = [("restype", spec.restype), ("comp", spec.comp)];
    let query: Vec<String> =
        query.iter().filter_map(|(name, value)| value.map(|value| format!("{name}={value}"))).collect();
    let methods = spec.methods.join(",");
    let sas = if spec.needs.is_empty() { "-" } else { spec.needs };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:<28} {methods:<9} {on:<10} {:<24} {sas}", spec.name, query.join("&"));
}
