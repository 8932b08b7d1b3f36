//! The life of the process: open, listen, serve, stop. Held true: by the time the banner is printed everything listens;
//! a stop finishes what was begun, within a bound, and closes what is stored before the process ends; SIGHUP ends nothing.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lazuli_http::recorder::Recorder;
use lazuli_http::{Edge, Service};
use lazuli_model::AccountName;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::admin::Admin;
use crate::api::loopback::Loopback;
use crate::banner::Listening;
use crate::cli::Flags;
use crate::console::{Connections, Console};
use crate::crowd::Crowd;
use crate::data::Data;
use crate::lab::Lab;
use crate::listen::{self, Door, Shared, bind};
use crate::program::{Known, Program};
use crate::settings::{Endpoint, Place, Settings};
use crate::telemetry::Logs;
use crate::tls::Tls;
use crate::{account, background, banner, begin, clock, ids, oauth, permissions, secrets, smb, sources, telemetry};

/// How long requests in flight may take after a stop.
const GRACE: Duration = Duration::from_secs(10);
/// How long tasks that ignore the stop are waited for.
const LAST_CALL: Duration = Duration::from_secs(1);

pub fn run(flags: &Flags) -> Result<(), String> {
    let settings = Settings::resolve(flags)?;
    let slots = listen::connection_slots();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("lazuli")
        .max_blocking_threads(disk_threads())
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let outcome = runtime.block_on(serve(flags, settings, slots));
    runtime.shutdown_timeout(LAST_CALL);
    outcome
}

/// Threads that wait for the disk, at most. Each keeps some memory of what it once did, so their number bounds it
/// (docs/reliability.md); and all that they run is short: a read, a write, a sync.
fn disk_threads() -> usize {
    std::thread::available_parallelism().map_or(16, |cores| (8 * cores.get()).clamp(16, 128))
}

