//! One connection: a task that reads frames and one that writes them. NEGOTIATE and SESSION_SETUP are run as they are read, since how the next frame is
//! protected depends on them; everything else is a task for each compound.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use lazuli_store::Store;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::dispatch::{self, Chain};
use super::notices::end_watch;
use super::opens::{Open, What};
use super::pending::Pending;
use super::strangers::Stranger;
use super::{Gateway, LIMITS, TRANSFER_MAX};
use crate::packet::error::ErrorData;
use crate::packet::frame::{self, Kind};
use crate::packet::header::Target;
use crate::packet::{Command, Encoded, Header, Payload, Request, Response};
use crate::session::{Answers, Close, Connection, ConnectionId, Received, Reply};
use crate::status::Status;

/// Longer frames have their share of the pool before they are read.
const FRAME_SHORT: usize = 64 << 10;
/// What a request and its answer take beside their data.
const ANSWER_SIZE: usize = 512;

/// What is kept of an answer until it is written.
pub(crate) struct Outgoing {
    frame: Frame,
    /// The session ends with this answer, which it still signs.
    ends: Option<u64>,
    /// What it counts for, on its connection.
    _holds: Vec<OwnedSemaphorePermit>,
}

enum Frame {
    Replies(Vec<Reply>),
    Ready(Encoded),
    Close,
}

impl Outgoing {
    pub fn replies(replies: Vec<Reply>) -> Self {
        Self { frame: Frame::Replies(replies), ends: None, _holds: Vec::new() }
    }
}

pub(crate) struct Client {
    pub gateway: Arc<Gateway>,
    pub id: ConnectionId,
    pub peer: SocketAddr,
    /// Where the client has reached us, if that is known.
    pub local: Option<SocketAddr>,
    connection: Mutex<Connection>,
    out: mpsc::UnboundedSender<Outgoing>,
    /// How many requests are under way about each open, by its volatile id: it is closed after those that came before.
    busy: Mutex<HashMap<u64, usize>>,
    idle: tokio::sync::Notify,
    /// Requests that have come and are not answered, by message: CANCEL may be the next thing that is read.
    pending: Mutex<HashMap<u64, Arc<Pending>>>,
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// Who is at the two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub peer: SocketAddr,
    pub local: Option<SocketAddr>,
}

impl From<SocketAddr> for Ends {
    fn from(peer: SocketAddr) -> Self {
        Self { peer, local: None }
    }
}

