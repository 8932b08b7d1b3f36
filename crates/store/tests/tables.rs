//! Tables: random programs against a reference (the model's rules over a `BTreeMap`) on every engine; and concurrent batches
//! and queries on one partition, of which no page may show half a batch, and which must all fit in one order.

mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lazuli_engine::embedded::Options;
use lazuli_engine::{Clock, Embedded, Engine, Memory, content};
use lazuli_model::table::*;
use lazuli_model::{AccountName, Refusal, TableName, Timestamp};
use lazuli_store::{Failure, OpenTable, QueryEntities, QueryTables, Store, TableAt};
use world::{Random, World};

fn at(table: &str) -> TableAt {
    TableAt { account: AccountName::parse("account1").unwrap(), table: TableName::parse(table).unwrap() }
}

async fn create(store: &Store, table: &str, id: u128) -> Result<(), Failure> {
    let name = TableName::parse(table).unwrap();
    store.create_table(&at(table), CreateTable { id, name }).await
}

fn over(engine: Arc<dyn Engine>) -> Store {
    Store::new(engine, Arc::new(content::Memory::new()))
}

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-tables-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// With stretches of a few entities, so that queries walk over them, and pass over some.
    fn engine(&self) -> Arc<Embedded> {
        let options = Options { range_cache_bytes: 128 << 10, ..Options::default() };
        Arc::new(Embedded::open(self.0.join("data"), options).unwrap())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PARTITIONS: [&str; 5] = ["", "a", "a b", "é", "b"];
const ROWS: [&str; 6] = ["", "1", "10", "2", "\u{10ffff}", "z"];
const FILTERS: [&str; 12] = [
    "PartitionKey eq 'a'",
    "PartitionKey eq 'a' and RowKey eq '1'",
    "PartitionKey eq '' and RowKey ge '1' and RowKey lt '2'",
    "PartitionKey gt 'a' and PartitionKey lt 'b'",
    "PartitionKey eq 'a' or PartitionKey eq 'b' and RowKey le '10'",
    "PartitionKey eq 'a' or PartitionKey ge 'a'",
    "PartitionKey le 'a\u{1}x'",
    "PartitionKey ge 'a\u{1}x' and RowKey ne '1'",
    "PartitionKey eq 'a\u{1}' or n lt 3",
    "n ge 5",
    "not (n ge 5) and PartitionKey eq 'b'",
    "flag or RowKey eq 'z'",
];

/// A program and its two machines.
struct Run {
    store: Store,
    table: OpenTable,
    reference: BTreeMap<Key, Entity>,
    random: Random,
}

/// An entity as a filter sees it.
struct Row<'a>(&'a Key, &'a Entity);

impl Fields for Row<'_> {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        match name {
            "PartitionKey" => Some(Seen::String(&self.0.partition)),
            "RowKey" => Some(Seen::String(&self.0.row)),
            "Timestamp" => Some(Seen::DateTime(self.1.modified)),
            _ => self.1.properties.iter().find(|(found, _)| found == name).map(|(_, value)| value.seen()),
        }
    }
}

impl Run {
    async fn new(store: Store, seed: u64) -> Self {
        create(&store, "things", u128::from(seed) + 1).await.unwrap();
        let table = store.open_table(&at("THINGS")).await.unwrap();
        Self { store, table, reference: BTreeMap::new(), random: Random(seed) }
    }

    fn properties(&mut self) -> Vec<(String, Value)> {
        let mut properties = vec![("n".to_owned(), Value::Int32(self.random.below(10) as i32))];
        if self.random.chance(50) {
            properties.push(("flag".to_owned(), Value::Boolean(self.random.chance(50))));
        }
        if self.random.chance(20) {
            properties.push(("long".to_owned(), Value::String("x".repeat(self.random.below(30_000)))));
        }
        properties
    }