async fn serve(flags: &Flags, settings: Settings, slots: usize) -> Result<(), String> {
    let mut signals = Signals::new()?;
    let outer = Outer { program: settings.program, scheme: settings.scheme() };
    outer.starting(&settings.endpoints);
    let reached_at = sources::reached_at(&flags.reached_at)?;
    // Ports first: they are the likelier trouble, and a data directory that was not opened needs no closing.
    let (mut sockets, mut listening) = (Vec::new(), Vec::new());
    for (door, endpoint) in &settings.endpoints {
        let (socket, at) = bind_or_move(endpoint).await?;
        sockets.push(socket);
        listening.push((*door, at));
    }
    let (console_socket, console_at) = bind_or_move(&settings.console).await?;
    let gateway = ids::random();
    let data = Data::open(&settings.place, gateway)?.rehydrating_in(settings.rehydration).waking_by(smb::alarm());
    // After the data directory is opened, because the log may live in it, and a new one must be empty.
    let logs = telemetry::start(flags)?;
    match data.store.is_being_imported().await {
        Ok(false) => {}
        Ok(true) => return Err("an import to here was begun and has not ended: run `lazuli import` again".into()),
        Err(failure) => return Err(format!("what is stored cannot be read: {failure:?}")),
    }
    let data = Arc::new(keep_secrets(data, &settings).await?);
    for (name, changes) in &settings.account_settings {
        let ask = account::Ask::Set { name: name.as_str().into(), changes: changes.clone() };
        account::carry_out(&ask, &data.store, |name| settings.accounts.configured(name)).await?;
    }
    let directory = match &settings.place {
        Place::Directory(directory) => Some(directory.as_path()),
        Place::Memory | Place::Cluster(_) => None,
    };
    let admin = Admin::open(directory, console_at.at, settings.operator_token.as_deref())?;
    warn(flags, &settings);
    let mut banner = (!flags.silent).then(|| banner::text(&settings, &listening, &console_at));
    if let Some(warning) = clock::warning(data.clock()) {
        tracing::error!("{warning}");
        banner = banner.map(|banner| format!("{banner}\n{warning}"));
    }

    for warning in lab_warnings(flags, &data, &admin) {
        tracing::warn!("{}", warning.0);
        banner = banner.map(|banner| format!("{banner}\n{}{}", warning.0, warning.1));
    }

    let (stop, stopping) = watch::channel(false);
    let (end, ended) = watch::channel(false);
    let (alive, mut all_ended) = mpsc::channel(1);
    let crowd = Crowd::new(slots, listen::QUIET);
    if let Some(trust) = settings.accounts.trust() {
        oauth::load(trust, &settings.key_sources).await?;
        tokio::spawn(oauth::refresh(trust.clone(), settings.key_sources, stopping.clone()));
    }
    let ids = Arc::new(ids::random);
    let edge = Edge::new(data.store.clone(), settings.accounts, settings.options, ids, clock::wall_clock(&data.moved));
    let moved = data.moved.ticks.clone();
    edge.clocks_moved(Arc::new(move || moved.load(std::sync::atomic::Ordering::Acquire)));
    if flags.recorder > 0 {
        edge.record(Arc::new(Recorder::new(flags.recorder)));
    }
    let loopback = Loopback::new(edge.clone(), stopping.clone());
    let lab = flags.lab.then(|| Arc::new(Lab::new(edge.clone(), data.store.clone(), loopback.clone())));
    if let Some(lab) = &lab {
        edge.rehearse(lab.clone());
    }
    // What a file system and a process's memory hold is nobody else's.
    let alone = !matches!(settings.place, Place::Cluster(_));
    if !alone {
        // Before it serves: sweepers elsewhere wait only for readers of gateways that they have heard of.
        let told = data.store.beat(gateway, true).await;
        told.map_err(|failure| format!("other gateways cannot be told that this one is there: {failure:?}"))?;
    }
    edge.allow_sources(sources::sources(&copied_from(&listening), &reached_at, &flags.copy_sources));
    edge.resume_copies().await.map_err(|failure| format!("unfinished copies cannot be read: {failure:?}"))?;
    if !alone {
        tokio::spawn(background::take_over_copies(edge.clone(), stopping.clone()));
    }
    tokio::spawn(background::attend(data.store.clone(), gateway, alone, stopping.clone()));
    let recorder = edge.recorder().cloned();
    let smb = smb::gateway(data.store.clone(), gateway, settings.account_keys, settings.smb_encryption, recorder);
    tokio::spawn(smb.clone().attend());
    let console = Console {
        edge: edge.clone(),
        smb: smb.clone(),
        data: data.clone(),
        admin,
        names: settings.console_names,
        connections: Connections::new(crowd.places.clone(), sockets.len()),
        stopping: stopping.clone(),
        started: started(),
        started_at: data.store.now(),
        sessions: Arc::default(),
        cookie: format!("lazuli-{}", console_at.at.port()),
        loopback: loopback.clone(),
        lab,
        endpoints: reachable_endpoints(outer.scheme, &listening),
        place: match &settings.place {
            Place::Memory => "memory".to_owned(),
            Place::Cluster(_) => "a cluster".to_owned(),
            Place::Directory(path) => path.display().to_string(),
        },
        log: logs.tail.clone(),
    };
    begin(flags, &settings.account_names, &edge, &loopback).await?;
    let console = tokio::spawn(Arc::new(console).serve(console_socket, ended));
    let sweeping = tokio::spawn(background::sweep(data.clone(), stopping.clone()));
    let publishing = tokio::spawn(background::publish(data.clone(), stopping.clone()));
    let (dead, mut taken_for_dead) = watch::channel(false);
    tokio::spawn(background::attend_content(data.clone(), dead, stopping.clone()));
    tokio::spawn(background::age(data.clone(), stopping.clone()));
    tokio::spawn(background::report(data.clone(), stopping.clone()));
    tokio::spawn(background::replicate(data.clone(), stopping.clone()));
    let analysing = tokio::spawn(background::analyse(edge.clone(), data.clone(), stopping.clone()));
    let acceptor = settings.tls.as_ref().map(Tls::acceptor);
    let shared = Shared { edge, smb, tls: acceptor, crowd, stop: stopping, _alive: alive };
    for (socket, (door, _)) in sockets.into_iter().zip(&listening) {
        tokio::spawn(listen::accept(socket, *door, shared.clone()));
    }
    drop(shared);
    outer.listening(&settings.endpoints, &listening);
    banner.iter().for_each(|banner| announce(banner));
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "serving");

    let is_dead = loop {
        tokio::select! {
            signal = signals.wait() => match signal {
                Signal::Reload => reload(settings.tls.as_ref(), &logs),
                Signal::Stop => break false,
            },
            // Never, if nobody else could take it for dead.
            Ok(_) = taken_for_dead.wait_for(|dead| *dead) => break true,
        }
    };
    tracing::info!("stopping");
    outer.closing(&settings.endpoints);
    let _ = stop.send(true);
    tokio::select! {
        // `None` when the last holder of `alive` is gone.
        ended = timeout(GRACE, all_ended.recv()) => {
            if ended.is_err() {
                tracing::warn!("some requests were still running after {} s", GRACE.as_secs());
            }
        }
        () = signals.stop() => tracing::warn!("stopping at once"),
    }
    let _ = timeout(GRACE, sweeping).await;
    let _ = timeout(GRACE, publishing).await;
    let _ = timeout(GRACE, analysing).await;
    let closing = tokio::task::spawn_blocking(move || data.close());
    closing.await.map_err(|error| format!("closing failed: {error}"))?;
    let _ = end.send(true);
    let _ = timeout(LAST_CALL, console).await;
    outer.closed(&settings.endpoints);
    tracing::info!("stopped");
    match is_dead {
        true => Err(
            "other servers of the cluster took this one for dead, because it was silent for too long: start it anew"
                .into(),
        ),
        false => Ok(()),
    }
}

