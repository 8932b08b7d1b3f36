//! Service SAS and user delegation SAS: every operation of every service, with a signature that would do but for one thing.

use lazuli_http::operation::{CATALOGUES, On};
use lazuli_http::{Service, Spec};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;

use super::tokens::bearer;
use super::{ACCOUNT, Credential, LETTERS, OTHER, Request, VERSION, World, accounts, code, service};

/// A service SAS, field by field; a user delegation SAS if it has such a key.
#[derive(Clone)]
pub struct Signed {
    pub service: Service,
    /// The kind of resource, where the service has several.
    pub kind: &'static str,
    /// What it is signed for, without the account.
    pub path: String,
    pub letters: String,
    pub start: &'static str,
    pub expiry: &'static str,
    pub address: &'static str,
    pub protocol: &'static str,
    pub policy: &'static str,
    /// The snapshot or version that it is signed for.
    pub moment: String,
    pub signed_by: &'static str,
    pub key: Option<Key>,
    /// Whom a user delegation SAS is for, of whom lists are asked (`suoid`).
    pub agent: String,
}

/// A user delegation key: what it says of itself, and its value.
#[derive(Clone)]
pub struct Key {
    pub fields: Vec<(&'static str, String)>,
    pub value: Vec<u8>,
}

impl Signed {
    pub fn query(&self) -> String {
        let [sp, st, se, si] = [&*self.letters, self.start, self.expiry, self.policy];
        let [sip, spr] = [self.address, self.protocol];
        let name = match self.service {
            Service::Blob | Service::Dfs => "blob",
            Service::Queue => "queue",
            Service::Table => "table",
            Service::File => "file",
        };
        let canonical = format!("/{name}/{ACCOUNT}/{}", self.path);
        let blob = matches!(self.service, Service::Blob | Service::Dfs);
        let agents = ["", self.agent.as_str(), ""];
        let mut lines = vec![sp, st, se, &canonical];
        match &self.key {
            Some(key) => {
                lines.extend(key.fields.iter().map(|(_, value)| value.as_str()));
                // The agents that it could be for.
                lines.extend(if blob { &agents[..] } else { &[] });
            }
            None => lines.push(si),
        }
        lines.extend([sip, spr, VERSION]);
        if blob {
            lines.extend([self.kind, &self.moment, ""]);
        }
        // Headers of the answer, or bounds of keys: none.
        lines.extend(match self.service {
            Service::Blob | Service::Dfs | Service::File => &[""; 5][..],
            Service::Table => &[""; 4],
            Service::Queue => &[],
        });
        let text = lines.join("\n");
        let signature = match &self.key {
            Some(key) => {
                let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key.value), text.as_bytes());
                base64::Engine::encode(&base64::prelude::BASE64_STANDARD, tag)
            }
            None => accounts().get(self.signed_by).expect("an account").sign(text.as_bytes()),
        };
        let table = if self.service == Service::Table { &*self.path } else { "" };
        let mut fields = vec![("sp", sp), ("st", st), ("se", se), ("si", si), ("sip", sip), ("spr", spr)];
        fields.extend([("sv", VERSION), ("sr", self.kind), ("tn", table), ("suoid", &self.agent), ("sig", &signature)]);
        fields.extend(self.key.iter().flat_map(|key| key.fields.iter().map(|(name, value)| (*name, value.as_str()))));
        let sent = fields.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            sent.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))).collect();
        pairs.join("&")
    }
}

/// The kinds of resource that a SAS for this could be signed for, and whether one for each does.
fn kinds(service: Service, spec: &Spec) -> Vec<(&'static str, &'static str, bool)> {
    match (service, spec.on) {
        (Service::Blob | Service::Dfs, On::Blob) => vec![("c", "con", true), ("b", "con/b", true)],
        (Service::Blob | Service::Dfs, On::Container) => vec![("c", "con", true), ("b", "con", false)],
        (Service::Blob | Service::Dfs, _) => vec![("c", "con", false), ("b", "con/b", false)],
        (Service::Queue, on) => vec![("", "que", on != On::Service)],
        (Service::Table, on) => {
            vec![("", "tab", matches!(on, On::Entities | On::Entity | On::Batch))]
        }
        (Service::File, On::File) => vec![("s", "sha", true), ("f", "sha/dir/f", true)],
        (Service::File, On::Directory) => vec![("s", "sha", true), ("f", "sha/dir", false)],
        (Service::File, On::Share) => vec![("s", "sha", true), ("f", "sha", false)],
        (Service::File, _) => vec![("s", "sha", false), ("f", "sha/dir/f", false)],
    }
}

