//! A raw client that changes requests after they were signed: names and values with line ends and colons, parameters twice, in another case,
//! order or encoding, headers twice. Each is refused, or does exactly what the signed request does.

use std::collections::BTreeMap;

use lazuli_http::Service;

use super::signed::{Signed, delegation_key, good};
use super::{ACCOUNT, Sas, VERSION, World, accounts, code, header};

/// A request in pieces that can be changed one by one.
#[derive(Clone)]
struct Raw {
    service: Service,
    method: &'static str,
    path: String,
    /// `name=value`, encoded.
    query: Vec<String>,
    headers: Vec<(String, String)>,
}

impl Raw {
    fn new(service: Service, method: &'static str, path: &str, query: &str) -> Self {
        let headers = vec![("host".into(), "127.0.0.1".into()), ("x-ms-version".into(), VERSION.into())];
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
        Self { service, method, path: format!("/{ACCOUNT}{path}"), query, headers }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}?{} HTTP/1.1\r\n", self.method, self.path, self.query.join("&"));
        self.headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        text + "content-length: 0\r\nconnection: close\r\n\r\n"
    }

    /// Signed with the account's key, over what the server says it would sign; the Table service does not say.
    async fn sign(self, world: &World, scheme: &str) -> Self {
        let date = world.now().to_http();
        let dated = self.with("x-ms-date", &date);
        let by_key = |text: &str| {
            let signature = accounts().get(ACCOUNT).expect("the account").sign(text.as_bytes());
            format!("{scheme} {ACCOUNT}:{signature}")
        };
        if dated.service == Service::Table {
            let verb = if scheme == "SharedKey" { format!("{}\n\n\n", dated.method) } else { String::new() };
            let authorization = by_key(&format!("{verb}{date}\n/{ACCOUNT}{}", dated.path));
            return dated.with("authorization", &authorization);
        }
        let unsigned = dated.clone().with("authorization", &format!("{scheme} {ACCOUNT}:AAAA"));
        let (status, answer) = world.ask(dated.service, &unsigned.text()).await;
        assert_eq!(status, 403, "{answer}");
        let (_, said) = answer.split_once("string to sign: '").unwrap_or_else(|| panic!("nothing to sign in {answer}"));
        let text = said.split_once("'.").expect("an end").0;
        let text = text.replace("&apos;", "'").replace("&quot;", "\"").replace("&amp;", "&");
        let authorization = by_key(&text);
        dated.with("authorization", &authorization)
    }
}

/// What can be confused with `signed`, and what may not be: each with a word for it.
fn mutations(signed: &Raw) -> Vec<(String, Raw)> {
    let mut all: Vec<(String, Raw)> = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Raw)| {
        let mut changed = signed.clone();
        change(&mut changed);
        all.push((what, changed));
    };
    for (at, pair) in signed.query.iter().enumerate() {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let mut replace =
            |what: &str, with: String| add(format!("{name}: {what}"), &|raw| raw.query[at] = with.clone());
        replace("a line's end behind the name", format!("{name}%0A={value}"));
        replace("a line's end before the name", format!("%0A{name}={value}"));
        replace("a colon in the name", format!("{name}%3A={value}"));
        replace("all in the name", format!("{name}%3A{value}="));
        replace("a line's end behind the value", format!("{name}={value}%0A"));
        replace("a return behind the value", format!("{name}={value}%0D"));
        replace("a comma behind the value", format!("{name}={value},"));
        replace("a blank behind the value", format!("{name}={value}+"));
        replace("capitals", format!("{}={value}", name.to_uppercase()));
        replace("an encoded name", format!("{}={value}", encoded(name)));
        replace("without a value", name.to_owned());
        replace("an empty value", format!("{name}="));
        replace("an empty pair beside it", format!("{name}={value}&&"));
        add(format!("{name}: left out"), &|raw| drop(raw.query.remove(at)));
        add(format!("{name}: twice"), &|raw| raw.query.push(pair.clone()));
        add(format!("{name}: twice, empty first"), &|raw| raw.query.insert(0, format!("{name}=")));
        add(format!("{name}: another before it"), &|raw| raw.query.insert(0, format!("{name}=x")));
        add(format!("{name}: another behind it, in capitals"), &|raw| {
            raw.query.push(format!("{}=x", name.to_uppercase()));
        });
        for (other_at, other) in signed.query.iter().enumerate().filter(|(other_at, _)| *other_at != at) {
            let (other_name, other_value) = other.split_once('=').unwrap_or((other, ""));
            let mut merge = |what: &str, with: String| {
                add(format!("{name} and {other_name}: {what}"), &|raw| {
                    raw.query[at] = with.clone();
                    raw.query.remove(other_at);
                });
            };
            merge("one name", format!("{name}%3A{value}%0A{other_name}={other_value}"));
            merge("one value", format!("{name}={value}%0A{other_name}%3A{other_value}"));
            merge("one line of values", format!("{name}={value}%0A{other_value}"));
        }
    }
    add("the other order of parameters".into(), &|raw| raw.query.reverse());
    add("the other order of headers".into(), &|raw| raw.headers.reverse());
    add("a parameter without a name".into(), &|raw| raw.query.push("=x".into()));
    for (at, (name, value)) in signed.headers.iter().enumerate() {
        add(format!("{name}: in capitals"), &|raw| raw.headers[at].0 = name.to_uppercase());
        add(format!("{name}: twice"), &|raw| raw.headers.push((name.clone(), value.clone())));
        add(format!("{name}: another behind it"), &|raw| raw.headers.push((name.clone(), "x".into())));
        add(format!("{name}: another before it"), &|raw| raw.headers.insert(0, (name.clone(), "x".into())));
        add(format!("{name}: blanks around it"), &|raw| raw.headers[at].1 = format!("  {value}\t "));
    }
    all
}

