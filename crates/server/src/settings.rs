//! What the flags come to: accounts, addresses and limits that have been checked. Every error says what to do.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use lazuli_engine::embedded::DataDirectory;
use lazuli_http::{Accounts, Options, Service};
use lazuli_model::AccountName;
use lazuli_model::blob::Rehydration;
use lazuli_smb::session::negotiation::Encryption;
use lazuli_store::Changes;

use crate::account;
use crate::cli::{EngineName, Flags, Host, SmbEncrypt};
use crate::listen::Door;
use crate::oauth::{self, KeySource};
use crate::permissions::{self, Readers};
use crate::program::{Known, Program};
use crate::tls::{Certificate, Tls};

/// The account that every Azure tool knows, with its public key: `UseDevelopmentStorage=true`.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Another with the same key, and a hierarchical namespace: lake tools need no configuration but its name.
pub const LAKE_ACCOUNT: &str = "devstorelake1";

const DEFAULT_FILE_PORT: u16 = 10003;
const DEFAULT_DFS_PORT: u16 = 10004;
const DEFAULT_WEB_PORT: u16 = 10005;
const DEFAULT_SMB_PORT: u16 = 10445;
const DEFAULT_CONSOLE_PORT: u16 = 10080;

/// Where data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Memory,
    Directory(PathBuf),
    /// Shared with other servers.
    Cluster(ClusterPlace),
}

/// A pool of a Ceph cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPlace {
    pub pool: String,
    pub configuration: PathBuf,
    pub user: String,
}

impl Place {
    fn of(flags: &Flags) -> Result<Self, String> {
        match flags.engine {
            EngineName::Rados if flags.in_memory => Err("give --engine rados or --in-memory, not both".into()),
            EngineName::Rados if cfg!(feature = "rados") => Ok(Self::Cluster(ClusterPlace {
                pool: flags.pool.clone(),
                configuration: flags.ceph_conf.clone(),
                user: flags.ceph_user.clone(),
            })),
            EngineName::Rados => {
                Err("this build knows no Ceph: build it with --features rados (it needs librados-dev)".into())
            }
            EngineName::Directory if flags.in_memory => Ok(Self::Memory),
            EngineName::Directory => Ok(Self::Directory(directory(flags))),
        }
    }
}

/// Where something is to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub at: SocketAddr,
    /// The host as it was given.
    pub host: String,
    /// The flag that chooses the port.
    pub flag: &'static str,
    /// The port is a default: if it is taken, a free one is used.
    pub may_move: bool,
}

pub struct Settings {
    pub place: Place,
    pub accounts: Accounts,
    /// For the banner: in order, and whether a key is the public one.
    pub account_names: Vec<(AccountName, bool)>,
    /// To be made at the start, as `lazuli account set` would.
    pub account_settings: Vec<(AccountName, Changes)>,
    /// The keys of accounts of the configuration, as they were given: the passwords of their SMB clients.
    pub account_keys: BTreeMap<AccountName, [String; 2]>,
    pub smb_encryption: Encryption,
    pub options: Options,
    pub program: Program,
    /// What is served, in the order of the banner.
    pub endpoints: Vec<(Door, Endpoint)>,
    pub console: Endpoint,
    /// Names by which the console may be asked, besides addresses and localhost.
    pub console_names: Vec<String>,
    pub tls: Option<Tls>,
    pub rehydration: Rehydration,
    /// Where the keys of token issuers are.
    pub key_sources: Vec<KeySource>,
    /// What opens the secrets that are stored, if it is not beside them.
    pub key_file: Option<PathBuf>,
    /// What the operator should know: secrets that others on this machine can read.
    pub exposed: Vec<String>,
    /// What opens the operator's part of the console, if it was given.
    pub operator_token: Option<String>,
}

impl Settings {
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        let tls = certificate(flags)?.map(Tls::open).transpose()?;
        let given = [account_file(flags.account_file.as_deref())?, flags.accounts.clone()].concat();
        let (mut accounts, account_names, account_keys) = accounts(&given, !flags.no_development_account)?;
        let is_development = given.is_empty() && !flags.no_development_account;
        let (trust, key_sources) = oauth::trust(flags, tls.is_some())?;
        if let Some(trust) = trust {
            accounts.accept_tokens(trust);
        }
        let console = endpoint(None, flags, movable(flags.console_port, DEFAULT_CONSOLE_PORT), "--console-port");
        let named = |host: &Option<Host>| host.as_ref().map(|host| host.given.clone());
        Ok(Self {
            place: Place::of(flags)?,
            accounts,
            account_names,
            account_settings: account_settings(&flags.settings, is_development)?,
            account_keys,
            smb_encryption: match flags.smb_encrypt {
                SmbEncrypt::Offered => Encryption::Offered,
                SmbEncrypt::Required => Encryption::Required,
            },
            options: Options { loose: flags.loose, path_style_only: flags.path_style_only, ..Options::default() },
            program: flags.program,
            endpoints: endpoints(flags),
            console_names: flags.console_names.iter().cloned().chain(named(&flags.host)).collect(),
            console,
            tls,
            rehydration: Rehydration::of(flags.rehydrate_seconds),
            key_sources,
            key_file: flags.key_file.clone(),
            exposed: exposed(flags),
            operator_token: operator_token(flags)?,
        })
    }
}

