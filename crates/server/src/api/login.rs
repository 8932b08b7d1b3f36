//! Log in and out. A key, a SAS or a token is tried against the services before it counts.

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Method, Request, StatusCode};
use lazuli_http::{Accounts, Query, Service};
use lazuli_model::AccountName;
use serde::Deserialize;

use super::session::{Credential, LIFE, Session, is_own};
use super::{Answer, Caller, Refused, Told, body, document, empty, json};
use crate::console::Console;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogIn {
    account: Option<String>,
    key: Option<String>,
    sas: Option<String>,
    token: Option<String>,
    operator: Option<String>,
}

impl Console {
    pub(super) async fn log_in(&self, request: Request<Incoming>, peer: IpAddr, own: IpAddr) -> Told {
        if !is_own(request.headers()) {
            return Err(Refused::forbidden("log in from the console's own page"));
        }
        let ask: LogIn = document(request).await?;
        if let Some(token) = &ask.operator {
            self.permit_operator(token, peer, own)?;
            return self.begin(Credential::None, true);
        }
        let credential = self.credential(ask)?;
        self.try_out(&credential, peer).await?;
        self.begin(credential, false)
    }

    fn permit_operator(&self, token: &str, peer: IpAddr, own: IpAddr) -> Result<(), Refused> {
        match self.admin.admits(Some(&format!("Bearer {token}")), peer, own) {
            true => Ok(()),
            false => Err(Refused::forbidden("this is not the operator's token, or not this machine")),
        }
    }

    fn credential(&self, ask: LogIn) -> Result<Credential, Refused> {
        let account = || {
            let name = ask.account.clone().ok_or_else(|| Refused::bad("name the account"))?;
            AccountName::parse(&name).map_err(|_| Refused::bad("this is no name of an account"))
        };
        match (&ask.key, &ask.sas, &ask.token) {
            (Some(key), None, None) => {
                let mut accounts = Accounts::new();
                let name = account()?;
                accounts.add(name.clone(), &[key.trim()]).map_err(|bad| Refused::bad(bad.to_string()))?;
                Ok(Credential::Key(accounts.get(name.as_str()).ok_or_else(|| Refused::bad("no such account"))?))
            }
            (None, Some(sas), None) => {
                let (path, query) = sas.split_once('?').map_or(("", sas.as_str()), |(url, query)| (url, query));
                let of_url = path.split_once("://").and_then(|(_, rest)| rest.split('/').nth(1)).map(str::to_owned);
                let account = match (&ask.account, of_url) {
                    (None, Some(account)) => account,
                    _ => account()?.as_str().to_owned(),
                };
                let query = query.trim_start_matches('?').to_owned();
                let fields = Query::parse(&query).map_err(|_| Refused::bad("this is no query"))?;
                if fields.get("sig").is_none() || query.contains(['\r', '\n', ' ', '#']) {
                    return Err(Refused::bad("a SAS is a query with sv, sp, se and sig"));
                }
                Ok(Credential::Sas { account, query })
            }
            (None, None, Some(token)) => {
                let fits = token.bytes().all(|byte| byte.is_ascii_graphic());
                let token = Some(token.clone()).filter(|_| fits).ok_or_else(|| Refused::bad("this is no token"))?;
                Ok(Credential::Token { account: account()?.as_str().to_owned(), token })
            }
            _ => Err(Refused::bad("give one of key, sas, token and operator")),
        }
    }

    /// Whether the services know the credential. What it may do there is another question: 403 for want of a right will do.
    async fn try_out(&self, credential: &Credential, peer: IpAddr) -> Result<(), Refused> {
        let account = credential.account().unwrap_or_default().to_owned();
        self.edge.accounts().learn(&account, &self.data.store).await.map_err(|_| unavailable())?;
        if self.edge.accounts().get(&account).is_none() {
            return Err(Refused::forbidden(format!("there is no account {account} here")));
        }
        if matches!(credential, Credential::Sas { .. }) {
            return Ok(()); // what it is for is not known; it is judged at each request
        }
        let request = Request::get(format!("/{account}?restype=service&comp=properties"));
        let request = request.header("host", "localhost").body(body("")).map_err(|_| unavailable())?;
        let answer = self.ask_service(credential, Service::Blob, request, peer).await?;
        let code = answer.headers().get("x-ms-error-code").and_then(|code| code.to_str().ok()).unwrap_or_default();
        match (answer.status().as_u16(), code) {
            (200..300, _) | (_, "AuthorizationPermissionMismatch") => Ok(()),
            (_, code) => Err(Refused::forbidden(format!("the service does not accept this: {code}"))),
        }
    }

    fn begin(&self, credential: Credential, operator: bool) -> Told {
        let session = self.sessions.begin(credential, operator).ok_or_else(|| {
            Refused::new(StatusCode::TOO_MANY_REQUESTS, "TooMany", "too many sessions; log out somewhere, or wait")
        })?;
        Ok(self.told_to_the_browser(&session))
    }

    fn told_to_the_browser(&self, session: &Session) -> Answer {
        let mut answer = self.describe(session);
        let seconds = LIFE.as_secs();
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}", self.cookie, session.id);
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            answer.headers_mut().insert(SET_COOKIE, cookie);
        }
        answer
    }

    fn describe(&self, session: &Session) -> Answer {
        let left = session.ends.saturating_duration_since(tokio::time::Instant::now()).as_secs();
        let sas = match &session.credential {
            Credential::Sas { query, .. } => Query::parse(query).ok(),
            Credential::None | Credential::Key(_) | Credential::Token { .. } => None,
        };
        let sas = sas.map(|sas| {
            let field = |name: &str| sas.get(name).map(str::to_owned);
            serde_json::json!({
                "services": field("ss"), "resource": field("sr"), "permissions": field("sp"), "start": field("st"),
                "expiry": field("se"), "policy": field("si"), "version": field("sv"),
            })
        });
        json(&serde_json::json!({
            "kind": session.credential.kind(),
            "account": session.credential.account(),
            "operator": session.operator,
            "csrf": session.csrf,
            "expires": crate::clock::machine().plus_seconds(left).to_iso(),
            "sas": sas,
        }))
    }

    pub(super) async fn of_session(
        &self,
        caller: &Caller,
        request: Request<Incoming>,
        peer: IpAddr,
        own: IpAddr,
    ) -> Told {
        let Caller::Session(session) = caller else { return Err(Refused::bad("the operator's token is no session")) };
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/api/session") => Ok(self.describe(session)),
            (&Method::DELETE, "/api/session") => {
                self.sessions.end(&session.id);
                let mut answer = empty(StatusCode::NO_CONTENT);
                let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", self.cookie);
                if let Ok(cookie) = HeaderValue::try_from(cookie) {
                    answer.headers_mut().insert(SET_COOKIE, cookie);
                }
                Ok(answer)
            }
            (&Method::POST, "/api/session/operator") => {
                let ask: LogIn = document(request).await?;
                self.permit_operator(ask.operator.as_deref().unwrap_or_default(), peer, own)?;
                let raised = self.sessions.raise(&session.id).ok_or_else(Refused::no_session)?;
                Ok(self.told_to_the_browser(&raised))
            }
            _ => Err(Refused::not_found()),
        }
    }
}

fn unavailable() -> Refused {
    Refused::new(StatusCode::SERVICE_UNAVAILABLE, "Unavailable", "the service did not answer; try again")
}
