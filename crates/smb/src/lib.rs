//! SMB 2 and 3: how the File service is said over its second door.
//!
//! `packet` and `info` are the codec, `crypt` signs and seals, `logon` finds out who is there, `session` keeps the rules of connections and
//! sessions, `rpc` lists shares: none of these does I/O. `serve` moves bytes between sockets and commands; `command` has one file for each
//! command: it parses, asks the store, answers. Nothing in the crate reads a clock or draws a random number: these are handed in.

pub mod command;
pub mod crypt;
pub mod info;
pub mod logon;
pub mod packet;
pub mod refusal;
pub mod rpc;
pub mod serve;
pub mod session;
pub mod status;
pub mod text;
pub mod time;
pub mod wildcard;
