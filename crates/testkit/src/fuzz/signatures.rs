//! Shared Key, Shared Key Lite and shared access signatures. What the server says it would have signed, signed with the key, is
//! accepted; so it is when headers and parameters come in another order; and so it is not once anything that was signed is changed, nor when
//! two parameters are written as one of the same text.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr};

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue};
use lazuli_http::auth::{Identity, identify};
use lazuli_http::head::Arrival;
use lazuli_http::refusal::{Denied, Refusal};
use lazuli_http::{Accounts, Head, Service};
use lazuli_model::{AccountName, Timestamp};

use super::request::{Request, split};
use crate::client::{ACCOUNT, KEY};

pub const WORDS: &[&str] = &[
    "SharedKey",
    "SharedKeyLite",
    "sas",
    "x-ms-date:",
    "x-ms-version: 2015-02-21\n",
    "x-ms-version: 2009-09-19\n",
    "x-ms-meta-",
    "Content-Length: 0\n",
    "Content-Type:",
    "Range: bytes=0-1\n",
    "?comp=list&restype=container",
    "&sv=2012-02-12",
    "&sv=2015-04-05",
    "&sv=2020-12-06",
    "&sr=b",
    "&sr=c",
    "&sr=d&sdd=1",
    "&sp=rwdl",
    "&se=2099-01-01T00:00:00Z",
    "&st=2020-01-01",
    "&si=policy",
    "&sip=127.0.0.1",
    "&spr=https,http",
    "&ss=bqtf&srt=sco",
    "&tn=t&spk=a&srk=b",
    "&rscc=a",
    "&ses=scope",
    "&snapshot=2020-01-01T00:00:00.0000000Z",
    "&versionid=2020-01-01T00:00:00.0000000Z",
    "&skoid=a&sktid=b&sduoid=c&skdutid=d",
    "&srh=a&srq=b",
    "&include=a&include=b",
    "%20",
    "%2F",
    "%0A",
    "%0D",
    "%3A",
    ":",
    "+",
];

const NOW: &str = "2026-01-01T00:00:00Z";

thread_local! {
    static ACCOUNTS: OnceCell<Accounts> = const { OnceCell::new() };
}

fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &[KEY]).expect("a key");
    accounts
}

/// A request that can be asked again, differently.
#[derive(Clone)]
struct Asked {
    service: Service,
    method: http::Method,
    path: String,
    query: Vec<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// `service scheme`, then a request.
pub fn run(input: &[u8]) {
    let Some((first, request)) = split(input, b"\n") else { return };
    let Some((service, scheme)) = split(first, b" ") else { return };
    let service = match service {
        b"blob" => Service::Blob,
        b"queue" => Service::Queue,
        b"table" => Service::Table,
        b"file" => Service::File,
        _ => return,
    };
    let Some(asked) = Request::read(request).and_then(|request| Asked::of(&request, service)) else { return };
    ACCOUNTS.with(|accounts_of_thread| {
        let accounts = accounts_of_thread.get_or_init(accounts);
        match scheme {
            b"SharedKey" | b"SharedKeyLite" => by_key(asked, &String::from_utf8_lossy(scheme), accounts),
            b"sas" => by_sas(asked, accounts),
            _ => {}
        }
    });
}

impl Asked {
    fn of(request: &Request<'_>, service: Service) -> Option<Self> {
        // A fragment is not sent.
        let target = std::str::from_utf8(request.target).ok().filter(|target| !target.contains('#'))?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?)));
        let headers: Option<Vec<_>> = headers.collect();
        Some(Self {
            service,
            method: http::Method::from_bytes(request.method).ok()?,
            path: format!("/{ACCOUNT}{path}"),
            query: query.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            headers: headers?.into_iter().filter(|(name, _)| *name != AUTHORIZATION).collect(),
        })
    }

    fn with(mut self, name: &'static str, value: &str) -> Option<Self> {
        self.headers.retain(|(own, _)| own != name);
        self.headers.push((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?));
        Some(self)
    }

    fn identify(&self, accounts: &Accounts) -> Option<Result<Identity, Refusal>> {
        let target = format!("{}?{}", self.path, self.query.join("&"));
        let mut request = http::Request::builder().method(&self.method).uri(target).body(()).ok()?;
        let map: HeaderMap = self.headers.iter().cloned().collect();
        *request.headers_mut() = map;
        let arrival = Arrival {
            service: self.service,
            secure: false,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now: Timestamp::from_ticks(0),
            wall: Timestamp::parse_iso(NOW).expect("a time"),
            request_id: 1,
            loose: false,
        };
        let head = Head::read(request.into_parts().0, arrival).ok()?;
        Some(identify(&head, accounts))
    }

    /// Headers in another order; those of one name stay as they are to each other.
    fn reordered(&self) -> Self {
        let mut headers = self.headers.clone();
        headers.sort_by(|(one, _), (other, _)| other.as_str().cmp(one.as_str()));
        Self { headers, ..self.clone() }
    }

    /// Parameters in another order, unless one of them comes twice, where order has a meaning.
    fn requeried(&self) -> Option<Self> {
        let mut names: Vec<String> = self.query.iter().map(|part| name_of(part)).collect();
        names.sort();
        let twice = names.windows(2).any(|two| two[0] == two[1]);
        let query = self.query.iter().rev().cloned().collect();
        (!twice).then(|| Self { query, ..self.clone() })
    }
}

/// As the server compares it.
fn name_of(part: &str) -> String {
    let parsed = lazuli_http::Query::parse(part).ok();
    parsed.and_then(|query| query.iter().next().map(|(name, _)| name.to_ascii_lowercase())).unwrap_or_default()
}

