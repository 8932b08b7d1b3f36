//! Forms of the protocol that the services share: headers, bodies, pages of listings, leases, XML documents, ranges, digests and structured
//! messages.
//! Parsers here refuse what they do not understand; none of them panics or holds more than it was given.

pub(crate) mod content;
pub mod digest;
pub(crate) mod headers;
pub(crate) mod lease;
pub mod multipart;
pub(crate) mod page;
pub mod range;
pub mod structured;
pub mod xml;

#[cfg(test)]
pub(crate) mod noise;
