//! What this service answers when it says yes.

use http::StatusCode;
use lazuli_model::TableName;
use lazuli_model::table::{Action, Change, Changed, Sight, Tag};

use super::format::Format;
use super::selection::Selection;
use super::{ask, atom, json, links};
use crate::answer::{Answer, name};
use crate::head::Head;

/// Every answer that tells of data.
pub fn fresh(status: StatusCode) -> Answer {
    Answer::new(status).constant(&name::CACHE_CONTROL, "no-cache").constant(&name::CONTENT_TYPE_OPTIONS, "nosniff")
}

/// What a client prefers to get back from an insert, if it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    Content,
    NoContent,
}

pub fn prefer(head: &Head) -> Option<Prefer> {
    match head.text("prefer")?.to_ascii_lowercase().as_str() {
        "return-no-content" => Some(Prefer::NoContent),
        "return-content" => Some(Prefer::Content),
        _ => None,
    }
}

impl Prefer {
    /// The header that says that it was heeded.
    pub fn applied(self) -> &'static str {
        match self {
            Prefer::Content => "return-content",
            Prefer::NoContent => "return-no-content",
        }
    }
}

/// A document, and its type.
pub type TableDocument = (&'static str, String);

/// What is said of a change, by itself or as a part of a batch; see [`fresh`] for what is always said.
pub struct Told {
    pub status: StatusCode,
    pub preference: Option<Prefer>,
    /// Where the new thing is.
    pub place: Option<String>,
    pub tag: Option<Tag>,
    pub content: Option<TableDocument>,
}

impl Told {
    fn done(tag: Option<Tag>) -> Self {
        Self { status: StatusCode::NO_CONTENT, preference: None, place: None, tag, content: None }
    }

    /// Where the new thing is, for those who do not get it.
    pub fn id(&self) -> Option<&str> {
        self.place.as_deref().filter(|_| self.content.is_none())
    }

    pub fn answer(self) -> Answer {
        let mut answer = fresh(self.status)
            .optional(&name::DATA_SERVICE_ID, self.id())
            .optional(&name::ETAG, self.tag.map(|tag| tag.to_string()))
            .optional(&name::LOCATION, self.place);
        if let Some(preference) = self.preference {
            answer = answer.constant(&name::PREFERENCE_APPLIED, preference.applied());
        }
        match self.content {
            Some((kind, text)) => answer.json(kind, text),
            None => answer,
        }
    }
}

/// To an insert: the new thing itself, or only where it is.
pub fn created(head: &Head, place: String, tag: Option<Tag>, content: impl FnOnce() -> TableDocument) -> Told {
    let preference = prefer(head);
    let (status, content) = match preference {
        Some(Prefer::NoContent) => (StatusCode::NO_CONTENT, None),
        Some(Prefer::Content) | None => (StatusCode::CREATED, Some(content())),
    };
    Told { status, preference, place: Some(place), tag, content }
}

/// To a change, of whatever kind.
pub fn changed(
    head: &Head,
    endpoint: &str,
    format: impl FnOnce() -> Format,
    table: &TableName,
    change: &Change,
    changed: &Changed,
) -> Told {
    let tag = changed.as_ref().map(|entity| entity.tag());
    match (&change.action, changed) {
        (Action::Insert(_), Some(entity)) => {
            let mut place = String::with_capacity(endpoint.len() + 128);
            place.push_str(endpoint);
            links::write_entity(&mut place, table.as_str(), &change.key.partition, &change.key.row);
            created(head, place, tag, || one(head, endpoint, format(), table, &entity.see(&change.key)))
        }
        (Action::Insert(_) | Action::Replace(..) | Action::Merge(..) | Action::Delete(_), _) => Told::done(tag),
    }
}

/// One entity as a document.
pub fn one(head: &Head, endpoint: &str, format: Format, table: &TableName, entity: &Sight<'_>) -> TableDocument {
    // Of a change, which is done, all is shown where `$select` names too many.
    let select = ask::select(head).unwrap_or_default();
    match format {
        Format::Json(level) => {
            let mut out = String::with_capacity(512);
            let (account, table) = (head.account.as_str(), table.as_str());
            let writing = json::JsonWriting { level, endpoint, account, table, select: select.as_ref() };
            writing.entity(&mut out, Some(&links::metadata(head, table, true)), entity);
            (level.content_type(), out)
        }
        Format::Atom => {
            let writing = feed(head, endpoint, table.as_str(), select.as_ref());
            (atom::CONTENT_TYPE_ENTRY, writing.document("entry", |out| writing.entity(out, entity)))
        }
    }
}

pub fn feed<'a>(
    head: &'a Head,
    endpoint: &'a str,
    table: &'a str,
    select: Option<&'a Selection>,
) -> atom::AtomWriting<'a> {
    atom::AtomWriting { endpoint, account: &head.account, table, select, now: head.now }
}