impl Settings {
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// An address that others can reach, if the public key opens what is served there.
    pub fn publicly_open(&self) -> Option<IpAddr> {
        let is_public = self.account_names.iter().any(|(_, is_public)| *is_public);
        let mut addresses = self.endpoints.iter().map(|(_, endpoint)| endpoint.at.ip());
        addresses.find(|ip| is_public && !ip.to_canonical().is_loopback())
    }
}

/// One that can be guessed is none.
fn operator_token(flags: &Flags) -> Result<Option<String>, String> {
    match &flags.operator_token {
        Some(token) if token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err("--operator-token has at least 16 characters, letters, digits or signs".into())
        }
        token => Ok(token.clone()),
    }
}

/// Where the certificate is, if there is one.
fn certificate(flags: &Flags) -> Result<Option<Certificate>, String> {
    let Some(cert) = flags.cert.clone() else { return Ok(None) };
    match (&flags.key, &flags.pwd) {
        (Some(key), _) => Ok(Some(Certificate::Pem { cert, key: key.clone() })),
        (None, Some(password)) => Ok(Some(Certificate::Pfx { file: cert, password: password.clone() })),
        (None, None) => {
            Err(format!("--cert {} needs --key FILE, or --pwd PASSWORD if it is a PFX file", cert.display()))
        }
    }
}

/// The port that was asked for, or one that may move.
fn movable(port: Option<u16>, default: u16) -> (u16, bool) {
    (port.unwrap_or(default), port.is_none())
}

/// `of` is the host of this endpoint alone; what Azurite does not have goes where its services go.
fn endpoint(of: Option<&Host>, flags: &Flags, (port, may_move): (u16, bool), flag: &'static str) -> Endpoint {
    let others = [&flags.blob_host, &flags.azurite.queue_host, &flags.azurite.table_host];
    let host = of.or(flags.host.as_ref()).or_else(|| others.into_iter().find_map(|host| host.as_ref()));
    let (ip, given) = match host {
        Some(host) => (host.ip, host.given.clone()),
        None => (Host::LOOPBACK, Host::LOOPBACK.to_string()),
    };
    Endpoint { at: SocketAddr::new(ip, port), host: given, flag, may_move }
}

/// Default ports of Blob, Queue and Table are fixed, because clients know them. The other defaults move to a free port if they are taken.
fn endpoints(flags: &Flags) -> Vec<(Door, Endpoint)> {
    // Azurite's services have each a host of their own, and without one it is this machine's.
    let own = |host: &Option<Host>| {
        let loopback = || Host { given: Host::LOOPBACK.to_string(), ip: Host::LOOPBACK };
        host.clone().or_else(|| flags.host.clone()).unwrap_or_else(loopback)
    };
    let (blob, queue, table) = (own(&flags.blob_host), own(&flags.azurite.queue_host), own(&flags.azurite.table_host));
    let fixed = |port: u16| (port, false);
    let (file, dfs, web) = (
        movable(flags.file_port, DEFAULT_FILE_PORT),
        movable(flags.dfs_port, DEFAULT_DFS_PORT),
        movable(flags.web_port, DEFAULT_WEB_PORT),
    );
    let program = flags.program;
    let (blobs, files) = (program.serves(Known::Blob), program.serves_files());
    let all = [
        (blobs, Door::Api(Service::Blob), endpoint(Some(&blob), flags, fixed(flags.blob_port), "--blob-port")),
        (
            program.serves(Known::Queue),
            Door::Api(Service::Queue),
            endpoint(Some(&queue), flags, fixed(flags.queue_port), "--queue-port"),
        ),
        (
            program.serves(Known::Table),
            Door::Api(Service::Table),
            endpoint(Some(&table), flags, fixed(flags.table_port), "--table-port"),
        ),
        (files, Door::Api(Service::File), endpoint(None, flags, file, "--file-port")),
        (blobs, Door::Api(Service::Dfs), endpoint(Some(&blob), flags, dfs, "--dfs-port")),
        (
            files && !flags.no_smb,
            Door::Smb,
            endpoint(None, flags, movable(flags.smb_port, DEFAULT_SMB_PORT), "--smb-port"),
        ),
        (blobs, Door::Website, endpoint(Some(&blob), flags, web, "--web-port")),
    ];
    all.into_iter().filter(|(served, ..)| *served).map(|(_, door, endpoint)| (door, endpoint)).collect()
}

