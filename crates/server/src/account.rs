//! `lazuli account`: what Azure keeps in its management plane. A command is a value, carried out in one place: in the running
//! server, which is asked through its console, or here, on a data directory that no server uses.

use std::path::Path;

use lazuli_engine::embedded::DataDirectory;
use lazuli_model::AccountName;
use lazuli_model::account::{Account, AccountSettings, Keys, SETTINGS, WhichKey};
use lazuli_store::{AccountTrouble, Failure, Store};
use serde::{Deserialize, Serialize};

use crate::cli::{AccountArguments, AccountCommand, Flags, KeyName};
use crate::data::Data;
use crate::settings::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, Place, Settings};
use crate::{admin, ids, secrets};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    List,
    Show { name: String, keys: bool },
    Set { name: String, changes: Vec<(String, String)> },
    Create { name: String, changes: Vec<(String, String)> },
    Delete { name: String },
    RotateKey { name: String, key: WhichKey },
    RevokeDelegationKeys { name: String },
}

/// Carries out a command of the command line, and gives what is to be printed.
pub fn run(flags: &Flags, arguments: &AccountArguments) -> Result<String, String> {
    let settings = Settings::resolve(flags)?;
    let ask = Ask::of(&arguments.command)?;
    match &settings.place {
        Place::Memory => {
            return Err("a server in memory takes its accounts from --account and its settings from --setting".into());
        }
        Place::Directory(directory) => {
            if let Some(answer) = admin::ask_running(directory, &ask) {
                return answer;
            }
            if !arguments.create && !DataDirectory::is_at(directory) {
                return Err(no_directory(directory));
            }
        }
        // Servers that run see what is done here.
        Place::Cluster(_) => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let opened = runtime.block_on(async { Data::open(&settings.place, ids::random())?.sealing(&settings).await });
    let (data, accounts) = opened?;
    secrets::told(&accounts).iter().for_each(|said| eprintln!("lazuli: {said}"));
    let configured = |name: &str| settings.accounts.configured(name);
    let answer = runtime.block_on(carry_out(&ask, &data.store, configured));
    data.close();
    answer
}

/// A mistyped location would otherwise be a new, empty store, and the server would know nothing of what was done to it.
fn no_directory(directory: &Path) -> String {
    format!(
        "there is no data directory at {}: give the --location that the server uses, or --create to make one",
        directory.display()
    )
}

impl Ask {
    fn of(command: &AccountCommand) -> Result<Self, String> {
        Ok(match command {
            AccountCommand::List => Ask::List,
            AccountCommand::Show { name, keys } => Ask::Show { name: name.clone(), keys: *keys },
            AccountCommand::Set { name, changes } => Ask::Set { name: name.clone(), changes: pairs(changes)? },
            AccountCommand::Create { name, hierarchical_namespace, changes } => {
                let mut changes = pairs(changes)?;
                if *hierarchical_namespace {
                    changes.push(("hierarchical-namespace".to_owned(), "on".to_owned()));
                }
                Ask::Create { name: name.clone(), changes }
            }
            AccountCommand::Delete { name } => Ask::Delete { name: name.clone() },
            AccountCommand::RevokeDelegationKeys { name } => Ask::RevokeDelegationKeys { name: name.clone() },
            AccountCommand::RotateKey { name, which } => Ask::RotateKey {
                name: name.clone(),
                key: match which {
                    KeyName::Key1 => WhichKey::Key1,
                    KeyName::Key2 => WhichKey::Key2,
                },
            },
        })
    }
}

/// `versioning=on` as name and value; `lifecycle=@policy.json` has its value in a file.
pub fn pairs(settings: &[String]) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text}: a setting is written NAME=VALUE, as in versioning=on"))?;
        match value.strip_prefix('@') {
            None => Ok((name.to_string(), value.to_string())),
            Some(file) => {
                let read =
                    std::fs::read_to_string(file).map_err(|error| format!("{name}: cannot read {file}: {error}"));
                Ok((name.to_string(), read?))
            }
        }
    };
    settings.iter().map(pair).collect()
}

