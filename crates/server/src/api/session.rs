//! Who is logged in to the console. Held true:
//! * a secret that was given to log in stays in this memory; neither it nor what it opens is ever sent back;
//! * a session ends when it is ended, after half an hour without a request, and after twelve hours;
//! * a cookie counts only if the request comes from the console's own page, and changes something only with the CSRF header;
//! * a session that becomes the operator's gets another id: who knew the old one, or had it put into a browser, is left with nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use lazuli_http::Edge;
use lazuli_http::accounts::Account;
use lazuli_store::Store;
use tokio::time::Instant;

use crate::{admin, ids};

const IDLE: Duration = Duration::from_secs(30 * 60);
pub const LIFE: Duration = Duration::from_secs(12 * 60 * 60);
const SESSIONS_MAX: usize = 256;
pub const CSRF: &str = "x-lazuli-csrf";

/// What a session may show to the services.
#[derive(Clone)]
pub enum Credential {
    /// Nothing: an operator need not have an account.
    None,
    Key(Arc<Account>),
    Sas {
        account: String,
        query: String,
    },
    Token {
        account: String,
        token: String,
    },
}

impl Credential {
    pub fn kind(&self) -> &'static str {
        match self {
            Credential::None => "operator",
            Credential::Key(_) => "key",
            Credential::Sas { .. } => "sas",
            Credential::Token { .. } => "token",
        }
    }

    /// Whether an account still has the key that it was logged in with. Other credentials are judged at each request to a service.
    pub async fn is_current(&self, edge: &Edge, store: &Store) -> bool {
        let Credential::Key(account) = self else { return true };
        let name = account.name().as_str();
        let learnt = edge.accounts().learn(name, store).await;
        let current = edge.accounts().get(name);
        let may = |current: Arc<Account>| current.settings().permit_key().is_ok() && current.shares_key_with(account);
        learnt.is_ok() && current.is_some_and(may)
    }

    pub fn account(&self) -> Option<&str> {
        match self {
            Credential::None => None,
            Credential::Key(account) => Some(account.name().as_str()),
            Credential::Sas { account, .. } | Credential::Token { account, .. } => Some(account),
        }
    }
}

#[derive(Clone)]
pub struct Session {
    pub id: String,
    pub csrf: String,
    pub credential: Credential,
    pub operator: bool,
    pub ends: Instant,
    seen: Instant,
}

impl Session {
    /// The operator's token is good from this machine only, and so is what it has opened.
    pub fn asked_from(self, peer: IpAddr, own: IpAddr) -> Self {
        Self { operator: self.operator && admin::is_local(peer, own), ..self }
    }

    /// Of what account it may see the record: `Ok(None)` is all of them.
    pub fn sees(&self) -> Result<Option<String>, ()> {
        match &self.credential {
            _ if self.operator => Ok(None),
            Credential::Key(account) => Ok(Some(account.name().as_str().to_owned())),
            Credential::None | Credential::Sas { .. } | Credential::Token { .. } => Err(()),
        }
    }
}

/// Those that are logged in.
#[derive(Default)]
pub struct Sessions {
    by_id: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    /// `None`: there are too many.
    pub fn begin(&self, credential: Credential, operator: bool) -> Option<Session> {
        let now = Instant::now();
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        by_id.retain(|_, session| session.is_good(now));
        // Nobody has looked yet whether a SAS is good, so those of them that were used least lately make room.
        let unproven = |session: &&Session| matches!(session.credential, Credential::Sas { .. }) && !session.operator;
        if by_id.len() >= SESSIONS_MAX {
            let oldest = by_id.values().filter(unproven).min_by_key(|session| session.seen)?.id.clone();
            by_id.remove(&oldest);
        }
        let (id, csrf) = (secret(), secret());
        let session = Session { id: id.clone(), csrf, credential, operator, ends: now + LIFE, seen: now };
        by_id.insert(id, session.clone());
        Some(session)
    }

