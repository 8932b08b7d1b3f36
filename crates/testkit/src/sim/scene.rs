//! What all clients of a world share: the server, the time, and numbers that nobody has had.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{Clock, Stamp};
use lazuli_http::{Accounts, Edge};
use lazuli_model::{AccountName, Timestamp};
use lazuli_store::Store;

use super::blob::Seen;
use crate::chance::Chance;
use crate::client::{ACCOUNT, KEY};

/// The clock moves in steps of 1.37 s: no sum of fewer than 137 of them is a whole number of seconds, so no lease and no
/// message ends at the very moment at which somebody looks.
pub const BEAT: u64 = 13_700_000;
const START: u64 = 639_000_000_000_000_000;

/// How rough a world is.
#[derive(Clone, Copy, Debug)]
pub struct Mischief {
    /// In a thousand: the engine or the content store answers with a fault.
    pub faults: usize,
    /// In a thousand: a client hangs up.
    pub hang_ups: usize,
    /// In a thousand: a client signs with a wrong key.
    pub forgeries: usize,
    /// In a thousand: the clock jumps before a call.
    pub jumps: usize,
    pub clients: usize,
    pub calls: usize,
    /// Bits were flipped: any answer may be an error, and none may be wrong.
    pub damaged: bool,
}

impl Mischief {
    pub fn of(seed: u64) -> Self {
        let calm = seed.is_multiple_of(4);
        Self {
            faults: if calm { 0 } else { 8 },
            hang_ups: if calm { 0 } else { 50 },
            forgeries: 15,
            jumps: 25,
            clients: 3,
            calls: 9,
            damaged: false,
        }
    }
}

/// Two clocks of two machines, one of them behind, and each question for the time is answered by either.
pub struct Time {
    ahead: AtomicU64,
    highest: AtomicU64,
    lag: u64,
    which: Mutex<Chance>,
}

impl Time {
    pub fn new(seed: u64) -> Arc<Self> {
        let mut chance = Chance::new(seed ^ 0xC10C);
        let lag = chance.below(6) as u64 * BEAT;
        Arc::new(Self { ahead: AtomicU64::new(START), highest: AtomicU64::new(START), lag, which: Mutex::new(chance) })
    }

    pub fn clock(self: &Arc<Self>) -> Clock {
        let time = self.clone();
        Clock::new(move || {
            let behind = time.which.lock().unwrap_or_else(PoisonError::into_inner).one_in(3);
            let ahead = time.ahead.load(SeqCst);
            Stamp(if behind { (ahead - time.lag).max(START) } else { ahead })
        })
    }

    /// What clients take for the time, and what their signatures are judged by. It may go back.
    pub fn outside(&self) -> Timestamp {
        Timestamp::from_ticks(self.ahead.load(SeqCst))
    }

    /// Forward by a few beats, or now and then back.
    pub fn jump(&self, chance: &mut Chance) {
        let beats = 1 + chance.below(9) as u64;
        if chance.one_in(6) {
            let now = self.ahead.load(SeqCst);
            self.ahead.store(now.saturating_sub(beats * BEAT).max(START), SeqCst);
        } else {
            self.ahead.fetch_add(beats * BEAT, SeqCst);
        }
        self.highest.fetch_max(self.ahead.load(SeqCst), SeqCst);
    }

    /// No operation that has ended happened later than this beat.
    pub fn latest(&self) -> u64 {
        beat(self.highest.load(SeqCst))
    }
}

/// The beat of a stamp.
pub fn beat(ticks: u64) -> u64 {
    ticks.saturating_sub(START) / BEAT
}

/// A beat in ticks, to add seconds to.
pub fn ticks(beat: u64) -> u64 {
    START + beat * BEAT
}

pub struct Scene {
    pub edge: Arc<Edge>,
    pub store: Store,
    pub time: Arc<Time>,
    pub accounts: Accounts,
    pub strangers: Accounts,
    pub mischief: Mischief,
    /// Blobs as they were once seen: what a copy may ask for.
    pub quarry: Mutex<Vec<Seen>>,
    /// Where it is written down when a call began, and when it was answered.
    marks: Option<File>,
    next: AtomicU64,
}

/// The first number of a scene that goes on where another ended.
pub const SEQUEL: u64 = 1 << 40;

impl Scene {
    pub fn new(
        edge: Arc<Edge>,
        store: Store,
        time: Arc<Time>,
        mischief: Mischief,
        marks: Option<File>,
        first: u64,
    ) -> Arc<Self> {
        let strangers = accounts(&KEY.replace("Eby8", "Eby9"));
        Arc::new(Self {
            edge,
            store,
            time,
            accounts: accounts(KEY),
            strangers,
            mischief,
            quarry: Mutex::default(),
            marks,
            next: AtomicU64::new(first),
        })
    }

    /// Whether what is lived here is recorded: then it is the embedded engine, with its threads.
    pub fn has_threads(&self) -> bool {
        self.marks.is_some()
    }

    /// Notes that a call began (`C`) or was answered (`R`).
    pub fn mark(&self, what: char, call: u64) {
        if let Some(mut marks) = self.marks.as_ref() {
            marks.write_all(format!("{what} {call}\n").as_bytes()).expect("marks never fail");
        }
    }

    /// A number that nobody has had, larger than all before.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    /// The earliest beat at which something that begins now can happen.
    pub fn earliest(&self) -> u64 {
        beat(self.store.now().ticks())
    }
}

pub fn accounts(key: &str) -> Accounts {
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &[key]).expect("a key");
    accounts
}
