//! What the engine asks of a RADOS pool: operators on single objects, each atomic and durable when it is answered.
//!
//! `lazuli-rados` answers them with librados; [`Simulated`](super::Simulated) with a map in memory that loses answers.
//!
//! Held true by an implementation:
//! * the steps of an operator happen all or none, in order, as one moment of the object;
//! * an operator that was begun is not undone by dropping its future;
//! * `Trouble::Lost` means that nobody knows: the operator was applied, or will be, or never.

use bytes::Bytes;

use super::fence::DEAD;
use crate::{BoxFuture, Fault};

/// A step of an operator that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// Goes on only if the row has this value. An absent row has the empty one.
    Compare {
        key: Bytes,
        value: Bytes,
    },
    /// Sets rows, and makes the object if there is none.
    Set(Vec<(Bytes, Bytes)>),
    Remove(Vec<Bytes>),
    /// Removes all rows.
    Clear,
    /// Makes these the bytes of the object.
    Write(Bytes),
    /// Removes the object.
    Delete,
}

/// A step of an operator that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadStep {
    /// The rows that there are of these.
    Rows(Vec<Bytes>),
    /// Up to `limit` rows whose keys are greater than `after` and begin with `prefix`, in order.
    Range { after: Bytes, prefix: Bytes, limit: usize },
    /// Up to `limit` keys greater than `after`, in order, with empty values.
    Keys { after: Bytes, limit: usize },
    /// Bytes of the object: fewer, where it ends.
    Bytes { offset: u64, length: usize },
}

/// What a step of a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// `more`: the step stopped before the end, at its limit or at the pool's.
    Rows {
        rows: Vec<(Bytes, Bytes)>,
        more: bool,
    },
    Bytes(Bytes),
}

/// One moment of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// It changes whenever the object does.
    pub version: u64,
    /// One for each step.
    pub found: Vec<Found>,
}

/// Why an operator was not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A compare failed. Nothing was applied.
    Changed,
    /// There is no such object.
    Missing,
    /// There is no room. Nothing was applied.
    Full,
    /// No answer came in time.
    Lost,
    /// The cluster takes nothing from this client any more: another gateway had it shut out.
    ShutOut,
    /// The cluster refuses; the text says why.
    Refused(String),
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Changed => Fault::Busy,
            Trouble::Full => Fault::Full,
            Trouble::Missing => Fault::Corrupt("an object that a record names is gone".into()),
            Trouble::Lost => Fault::Unavailable("the cluster did not answer in time".into()),
            Trouble::ShutOut => Fault::Unavailable(DEAD.into()),
            Trouble::Refused(why) => Fault::Unavailable(format!("the cluster refused: {why}")),
        }
    }
}

pub trait Pool: Send + Sync + 'static {
    fn write(&self, object: &str, steps: Vec<WriteStep>) -> BoxFuture<'static, Result<(), Trouble>>;
    fn read(&self, object: &str, steps: Vec<ReadStep>) -> BoxFuture<'static, Result<Reading, Trouble>>;
    /// What the cluster calls this client. No other client ever has the name.
    fn client(&self) -> Result<String, Trouble>;
    /// Shuts a client out for good. Once this has been answered, an operator of that client is not applied to an object that this client
    /// has read or written since, however long ago it was sent. To shut out a client again does no harm.
    fn shut_out(&self, client: &str) -> BoxFuture<'static, Result<(), Trouble>>;
}
