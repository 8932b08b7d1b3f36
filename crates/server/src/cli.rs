//! The command line, the environment and the configuration file, as one thing: a setting is a flag, wherever it is
//! written. Held true: the command line beats the environment, which beats the file, which beats the defaults.
//!
//! Azurite's flags are aliases, so that a script or a container definition for Azurite works with the name changed.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use lazuli_model::blob::Rehydration;

use crate::program::Program;

#[derive(Debug, Parser)]
#[command(name = "lazuli", version, about = "Azure Storage that anyone can run.", args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub flags: Flags,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serve (what happens without a command, too)
    Serve,
    /// Print the operations this build serves, and those it knows but does not serve yet
    Operations,
    /// Accounts, their keys and settings, of the server that uses --location (running or not)
    Account(AccountArguments),
    /// How far the times in --location are ahead of this machine's clock; no server may be using it
    Clock {
        #[command(subcommand)]
        command: Option<ClockCommand>,
    },
    /// Say why a request was refused, and which request won: the running server's record of the last changes
    Explain {
        /// The x-ms-request-id of the answer
        #[arg(value_name = "REQUEST-ID")]
        request_id: String,
    },
    /// Rules that make trouble on purpose, of a running server with --lab
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Empty the accounts of a running server with --lab: containers, queues, tables and shares go
    Reset {
        /// This one alone
        #[arg(long = "only", value_name = "NAME")]
        account: Option<String>,
    },
    #[command(flatten)]
    Transfer(TransferCommand),
    /// Read all that is stored at --location, while no server uses it, and list what is damaged
    Check,
    /// Copy what is whole at --location to a new directory, and list what is not
    Salvage {
        /// Where to; created
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Move all that is stored from a directory to a Ceph pool, or back, while no server uses either; run it again after a break
    Import {
        /// A data directory, or `rados` for the pool that --pool names
        #[arg(long, value_name = "DIR|rados")]
        from: String,
        /// The same; it has to be empty
        #[arg(long, value_name = "DIR|rados")]
        to: String,
    },
}

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct AccountArguments {
    /// Make a data directory at --location if there is none yet
    #[arg(long, global = true)]
    pub create: bool,
    #[command(subcommand)]
    pub command: AccountCommand,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ClockCommand {
    /// Move both clocks of a running server with --lab ahead: 61s, 15m, 2h, 3d
    Advance {
        #[arg(value_name = "TIME")]
        by: String,
    },
    /// Let new times begin at this machine's clock, though later ones were stamped
    SetBack,
}

/// URLs are http://HOST/ACCOUNT/CONTAINER/NAME or https://ACCOUNT.blob.HOST/CONTAINER/NAME, with a SAS or with AZURE_STORAGE_KEY set.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum TransferCommand {
    /// Copy blobs and files between directories and any endpoint; run it again after a break, and it goes on
    Cp {
        from: String,
        to: String,
        /// All that is below
        #[arg(long, short)]
        recursive: bool,
        /// Blocks of 8 MiB that are under way at once
        #[arg(long, default_value_t = 8)]
        parallel: usize,
    },
    /// List blobs; or containers, if the URL names an account
    Ls {
        url: String,
        #[arg(long, short)]
        recursive: bool,
    },
    /// Delete a blob, or all below a name
    Rm {
        url: String,
        #[arg(long, short)]
        recursive: bool,
    },
    /// Copy what is new or different by length or time
    Sync {
        from: String,
        to: String,
        /// Delete what the source does not have
        #[arg(long)]
        delete: bool,
        #[arg(long, default_value_t = 8)]
        parallel: usize,
    },
    /// Measure an account of any endpoint for some seconds: lazuli bench http://127.0.0.1:10000/devstoreaccount1
    Bench {
        url: String,
        #[arg(long, default_value_t = 3)]
        seconds: u64,
        #[arg(long, default_value_t = 16)]
        parallel: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum LabCommand {
    /// Show the rules, and how often they acted
    List,
    /// Make a rule, as in: lazuli lab add lose-race operation=PutBlob container=pictures count=1 (docs/lab-api.md)
    Add {
        #[arg(value_name = "DO")]
        what: String,
        #[arg(value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Remove a rule
    Remove { id: u64 },
    /// Remove all rules
    Clear,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum AccountCommand {
    /// Name the accounts that are stored
    List,
    /// Show an account's settings
    Show {
        name: String,
        /// And its keys
        #[arg(long)]
        keys: bool,
    },
    /// Change settings, as in: lazuli account set devstoreaccount1 versioning=on blob-soft-delete=7
    Set {
        name: String,
        #[arg(value_name = "SETTING=VALUE", required = true)]
        changes: Vec<String>,
    },
    /// Make an account with two new keys, and print them
    Create {
        name: String,
        /// Real directories: an account for Data Lake Storage
        #[arg(long)]
        hierarchical_namespace: bool,
        #[arg(value_name = "SETTING=VALUE")]
        changes: Vec<String>,
    },
    /// Delete an account that is empty
    Delete { name: String },
    /// Replace one of an account's two keys; the other keeps working
    RotateKey {
        name: String,
        #[arg(value_name = "KEY")]
        which: KeyName,
    },
    /// Make every user delegation key of an account worthless, and every SAS signed with one
    RevokeDelegationKeys { name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyName {
    Key1,
    Key2,
}

/// `--smb-encrypt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SmbEncrypt {
    /// By clients that want to
    Offered,
    /// By all of them
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    Directory,
    Rados,
}

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Where data lives; created when it does not exist
    #[arg(short, long, value_name = "DIR", default_value = "./lazuli-data", global = true)]
    pub location: PathBuf,

    /// Keep everything in memory; nothing is left after a stop
    #[arg(long, alias = "inMemoryPersistence", global = true)]
    pub in_memory: bool,

    /// What keeps the data: a directory of this machine, or a Ceph cluster that several servers share
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = EngineName::Directory, global = true)]
    pub engine: EngineName,

    /// The cluster's pool, for --engine rados
    #[arg(long, value_name = "NAME", default_value = "lazuli", global = true)]
    pub pool: String,

    /// Ceph's configuration file, with the monitors and the keyring
    #[arg(long, value_name = "FILE", default_value = "/etc/ceph/ceph.conf", global = true)]
    pub ceph_conf: PathBuf,

    /// Ceph's user, as in client.lazuli
    #[arg(long, value_name = "NAME", default_value = "lazuli", global = true)]
    pub ceph_user: String,

    /// Address to listen on; 0.0.0.0 or :: for every interface [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", value_parser = Host::parse, global = true)]
    pub host: Option<Host>,

    /// Address for the Blob service, and for what Azurite does not have, if --host does not say
    #[arg(long, alias = "blobHost", value_name = "ADDRESS", value_parser = Host::parse, global = true, hide = true)]
    pub blob_host: Option<Host>,

    /// Blob; every port: 0 picks a free one and prints it
    #[arg(long, alias = "blobPort", value_name = "PORT", default_value_t = 10000, global = true)]
    pub blob_port: u16,

    /// Queue
    #[arg(long, alias = "queuePort", value_name = "PORT", default_value_t = 10001, global = true)]
    pub queue_port: u16,

    /// Table
    #[arg(long, alias = "tablePort", value_name = "PORT", default_value_t = 10002, global = true)]
    pub table_port: u16,

    /// File [default: 10003, or a free port if that one is taken]
    #[arg(long, value_name = "PORT", global = true)]
    pub file_port: Option<u16>,

    /// Data Lake Storage [default: 10004, or a free port]
    #[arg(long, value_name = "PORT", global = true)]
    pub dfs_port: Option<u16>,

    /// File shares over SMB [default: 10445, or a free port if that one is taken]
    #[arg(long, value_name = "PORT", global = true)]
    pub smb_port: Option<u16>,

    /// Do not serve file shares over SMB
    #[arg(long, global = true)]
    pub no_smb: bool,

    /// Whether SMB clients have to encrypt; every session is signed
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = SmbEncrypt::Offered, global = true)]
    pub smb_encrypt: SmbEncrypt,

    /// Static websites [default: 10005, or a free port if that one is taken]
    #[arg(long, value_name = "PORT", global = true)]
    pub web_port: Option<u16>,

    /// /healthz, /readyz and /metrics [default: 10080, or a free port if that one is taken]
    #[arg(long, value_name = "PORT", global = true)]
    pub console_port: Option<u16>,

    /// A name besides localhost by which the console may be asked (addresses always may); repeatable
    #[arg(long = "console-name", value_name = "NAME", global = true)]
    pub console_names: Vec<String>,

    /// What opens the secrets in --location; made when it does not exist [default: secrets.key in --location]
    #[arg(long, value_name = "FILE", global = true)]
    pub key_file: Option<PathBuf>,

    /// A file with accounts, one NAME:KEY[:KEY2] on each line. Replaces the development account
    #[arg(long, value_name = "FILE", global = true)]
    pub account_file: Option<PathBuf>,

    /// An account as NAME:KEY[:KEY2], keys in base64; repeatable. Shows the key in the list of processes: better --account-file
    #[arg(long = "account", value_name = "NAME:KEY[:KEY2]", global = true)]
    pub accounts: Vec<String>,

    /// Serve only accounts that were given with --account or made with `lazuli account create`
    #[arg(long, global = true)]
    pub no_development_account: bool,

    /// A setting of an account, made at the start as by `lazuli account set`: devstoreaccount1:versioning=on; repeatable
    #[arg(long = "setting", value_name = "NAME:SETTING=VALUE", global = true)]
    pub settings: Vec<String>,

    /// A host besides this server that blobs may be copied from: example.com, *.example.com, HOST:PORT; repeatable
    #[arg(long = "copy-source", value_name = "HOST", global = true)]
    pub copy_sources: Vec<String>,

    /// A service's address at a load balancer, blob=storage.example:10000, so that copies from there need no network; repeatable
    #[arg(long = "reached-at", value_name = "SERVICE=HOST", global = true)]
    pub reached_at: Vec<String>,

    /// A JSON file whose members are these flags: {"blob-port": 10000, "account": ["name:key"]}
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,

    /// Certificate chain (PEM): serve HTTPS. Needs --key. Or a PFX file, with --pwd
    #[arg(long, value_name = "FILE", global = true)]
    pub cert: Option<PathBuf>,

    /// Private key (PEM) of --cert
    #[arg(long, value_name = "FILE", requires = "cert", global = true)]
    pub key: Option<PathBuf>,

    /// Password of a PFX file that is given as --cert; better in LAZULI_PWD, which other users do not see
    #[arg(long, value_name = "PASSWORD", global = true)]
    pub pwd: Option<String>,

    /// Accept bearer tokens: `basic` checks all but the signature (for development); `verify` needs --oauth-issuer
    #[arg(long, value_name = "MODE", value_enum, global = true)]
    pub oauth: Option<Oauth>,

    /// Whose tokens are accepted, and where the keys are (JWKS, a file or URL): https://issuer/=https://issuer/keys; repeatable
    #[arg(long = "oauth-issuer", value_name = "ISSUER[=KEYS]", global = true)]
    pub oauth_issuers: Vec<String>,

    /// An audience besides https://storage.azure.com; repeatable
    #[arg(long = "oauth-audience", value_name = "AUDIENCE", global = true)]
    pub oauth_audiences: Vec<String>,

    /// A role: OBJECT-ID=Storage Blob Data Reader[@ACCOUNT[/CONTAINER]]; also user:ID, group:ID, app:APPLICATION-ID, * for everybody, and WHO@ISSUER where there are several; repeatable
    #[arg(long = "role", value_name = "WHO=ROLE[@SCOPE]", global = true)]
    pub roles: Vec<String>,

    /// Accept bearer tokens and user delegation SAS without TLS
    #[arg(long, global = true)]
    pub oauth_insecure: bool,

    /// How much to log
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = Level::Info, global = true)]
    pub log_level: Level,

    /// How to write the log (to standard error)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text, global = true)]
    pub log_format: Format,

    /// Never look for the account in the host's name: it is the first part of the path
    #[arg(long, alias = "disableProductStyleUrl", global = true)]
    pub path_style_only: bool,

    /// Log every request (without signatures or keys)
    #[arg(long, global = true)]
    pub access_log: bool,

    /// Log at debug level, every request included, to this file as well
    #[arg(short, long, value_name = "FILE", global = true)]
    pub debug: Option<PathBuf>,

    /// Print no banner, and log only warnings and errors
    #[arg(short, long, global = true)]
    pub silent: bool,

    /// Ignore headers and parameters that are not supported, instead of refusing the request
    #[arg(short = 'L', long, global = true)]
    pub loose: bool,

    /// Bytes of memory for the record of changes and refusals that `lazuli explain` asks; 0 is none
    #[arg(long, value_name = "BYTES", default_value_t = lazuli_http::recorder::BYTES_DEFAULT, global = true)]
    pub recorder: u64,

    /// Let the operator make trouble on purpose: failures, lost races, moved clocks, reset. Never in production
    #[arg(long, global = true)]
    pub lab: bool,

    /// What opens the console's operator functions, at least 16 characters; better in LAZULI_OPERATOR_TOKEN [default: made at each start]
    #[arg(long, value_name = "TOKEN", global = true)]
    pub operator_token: Option<String>,

    /// Make these at the start unless they are there: container:pictures,queue:jobs,table:cats,share:home
    #[arg(long = "create", id = "create_at_start", value_name = "KIND:NAME,…")]
    pub create: Option<String>,

    /// At the start, put the files of each directory in DIR into the container of that name, unless they are there
    #[arg(long, value_name = "DIR", global = true)]
    pub seed: Option<PathBuf>,

    /// How long a blob takes to come back from the Archive tier; a third of it at high priority
    #[arg(long, value_name = "SECONDS", default_value_t = Rehydration::DEFAULT.standard_seconds, global = true)]
    pub rehydrate_seconds: u64,

    /// Keys of accounts stand on the command line itself.
    #[arg(skip)]
    pub keys_on_line: bool,
    /// Keys of accounts are in the configuration file.
    #[arg(skip)]
    pub keys_in_config: bool,

    #[command(flatten)]
    pub azurite: Azurite,

    /// What the program was called.
    #[arg(skip)]
    pub program: Program,
}