    fn change(&mut self, partition: &str) -> Change {
        let key = Key::new(partition, *self.random.pick(&ROWS));
        let tag = self.reference.get(&key).map(Entity::tag).filter(|_| self.random.chance(70));
        let expect = if self.random.chance(40) { Expect::Any } else { Expect::Tag(tag) };
        let place = if self.random.chance(50) { Place::Anywhere } else { Place::Found(expect) };
        let action = match self.random.below(5) {
            0 | 1 => Action::Insert(self.properties()),
            2 => Action::Replace(place, self.properties()),
            3 => Action::Merge(place, self.properties()),
            _ => Action::Delete(expect),
        };
        Change { key, action }
    }

    /// What the reference says, and does.
    fn expected(&mut self, changes: &[Change], now: Timestamp) -> Result<Vec<Changed>, (usize, Refusal)> {
        let mut after = self.reference.clone();
        let mut each = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let changed = change.decide(after.get(&change.key), now).map_err(|refusal| (index, refusal))?;
            match &changed {
                Some(entity) => after.insert(change.key.clone(), entity.clone()),
                None => after.remove(&change.key),
            };
            each.push(changed);
        }
        self.reference = after;
        Ok(each)
    }

    async fn step(&mut self) {
        let partition = *self.random.pick(&PARTITIONS);
        match self.random.below(10) {
            0..=4 => {
                let change = self.change(partition);
                let got = self.store.change_entity(&self.table, change.clone()).await;
                self.agree(&[change], got.map(|one| vec![one]), |_, refusal| refusal);
            }
            5 | 6 => {
                let mut changes: Vec<Change> = (0..=self.random.below(4)).map(|_| self.change(partition)).collect();
                changes.sort_by(|one, other| one.key.cmp(&other.key));
                changes.dedup_by(|one, other| one.key == other.key);
                let got = self.store.change_entities(&self.table, changes.clone()).await;
                let in_batch = |index, refusal| Refused::InBatch { index, refusal: Box::new(refusal) }.into();
                self.agree(&changes, got, in_batch);
            }
            7 => {
                let key = Key::new(partition, *self.random.pick(&ROWS));
                let got = self.store.entity(&self.table, &key).await.map(|found| found.entity().unwrap().1);
                let want = self.reference.get(&key).cloned().ok_or(Failure::Refused(Refusal::ResourceNotFound));
                assert_eq!(got, want, "{key:?}");
            }
            _ => self.query().await,
        }
    }

    fn agree(
        &mut self,
        changes: &[Change],
        got: Result<Vec<Changed>, Failure>,
        wrap: impl Fn(usize, Refusal) -> Refusal,
    ) {
        // The stamp is the engine's to choose; everything else is the reference's.
        let now = got.as_ref().ok().and_then(|each| each.iter().flatten().next()).map(|entity| entity.modified);
        let want = self.expected(changes, now.unwrap_or(Timestamp::from_ticks(0)));
        let want = want.map_err(|(index, refusal)| Failure::Refused(wrap(index, refusal)));
        assert_eq!(got, want, "{changes:?}");
    }

    /// All pages of a query, however long they are.
    async fn query(&mut self) {
        let text = *self.random.pick(&FILTERS);
        let filter = self.random.chance(80).then(|| Filter::parse(text).unwrap());
        let within = match self.random.below(4) {
            0 => Within { from: Some(("a".into(), Some("1".into()))), to: Some(("b".into(), None)) },
            _ => Within::default(),
        };
        let mut query = QueryEntities { filter, most: 1 + self.random.below(8), from: None, within };
        let mut got = Vec::new();
        loop {
            let page = self.store.query_entities(&self.table, &query).await.unwrap();
            assert!(page.items.len() <= query.most);
            got.extend(page.entities().unwrap());
            query.from = match page.next {
                Some(next) => Some(next),
                None => break,
            };
        }
        let wanted = |(key, entity): &(&Key, &Entity)| {
            query.within.holds(&key.partition, &key.row)
                && query.filter.as_ref().is_none_or(|filter| filter.holds(&Row(key, entity)))
        };
        let want: Vec<_> = self.reference.iter().filter(wanted).map(|(key, e)| (key.clone(), e.clone())).collect();
        assert_eq!(got, want, "{text} {:?}", query.within);
    }
}

