//! Producers and consumers of a queue whose server is killed again and again: no message may be lost, none invented, none held
//! by two at a time; receipts are obeyed and counts are right.
//!
//! All share one ledger. What was acknowledged is certain; what was under way when the server died may have happened or not.
//! `LAZULI_KILLS` sets how often, `LAZULI_SEED` where to begin.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lazuli_model::queue::Receipt;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::{Answer, Client};
use lazuli_testkit::killing::Killing;
use lazuli_testkit::process::Directory;

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 4;
const HIDDEN_SECONDS: u64 = 1;

/// What is known of a message.
#[derive(Clone, Debug, Default)]
struct Life {
    put: bool,
    /// When the holder whose delete was acknowledged had got it.
    deleted: Option<u64>,
    /// A delete was under way when the server died.
    perhaps_deleted: bool,
    /// Whenever it was handed out: from when, until when, the how-manyth time. By the server's clock.
    held: Vec<(u64, u64, u32)>,
}

impl Life {
    fn must_be_there(&self) -> bool {
        (self.put || !self.held.is_empty()) && self.deleted.is_none() && !self.perhaps_deleted
    }

    fn check(&mut self, text: &str) {
        self.held.sort_unstable();
        for pair in self.held.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{text} was held by two: {self:?}");
            assert!(pair[0].2 < pair[1].2, "{text} was not counted: {self:?}");
        }
        if let (Some(deleted), Some(last)) = (self.deleted, self.held.last()) {
            assert!(
                last.0 <= deleted,
                "{text} was handed out after its delete, or deleted by a stale receipt: {self:?}"
            );
        }
    }
}

#[derive(Default)]
struct Ledger(Mutex<BTreeMap<String, Life>>);

impl Ledger {
    fn note(&self, text: &str, note: impl FnOnce(&mut Life)) {
        note(self.0.lock().expect("no one panics").entry(text.to_owned()).or_default());
    }

    fn handed_out(&self, found: &Found) {
        let mut lives = self.0.lock().expect("no one panics");
        let life = lives.get_mut(&found.text).unwrap_or_else(|| panic!("{found:?} was never put"));
        life.held.push((found.taken(), found.visible, found.dequeued));
    }

    fn missing(&self) -> usize {
        self.0.lock().expect("no one panics").values().filter(|life| life.must_be_there()).count()
    }
}

#[derive(Clone, Debug)]
struct Found {
    id: String,
    receipt: String,
    visible: u64,
    dequeued: u32,
    text: String,
}

impl Found {
    fn taken(&self) -> u64 {
        self.visible - HIDDEN_SECONDS * TICKS_PER_SECOND
    }
}

fn found(answer: &Answer) -> Vec<Found> {
    let body = String::from_utf8(answer.body.clone()).expect("XML is text");
    let messages = body.split("<QueueMessage>").skip(1);
    let message = |part: &str| {
        let value = |name: &str| {
            let rest = part.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split('<').next()).unwrap_or_else(|| panic!("{name} in {part}")).to_owned()
        };
        let receipt = value("PopReceipt");
        let visible = Receipt::parse(&receipt).expect("a receipt of ours").place.visible.ticks();
        let dequeued = value("DequeueCount").parse().expect("a number");
        Found { id: value("MessageId"), receipt, visible, dequeued, text: value("MessageText") }
    };
    messages.map(message).collect()
}

fn produce(id: usize, round: u64, client: &mut Client, ledger: &Ledger, stop: &AtomicBool) -> io::Result<()> {
    for serial in 0.. {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Every tenth is long enough to have a row of its own.
        let text = format!("{round}-{id}-{serial}-").repeat(if serial % 10 == 0 { 300 } else { 1 });
        ledger.note(&text, |_| {});
        let body = format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
        let answer = client.send("POST", "kill/messages", "", &[], body.as_bytes())?;
        assert_eq!(answer.status, 201, "{}", answer.code());
        ledger.note(&text, |life| life.put = true);
    }
    Ok(())
}

