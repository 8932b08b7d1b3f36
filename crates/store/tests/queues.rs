//! Queues: order, holders, receipts, expiry, counts, and that what is cleared or deleted is collected.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use lazuli_model::queue::*;
use lazuli_model::{AccountName, Metadata, QueueName, Refusal};
use lazuli_store::{Delivery, Failure, ListQueues, QueueAt};
use world::*;

fn queue(name: &str) -> QueueAt {
    QueueAt { account: AccountName::parse("account").unwrap(), queue: QueueName::parse(name).unwrap() }
}

fn refused<T>(refusal: Refusal) -> Result<T, Failure> {
    Err(Failure::Refused(refusal))
}

impl World {
    async fn create_queue(&self, id: u128) {
        let create = CreateQueue { id, metadata: Metadata::default() };
        assert_eq!(self.store.create_queue(&queue("jobs"), create).await, Ok(true));
    }

    async fn send(&self, id: u128, text: &str) -> Message {
        let put = PutMessage { id, text: text.to_owned(), hidden_seconds: 0, lives_seconds: Some(1000) };
        self.store.put_message(&queue("jobs"), put).await.unwrap()
    }

    async fn take(&self, most: u32, hidden_seconds: u32) -> Vec<Delivery> {
        self.store.get_messages(&queue("jobs"), GetMessages { most, hidden_seconds }).await.unwrap()
    }

    async fn drop_message(&self, message: &Message) -> Result<(), Failure> {
        let delete = DeleteMessage { id: message.id, receipt: message.receipt() };
        self.store.delete_message(&queue("jobs"), delete).await
    }

    async fn count(&self) -> u64 {
        self.store.queue(&queue("jobs")).await.unwrap().count
    }
}

fn texts(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.text.as_str()).collect()
}

#[tokio::test]
async fn a_message_lives_and_dies() {
    for seed in 0..10 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        let at = queue("jobs");
        let get = GetMessages { most: 1, hidden_seconds: 30 };
        assert_eq!(world.store.get_messages(&at, get).await, refused(Refusal::QueueNotFound));
        world.create_queue(1).await;
        let long = "x".repeat(40_000);
        for (id, text) in [(1, "one"), (2, &long), (3, "")] {
            world.send(id, text).await;
        }
        let peeked = world.store.peek_messages(&at, 2).await.unwrap();
        assert_eq!((texts(&peeked), peeked[0].message.dequeued), (vec!["one", &long], 0));

        let first = world.take(1, 30).await;
        assert_eq!((texts(&first), first[0].message.dequeued), (vec!["one"], 1));
        let rest = world.take(32, 60).await;
        assert_eq!(texts(&rest), [&long, ""]);
        assert_eq!((world.take(1, 30).await, world.count().await), (vec![], 3));

        world.advance_seconds(31);
        let again = world.take(32, 30).await;
        assert_eq!((texts(&again), again[0].message.dequeued), (vec!["one"], 2));
        assert_eq!(world.drop_message(&first[0].message).await, refused(Refusal::MessageNotFound));
        world.drop_message(&again[0].message).await.unwrap();
        assert_eq!(world.drop_message(&again[0].message).await, refused(Refusal::MessageNotFound));

        let update = |text: Option<&str>, held: &Message, hidden_seconds| UpdateMessage {
            id: held.id,
            receipt: held.receipt(),
            hidden_seconds,
            text: text.map(str::to_owned),
        };
        let shorter = update(Some("short"), &rest[0].message, 0);
        let shown = world.store.update_message(&at, shorter.clone()).await.unwrap();
        assert_eq!(world.store.update_message(&at, shorter).await, refused(Refusal::MessageNotFound));
        let kept = world.store.update_message(&at, update(None, &shown, 0)).await.unwrap();
        assert_eq!(texts(&world.store.peek_messages(&at, 32).await.unwrap()), ["short"]);
        world.store.update_message(&at, update(Some(&long), &kept, 0)).await.unwrap();
        world.advance_seconds(60);
        assert_eq!(texts(&world.take(32, 30).await), [&long, ""]);
        assert_eq!(world.count().await, 2);
    }
}

/// Many at once, over an engine that conflicts, delays and loses answers: each message has one holder.
#[tokio::test]
async fn no_message_is_handed_to_two() {
    for seed in 0..40 {
        let world = World::distributed(seed);
        world.create_queue(1).await;
        let sent = futures(world_ids(20).map(|id| world.send(id, "m"))).await;
        let batches = futures((0..12).map(|turn| world.take(1 + turn % 4, 30))).await;
        let mut held = BTreeSet::new();
        for delivery in batches.iter().flatten() {
            assert!(held.insert(delivery.message.id), "seed {seed}: {} has two holders", delivery.message.id);
        }
        let left: Vec<_> = world.take(32, 30).await;
        assert_eq!(held.len() + left.len(), sent.len(), "seed {seed}");
    }
}

fn world_ids(end: u128) -> impl Iterator<Item = u128> {
    1..=end
}

