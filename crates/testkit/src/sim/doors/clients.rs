//! Clients of both doors. One over SMB speaks real frames to a gateway: it opens, reads, writes, locks, marks for deletion, loses its
//! connection, takes its handle up again; it caches writes while it may, and gives them up when it is told, or never answers. One over
//! REST calls the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::file::{CreateFile, PutRange, ReadFile, SetTime};
use lazuli_smb::packet::create::{self, Access, CreateOptions, Disposition, ShareAccess};
use lazuli_smb::packet::create_context::{Asked, Given, Lease};
use lazuli_smb::packet::file::{CloseRequest, FileId, LockElement, LockFlags, LockRequest, ReadRequest, WriteRequest};
use lazuli_smb::packet::oplock::{Break, LeaseAck, LeaseBreakFlags, LeaseState, OplockLevel};
use lazuli_smb::packet::query::{InfoType, SetRequest};
use lazuli_smb::packet::{Request, Response};
use lazuli_smb::status::Status;
use lazuli_store::{Broken, Failure, ListEntries, Source};
use tokio::io::DuplexStream;

use super::reference::{Answer, Call, PAGE, PAGES, Rights};
use super::{Door, Stage, file_at};
use crate::chance::Chance;
use crate::linear::Event;
use crate::smb_client::{Gone, SmbClient};

pub type DoorEvent = Event<Call, Answer>;

const NAME: &str = "f";
const DISPOSITION: u8 = 13;
/// What an open does, and what it lets others do.
const MODES: [(&str, &str); 8] =
    [("R", "RWD"), ("RW", "RWD"), ("RWD", "RWD"), ("RW", "R"), ("R", "R"), ("RW", ""), ("RD", "RWD"), ("RWD", "RW")];

/// What a client has open.
struct Held {
    number: u64,
    file: FileId,
    access: Rights,
    key: Option<[u8; 16]>,
    caching: LeaseState,
    durable: bool,
    locks: BTreeMap<usize, bool>,
    /// Written here, and not said yet; with the places of the records.
    dirty: BTreeMap<usize, (u64, Vec<usize>)>,
}

pub struct SmbUser {
    id: usize,
    stage: Arc<Stage>,
    chance: Chance,
    /// It never answers a break, and caches nothing.
    stubborn: bool,
    guid: u128,
    door: Option<Arc<Door>>,
    smb: Option<SmbClient<DuplexStream>>,
    held: Option<Held>,
    pub records: Vec<DoorEvent>,
}

impl SmbUser {
    pub fn new(id: usize, stage: Arc<Stage>, mut chance: Chance) -> Self {
        let (stubborn, guid) = (chance.one_in(5), 1 + id as u128);
        Self { id, stage, chance, stubborn, guid, door: None, smb: None, held: None, records: Vec::new() }
    }

    pub async fn live(mut self, calls: usize) -> Vec<DoorEvent> {
        for _ in 0..calls {
            for _ in 0..self.chance.below(12) {
                tokio::task::yield_now().await;
            }
            if self.turn().await.is_err() {
                self.lost();
            }
        }
        if self.held.is_some() && self.close().await.is_err() {
            self.lost();
        }
        if let Some(held) = self.held.take() {
            self.vanishes(held.number);
        }
        self.records
    }

    async fn turn(&mut self) -> Result<(), Gone> {
        self.connected().await?;
        self.heed().await?;
        let Some(held) = &self.held else { return self.open().await };
        let page = self.chance.below(PAGES);
        let (number, access, locked) = (held.number, held.access, held.locks.get(&page).copied());
        match self.chance.below(20) {
            0..=4 if access.read => self.read(number, page).await,
            5..=10 if access.write => self.write(number, page).await,
            11..=12 if locked.is_none() => self.lock(number, page).await,
            11..=13 if locked.is_some() => self.unlock(number, page).await,
            14 | 15 if access.delete => self.flag(number).await,
            16 => {
                // The line goes dead.
                self.smb = None;
                Err(Gone)
            }
            _ => self.close().await,
        }
    }

