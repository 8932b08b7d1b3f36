//! When a blob was last read, for accounts that keep track. Reads stay reads: the time is written beside them, and at most
//! once a day for each blob ("Optionally enable access time tracking").

use lazuli_model::Timestamp;
use lazuli_model::blob::{Blob, Which};

use crate::{BlobAt, Failure, Store};

const DAY_SECONDS: u64 = 24 * 60 * 60;

impl Store {
    /// After a read of `blob`. The answer need not wait for it: a time that is lost is a day's inaccuracy.
    pub async fn note_access(&self, at: &BlobAt, which: Which, blob: &Blob) -> Result<(), Failure> {
        if !is_due(blob, self.now()) {
            return Ok(());
        }
        self.change_which(at, which, |blob, now| {
            let blob = blob.ok_or(lazuli_model::Refusal::BlobNotFound)?.clone();
            let accessed = if is_due(&blob, now) { Some(now) } else { blob.accessed };
            Ok((Blob { accessed, ..blob }, ()))
        })
        .await?;
        Ok(())
    }
}

fn is_due(blob: &Blob, now: Timestamp) -> bool {
    blob.last_access().plus_seconds(DAY_SECONDS) <= now
}
