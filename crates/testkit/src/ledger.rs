//! Blobs that are changed without end, and what is known of them, for tests that kill, stop and starve the server meanwhile.
//!
//! Each worker owns a few blobs and remembers, for each, which contents it may hold: the last acknowledged one, and the
//! one whose answer it was waiting for when the server died. What was refused may never be seen.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::chance::Chance;
use crate::client::{Answer, Client};

/// Where the blobs are.
pub const CONTAINER: &str = "ledger";
const BLOBS: usize = 4;

/// What a blob may hold after a crash. `None` is "no such blob".
#[derive(Clone, Debug)]
pub struct Expected {
    certain: Option<Vec<u8>>,
    perhaps: Option<Option<Vec<u8>>>,
    staged: Staged,
}

/// Whether the name has uncommitted blocks: a name with nothing but those can be deleted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Staged {
    No,
    Perhaps,
    Yes,
}

impl Expected {
    /// The server is back: whatever it shows must be explained, and is certain from now on.
    fn settle(&mut self, name: &str, seen: Option<Vec<u8>>) {
        let explained = seen == self.certain || self.perhaps.as_ref().is_some_and(|perhaps| seen == *perhaps);
        assert!(explained, "{name} holds {:?}, expected {self:?}", seen.as_deref().map(head));
        self.certain = seen;
        self.perhaps = None;
    }
}

fn head(bytes: &[u8]) -> (usize, &[u8]) {
    (bytes.len(), &bytes[..bytes.len().min(24)])
}

pub struct Worker {
    id: usize,
    chance: Chance,
    expected: Vec<Expected>,
    serial: u64,
    /// The machine is in trouble: an answer of 5xx is as good as none, neither done nor undone.
    pub troubled: bool,
    /// How often that was so, and how many changes were acknowledged.
    pub troubles: u64,
    pub acknowledged: u64,
}

impl Worker {
    pub fn new(id: usize, seed: u64) -> Self {
        let nothing = Expected { certain: None, perhaps: None, staged: Staged::No };
        Self {
            id,
            chance: Chance::new(seed ^ id as u64),
            expected: vec![nothing; BLOBS],
            serial: 0,
            troubled: false,
            troubles: 0,
            acknowledged: 0,
        }
    }

    /// Several that never meet.
    pub fn several(count: usize, seed: u64) -> Vec<Self> {
        let mut chance = Chance::new(seed);
        (0..count).map(|id| Self::new(id, chance.draw())).collect()
    }

    fn name(&self, blob: usize) -> String {
        format!("{CONTAINER}/w{}-{blob}", self.id)
    }

    /// What it finds must be what it expects. The kill may come before it has looked at everything: what it has not seen stays
    /// as uncertain as it was.
    pub fn verify(&mut self, client: &mut Client) -> io::Result<()> {
        for blob in 0..BLOBS {
            let name = self.name(blob);
            let answer = client.send("GET", &name, "", &[], &[])?;
            let seen = match answer.status {
                200 => Some(answer.body),
                404 => None,
                other => panic!("{name}: {other} {}", answer.code()),
            };
            self.expected[blob].settle(&name, seen);
        }
        Ok(())
    }

