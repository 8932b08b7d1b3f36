//! One file that SMB clients have open and lock while REST clients read and write it: every refusal by a sharing mode or a lock must name the request
//! that opened or locked what is in the way. Clients of SMB call the store as the gateway does, and tell the recorder what it tells.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazuli_engine::BoxFuture;
use lazuli_http::{Service, recorder};
use lazuli_model::file::arbiter::{Access, Cache, Caching, Lock, Opening, Reach};
use lazuli_model::file::{Disposition, FilePath, Frozen, ShareName};
use lazuli_model::{AccountName, Refusal, Timestamp};
use lazuli_store::{
    Failure, FileAt, HandleAct, HandleAt, HandleCall, HandleObserver, Locked, NewEntry, OpenFile, Patience, ShareAt,
    Store, Wanted, Witness,
};

use super::scene::Scene;
use super::wire::{Request, Told, Wire};
use super::world::{Cast, Marks, Report, Saw};
use crate::chance::Chance;
use crate::client::ACCOUNT;

const LENGTH: u64 = 16;

pub fn setup() -> Vec<Request> {
    let file = Request::new("PUT", "/opn/f").with("x-ms-type", "file").with("x-ms-content-length", LENGTH.to_string());
    vec![Request::new("PUT", "/opn?restype=share"), file]
}

/// What was asked, as far as others mind.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Open { access: Access, sharing: Access },
    Close { handle: u64 },
    Lock { handle: u64, lock: Lock },
    Unlock { handle: u64, lock: Lock },
    Read { handle: u64, from: u64, to: u64 },
    Write { handle: u64, from: u64, to: u64 },
    RestRead { from: u64, to: u64 },
    RestWrite,
}

/// One call: by which id its record is found.
#[derive(Clone, Debug)]
struct Call {
    id: String,
    asked: Asked,
    /// Nobody knows whether it was done.
    open: bool,
    called: u64,
    returned: u64,
}

struct Handles(Vec<Call>);

pub fn cast(scene: &Arc<Scene>, chance: &mut Chance) -> Cast {
    let clients: Vec<_> = (0..scene.mischief.clients)
        .map(|id| tokio::spawn(client(id as u64 + 1, scene.clone(), Chance::new(chance.draw()))))
        .collect();
    tokio::spawn(async move {
        let mut calls = Vec::new();
        for client in clients {
            calls.extend(client.await.map_err(|gone| format!("a client of the handles ended: {gone}"))??);
        }
        Ok(Box::new(Handles(calls)) as Box<dyn Saw>)
    })
}

struct Client {
    session: u64,
    scene: Arc<Scene>,
    chance: Chance,
    share: ShareAt,
    open: Vec<HandleAt>,
    locks: Vec<(u64, Lock)>,
    calls: Vec<Call>,
}

async fn client(session: u64, scene: Arc<Scene>, chance: Chance) -> Result<Vec<Call>, String> {
    let share = ShareAt {
        account: AccountName::parse(ACCOUNT).expect("a name"),
        share: ShareName::parse("opn").expect("a name"),
    };
    let mut client = Client { session, scene, chance, share, open: Vec::new(), locks: Vec::new(), calls: Vec::new() };
    let mut wire = Wire::new(client.scene.clone(), Service::File);
    for _ in 0..client.scene.mischief.calls * 2 {
        for _ in 0..client.chance.below(4) {
            tokio::task::yield_now().await;
        }
        match client.chance.below(12) {
            0..=3 => client.open().await,
            4 => client.close().await,
            5..=6 => client.lock().await,
            7 => client.unlock().await,
            8 => client.through(false).await,
            9 => client.through(true).await,
            _ => client.rest(&mut wire).await?,
        }
    }
    while !client.open.is_empty() {
        client.close().await;
    }
    Ok(client.calls)
}

impl Client {
    fn range(&mut self) -> (u64, u64) {
        let from = self.chance.below(LENGTH as usize) as u64;
        (from, (from + 1 + self.chance.below(4) as u64).min(LENGTH))
    }

    fn picked(&mut self) -> Option<HandleAt> {
        if self.open.is_empty() { None } else { Some(self.chance.pick(&self.open).clone()) }
    }