impl Gateway {
    /// Serves one connection to its end.
    pub async fn serve<S>(self: Arc<Self>, socket: S, ends: impl Into<Ends>, mut stop: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let Ends { peer, local } = ends.into();
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        let id = ConnectionId(self.number());
        let stranger = self.strangers.enter(id);
        let (out, outgoing) = mpsc::unbounded_channel();
        let client = Arc::new(Client {
            gateway: self.clone(),
            id,
            peer,
            local,
            connection: Mutex::new(Connection::new(id)),
            out,
            busy: Mutex::default(),
            idle: tokio::sync::Notify::new(),
            pending: Mutex::default(),
            requests: Arc::new(Semaphore::new(LIMITS.requests)),
            bytes: Arc::new(Semaphore::new(LIMITS.bytes)),
            answers: Arc::new(Semaphore::new(LIMITS.answers)),
        });
        self.clients().insert(id, Arc::downgrade(&client));
        let (reader, writer) = tokio::io::split(socket);
        let mut writing = tokio::spawn(client.clone().write(writer, outgoing));
        tokio::select! {
            closed = client.clone().read(reader, stranger) => {
                if let Some(close) = closed {
                    tracing::debug!(%peer, ?close, "an SMB connection was ended");
                }
            }
            // Nothing that is read can be answered any more.
            _ = &mut writing => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        client.end().await;
        writing.abort();
        self.clients().remove(&id);
        self.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Client {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn with_connection<T>(&self, act: impl FnOnce(&mut Connection) -> T) -> T {
        act(&mut self.connection())
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Arc<Pending>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The header of an answer, with the credits that it grants.
    pub fn header(&self, request: &Header, session: u64, status: Status) -> Header {
        self.connection().answer(request, session, status)
    }

    /// Nobody may be there to write it: then the connection is over.
    pub fn send(&self, outgoing: Outgoing) {
        let _ = self.out.send(outgoing);
    }

    pub fn close(&self) {
        self.send(Outgoing { frame: Frame::Close, ends: None, _holds: Vec::new() });
    }

    /// Why the connection ended, unless the client simply went away.
    async fn read<R: AsyncRead + Unpin>(self: Arc<Self>, mut reader: R, stranger: Stranger) -> Option<Close> {
        let mut stranger = Some(stranger);
        let mut impatience = (self.gateway.alarm)(LIMITS.logon);
        loop {
            let known = self.connection().is_known();
            if known {
                stranger = None;
            }
            let frame = tokio::select! {
                frame = self.frame(&mut reader) => frame,
                () = &mut impatience, if stranger.is_some() => return None,
                () = left_out(stranger.as_ref()) => return None,
            };
            let (frame, room) = match frame {
                Ok(Some(frame)) => frame,
                Ok(None) => return None,
                Err(close) => return Some(close),
            };
            self.gateway.counts.bytes_in.fetch_add(frame.len() as u64, Ordering::Relaxed);
            if let Err(close) = self.take(frame, room).await {
                return Some(close);
            }
        }
    }

    /// The next frame, with its share of the pool if it is a long one.
    async fn frame<R: AsyncRead + Unpin>(
        &self,
        reader: &mut R,
    ) -> Result<Option<(BytesMut, Option<OwnedSemaphorePermit>)>, Close> {
        let mut head = [0; frame::FRAME_HEAD];
        if reader.read_exact(&mut head).await.is_err() {
            return Ok(None);
        }
        let max = self.connection().frame_max();
        let length = frame::length(head, max)?;
        let room = if length > FRAME_SHORT { Some(self.gateway.room(length).await?) } else { None };
        // Who has not logged on sends short frames, and long ones have their share of the pool.
        let mut message = BytesMut::with_capacity(length);
        let mut rest = reader.take(length as u64);
        let mut looks = 0;
        while message.len() < length {
            let read = tokio::select! {
                biased;
                read = rest.read_buf(&mut message) => read,
                () = self.gateway.pause() => {
                    looks += 1;
                    if self.gateway.is_too_long(looks) { return Ok(None) } else { continue }
                }
            };
            match read {
                Ok(1..) => looks = 0,
                Ok(0) | Err(_) => return Ok(None),
            }
        }
        Ok(Some((message, room)))
    }

    async fn take(self: &Arc<Self>, frame: BytesMut, room: Option<OwnedSemaphorePermit>) -> Result<(), Close> {
        let length = frame.len();
        let now = self.gateway.now();
        // Nothing more is read from a client that leaves its answers.
        let answer = self.answers.clone().acquire_owned().await.map_err(|_| Close::Exhausted)?;
        if Kind::of(&frame)? == Kind::Legacy {
            let told = self.connection().negotiate_legacy(&self.gateway.policy, frame.freeze(), now)?;
            let told = Encoded { head: told, payload: Payload::default() };
            self.send(Outgoing { frame: Frame::Ready(told), ends: None, _holds: vec![answer] });
            return Ok(());
        }
        let mut received = {
            let mut connection = self.connection();
            let sessions = self.gateway.sessions();
            connection.receive(frame, &sessions, now)?
        };
        received.retain(|received| {
            let cancels = received.header.command == Command::Cancel;
            if cancels && received.accept().is_ok() {
                self.cancel(&received.header);
            }
            !cancels
        });
        let in_order = |received: &Received| match received.header.command {
            Command::Negotiate | Command::SessionSetup => true,
            Command::Logoff
            | Command::TreeConnect
            | Command::TreeDisconnect
            | Command::Create
            | Command::Close
            | Command::Flush
            | Command::Read
            | Command::Write
            | Command::Lock
            | Command::Ioctl
            | Command::Cancel
            | Command::Echo
            | Command::QueryDirectory
            | Command::ChangeNotify
            | Command::QueryInfo
            | Command::SetInfo
            | Command::OplockBreak
            | Command::Unknown(_) => false,
        };
        if received.is_empty() {
            return Ok(());
        }
        let asked: usize = received.iter().map(asks).sum();
        let cost = (length + asked + ANSWER_SIZE * received.len()).min(LIMITS.bytes);
        let permits = u32::try_from(cost).unwrap_or(u32::MAX);
        let bytes = self.bytes.clone().acquire_many_owned(permits).await.map_err(|_| Close::Exhausted)?;
        // A share that is too small is given back first: nobody waits for more while holding some.
        let room = match room {
            Some(room) if asked == 0 => room,
            Some(_) | None => {
                drop(room);
                self.gateway.room(cost).await?
            }
        };
        let mut holds = vec![answer, bytes, room];
        if received.iter().any(in_order) {
            return self.compound(received, holds).await;
        }
        let Ok(request) = self.requests.clone().try_acquire_owned() else {
            self.refuse(&received, holds);
            return Ok(());
        };
        holds.push(request);
        for received in &received {
            self.enter(received);
        }
        let watches = received.iter().any(|received| received.header.command == Command::ChangeNotify);
        let renamed = received.iter().find(|received| dispatch::is_rename(received));
        let renamed = renamed.and_then(|received| self.pending().get(&received.header.message_id).cloned());
        let client = self.clone();
        let mut work = Box::pin(async move {
            if let Err(close) = client.compound(received, holds).await {
                tracing::debug!(peer = %client.peer, ?close, "an SMB connection was ended");
                client.close();
            }
        });
        // Watches of one directory are answered in the order in which they came, so they queue in that order: each begins before the next is read. And
        // what comes behind a rename meets the new name, or has heard of the break that the rename waits for (smb2.lease.rename_wait).
        let is_begun = || renamed.as_ref().is_none_or(|pending| pending.id.load(Ordering::SeqCst) != 0);
        let to_begin = |context: &mut Context<'_>| match work.as_mut().poll(context) {
            Poll::Pending if !is_begun() => Poll::Pending,
            done @ (Poll::Ready(()) | Poll::Pending) => Poll::Ready(done.is_ready()),
        };
        let is_done = (watches || renamed.is_some()) && poll_fn(to_begin).await;
        if !is_done {
            tokio::spawn(work);
        }
        Ok(())
    }

    fn refuse(&self, received: &[Received], holds: Vec<OwnedSemaphorePermit>) {
        let reply = |received: &Received| {
            let header = self.header(&received.header, received.session, Status::InsufficientResources);
            Reply { header, response: Response::Error(ErrorData::None), answer: received.refusal() }
        };
        let replies = Frame::Replies(received.iter().map(reply).collect());
        self.send(Outgoing { frame: replies, ends: None, _holds: holds });
    }

    /// The messages of a frame, one after the other.
    async fn compound(
        self: &Arc<Self>,
        received: Vec<Received>,
        holds: Vec<OwnedSemaphorePermit>,
    ) -> Result<(), Close> {
        let ready = Mutex::new(Vec::new());
        let mut chain = Chain::default();
        for received in &received {
            let reply = dispatch::one(self, received, &mut chain, &ready).await;
            self.pending().remove(&received.header.message_id);
            if !chain.waited {
                self.leave(received);
            }
            let reply = reply?;
            ready.lock().unwrap_or_else(PoisonError::into_inner).push(reply);
        }
        let replies = ready.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.send(Outgoing { frame: self.protected(replies)?, ends: chain.leaves, _holds: holds });
        Ok(())
    }

    /// Signs or seals answers here, in the task of their request, so that long ones keep neither the reader nor the writer from going on.
    fn protected(&self, replies: Vec<Reply>) -> Result<Frame, Close> {
        if replies.is_empty() || replies.iter().any(Reply::is_of_logon) {
            return Ok(Frame::Replies(replies));
        }
        let answers = Answers::new(self.id, replies, &self.gateway.sessions())?;
        answers.encode().map(Frame::Ready)
    }

    async fn write<W: AsyncWrite + Unpin>(
        self: Arc<Self>,
        mut writer: W,
        mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    ) {
        while let Some(Outgoing { frame, ends, _holds }) = outgoing.recv().await {
            let encoded = match frame {
                Frame::Ready(encoded) => Ok(encoded),
                Frame::Replies(replies) if replies.is_empty() => continue,
                Frame::Replies(replies) => {
                    let mut connection = self.connection();
                    let sessions = self.gateway.sessions();
                    connection.send(replies, &sessions)
                }
                Frame::Close => Err(Close::Protocol),
            };
            let Ok(encoded) = encoded else { break };
            // Before the client can know it.
            if let Some(session) = ends {
                self.gateway.sessions_mut().end(session);
            }
            self.gateway.counts.bytes_out.fetch_add(encoded.len() as u64, Ordering::Relaxed);
            let head = frame::head(encoded.len());
            let mut whole = Buf::chain(Buf::chain(head.as_slice(), encoded.head), encoded.payload.into_bytes());
            if !self.written(&mut writer, &mut whole).await {
                break;
            }
        }
        let _ = writer.shutdown().await;
    }

    /// Whether the client has taken it.
    async fn written<W: AsyncWrite + Unpin>(&self, writer: &mut W, whole: &mut impl Buf) -> bool {
        let mut looks = 0;
        while whole.has_remaining() {
            tokio::select! {
                biased;
                wrote = writer.write_buf(whole) => match wrote {
                    Ok(1..) => looks = 0,
                    Ok(0) | Err(_) => return false,
                },
                () = self.gateway.pause() => {
                    looks += 1;
                    if self.gateway.is_too_long(looks) {
                        tracing::debug!(peer = %self.peer, "an SMB client does not take its answers");
                        return false;
                    }
                }
            }
        }
        true
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has come in.
    fn enter(&self, received: &Received) {
        let pending = Arc::new(Pending::new(received.session));
        self.pending().insert(received.header.message_id, pending);
        if let Some(id) = works_on(received) {
            *self.busy().entry(id).or_default() += 1;
        }
    }

    /// It is done, or waits for something else.
    pub fn leave(&self, received: &Received) {
        let Some(id) = works_on(received) else { return };
        let mut busy = self.busy();
        match busy.get_mut(&id) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                busy.remove(&id);
            }
        }
        self.idle.notify_waiters();
    }

    /// Until the requests about an open that came before are done.
    pub async fn idle(&self, id: u64) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if !self.busy().contains_key(&id) {
                return;
            }
            idle.await;
        }
    }

