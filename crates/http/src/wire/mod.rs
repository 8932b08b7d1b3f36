//! Forms of the protocol that several operations share: XML documents, ranges, digests and structured messages.
//! Parsers here refuse what they do not understand; none of them panics or holds more than it was given.

pub mod digest;
pub mod multipart;
pub mod range;
pub mod structured;
pub mod xml;

#[cfg(test)]
pub(crate) mod noise;