/// Nobody else on this machine reads what is stored, and what is secret in it is sealed.
async fn keep_secrets(data: Data, settings: &Settings) -> Result<Data, String> {
    settings.exposed.iter().for_each(|said| tracing::warn!("{said}"));
    let (data, accounts) = data.sealing(settings).await?;
    secrets::told(&accounts).iter().for_each(|said| tracing::warn!("{said}"));
    if let Place::Directory(directory) = &settings.place {
        permissions::tighten(directory).iter().for_each(|said| tracing::warn!("{said}"));
    }
    Ok(data)
}

/// What has to be there from the start, in the first account.
async fn begin(
    flags: &Flags,
    names: &[(AccountName, bool)],
    edge: &Arc<Edge>,
    loopback: &Loopback,
) -> Result<(), String> {
    let created = flags.create.as_deref().map(begin::parse).transpose()?.unwrap_or_default();
    if created.is_empty() && flags.seed.is_none() {
        return Ok(());
    }
    let first = names.first().and_then(|(name, _)| edge.accounts().get(name.as_str()));
    let account = first.ok_or("--create and --seed need an account: give one with --account or --account-file")?;
    begin::create(loopback, &account, &created).await?;
    if let Some(directory) = &flags.seed {
        let count = begin::seed(loopback, &account, directory).await?;
        tracing::info!(count, "blobs were made from the seed");
    }
    Ok(())
}

fn reachable_endpoints(scheme: &str, listening: &[(Door, Listening)]) -> Vec<(Door, String)> {
    let scheme = |door: Door| if door == Door::Smb { "smb" } else { scheme };
    listening.iter().map(|(door, at)| (*door, format!("{}://{}", scheme(*door), banner::reachable(at.at)))).collect()
}

/// What the log and the banner say of the lab; the second part is for the banner alone.
fn lab_warnings(flags: &Flags, data: &Data, admin: &Admin) -> Vec<(String, String)> {
    let mut warnings: Vec<(String, String)> =
        data.moved.warning().into_iter().map(|text| (text, String::new())).collect();
    if flags.lab {
        let text = "LAB: this server makes trouble on purpose when its operator asks for it. Never use it for data that matters.";
        // Nobody else can know the token of a server in memory.
        let token = match flags.in_memory && flags.operator_token.is_none() {
            true => format!("\n  Operator's token  {}", admin.token()),
            false => String::new(),
        };
        warnings.push((text.to_owned(), token));
    }
    warnings
}

/// Warns about settings that are dangerous or have no effect.
fn warn(flags: &Flags, settings: &Settings) {
    if let Some(address) = settings.publicly_open() {
        tracing::warn!(
            %address,
            "every client that reaches this address can read and write everything: the key of the development account is public; \
             give accounts of your own with --account, or listen on 127.0.0.1"
        );
    }
    if flags.oauth.is_some() && settings.tls.is_none() && !flags.oauth_insecure {
        tracing::warn!("bearer tokens are refused on plain HTTP: give --cert and --key, or --oauth-insecure");
    }
    for flag in flags.azurite.without_effect() {
        tracing::warn!(flag, "this flag of Azurite has no effect here");
    }
}