/// A directory that Azurite works in stays as it is; ours goes inside it, under a name of its own. Called as Azurite, any directory is
/// one that it would work in.
fn directory(flags: &Flags) -> PathBuf {
    let location = flags.location.clone();
    let is_azurites = location.join("__azurite_db_blob__.json").exists();
    let may_be = flags.program.is_azurite() && !location.ends_with("lazuli-data") && !DataDirectory::is_at(&location);
    if is_azurites || may_be { location.join("lazuli-data") } else { location }
}

/// Who signs requests, the accounts' names with whether they are the development ones, and the keys as SMB clients type them.
type Configured = (Accounts, Vec<(AccountName, bool)>, BTreeMap<AccountName, [String; 2]>);

/// `NAME:KEY[:KEY2]`, several with `;` between. The last word on a name counts. None: the development account.
fn accounts(given: &[String], development: bool) -> Result<Configured, String> {
    let mut keys_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for account in given.iter().flat_map(|list| list.split(';')).map(str::trim).filter(|one| !one.is_empty()) {
        let (name, keys) =
            account.split_once(':').ok_or("an account is written NAME:KEY or NAME:KEY1:KEY2, with keys in base64")?;
        keys_of.insert(name, keys.split(':').collect());
    }
    if keys_of.is_empty() && development {
        keys_of.insert(DEVELOPMENT_ACCOUNT, vec![DEVELOPMENT_KEY]);
        keys_of.insert(LAKE_ACCOUNT, vec![DEVELOPMENT_KEY]);
    }
    let mut accounts = Accounts::new();
    let (mut names, mut texts) = (Vec::new(), BTreeMap::new());
    for (name, keys) in keys_of {
        let parsed = AccountName::parse(name).map_err(|_| {
            format!("the account name {name:?} is not valid: use 3 to 24 lower-case letters and digits")
        })?;
        accounts.add(parsed.clone(), &keys).map_err(|why| {
            format!("account {name}: {why}; make a new one with: head -c 64 /dev/urandom | base64 -w0")
        })?;
        let (first, last) = (keys.first().copied().unwrap_or_default(), keys.last().copied().unwrap_or_default());
        texts.insert(parsed.clone(), [first.to_owned(), last.to_owned()]);
        names.push((parsed, keys.contains(&DEVELOPMENT_KEY)));
    }
    Ok((accounts, names, texts))
}

/// Lines of `NAME:KEY[:KEY2]`. Empty ones, and those that begin with `#`, say nothing.
fn account_file(file: Option<&Path>) -> Result<Vec<String>, String> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read the account file {}: {error}", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

fn exposed(flags: &Flags) -> Vec<String> {
    let mut said = Vec::new();
    if flags.keys_on_line {
        said.push(
            "--account NAME:KEY shows the key to every user of this machine, in the list of processes; give it with --account-file or \
             LAZULI_ACCOUNTS, or make the account once with `lazuli account create`"
                .to_owned(),
        );
    }
    let files = [
        ("the account file", flags.account_file.as_deref(), Readers::Others),
        (
            "the configuration file with account keys",
            flags.config.as_deref().filter(|_| flags.keys_in_config),
            Readers::Others,
        ),
        ("the key file", flags.key_file.as_deref(), Readers::Others),
        ("the private key", flags.key.as_deref(), Readers::Strangers),
    ];
    said.extend(files.into_iter().filter_map(|(what, file, to)| permissions::exposed(what, file?, to)));
    said
}

/// `NAME:SETTING=VALUE`. The values are judged when they are made.
fn account_settings(given: &[String], is_development: bool) -> Result<Vec<(AccountName, Changes)>, String> {
    let mut of: BTreeMap<AccountName, Changes> = BTreeMap::new();
    if let Some(lake) = AccountName::parse(LAKE_ACCOUNT).ok().filter(|_| is_development) {
        of.insert(lake, vec![("hierarchical-namespace".to_owned(), "on".to_owned())]);
    }
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
        accounts(&given, true).map(|(_, names, _)| names.iter().map(|(name, _)| name.as_str().to_string()).collect())
    }

    #[test]
    fn accounts_replace_the_development_account() {
        assert_eq!(names(&[]).unwrap(), ["devstoreaccount1", "devstorelake1"]);
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
    fn accounts_come_from_a_file() {
        let file = std::env::temp_dir().join(format!("lazuli-accounts-{}", std::process::id()));
        std::fs::write(&file, "# ours\n\none:a2V5\n  two:a2V5:a2V5  \n").unwrap();
        let given = account_file(Some(&file)).unwrap();
        assert_eq!(given, ["one:a2V5", "two:a2V5:a2V5"]);
        std::fs::remove_file(&file).unwrap();
        assert!(account_file(Some(&file)).unwrap_err().contains("account file"));
        assert!(account_file(None).unwrap().is_empty());
    }

    #[test]
    fn a_bad_key_is_not_repeated() {
        assert!(!names(&["one:c2VjcmV0!"]).unwrap_err().contains("c2VjcmV0"));
    }
}
