//! What the flags come to: accounts, addresses and limits that have been checked. Every error says what to do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use lazuli_http::{Accounts, Options};
use lazuli_model::AccountName;
use lazuli_model::blob::Rehydration;
use lazuli_store::Changes;
use tokio_rustls::TlsAcceptor;

use crate::cli::Flags;
use crate::oauth::{self, KeySource};
use crate::{account, tls};

/// The account that every Azure tool knows, with its public key: `UseDevelopmentStorage=true`.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const DEFAULT_WEB_PORT: u16 = 10005;
const DEFAULT_CONSOLE_PORT: u16 = 10080;

/// Where data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Memory,
    Directory(PathBuf),
}

pub struct Settings {
    pub place: Place,
    pub accounts: Accounts,
    /// For the banner: in order, and whether the key is the public one.
    pub account_names: Vec<(AccountName, bool)>,
    /// To be made at the start, as `lazuli account set` would.
    pub account_settings: Vec<(AccountName, Changes)>,
    pub options: Options,
    pub blob: SocketAddr,
    pub queue: SocketAddr,
    pub file: SocketAddr,
    pub table: SocketAddr,
    pub web: SocketAddr,
    /// Nobody asked for this port: if it is taken, another will do.
    pub web_may_move: bool,
    pub console: SocketAddr,
    /// Nobody asked for this console port: if it is taken, another will do.
    pub console_may_move: bool,
    pub tls: Option<TlsAcceptor>,
    pub rehydration: Rehydration,
    /// Where the keys of token issuers are.
    pub key_sources: Vec<KeySource>,
}

impl Settings {
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        refuse_azurites(flags)?;
        let tls = match (&flags.cert, &flags.key) {
            (Some(cert), Some(key)) => Some(tls::acceptor(cert, key)?),
            (None, _) | (_, None) => None,
        };
        let (mut accounts, account_names) = accounts(&flags.accounts, !flags.no_development_account)?;
        let (trust, key_sources) = oauth::trust(flags, tls.is_some())?;
        if let Some(trust) = trust {
            accounts.accept_tokens(trust);
        }
        Ok(Self {
            place: if flags.in_memory {
                Place::Memory
            } else {
                Place::Directory(beside_azurite(flags.location.clone()))
            },
            accounts,
            account_names,
            account_settings: account_settings(&flags.settings)?,
            options: Options { loose: flags.loose, ..Options::default() },
            blob: SocketAddr::new(flags.blob_host.unwrap_or(flags.host), flags.blob_port),
            queue: SocketAddr::new(flags.azurite.queue_host.unwrap_or(flags.host), flags.queue_port),
            file: SocketAddr::new(flags.host, flags.file_port),
            table: SocketAddr::new(flags.azurite.table_host.unwrap_or(flags.host), flags.table_port),
            web: SocketAddr::new(flags.blob_host.unwrap_or(flags.host), flags.web_port.unwrap_or(DEFAULT_WEB_PORT)),
            web_may_move: flags.web_port.is_none(),
            console: SocketAddr::new(flags.host, flags.console_port.unwrap_or(DEFAULT_CONSOLE_PORT)),
            console_may_move: flags.console_port.is_none(),
            tls,
            rehydration: Rehydration::of(flags.rehydrate_seconds),
            key_sources,
        })
    }
}

/// What Azurite can and we cannot. To ignore these would be to serve something else than was asked for.
fn refuse_azurites(flags: &Flags) -> Result<(), String> {
    if flags.azurite.pwd.is_some() {
        return Err(tls::pfx_advice(flags.cert.as_deref().unwrap_or("FILE.pfx".as_ref())));
    }
    Ok(())
}

/// A directory that Azurite works in stays as it is; ours goes inside it, under a name of its own.
fn beside_azurite(location: PathBuf) -> PathBuf {
    if location.join("__azurite_db_blob__.json").exists() { location.join("lazuli-data") } else { location }
}

/// `NAME:KEY[:KEY2]`, several with `;` between. The last word on a name counts. None: the development account.
fn accounts(given: &[String], development: bool) -> Result<(Accounts, Vec<(AccountName, bool)>), String> {
    let mut keys_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for account in given.iter().flat_map(|list| list.split(';')).map(str::trim).filter(|one| !one.is_empty()) {
        let (name, keys) =
            account.split_once(':').ok_or("an account is written NAME:KEY or NAME:KEY1:KEY2, with keys in base64")?;
        keys_of.insert(name, keys.split(':').collect());
    }
    if keys_of.is_empty() && development {
        keys_of.insert(DEVELOPMENT_ACCOUNT, vec![DEVELOPMENT_KEY]);
    }
    let mut accounts = Accounts::new();
    let mut names = Vec::new();
    for (name, keys) in keys_of {
        let parsed = AccountName::parse(name).map_err(|_| {
            format!("the account name {name:?} is not valid: use 3 to 24 lower-case letters and digits")
        })?;
        accounts.add(parsed.clone(), &keys).map_err(|why| {
            format!("account {name}: {why}; make a new one with: head -c 64 /dev/urandom | base64 -w0")
        })?;
        names.push((parsed, keys[0] == DEVELOPMENT_KEY));
    }
    Ok((accounts, names))
}

/// `NAME:SETTING=VALUE`. The values are judged when they are made.
fn account_settings(given: &[String]) -> Result<Vec<(AccountName, Changes)>, String> {
    let mut of: BTreeMap<AccountName, Changes> = BTreeMap::new();
    for text in given {
        let (name, setting) = text.split_once(':').ok_or_else(|| {
            format!("--setting {text}: write NAME:SETTING=VALUE, as in devstoreaccount1:versioning=on")
        })?;
        let name = AccountName::parse(name).map_err(|_| format!("--setting {text}: {name:?} is no account name"))?;
        of.entry(name).or_default().extend(account::pairs(&[setting.to_string()])?);
    }
    Ok(of.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[&str]) -> Result<Vec<String>, String> {
        let given: Vec<String> = given.iter().map(|text| text.to_string()).collect();
        accounts(&given, true).map(|(_, names)| names.iter().map(|(name, _)| name.as_str().to_string()).collect())
    }

    #[test]
    fn accounts_replace_the_development_account() {
        assert_eq!(names(&[]).unwrap(), ["devstoreaccount1"]);
        assert_eq!(names(&["one:a2V5"]).unwrap(), ["one"]);
        assert_eq!(names(&["one:a2V5;two:a2V5:a2V5", "three:a2V5"]).unwrap(), ["one", "three", "two"]);
    }

    #[test]
    fn a_bad_account_says_what_to_do() {
        for (given, advice) in [
            ("nokey", "NAME:KEY"),
            ("Upper:a2V5", "lower-case"),
            ("one:not base64", "base64"),
            ("one:", "base64 -w0"),
            ("one:a2V5:a2V5:a2V5", "one or two"),
        ] {
            let error = names(&[given]).unwrap_err();
            assert!(error.contains(advice), "{given}: {error}");
        }
    }

    #[test]
    fn a_bad_key_is_not_repeated() {
        assert!(!names(&["one:c2VjcmV0!"]).unwrap_err().contains("c2VjcmV0"));
    }
}
