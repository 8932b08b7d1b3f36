//! Logs: structured, to standard error and perhaps to a file. Held true: no key, no signature and no token is ever logged;
//! requests are logged under the target `lazuli::access`, without what is secret in them.

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::{Flags, Format, Level};
use crate::tail::Tail;

const ACCESS: &str = "lazuli::access";

/// The log file, if there is one.
pub struct Logs {
    file: Option<LogFile>,
    /// The last lines.
    pub tail: Tail,
}

impl Logs {
    /// After log rotation has moved the file: later lines go to a new file of the same name.
    pub fn reopen(&self) -> Result<(), String> {
        self.file.as_ref().map_or(Ok(()), LogFile::reopen)
    }
}

#[derive(Clone)]
struct LogFile(Arc<(PathBuf, RwLock<Arc<File>>)>);

impl LogFile {
    fn open(path: &Path) -> Result<Self, String> {
        Ok(Self(Arc::new((path.to_owned(), RwLock::new(Arc::new(open(path)?))))))
    }

    fn reopen(&self) -> Result<(), String> {
        let new = Arc::new(open(&self.0.0)?);
        *self.0.1.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

impl MakeWriter<'_> for LogFile {
    type Writer = Arc<File>;

    fn make_writer(&self) -> Arc<File> {
        self.0.1.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub fn start(flags: &Flags) -> Result<Logs, String> {
    let level = if flags.silent { LevelFilter::WARN } else { filter(flags.log_level) };
    let access = if flags.access_log { LevelFilter::DEBUG } else { level };
    let console = written(flags.log_format, std::io::stderr().is_terminal(), std::io::stderr)
        .with_filter(Targets::new().with_default(level).with_target(ACCESS, access));
    let log = flags.debug.as_deref().map(LogFile::open).transpose()?;
    let file = log.clone().map(|file| {
        written(flags.log_format, false, file).with_filter(Targets::new().with_default(LevelFilter::DEBUG))
    });
    let tail = Tail::default();
    // Not the access log: one request would push another's trouble out.
    let kept = written(Format::Text, false, tail.clone())
        .with_filter(Targets::new().with_default(LevelFilter::INFO).with_target(ACCESS, LevelFilter::OFF));
    tracing_subscriber::registry().with(console).with(file).with(kept).init();
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a panic: this is a bug, please report it")));
    Ok(Logs { file: log, tail })
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

fn written<S, W>(format: Format, colours: bool, to: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(to).with_ansi(colours);
    match format {
        Format::Text => layer.boxed(),
        Format::Json => layer.json().flatten_event(true).boxed(),
    }
}

fn open(path: &Path) -> Result<File, String> {
    let say = |error: std::io::Error| {
        format!("cannot write the log file {}: {error}; choose another with --debug", path.display())
    };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(say)?;
    }
    let mut options = File::options();
    options.create(true).append(true);
    // Names of blobs are nobody else's business.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(say)
}