    /// Says what the gateway would say, and remembers the call.
    fn tell<T>(&mut self, asked: Asked, (called, handle): (u64, u64), witness: &Witness, done: &Result<T, Failure>) {
        let (act, locks) = match asked {
            Asked::Open { .. } => (HandleAct::Open, None),
            Asked::Close { .. } => (HandleAct::Close, None),
            Asked::Lock { lock, .. } => (HandleAct::Lock, Some(lock)),
            Asked::Unlock { lock, .. } => (HandleAct::Unlock, Some(lock)),
            Asked::Read { .. } | Asked::RestRead { .. } => (HandleAct::Read, None),
            Asked::Write { .. } | Asked::RestWrite => (HandleAct::Write, None),
        };
        let (message, returned) = (called, self.scene.next());
        let id = format!("smb-{}-{message}", self.session);
        let refused = match done {
            Ok(_) => None,
            Err(Failure::Refused(Refusal::SharingViolation)) => Some("SharingViolation"),
            Err(Failure::Refused(Refusal::FileLockConflict)) => Some("FileLockConflict"),
            Err(Failure::Refused(_)) => return,
            Err(Failure::Broken(_)) => return self.calls.push(Call { id, asked, open: true, called, returned }),
        };
        self.calls.push(Call { id, asked, open: false, called, returned });
        if refused.is_none() && act == HandleAct::Read {
            return;
        }
        let sight = witness.sight();
        let Some(recorder) = self.scene.edge.recorder() else { return };
        recorder.observe(&HandleCall {
            act,
            share: &self.share,
            path: "f",
            handle,
            session: self.session,
            message,
            peer: [10, 0, 0, 9].into(),
            refused,
            at: Timestamp::from_ticks(sight.at.0),
            found: sight.found,
            locks: locks.as_slice(),
        });
    }

    /// A call begins: its number, and a store that watches it.
    fn begin(&self) -> (u64, Store, Arc<Witness>) {
        let witness = Arc::<Witness>::default();
        (self.scene.next(), self.scene.store.clone().witnessed(witness.clone()), witness)
    }

    async fn open(&mut self) {
        let mut any = || Access { read: self.chance.one_in(2), write: self.chance.one_in(2), delete: false };
        let (access, sharing) = (any(), any());
        let opening = Opening {
            access,
            sharing,
            reach: Reach::Content,
            truncate: false,
            delete_on_close: false,
            caching: Caching::NONE,
            cache: Cache::Oplock,
            epoch: 0,
            again: false,
        };
        let open = OpenFile {
            claim: None,
            session: self.session,
            gateway: 7,
            client: "10.0.0.9:445".into(),
            client_name: String::new(),
            opening,
            disposition: Disposition::Open,
            wanted: Wanted::File,
            new: NewEntry::default(),
        };
        let path = FilePath::parse("f", false).expect("a path");
        let at = FileAt { account: self.share.account.clone(), share: self.share.share.clone(), path };
        let (called, store, witness) = self.begin();
        let done = store.open_handle(&at, open, &Patience).await;
        let opened = done.as_ref().ok().and_then(Option::as_ref);
        let handle = opened.map_or(0, |opened| opened.handle);
        if let Some(opened) = opened {
            let (share, file) = (self.share.clone(), opened.entry.node.id);
            self.open.push(HandleAt { share, snapshot: None, file, handle });
        }
        self.tell(Asked::Open { access, sharing }, (called, handle), &witness, &done);
    }

    async fn close(&mut self) {
        let Some(at) = self.open.pop() else { return };
        self.locks.retain(|(handle, _)| *handle != at.handle);
        let (called, store, witness) = self.begin();
        let done = store.close_handle(&at.share, at.file, at.handle).await;
        self.tell(Asked::Close { handle: at.handle }, (called, at.handle), &witness, &done);
    }

