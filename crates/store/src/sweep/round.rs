//! A round over every container and queue: for garbage that nobody hinted at, for blocks that were never committed, for what was
//! deleted softly and is past its time, and for messages that expired and that nobody came to get.

use lazuli_engine::{Key, Space};
use lazuli_model::Timestamp;
use lazuli_model::queue::{Place, Queue};

use super::Progress;
use crate::claims::Trash;
use crate::file::sweep::ShareRound;
use crate::keys::{self, BlobKeys, QueueKeys};
use crate::lake::{RemovedRound, forget_name};
use crate::records::{DeletedContainer, Garbage, Kept, Pending, Stored, decode, decode_container_id, decode_with_tail};
use crate::transact::{get, now};
use crate::{Failure, Store};

const ROUND_EVERY_SECONDS: u64 = 24 * 60 * 60;

/// Uncommitted blocks go a week after the last of them was put ("Put Block" reference).
const PENDING_SECONDS: u64 = 7 * 24 * 60 * 60;

/// Rows that one step looks at.
const PAGE: usize = 256;

/// How far a round has come.
pub(super) enum Round {
    /// Containers from here on.
    Containers(Key),
    /// The garbage, then the pending rows, then what is due, of a container; then containers from `next` on.
    Garbage {
        space: Space,
        from: Key,
        next: Key,
    },
    Pending {
        space: Space,
        from: Key,
        next: Key,
    },
    /// The copies under way in a container; then containers from `next` on.
    LongCopies {
        from: Key,
        next: Key,
    },
    Due {
        space: Space,
        next: Key,
    },
    /// Containers that were deleted softly, from here on.
    Deleted(Key),
    /// Names of tags, from here on.
    TagNames(Key),
    /// What has expired in a container.
    Expiries {
        space: Space,
        from: Key,
        next: Key,
    },
    /// Queues from here on.
    Queues(Key),
    /// The messages of a queue; then queues from `next` on.
    Messages {
        space: Space,
        from: Key,
        next: Key,
    },
    /// Paths of a file system that were deleted softly; then containers from `next` on.
    Removed(RemovedRound),
    Shares(ShareRound),
    DeadSpaces(Key),
    /// Rows of lent pieces from here on.
    Lent(Key),
    /// Copies that are said to be unfinished, from here on.
    Unfinished(Key),
}

impl Store {
    pub(super) async fn round_step(&self, progress: &mut Progress, now: Timestamp) -> Result<bool, Failure> {
        let round = match progress.round.take() {
            Some(round) => round,
            None if self.round_is_due(progress.last_round, now) => {
                progress.last_round = Some(now);
                progress.lines.clear(); // other gateways may have collected some of the rows; those that wait get newer lines
                Round::Containers(keys::column(keys::ROOT, keys::CONTAINERS))
            }
            None => return Ok(false),
        };
        progress.round = match round {
            Round::Containers(from) => Some(self.next_container(from).await?),
            Round::Garbage { space, from, next } => Some(self.visit_garbage(space, from, next).await?),
            Round::Pending { space, from, next } => Some(self.visit_pending(space, from, next, now).await?),
            Round::LongCopies { from, next } => Some(match self.visit_long_copies(&from, &next, now).await? {
                Some(from) => Round::LongCopies { from, next },
                None => Round::Due { space: from.space(), next },
            }),
            Round::Due { space, next } => Some(self.visit_due(space, next, now).await?),
            Round::Removed(round) => Some(match self.visit_removed(round, now).await? {
                Ok(round) => Round::Removed(round),
                Err(next) => next_after(next),
            }),
            Round::Deleted(from) => Some(self.next_deleted(from, now).await?),
            Round::TagNames(from) => Some(self.visit_tag_names(from).await?),
            Round::Expiries { space, from, next } => Some(self.visit_expiries(space, from, next, now).await?),
            Round::Queues(from) => Some(self.next_queue(from).await?),
            Round::Messages { space, from, next } => Some(self.visit_messages(space, from, next, now).await?),
            Round::Shares(round) => Some(match self.share_round(round, now).await? {
                Some(round) => Round::Shares(round),
                None => Round::DeadSpaces(keys::column(keys::ROOT, keys::DEAD_SPACES)),
            }),
            Round::DeadSpaces(from) => Some(self.visit_dead_spaces(from).await?),
            Round::Lent(from) => Some(match self.visit_lent(&from, now).await? {
                Some(from) => Round::Lent(from),
                None => Round::Unfinished(keys::column(keys::ROOT, keys::UNFINISHED)),
            }),
            Round::Unfinished(from) => {
                self.visit_unfinished(&from, &mut progress.unfinished, now).await?.map(Round::Unfinished)
            }
        };
        Ok(true)
    }

    fn round_is_due(&self, last: Option<Timestamp>, now: Timestamp) -> bool {
        let wanted = self.sweep.with(|hints| {
            let due = hints.again.is_some_and(|again| again <= now);
            if due {
                hints.again = None;
            }
            std::mem::take(&mut hints.round) || due
        });
        wanted || last.is_none_or(|last| last.plus_seconds(ROUND_EVERY_SECONDS) <= now)
    }

    async fn next_container(&self, from: Key) -> Result<Round, Failure> {
        let end = keys::column(keys::ROOT, keys::CONTAINERS).after_prefix();
        let rows = self.rows(&from, &end, 1).await?;
        let Some((key, bytes)) = rows.first() else {
            return Ok(Round::Deleted(keys::column(keys::ROOT, keys::DELETED_CONTAINERS)));
        };
        let space = Space(decode_container_id(bytes)?);
        Ok(Round::Garbage { space, from: keys::column(space, keys::GARBAGE), next: key.successor() })
    }

