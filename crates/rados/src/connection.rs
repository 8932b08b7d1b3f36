//! The connection to a cluster, and to one of its pools.

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::rados::{Pool, ReadStep, Reading, Trouble, WriteStep};
use lazuli_engine::{BoxFuture, Stamp};

use crate::{flight, sys};

/// Where a cluster is, and who asks.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ceph's configuration file, with the monitors' addresses and the keyring.
    pub configuration: PathBuf,
    /// As in `client.lazuli`.
    pub user: String,
    pub pool: String,
    /// How long an operator may take before its outcome counts as lost. Long enough that OSDs can die and be replaced.
    pub patience: Duration,
}

/// How long a client is shut out: longer than a process that was stopped in the middle of a request can be expected to go on.
const SHUT_OUT_SECONDS: u32 = 30 * 24 * 3600;

/// Why there is no connection. The text says what to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError(pub String);

impl std::fmt::Display for ConnectError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

/// A pool of a cluster.
#[derive(Clone)]
pub struct Cluster {
    pool: Arc<OpenPool>,
}

/// The handles of librados, which may be used from any thread.
pub(crate) struct OpenPool {
    cluster: sys::Cluster,
    pub io: sys::IoContext,
}

// SAFETY: librados locks what it shares between threads: "rados_t" and "rados_ioctx_t" may be used from several at once, as
// long as nobody changes settings of the io context, which happens only before it is shared.
unsafe impl Send for OpenPool {}
// SAFETY: as above.
unsafe impl Sync for OpenPool {}

struct Handles(sys::Cluster, sys::IoContext);
// SAFETY: they are moved to the thread that ends them, after their last use.
unsafe impl Send for Handles {}

impl Handles {
    fn end(self) {
        // SAFETY: nobody has the handles any more, and no operator is in flight: each holds the pool.
        unsafe {
            if !self.1.is_null() {
                sys::rados_ioctx_destroy(self.1);
            }
            sys::rados_shutdown(self.0);
        }
    }
}

impl Drop for OpenPool {
    fn drop(&mut self) {
        let handles = Handles(self.cluster, self.io);
        if !flight::is_completing() {
            return handles.end();
        }
        // The last one to hold the pool is a completion, and a shutdown waits for the thread that completions run on.
        let ended = std::thread::Builder::new().name("rados-shutdown".into()).spawn(move || handles.end());
        if let Err(error) = ended {
            tracing::warn!(%error, "a connection to the cluster stays open until the process ends");
        }
    }
}

impl Cluster {
    /// Connects, which blocks for as long as the monitors take to answer, at most `patience`.
    pub fn connect(options: &Options) -> Result<Self, ConnectError> {
        let said = |what: &str, code: c_int| ConnectError(format!("{what}: {}", describe(code)));
        let user = text(&format!("client.{}", options.user.trim_start_matches("client.")))?;
        let mut cluster: sys::Cluster = ptr::null_mut();
        // SAFETY: `cluster` and the texts live until the call returns; librados copies the texts.
        let code = unsafe { sys::rados_create2(&mut cluster, c"ceph".as_ptr(), user.as_ptr(), 0) };
        if code < 0 {
            return Err(said("librados cannot be set up", code));
        }
        // From here on the handle is shut down on every way out.
        let mut open = OpenPool { cluster, io: ptr::null_mut() };
        let path = options.configuration.display().to_string();
        let file = text(&path)?;
        // SAFETY: the handle is valid, and the text lives until the call returns.
        let code = unsafe { sys::rados_conf_read_file(cluster, file.as_ptr()) };
        if code < 0 {
            return Err(said(&format!("Ceph's configuration {path} cannot be read"), code));
        }
        let patience = options.patience.as_secs().max(1).to_string();
        for (option, value) in [
            ("rados_osd_op_timeout", patience.as_str()),
            ("rados_mon_op_timeout", &patience),
            ("client_mount_timeout", &patience),
        ] {
            let (option, value) = (text(option)?, text(value)?);
            // SAFETY: the handle is valid, and the texts live until the call returns.
            let code = unsafe { sys::rados_conf_set(cluster, option.as_ptr(), value.as_ptr()) };
            if code < 0 {
                return Err(said("librados refuses a timeout", code));
            }
        }
        // SAFETY: the handle is valid and configured.
        let code = unsafe { sys::rados_connect(cluster) };
        if code < 0 {
            return Err(said(
                "the cluster does not answer, or refuses this user: look at its monitors and at the keyring",
                code,
            ));
        }
        let name = text(&options.pool)?;
        // SAFETY: the handle is connected; `open.io` and the text live until the call returns.
        let code = unsafe { sys::rados_ioctx_create(cluster, name.as_ptr(), &mut open.io) };
        if code < 0 {
            return Err(said(&format!("the pool {} cannot be opened (does it exist?)", options.pool), code));
        }
        Ok(Self { pool: Arc::new(open) })
    }