    async fn lock(&mut self) {
        let Some(at) = self.picked() else { return };
        let (from, to) = self.range();
        let lock = Lock::new(from, to - from, self.chance.one_in(2));
        let (called, store, witness) = self.begin();
        let done = match store.lock_ranges(&at, vec![lock], None).await {
            Ok(Locked::Granted) => {
                self.locks.push((at.handle, lock));
                Ok(())
            }
            Ok(Locked::Held | Locked::Cancelled) => Err(Failure::Refused(Refusal::FileLockConflict)),
            Err(failure) => Err(failure),
        };
        self.tell(Asked::Lock { handle: at.handle, lock }, (called, at.handle), &witness, &done);
    }

    async fn unlock(&mut self) {
        let Some((handle, lock)) = self.locks.pop() else { return };
        let Some(at) = self.open.iter().find(|at| at.handle == handle).cloned() else { return };
        let (called, store, witness) = self.begin();
        let done = store.unlock_ranges(&at, vec![lock]).await;
        self.tell(Asked::Unlock { handle, lock }, (called, handle), &witness, &done);
    }

    async fn through(&mut self, writes: bool) {
        let Some(at) = self.picked() else { return };
        let ((from, to), handle) = (self.range(), at.handle);
        let (called, store, witness) = self.begin();
        if writes {
            let data = vec![b'x'; (to - from) as usize].into();
            let done = store.write_handle(&at, from, data, Frozen::default()).await;
            self.tell(Asked::Write { handle, from, to }, (called, handle), &witness, &done);
        } else {
            let done = store.read_handle(&at, from, to - from).await;
            self.tell(Asked::Read { handle, from, to }, (called, handle), &witness, &done);
        }
    }

    async fn rest(&mut self, wire: &mut Wire) -> Result<(), String> {
        let (from, to) = self.range();
        let (request, asked) = match self.chance.one_in(2) {
            true => (
                Request::new("GET", "/opn/f").with("x-ms-range", format!("bytes={from}-{}", to - 1)),
                Asked::RestRead { from, to },
            ),
            false => (
                Request::new("PUT", "/opn/f?comp=range")
                    .with("x-ms-range", format!("bytes={from}-{}", to - 1))
                    .with("x-ms-write", "update")
                    .body(vec![b'y'; (to - from) as usize]),
                Asked::RestWrite,
            ),
        };
        let called = self.scene.next();
        let request = request.with("x-ms-client-request-id", called.to_string());
        match wire.ask(&request, &mut self.chance).await {
            Told::Answer(_) | Told::Nothing => {
                let returned = self.scene.next();
                self.calls.push(Call { id: called.to_string(), asked, open: false, called, returned });
            }
            Told::Void => {}
            Told::Wrong(what) => return Err(format!("handles: {what}")),
        }
        Ok(())
    }
}