/// Flags of Azurite that need nothing here. Not shown in the help.
#[derive(Args, Clone, Debug)]
pub struct Azurite {
    #[arg(long, alias = "queueHost", value_parser = Host::parse, global = true, hide = true)]
    pub queue_host: Option<Host>,
    #[arg(long, alias = "tableHost", value_parser = Host::parse, global = true, hide = true)]
    pub table_host: Option<Host>,
    #[arg(long = "blobKeepAliveTimeout", global = true, hide = true)]
    pub blob_keep_alive: Option<u64>,
    #[arg(long = "queueKeepAliveTimeout", global = true, hide = true)]
    pub queue_keep_alive: Option<u64>,
    #[arg(long = "tableKeepAliveTimeout", global = true, hide = true)]
    pub table_keep_alive: Option<u64>,
    /// Every version is served, always.
    #[arg(long = "skipApiVersionCheck", global = true, hide = true)]
    pub skip_api_version_check: bool,
    /// There is no telemetry.
    #[arg(long = "disableTelemetry", global = true, hide = true)]
    pub disable_telemetry: bool,
    #[arg(long = "extentMemoryLimit", global = true, hide = true)]
    pub extent_memory_limit: Option<f64>,
}

impl Azurite {
    /// Flags that were given and change nothing. What is always so here, whatever they say, is not among them.
    pub fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--blobKeepAliveTimeout", self.blob_keep_alive.is_some()),
            ("--queueKeepAliveTimeout", self.queue_keep_alive.is_some()),
            ("--tableKeepAliveTimeout", self.table_keep_alive.is_some()),
            ("--extentMemoryLimit", self.extent_memory_limit.is_some()),
        ];
        given.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

