//! What Get Blob and Get Blob Properties say of the copy that made a blob, or is making it.

use lazuli_model::blob::{Blob, CopyStatus};

use crate::answer::{Answer, name};
use crate::head::guid;

pub fn status_text(status: CopyStatus) -> &'static str {
    match status {
        CopyStatus::Pending => "pending",
        CopyStatus::Success => "success",
        CopyStatus::Aborted => "aborted",
        CopyStatus::Failed => "failed",
    }
}

pub fn describe(answer: Answer, blob: &Blob) -> Answer {
    let Some(copy) = &blob.copy else { return answer };
    let answer = answer
        .text(&name::COPY_ID, guid(copy.id))
        .text(&name::COPY_SOURCE, copy.source.as_str())
        .constant(&name::COPY_STATUS, status_text(copy.status))
        .text(&name::COPY_PROGRESS, format!("{}/{}", copy.done, copy.total))
        .optional(&name::COPY_STATUS_DESCRIPTION, copy.description.as_deref())
        .optional(&name::COPY_COMPLETION_TIME, copy.completed.map(|time| time.to_http()));
    if !copy.incremental {
        return answer;
    }
    answer
        .constant(&name::INCREMENTAL_COPY, "true")
        .optional(&name::COPY_DESTINATION_SNAPSHOT, copy.snapshot.map(|time| time.to_iso()))
}