    /// The session of a request that comes from the console's own page.
    pub fn of(&self, headers: &HeaderMap, cookie: &str) -> Option<Session> {
        if !is_own(headers) {
            return None;
        }
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, id) = pairs.find(|(name, _)| *name == cookie)?;
        let now = Instant::now();
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let session = by_id.get_mut(id).filter(|session| session.is_good(now))?;
        session.seen = now;
        Some(session.clone())
    }

    /// The operator's session that takes the place of this one.
    pub fn raise(&self, id: &str) -> Option<Session> {
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let old = by_id.remove(id)?;
        let session = Session { id: secret(), csrf: secret(), operator: true, ..old };
        by_id.insert(session.id.clone(), session.clone());
        Some(session)
    }

    pub fn is_on(&self, id: &str) -> bool {
        let by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        by_id.get(id).is_some_and(|session| session.is_good(Instant::now()))
    }

    pub fn end(&self, id: &str) {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

impl Session {
    fn is_good(&self, now: Instant) -> bool {
        now < self.ends && now < self.seen + IDLE
    }

    /// Whether the request carries the header that only the console's own page knows.
    pub fn has_csrf(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(CSRF).map(|value| value.as_bytes()).unwrap_or_default();
        admin::same(given, self.csrf.as_bytes())
    }
}

/// Whether a browser says that a request comes from the page that it goes to. What is no browser says nothing.
pub fn is_own(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let origin = text(ORIGIN.as_str()).is_none_or(|origin| {
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        text(HOST.as_str()).is_some_and(|own| own.eq_ignore_ascii_case(host))
    });
    site && origin
}

fn secret() -> String {
    ids::secret().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_counts_from_its_own_page_until_it_ends() {
        let sessions = Sessions::default();
        let session = sessions.begin(Credential::None, true).unwrap();
        let cookie = format!("other=1; lazuli-1={}", session.id);
        let own = headers(&[("cookie", &cookie), ("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:1")]);
        assert!(sessions.of(&own, "lazuli-1").is_some());
        assert!(sessions.of(&own, "lazuli-2").is_none());
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let foreign = headers(&[("cookie", &cookie), ("host", "127.0.0.1:1"), (name, value)]);
            assert!(sessions.of(&foreign, "lazuli-1").is_none(), "{name}: {value}");
        }
        assert!(!session.has_csrf(&own));
        assert!(session.has_csrf(&headers(&[(CSRF, &session.csrf)])));
        assert!(!session.has_csrf(&headers(&[(CSRF, &session.id)])));
        tokio::time::advance(IDLE - Duration::from_secs(1)).await;
        assert!(sessions.of(&own, "lazuli-1").is_some(), "each request keeps it");
        tokio::time::advance(IDLE + Duration::from_secs(1)).await;
        assert!(sessions.of(&own, "lazuli-1").is_none());
        let session = sessions.begin(Credential::None, true).unwrap();
        sessions.end(&session.id);
        assert!(!sessions.is_on(&session.id));
    }

    #[tokio::test]
    async fn signatures_that_nobody_has_looked_at_keep_nobody_out() {
        let sessions = Sessions::default();
        let sas = || Credential::Sas { account: "a".into(), query: "sig=none".into() };
        let mine = sessions.begin(sas(), false).unwrap();
        let own = headers(&[("cookie", &format!("c={}", mine.id))]);
        for _ in 0..2 * SESSIONS_MAX {
            assert!(sessions.begin(sas(), false).is_some());
        }
        let operator = sessions.begin(Credential::None, true).expect("one of them makes room");
        assert!(sessions.is_on(&operator.id) && sessions.of(&own, "c").is_none());
        assert_eq!(sessions.by_id.lock().unwrap().len(), SESSIONS_MAX);
        for _ in 0..SESSIONS_MAX {
            sessions.begin(Credential::None, true);
        }
        assert!(sessions.begin(sas(), false).is_none() && sessions.is_on(&operator.id));
    }

    #[tokio::test]
    async fn an_operator_gets_another_session() {
        let sessions = Sessions::default();
        let planted = sessions.begin(Credential::Sas { account: "a".into(), query: "sig=x".into() }, false).unwrap();
        let raised = sessions.raise(&planted.id).unwrap();
        assert!(raised.operator && raised.id != planted.id && raised.csrf != planted.csrf);
        assert!(!sessions.is_on(&planted.id) && sessions.is_on(&raised.id));
        assert_eq!(raised.ends, planted.ends);
        assert!(sessions.raise(&planted.id).is_none());
    }

    #[tokio::test]
    async fn there_are_so_many_and_no_more() {
        let sessions = Sessions::default();
        let begun = (0..SESSIONS_MAX + 5).filter(|_| sessions.begin(Credential::None, false).is_some()).count();
        assert_eq!(begun, SESSIONS_MAX);
    }
}
