//! Conditional headers: ETags, dates and tags, with their precedence settled. "Specifying conditional headers" is the source.
//!
//! * HTTP dates have whole seconds, so a blob's date is compared without its fraction.
//! * Which of them a write may have together is settled while parsing, by `permit_together`.

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

impl Match {
    /// Reads `If-Match` or `If-None-Match`: `*`, one tag, or a list. Tags may come without quotes, as some clients
    /// send them. Comparison is strong, so a weak tag never matches.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "*" => Match::Any,
            list => Match::OneOf(split_list(list).map(ETag::parse).collect()),
        }
    }

    fn holds(&self, etag: ETag) -> bool {
        match self {
            Match::Any => true,
            Match::OneOf(tags) => tags.contains(&Some(etag)),
        }
    }

    /// Names something that cannot be a tag of the service: those are `0x` and hexadecimal digits.
    fn is_foreign(&self) -> bool {
        match self {
            Match::Any => false,
            Match::OneOf(tags) => tags.contains(&None),
        }
    }

    fn is_list(&self) -> bool {
        match self {
            Match::Any => false,
            Match::OneOf(tags) => tags.len() > 1,
        }
    }
}

/// The parts of a list between commas that are not inside quotes.
fn split_list(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    list.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

impl Conditions {
    /// Whether a write may say all this: one tag in each condition, and no two conditions but `if_none_match` with `if_modified_since` and
    /// `if_match` with `if_unmodified_since`.
    pub fn permit_together(&self) -> Result<(), Refusal> {
        let sent = (
            self.if_match.is_some(),
            self.if_none_match.is_some(),
            self.if_modified_since.is_some(),
            self.if_unmodified_since.is_some(),
        );
        let is_legal = match sent {
            (_, false, false, _) | (false, _, _, false) => true,
            (true, true, _, _) | (true, _, true, _) | (_, true, _, true) | (_, _, true, true) => false,
        };
        let has_list = [&self.if_match, &self.if_none_match].into_iter().flatten().any(Match::is_list);
        if is_legal && !has_list { Ok(()) } else { Err(Refusal::MultipleConditionsNotSupported) }
    }

    /// For reads. Something absent fails only If-Match; that it is absent is the caller's to say.
    pub fn permit_read(&self, current: Option<Seen<'_>>) -> Result<(), Refusal> {
        if self.if_none_match == Some(Match::Any) {
            return Err(Refusal::UnsatisfiableCondition);
        }
        let Some(seen) = current else {
            return self.permit_absent();
        };
        let unmet = self.if_match.as_ref().is_some_and(|tags| !tags.holds(seen.etag))
            || self.if_unmodified_since.is_some_and(|date| seen.modified_since(date))
            || self.if_tags.as_ref().is_some_and(|tags| !tags.holds(seen.tags));
        if unmet {
            return Err(Refusal::ConditionNotMet);
        }
        // Either of the two is enough: a client that sends both wants the body unless both say that it has it.
        let differs = self.if_none_match.as_ref().map(|tags| !tags.holds(seen.etag));
        let newer = self.if_modified_since.map(|date| seen.modified_since(date));
        match (differs, newer) {
            (None, None) | (Some(true), _) | (_, Some(true)) => Ok(()),
            (Some(false), None | Some(false)) | (None, Some(false)) => Err(Refusal::NotModified),
        }
    }

    /// For writes on something that is there or not: 412. Of a pair, the ETag decides. Rule A4: to what does not create, `If-None-Match: *` says
    /// nothing, because no ETag is `*`.
    pub fn permit_write(&self, current: Option<Seen<'_>>) -> Result<(), Refusal> {
        match current {
            None => self.permit_absent(),
            Some(seen) => self.permit_change(seen),
        }
    }

    /// For what is copied from, by whom speaks of it as the source: as for writes, but nothing that is there satisfies `If-None-Match: *`.
    pub fn permit_source(&self, current: Option<Seen<'_>>) -> Result<(), Refusal> {
        self.permit_write(current)?;
        let is_unwanted = current.is_some() && self.if_none_match == Some(Match::Any);
        if is_unwanted { Err(Refusal::ConditionNotMet) } else { Ok(()) }
    }

    /// For writes that create or replace (Put Blob, Put Block List, copies): `If-None-Match: *` on a blob that exists
    /// is 409 BlobAlreadyExists instead, once every other condition is met.
    pub fn permit_replace(&self, current: Option<Seen<'_>>) -> Result<(), Refusal> {
        let Some(seen) = current else {
            let no_tags = Tags::default();
            self.permit_absent()?;
            let met = self.if_tags.as_ref().is_none_or(|condition| condition.holds(&no_tags));
            return if met { Ok(()) } else { Err(Refusal::ConditionNotMet) };
        };
        self.permit_change(seen)?;
        if self.if_none_match == Some(Match::Any) { Err(Refusal::BlobAlreadyExists) } else { Ok(()) }
    }

    /// Rule B2: whether `If-Match` names what cannot be a tag of the service.
    pub fn wants_foreign_tag(&self) -> bool {
        self.if_match.as_ref().is_some_and(Match::is_foreign)
    }

    /// Rule B1: a write that reads its content from a URL blames the target, by name, for an `If-Match` that cannot be a tag of the service.
    pub fn of_target(&self, refusal: Refusal) -> Refusal {
        let blames = refusal == Refusal::ConditionNotMet && self.wants_foreign_tag();
        if blames { Refusal::TargetConditionNotMet } else { refusal }
    }

    /// Nothing is there to be newer or older, and no tag of it to differ; but something was asked to match.
    fn permit_absent(&self) -> Result<(), Refusal> {
        if self.if_match.is_some() { Err(Refusal::ConditionNotMet) } else { Ok(()) }
    }

    /// A write's conditions on what is there, but for `If-None-Match: *`.
    fn permit_change(&self, seen: Seen<'_>) -> Result<(), Refusal> {
        let by_tag_or_date = match (&self.if_match, &self.if_none_match) {
            (Some(tags), _) => tags.holds(seen.etag),
            (None, Some(Match::Any)) => true,
            (None, Some(tags @ Match::OneOf(_))) => !tags.holds(seen.etag),
            (None, None) => {
                self.if_modified_since.is_none_or(|date| seen.modified_since(date))
                    && self.if_unmodified_since.is_none_or(|date| !seen.modified_since(date))
            }
        };
        let by_tags = self.if_tags.as_ref().is_none_or(|condition| condition.holds(seen.tags));
        if by_tag_or_date && by_tags { Ok(()) } else { Err(Refusal::ConditionNotMet) }
    }
}

impl Seen<'_> {
    fn modified_since(&self, date: Timestamp) -> bool {
        self.modified.whole_seconds() > date
    }
}

#[cfg(test)]
mod tests;
