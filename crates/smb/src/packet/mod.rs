//! Bytes to values and back, without I/O. Every parser looks before it reads, takes time in proportion to its input, makes room for no more
//! than it has been given, and answers anything at all with a value or a [`Malformed`](wire::Malformed).
//!
//! A message is parsed from one buffer, and what is long in it (the data of WRITE, a token, a context) is a slice of that buffer. A
//! message is encoded into a head and a payload, so that the data of READ is not copied either.
//!
//! Requests and answers go both ways: the server parses the first and encodes the second, clients in tests the reverse.

pub mod compound;
pub mod create;
pub mod create_context;
pub mod error;
pub mod file;
pub mod frame;
pub mod fsctl;
pub mod header;
pub mod ioctl;
pub mod legacy;
pub mod logon;
pub mod message;
pub mod negotiate;
pub mod negotiate_context;
pub mod oplock;
pub mod payload;
pub mod query;
pub mod security;
pub mod transform;
pub mod tree;
pub mod wire;

pub use compound::Encoded;
pub use header::{Command, Header};
pub use message::{Request, Response};
pub use payload::Payload;
pub use wire::Malformed;
