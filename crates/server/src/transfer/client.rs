//! A small client of the Blob service, of any endpoint that speaks it: connections that are used again, signatures, retries. Held true: what it sends
//! can be sent again (a block, a range, a list), so a lost answer is asked for again; and no answer is longer than what was asked for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use lazuli_http::{Accounts, Service};
use lazuli_model::AccountName;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::place::{Credential, Remote};
use crate::api::loopback;
use crate::fetch;

const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any range or page that is asked for.
const ANSWER_MAX: usize = 64 << 20;

pub struct Client {
    pub remote: Remote,
    /// One account with the key, if there is one.
    keys: Accounts,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

/// What is asked for, below the account.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub method: &'static str,
    /// Encoded, without a slash at its beginning.
    pub path: String,
    pub query: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What the service says is wrong.
    pub fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        let message = text.split("<Message>").nth(1).and_then(|rest| rest.split(['\n', '<']).next());
        let code = self.header("x-ms-error-code").unwrap_or("no code");
        format!("{} {code} {}", self.status, message.unwrap_or_default())
    }
}

impl Client {
    pub fn new(remote: Remote) -> Result<Self, String> {
        let mut keys = Accounts::new();
        if let Credential::Key(key) = &remote.credential {
            let name = AccountName::parse(&remote.account).map_err(|_| format!("{}: no account", remote.account))?;
            keys.add(name, &[key]).map_err(|bad| bad.to_string())?;
        }
        Ok(Self { remote, keys, idle: Mutex::default() })
    }

    /// The answer, after as many tries as it takes, within reason. One that is not a success is an error, except those in `also`.
    pub async fn ask(&self, ask: &Ask, also: &[u16]) -> Result<Answer, String> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            tries += 1;
            let answer =
                timeout(PATIENCE, self.once(ask)).await.unwrap_or_else(|_| Err("no answer in a minute".into()));
            match answer {
                Ok(answer) if (200..300).contains(&answer.status) || also.contains(&answer.status) => {
                    return Ok(answer);
                }
                Ok(answer) if !matches!(answer.status, 408 | 429 | 500..) || tries == TRIES => {
                    return Err(format!("{} {}: {}", ask.method, ask.path, answer.complaint()));
                }
                Err(why) if tries == TRIES => return Err(format!("{}: {why}", self.remote.authority)),
                Ok(_) | Err(_) => {}
            }
            let _ = timeout(pause, std::future::pending::<()>()).await;
            pause *= 2;
        }
    }

    /// One try, for measurements.
    pub async fn ask_once(&self, ask: &Ask) -> Result<Answer, String> {
        self.once(ask).await
    }

    async fn once(&self, ask: &Ask) -> Result<Answer, String> {
        let request = self.request(ask)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sender = match idle {
            Some(sender) if sender.is_ready() => sender,
            Some(_) | None => self.connect().await?,
        };
        let answer: Response<Incoming> = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await.map_err(|error| error.to_string())?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Ok(Answer { status, headers, body: body.to_bytes() })
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, String> {
        let query = match &self.remote.credential {
            Credential::Sas(sas) if ask.query.is_empty() => sas.clone(),
            Credential::Sas(sas) => format!("{}&{sas}", ask.query),
            Credential::Key(_) | Credential::Token(_) | Credential::Anonymous => ask.query.clone(),
        };
        let path = format!("{}/{}", self.remote.base, ask.path);
        let uri = if query.is_empty() { path } else { format!("{path}?{query}") };
        let mut request = Request::builder()
            .method(ask.method)
            .uri(uri)
            .header(HOST, &self.remote.authority)
            .header(USER_AGENT, concat!("lazuli/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_LENGTH, ask.body.len());
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(Full::new(ask.body.clone())).map_err(|error| error.to_string())?;
        // One that clouds and emulators of the last years know.
        request.headers_mut().insert("x-ms-version", HeaderValue::from_static("2021-12-02"));
        match &self.remote.credential {
            Credential::Key(_) => {
                let account = self.keys.get(&self.remote.account).ok_or("no key")?;
                loopback::sign(Service::Blob, &account, &mut request)?;
            }
            Credential::Token(token) => {
                loopback::date(&mut request);
                let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|error| error.to_string())?;
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            Credential::Sas(_) | Credential::Anonymous => loopback::date(&mut request),
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let (host, port) = self.remote.host_and_port();
        let socket = TcpStream::connect((host.as_str(), port)).await.map_err(|error| error.to_string())?;
        let _ = socket.set_nodelay(true);
        if !self.remote.secure {
            return shake_hands(socket).await;
        }
        let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
        shake_hands(fetch::connector().connect(name, socket).await.map_err(|error| error.to_string())?).await
    }
}

async fn shake_hands<I>(socket: I) -> Result<SendRequest<Full<Bytes>>, String>
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(socket)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}