    /// How a request waits, if it has to. One that is run as it is read cannot be cancelled.
    pub fn begin(&self, received: &Received, tree: u32) -> Arc<Pending> {
        let known = self.pending().get(&received.header.message_id).cloned();
        let pending = known.unwrap_or_else(|| Arc::new(Pending::new(received.session)));
        pending.tree.store(tree, Ordering::SeqCst);
        pending
    }

    fn cancel(&self, header: &Header) {
        let pending = self.pending();
        let found = match header.target {
            Target::Async { id } => pending.values().find(|pending| pending.id.load(Ordering::SeqCst) == id),
            Target::Sync { .. } => pending.get(&header.message_id),
        };
        if let Some(found) = found {
            found.end(Status::Cancelled);
        }
    }

    /// What waits for a session, or one of its trees, does so no more.
    pub fn end_pending(&self, session: u64, tree: Option<u32>, status: Status) {
        let ended = |pending: &&Arc<Pending>| {
            pending.session == session && tree.is_none_or(|tree| pending.tree.load(Ordering::SeqCst) == tree)
        };
        self.pending().values().filter(ended).for_each(|pending| pending.end(status));
    }

    /// The connection is over.
    async fn end(&self) {
        self.pending().values().for_each(|pending| pending.end(Status::Cancelled));
        let over = self.gateway.sessions_mut().disconnect(self.id);
        for session in over {
            self.gateway.end_opens(session.id, None, true).await;
        }
    }
}