    /// A connection, to the gateway that it had if that lives, and the handle that outlived the last one.
    async fn connected(&mut self) -> Result<(), Gone> {
        if self.smb.is_some() {
            return Ok(());
        }
        let door = match self.door.take().filter(|door| door.gateway.is_awake()) {
            Some(door) => door,
            None => self.stage.any(&mut self.chance).ok_or(Gone)?,
        };
        let stream = door.connect();
        self.door = Some(door);
        self.smb = Some(SmbClient::connect(stream, self.guid, super::ACCOUNT, super::KEY, super::SHARE).await?);
        if self.held.is_some() { self.take_up().await } else { Ok(()) }
    }

    fn lost(&mut self) {
        self.smb = None;
        let gateway_lives = self.door.as_ref().is_some_and(|door| door.gateway.is_awake());
        if let Some(held) = &mut self.held {
            // What it had only said to itself may come to nothing.
            for (_, places) in std::mem::take(&mut held.dirty).into_values() {
                places.into_iter().for_each(|place| self.records[place].returned = None);
            }
            held.caching = LeaseState::NONE;
            // A durable one may go too, if somebody else wants the file before it is taken up again.
            let (number, stays) = (held.number, held.durable && gateway_lives);
            self.vanishes(number);
            if !stays {
                self.held = None;
            }
        }
    }

    /// A handle goes with its connection; nobody knows when.
    fn vanishes(&mut self, handle: u64) {
        let called = self.stage.next();
        self.records.push(Event { client: 100 + self.id, op: Call::Vanish { handle }, called, returned: None });
    }

    /// Answers every break that has come.
    async fn heed(&mut self) -> Result<(), Gone> {
        while let Some(told) = self.smb.as_mut().ok_or(Gone)?.take_break() {
            self.give_up(told).await?;
        }
        Ok(())
    }

    async fn give_up(&mut self, told: Break) -> Result<(), Gone> {
        let Break::Lease(told) = told else { return Ok(()) };
        let ours = self.held.as_ref().is_some_and(|held| held.key == Some(told.key));
        if self.stubborn || !ours {
            return Ok(());
        }
        self.flush().await?;
        if let Some(held) = &mut self.held {
            held.caching = told.new;
        }
        if told.flags.has(LeaseBreakFlags::ACK_REQUIRED) {
            let ack = Break::LeaseAck(LeaseAck { flags: 0, key: told.key, state: told.new });
            self.smb.as_mut().ok_or(Gone)?.ask(&Request::OplockBreak(ack)).await?;
        }
        Ok(())
    }