/// `configured` says whether an account's keys come from the configuration, where commands cannot change them.
pub async fn carry_out(ask: &Ask, store: &Store, configured: impl Fn(&str) -> bool) -> Result<String, String> {
    match ask {
        Ask::List => {
            let stored = store.accounts().await.map_err(|failure| said("accounts", failure.into()))?;
            let line = |(name, account): &(AccountName, Account)| {
                let keys = if account.keys.is_some() { "keys stored" } else { "keys from the configuration" };
                format!("{}  ({keys})\n", name.as_str())
            };
            Ok(stored.iter().map(line).collect())
        }
        Ask::Show { name, keys } => {
            let known = store.known_account(&parse(name)?).await.map_err(|failure| said(name, failure.into()))?;
            if known.account.is_none() && !configured(name) {
                return Err(said(name, AccountTrouble::NotFound));
            }
            let stored = known.account.as_ref().and_then(|account| account.keys.as_ref());
            let shown = match stored {
                _ if !*keys => String::new(),
                Some(stored) if !configured(name) => show_keys(stored),
                Some(_) | None => keys_elsewhere(name),
            };
            Ok(shown + &show(&known.settings))
        }
        Ask::Set { name, changes } => {
            let at = parse(name)?;
            let known = store.known_account(&at).await.map_err(|failure| said(name, failure.into()))?;
            if known.account.is_none() && !configured(name) {
                return Err(said(name, AccountTrouble::NotFound));
            }
            let account = store.set_account(&at, changes.clone()).await.map_err(|trouble| said(name, trouble))?;
            Ok(show(&account.settings))
        }
        Ask::Create { name, changes } => {
            if configured(name) {
                return Err(said(name, AccountTrouble::Exists));
            }
            let keys = Keys { key1: ids::key(), key2: ids::key() };
            let account = store.create_account(&parse(name)?, keys.clone(), changes.clone()).await;
            let account = account.map_err(|trouble| said(name, trouble))?;
            Ok(show_keys(&keys) + &show(&account.settings))
        }
        Ask::Delete { name } => {
            store.delete_account(&parse(name)?).await.map_err(|trouble| said(name, trouble))?;
            Ok(format!("deleted {name}\n"))
        }
        Ask::RotateKey { name, key } => {
            let new = ids::key();
            let account = store.rotate_account_key(&parse(name)?, *key, new).await;
            let account = account.map_err(|trouble| said(name, trouble))?;
            Ok(account.keys.as_ref().map(show_keys).unwrap_or_default())
        }
        Ask::RevokeDelegationKeys { name } => {
            store.revoke_delegation_keys(&parse(name)?).await.map_err(|trouble| said(name, trouble))?;
            Ok(format!("revoked the user delegation keys of {name}\n"))
        }
    }
}

fn parse(name: &str) -> Result<AccountName, String> {
    AccountName::parse(name)
        .map_err(|_| format!("the account name {name:?} is not valid: use 3 to 24 lower-case letters and digits"))
}

fn show(settings: &AccountSettings) -> String {
    let lines = settings.entries().zip(SETTINGS);
    lines.map(|((name, value), setting)| format!("{name:<24} {value:<12} {}\n", setting.about)).collect()
}

fn show_keys(keys: &Keys) -> String {
    format!("key1  {}\nkey2  {}\n\n", keys.key1, keys.key2)
}

/// Where to look for keys that are not stored.
fn keys_elsewhere(name: &str) -> String {
    let public = match name == DEVELOPMENT_ACCOUNT {
        true => format!("\nWithout any it has the public one of every development environment:\n{DEVELOPMENT_KEY}"),
        false => String::new(),
    };
    format!(
        "The keys of {name} are not stored here. The server is given them when it starts: with --account-file, in LAZULI_ACCOUNTS or\n\
         AZURITE_ACCOUNTS, with --account, or as \"account\" in its --config file.{public}\n\n"
    )
}