/// What there is, by names and counts.
async fn state(world: &World) -> BTreeMap<&'static str, Vec<String>> {
    let asked = [
        (
            Service::Blob,
            "/con?restype=container&comp=list&include=snapshots",
            ["<Name>", "<Snapshot>", "<Content-Length>"],
        ),
        (Service::Queue, "/que/messages?peekonly=true&numofmessages=32", ["<MessageText>", "<DequeueCount>", "<None>"]),
        (Service::Table, "/tab()", ["\"RowKey\":", "\"PartitionKey\":", "\"none\":"]),
        (Service::File, "/sha/dir?restype=directory&comp=list", ["<Name>", "<Content-Length>", "<None>"]),
    ];
    let mut found = BTreeMap::new();
    for (service, target, tags) in asked {
        let accept = "accept: application/json;odata=nometadata\r\n";
        let (_, answer) = world.ask_as_owner(service, "GET", target, accept, "").await;
        found.insert(target, told(&answer, &tags));
    }
    found
}

/// What stands behind each tag. A snapshot's time is another in each world.
fn told(answer: &str, tags: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for tag in tags {
        let words = answer.split(tag).skip(1).map(|rest| rest.split(['<', ',']).next().unwrap_or_default());
        all.extend(words.map(|word| if *tag == "<Snapshot>" { "a snapshot" } else { word }.to_owned()));
    }
    all
}

/// What a request did: its status, what it answered, and what there is now.
async fn effect(world: &World, raw: &Raw) -> (u16, Vec<String>, BTreeMap<&'static str, Vec<String>>, String) {
    let (status, answer) = world.ask(raw.service, &raw.text()).await;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let mut words = told(body, &["<Name>", "<MessageText>", "<PopReceipt>", "\"RowKey\":"]);
    words.retain(|word| !word.is_empty());
    if raw.service == Service::Blob && body.starts_with("content") {
        words.push("the blob".into());
    }
    // A receipt is another each time; that there is one tells a Get from a Peek.
    let receipts = body.matches("<PopReceipt>").count();
    words.retain(|word| !word.ends_with('='));
    words.push(format!("{receipts} receipts"));
    (status, words, state(world).await, code(&answer).to_owned())
}

/// A world with a snapshot to confuse with its blob. All worlds are alike.
async fn prepared() -> (World, String) {
    let world = World::new().await;
    let answer = world.make(Service::Blob, "PUT", "/con/b?comp=snapshot", "", "").await;
    let moment = header(&answer, "x-ms-snapshot").to_owned();
    (world, moment)
}

