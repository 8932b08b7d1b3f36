//! Every operation × every kind of credential that must not do: refused, by the code that Azure gives, and nothing stored has
//! changed. The requests are made from the operation specs, so an operation that is added is in the matrix from its first day.

mod lists;
mod mutations;
mod seconds;
mod signed;
mod tokens;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Memory, content};
use lazuli_http::auth::{Assignment, Mode, Trust, Who};
use lazuli_http::operation::{CATALOGUES, On, When};
use lazuli_http::{Accounts, Edge, Options, Service, Spec};
use lazuli_model::roles::{Role, Scope};
use lazuli_model::{AccountName, Timestamp};
use lazuli_store::Store;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ACCOUNT: &str = "devstoreaccount1";
const OTHER: &str = "otheraccount";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const OTHER_KEY: &str = "b3RoZXIga2V5IG90aGVyIGtleSBvdGhlciBrZXkgb3RoZXIga2V5IG90aGVyIGtleSBvdGhlciBrZXkgISE=";
const VERSION: &str = "2023-11-03";
const ISSUER: &str = "https://login.example/tenant";
/// May all in one container and in one share.
const SCOPED: &str = "55555555-5555-5555-5555-555555555555";
const LETTERS: &str = "rwdxylacuptfimeo";

fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &[KEY]).expect("a key");
    accounts.add(AccountName::parse(OTHER).expect("a name"), &[OTHER_KEY]).expect("a key");
    let mut trust = Trust::new(Mode::Basic, vec![ISSUER.into()]);
    trust.insecure = true;
    // Somebody has a role, so nobody has all of them.
    let (who, role, scope) = (Who::Object("somebody".into()), Role::BlobReader, Scope::default());
    let within = |role, container: &str| {
        let scope = Scope { account: Some(ACCOUNT.into()), within: Some(container.into()) };
        Assignment { who: Who::Object(SCOPED.into()), issuer: None, role, scope }
    };
    let assigned = Assignment { who, issuer: None, role, scope };
    trust.assignments = vec![assigned, within(Role::BlobOwner, "con"), within(Role::FileContributor, "sha")];
    accounts.accept_tokens(Arc::new(trust));
    accounts
}

/// An account SAS, field by field.
#[derive(Clone)]
struct Sas {
    permissions: String,
    services: &'static str,
    types: String,
    start: &'static str,
    expiry: &'static str,
    address: &'static str,
    protocol: &'static str,
    signed_by: &'static str,
}

impl Sas {
    fn everything() -> Self {
        Self {
            permissions: LETTERS.into(),
            services: "bqtf",
            types: "sco".into(),
            start: "",
            expiry: "2099-01-01T00:00:00Z",
            address: "",
            protocol: "",
            signed_by: ACCOUNT,
        }
    }

    fn query(&self) -> String {
        let fields = [
            ("sp", self.permissions.as_str()),
            ("ss", self.services),
            ("srt", &self.types),
            ("st", self.start),
            ("se", self.expiry),
            ("sip", self.address),
            ("spr", self.protocol),
            ("sv", VERSION),
        ];
        let lines: String = fields.iter().map(|(_, value)| format!("{value}\n")).collect();
        let account = accounts().get(self.signed_by).expect("an account");
        let signature = account.sign(format!("{ACCOUNT}\n{lines}\n").as_bytes());
        let signed = [("sig", signature.as_str())];
        let sent = fields.iter().chain(&signed).filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            sent.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))).collect();
        pairs.join("&")
    }
}

/// A request for an operation, as its spec describes it.
struct Request {
    method: &'static str,
    path: &'static str,
    query: Vec<String>,
    headers: Vec<(String, String)>,
}

fn path(on: On) -> &'static str {
    match on {
        On::Service => "/",
        On::Container => "/con",
        On::Blob => "/con/b",
        On::Queue => "/que",
        On::Messages => "/que/messages",
        On::Message => "/que/messages/00000000-0000-0000-0000-000000000001",
        On::Tables => "/Tables",
        On::Table => "/Tables('tab')",
        On::Entities => "/tab",
        On::Entity => "/tab(PartitionKey='p',RowKey='r')",
        On::Batch => "/$batch",
        On::Share => "/sha",
        On::Directory => "/sha/dir",
        On::File => "/sha/dir/f",
    }
}

