//! Who else on this machine can read what belongs to the server: nobody. Whatever the process makes is its owner's alone, and a data
//! directory from before that is made so at the start. What cannot be changed is named, with the command that mends it.

use std::path::Path;

/// Bits of the group and of others.
#[cfg(unix)]
const WIDE: u32 = 0o077;

/// From now on, files that this process makes are readable by their owner alone, also those that libraries make.
pub fn keep_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(WIDE));
}

/// Takes the rights of the group and of others from everything in `directory`. Gives what to tell the operator, if anything.
#[cfg(unix)]
pub fn tighten(directory: &Path) -> Vec<String> {
    let mut walk = Walk::default();
    // What --location names may itself be a link.
    let directory = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    walk.visit(&directory);
    let mut said = Vec::new();
    let at = directory.display();
    if walk.tightened > 0 {
        said.push(format!(
            "other users of this machine could read {} of the files in {at}; now they cannot. Account keys that were in there may be known: \
             change them with `lazuli account rotate-key`",
            walk.tightened
        ));
    }
    if let Some((path, why)) = walk.refused {
        said.push(format!(
            "{path} can be read by other users of this machine, and {} more like it in {at}: {why}. Make them private with: \
             chmod -R go-rwx {at}",
            walk.more
        ));
    }
    said
}

#[cfg(not(unix))]
pub fn tighten(_directory: &Path) -> Vec<String> {
    Vec::new()
}

#[cfg(unix)]
#[derive(Default)]
struct Walk {
    /// Files that others could read. A directory, which may be new and somebody else's making, says nothing by itself.
    tightened: usize,
    /// The first that could not be, and why.
    refused: Option<(String, String)>,
    more: usize,
}

#[cfg(unix)]
impl Walk {
    /// Links are not followed, and what goes away on the way is gone.
    fn visit(&mut self, path: &Path) {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
        if metadata.is_symlink() {
            return;
        }
        self.check(path, &metadata);
        if metadata.is_dir() {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.for_each(|entry| self.visit(&entry.path()));
        }
    }

    fn check(&mut self, path: &Path, metadata: &std::fs::Metadata) {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & WIDE == 0 {
            return;
        }
        match std::fs::set_permissions(path, PermissionsExt::from_mode(mode & !WIDE)) {
            // Some file systems have no permissions, and say nothing.
            Ok(()) if std::fs::metadata(path).is_ok_and(|now| now.permissions().mode() & WIDE == 0) => {
                self.tightened += usize::from(metadata.is_file());
            }
            Ok(()) => self.refuse(path, "the file system keeps no permissions".into()),
            Err(error) => self.refuse(path, error.to_string()),
        }
    }

    fn refuse(&mut self, path: &Path, why: String) {
        match self.refused {
            Some(_) => self.more += 1,
            None => self.refused = Some((path.display().to_string(), why)),
        }
    }
}

/// Whose reading of a file is worth a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Everybody but its owner.
    Others,
    /// Everybody but its owner and its group, as it is usual for the private keys of certificates.
    Strangers,
}

/// What to tell of a file with a secret in it that others can read. `what` it is.
#[cfg(unix)]
pub fn exposed(what: &str, path: &Path, to: Readers) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let mode = match to {
        Readers::Others => mode,
        Readers::Strangers => mode & !0o070,
    };
    let who = match mode {
        _ if mode & 0o007 != 0 => "every user",
        _ if mode & 0o070 != 0 => "the group",
        _ => return None,
    };
    let path = path.display();
    Some(format!("{what} {path} is open to {who} of this machine; make it private with: chmod go-rwx {path}"))
}

#[cfg(not(unix))]
pub fn exposed(_what: &str, _path: &Path, _to: Readers) -> Option<String> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_from_before_is_made_private() {
        let directory = std::env::temp_dir().join(format!("lazuli-permissions-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let (inner, file, elsewhere) = (directory.join("keys"), directory.join("keys/0.jnl"), directory.join("link"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(&file, "secret").unwrap();
        let outside = directory.with_extension("outside");
        std::fs::write(&outside, "not ours").unwrap();
        std::os::unix::fs::symlink(&outside, &elsewhere).unwrap();
        for (path, wide) in [(&directory, 0o755), (&inner, 0o777), (&file, 0o644), (&outside, 0o644)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(wide)).unwrap();
        }
        let said = tighten(&directory);
        assert!(said.len() == 1 && said[0].contains("could read 1 of"), "{said:?}");
        assert_eq!([mode(&directory), mode(&inner), mode(&file), mode(&outside)], [0o700, 0o700, 0o600, 0o644]);
        assert!(tighten(&directory).is_empty());

        assert!(exposed("the key", &file, Readers::Others).is_none());
        for (wide, who) in [(0o640, "the group"), (0o604, "every user"), (0o666, "every user")] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(wide)).unwrap();
            let said = exposed("the key", &file, Readers::Others).unwrap();
            assert!(said.contains(who) && said.contains("chmod go-rwx"), "{said}");
            assert_eq!(exposed("the key", &file, Readers::Strangers).is_some(), who == "every user");
        }
        std::fs::remove_dir_all(directory).unwrap();
        std::fs::remove_file(outside).unwrap();
    }
}