/// An address to listen on, as it was given and as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub given: String,
    pub ip: IpAddr,
}

impl Host {
    pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// An address, or a name of this machine.
    fn parse(text: &str) -> Result<Self, String> {
        let found = text.trim_matches(['[', ']']).parse().ok().or_else(|| match text {
            "localhost" => Some(Self::LOOPBACK),
            name => (name, 0).to_socket_addrs().ok()?.next().map(|address| address.ip()),
        });
        let ip = found.ok_or("give an IP address such as 127.0.0.1 or 0.0.0.0, or a name that this machine knows")?;
        Ok(Self { given: text.to_owned(), ip })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Oauth {
    Basic,
    Verify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Reads the three places where settings are written. `variables` is the environment.
pub fn read(
    line: impl IntoIterator<Item = OsString>,
    variables: impl Fn(&str) -> Option<String>,
) -> Result<Cli, clap::Error> {
    let mut line: Vec<OsString> = line.into_iter().collect();
    let called = line.first().map_or(Program::Lazuli, |word| Program::called(word));
    let first = Cli::try_parse_from(&line)?;
    let mut layers = Vec::new();
    let (keys_on_line, mut keys_in_config) = (!first.flags.accounts.is_empty(), false);
    if let Some(file) = first.flags.config.or_else(|| variables("LAZULI_CONFIG").map(PathBuf::from)) {
        let from_file = file_arguments(&file).map_err(usage)?;
        check(&from_file, &format!("in the configuration file {}", file.display()))?;
        keys_in_config = from_file.iter().any(|argument| argument.starts_with("--account="));
        layers.extend(from_file);
    }
    let from_environment = environment_arguments(&variables);
    check(&from_environment, "in the environment")?;
    layers.extend(from_environment);
    let program = 1.min(line.len());
    line.splice(program..program, layers.into_iter().map(OsString::from));
    let cli = Cli::try_parse_from(line)?;
    Ok(Cli { flags: Flags { keys_on_line, keys_in_config, program: called, ..cli.flags }, ..cli })
}

/// Names the place of a mistake, which clap cannot know once the layers are joined.
fn check(arguments: &[String], place: &str) -> Result<(), clap::Error> {
    let program = std::iter::once("lazuli".to_string());
    let alone = |error: &clap::Error| error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    match Cli::try_parse_from(program.chain(arguments.iter().cloned())) {
        Ok(_) => Ok(()),
        // --cert may be in one place and --key in another.
        Err(error) if alone(&error) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Err(usage(format!("{place}: {reason}")))
        }
    }
}

fn usage(message: impl std::fmt::Display) -> clap::Error {
    Cli::command().error(clap::error::ErrorKind::ValueValidation, message)
}

/// `{"blob-port": 1, "in-memory": true, "account": ["a:b", "c:d"]}` as flags.
fn file_arguments(file: &std::path::Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read the configuration file {}: {error}", file.display()))?;
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text)
        .map_err(|error| format!("the configuration file {} is not a JSON object: {error}", file.display()))?;
    let mut arguments = Vec::new();
    for (name, value) in members {
        if name == "settings" {
            arguments.extend(settings_arguments(value).ok_or_else(|| {
                format!("{}: \"settings\" is {{\"ACCOUNT\": {{\"SETTING\": value}}}}", file.display())
            })?);
            continue;
        }
        let values = if let serde_json::Value::Array(values) = value { values } else { vec![value] };
        for value in values {
            match value {
                serde_json::Value::Bool(true) => arguments.push(format!("--{name}")),
                serde_json::Value::Bool(false) | serde_json::Value::Null => {}
                serde_json::Value::String(text) => arguments.push(format!("--{name}={text}")),
                serde_json::Value::Number(number) => arguments.push(format!("--{name}={number}")),
                serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
                    return Err(format!(
                        "{}: the value of {name:?} must be a string, number, boolean or a list of these",
                        file.display()
                    ));
                }
            }
        }
    }
    Ok(arguments)
}

