//! The one table of columns: which there are, and how the partition that owns a row is found from the row (docs/keys.md).
//!
//! Held true: a key has one owner for good, and its bytes tell it. So an engine can keep partitions in different places, and
//! the sweeper can remove a row without knowing what it says.

use bytes::Bytes;
use lazuli_engine::{Column, Key, Partition};

use crate::file::keys as file;
use crate::keys;

/// Where in a row the name of its owner stands.
#[derive(Clone, Copy)]
enum Owner {
    /// Nowhere: the space is one partition, with the empty name.
    Space,
    /// The beginning, up to a NUL or the end.
    Name,
    /// Between so many bytes at the beginning and so many at the end.
    Between(usize, usize),
    /// Behind a tag's name and its value, each with a NUL, but for so many bytes at the end.
    BehindTag(usize),
}

/// The columns of all spaces but the root, in the order in which the sweeper empties a dead one: what leads to content goes
/// before the content, and claims go last of what a container has, because they tell which pieces the space held.
const COLUMNS: [(Column, Owner); 47] = [
    (keys::ENTRIES, Owner::Space),
    (keys::PATH_NODES, Owner::Space),
    (keys::REMOVED, Owner::Space),
    (file::NAMES, Owner::Space),
    (file::NODES, Owner::Space),
    (file::CHILDREN, Owner::Space),
    (file::HELD, Owner::Space),
    (file::OPENS, Owner::Space),
    (file::DELETE_PENDING, Owner::Space),
    (file::BENEATH, Owner::Space),
    (file::NOTICES, Owner::Space),
    (file::WATCHES, Owner::Space),
    (file::PERMISSIONS, Owner::Space),
    (file::SNAPSHOTS, Owner::Space),
    (file::SUPERSEDED, Owner::Space),
    (file::BUILDS, Owner::Space),
    (file::PROPERTIES, Owner::Space),
    (file::USAGE, Owner::Space),
    (file::HEADS, Owner::Space),
    (keys::BASES, Owner::Name),
    (keys::SNAPSHOTS, Owner::Name),
    (keys::CUTS, Owner::Name),
    (keys::VERSIONS, Owner::Name),
    (keys::DELETED_BASES, Owner::Name),
    (keys::DELETED_SNAPSHOTS, Owner::Name),
    (keys::DELETED_VERSIONS, Owner::Name),
    (keys::VERSIONS_ONLY, Owner::Name),
    (keys::DUE, Owner::Between(9, 9)),
    (keys::TAGGED, Owner::BehindTag(0)),
    (keys::PAST_TAGGED, Owner::BehindTag(10)),
    (keys::PENDING, Owner::Name),
    (keys::LONG_COPIES, Owner::Name),
    (keys::BLOCKS, Owner::Name),
    (keys::CHUNKS, Owner::Name),
    (keys::SHARED, Owner::Name),
    (keys::EXPIRIES, Owner::Between(8, 0)),
    (keys::GUARDS, Owner::Name),
    (keys::WINDOWS, Owner::Name),
    (keys::SMALLS, Owner::Name),
    (keys::NOTED, Owner::Between(8, 10)),
    (keys::SOURCE_NOTES, Owner::Between(8, 2)),
    (keys::GARBAGE, Owner::Name),
    (keys::CLAIMS, Owner::Between(16, 0)),
    (keys::MESSAGES, Owner::Space),
    (keys::TEXTS, Owner::Space),
    (keys::HEADS, Owner::Space),
    (keys::ENTITIES, Owner::Name),
];

/// The column after `column` in which a dead space may still have rows; the first one after `None`.
pub(crate) fn next_column(column: Option<Column>) -> Option<Column> {
    let at =
        column.map_or(Some(0), |column| COLUMNS.iter().position(|(known, _)| *known == column).map(|at| at + 1))?;
    COLUMNS.get(at).map(|(column, _)| *column)
}

/// The partition that owns a key. `None` for bytes that are no key of ours, and for rows of an earlier layout.
pub fn layout(key: &Key) -> Option<Partition> {
    let name = if key.space() == keys::ROOT { root_owner(key) } else { owner(key) };
    Some(Partition::new(key.space(), name?))
}