#[tokio::test]
async fn random_programs_agree_with_the_reference() {
    for seed in 0..12 {
        let mut run = Run::new(over(Arc::new(Memory::laid_out(lazuli_store::layout, Clock::system()))), seed).await;
        for _ in 0..300 {
            run.step().await;
        }
    }
}

#[tokio::test]
async fn and_on_an_engine_with_the_manners_of_a_cluster() {
    for seed in 0..6 {
        let mut run = Run::new(over(Arc::new(Memory::distributed(lazuli_store::layout, seed))), seed).await;
        for _ in 0..150 {
            run.step().await;
        }
    }
}

/// Each step by the next of several gateways.
pub async fn program_in_turns(gateways: Vec<Store>, seed: u64, steps: usize) {
    let mut run = Run::new(gateways[0].clone(), seed).await;
    for step in 0..steps {
        run.store = gateways[step % gateways.len()].clone();
        run.step().await;
    }
}

#[tokio::test]
async fn and_when_gateways_take_turns() {
    for seed in 0..4 {
        let engine: Arc<dyn Engine> = Arc::new(Memory::distributed(lazuli_store::layout, seed));
        program_in_turns([1, 2].map(|id| over(engine.clone()).shared_as(id)).into(), seed, 150).await;
    }
}

#[tokio::test]
async fn and_on_the_embedded_engine_across_a_restart() {
    let directory = Directory::new("reference");
    let mut run = Run::new(over(directory.engine()), 77).await;
    for _ in 0..150 {
        run.step().await;
    }
    let (reference, random) = (run.reference, run.random);
    drop(run.store);
    let store = over(directory.engine());
    let table = store.open_table(&at("things")).await.unwrap();
    let mut run = Run { store, table, reference, random };
    for _ in 0..100 {
        run.step().await;
    }
}

#[tokio::test]
async fn tables_come_and_go_and_are_listed_by_name() {
    let store = over(Arc::new(Memory::laid_out(lazuli_store::layout, Clock::system())));
    for (id, name) in [(1, "Beta"), (2, "alpha"), (3, "gamma")] {
        create(&store, name, id).await.unwrap();
    }
    assert_eq!(create(&store, "ALPHA", 4).await, Err(Failure::Refused(Refused::TableAlreadyExists.into())));
    let account = AccountName::parse("account1").unwrap();
    let list = |filter: Option<&'static str>, most, from| {
        let (store, account) = (store.clone(), account.clone());
        async move {
            let filter = filter.map(|text| Filter::parse(text).unwrap());
            let page = store.query_tables(&account, &QueryTables { filter, most, from }).await.unwrap();
            (page.names, page.next)
        }
    };
    assert_eq!(list(None, 1000, None).await, (vec!["alpha".into(), "Beta".into(), "gamma".into()], None));
    let (first, next) = list(None, 2, None).await;
    assert_eq!((first, next.as_deref()), (vec!["alpha".into(), "Beta".into()], Some("gamma")));
    assert_eq!(list(None, 2, next).await, (vec!["gamma".into()], None));
    let some = "TableName eq 'gamma' or TableName eq 'alpha' or TableName eq 'nobody'";
    assert_eq!(list(Some(some), 1000, None).await, (vec!["alpha".into(), "gamma".into()], None));
    assert_eq!(list(Some("TableName ge 'b'"), 1000, None).await, (vec!["gamma".into()], None));

    let old = store.open_table(&at("alpha")).await.unwrap();
    store.delete_table(&at("alpha")).await.unwrap();
    assert_eq!(store.delete_table(&at("alpha")).await, Err(Failure::Refused(Refusal::ResourceNotFound)));
    assert_eq!(store.open_table(&at("alpha")).await, Err(Failure::Refused(Refused::TableNotFound.into())));
    create(&store, "alpha", 5).await.unwrap();
    let new = store.open_table(&at("alpha")).await.unwrap();
    let change = Change { key: Key::new("p", "r"), action: Action::Insert(Vec::new()) };
    store.change_entity(&old, change.clone()).await.unwrap();
    assert_eq!(store.entity(&new, &change.key).await.err(), Some(Failure::Refused(Refusal::ResourceNotFound)));
}

