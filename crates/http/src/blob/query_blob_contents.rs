//! Query Blob Contents: the query runs beside the answer, a few frames ahead of what the client has read. Its task reads and sends; the
//! work itself is done by the slice on threads for that ([`crate::workers`]), and ends with the slice in which the client hangs up.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use lazuli_query::run::{Run, Turn};
use lazuli_store::Reader;
use tokio::sync::mpsc;

use crate::answer::{Answer, BrokenOff, Payload, name};
use crate::blob::{encryption, get_blob_properties, headers};
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::{Ask, Edge};
use crate::wire::xml;
use crate::workers::{Lost, Slot};

const DOCUMENT_MAX: u64 = 512 << 10;
/// One that takes a while to read.
const LONG_DOCUMENT: usize = 16 << 10;
const FRAMES_AHEAD: usize = 2;
/// Bytes that are worth a slice; of small blocks several are put together.
const PIECE_BYTES: usize = 64 << 10;
/// How long a query may take for each MiB of its blob, as for Get Blob ("Setting timeouts for Blob service operations").
const SECONDS_PER_MIB: u64 = 120;

pub const SPEC: Spec = Spec {
    name: "QueryBlobContents",
    methods: &["POST"],
    on: On::Blob,
    comp: Some("query"),
    needs: "r",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    body: Body::Document { most: DOCUMENT_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    // Rule B12: for its conditions, too.
    reads: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let read = get_blob_properties::parse(&ask.head, &SPEC)?;
    let snapshot = !read.which.is_current();
    let is_long = document.len() > LONG_DOCUMENT;
    let query = ask.edge.workers().run_if(is_long, move || xml::read_query(&document)).await??;
    let slot = ask.edge.workers().admit().await?;
    let at = ask.head.blob_at()?;
    let mut reader = ask.store.open_blob(&at, read).await?;
    encryption::permit_read(ask, &reader.blob)?;
    encryption::unlock(&ask.store, &at.account, encryption::customer_key(&ask.head)?, &mut reader).await?;
    let blob = &reader.blob;
    let answer = headers::describe(Answer::new(StatusCode::OK), blob, snapshot, ask.head.now);
    let mut answer = answer.constant(&name::CONTENT_TYPE, "avro/binary");
    // Rule B13.
    answer.headers.remove(&name::TAG_COUNT);
    // Observed of accounts with a hierarchical namespace.
    if ask.settings.hierarchical_namespace {
        for lease in [&name::LEASE_STATUS, &name::LEASE_STATE, &name::LEASE_DURATION] {
            answer.headers.remove(lease);
        }
        answer = answer.constant(&name::RESOURCE_TYPE, "file");
    }
    let sync = (ask.ids)().to_be_bytes();
    let length = blob.content.length;
    let run = Run::new(query, sync, length, ask.head.now);
    let (frames, waiting) = mpsc::channel(FRAMES_AHEAD);
    tokio::spawn(produce(ask.edge.clone(), slot, reader, run, frames));
    Ok(Answer { payload: Payload::produced(waiting), ..answer })
}

type Frames = mpsc::Sender<Result<Bytes, BrokenOff>>;

enum Stopped {
    Failed(Failure),
    Lost,
    /// Nobody reads the answer any more.
    Left,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(failure)
    }
}

impl From<Lost> for Stopped {
    fn from(Lost: Lost) -> Self {
        Stopped::Lost
    }
}

/// Ends when the query does, when nobody reads the answer any more, or when it has taken too long.
async fn produce(edge: Arc<Edge>, slot: Slot, reader: Reader, run: Run, frames: Frames) {
    let mebibytes = 1 + (reader.blob.content.length >> 20);
    let limit = Duration::from_secs(mebibytes.saturating_mul(SECONDS_PER_MIB));
    let why = match tokio::time::timeout(limit, drive(&edge, reader, run, &frames)).await {
        Ok(Ok(()) | Err(Stopped::Left)) => return,
        Ok(Err(Stopped::Failed(failure))) => format!("a blob could not be read to its end: {failure:?}"),
        Ok(Err(Stopped::Lost)) => "a query was given up".into(),
        Err(_) => "a query took too long".into(),
    };
    tracing::error!("{why}");
    drop(slot);
    // An answer without it would look like a whole one, so it waits for as long as there is somebody.
    let _ = frames.send(Err(BrokenOff)).await;
}

async fn drive(edge: &Edge, mut reader: Reader, mut run: Run, frames: &Frames) -> Result<(), Stopped> {
    let length = reader.blob.content.length;
    reader.seek(0, length);
    let mut held = None;
    loop {
        let (back, turn, ready) = edge.workers().run(move || slice(run)).await?;
        run = back;
        if !ready.is_empty() {
            frames.send(Ok(ready.into())).await.map_err(|_| Stopped::Left)?;
        }
        if frames.is_closed() {
            return Err(Stopped::Left);
        }
        match turn {
            Turn::Again => {}
            Turn::Next => run.give(piece(&mut reader).await?),
            Turn::Range { from, to } => run.give(Some(range(&mut reader, from, to).await?)),
            Turn::Memory(bytes) => {
                drop(held.take());
                held = Some(edge.workers().memory(bytes).await?);
            }
            Turn::Over => return Ok(()),
        }
    }
}

fn slice(mut run: Run) -> (Run, Turn, Vec<u8>) {
    let turn = run.turn();
    let ready = run.take();
    (run, turn, ready)
}

/// The next bytes; `None` at the end.
async fn piece(reader: &mut Reader) -> Result<Option<Bytes>, Failure> {
    let Some(first) = reader.next().await? else { return Ok(None) };
    if first.len() >= PIECE_BYTES {
        return Ok(Some(first));
    }
    let mut whole = BytesMut::from(first);
    while whole.len() < PIECE_BYTES
        && let Some(next) = reader.next().await?
    {
        whole.extend_from_slice(&next);
    }
    Ok(Some(whole.freeze()))
}

async fn range(reader: &mut Reader, from: u64, to: u64) -> Result<Bytes, Failure> {
    let mut bytes = BytesMut::new();
    if from < to {
        bytes.reserve(usize::try_from(to - from).unwrap_or(0));
        reader.seek(from, to);
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
    }
    Ok(bytes.freeze())
}