impl Request {
    fn of(spec: &'static Spec) -> Self {
        let mut query: Vec<String> = Vec::new();
        query.extend(spec.restype.map(|value| format!("restype={value}")));
        query.extend(spec.comp.map(|value| format!("comp={value}")));
        let mut headers = vec![("x-ms-version".to_owned(), VERSION.to_owned())];
        for when in spec.when {
            match *when {
                When::Header(name) => headers.push((name.into(), "1".into())),
                When::HeaderIs(name, value) => headers.push((name.into(), value.into())),
                When::Query(name) => query.push(format!("{name}=1")),
                When::QueryIs(name, value) => query.push(format!("{name}={value}")),
                When::NoHeader(_) | When::HeaderIsNot(..) | When::NoQuery(_) | When::QueryIsNot(..) => {}
            }
        }
        Self { method: spec.methods[0], path: path(spec.on), query, headers }
    }

    fn text(&self, credential: &Credential) -> String {
        let mut query = self.query.clone();
        let mut headers = self.headers.clone();
        match credential {
            Credential::Nothing => {}
            Credential::Query(text) => query.push(text.clone()),
            Credential::Header(text) => headers.push(("authorization".into(), text.clone())),
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let mut text = format!("{} /{ACCOUNT}{}{query} HTTP/1.1\r\nhost: 127.0.0.1\r\n", self.method, self.path);
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        text + "content-length: 0\r\nconnection: close\r\n\r\n"
    }
}

#[derive(Clone, Debug)]
enum Credential {
    Nothing,
    Query(String),
    Header(String),
}

#[derive(Clone)]
struct World {
    edge: Arc<Edge>,
    store: Store,
    engine: Arc<Memory>,
}

impl World {
    async fn new() -> Self {
        let world = Self::empty();
        world.prepare().await;
        world
    }

    fn empty() -> Self {
        let engine = Arc::new(Memory::laid_out(lazuli_store::layout, lazuli_engine::Clock::system()));
        let store = Store::new(engine.clone(), Arc::new(content::Memory::new()));
        let next = AtomicU64::new(1);
        let ids = Arc::new(move || u128::from(next.fetch_add(1, Ordering::Relaxed)));
        let clock = store.clone();
        let edge = Edge::new(store.clone(), accounts(), Options::default(), ids, Arc::new(move || clock.now()));
        Self { edge, store, engine }
    }

