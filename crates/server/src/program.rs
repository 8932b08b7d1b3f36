//! What the program is called decides what it starts: through a link named `azurite`, `azurite-blob`, `azurite-queue` or `azurite-table` it
//! starts what that program starts, and says on standard output what fixtures and test containers wait for.
//!
//! The lines were taken from Azurite 3.36. `azurite` says "is starting at" and "is successfully listening at"; the programs of one service
//! have words of their own, each its own, and say both here.

use std::ffi::OsStr;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    #[default]
    Lazuli,
    Azurite,
    AzuriteBlob,
    AzuriteQueue,
    AzuriteTable,
}

/// The services that Azurite has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Blob,
    Queue,
    Table,
}

impl Known {
    fn name(self) -> &'static str {
        match self {
            Known::Blob => "Blob",
            Known::Queue => "Queue",
            Known::Table => "Table",
        }
    }
}

impl Program {
    /// By the first word of the command line.
    pub fn called(word: &OsStr) -> Self {
        match Path::new(word).file_stem().and_then(OsStr::to_str) {
            Some("azurite") => Program::Azurite,
            Some("azurite-blob") => Program::AzuriteBlob,
            Some("azurite-queue") => Program::AzuriteQueue,
            Some("azurite-table") => Program::AzuriteTable,
            Some(_) | None => Program::Lazuli,
        }
    }

    pub fn is_azurite(self) -> bool {
        self != Program::Lazuli
    }

    pub fn serves(self, service: Known) -> bool {
        match self {
            Program::Lazuli | Program::Azurite => true,
            Program::AzuriteBlob => service == Known::Blob,
            Program::AzuriteQueue => service == Known::Queue,
            Program::AzuriteTable => service == Known::Table,
        }
    }

    /// Whether it starts services that Azurite does not have.
    pub fn serves_files(self) -> bool {
        matches!(self, Program::Lazuli | Program::Azurite)
    }

    /// Before a service listens, at `scheme://authority`.
    pub fn starting(self, service: Known, scheme: &str, authority: &str) -> Vec<String> {
        let name = service.name();
        let common = format!("Azurite {name} service is starting at {scheme}://{authority}");
        let own = format!("Azurite {name} service is starting on {authority}");
        self.lines(common, own)
    }

    /// When it can be asked.
    pub fn listening(self, service: Known, scheme: &str, authority: &str) -> Vec<String> {
        let name = service.name();
        let common = format!("Azurite {name} service is successfully listening at {scheme}://{authority}");
        let own = match service {
            Known::Blob | Known::Queue => {
                format!("Azurite {name} service successfully listens on {scheme}://{authority}")
            }
            Known::Table => format!("Azurite {name} service successfully started on {authority}"),
        };
        self.lines(common, own)
    }

    pub fn closing(self, service: Known) -> Vec<String> {
        self.lines(format!("Azurite {} service is closing...", service.name()), String::new())
    }

    pub fn closed(self, service: Known) -> Vec<String> {
        self.lines(format!("Azurite {} service successfully closed", service.name()), String::new())
    }

    fn lines(self, common: String, own: String) -> Vec<String> {
        match self {
            Program::Lazuli => Vec::new(),
            Program::Azurite => vec![common],
            Program::AzuriteBlob | Program::AzuriteQueue | Program::AzuriteTable => {
                [common, own].into_iter().filter(|line| !line.is_empty()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_decides() {
        for (word, program) in [
            ("lazuli", Program::Lazuli),
            ("/usr/local/bin/azurite", Program::Azurite),
            ("./azurite-blob", Program::AzuriteBlob),
            ("azurite-queue", Program::AzuriteQueue),
            ("azurite-table", Program::AzuriteTable),
            ("azurite-other", Program::Lazuli),
            ("", Program::Lazuli),
        ] {
            assert_eq!(Program::called(word.as_ref()), program, "{word}");
        }
    }

    /// As Azurite 3.36.0 printed them.
    #[test]
    fn the_lines_are_azurites() {
        let at = "0.0.0.0:10000";
        assert_eq!(
            [
                Program::Azurite.starting(Known::Blob, "http", at),
                Program::Azurite.listening(Known::Table, "https", at),
                Program::Azurite.closing(Known::Queue),
                Program::Azurite.closed(Known::Queue),
            ]
            .concat(),
            [
                "Azurite Blob service is starting at http://0.0.0.0:10000",
                "Azurite Table service is successfully listening at https://0.0.0.0:10000",
                "Azurite Queue service is closing...",
                "Azurite Queue service successfully closed",
            ]
        );
        for (lines, own) in [
            (
                Program::AzuriteBlob.starting(Known::Blob, "http", at),
                "Azurite Blob service is starting on 0.0.0.0:10000",
            ),
            (
                Program::AzuriteQueue.listening(Known::Queue, "http", at),
                "Azurite Queue service successfully listens on http://0.0.0.0:10000",
            ),
            (
                Program::AzuriteTable.listening(Known::Table, "http", at),
                "Azurite Table service successfully started on 0.0.0.0:10000",
            ),
        ] {
            assert_eq!(lines[1], own);
        }
        assert!(Program::Lazuli.starting(Known::Blob, "http", at).is_empty());
    }
}
