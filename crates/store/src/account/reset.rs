//! Empties an account: its containers, queues, tables and shares go, held or not; the account, its keys and its settings stay. For
//! tests that begin anew. Each goes in a transaction of its own, so an account is empty when this returns unless others fill it meanwhile.

use lazuli_engine::{Key, Space};
use lazuli_model::file::{DeleteShare, DeleteShareSnapshots, LeaseShare};
use lazuli_model::lease::Action;
use lazuli_model::{AccountName, ContainerName, QueueName, Refusal, TableName};

use crate::sweep::bury;
use crate::{ContainerAt, Failure, QueueAt, ShareAt, Store, TableAt, keys};

/// How much was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Emptied {
    pub containers: usize,
    pub queues: usize,
    pub tables: usize,
    pub shares: usize,
}

/// Rows that are read at once.
const BATCH: usize = 1000;

impl Store {
    pub async fn empty_account(&self, account: &AccountName) -> Result<Emptied, Failure> {
        let mut emptied = Emptied::default();
        for name in self.names(&keys::containers(account, b""), account).await? {
            let Ok(container) = ContainerName::parse(&name) else { continue };
            self.drop_container(&ContainerAt { account: account.clone(), container }).await?;
            emptied.containers += 1;
        }
        for name in self.names(&keys::queues(account, b""), account).await? {
            let Ok(queue) = QueueName::parse(&name) else { continue };
            gone(self.delete_queue(&QueueAt { account: account.clone(), queue }).await)?;
            emptied.queues += 1;
        }
        for name in self.names(&keys::tables(account, b""), account).await? {
            let Ok(table) = TableName::parse(&name) else { continue };
            gone(self.delete_table(&TableAt { account: account.clone(), table }).await)?;
            emptied.tables += 1;
        }
        for name in self.names(&crate::file::keys::shares(account, b""), account).await? {
            let Ok(share) = lazuli_model::file::ShareName::parse(&name) else { continue };
            self.drop_share(&ShareAt { account: account.clone(), share }).await?;
            emptied.shares += 1;
        }
        Ok(emptied)
    }

    /// The names behind the account's in the rows of a column.
    async fn names(&self, all: &Key, account: &AccountName) -> Result<Vec<String>, Failure> {
        let (mut from, end, mut names) = (all.clone(), all.after_prefix(), Vec::new());
        loop {
            let rows = self.rows(&from, &end, BATCH).await?;
            for (key, _) in &rows {
                let name = key.row().get(account.as_str().len() + 1..).unwrap_or_default().to_vec();
                names.extend(String::from_utf8(name));
            }
            match rows.last().filter(|_| rows.len() == BATCH) {
                Some((last, _)) => from = last.successor(),
                None => return Ok(names),
            }
        }
    }

    /// Without a look at its lease, its holds or how long the account keeps what is deleted.
    async fn drop_container(&self, at: &ContainerAt) -> Result<(), Failure> {
        let at = at.clone();
        let dead = self.transact(keys::container_partition(&at), move |txn| {
            let row = keys::container(at.account.as_str(), at.container.as_str());
            let Some(bytes) = txn.get(&row)? else { return Ok(None) };
            let space = Space(crate::records::decode_container_id(&bytes)?);
            txn.delete(row);
            bury(txn, &keys::container_partition(&at), space);
            Ok(Some(space))
        });
        if let Some(space) = dead.await? {
            self.sweep.hint_space(space);
        }
        Ok(())
    }

    async fn drop_share(&self, at: &ShareAt) -> Result<(), Failure> {
        let delete = DeleteShare {
            snapshot: None,
            snapshots: Some(DeleteShareSnapshots::IncludeLeased),
            lease: None,
            retention_days: None,
        };
        match self.delete_share(at, delete).await {
            Err(Failure::Refused(Refusal::LeaseIdMissing)) => {
                let action = Action::Break { period_seconds: Some(0) };
                self.lease_share(at, LeaseShare { action, snapshot: None }).await?;
                gone(self.delete_share(at, delete).await)
            }
            deleted => gone(deleted),
        }
    }
}

/// That it is not there any more is what was wanted.
fn gone(deleted: Result<(), Failure>) -> Result<(), Failure> {
    match deleted {
        Err(Failure::Refused(Refusal::QueueNotFound | Refusal::ResourceNotFound | Refusal::ShareNotFound)) => Ok(()),
        deleted => deleted,
    }
}