    /// Works until the server goes away.
    pub fn work(&mut self, client: &mut Client, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if self.step(client).is_err() {
                return;
            }
        }
    }

    fn step(&mut self, client: &mut Client) -> io::Result<()> {
        let blob = self.chance.below(BLOBS);
        if self.expected[blob].perhaps.is_some() {
            return self.look(client, blob);
        }
        match self.chance.below(10) {
            0..=4 => self.put(client, blob),
            5..=6 => self.put_blocks(client, blob),
            7 => self.delete(client, blob),
            8 => self.refused_put(client, blob),
            _ => self.read(client, blob),
        }
    }

    /// What became of a change whose answer said nothing.
    fn look(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let name = self.name(blob);
        let answer = client.send("GET", &name, "", &[], &[])?;
        match answer.status {
            200 => self.expected[blob].settle(&name, Some(answer.body)),
            404 => self.expected[blob].settle(&name, None),
            500.. if self.troubled => self.troubles += 1,
            other => panic!("{name}: {other} {}", answer.code()),
        }
        Ok(())
    }

    /// Content that tells where it came from, of any size from nothing to several pieces.
    fn content(&mut self) -> Vec<u8> {
        self.serial += 1;
        let length = *self.chance.pick(&[0, 10, 1_000, 16 << 10, (16 << 10) + 1, 100_000, 1 << 20]);
        let stamp = format!("worker {} serial {} ", self.id, self.serial).into_bytes();
        stamp.iter().copied().cycle().take(length).collect()
    }

    fn change(
        &mut self,
        blob: usize,
        to: Option<Vec<u8>>,
        send: impl FnOnce(&str) -> io::Result<Answer>,
        success: &[u16],
    ) -> io::Result<()> {
        let name = self.name(blob);
        let expected = &mut self.expected[blob];
        expected.perhaps = Some(to.clone());
        // Each change takes the uncommitted blocks away, and this one is perhaps made.
        if expected.staged == Staged::Yes {
            expected.staged = Staged::Perhaps;
        }
        let answer = send(&name)?;
        if self.troubled && answer.status >= 500 {
            self.troubles += 1;
            return Ok(());
        }
        let explained = success.contains(&answer.status);
        assert!(explained, "{name}: {} {}, expected {success:?}", answer.status, answer.code());
        self.expected[blob] = Expected { certain: to, perhaps: None, staged: Staged::No };
        self.acknowledged += 1;
        Ok(())
    }

    fn put(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let content = self.content();
        let headers = [("x-ms-blob-type", "BlockBlob")];
        self.change(blob, Some(content.clone()), |name| client.send("PUT", name, "", &headers, &content), &[201])
    }

    /// Blocks show nothing until the list commits them all.
    fn put_blocks(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let (name, mut whole, mut list) = (self.name(blob), Vec::new(), String::from("<BlockList>"));
        for id in ["AAAA", "BBBB", "CCCC"] {
            let content = self.content();
            if !content.is_empty() && self.expected[blob].staged == Staged::No {
                self.expected[blob].staged = Staged::Perhaps;
            }
            let answer = client.send("PUT", &name, &format!("comp=block&blockid={id}"), &[], &content)?;
            if self.troubled && answer.status >= 500 {
                self.troubles += 1;
                return Ok(());
            }
            // An empty block is refused: it then has no place in the list.
            if content.is_empty() {
                assert_eq!(answer.status, 400, "{name}: {}", answer.code());
                continue;
            }
            assert_eq!(answer.status, 201, "{name}: {}", answer.code());
            self.expected[blob].staged = Staged::Yes;
            whole.extend(content);
            list.push_str(&format!("<Uncommitted>{id}</Uncommitted>"));
        }
        list.push_str("</BlockList>");
        self.change(blob, Some(whole), |name| client.send("PUT", name, "comp=blocklist", &[], list.as_bytes()), &[201])
    }

    fn delete(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let expected = &self.expected[blob];
        let success: &[u16] = match expected.staged {
            Staged::Yes => &[202],
            Staged::No | Staged::Perhaps if expected.certain.is_some() => &[202],
            Staged::Perhaps => &[202, 404],
            Staged::No => &[404],
        };
        self.change(blob, None, |name| client.send("DELETE", name, "", &[], &[]), success)
    }

    /// A write that must be refused, and so must never be seen: it is not even "perhaps".
    fn refused_put(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let headers = [("x-ms-blob-type", "BlockBlob"), ("If-Match", "\"0x1\"")];
        let answer = client.send("PUT", &self.name(blob), "", &headers, b"this was refused")?;
        if !(self.troubled && answer.status >= 500) {
            assert_eq!((answer.status, answer.code()), (412, "ConditionNotMet"));
        }
        Ok(())
    }

    fn read(&mut self, client: &mut Client, blob: usize) -> io::Result<()> {
        let name = self.name(blob);
        let answer = client.send("GET", &name, "", &[], &[])?;
        if self.troubled && answer.status >= 500 {
            self.troubles += 1;
            return Ok(());
        }
        let seen = (answer.status == 200).then_some(answer.body);
        assert_eq!(seen.as_deref().map(head), self.expected[blob].certain.as_deref().map(head), "{name} while running");
        Ok(())
    }
}

/// The container, on a server that has none yet.
pub fn create(client: &mut Client) {
    let answer = client.send("PUT", CONTAINER, "restype=container", &[], &[]).expect("it answers");
    assert_eq!(answer.status, 201, "{}", answer.code());
}

/// All workers at once, while something happens to the server; then they end. Each begins by looking at what it has.
pub fn under_load<T>(workers: &mut [Worker], address: SocketAddr, happens: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for worker in workers {
            let stop = &stop;
            scope.spawn(move || {
                let mut client = Client::new(address);
                if worker.troubled || worker.verify(&mut client).is_ok() {
                    worker.work(&mut client, stop);
                }
            });
        }
        let happened = happens();
        stop.store(true, Ordering::Relaxed);
        happened
    })
}

/// Everything must be as it was acknowledged. For a server that is well again.
pub fn verify(workers: &mut [Worker], address: SocketAddr) {
    let mut client = Client::new(address);
    for worker in workers {
        worker.troubled = false;
        worker.verify(&mut client).expect("it answers");
    }
}

/// The one sleep: when to strike is chance, and nothing is asserted about time.
#[expect(clippy::disallowed_methods, reason = "a fault has to come at some moment")]
pub fn pause(chance: &mut Chance) {
    thread::sleep(Duration::from_millis(50 + chance.below(400) as u64));
}
