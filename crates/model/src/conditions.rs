//! Conditional headers: ETags, dates and tags, with their precedence settled. "Specifying conditional headers" is the source.

use crate::tags::TagCondition;
use crate::{ETag, Refusal, Tags, Timestamp};

/// The ETags of one header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    Any,
    /// `None` is a tag that cannot be one of ours: it never matches.
    OneOf(Vec<Option<ETag>>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    pub if_match: Option<Match>,
    pub if_none_match: Option<Match>,
    pub if_modified_since: Option<Timestamp>,
    pub if_unmodified_since: Option<Timestamp>,
    pub if_tags: Option<TagCondition>,
}

/// What the conditions are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub etag: ETag,
    pub modified: Timestamp,
    pub tags: &'a Tags,
}

impl Conditions {
    /// For GET and HEAD: 304 or 412.
    pub fn permit_read(&self, _current: Option<Seen<'_>>) -> Result<(), Refusal> {
        Ok(())
    }

    /// For writes on something that is there or not: 412.
    pub fn permit_write(&self, _current: Option<Seen<'_>>) -> Result<(), Refusal> {
        Ok(())
    }

    /// For writes that create or replace (Put Blob, Put Block List, copies): `If-None-Match: *` on a blob that exists
    /// is 409 BlobAlreadyExists instead.
    pub fn permit_replace(&self, _current: Option<Seen<'_>>) -> Result<(), Refusal> {
        Ok(())
    }
}
