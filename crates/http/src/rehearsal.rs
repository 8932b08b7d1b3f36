//! Trouble on purpose: what a rehearsal may do to a request that was admitted. What rules there are, and when they fit, is `server`'s
//! business (`server/lab`); here is only what the edge can do.
//!
//! Held true: without `--lab` nobody is asked, and a request goes its way at the cost of one look at an empty cell. A request is admitted before a
//! rehearsal sees it: it never learns more, and never does more, than its credential allows.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::head::Head;
use crate::operation::Spec;
use crate::refusal::Refusal;

pub type Planned<'a> = Pin<Box<dyn Future<Output = Option<Plan>> + Send + 'a>>;

/// Who makes the trouble.
pub trait Rehearsal: Send + Sync + 'static {
    /// What is to happen to this request. What others do to its object first (a rival's write, a broken lease) is done when this returns.
    fn plan<'a>(&'a self, spec: &'static Spec, head: &'a Head) -> Planned<'a>;
}

/// How a request ends that is not to end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Refuse(Refusal),
    /// The connection is closed without an answer.
    HangUp,
}

/// Resolves when something is over.
pub type Over = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

#[derive(Clone, Default)]
pub struct Plan {
    /// The rule, for the record.
    pub rule: u64,
    /// Instead of the operation.
    pub before: Option<Ending>,
    /// Instead of its answer, after it was done.
    pub after: Option<Ending>,
    /// The answer waits for so long.
    pub pause: Duration,
    /// The answer's body breaks off after so many bytes.
    pub cut: Option<u64>,
    /// Messages that are taken stay visible.
    pub visible: bool,
    /// A copy is pending until this is over.
    pub hold: Option<Over>,
    /// The secondary is behind by so much.
    pub lag: Duration,
}

/// A request to which trouble was made ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HungUp;

impl std::fmt::Display for HungUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a rehearsal closed the connection")
    }
}

impl std::error::Error for HungUp {}