fn owner(key: &Key) -> Option<Bytes> {
    let row = key.row();
    let (_, owner) = COLUMNS.iter().find(|(column, _)| *column == key.column())?;
    let name = match *owner {
        Owner::Space => Some(Bytes::new()),
        Owner::Name => Some(name(&row)),
        Owner::Between(before, behind) => between(&row, before, behind),
        Owner::BehindTag(behind) => {
            let mut nuls = row.iter().enumerate().filter(|(_, byte)| **byte == 0);
            let (second, _) = nuls.nth(1)?;
            between(&row, second + 1, behind)
        }
    };
    // What hangs on an id is in the one partition of its file system.
    name.map(|name| keys::owner_of(&name))
}

fn name(row: &Bytes) -> Bytes {
    row.slice(..row.iter().position(|byte| *byte == 0).unwrap_or(row.len()))
}

fn between(row: &Bytes, before: usize, behind: usize) -> Option<Bytes> {
    let end = row.len().checked_sub(behind).filter(|end| *end >= before)?;
    Some(row.slice(before..end))
}

/// In the root a partition is an account, something that has a name in one, or a thing of the server's.
fn root_owner(key: &Key) -> Option<Bytes> {
    let row = key.row();
    match key.column() {
        keys::ACCOUNTS | keys::FEEDS | keys::CONTAINERS => Some(row),
        keys::PROPERTIES => Some(name(&row)),
        keys::DELETED_CONTAINERS => between(&row, 0, 9),
        keys::TAG_NAMES => {
            let mut parts = row.splitn(3, |byte| *byte == 0);
            let (account, _, container) = (parts.next()?, parts.next()?, parts.next()?);
            Some([account, &[0], container].concat().into())
        }
        keys::QUEUES => within_account(&row, b'q'),
        keys::TABLES => within_account(&row, b't'),
        file::SHARES => within_account(&row, b'f'),
        file::DELETED_SHARES => within_account(&between(&row, 0, 9)?, b'f'),
        file::GATEWAYS => Some(file::gateway_partition(file::read_gateway(key)?).name),
        keys::LENT => Some(keys::lent_partition(row.first_chunk().map(|extent| u64::from_be_bytes(*extent))?).name),
        keys::CONTENT_PINS | keys::PIECE_PINS => Some(crate::pins::owner(&row)?.name),
        keys::IMPORTS => Some(keys::import_partition().name),
        keys::UNFINISHED => Some(keys::unfinished_partition().name),
        keys::DEAD_SPACES => between(&row, 16, 0).filter(|owner| !owner.is_empty()),
        _ => None,
    }
}