/// The open that a request is about, by its volatile id, unless it closes it.
fn works_on(received: &Received) -> Option<u64> {
    // Where each command has the id, behind the header.
    let at = match received.header.command {
        Command::Flush | Command::Lock | Command::Ioctl | Command::QueryDirectory | Command::ChangeNotify => 8,
        Command::Read | Command::Write | Command::SetInfo => 16,
        Command::QueryInfo => 24,
        Command::Negotiate
        | Command::SessionSetup
        | Command::Logoff
        | Command::TreeConnect
        | Command::TreeDisconnect
        | Command::Create
        | Command::Close
        | Command::Cancel
        | Command::Echo
        | Command::OplockBreak
        | Command::Unknown(_) => return None,
    };
    let at = crate::packet::header::HEADER_SIZE + at + 8;
    let id = received.message.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)?;
    (id != u64::MAX).then_some(id)
}

/// Bytes that the answer to a request may have. What is told of changes is bounded where it is kept, and may be waited for for days.
fn asks(received: &Received) -> usize {
    let most = match Request::parse(received.header.command, received.message.clone()) {
        Ok(Request::Read(request)) => request.length,
        Ok(Request::QueryDirectory(request)) => request.output_max,
        Ok(Request::QueryInfo(request)) => request.output_max,
        Ok(Request::Ioctl(request)) => request.output_max,
        Ok(_) | Err(_) => 0,
    };
    most.min(TRANSFER_MAX) as usize
}

