//! SMB 2 and 3: how the File service is said over its second door.
//!
//! Nothing in here does I/O, reads a clock or draws a random number: bytes, the time and randomness are handed in. `packet` and `info` are the
//! codec, `crypt` signs and seals, `logon` finds out who is there, `session` keeps the rules of connections and sessions, `rpc` lists shares.

pub mod crypt;
pub mod info;
pub mod logon;
pub mod packet;
pub mod rpc;
pub mod session;
pub mod status;
pub mod text;
pub mod time;
pub mod wildcard;