/// `account 00 name` as a partition of its kind.
fn within_account(row: &Bytes, kind: u8) -> Option<Bytes> {
    let end = row.iter().position(|byte| *byte == 0)?;
    Some([&row[..end], &[0, kind, 0], &row[end + 1..]].concat().into())
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Space;
    use lazuli_engine::content::Piece;
    use lazuli_model::blob::Which;
    use lazuli_model::file::{FileId, ShareName};
    use lazuli_model::queue::Place;
    use lazuli_model::service::Of;
    use lazuli_model::{AccountName, ContainerName, QueueName, TableName, Timestamp};

    use super::*;
    use crate::keys::{BlobKeys, Located, Past, QueueKeys, TableKeys, TreeKeys};
    use crate::{ContainerAt, QueueAt, ShareAt, TableAt};

    fn owned(key: &Key, by: &Partition) {
        assert_eq!(layout(key).as_ref(), Some(by), "{key:?}");
    }

    #[test]
    fn each_key_of_a_space_tells_its_partition() {
        for blob in ["dir/blob", "b", ""] {
            let keys = BlobKeys::new(7, blob);
            let time = Timestamp::from_ticks(0x0100_0000_0000_0001);
            let piece = Piece { extent: 3, offset: 0x0100, length: 1, seal: 0 };
            let mut all = vec![
                keys.base(),
                keys.pending(),
                keys.chunk(1, 2),
                keys.garbage(0),
                keys.expired_garbage(9),
                keys.shared(5),
                keys.small(1, 2, 3),
                keys.window(1, 2, 3),
                keys.long_copy(),
                keys.guard(),
                keys.versions_only(),
                keys.expiry(time),
                keys.claim(&piece),
                keys.tagged("tag", ""),
                keys.snapshot(time),
                keys.version(time),
                keys.source_note(time, lazuli_model::replication::SourceChange::Written),
            ];
            for which in [Which::Current, Which::Snapshot(time), Which::Version(time)] {
                all.extend([keys.due(time, which), keys.deleted(which)]);
                all.push(keys.noted(time, crate::feed::Noting::Changed, which));
                all.extend(keys.past_tagged("tag", "value", Past { which, is_deleted: true }));
            }
            all.iter().for_each(|key| owned(key, &keys.partition()));
        }
        let tree = TreeKeys::new(11);
        let (path, id) = ("dir/file", keys::node_id(0x08dc_0000_0000_0001, 3));
        for key in [tree.entry(id, "file"), tree.node(id), tree.removed(path, 5), tree.removed_under("dir")] {
            owned(&key, &tree.partition());
        }
        let (file, time) = (tree.blob(id), Timestamp::from_ticks(0x0100_0000_0000_0001));
        assert_eq!(file.located(), Located::Node(id));
        let piece = Piece { extent: 3, offset: 0x0100, length: 1, seal: 0 };
        let of_file = [
            file.base(),
            file.pending(),
            file.snapshot(time),
            file.chunk(1, 2),
            file.garbage(3),
            file.expiry(time),
            file.claim(&piece),
            file.window(1, 2, 3),
            file.due(time, Which::Current),
            file.tagged("tag", "value"),
        ];
        of_file.iter().for_each(|key| owned(key, &tree.partition()));
        assert_eq!(keys::name_of(&file.garbage(3)), file.name);
        assert_eq!(keys::TreeKeys::read_removed(&tree.removed(path, 5)), Some((path.to_owned(), 5)));
        let queue = QueueKeys::new(8);
        let place = Place { visible: Timestamp::from_ticks(1), inserted: Timestamp::from_ticks(2) };
        [queue.head(), queue.message(place), queue.text(place.inserted)]
            .iter()
            .for_each(|key| owned(key, &queue.partition()));
        let table = TableKeys::new(9);
        for partition in ["p", ""] {
            owned(&table.entity(partition, "row"), &table.partition(partition));
        }
        let share = file::ShareKeys::new(10);
        for key in [share.head(), file::at_epoch(&share.name(FileId(1), "NAME"), 2), share.open(FileId(1), 2)] {
            owned(&key, &share.partition());
        }
        owned(&share.content.window(1, 2, 3), &share.partition());
        owned(&share.content.claim(&Piece { extent: 1, offset: 2, length: 3, seal: 4 }), &share.partition());
    }

    #[test]
    fn each_key_of_the_root_tells_its_partition() {
        let account = AccountName::parse("account").unwrap();
        let container = ContainerAt { account: account.clone(), container: ContainerName::parse("box").unwrap() };
        let in_root = |name: Bytes| Partition::new(keys::ROOT, name);
        let here = in_root(keys::container_row(&container));
        owned(&keys::container("account", "box"), &here);
        owned(&keys::deleted_container(&container, Timestamp::from_ticks(5)), &here);
        owned(&keys::tag_name("account", "tag", "box"), &here);
        owned(&keys::dead_space(Space(3), &here.name), &here);
        owned(&keys::account(&account), &keys::account_partition(&account));
        owned(&keys::feed(&account), &keys::account_partition(&account));
        let (partition, properties) = keys::properties(&account, Of::Queue);
        owned(&properties, &partition);
        let queue = QueueAt { account: account.clone(), queue: QueueName::parse("jobs").unwrap() };
        owned(&keys::queue(&queue), &in_root(keys::queue_partition(&queue)));
        let table = TableAt { account: account.clone(), table: TableName::parse("Cats").unwrap() };
        owned(&keys::table(&table), &in_root(keys::table_partition(&table)));
        let share = ShareAt { account, share: ShareName::parse("home").unwrap() };
        owned(&file::share(&share), &file::share_partition(&share));
        owned(&file::deleted_share(&share, 7), &file::share_partition(&share));
        owned(&file::gateway(6), &file::gateway_partition(6));
        let blob = BlobKeys::new(7, "blob");
        owned(&keys::lent((4, 5), &blob), &keys::lent_partition(4));
        owned(&keys::unfinished(&blob, 8), &keys::unfinished_partition());
    }

    /// Rows that earlier versions wrote: their owner is in the value, and only the sweeper of one process reads it.
    #[test]
    fn a_dead_space_of_an_earlier_version_has_no_owner_in_its_key() {
        assert_eq!(layout(&keys::dead_spaces(Space(3))), None);
    }
}
