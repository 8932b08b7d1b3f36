//! The other resources that operations name besides the one of the URL, as data. `serve/second.rs` finds and judges them.

use super::Spec;

/// How a request names another resource than the one of its URL. What is listed here is read through `Ask::naming` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A URL, with the credential that it is read by.
    CopySource,
    /// A URL or a path, perhaps with a SAS of its own.
    FileRenameSource,
    /// A path from the share's root.
    FileTargetFile,
    DeletedShareName,
    DeletedContainerName,
    /// A path from the account's root, perhaps with a SAS of its own.
    RenameSource,
    /// The address of an earlier snapshot of the same blob.
    PreviousSnapshotUrl,
    /// A parameter, not a header: the time of that snapshot.
    PreviousSnapshot,
}

impl By {
    pub const ALL: [By; 8] = [
        By::CopySource,
        By::FileRenameSource,
        By::FileTargetFile,
        By::DeletedShareName,
        By::DeletedContainerName,
        By::RenameSource,
        By::PreviousSnapshotUrl,
        By::PreviousSnapshot,
    ];

    pub const fn header(self) -> Option<&'static str> {
        match self {
            By::CopySource => Some("x-ms-copy-source"),
            By::FileRenameSource => Some("x-ms-file-rename-source"),
            By::FileTargetFile => Some("x-ms-file-target-file"),
            By::DeletedShareName => Some("x-ms-deleted-share-name"),
            By::DeletedContainerName => Some("x-ms-deleted-container-name"),
            By::RenameSource => Some("x-ms-rename-source"),
            By::PreviousSnapshotUrl => Some("x-ms-previous-snapshot-url"),
            By::PreviousSnapshot => None,
        }
    }

    /// The header with a token for that resource alone.
    pub const fn authorization(self) -> Option<&'static str> {
        match self {
            By::CopySource => Some("x-ms-copy-source-authorization"),
            By::FileRenameSource => Some("x-ms-file-rename-source-authorization"),
            By::FileTargetFile | By::DeletedShareName | By::DeletedContainerName | By::RenameSource => None,
            By::PreviousSnapshotUrl | By::PreviousSnapshot => None,
        }
    }
}

/// Another resource that an operation reads, moves or removes, besides the one of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    pub by: By,
    /// The rights that are needed on it, as the operations that have them. All that are of its kind ([`Spec::on`]) must be allowed.
    pub judged_as: &'static [&'static Spec],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::{NOW, arrival};
    use crate::head::{Head, Service};
    use crate::operation::{CATALOGUES, When};

    /// Of all services.
    fn all() -> Vec<&'static Spec> {
        CATALOGUES.iter().flat_map(|service| service.served).map(|operation| operation.spec).collect()
    }

    /// A header that names another resource is shown only to an operation that declares it, and the operations that one tells apart
    /// declare it.
    #[test]
    fn a_second_resource_is_declared() {
        for by in By::ALL {
            let Some(header) = by.header() else { continue };
            let request = http::Request::put("/account/container/blob").header(header, "x").body(()).unwrap();
            let head = Head::read(request.into_parts().0, arrival(Service::Blob, NOW)).unwrap();
            assert!(head.says(header));
            for spelt in [header.to_owned(), header.to_uppercase()] {
                assert_eq!(head.headers.get(&spelt), None, "{spelt}");
                assert_eq!(head.text(&spelt), None, "{spelt}");
            }
            assert!(head.headers.naming(by).is_some());
            for spec in all().into_iter().filter(|spec| spec.when.contains(&When::Header(header))) {
                assert!(spec.seconds.iter().any(|second| second.by == by), "{} names it by {header}", spec.name);
            }
        }
        for second in all().iter().flat_map(|spec| spec.seconds) {
            assert!(!second.judged_as.is_empty(), "{second:?} needs no right");
        }
    }

    /// Every header in the sources whose name sounds like another resource: it names one, and is in [`By`], or it is known not to.
    #[test]
    fn no_other_header_names_a_resource() {
        // Conditions, digests and ranges of a source; credentials; texts that are kept and not followed.
        let harmless = |name: &str| {
            name.starts_with("x-ms-source-")
                || name.starts_with("x-ms-copy-source-")
                || name.starts_with("x-ms-meta-")
                || name.ends_with("-authorization")
                || matches!(
                    name,
                    "x-ms-deleted-container-version"
                        | "x-ms-deleted-share-version"
                        | "x-ms-file-rename-replace-if-exists"
                        | "x-ms-file-rename-ignore-readonly"
                        | "x-ms-link-text"
                        | "x-ms-delete-snapshots"
                        | "x-ms-snapshot"
                        | "x-ms-link-count"
                        | "x-ms-copy-destination-snapshot"
                        | "x-ms-enable-snapshot-virtual-directory-access"
                        | "x-ms-file-support-rename"
                        | "x-ms-is-soft-deleted"
                        // Which of several deletions of the path in the URL.
                        | "x-ms-undelete-source"
                        | "x-ms-resource-type"
                        | "x-ms-existing-resource-type"
                )
        };
        let sounds = ["source", "target", "rename", "previous", "deleted", "link", "snapshot", "url"];
        let mut unknown = Vec::new();
        for (file, text) in sources(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
            for name in text.split('"').filter(|name| name.starts_with("x-ms-") && !name.contains(char::is_whitespace))
            {
                let named = By::ALL.iter().any(|by| by.header() == Some(name));
                if sounds.iter().any(|sound| name.contains(sound)) && !named && !harmless(name) {
                    unknown.push(format!("{file}: {name}"));
                }
            }
        }
        assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    }

    fn sources(directory: &std::path::Path) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(directory).expect("the sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                all.extend(sources(&path));
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                all.push((path.display().to_string(), std::fs::read_to_string(&path).expect("a source")));
            }
        }
        all
    }
}
