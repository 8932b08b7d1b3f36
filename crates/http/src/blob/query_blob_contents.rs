//! Query Blob Contents: the query runs in a task beside the answer, a few frames ahead of what the client has read.

use bytes::Bytes;
use http::StatusCode;
use lazuli_store::{Failure, Reader};
use tokio::sync::mpsc;

use crate::answer::{Answer, BrokenOff, Payload, name};
use crate::blob::{encryption, get_blob_properties, headers};
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::query::parquet;
use crate::query::request::{self, Input};
use crate::query::run::Run;
use crate::serve::Ask;

const DOCUMENT_MAX: u64 = 512 << 10;
const FRAMES_AHEAD: usize = 2;

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
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let read = get_blob_properties::parse(&ask.head, &SPEC)?;
    let snapshot = !read.which.is_current();
    let query = request::read(&document)?;
    let at = ask.head.blob_at()?;
    let mut reader = ask.store.open_blob(&at, read).await?;
    encryption::permit_read(ask, &reader.blob)?;
    encryption::unlock(&ask.store, &at.account, encryption::customer_key(&ask.head)?, &mut reader).await?;
    let blob = &reader.blob;
    let answer = headers::describe(Answer::new(StatusCode::OK), blob, snapshot, ask.head.now);
    let answer = answer.constant(&name::CONTENT_TYPE, "avro/binary");
    let sync = (ask.ids)().to_be_bytes();
    let length = blob.content.length;
    let columnar = query.input == Input::Parquet;
    let run = Run::new(query, sync, length, ask.head.now);
    let (frames, waiting) = mpsc::channel(FRAMES_AHEAD);
    match columnar {
        true => drop(tokio::spawn(parquet::produce(reader, run, frames))),
        false => drop(tokio::spawn(produce(reader, run, frames))),
    }
    Ok(Answer { payload: Payload::produced(waiting), ..answer })
}

/// Ends when the blob does, when the query has all it wants, or when nobody reads the answer any more.
async fn produce(mut reader: Reader, mut run: Run, frames: mpsc::Sender<Result<Bytes, BrokenOff>>) {
    let length = reader.blob.content.length;
    reader.seek(0, length);
    let mut ready = run.header();
    while !run.is_over() {
        match reader.next().await {
            Ok(Some(bytes)) => ready.extend(run.feed(&bytes)),
            Ok(None) => break,
            Err(failure) => {
                tracing::error!(?failure, "a blob could not be read to its end");
                let _ = frames.send(Err(BrokenOff)).await;
                return;
            }
        }
        if !ready.is_empty() && frames.send(Ok(std::mem::take(&mut ready).into())).await.is_err() {
            return;
        }
        // A query is work; others want their turn.
        tokio::task::yield_now().await;
    }
    ready.extend(run.finish());
    // Nobody may be waiting for it.
    let _ = frames.send(Ok(ready.into())).await;
}