fn get(client: &mut Client, ledger: &Ledger, most: usize) -> io::Result<Vec<Found>> {
    let query = format!("numofmessages={most}&visibilitytimeout={HIDDEN_SECONDS}");
    let answer = client.send("GET", "kill/messages", &query, &[], &[])?;
    assert_eq!(answer.status, 200, "{}", answer.code());
    let found = found(&answer);
    found.iter().for_each(|message| ledger.handed_out(message));
    Ok(found)
}

fn delete(client: &mut Client, ledger: &Ledger, message: &Found) -> io::Result<u16> {
    let receipt = message.receipt.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let path = format!("kill/messages/{}", message.id);
    let answer = client.send("DELETE", &path, &format!("popreceipt={receipt}"), &[], &[]);
    ledger.note(&message.text, |life| match &answer {
        Ok(answer) if answer.status == 204 => life.deleted = Some(message.taken()),
        Ok(_) => {}
        Err(_) => life.perhaps_deleted = true,
    });
    answer.map(|answer| answer.status)
}

fn consume(chance: &mut Chance, client: &mut Client, ledger: &Ledger, stop: &AtomicBool) -> io::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let most = 1 + chance.below(4);
        for message in get(client, ledger, most)? {
            // One in four is forgotten, and comes back.
            if !chance.one_in(4) {
                let status = delete(client, ledger, &message)?;
                // 404: it took too long, and another has it.
                assert!(status == 204 || status == 404, "{status} for {message:?}");
            }
        }
    }
    Ok(())
}

/// After the last start: everything that is certain is there, and when all of it has been deleted nothing is left.
fn settle(client: &mut Client, ledger: &Ledger) {
    let mut empty = 0;
    while empty < 10 * (HIDDEN_SECONDS + 1) || ledger.missing() > 0 {
        assert!(empty < 300, "{} messages are lost", ledger.missing());
        let batch = get(client, ledger, 32).expect("it answers");
        empty = if batch.is_empty() { empty + 1 } else { 0 };
        for message in &batch {
            delete(client, ledger, message).expect("it answers");
        }
        if batch.is_empty() {
            pause(100); // some are hidden by those who died
        }
    }
    let answer = client.send("GET", "kill", "comp=metadata", &[], &[]).expect("it answers");
    assert_eq!(answer.header("x-ms-approximate-messages-count"), Some("0"));
}

#[test]
fn messages_survive_kill_9_and_have_one_holder() {
    let seed = seed(1);
    let kills = number("LAZULI_KILLS", 25);
    println!("LAZULI_SEED={seed} LAZULI_KILLS={kills}");
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "kill-queue");
    let binary = env!("CARGO_BIN_EXE_lazuli");
    let killing = Killing { binary, directory: &directory.0, service: "Queue", kills, seed };
    let ledger = Ledger::default();
    let mut workers: Vec<(usize, Chance)> =
        (0..PRODUCERS + CONSUMERS).map(|id| (id, Chance::new(seed ^ id as u64))).collect();
    let set_up = |client: &mut Client| {
        let answer = client.send("PUT", "kill", "", &[], &[]).expect("it answers");
        assert_eq!(answer.status, 201, "{}", answer.code());
    };
    let server = killing.run(&mut workers, set_up, |(id, chance), round, client, stop| match *id {
        id @ 0..PRODUCERS => produce(id, round, client, &ledger, stop),
        _ => consume(chance, client, &ledger, stop),
    });
    settle(&mut Client::new(server.endpoint("Queue")), &ledger);
    let mut lives = ledger.0.lock().expect("no one panics");
    lives.iter_mut().for_each(|(text, life)| life.check(text));
    let deliveries: usize = lives.values().map(|life| life.held.len()).sum();
    println!("{} messages, handed out {deliveries} times, {kills} kills", lives.len());
}

#[expect(
    clippy::disallowed_methods,
    reason = "a kill has to come at some moment, and the server's clock is a real one"
)]
fn pause(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}
