//! Parquet as the input of a query: rows become records as those of JSON are, and the rest is the same.
//!
//! Held true: of a row group only the columns that the query names are read, by ranges; they, their pages and each row have
//! bounds, and what exceeds them ends the query with an error record. Whatever the bytes are, nothing panics.

mod bits;
mod codec;
mod column;
mod delta;
mod rows;
mod schema;
mod thrift;
mod value;

use bytes::{Bytes, BytesMut};
use lazuli_store::{Failure, Reader};
use tokio::sync::mpsc;

use self::column::Column;
use self::rows::Rows;
use self::schema::{File, Group, Node};
use super::run::Run;
use crate::answer::BrokenOff;

/// What a file says of itself.
const META_MAX: u64 = 8 << 20;
/// Columns of one row group, as they are stored.
const GROUP_MAX: u64 = 128 << 20;
/// Pages of all its columns, unpacked: each column has its part of this.
const PAGES_MAX: usize = 256 << 20;
const PAGE_LEAST: usize = 2 << 20;
const PAGE_MOST: usize = 32 << 20;
/// Rows between two looks at whether there is something to send.
const TURN_ROWS: u64 = 256;

const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// Why a file is read no further.
#[derive(Debug, PartialEq, Eq)]
pub enum Bad {
    Corrupt,
    TooLarge,
    /// What it has.
    Unsupported(String),
}

pub type Frames = mpsc::Sender<Result<Bytes, BrokenOff>>;

enum Stopped {
    Bad(Bad, u64),
    Failed(Failure),
    /// Nobody reads the answer any more.
    Left,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(failure)
    }
}

/// Runs a query to its end, or as far as somebody reads the answer.
pub async fn produce(mut reader: Reader, mut run: Run, frames: Frames) {
    if frames.send(Ok(run.header().into())).await.is_err() {
        return;
    }
    let stopped = match read_file(&mut reader).await {
        Ok(file) => query(&mut reader, &mut run, &frames, &file).await,
        Err(stopped) => Err(stopped),
    };
    match stopped {
        Ok(()) => {}
        Err(Stopped::Bad(bad, position)) => {
            let (name, text) = match bad {
                Bad::Corrupt => ("ParseError", "The blob is not a Parquet file, or is damaged.".to_owned()),
                Bad::TooLarge => ("RecordTooLarge", "A record or a page is too large to be read.".to_owned()),
                Bad::Unsupported(what) => {
                    ("UnsupportedFeature", format!("The Parquet file has {what}, which is not read."))
                }
            };
            run.fail(name, text, position);
        }
        Err(Stopped::Left) => return,
        Err(Stopped::Failed(failure)) => {
            tracing::error!(?failure, "a blob could not be read to its end");
            let _ = frames.send(Err(BrokenOff)).await;
            return;
        }
    }
    // Nobody may be waiting for it.
    let _ = frames.send(Ok(run.finish().into())).await;
}

async fn read_file(reader: &mut Reader) -> Result<File, Stopped> {
    let length = reader.blob.content.length;
    let corrupt = || Stopped::Bad(Bad::Corrupt, 0);
    let tail = range(reader, length.saturating_sub(TAIL), length).await?;
    let meta = tail.first_chunk().map(|meta| u64::from(u32::from_le_bytes(*meta)));
    let meta = meta.filter(|_| tail.ends_with(MAGIC)).ok_or_else(corrupt)?;
    let start = length.checked_sub(TAIL + meta).ok_or_else(corrupt)?;
    if meta > META_MAX {
        return Err(Stopped::Bad(Bad::TooLarge, start));
    }
    let bytes = range(reader, start, length - TAIL).await?;
    schema::read(&bytes).ok_or_else(corrupt)
}

async fn query(reader: &mut Reader, run: &mut Run, frames: &Frames, file: &File) -> Result<(), Stopped> {
    let wanted = |node: &&Node| run.wants(&node.name);
    let fields: Vec<Node> = file.fields.iter().filter(wanted).cloned().collect();
    run.call(fields.iter().map(|field| field.name.clone()).collect());
    let mut ready = Vec::new();
    for group in &file.groups {
        let position = group.chunks.iter().map(|chunk| chunk.offset).min().unwrap_or(0);
        let mut rows = Rows::new(columns(reader, group, &fields).await?);
        for number in 0..group.rows {
            let record = rows.next(&fields).map_err(|bad| Stopped::Bad(bad, position))?;
            run.record(record, position);
            if run.is_over() {
                break;
            }
            if number % TURN_ROWS == TURN_ROWS - 1 {
                ready.extend(run.drain());
                send(frames, &mut ready).await?;
            }
        }
        run.passed(group.chunks.iter().map(|chunk| chunk.offset.saturating_add(chunk.length)).max().unwrap_or(0));
        ready.extend(run.drain());
        send(frames, &mut ready).await?;
        if run.is_over() {
            break;
        }
    }
    send(frames, &mut ready).await
}

async fn send(frames: &Frames, ready: &mut Vec<u8>) -> Result<(), Stopped> {
    // A query is work; others want their turn.
    tokio::task::yield_now().await;
    if ready.is_empty() && !frames.is_closed() {
        return Ok(());
    }
    frames.send(Ok(std::mem::take(ready).into())).await.map_err(|_| Stopped::Left)
}

/// The columns of `fields`, by their places in the schema.
async fn columns(reader: &mut Reader, group: &Group, fields: &[Node]) -> Result<Vec<Option<Column>>, Stopped> {
    let mut leaves = Vec::new();
    for field in fields {
        field.each_column(&mut |column, node, form| leaves.push((column, node, form)));
    }
    let page_max = (PAGES_MAX / leaves.len().max(1)).clamp(PAGE_LEAST, PAGE_MOST);
    let mut columns: Vec<Option<Column>> = group.chunks.iter().map(|_| None).collect();
    let mut room = GROUP_MAX;
    for (column, node, form) in leaves {
        let chunk = *group.chunks.get(column).ok_or(Stopped::Bad(Bad::Corrupt, 0))?;
        let bad = |bad| Stopped::Bad(bad, chunk.offset);
        room = room.checked_sub(chunk.length).ok_or_else(|| bad(Bad::TooLarge))?;
        let end = chunk.offset.checked_add(chunk.length).filter(|end| *end <= reader.blob.content.length);
        let bytes = range(reader, chunk.offset, end.ok_or_else(|| bad(Bad::Corrupt))?).await?;
        columns[column] = Some(Column::new(bytes, chunk, node, form, page_max));
    }
    Ok(columns)
}

async fn range(reader: &mut Reader, from: u64, to: u64) -> Result<Bytes, Failure> {
    let mut bytes = BytesMut::new();
    if from < to {
        reader.seek(from, to);
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
    }
    Ok(bytes.freeze())
}

#[cfg(test)]
mod tests;