/// What must not do, each with one thing wrong.
fn refused(good: &Signed, spec: &Spec, opens: bool) -> Vec<(&'static str, Signed)> {
    if !opens || spec.needs.is_empty() {
        return vec![("a SAS for something else", good.clone())];
    }
    let with = |what, change: &dyn Fn(&mut Signed)| {
        let mut changed = good.clone();
        change(&mut changed);
        (what, changed)
    };
    let mut all = vec![
        with("an expired SAS", &|sas| sas.expiry = "2020-01-01T00:00:00Z"),
        with("a SAS of the future", &|sas| sas.start = "2098-01-01T00:00:00Z"),
        with("another address", &|sas| sas.address = "10.1.2.3"),
        with("a SAS for HTTPS only", &|sas| sas.protocol = "https"),
    ];
    // What a batch is about, its parts say, and each of them is judged by itself.
    if spec.on != On::Batch {
        all.push(with("a SAS for another resource", &|sas| sas.path = format!("{}x", sas.path)));
    }
    let without: String = LETTERS.chars().filter(|letter| !spec.needs.contains(*letter)).collect();
    if !without.is_empty() {
        all.push(with("a SAS without the permission", &|sas| sas.letters = without.clone()));
    }
    if good.key.is_some() {
        all.push(with("another's delegation key", &|sas| sas.key.as_mut().expect("a key").value[0] ^= 1));
        all.push(with("a delegation key for longer than it was given for", &|sas| {
            let key = sas.key.as_mut().expect("a key");
            key.fields
                .iter_mut()
                .filter(|(name, _)| *name == "ske")
                .for_each(|(_, value)| value.replace_range(..4, "2097"));
        }));
        return all;
    }
    all.push(with("the key of another account", &|sas| sas.signed_by = OTHER));
    all.push(with("a policy that is not there", &|sas| sas.policy = "gone"));
    all
}

pub fn good(service: Service, kind: &'static str, path: &str, key: Option<Key>) -> Signed {
    Signed {
        service,
        kind,
        path: path.into(),
        letters: LETTERS.into(),
        start: "",
        expiry: "2096-01-01T00:00:00Z",
        address: "",
        protocol: "",
        policy: "",
        moment: String::new(),
        signed_by: ACCOUNT,
        key,
        agent: String::new(),
    }
}

/// One that a token of this role is given.
pub async fn delegation_key(world: &World, service: Service, role: &str) -> Key {
    let now = world.now();
    let (start, expiry) = (now.to_iso_seconds(), now.plus_seconds(3 * 24 * 3600).to_iso_seconds());
    let body = format!("<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>");
    let text = format!(
        "POST /{ACCOUNT}/?restype=service&comp=userdelegationkey HTTP/1.1\r\nhost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\n\
         x-ms-file-request-intent: backup\r\nauthorization: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        bearer(&[role]),
        body.len()
    );
    let (status, answer) = world.ask(service, &text).await;
    assert_eq!(status, 200, "{answer}");
    let inner = |tag: &str| {
        let rest = answer.split_once(&format!("<{tag}>")).unwrap_or_else(|| panic!("no {tag} in {answer}")).1;
        rest.split('<').next().unwrap_or_default().to_owned()
    };
    let names = [
        ("skoid", "SignedOid"),
        ("sktid", "SignedTid"),
        ("skt", "SignedStart"),
        ("ske", "SignedExpiry"),
        ("sks", "SignedService"),
        ("skv", "SignedVersion"),
    ];
    let value = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, inner("Value")).expect("Base64");
    Key { fields: names.map(|(name, tag)| (name, inner(tag))).to_vec(), value }
}