    /// What time it is for the cluster's monitors. Blocks.
    pub fn time(&self) -> Result<Stamp, ConnectError> {
        let report = self.ask_monitors(r#"{"prefix":"report","format":"json"}"#)?;
        let report: serde_json::Value =
            serde_json::from_slice(&report).map_err(|error| ConnectError(format!("the monitors' report: {error}")))?;
        let told = report.get("timestamp").and_then(serde_json::Value::as_str);
        told.and_then(stamp).ok_or_else(|| ConnectError("the monitors' report tells no time".into()))
    }

    fn ask_monitors(&self, command: &str) -> Result<Vec<u8>, ConnectError> {
        let command = text(command)?;
        let commands = [command.as_ptr()];
        let (mut output, mut length): (*mut c_char, usize) = (ptr::null_mut(), 0);
        // SAFETY: the handle is connected; the command and the two places for the answer live until the call returns. The
        // status is not asked for, which null pointers say.
        let code = unsafe {
            sys::rados_mon_command(
                self.pool.cluster,
                commands.as_ptr(),
                1,
                ptr::null(),
                0,
                &mut output,
                &mut length,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        if output.is_null() {
            return if code < 0 {
                Err(ConnectError(format!("the monitors: {}", describe(code))))
            } else {
                Ok(Vec::new())
            };
        }
        // SAFETY: librados allocated `length` bytes at `output`; they are copied, and then freed once.
        let answer = unsafe {
            let answer = std::slice::from_raw_parts(output.cast::<u8>(), length).to_vec();
            sys::rados_buffer_free(output);
            answer
        };
        if code < 0 { Err(ConnectError(format!("the monitors: {}", describe(code)))) } else { Ok(answer) }
    }
}

impl Pool for Cluster {
    fn write(&self, object: &str, steps: Vec<WriteStep>) -> BoxFuture<'static, Result<(), Trouble>> {
        let answer = flight::write(self.pool.clone(), object, &steps);
        Box::pin(async { answer?.await.unwrap_or(Err(Trouble::Lost)) })
    }

    fn read(&self, object: &str, steps: Vec<ReadStep>) -> BoxFuture<'static, Result<Reading, Trouble>> {
        let answer = flight::read(self.pool.clone(), object, &steps);
        Box::pin(async { answer?.await.unwrap_or(Err(Trouble::Lost)) })
    }

    fn client(&self) -> Result<String, Trouble> {
        let mut addresses: *mut c_char = ptr::null_mut();
        // SAFETY: the handle is connected, and the place for the answer lives until the call returns.
        let code = unsafe { sys::rados_getaddrs(self.pool.cluster, &mut addresses) };
        if code < 0 || addresses.is_null() {
            return Err(flight::trouble(code));
        }
        // SAFETY: librados allocated a text that ends with NUL; it is copied, and then freed once.
        Ok(unsafe {
            let client = std::ffi::CStr::from_ptr(addresses).to_string_lossy().into_owned();
            sys::rados_buffer_free(addresses);
            client
        })
    }

    /// By the blocklist of the monitors. Operators name the newest map that their client has, and an OSD takes none before it has that map
    /// too: so one that has answered this client since knows the blocklist.
    fn shut_out(&self, client: &str) -> BoxFuture<'static, Result<(), Trouble>> {
        let (pool, client) = (self.pool.clone(), CString::new(client));
        let asked = tokio::task::spawn_blocking(move || {
            let client = client.map_err(|_| Trouble::Refused("a client's name with a NUL".into()))?.into_raw();
            // SAFETY: the handle is connected; the text lives until it is taken back below, and is not changed.
            let code = unsafe { sys::rados_blocklist_add(pool.cluster, client, SHUT_OUT_SECONDS) };
            // SAFETY: it came from a `CString` above, and is taken back once.
            drop(unsafe { CString::from_raw(client) });
            if code < 0 {
                return Err(match flight::trouble(code) {
                    Trouble::Refused(why) => Trouble::Refused(format!(
                        "a dead gateway cannot be shut out: {why}. The user needs mon 'allow r, allow command \"osd blocklist\"'"
                    )),
                    trouble => trouble,
                });
            }
            // SAFETY: the handle is connected.
            let code = unsafe { sys::rados_wait_for_latest_osdmap(pool.cluster) };
            if code < 0 { Err(flight::trouble(code)) } else { Ok(()) }
        });
        Box::pin(async { asked.await.unwrap_or(Err(Trouble::Lost)) })
    }
}

fn text(text: &str) -> Result<CString, ConnectError> {
    CString::new(text).map_err(|_| ConnectError(format!("{text:?} has a NUL byte in it")))
}

fn describe(code: c_int) -> String {
    std::io::Error::from_raw_os_error(-code).to_string()
}

/// `2026-11-17T22:08:29.123456+0000`, as monitors write it.
fn stamp(told: &str) -> Option<Stamp> {
    let number = |range: std::ops::Range<usize>| told.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second, micros) = (number(11..13)?, number(14..16)?, number(17..19)?, number(20..26)?);
    // Days since 1970-01-01 (Howard Hinnant's days_from_civil).
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    let ticks = seconds * lazuli_engine::clock::TICKS_PER_SECOND + micros * 10;
    Some(Stamp(lazuli_engine::clock::UNIX_EPOCH_TICKS + ticks))
}