/// The requests that are changed, each signed in a world of its own.
async fn signed(which: usize) -> Option<(&'static str, World, Raw)> {
    let (world, moment) = prepared().await;
    let get = |path: &str, query: &str| Raw::new(Service::Blob, "GET", path, query);
    let peek = Raw::new(Service::Queue, "GET", "/que/messages", "numofmessages=1&peekonly=true");
    let entities = Raw::new(Service::Table, "GET", "/tab()", "").with("accept", "application/json;odata=nometadata");
    let (what, raw) = match which {
        0 => {
            let delete = Raw::new(Service::Blob, "DELETE", "/con/b", &format!("snapshot={moment}&timeout=30"));
            ("SharedKey, a snapshot is deleted", delete.sign(&world, "SharedKey").await)
        }
        1 => ("SharedKey, a message is peeked", peek.sign(&world, "SharedKey").await),
        2 => {
            let list = get("/con", "comp=list&include=metadata,snapshots&prefix=b&restype=container");
            ("SharedKey, blobs are listed", list.sign(&world, "SharedKey").await)
        }
        3 => {
            let file = Raw::new(Service::File, "GET", "/sha/dir", "comp=list&restype=directory");
            ("SharedKey, files are listed", file.sign(&world, "SharedKey").await)
        }
        4 => ("SharedKeyLite, a blob", get("/con/b", "").sign(&world, "SharedKeyLite").await),
        5 => ("SharedKey of tables", entities.sign(&world, "SharedKey").await),
        6 => ("SharedKeyLite of tables", entities.sign(&world, "SharedKeyLite").await),
        7 => ("an account SAS", get("/con/b", &Sas::everything().query())),
        8 => ("a service SAS of a blob", get("/con/b", &good(Service::Blob, "b", "con/b", None).query())),
        9 => {
            let sas = Signed { moment: moment.clone(), ..good(Service::Blob, "bs", "con/b", None) };
            let query = format!("snapshot={moment}&{}", sas.query());
            ("a service SAS of a snapshot", Raw::new(Service::Blob, "DELETE", "/con/b", &query))
        }
        10 => {
            let sas =
                Signed { address: "127.0.0.1", protocol: "https,http", ..good(Service::File, "f", "sha/dir/f", None) };
            ("a service SAS of a file", Raw::new(Service::File, "DELETE", "/sha/dir/f", &sas.query()))
        }
        11 => {
            let sas = good(Service::Table, "", "tab", None).query();
            ("a service SAS of a table", Raw { query: sas.split('&').map(str::to_owned).collect(), ..entities })
        }
        12 => {
            let key = delegation_key(&world, Service::Blob, "Storage Blob Data Owner").await;
            let sas = Signed { moment: moment.clone(), ..good(Service::Blob, "bs", "con/b", Some(key)) };
            let query = format!("snapshot={moment}&{}", sas.query());
            ("a user delegation SAS of a snapshot", Raw::new(Service::Blob, "DELETE", "/con/b", &query))
        }
        13 => {
            let sas = good(Service::Queue, "", "que", None).query();
            ("a service SAS of a queue", Raw::new(Service::Queue, "GET", "/que/messages", &sas))
        }
        _ => return None,
    };
    Some((what, world, raw))
}

/// M2, L4, L5, A1, as one would find them without knowing where to look.
#[tokio::test]
async fn a_signed_request_that_was_changed_is_refused_or_does_the_same() {
    let (mut tried, mut wrong, mut which) = (0, Vec::new(), 0);
    while let Some((what, world, raw)) = signed(which).await {
        let before = state(&world).await;
        let meant = effect(&world, &raw).await;
        assert!(meant.0 < 300, "{what}: {} {}", meant.0, meant.3);
        let mut fresh = None;
        for at in 0..mutations(&raw).len() {
            // A world in which nothing has changed yet; the request is signed for its time and its snapshot.
            let (what, world, raw) = match fresh.take() {
                Some(kept) => kept,
                None => signed(which).await.expect("it was there"),
            };
            let (how, changed) = mutations(&raw).swap_remove(at);
            let found = effect(&world, &changed).await;
            tried += 1;
            let is_refused = matches!(found.0, 400 | 401 | 403) && found.2 == before;
            let is_same = (found.0, &found.1, &found.2) == (meant.0, &meant.1, &meant.2);
            if !is_refused && !is_same {
                let line = changed.text().lines().next().unwrap_or_default().to_owned();
                wrong.push(format!("{what}, {how}: {} {} {:?}\n  {line}", found.0, found.3, found.1));
            }
            fresh = (found.2 == before).then_some((what, world, raw));
        }
        which += 1;
    }
    println!("{tried} changed requests");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 1000, "only {tried} were tried");
}