/// Ends if a newer stranger takes the place.
async fn left_out(stranger: Option<&Stranger>) {
    match stranger {
        Some(stranger) => stranger.left_out().await,
        None => std::future::pending().await,
    }
}

impl Gateway {
    /// What waits for a session that has ended does so no more, on any of its connections.
    pub(crate) fn end_pending(&self, session: u64) {
        let connections: Vec<ConnectionId> = {
            let sessions = self.sessions();
            let session = sessions.still(session);
            session.into_iter().flat_map(|session| session.connections()).collect()
        };
        let clients: Vec<Arc<Client>> = {
            let clients = self.clients();
            connections.iter().filter_map(|id| clients.get(id).and_then(std::sync::Weak::upgrade)).collect()
        };
        clients.iter().for_each(|client| client.end_pending(session, None, Status::UserSessionDeleted));
    }

    /// Closes what a session holds open, or what of it is in one tree. What is durable is kept for a while, if the client has not said goodbye.
    pub(crate) async fn end_opens(self: &Arc<Self>, session: u64, tree: Option<u32>, lost: bool) {
        let held: Vec<Arc<Open>> = {
            let opens = self.opens();
            let of_session = |open: &&Arc<Open>| {
                let state = open.state();
                state.session == session && tree.is_none_or(|tree| state.tree == tree)
            };
            opens.all().filter(of_session).cloned().collect()
        };
        for open in held {
            match open.durable {
                Some(durable) if lost => self.keep(open, durable.seconds).await,
                Some(_) | None => {
                    self.opens().remove(open.id);
                    end_watch(&open, Status::NotifyCleanup);
                    self.close_open(&open).await;
                }
            }
        }
    }

    pub(crate) async fn close_open(&self, open: &Open) {
        self.close_open_in(&self.store, open).await;
    }

    /// The same, by a store that a request has.
    pub(crate) async fn close_open_in(&self, store: &Store, open: &Open) {
        let What::File(file) = &open.what else { return };
        if file.at.snapshot.is_some() {
            return;
        }
        if let Err(failure) = store.close_handle(&file.at.share, file.at.file, file.at.handle).await {
            tracing::debug!(?failure, "a handle could not be closed");
        }
    }
}