/// What went wrong, and what to do.
fn said(name: &str, trouble: AccountTrouble) -> String {
    match trouble {
        AccountTrouble::Exists => {
            format!("there is an account {name} already; change it with: lazuli account set {name} …")
        }
        AccountTrouble::NotFound => format!("there is no account {name}; make it with: lazuli account create {name}"),
        AccountTrouble::NoKeys => {
            format!(
                "the keys of {name} are given with --account or --account-file (or are the development account's, which never change); change them there"
            )
        }
        AccountTrouble::NotEmpty(what) => format!("{name} still has {what}; delete them first"),
        AccountTrouble::Bad(bad) => bad.to_string(),
        AccountTrouble::Failed(Failure::Refused(refusal)) => format!("{name}: refused: {refusal:?}"),
        AccountTrouble::Failed(Failure::Broken(fault)) => format!("{name}: the store failed: {fault:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Data {
        Data::open(&Place::Memory, 1).unwrap()
    }

    async fn say(data: &Data, ask: Ask) -> Result<String, String> {
        carry_out(&ask, &data.store, |name| name == "configured1").await
    }

    fn changes(text: &str) -> Vec<(String, String)> {
        pairs(&text.split_whitespace().map(str::to_string).collect::<Vec<_>>()).unwrap()
    }

    #[tokio::test]
    async fn an_account_lives_from_create_to_delete() {
        let data = data();
        let name = || "account1".to_string();
        let made = say(&data, Ask::Create { name: name(), changes: changes("versioning=on") }).await.unwrap();
        assert!(made.contains("versioning               on"), "{made}");
        let key = |text: &str, which: &str| {
            let line = text.lines().find(|line| line.starts_with(which)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_string()
        };
        let rotated = say(&data, Ask::RotateKey { name: name(), key: WhichKey::Key2 }).await.unwrap();
        assert_eq!(key(&made, "key1"), key(&rotated, "key1"));
        assert_ne!(key(&made, "key2"), key(&rotated, "key2"));
        let shown = say(&data, Ask::Show { name: name(), keys: true }).await.unwrap();
        assert_eq!(key(&shown, "key2"), key(&rotated, "key2"));
        let hidden = say(&data, Ask::Show { name: name(), keys: false }).await.unwrap();
        assert!(!hidden.contains("key1"));
        assert!(say(&data, Ask::List).await.unwrap().contains("account1  (keys stored)"));
        assert!(say(&data, Ask::Create { name: name(), changes: vec![] }).await.unwrap_err().contains("already"));
        say(&data, Ask::Delete { name: name() }).await.unwrap();
        assert!(say(&data, Ask::Show { name: name(), keys: false }).await.unwrap_err().contains("create account1"));
    }

    #[tokio::test]
    async fn a_configured_account_has_settings_but_no_keys_here() {
        let data = data();
        let name = || "configured1".to_string();
        let set = say(&data, Ask::Set { name: name(), changes: changes("blob-soft-delete=3") }).await.unwrap();
        assert!(set.contains("blob-soft-delete         3"), "{set}");
        let shown = say(&data, Ask::Show { name: name(), keys: true }).await.unwrap();
        assert!(shown.contains("--account-file") && shown.contains("--config") && !shown.contains("key1"), "{shown}");
        let rotated = say(&data, Ask::RotateKey { name: name(), key: WhichKey::Key1 }).await;
        assert!(rotated.unwrap_err().contains("--account"));
        let unknown = say(&data, Ask::Set { name: "stranger1".into(), changes: changes("versioning=on") }).await;
        assert!(unknown.unwrap_err().contains("lazuli account create stranger1"));
        let bad = say(&data, Ask::Set { name: name(), changes: changes("versioning=maybe") }).await;
        assert!(bad.unwrap_err().contains("on|off"));
    }
}