    /// Something of everything, so that a request that got in would do something.
    async fn prepare(&self) {
        let made: &[(Service, &str, &str, &str, &str)] = &[
            (Service::Blob, "PUT", "/con?restype=container", "", ""),
            (Service::Blob, "PUT", "/con/b", "x-ms-blob-type: BlockBlob\r\n", "content"),
            (Service::Queue, "PUT", "/que", "", ""),
            (
                Service::Queue,
                "POST",
                "/que/messages",
                "",
                "<QueueMessage><MessageText>hello</MessageText></QueueMessage>",
            ),
            (Service::Table, "POST", "/Tables", "content-type: application/json\r\n", r#"{"TableName":"tab"}"#),
            (
                Service::Table,
                "POST",
                "/tab",
                "content-type: application/json\r\n",
                r#"{"PartitionKey":"p","RowKey":"r"}"#,
            ),
            (Service::File, "PUT", "/sha?restype=share", "", ""),
            (Service::File, "PUT", "/sha/dir?restype=directory", "", ""),
            (Service::File, "PUT", "/sha/dir/f", "x-ms-type: file\r\nx-ms-content-length: 10\r\n", ""),
        ];
        for (service, method, target, headers, body) in made {
            self.make(*service, method, target, headers, body).await;
        }
    }

    /// Done with every right.
    async fn make(&self, service: Service, method: &str, target: &str, headers: &str, body: &str) -> String {
        let (status, answer) = self.ask_as_owner(service, method, target, headers, body).await;
        assert_eq!(status, 201, "{method} {target}: {answer}");
        answer
    }

    async fn ask_as_owner(
        &self,
        service: Service,
        method: &str,
        target: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
        let joint = if target.contains('?') { "&" } else { "?" };
        let text = format!(
            "{method} /{ACCOUNT}{target}{joint}{} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            Sas::everything().query(),
            body.len()
        );
        self.ask(service, &text).await
    }

    fn now(&self) -> Timestamp {
        self.store.now()
    }

    async fn ask(&self, service: Service, text: &str) -> (u16, String) {
        let (mut near, far) = tokio::io::duplex(64 << 10);
        let edge = self.edge.clone();
        let served = tokio::spawn(async move {
            let (_run, stop) = tokio::sync::watch::channel(false);
            edge.serve(far, SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), service, false, stop).await;
        });
        near.write_all(text.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        near.read_to_end(&mut answer).await.expect("it answers");
        served.await.expect("nothing panics");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a status");
        (status, answer)
    }
}

fn code(answer: &str) -> &str {
    header(answer, "x-ms-error-code")
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(other, _)| other.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
}

/// Credentials that must not do for `spec`, with the status and, where it is certain, the code that they get.
fn refused(service: Service, spec: &Spec) -> Vec<(&'static str, Credential, &'static [u16])> {
    const FORBIDDEN: &[u16] = &[403];
    let everything = Sas::everything();
    let sas = |what, sas: Sas| (what, Credential::Query(sas.query()), FORBIDDEN);
    let mut all = vec![
        ("nothing", Credential::Nothing, &[401, 403, 404][..]),
        sas("the key of another account", Sas { signed_by: OTHER, ..everything.clone() }),
        sas("an expired SAS", Sas { expiry: "2020-01-01T00:00:00Z", ..everything.clone() }),
        sas("a SAS of the future", Sas { start: "2098-01-01T00:00:00Z", ..everything.clone() }),
        sas("another address", Sas { address: "10.1.2.3", ..everything.clone() }),
        sas("a SAS for HTTPS only", Sas { protocol: "https", ..everything.clone() }),
        sas("a SAS of another service", Sas { services: other_service(service), ..everything.clone() }),
        ("a wrong key", Credential::Header(format!("SharedKey {ACCOUNT}:{OTHER_KEY}")), FORBIDDEN),
        ("a key in an unknown form", Credential::Header("Basic dXNlcjpwYXNzd29yZA==".into()), &[400, 401, 403]),
        ("a token that is none", Credential::Header("Bearer not.a.token".into()), &[400, 401, 403]),
    ];
    let tampered = Sas { permissions: "r".into(), ..everything.clone() }.query().replace("sp=r&", "sp=rwdlacup&");
    all.push(("a SAS that was changed", Credential::Query(tampered), FORBIDDEN));
    match spec.account_sas {
        None => all.push(sas("any account SAS", everything)),
        Some(needs) => {
            let without: String = LETTERS.chars().filter(|letter| !needs.any.contains(*letter)).collect();
            if !without.is_empty() {
                all.push(sas("a SAS without the permission", Sas { permissions: without, ..everything.clone() }));
            }
            let types: String = "sco".chars().filter(|kind| *kind != needs.resource).collect();
            all.push(sas("a SAS of another resource type", Sas { types, ..everything }));
        }
    }
    all
}

fn other_service(service: Service) -> &'static str {
    match service {
        Service::Blob | Service::Dfs => "qtf",
        Service::Queue => "btf",
        Service::Table => "bqf",
        Service::File => "bqt",
    }
}

fn service(name: &str) -> Service {
    match name {
        "Blob" => Service::Blob,
        "Queue" => Service::Queue,
        "Table" => Service::Table,
        "File" => Service::File,
        "DataLake" => Service::Dfs,
        other => panic!("a catalogue that the matrix does not know: {other}"),
    }
}

#[tokio::test]
async fn no_one_gets_in() {
    let world = World::new().await;
    let before = world.engine.entries();
    let (mut tried, mut wrong) = (0, Vec::new());
    for catalogue in CATALOGUES {
        let service = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec) {
            let request = Request::of(spec);
            for (what, credential, allowed) in refused(service, spec) {
                let (status, answer) = world.ask(service, &request.text(&credential)).await;
                tried += 1;
                if !allowed.contains(&status) {
                    wrong.push(format!("{} with {what}: {status} {}", spec.name, code(&answer)));
                }
                assert!(!answer.contains(KEY), "{} shows the key", spec.name);
            }
            if world.engine.entries() != before {
                panic!("{} changed something for nobody", spec.name);
            }
        }
    }
    println!("{tried} requests refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 500, "only {tried} were tried");
}

/// The matrix tries the operations themselves: a credential that suffices is not refused.
#[tokio::test]
async fn who_may_gets_in() {
    let mut wrong = Vec::new();
    for catalogue in CATALOGUES {
        let service = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec).filter(|spec| spec.account_sas.is_some()) {
            let world = World::new().await;
            let all = Credential::Query(Sas::everything().query());
            let (status, answer) = world.ask(service, &Request::of(spec).text(&all)).await;
            if matches!(status, 401 | 403) {
                wrong.push(format!("{}: {status} {}", spec.name, code(&answer)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
