//! The life of the process: open, listen, serve, stop. Held true: by the time the banner is printed everything listens;
//! a stop finishes what was begun, within a bound, and closes what is stored before the process ends.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_http::{Edge, Service};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::admin::Admin;
use crate::cli::Flags;
use crate::console::Console;
use crate::data::Data;
use crate::listen::{self, Door, Shared, bind};
use crate::settings::{Place, Settings};
use crate::{account, background, banner, ids, oauth, sources, telemetry};

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
    // Ports first: they are the likelier trouble, and a data directory that was not opened needs no closing.
    let blob = bind(settings.blob, "--blob-port").await?;
    let queue = bind(settings.queue, "--queue-port").await?;
    let file = bind(settings.file, "--file-port").await?;
    let table = bind(settings.table, "--table-port").await?;
    let web = bind_or_move(settings.web, settings.web_may_move, "--web-port").await?;
    let console_at = bind_or_move(settings.console, settings.console_may_move, "--console-port").await?;
    let data = Arc::new(Data::open(&settings.place)?.rehydrating_in(settings.rehydration));
    // After the data directory is opened, because the log may live in it, and a new one must be empty.
    telemetry::start(flags)?;
    for (name, changes) in &settings.account_settings {
        let ask = account::Ask::Set { name: name.as_str().into(), changes: changes.clone() };
        account::carry_out(&ask, &data.store, |name| settings.accounts.configured(name)).await?;
    }
    let directory = match &settings.place {
        Place::Directory(directory) => Some(directory.as_path()),
        Place::Memory => None,
    };
    let admin = Admin::open(directory, address(&console_at)?)?;
    if !flags.silent {
        let services = [
            ("Blob", address(&blob)?),
            ("Queue", address(&queue)?),
            ("Table", address(&table)?),
            ("File", address(&file)?),
        ];
        announce(&banner::text(&settings, &services, address(&web)?, address(&console_at)?));
    }

    let (stop, stopping) = watch::channel(false);
    let (alive, mut all_ended) = mpsc::channel(1);
    let slots = Arc::new(Semaphore::new(slots));
    if let Some(trust) = settings.accounts.trust() {
        oauth::load(trust, &settings.key_sources).await?;
        tokio::spawn(oauth::refresh(trust.clone(), settings.key_sources, stopping.clone()));
    }
    let edge = Edge::new(data.store.clone(), settings.accounts, settings.options, Arc::new(ids::random));
    let copied_from = [(address(&blob)?, Service::Blob), (address(&file)?, Service::File)];
    edge.allow_sources(sources::sources(&copied_from, &flags.copy_sources));
    edge.resume_copies().await.map_err(|failure| format!("unfinished copies cannot be read: {failure:?}"))?;
    let console = Console::new(edge.clone(), data.clone(), slots.clone(), admin);
    tokio::spawn(console.serve(console_at, stopping.clone()));
    let sweeping = tokio::spawn(background::sweep(data.store.clone(), stopping.clone()));
    // What a file system and a process's memory hold is nobody else's.
    tokio::spawn(background::attend(data.store.clone(), ids::random(), true, stopping.clone()));
    let publishing = tokio::spawn(background::publish(data.store.clone(), stopping.clone()));
    let shared = Shared { edge, tls: settings.tls, slots, stop: stopping, _alive: alive };
    tokio::spawn(listen::accept(web, Door::Website, shared.clone()));
    tokio::spawn(listen::accept(blob, Service::Blob, shared.clone()));
    tokio::spawn(listen::accept(queue, Service::Queue, shared.clone()));
    tokio::spawn(listen::accept(table, Service::Table, shared.clone()));
    tokio::spawn(listen::accept(file, Service::File, shared));
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "serving");

    signals.wait().await;
    tracing::info!("stopping");
    let _ = stop.send(true);
    tokio::select! {
        // `None` when the last holder of `alive` is gone.
        ended = timeout(GRACE, all_ended.recv()) => {
            if ended.is_err() {
                tracing::warn!("some requests were still running after {} s", GRACE.as_secs());
            }
        }
        () = signals.wait() => tracing::warn!("stopping at once"),
    }
    let _ = timeout(GRACE, sweeping).await;
    let _ = timeout(GRACE, publishing).await;
    let closing = tokio::task::spawn_blocking(move || data.close());
    closing.await.map_err(|error| format!("closing failed: {error}"))?;
    tracing::info!("stopped");
    Ok(())
}

async fn bind_or_move(at: SocketAddr, may_move: bool, flag: &str) -> Result<TcpListener, String> {
    match bind(at, flag).await {
        // Two servers on one machine should not quarrel about a port that nobody asked for.
        Err(_) if may_move => bind((at.ip(), 0).into(), flag).await,
        bound => bound,
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

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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

    async fn wait(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