    /// Says what it has written to itself.
    async fn flush(&mut self) -> Result<(), Gone> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let (file, smb) = (held.file, self.smb.as_mut().ok_or(Gone)?);
        while let Some((page, (value, _))) = held.dirty.first_key_value() {
            let (page, value) = (*page, *value);
            let (status, _) = smb.ask(&write(file, page, value)).await?;
            if status != Status::Success {
                // Somebody closed the handle by force, or the gateway has ended it: as if the line were dead.
                return Err(Gone);
            }
            held.dirty.remove(&page);
        }
        Ok(())
    }

    /// A request, while breaks are answered.
    async fn ask(&mut self, request: &Request) -> Result<(Status, Response), Gone> {
        let id = self.smb.as_mut().ok_or(Gone)?.send(request).await?;
        loop {
            self.heed().await?;
            let smb = self.smb.as_mut().ok_or(Gone)?;
            if let Some(answer) = smb.take_answer(id) {
                return Ok(answer);
            }
            smb.advance().await?;
        }
    }

    /// Asks, and writes down what came of it.
    async fn call(&mut self, op: Call, request: Request) -> Result<Option<Response>, Gone> {
        let (place, called) = (self.records.len(), self.stage.next());
        self.records.push(Event { client: self.id, op: op.clone(), called, returned: None });
        let (status, response) = self.ask(&request).await?;
        let answer = match (status, &response, &op) {
            (Status::UnexpectedIoError | Status::InternalError, ..) => return Err(Gone),
            (Status::Success, Response::Read(read), _) => Answer::Pages(vec![number(&read.data)]),
            (Status::EndOfFile, _, Call::Read { .. }) => Answer::Pages(vec![0]),
            (Status::Success, ..) => Answer::Done,
            (status, ..) => Answer::Refused(status.name().to_owned()),
        };
        let is_done = !matches!(answer, Answer::Refused(_));
        if matches!(&answer, Answer::Refused(code) if code == "FileClosed") {
            // Its gateway had been taken for dead.
            self.records.remove(place);
            return Err(Gone);
        }
        self.records[place].returned = Some((answer, self.stage.next()));
        Ok(is_done.then_some(response))
    }

    async fn open(&mut self) -> Result<(), Gone> {
        let number = self.stage.next();
        let (access, share) = *self.chance.pick(&MODES);
        let (access, share) = (Rights::of(access), Rights::of(share));
        let creates = self.chance.one_in(2);
        let deletes = access.delete && self.chance.one_in(4);
        let leased = self.chance.one_in(2);
        let durable = leased && self.chance.one_in(2);
        let key = leased.then(|| u128::from(number).to_le_bytes());
        let state = *self.chance.pick(&[0x7, 0x5, 0x3, 0x1]);
        let request = open_request(access, share, creates, deletes, key, state, durable, None);
        let op = Call::Open { handle: number, access, share, creates, deletes, leased };
        let answered = self.call(op, request).await;
        if answered.is_err() {
            // It may have been opened, and then goes with its gateway.
            self.vanishes(number);
        }
        let Some(Response::Create(created)) = answered? else { return Ok(()) };
        let caching = created.contexts.iter().find_map(granted).unwrap_or(LeaseState::NONE);
        let durable = created.contexts.iter().any(|given| matches!(given, Given::Durable));
        let (locks, dirty) = (BTreeMap::new(), BTreeMap::new());
        self.held = Some(Held { number, file: created.file, access, key, caching, durable, locks, dirty });
        Ok(())
    }

    async fn take_up(&mut self) -> Result<(), Gone> {
        let Some(held) = &self.held else { return Ok(()) };
        let (number, file) = (held.number, held.file);
        let request = open_request(held.access, Rights::default(), false, false, held.key, 0x7, false, Some(file));
        match self.call(Call::TakeUp { handle: number }, request).await? {
            Some(Response::Create(created)) => {
                if let Some(held) = &mut self.held {
                    held.caching = created.contexts.iter().find_map(granted).unwrap_or(LeaseState::NONE);
                }
                // It has it again, so it has not gone.
                self.records.retain(|record| !(matches!(record.op, Call::Vanish { handle } if handle == number)));
            }
            // Gone, or its old connection has not been missed yet: it will go then.
            Some(_) | None => {
                self.records.pop();
                self.held = None;
            }
        }
        Ok(())
    }

    async fn read(&mut self, handle: u64, page: usize) -> Result<(), Gone> {
        if self.held.as_ref().is_some_and(|held| held.dirty.contains_key(&page)) {
            return Ok(()); // its own, from memory
        }
        let file = self.held.as_ref().ok_or(Gone)?.file;
        let request = ReadRequest { file, offset: (page * PAGE) as u64, length: PAGE as u32, ..Default::default() };
        self.call(Call::Read { handle, page }, Request::Read(request)).await.map(drop)
    }

    async fn write(&mut self, handle: u64, page: usize) -> Result<(), Gone> {
        let value = self.stage.next();
        let op = Call::Write { handle, page, value };
        let caches = |held: &&mut Held| held.caching.has(LeaseState::WRITE) && held.locks.is_empty();
        let stubborn = self.stubborn;
        if let Some(held) = self.held.as_mut().filter(|held| !stubborn && caches(held)) {
            // Nobody else sees the file before this is said.
            let (called, returned) = (self.stage.next(), self.stage.next());
            let dirty = held.dirty.entry(page).or_default();
            dirty.0 = value;
            dirty.1.push(self.records.len());
            self.records.push(Event { client: self.id, op, called, returned: Some((Answer::Done, returned)) });
            return Ok(());
        }
        let file = self.held.as_ref().ok_or(Gone)?.file;
        self.call(op, write(file, page, value)).await.map(drop)
    }

    async fn lock(&mut self, handle: u64, page: usize) -> Result<(), Gone> {
        self.flush().await?;
        let exclusive = self.chance.one_in(2);
        // Who holds a lock waits for none: two of them would wait for ever.
        let may_wait = self.held.as_ref().is_some_and(|held| held.locks.is_empty());
        let waits = if may_wait && self.chance.one_in(2) { LockFlags::default() } else { LockFlags::FAIL_IMMEDIATELY };
        let kind = if exclusive { LockFlags::EXCLUSIVE } else { LockFlags::SHARED };
        let file = self.held.as_ref().ok_or(Gone)?.file;
        let request = locking(file, page, kind.with(waits));
        let granted = self.call(Call::Lock { handle, page, exclusive }, request).await?.is_some();
        if let Some(held) = self.held.as_mut().filter(|_| granted) {
            held.locks.insert(page, exclusive);
        }
        Ok(())
    }

    async fn unlock(&mut self, handle: u64, page: usize) -> Result<(), Gone> {
        let held = self.held.as_mut().ok_or(Gone)?;
        held.locks.remove(&page);
        let request = locking(held.file, page, LockFlags::UNLOCK);
        self.call(Call::Unlock { handle, page }, request).await.map(drop)
    }

    async fn flag(&mut self, handle: u64) -> Result<(), Gone> {
        let pending = self.chance.below(3) > 0;
        let file = self.held.as_ref().ok_or(Gone)?.file;
        let input = Bytes::copy_from_slice(&[u8::from(pending)]);
        let request = SetRequest { kind: InfoType::File, class: DISPOSITION, additional: 0, file, input };
        self.call(Call::Flag { handle, pending }, Request::SetInfo(request)).await.map(drop)
    }

    async fn close(&mut self) -> Result<(), Gone> {
        self.flush().await?;
        let Some(held) = &self.held else { return Ok(()) };
        let (handle, file) = (held.number, held.file);
        let request = Request::Close(CloseRequest { file, ..Default::default() });
        self.call(Call::Close { handle }, request).await?;
        self.held = None;
        Ok(())
    }
}

