//! The key file, under which the secrets in the data directory are sealed.
//!
//! Held true: no secret is sealed under a key that is not on disk yet; a key file is never overwritten; and where something is sealed,
//! nothing is served without the key that opens it.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::AccountName;
use lazuli_store::{SealedAccounts, SecretsKey, SecretsTrouble, Store};

use crate::ids;

/// Beside the data, unless --key-file says otherwise.
const FILE: &str = "secrets.key";
const COMMENT: &str = "# Lazuli key file. It opens the account keys and other secrets in the data directory. Keep it secret.\n\
                       # Without it they are lost: back it up too.\n";

/// Where the key file is.
pub fn key_file(directory: &Path, given: Option<&Path>) -> PathBuf {
    given.map_or_else(|| directory.join(FILE), Path::to_owned)
}

/// The store, with its secrets sealed under the key in `file`, which is made if there is none and nothing is sealed yet; and the accounts
/// whose secrets stood in the clear before.
pub async fn seal(store: Store, file: &Path) -> Result<(Store, SealedAccounts), String> {
    let key = match read(file)? {
        Some(key) => key,
        None => {
            let sealed =
                store.sealed_account().await.map_err(|failure| format!("accounts cannot be read: {failure:?}"))?;
            if let Some(account) = sealed {
                return Err(missing(file, account.as_str()));
            }
            make(file).map_err(|error| {
                format!(
                    "cannot make the key file {}: {error}; say where it may be with --key-file PATH",
                    file.display()
                )
            })?
        }
    };
    let store = store.sealing_under(key, Arc::new(ids::random));
    let accounts = store.seal_secrets().await.map_err(|trouble| refused(file, trouble))?;
    Ok((store, accounts))
}

/// What the operator should know of them.
pub fn told(accounts: &SealedAccounts) -> Vec<String> {
    let names = |names: &[AccountName]| names.iter().map(AccountName::as_str).collect::<Vec<_>>().join(", ");
    let mut said = Vec::new();
    if !accounts.sealed.is_empty() {
        said.push(format!(
            "secrets of these accounts stood in the clear in the data directory, and are sealed now: {}. Files that were written before may \
             hold them until they are rewritten, and so do backups: change the keys with `lazuli account rotate-key` and \
             `revoke-delegation-keys` if others could read these",
            names(&accounts.sealed)
        ));
    }
    if !accounts.left.is_empty() {
        said.push(format!(
            "secrets of these accounts stand in the clear in the data directory, and could not be sealed: {}. The next start tries again; is \
             there room on the disk?",
            names(&accounts.left)
        ));
    }
    said
}

fn missing(file: &Path, account: &str) -> String {
    format!(
        "the key file {} is missing, and the secrets of the account {account} are sealed under it: put it back, or say where it is with \
         --key-file PATH (or LAZULI_KEY_FILE). Nothing was changed",
        file.display()
    )
}

fn refused(file: &Path, trouble: SecretsTrouble) -> String {
    let file = file.display();
    match trouble {
        SecretsTrouble::OtherKey(account) => format!(
            "{file} is not the key file of this data directory: the secrets of the account {} are sealed under another. Put the right \
             one there, or say where it is with --key-file PATH (or LAZULI_KEY_FILE). Nothing was changed",
            account.as_str()
        ),
        SecretsTrouble::Damaged(account) => format!(
            "the secrets of the account {} are damaged, though {file} is the key that they were sealed under: restore the data directory \
             from a backup",
            account.as_str()
        ),
        SecretsTrouble::Failed(failure) => format!("the secrets of accounts cannot be read: {failure:?}"),
    }
}

/// `None` if there is no file. Lines that begin with `#` say nothing.
fn read(file: &Path) -> Result<Option<SecretsKey>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read the key file {}: {error}", file.display())),
    };
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let key = match lines[..] {
        [line] => STANDARD.decode(line).ok().and_then(|bytes| bytes.try_into().ok()),
        _ => None,
    };
    key.map(|key| Some(SecretsKey(key))).ok_or_else(|| {
        format!(
            "{} is no key file: it must hold 32 bytes in Base64 on one line. Put the right one there, or say where it is with \
             --key-file PATH. A new one, for a new data directory, is made by: head -c 32 /dev/urandom | base64",
            file.display()
        )
    })
}

/// A new key, on disk under its name before it is used.
fn make(file: &Path) -> std::io::Result<SecretsKey> {
    let key = ids::secret();
    let new = file.with_extension("new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&new)?;
    out.write_all(format!("{COMMENT}{}\n", STANDARD.encode(key)).as_bytes())?;
    out.sync_all()?;
    // A link, unlike a rename, does not replace a file that somebody put there meanwhile.
    std::fs::hard_link(&new, file)?;
    std::fs::remove_file(&new)?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(parent)?.sync_all()?;
    Ok(SecretsKey(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lazuli-keyfile-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_key_file_is_made_once_and_read_again() {
        let directory = directory("made");
        let file = directory.join("secrets.key");
        assert!(read(&file).unwrap().is_none());
        let key = make(&file).unwrap();
        assert_eq!(read(&file).unwrap().map(|key| key.0), Some(key.0));
        assert!(make(&file).is_err(), "never overwritten");
        assert_eq!(read(&file).unwrap().map(|key| key.0), Some(key.0));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_no_key_says_what_to_do_and_is_not_repeated() {
        let directory = directory("bad");
        let file = directory.join("secrets.key");
        for text in [
            "",
            "# nothing\n",
            "c2VjcmV0",
            "not base64 at all",
            "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\nMDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        ] {
            std::fs::write(&file, text).unwrap();
            let error = read(&file).unwrap_err();
            assert!(error.contains("--key-file") && !error.contains("c2VjcmV0"), "{error}");
        }
        std::fs::write(&file, "# a comment\n\n  MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=  \n").unwrap();
        assert_eq!(read(&file).unwrap().map(|key| key.0), Some(*b"01234567890123456789012345678901"));
        std::fs::remove_dir_all(directory).unwrap();
    }
}