async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, slot) in waiting.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                *slot = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// A random life of a queue against the plainest model of one: a map from id to when it can be seen.
#[tokio::test]
async fn a_queue_is_as_its_model() {
    for seed in 0..60 {
        let world = World::plain();
        let mut random = Random(seed);
        world.create_queue(1).await;
        let mut model: BTreeMap<u128, Message> = BTreeMap::new();
        let mut old: Vec<Message> = Vec::new();
        for id in 1..=300u128 {
            match random.below(6) {
                0 | 1 => {
                    let lives_seconds = Some(20 + random.below(200) as u32);
                    let hidden_seconds = random.below(20) as u32;
                    let put = PutMessage { id, text: id.to_string(), hidden_seconds, lives_seconds };
                    model.insert(id, world.store.put_message(&queue("jobs"), put).await.unwrap());
                }
                2 | 3 => {
                    let most = 1 + random.below(5) as u32;
                    let got = world.take(most, 1 + random.below(40) as u32).await;
                    let now = world.store.now();
                    model.retain(|_, message| !message.has_expired(now));
                    let mut seen: Vec<_> = model.values().filter(|message| message.place.visible <= now).collect();
                    seen.sort_by_key(|message| message.place);
                    let seen: Vec<_> = seen.into_iter().take(most as usize).map(|message| message.id).collect();
                    assert_eq!(got.iter().map(|got| got.message.id).collect::<Vec<_>>(), seen, "seed {seed}");
                    for delivery in got {
                        assert_eq!(delivery.text, delivery.message.id.to_string());
                        let before = model.insert(delivery.message.id, delivery.message.clone()).unwrap();
                        assert_eq!(delivery.message.dequeued, before.dequeued + 1);
                        old.push(before);
                    }
                }
                4 => {
                    // Stamps go on by themselves: what is about to expire may be gone at the next.
                    let now = world.store.now().plus_seconds(1);
                    let held: Vec<_> = model.values().filter(|message| !message.has_expired(now)).cloned().collect();
                    if let Some(held) = held.get(random.below(held.len().max(1))) {
                        world.drop_message(held).await.unwrap();
                        model.remove(&held.id);
                        old.push(held.clone());
                    }
                    if !old.is_empty() {
                        let stale = random.pick(&old).clone();
                        assert_eq!(world.drop_message(&stale).await, refused(Refusal::MessageNotFound), "seed {seed}");
                    }
                }
                _ => world.advance_seconds(random.below(30) as u64),
            }
        }
        world.advance_seconds(86_400);
        assert_eq!(world.take(32, 1).await, vec![]);
        world.sweep().await;
        assert_eq!((world.count().await, world.rows().as_str()), (0, "h1 q1"), "seed {seed}");
    }
}

/// Expired messages in great number neither hide what is behind them nor stay.
#[tokio::test]
async fn expired_messages_are_passed_over() {
    let world = World::plain();
    world.create_queue(1).await;
    for id in 1..=2000 {
        let put = PutMessage { id, text: "old".into(), hidden_seconds: 0, lives_seconds: Some(10) };
        world.store.put_message(&queue("jobs"), put).await.unwrap();
    }
    world.send(3000, "new").await;
    world.advance_seconds(20);
    assert_eq!(texts(&world.store.peek_messages(&queue("jobs"), 5).await.unwrap()), ["new"]);
    assert_eq!(texts(&world.take(5, 30).await), ["new"]);
    assert_eq!((world.count().await, world.rows().as_str()), (1, "h1 q1 v1"));
}

#[tokio::test]
async fn what_is_cleared_or_deleted_is_collected() {
    for seed in 0..20 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        world.create_queue(1).await;
        for id in 1..=300 {
            world.send(id, if id % 100 == 0 { "x".repeat(2000) } else { "m".into() }.as_str()).await;
        }
        let held = world.take(2, 100).await;
        world.store.clear_messages(&queue("jobs"), 2).await.unwrap();
        assert_eq!((world.count().await, world.take(32, 1).await), (0, vec![]));
        assert_eq!(world.drop_message(&held[0].message).await, refused(Refusal::MessageNotFound));
        world.send(1000, "after").await;
        world.sweep().await;
        world.advance_seconds(700);
        world.sweep().await;
        assert_eq!((world.rows().as_str(), world.count().await), ("h1 q1 v1", 1), "seed {seed}");
        world.store.delete_queue(&queue("jobs")).await.unwrap();
        assert_eq!(world.store.delete_queue(&queue("jobs")).await, refused(Refusal::QueueNotFound));
        world.create_queue(3).await;
        assert_eq!(world.take(32, 1).await, vec![]);
        world.sweep().await;
        world.advance_seconds(700);
        world.sweep().await;
        assert_eq!(world.rows(), "q1", "seed {seed}");
    }
}

#[tokio::test]
async fn queues_are_listed_in_pages() {
    let world = World::plain();
    let account = AccountName::parse("account").unwrap();
    for (id, name) in ["abc", "abd", "b-1", "b-2", "b-3"].into_iter().enumerate() {
        let create = CreateQueue { id: id as u128 + 1, metadata: Metadata::default() };
        world.store.create_queue(&queue(name), create).await.unwrap();
    }
    let mut names = Vec::new();
    let mut marker = None;
    loop {
        let list = ListQueues { prefix: "b".into(), marker, most: 2 };
        let page = world.store.list_queues(&account, list).await.unwrap();
        names.push(page.items.iter().map(|item| item.name.to_string()).collect::<Vec<_>>());
        marker = page.next;
        if marker.is_none() {
            break;
        }
    }
    assert_eq!(names, [vec!["b-1", "b-2"], vec!["b-3"]]);
}