fn number(data: &[u8]) -> u64 {
    let mut bytes = [0; PAGE];
    bytes[..data.len().min(PAGE)].copy_from_slice(&data[..data.len().min(PAGE)]);
    u64::from_be_bytes(bytes)
}

fn write(file: FileId, page: usize, value: u64) -> Request {
    let data = Bytes::copy_from_slice(&value.to_be_bytes());
    Request::Write(WriteRequest { file, offset: (page * PAGE) as u64, data, ..Default::default() })
}

fn locking(file: FileId, page: usize, flags: LockFlags) -> Request {
    let lock = LockElement { offset: (page * PAGE) as u64, length: PAGE as u64, flags };
    Request::Lock(LockRequest { sequence: 0, file, locks: vec![lock] })
}

fn granted(given: &Given) -> Option<LeaseState> {
    if let Given::Lease(lease) = given { Some(lease.state) } else { None }
}

#[expect(clippy::too_many_arguments, reason = "what an open says")]
fn open_request(
    access: Rights,
    share: Rights,
    creates: bool,
    deletes: bool,
    key: Option<[u8; 16]>,
    state: u32,
    durable: bool,
    again: Option<FileId>,
) -> Request {
    let of = |rights: Rights, bits: [u32; 3]| {
        let set = [rights.read, rights.write, rights.delete];
        bits.iter().zip(set).filter(|(_, set)| *set).map(|(bit, _)| bit).sum::<u32>()
    };
    let mut contexts = Vec::new();
    match again {
        Some(file) => contexts.push(Asked::Reconnect(file)),
        None if durable => contexts.push(Asked::Durable),
        None => {}
    }
    if let Some(key) = key {
        contexts.push(Asked::Lease(Lease { key, state: LeaseState(state), ..Lease::default() }));
    }
    let deletes = if deletes { CreateOptions::DELETE_ON_CLOSE } else { CreateOptions::default() };
    Request::Create(create::Request {
        oplock: if key.is_some() { OplockLevel::Lease.code() } else { 0 },
        impersonation: 2,
        access: Access(
            of(access, [Access::READ_DATA.0, Access::WRITE_DATA.0, Access::DELETE.0]) | Access::READ_ATTRIBUTES.0,
        ),
        attributes: 0,
        sharing: ShareAccess(of(share, [1, 2, 4])),
        disposition: if creates { Disposition::OpenIf.code() } else { Disposition::Open.code() },
        options: deletes.with(CreateOptions::NON_DIRECTORY_FILE),
        name: NAME.into(),
        contexts,
    })
}