#[expect(clippy::disallowed_methods, reason = "uptime, which nothing depends on")]
fn started() -> Instant {
    Instant::now()
}

/// After SIGHUP. What cannot be read leaves things as they are: a server that works should not end by a typing mistake.
fn reload(tls: Option<&Tls>, logs: &Logs) {
    if let Err(why) = logs.reopen() {
        tracing::error!("{why}; the old log file stays in use");
    }
    match tls.map(Tls::reload) {
        Some(Err(why)) => tracing::error!("{why}; the old certificate stays in use"),
        Some(Ok(())) => tracing::info!("the certificate was read again"),
        None => tracing::info!("there is no certificate to read again"),
    }
}

/// Where there is something to copy.
fn copied_from(listening: &[(Door, Listening)]) -> Vec<(SocketAddr, Service)> {
    let source = |(door, listening): &(Door, Listening)| match door {
        Door::Api(service @ (Service::Blob | Service::File | Service::Dfs)) => Some((listening.at, *service)),
        Door::Api(Service::Queue | Service::Table) | Door::Website | Door::Smb => None,
    };
    listening.iter().filter_map(source).collect()
}

/// Binds the port, or a free one if the port is a default that may move: two servers can then run on one machine.
async fn bind_or_move(endpoint: &Endpoint) -> Result<(TcpListener, Listening), String> {
    let (socket, moved_from) = match bind(endpoint.at, endpoint.flag).await {
        Err(_) if endpoint.may_move => {
            (bind((endpoint.at.ip(), 0).into(), endpoint.flag).await?, Some(endpoint.at.port()))
        }
        bound => (bound?, None),
    };
    let at = address(&socket)?;
    Ok((socket, Listening { at, moved_from }))
}

/// What is said on standard output for those who wait for Azurite.
struct Outer {
    program: Program,
    scheme: &'static str,
}

impl Outer {
    fn starting(&self, endpoints: &[(Door, Endpoint)]) {
        self.say(endpoints, |service, endpoint| {
            self.program.starting(service, self.scheme, &authority(endpoint, endpoint.at.port()))
        });
    }

    fn listening(&self, endpoints: &[(Door, Endpoint)], listening: &[(Door, Listening)]) {
        for (pair, (_, listening)) in endpoints.iter().zip(listening) {
            self.say(std::slice::from_ref(pair), |service, endpoint| {
                self.program.listening(service, self.scheme, &authority(endpoint, listening.at.port()))
            });
        }
    }

    fn closing(&self, endpoints: &[(Door, Endpoint)]) {
        self.say(endpoints, |service, _| self.program.closing(service));
    }

    fn closed(&self, endpoints: &[(Door, Endpoint)]) {
        self.say(endpoints, |service, _| self.program.closed(service));
    }

    fn say(&self, endpoints: &[(Door, Endpoint)], lines: impl Fn(Known, &Endpoint) -> Vec<String>) {
        for (door, endpoint) in endpoints {
            let service = match door {
                Door::Api(Service::Blob) => Known::Blob,
                Door::Api(Service::Queue) => Known::Queue,
                Door::Api(Service::Table) => Known::Table,
                Door::Api(Service::File | Service::Dfs) | Door::Website | Door::Smb => continue,
            };
            lines(service, endpoint).iter().for_each(|line| announce(line));
        }
    }
}

/// The host as it was given, with a port.
fn authority(endpoint: &Endpoint, port: u16) -> String {
    match endpoint.host.contains(':') && !endpoint.host.starts_with('[') {
        true => format!("[{}]:{port}", endpoint.host),
        false => format!("{}:{port}", endpoint.host),
    }
}

fn address(listener: &TcpListener) -> Result<SocketAddr, String> {
    listener.local_addr().map_err(|error| error.to_string())
}

/// Nobody may be reading standard output; that is no reason not to serve.
fn announce(banner: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{banner}").and_then(|()| out.flush());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Stop,
    Reload,
}

impl Signals {
    async fn stop(&mut self) {
        while self.wait().await != Signal::Stop {}
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    async fn wait(&mut self) -> Signal {
        let _ = tokio::signal::ctrl_c().await;
        Signal::Stop
    }
}
