//! A RADOS pool through librados: the only crate with `unsafe`, and all that it knows is operators on objects.
//!
//! Held true:
//! * what librados may still write to belongs to the operator in flight, and is freed by its completion, never before: a dropped
//!   future leaves the operator to end by itself (`flight`);
//! * the connection outlives its operators, and is never shut down on the thread that completions run on, for which librados waits;
//! * a pointer that goes to librados comes from a value that lives until the call returns, or until the completion fires.

mod connection;
mod flight;
mod sys;

pub use connection::{Cluster, ConnectError, Options};
