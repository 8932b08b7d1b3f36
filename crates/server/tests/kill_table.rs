//! Tables whose server is killed again and again: an entity group transaction happens as a whole or not at all, and what was
//! acknowledged stays.
//!
//! Each worker owns a partition, in which one transaction gives all rows the same number, or deletes them all; one that is refused
//! because of its last part leaves no trace. A row of its own is written without a transaction. `LAZULI_KILLS` sets how often,
//! `LAZULI_SEED` where to begin.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::client::Client;
use lazuli_testkit::killing::{Killing, Possible};
use lazuli_testkit::process::Directory;

const WORKERS: usize = 6;
const ROWS: usize = 7;
const JSON: (&str, &str) = ("Content-Type", "application/json");
const ACCEPT: (&str, &str) = ("Accept", "application/json;odata=nometadata");

struct Worker {
    id: usize,
    chance: Chance,
    serial: u64,
    /// The number that all rows have.
    group: Possible<Option<u64>>,
    single: Possible<Option<u64>>,
}

impl Worker {
    fn work(&mut self, client: &mut Client, stop: &AtomicBool) -> io::Result<()> {
        self.verify(client)?;
        while !stop.load(Ordering::Relaxed) {
            self.serial += 1;
            self.step(client)?;
        }
        Ok(())
    }

    fn verify(&mut self, client: &mut Client) -> io::Result<()> {
        let query = format!("$filter=PartitionKey%20eq%20'p{}'", self.id);
        let answer = client.send("GET", "kill()", &query, &[ACCEPT], &[])?;
        let body = String::from_utf8(answer.body).expect("JSON is text");
        assert_eq!(answer.status, 200, "{body}");
        let (mut group, mut single) = (Vec::new(), None);
        for entity in body.split("\"RowKey\":\"").skip(1) {
            let number = entity.split("\"Serial\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
            let number = number.and_then(|text| text.parse::<u64>().ok()).unwrap_or_else(|| panic!("{entity}"));
            if entity.starts_with("single") { single = Some(number) } else { group.push(number) }
        }
        assert!(group.is_empty() || group.len() == ROWS, "half a transaction: {group:?}");
        assert!(group.windows(2).all(|pair| pair[0] == pair[1]), "parts of two transactions: {group:?}");
        self.group.settle(&format!("p{}", self.id), group.first().copied());
        self.single.settle(&format!("p{}/single", self.id), single);
        Ok(())
    }

    fn step(&mut self, client: &mut Client) -> io::Result<()> {
        let (id, serial) = (self.id, self.serial);
        let entity = |row: &str| format!(r#"{{"PartitionKey":"p{id}","RowKey":"{row}","Serial":{serial}}}"#);
        let writes = || (0..ROWS).map(|row| ("PUT", format!("r{row}"), entity(&format!("r{row}"))));
        match self.chance.below(10) {
            0..=2 => self.single.become_by(Some(serial), || {
                let path = format!("kill(PartitionKey='p{id}',RowKey='single')");
                let answer = client.send("PUT", &path, "", &[JSON, ACCEPT], entity("single").as_bytes())?;
                assert_eq!(answer.status, 204, "{}", String::from_utf8_lossy(&answer.body));
                Ok(true)
            }),
            3..=4 if self.group.certain.is_some() => {
                let deletes = (0..ROWS).map(|row| ("DELETE", format!("r{row}"), String::new()));
                self.group.become_by(None, || transact(client, id, deletes.collect()))
            }
            // Its last part merges into what is not there.
            5..=6 => {
                let fails = ("MERGE", "none".to_owned(), entity("none"));
                let was_done = transact(client, id, writes().chain([fails]).collect())?;
                assert!(!was_done, "a part that cannot be done was done");
                Ok(())
            }
            _ => self.group.become_by(Some(serial), || transact(client, id, writes().collect())),
        }
    }
}

/// One changeset. False when it was refused.
fn transact(client: &mut Client, id: usize, parts: Vec<(&str, String, String)>) -> io::Result<bool> {
    let mut body = String::from("--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n");
    for (method, row, entity) in &parts {
        let matching = if *method == "PUT" { "" } else { "If-Match: *\r\n" };
        body.push_str(&format!(
            "--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {method} http://127.0.0.1/devstoreaccount1/kill(PartitionKey='p{id}',RowKey='{row}') HTTP/1.1\r\n\
             Content-Type: application/json\r\nAccept: application/json;odata=nometadata\r\n{matching}\r\n{entity}\r\n"
        ));
    }
    body.push_str("--changeset_c--\r\n--batch_b--\r\n");
    let kind = ("Content-Type", "multipart/mixed; boundary=batch_b");
    let answer = client.send("POST", "$batch", "", &[kind, ACCEPT], body.as_bytes())?;
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 202, "{said}");
    let done = said.matches("HTTP/1.1 204").count();
    assert!(done == parts.len() || (done == 0 && said.contains("HTTP/1.1 404")), "{said}");
    Ok(done > 0)
}

#[test]
fn entities_survive_kill_9_and_transactions_are_whole() {
    let (seed, kills) = (seed(1), number("LAZULI_KILLS", 12));
    println!("LAZULI_SEED={seed} LAZULI_KILLS={kills}");
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "kill-table");
    let binary = env!("CARGO_BIN_EXE_lazuli");
    let killing = Killing { binary, directory: &directory.0, service: "Table", kills, seed };
    let worker = |id| Worker {
        id,
        chance: Chance::new(seed ^ id as u64),
        serial: 0,
        group: Possible::new(None),
        single: Possible::new(None),
    };
    let mut workers: Vec<Worker> = (0..WORKERS).map(worker).collect();
    let set_up = |client: &mut Client| {
        let answer =
            client.send("POST", "Tables", "", &[JSON, ACCEPT], br#"{"TableName":"kill"}"#).expect("it answers");
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    };
    let server = killing.run(&mut workers, set_up, |worker, _, client, stop| worker.work(client, stop));
    let mut client = Client::new(server.endpoint("Table"));
    workers.iter_mut().for_each(|worker| worker.verify(&mut client).expect("it answers"));
    let changes: u64 = workers.iter().map(|worker| worker.serial).sum();
    println!("{changes} changes, {kills} kills");
    assert!(changes > kills, "nothing was done");
}