struct Whole(Option<Bytes>);

impl Source for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async { Ok(self.0.take()) })
    }
}

/// Calls of REST, by any gateway.
pub async fn rest(id: usize, stage: Arc<Stage>, mut chance: Chance, calls: usize) -> Vec<DoorEvent> {
    let mut records = Vec::new();
    for _ in 0..calls {
        for _ in 0..chance.below(30) {
            tokio::task::yield_now().await;
        }
        let Some(door) = stage.any(&mut chance) else { continue };
        let op = match chance.below(12) {
            0..=3 => Call::RestRead,
            4..=6 => Call::RestWrite { page: chance.below(PAGES), value: stage.next() },
            7 | 8 => Call::RestCreate,
            9 => Call::RestDelete,
            _ => Call::RestList,
        };
        records.extend(one(id, &stage, &door, op).await);
    }
    records
}

/// One call, as it was seen.
pub async fn one(id: usize, stage: &Stage, door: &Door, op: Call) -> Option<DoorEvent> {
    let called = stage.next();
    let answer = match ask(door, &op).await {
        Ok(answer) => answer,
        Err(Failure::Refused(refusal)) => Answer::Refused(format!("{refusal:?}")),
        Err(Failure::Broken(_)) => return Some(Event { client: id, op, called, returned: None }),
    };
    Some(Event { client: id, op, called, returned: Some((answer, stage.next())) })
}

async fn ask(door: &Door, op: &Call) -> Result<Answer, Failure> {
    let (store, at) = (&door.gateway.store, file_at(NAME));
    match op {
        Call::RestRead => {
            let mut reader = store.open_file(&at, ReadFile { snapshot: None, lease: None }).await?;
            reader.seek(0, u64::MAX);
            let mut bytes = Vec::new();
            while let Some(part) = reader.next().await? {
                bytes.extend_from_slice(&part);
            }
            bytes.resize(PAGES * PAGE, 0);
            Ok(Answer::Pages(bytes.chunks(PAGE).map(number).collect()))
        }
        Call::RestWrite { page, value } => {
            let mut source = Whole(Some(Bytes::copy_from_slice(&value.to_be_bytes())));
            let body = store.receive(&mut source, Some(PAGE as u64), PAGE as u64, false).await?;
            let put = PutRange { from: (page * PAGE) as u64, written: SetTime::Now, lease: None };
            store.put_range(&at, put, body).await.map(|_| Answer::Done)
        }
        Call::RestCreate => {
            let create = CreateFile { length: (PAGES * PAGE) as u64, ..CreateFile::empty() };
            store.create_file(&at, create, None).await.map(|_| Answer::Done)
        }
        Call::RestDelete => store.delete_file(&at, None).await.map(|_| Answer::Done),
        Call::RestList => {
            let page = store.list_entries(&file_at(""), ListEntries { most: 10, ..ListEntries::default() }).await?;
            Ok(Answer::Listed(page.items.iter().any(|item| item.name == NAME)))
        }
        Call::Open { .. } | Call::Read { .. } | Call::Write { .. } | Call::Lock { .. } | Call::Unlock { .. } => {
            unreachable!("SMB's")
        }
        Call::Flag { .. } | Call::Close { .. } | Call::Vanish { .. } | Call::TakeUp { .. } => unreachable!("SMB's"),
    }
}
