//! A whole world in one thread: the real handlers, the real store, an engine with the manners of a cluster, a clock that
//! jumps, clients that hang up. All of it is drawn from a seed, so that a seed is a bug report.
//!
//! Held true:
//! * what is random, and when whose turn it is, comes from the seed: two runs of one are the same to the byte;
//! * each object's history is judged by a reference of its own (`blob`, `container`, `shelf`, `table`, `queue`, `share`), written
//!   from the documentation and not from `model`, so that a rule that is wrong there is found here;
//! * a reference says for every refusal why it is right, and for every success what it must show. What a client was never told
//!   (a fault, a hang-up after the last byte) may have happened or not; what was sent by halves, or signed wrongly, may not.

mod blob;
mod container;
pub mod disk;
pub mod doors;
mod explained;
mod faults;
pub mod gateways;
mod handles;
pub mod lake;
mod lease;
mod object;
mod queue;
mod scene;
mod share;
mod shelf;
mod shrink;
mod table;
mod wire;
mod world;

pub use scene::Mischief;
pub use world::{Report, run, run_with};