/// What the server would have signed, from its refusal.
fn to_sign(refused: &Result<Identity, Refusal>, before: &str, after: &str) -> Option<String> {
    let Err(Refusal::Denied(Denied::AuthenticationFailed { detail })) = refused else { return None };
    let (_, text) = detail.split_once(before)?;
    text.strip_suffix(after).map(str::to_owned)
}

fn by_key(asked: Asked, scheme: &str, accounts: &Accounts) {
    let now = Timestamp::parse_iso(NOW).expect("a time").to_http();
    let authorization = |signature: &str| format!("{scheme} {ACCOUNT}:{signature}");
    let Some(asked) = asked.with("x-ms-date", &now) else { return };
    let Some(unsigned) = asked.clone().with("authorization", &authorization("AAAA")) else { return };
    let Some(refused) = unsigned.identify(accounts) else { return };
    assert!(refused.is_err(), "a signature of nothing is accepted");
    let Some(text) = to_sign(&refused, "following string to sign: '", "'.") else { return };
    let signature = accounts.get(ACCOUNT).expect("it was added").sign(text.as_bytes());
    let signed = asked.with("authorization", &authorization(&signature)).expect("Base64 is a header");
    let owner = |asked: &Asked| asked.identify(accounts).is_some_and(|identity| identity == Ok(Identity::Owner));
    assert!(owner(&signed), "what the server says it would sign is not accepted: {text:?}");
    assert!(owner(&signed.reordered()), "the order of headers matters: {text:?}");
    if let Some(other) = signed.requeried() {
        assert!(owner(&other), "the order of parameters matters: {text:?}");
    }
    // The Table service signs little more than the path.
    let path = Asked { path: format!("{}x", signed.path), ..signed.clone() };
    assert!(!owner(&path), "the path is not signed: {text:?}");
    let again = signed.clone().with("x-ms-date", "Thu, 01 Jan 2026 00:00:01 GMT").expect("a header");
    assert!(!owner(&again), "the date is not signed: {text:?}");
    if signed.service != Service::Table {
        let more = signed.clone().with("x-ms-unheard-of", "1").expect("a header");
        assert!(!owner(&more), "a header can be added: {text:?}");
        let method = if signed.method == http::Method::PUT { http::Method::DELETE } else { http::Method::PUT };
        assert!(!owner(&Asked { method, ..signed.clone() }), "the method is not signed: {text:?}");
        if scheme == "SharedKey" {
            let mut more = signed.clone();
            more.query.push("unheard=of".to_owned());
            assert!(!owner(&more), "a parameter can be added: {text:?}");
            for other in confused(&signed) {
                assert!(!owner(&other), "{:?} is signed as {:?}: {text:?}", other.query, signed.query);
            }
        }
    }
}

/// Two parameters as one, by what stands between them in what is signed: the end of a line, a colon, a comma.
fn confused(signed: &Asked) -> Vec<Asked> {
    let mut all = Vec::new();
    for at in 1..signed.query.len() {
        let (before, part) = (&signed.query[at - 1], &signed.query[at]);
        let (name, value) = before.split_once('=').unwrap_or((before, ""));
        let (other_name, other_value) = part.split_once('=').unwrap_or((part, ""));
        let merged = [
            format!("{name}%3A{value}%0A{other_name}={other_value}"),
            format!("{name}={value}%0A{other_name}%3A{other_value}"),
            format!("{name}%0A={value}"),
        ];
        for one in merged {
            let mut query = signed.query.clone();
            query.splice(at - 1..=at, [one]);
            all.push(Asked { query, ..signed.clone() });
        }
    }
    all
}

fn by_sas(mut asked: Asked, accounts: &Accounts) {
    asked.query.retain(|part| name_of(part) != "sig");
    let with = |asked: &Asked, signature: &str| {
        let mut asked = asked.clone();
        asked.query.push(format!("sig={signature}"));
        asked
    };
    let Some(refused) = with(&asked, "AAAA").identify(accounts) else { return };
    assert!(refused.is_err(), "a signature of nothing is accepted");
    let Some(text) = to_sign(&refused, "String to sign used was ", "") else { return };
    let signature = accounts.get(ACCOUNT).expect("it was added").sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let signed = with(&asked, &signature);
    let found = signed.identify(accounts).expect("it was read before");
    // It may be over, or of another place; but it is signed.
    assert_eq!(
        to_sign(&found, "String to sign used was ", ""),
        None,
        "what the server says it would sign does not match"
    );
    assert_eq!(signed.reordered().identify(accounts), Some(found.clone()), "the order of headers matters");
    if let Some(other) = signed.requeried() {
        assert_eq!(other.identify(accounts), Some(found), "the order of parameters matters: {text:?}");
    }
    for part in &signed.query {
        let mut twice = signed.clone();
        twice.query.push(part.clone());
        let is_of_sas = ["sv", "sp", "se", "sr", "sig", "ses", "tn", "si"].contains(&name_of(part).as_str());
        let found = twice.identify(accounts);
        assert!(!is_of_sas || !matches!(found, Some(Ok(_))), "{part} may come twice: {text:?}");
    }
    for name in ["sp", "se"] {
        let Some(at) = asked.query.iter().position(|part| part.contains('=') && name_of(part) == name) else {
            continue;
        };
        let mut other = signed.clone();
        other.query[at].push('0');
        let found = other.identify(accounts);
        assert!(!matches!(found, Some(Ok(_))), "{name} is not signed: {text:?}");
    }
}