/// Tries every operation of `of` with everything that must not do; says what got in, and how many were tried.
async fn try_all(world: &World, of: Service, key: Option<&Key>) -> (usize, Vec<String>) {
    let before = world.engine.entries();
    let (mut tried, mut wrong) = (0, Vec::new());
    for catalogue in CATALOGUES.iter().filter(|catalogue| service(catalogue.name) == of) {
        for spec in catalogue.served.iter().map(|operation| operation.spec) {
            for (kind, path, opens) in kinds(of, spec) {
                for (what, sas) in refused(&good(of, kind, path, key.cloned()), spec, opens) {
                    let request = Request::of(spec).text(&Credential::Query(sas.query()));
                    let (status, answer) = world.ask(of, &request).await;
                    tried += 1;
                    if status != 403 {
                        wrong.push(format!("{} with {what} ({kind}): {status} {}", spec.name, code(&answer)));
                    }
                }
            }
            assert!(world.engine.entries() == before, "{} changed something for nobody", spec.name);
        }
    }
    (tried, wrong)
}

const SERVICES: [Service; 5] = [Service::Blob, Service::Queue, Service::Table, Service::File, Service::Dfs];
/// Who may all that a SAS can say, where there are delegation keys: tables have none.
const MAKERS: [(Service, &str); 3] = [
    (Service::Blob, "Storage Blob Data Owner"),
    (Service::Queue, "Storage Queue Data Contributor"),
    (Service::File, "Storage File Data Privileged Contributor"),
];

#[tokio::test]
async fn a_service_sas_with_one_thing_wrong_does_not_do() {
    let world = World::new().await;
    let (mut tried, mut wrong) = (0, Vec::new());
    for of in SERVICES {
        let (count, bad) = try_all(&world, of, None).await;
        tried += count;
        wrong.extend(bad);
    }
    println!("{tried} requests refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 800, "only {tried} were tried");
}

#[tokio::test]
async fn a_delegation_sas_with_one_thing_wrong_does_not_do() {
    let world = World::new().await;
    let (mut tried, mut wrong) = (0, Vec::new());
    for (of, role) in MAKERS {
        let key = delegation_key(&world, of, role).await;
        let (count, bad) = try_all(&world, of, Some(&key)).await;
        tried += count;
        wrong.extend(bad);
    }
    println!("{tried} requests refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 900, "only {tried} were tried");
    // Its maker's rights bound it, whatever its letters are.
    let reader = delegation_key(&world, Service::Blob, "Storage Blob Data Reader").await;
    let before = world.engine.entries();
    for catalogue in CATALOGUES.iter().filter(|catalogue| catalogue.name == "Blob") {
        let writing = |spec: &Spec| spec.writes() && spec.on == On::Blob && spec.comp != Some("query");
        for spec in catalogue.served.iter().map(|operation| operation.spec).filter(|spec| writing(spec)) {
            let sas = good(Service::Blob, "b", "con/b", Some(reader.clone())).query();
            let (status, answer) = world.ask(Service::Blob, &Request::of(spec).text(&Credential::Query(sas))).await;
            assert_eq!(status, 403, "{} with a reader's SAS: {}", spec.name, code(&answer));
        }
    }
    assert!(world.engine.entries() == before, "a reader's SAS changed something");
}

/// A matrix of refusals proves something only if what is refused is right but for that one thing.
#[tokio::test]
async fn the_same_sas_with_nothing_wrong_gets_in() {
    let mut wrong = Vec::new();
    let world = World::new().await;
    let mut keys = Vec::new();
    for (of, role) in MAKERS {
        keys.push((of, delegation_key(&world, of, role).await));
    }
    for catalogue in CATALOGUES {
        let of = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec).filter(|spec| !spec.needs.is_empty()) {
            for (kind, path, _) in kinds(of, spec).into_iter().filter(|(_, _, opens)| *opens) {
                let own = keys.iter().find(|(other, _)| *other == of).map(|(_, key)| key.clone());
                for key in [None, own] {
                    let delegated = key.is_some();
                    if delegated && !spares_the_next(spec) {
                        continue;
                    }
                    let world = if delegated { world.clone() } else { World::new().await };
                    let sas = good(of, kind, path, key).query();
                    let (status, answer) = world.ask(of, &Request::of(spec).text(&Credential::Query(sas))).await;
                    if matches!(status, 401 | 403) {
                        wrong.push(format!(
                            "{} ({kind}, delegated: {delegated}): {status} {}",
                            spec.name,
                            code(&answer)
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether it leaves what the next one needs.
fn spares_the_next(spec: &Spec) -> bool {
    !spec.methods.contains(&"DELETE") && !matches!(spec.comp, Some("lease" | "immutabilityPolicies" | "legalhold"))
}