    async fn visit_garbage(&self, space: Space, from: Key, next: Key) -> Result<Round, Failure> {
        let end = keys::column(space, keys::GARBAGE).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        for (key, _) in &rows {
            self.sweep.hint_partition(BlobKeys::of(space, keys::name_of(key)));
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Round::Garbage { space, from: last.successor(), next },
            Some(_) | None => Round::Pending { space, from: keys::column(space, keys::PENDING), next },
        })
    }

    async fn visit_pending(&self, space: Space, from: Key, next: Key, now: Timestamp) -> Result<Round, Failure> {
        let end = keys::column(space, keys::PENDING).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            if is_old(&decode(bytes)?, now) {
                self.drop_old_blocks(BlobKeys::of(space, keys::name_of(key))).await?;
            }
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Round::Pending { space, from: last.successor(), next },
            Some(_) | None => Round::Expiries { space, from: keys::column(space, keys::EXPIRIES), next },
        })
    }

    async fn visit_due(&self, space: Space, next: Key, now: Timestamp) -> Result<Round, Failure> {
        let (from, end) = (keys::column(space, keys::DUE), keys::due_before(space, now));
        let rows = self.rows(&from, &end, PAGE).await?;
        let full = rows.len() == PAGE;
        for (key, _) in rows {
            self.drop_due(space, key).await?;
        }
        Ok(match full {
            true => Round::Due { space, next },
            false => Round::Removed(RemovedRound::of(space, next)),
        })
    }

    /// Their spaces have garbage as others have, until they go.
    async fn next_deleted(&self, from: Key, now: Timestamp) -> Result<Round, Failure> {
        let end = keys::column(keys::ROOT, keys::DELETED_CONTAINERS).after_prefix();
        let rows = self.rows(&from, &end, 1).await?;
        let Some((key, bytes)) = rows.first() else {
            return Ok(Round::TagNames(keys::column(keys::ROOT, keys::TAG_NAMES)));
        };
        let gone: DeletedContainer = decode(bytes)?;
        if !gone.is_there(now) {
            self.drop_deleted_container(key.clone()).await?;
            return Ok(Round::Deleted(key.successor()));
        }
        let space = Space(gone.container.id);
        Ok(Round::Garbage { space, from: keys::column(space, keys::GARBAGE), next: key.successor() })
    }

    async fn visit_tag_names(&self, from: Key) -> Result<Round, Failure> {
        let end = keys::column(keys::ROOT, keys::TAG_NAMES).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            self.review_tag_name(key.clone(), decode(bytes)?).await?;
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Round::TagNames(last.successor()),
            Some(_) | None => Round::Queues(keys::column(keys::ROOT, keys::QUEUES)),
        })
    }

    async fn visit_expiries(&self, space: Space, from: Key, next: Key, now: Timestamp) -> Result<Round, Failure> {
        let more = self.expire_in(space, &from, &next, now.plus_seconds(ROUND_EVERY_SECONDS)).await?;
        Ok(match more {
            Some(from) => Round::Expiries { space, from, next },
            None => Round::LongCopies { from: keys::column(space, keys::LONG_COPIES), next },
        })
    }

    async fn drop_old_blocks(&self, keys: BlobKeys) -> Result<(), Failure> {
        let hinted = keys.clone();
        let trash = self
            .transact(keys.partition(), move |txn| {
                let pending: Option<Pending> = get(txn, &keys.pending())?;
                let Some(pending) = pending.filter(|pending| is_old(pending, now(txn))) else {
                    return Ok(false); // touched in between
                };
                txn.delete(keys.pending());
                forget_name(txn, &keys)?;
                let epoch = Garbage::Epoch { epoch: pending.epoch, kept: Kept::Nothing };
                Ok(Trash(vec![epoch]).write(txn, &keys))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(())
    }

    async fn next_queue(&self, from: Key) -> Result<Round, Failure> {
        let end = keys::column(keys::ROOT, keys::QUEUES).after_prefix();
        let rows = self.rows(&from, &end, 1).await?;
        let Some((key, bytes)) = rows.first() else {
            return Ok(Round::Shares(ShareRound::begin()));
        };
        let space = Space(decode::<Queue>(bytes)?.id);
        Ok(Round::Messages { space, from: keys::column(space, keys::MESSAGES), next: key.successor() })
    }

    async fn visit_messages(&self, space: Space, from: Key, next: Key, now: Timestamp) -> Result<Round, Failure> {
        let end = keys::column(space, keys::MESSAGES).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        let mut expired: Vec<Place> = Vec::new();
        for (_, bytes) in &rows {
            let (stored, _) = decode_with_tail::<Stored>(bytes)?;
            expired.extend(stored.message.has_expired(now).then_some(stored.message.place));
        }
        if !expired.is_empty() {
            self.drop_expired(QueueKeys { space }, expired).await?;
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Round::Messages { space, from: last.successor(), next },
            Some(_) | None => Round::Queues(next),
        })
    }

    async fn visit_dead_spaces(&self, from: Key) -> Result<Round, Failure> {
        let end = keys::column(keys::ROOT, keys::DEAD_SPACES).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        for (key, _) in &rows {
            if let Some(space) = keys::read_dead_space(key) {
                self.sweep.hint_space(space);
            }
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Round::DeadSpaces(last.successor()),
            Some(_) | None => Round::Lent(keys::column(keys::ROOT, keys::LENT)),
        })
    }
}

/// The container that a round goes on with.
fn next_after(next: Key) -> Round {
    match next.column() {
        keys::DELETED_CONTAINERS => Round::Deleted(next),
        _ => Round::Containers(next),
    }
}

fn is_old(pending: &Pending, now: Timestamp) -> bool {
    pending.touched.plus_seconds(PENDING_SECONDS) <= now
}