/// What is open, and by whom: told anew from what clients asked.
#[derive(Default)]
struct Standing<'a> {
    opens: BTreeMap<u64, (&'a str, Access, Access)>,
    locks: Vec<(u64, Lock, &'a str)>,
}

fn overlaps(lock: &Lock, from: u64, to: u64) -> bool {
    u128::from(lock.from) < u128::from(to) && u128::from(from) < lock.to
}

impl<'a> Standing<'a> {
    fn go_on(&mut self, asked: Asked, record: &'a recorder::Record) {
        match asked {
            Asked::Open { access, sharing } => {
                self.opens.insert(record.handle.unwrap_or_default(), (&record.request_id, access, sharing));
            }
            Asked::Close { handle } => {
                self.opens.remove(&handle);
                self.locks.retain(|(of, _, _)| *of != handle);
            }
            Asked::Lock { handle, lock } => self.locks.push((handle, lock, &record.request_id)),
            Asked::Unlock { handle, lock } => {
                if let Some(at) = self.locks.iter().position(|(of, held, _)| (*of, *held) == (handle, lock)) {
                    self.locks.remove(at);
                }
            }
            Asked::Read { .. } | Asked::Write { .. } | Asked::RestRead { .. } | Asked::RestWrite => {}
        }
    }

    /// The requests that are in the way: any of them may be blamed.
    fn causes(&self, asked: Asked, code: &str) -> Vec<&'a str> {
        let open = |clashes: &dyn Fn(Access, Access) -> bool| -> Vec<&'a str> {
            let all = self.opens.values().filter(|(_, access, sharing)| clashes(*access, *sharing));
            all.map(|(request, _, _)| *request).collect()
        };
        let locked = |blocks: &dyn Fn(u64, &Lock) -> bool| -> Vec<&'a str> {
            self.locks.iter().filter(|(of, lock, _)| blocks(*of, lock)).map(|(_, _, request)| *request).collect()
        };
        match (asked, code) {
            (Asked::Open { access, sharing }, _) => open(&|other, shared| {
                let denied = (access.read && !shared.read) || (access.write && !shared.write);
                let denies = (other.read && !sharing.read) || (other.write && !sharing.write);
                (other.read || other.write) && (denied || denies)
            }),
            (Asked::RestWrite, "SharingViolation") => open(&|_, shared| !shared.write),
            (Asked::RestRead { .. }, "SharingViolation") => open(&|_, shared| !shared.read),
            (Asked::RestWrite, _) => locked(&|_, _| true),
            (Asked::RestRead { from, to }, _) => locked(&|_, lock| lock.exclusive && overlaps(lock, from, to)),
            (Asked::Read { handle, from, to }, _) => {
                locked(&|of, lock| of != handle && lock.exclusive && overlaps(lock, from, to))
            }
            (Asked::Write { handle, from, to }, _) => {
                locked(&|of, lock| overlaps(lock, from, to) && !(of == handle && lock.exclusive))
            }
            (Asked::Lock { handle, lock: asked }, _) => locked(&|of, lock| {
                let stacked = of == handle && lock.exclusive && !asked.exclusive;
                let to = u64::try_from(asked.to).unwrap_or(u64::MAX);
                (lock.exclusive || asked.exclusive) && overlaps(lock, asked.from, to) && !stacked
            }),
            (Asked::Close { .. } | Asked::Unlock { .. }, _) => Vec::new(),
        }
    }
}

impl Saw for Handles {
    fn judge(&self) -> Result<Report, String> {
        Ok(Report { histories: 1, calls: self.0.len(), ..Report::default() })
    }

    fn explained(&self, records: &[recorder::Record]) -> Result<usize, String> {
        // A handle that nobody knows of may be in the way.
        let uncertain = self.0.iter().any(|call| call.open);
        let find = |record: &recorder::Record| {
            self.0.iter().find(|call| call.id == record.request_id || call.id == record.client_request_id)
        };
        let mut all: Vec<(&recorder::Record, &Call)> = records
            .iter()
            .filter(|record| record.object.ends_with("/opn/f"))
            .filter_map(|record| Some((record, find(record)?)))
            .collect();
        all.sort_by_key(|(record, _)| (record.at, record.seq));
        let (refusals, changes): (Vec<_>, Vec<_>) = all.into_iter().partition(|(record, _)| record.is_refusal());
        let mut explained = 0;
        for (record, call) in refusals {
            let told = recorder::explain(records, &record.request_id).ok_or("a refusal is not explained")?;
            let named = told.winner.as_ref().map(|winner| winner.request_id.as_str());
            // As in `explained`: a refusal is placed by what clients saw.
            let first = changes.iter().rposition(|(_, change)| change.returned < call.called);
            let last = changes.iter().position(|(_, change)| call.returned < change.called);
            let mut standing = Standing::default();
            let mut causes = Vec::new();
            for place in 0..=last.unwrap_or(changes.len()) {
                if first.is_none_or(|first| place > first) {
                    causes.extend(standing.causes(call.asked, &record.code));
                }
                if let Some((record, change)) = changes.get(place) {
                    standing.go_on(change.asked, record);
                }
            }
            match named {
                Some(named) if causes.contains(&named) => explained += 1,
                Some(_) | None if uncertain => {}
                Some(_) | None => {
                    let asked = call.asked;
                    return Err(format!(
                        "handles: {asked:?} was refused because of one of {causes:?}, and was told: {}",
                        told.text
                    ));
                }
            }
        }
        Ok(explained)
    }

    fn judge_after<'a>(&'a self, _scene: &'a Arc<Scene>, _marks: &'a Marks) -> BoxFuture<'a, Result<Report, String>> {
        // Handles do not outlive the process.
        Box::pin(async { self.judge() })
    }
}