fn number(entity: &Entity) -> i32 {
    match entity.properties.first() {
        Some((_, Value::Int32(number))) => *number,
        other => panic!("{other:?}"),
    }
}

/// Each batch writes its own number into all ten rows; each query must see one number, ten times.
async fn no_page_shows_half_a_batch(engine: Arc<dyn Engine>) {
    let store = over(engine);
    create(&store, "things", 9).await.unwrap();
    let table = store.open_table(&at("things")).await.unwrap();
    let batch = |value: i32| -> Vec<Change> {
        let one = |row: usize| Change {
            key: Key::new("p", format!("{row:02}")),
            action: Action::Replace(Place::Anywhere, vec![("n".to_owned(), Value::Int32(value))]),
        };
        (0..10).map(one).collect()
    };
    store.change_entities(&table, batch(0)).await.unwrap();
    let writers = (0..4).map(|writer| {
        let (store, table) = (store.clone(), table.clone());
        tokio::spawn(async move {
            for turn in 0..15 {
                store.change_entities(&table, batch(writer * 100 + turn)).await.unwrap();
            }
        })
    });
    let readers = (0..3).map(|_| {
        let (store, table) = (store.clone(), table.clone());
        tokio::spawn(async move {
            let query = QueryEntities { most: 1000, ..Default::default() };
            for _ in 0..40 {
                let page = store.query_entities(&table, &query).await.unwrap();
                let entities = page.entities().unwrap();
                let numbers: Vec<i32> = entities.iter().map(|(_, entity)| number(entity)).collect();
                assert!(numbers.len() == 10 && numbers.windows(2).all(|pair| pair[0] == pair[1]), "{numbers:?}");
                let stamps: Vec<_> = entities.iter().map(|(_, entity)| entity.modified).collect();
                assert!(stamps.windows(2).all(|pair| pair[0] == pair[1]), "{stamps:?}");
            }
        })
    });
    for task in writers.chain(readers).collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_shows_half_a_batch_on_any_engine() {
    no_page_shows_half_a_batch(Arc::new(Memory::laid_out(lazuli_store::layout, Clock::system()))).await;
    no_page_shows_half_a_batch(Arc::new(Memory::distributed(lazuli_store::layout, 5))).await;
    let directory = Directory::new("pages");
    no_page_shows_half_a_batch(directory.engine()).await;
}

/// Clients move one coin at a time between two purses, each time from what they read, guarded by tags. If batches were not
/// serializable a coin would be made or lost; and the stamps of the batches that won put them in an order in which each saw the
/// one before.
async fn batches_are_serializable(engine: Arc<dyn Engine>) {
    let store = over(engine);
    create(&store, "things", 9).await.unwrap();
    let table = store.open_table(&at("things")).await.unwrap();
    let purse = |row: &str, count: i32, place: Place| Change {
        key: Key::new("p", row),
        action: Action::Replace(place, vec![("n".to_owned(), Value::Int32(count))]),
    };
    store
        .change_entities(&table, vec![purse("a", 50, Place::Anywhere), purse("b", 50, Place::Anywhere)])
        .await
        .unwrap();
    let clients = (0..5u64).map(|client| {
        let (store, table) = (store.clone(), table.clone());
        tokio::spawn(async move {
            let mut random = Random(client);
            let mut won = Vec::new();
            for _ in 0..30 {
                let query = QueryEntities { most: 10, ..Default::default() };
                let page = store.query_entities(&table, &query).await.unwrap();
                let entities = page.entities().unwrap();
                let [(_, a), (_, b)] = entities.as_slice() else { panic!("{page:?}") };
                assert_eq!(number(a) + number(b), 100, "a coin was made or lost");
                let way = if random.chance(50) { 1 } else { -1 };
                let found = |entity: &Entity| Place::Found(Expect::Tag(Some(entity.tag())));
                let batch = vec![purse("a", number(a) + way, found(a)), purse("b", number(b) - way, found(b))];
                match store.change_entities(&table, batch).await {
                    Ok(after) => {
                        won.push((a.modified, after[0].as_ref().unwrap().modified, number(a), number(a) + way))
                    }
                    Err(Failure::Refused(Refusal::Table(Refused::InBatch { index: 0, refusal }))) => {
                        assert_eq!(*refusal, Refused::UpdateConditionNotSatisfied.into());
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            won
        })
    });
    let mut history = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        history.extend(client.await.unwrap());
    }
    history.sort_by_key(|(_, after, ..)| *after);
    for pair in history.windows(2) {
        let ((_, after, _, left), (saw, _, found, _)) = (pair[0], pair[1]);
        assert_eq!((saw, found), (after, left), "each batch saw what the one before it left");
    }
    assert!(history.len() >= 30, "{} batches won", history.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_are_serializable_on_any_engine() {
    batches_are_serializable(Arc::new(Memory::laid_out(lazuli_store::layout, Clock::system()))).await;
    batches_are_serializable(Arc::new(Memory::distributed(lazuli_store::layout, 11))).await;
    let directory = Directory::new("batches");
    batches_are_serializable(directory.engine()).await;
}

/// A page has a limit to what it looks at and to what it holds, and still everything is found, once.
#[tokio::test]
async fn long_tables_and_large_entities_come_in_pages() {
    let store = over(Arc::new(Memory::laid_out(lazuli_store::layout, Clock::system())));
    create(&store, "things", 9).await.unwrap();
    let table = store.open_table(&at("things")).await.unwrap();
    for hundred in 0..250 {
        let one = |n: usize| Change {
            key: Key::new(format!("{hundred:03}"), format!("{n:02}")),
            action: Action::Insert(vec![("n".to_owned(), Value::Int32((hundred * 100 + n) as i32))]),
        };
        store.change_entities(&table, (0..100).map(one).collect::<Vec<_>>()).await.unwrap();
    }
    let large = vec![("n".to_owned(), Value::Int32(-1)); 1]
        .into_iter()
        .chain((0..15).map(|n| (format!("b{n}"), Value::Binary(vec![0; 60 << 10]))))
        .collect::<Vec<_>>();
    for n in 0..12 {
        let key = Key::new("large", format!("{n:02}"));
        store.change_entity(&table, Change { key, action: Action::Insert(large.clone()) }).await.unwrap();
    }
    let pages = |text: &'static str| {
        let (store, table) = (store.clone(), table.clone());
        async move {
            let filter = Some(Filter::parse(text).unwrap());
            let mut query = QueryEntities { filter, most: 1000, ..Default::default() };
            let mut pages = Vec::new();
            loop {
                let page = store.query_entities(&table, &query).await.unwrap();
                pages.push(page.items.len());
                match page.next {
                    Some(next) => query.from = Some(next),
                    None => return pages,
                }
            }
        }
    };
    assert_eq!(pages("n ge 0 and n lt 5").await, [5, 0], "the rest was looked at in a second page");
    assert_eq!(pages("PartitionKey lt 'a'").await, [1000; 25]);
    assert_eq!(pages("PartitionKey eq '100'").await, [100]);
    assert_eq!(pages("PartitionKey eq 'large'").await, [5, 5, 2], "pages of about 4 MiB");
}

#[tokio::test]
async fn what_is_deleted_is_collected() {
    for seed in 0..6 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        create(&world.store, "things", 1).await.unwrap();
        let table = world.store.open_table(&at("things")).await.unwrap();
        for partition in PARTITIONS {
            let one = |n: usize| Change { key: Key::new(partition, n.to_string()), action: Action::Insert(Vec::new()) };
            world.store.change_entities(&table, (0..80).map(one).collect::<Vec<_>>()).await.unwrap();
        }
        assert_eq!(world.rows(), "E400 t1", "seed {seed}");
        world.store.delete_table(&at("things")).await.unwrap();
        create(&world.store, "Things", 2).await.unwrap();
        world.sweep().await;
        world.advance_seconds(700);
        world.sweep().await;
        assert_eq!(world.rows(), "t1", "seed {seed}");
    }
}
