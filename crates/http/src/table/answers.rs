//! What this service answers when it says yes.

use http::StatusCode;
use lazuli_model::TableName;
use lazuli_model::table::{Action, Change, Changed, Sight};

use super::format::Format;
use super::{ask, atom, json, links};
use crate::answer::{Answer, name};
use crate::blob::page::endpoint;
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

/// To an insert: the new thing itself, or only where it is.
pub fn created(head: &Head, link: &str, content: impl FnOnce(Answer) -> Answer) -> Answer {
    let place = format!("{}{link}", endpoint(head));
    match prefer(head) {
        Some(Prefer::NoContent) => fresh(StatusCode::NO_CONTENT)
            .constant(&name::PREFERENCE_APPLIED, "return-no-content")
            .text(&name::LOCATION, place.clone())
            .text(&name::DATA_SERVICE_ID, place),
        Some(Prefer::Content) => content(
            fresh(StatusCode::CREATED)
                .constant(&name::PREFERENCE_APPLIED, "return-content")
                .text(&name::LOCATION, place),
        ),
        None => content(fresh(StatusCode::CREATED).text(&name::LOCATION, place)),
    }
}

/// To a change, of whatever kind.
pub fn changed(head: &Head, format: Format, table: &TableName, change: &Change, changed: &Changed) -> Answer {
    let tagged = |answer: Answer| match changed {
        Some(entity) => answer.text(&name::ETAG, entity.tag().to_string()),
        None => answer,
    };
    match (&change.action, changed) {
        (Action::Insert(_), Some(entity)) => {
            let link = links::entity(table.as_str(), &change.key.partition, &change.key.row);
            tagged(created(head, &link, |answer| one(answer, head, format, table, &entity.see(&change.key))))
        }
        (Action::Insert(_) | Action::Replace(..) | Action::Merge(..) | Action::Delete(_), _) => {
            tagged(fresh(StatusCode::NO_CONTENT))
        }
    }
}

/// One entity as the body of `answer`.
pub fn one(answer: Answer, head: &Head, format: Format, table: &TableName, entity: &Sight<'_>) -> Answer {
    let endpoint = endpoint(head);
    let select = ask::select(head);
    let mut out = String::with_capacity(512);
    match format {
        Format::Json(level) => {
            let (account, table) = (head.account.as_str(), table.as_str());
            let writing = json::Writing { level, endpoint: &endpoint, account, table, select: select.as_deref() };
            writing.entity(&mut out, Some(&links::metadata(head, table, true)), entity);
            answer.json(level.content_type(), out)
        }
        Format::Atom => {
            let writing = feed(head, &endpoint, table.as_str(), select.as_deref());
            answer.json(atom::CONTENT_TYPE_ENTRY, writing.document("entry", |out| writing.entity(out, entity)))
        }
    }
}

pub fn feed<'a>(head: &'a Head, endpoint: &'a str, table: &'a str, select: Option<&'a [String]>) -> atom::Writing<'a> {
    atom::Writing { endpoint, account: &head.account, table, select, now: head.now }
}