/// `{"devstoreaccount1": {"versioning": true}}` as flags.
fn settings_arguments(accounts: serde_json::Value) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    for (account, settings) in accounts.as_object()? {
        for (name, value) in settings.as_object()? {
            let value = match value {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Bool(value) => value.to_string(),
                serde_json::Value::Number(number) => number.to_string(),
                serde_json::Value::Null => continue,
                serde_json::Value::Array(items) => {
                    items.iter().map(|item| item.as_str()).collect::<Option<Vec<_>>>()?.join(",")
                }
                serde_json::Value::Object(_) => return None,
            };
            arguments.push(format!("--setting={account}:{name}={value}"));
        }
    }
    Some(arguments)
}

/// `LAZULI_BLOB_PORT=1` as `--blob-port=1`, for every flag; and the accounts, under our name or Azurite's.
fn environment_arguments(variables: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut arguments = Vec::new();
    for flag in Cli::command().get_arguments().filter(|flag| flag.get_id() != "accounts") {
        let Some(long) = flag.get_long() else { continue };
        let name = format!("LAZULI_{}", long.replace('-', "_").to_uppercase());
        let Some(value) = variables(&name).filter(|value| !value.is_empty()) else { continue };
        if flag.get_action().takes_values() {
            arguments.push(format!("--{long}={value}"));
        } else if !matches!(value.as_str(), "0" | "false") {
            arguments.push(format!("--{long}"));
        }
    }
    if let Some(accounts) = variables("LAZULI_ACCOUNTS").or_else(|| variables("AZURITE_ACCOUNTS")) {
        arguments.extend(
            accounts.split(';').map(str::trim).filter(|one| !one.is_empty()).map(|one| format!("--account={one}")),
        );
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, variables: &[(&str, &str)]) -> Result<Cli, clap::Error> {
        let line = std::iter::once("lazuli").chain(line.split_whitespace()).map(OsString::from);
        let variables: Vec<(String, String)> = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        read(line, |name| variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()))
    }

    fn file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lazuli-cli-{}-{name}.json", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_arguments_serve_with_the_ports_developers_know() {
        let cli = parse("", &[]).unwrap();
        assert_eq!(cli.command, None);
        assert_eq!((cli.flags.blob_port, cli.flags.queue_port, cli.flags.table_port), (10000, 10001, 10002));
        // settings.rs has the defaults of these, because they may move.
        assert_eq!((cli.flags.file_port, cli.flags.dfs_port, cli.flags.host), (None, None, None));
    }

    #[test]
    fn azurites_command_lines_are_understood() {
        for line in [
            "--blobHost 0.0.0.0 --queueHost 0.0.0.0 --tableHost 0.0.0.0",
            "--silent --location /data --debug /data/debug.log --blobPort 8888",
            "-s -l /data -d /data/debug.log -L",
            "--loose --skipApiVersionCheck --disableTelemetry --disableProductStyleUrl",
            "--inMemoryPersistence --extentMemoryLimit 512.5",
            "--cert cert.pem --key key.pem --oauth basic",
            "--blobKeepAliveTimeout 5 --queueKeepAliveTimeout 5 --tableKeepAliveTimeout 5",
            "--queuePort 1 --tablePort 2 --cert c.pem --key k.pem --pwd x",
        ] {
            let cli = parse(line, &[]).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(cli.command, None, "{line}");
        }
        let cli = parse("--blobHost 0.0.0.0 --blobPort 1 --inMemoryPersistence --disableProductStyleUrl", &[]).unwrap();
        let host = Host { given: "0.0.0.0".into(), ip: IpAddr::from([0, 0, 0, 0]) };
        assert_eq!((cli.flags.blob_host, cli.flags.blob_port), (Some(host), 1));
        assert!(cli.flags.in_memory && cli.flags.path_style_only);
    }

    #[test]
    fn the_line_beats_the_environment_beats_the_file() {
        let config = file("layers", r#"{"blob-port": 1, "queue-port": 1, "table-port": 1, "in-memory": true}"#);
        let line = format!("--config {} --blob-port 3", config.display());
        let cli = parse(&line, &[("LAZULI_BLOB_PORT", "2"), ("LAZULI_QUEUE_PORT", "2")]).unwrap();
        assert_eq!((cli.flags.blob_port, cli.flags.queue_port, cli.flags.table_port), (3, 2, 1));
        assert!(cli.flags.in_memory);
        std::fs::remove_file(config).unwrap();
    }

    #[test]
    fn flags_go_before_or_after_the_command() {
        for line in ["serve --blob-port 7", "--blob-port 7 serve"] {
            let cli = parse(line, &[("LAZULI_QUEUE_PORT", "8")]).unwrap();
            let found = (cli.command, cli.flags.blob_port, cli.flags.queue_port);
            assert_eq!(found, (Some(Command::Serve), 7, 8), "{line}");
        }
    }

    #[test]
    fn accounts_come_from_anywhere() {
        let from = |line, variables: &[_]| parse(line, variables).unwrap().flags.accounts;
        assert_eq!(from("--account a:k1 --account b:k2:k3", &[]), ["a:k1", "b:k2:k3"]);
        assert_eq!(from("", &[("AZURITE_ACCOUNTS", "a:k1;b:k2:k3")]), ["a:k1", "b:k2:k3"]);
        assert_eq!(from("", &[("AZURITE_ACCOUNTS", "a:k1"), ("LAZULI_ACCOUNTS", "b:k2; ")]), ["b:k2"]);
        assert_eq!(from("--account c:k", &[("LAZULI_ACCOUNTS", "b:k2")]), ["b:k2", "c:k"]);
        let shown = |line, variables: &[_]| parse(line, variables).unwrap().flags.keys_on_line;
        assert!(shown("--account c:k", &[]) && !shown("", &[("LAZULI_ACCOUNTS", "b:k2")]));
        let file = |line, variables: &[_]| parse(line, variables).unwrap().flags.account_file;
        assert_eq!(file("", &[("LAZULI_ACCOUNT_FILE", "/run/accounts")]), Some("/run/accounts".into()));
    }

    #[test]
    fn mistakes_name_their_place() {
        let config = file("mistake", r#"{"blob-prot": 1}"#);
        let error = parse(&format!("--config {}", config.display()), &[]).unwrap_err().to_string();
        assert!(error.contains("configuration file") && error.contains("--blob-prot"), "{error}");
        std::fs::remove_file(config).unwrap();
        let error = parse("", &[("LAZULI_BLOB_PORT", "many")]).unwrap_err().to_string();
        assert!(error.contains("in the environment") && error.contains("--blob-port"), "{error}");
        assert!(parse("--blob-port 65536", &[]).is_err());
        assert!(parse("--host a..b", &[]).is_err());
    }
}
