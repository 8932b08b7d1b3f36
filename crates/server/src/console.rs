//! The console port: `/healthz`, `/readyz` and `/metrics`, for monitoring; `/account`, for commands of those who
//! may read the data directory (`admin.rs`); and `/api/` and `/data/`, for the console's page, the lab and its tests (`api`). Held true: it answers only to addresses, to localhost and to names that the operator
//! gave. A page in a browser can make a name of its own point here, and would otherwise read what is answered (DNS rebinding).

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use lazuli_http::Edge;
use lazuli_model::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::account::{self, Ask};
use crate::admin::{self, Admin};
use crate::api::loopback::Loopback;
use crate::api::session::Sessions;
use crate::api::{self, Answer};
use crate::crowd::Crowd;
use crate::data::Data;
use crate::lab::Lab;
use crate::listen::{Door, stopped};
use crate::tail::Tail;
use crate::{assets, health, metrics};

const HEADER_READ: Duration = Duration::from_secs(10);
const CONNECTIONS_MAX: usize = 64;
/// How long a connection has to have been quiet to make room for others: probes must not wait.
const QUIET: Duration = Duration::from_millis(500);

pub struct Console {
    pub edge: Arc<Edge>,
    pub smb: Arc<lazuli_smb::serve::Gateway>,
    pub data: Arc<Data>,
    pub admin: Admin,
    /// Names that it answers to, besides addresses and localhost.
    pub names: Vec<String>,
    pub connections: Connections,
    /// Whether a stop has begun.
    pub stopping: watch::Receiver<bool>,
    pub started: Instant,
    pub started_at: Timestamp,
    pub sessions: Arc<Sessions>,
    /// What the session's cookie is called. With the port in it: cookies do not tell servers of one host apart.
    pub cookie: String,
    pub loopback: Loopback,
    pub lab: Option<Arc<Lab>>,
    /// Where the services are, for clients.
    pub endpoints: Vec<(Door, String)>,
    /// Where data is.
    pub place: String,
    pub log: Tail,
}

/// How many there are.
pub struct Connections {
    slots: Arc<Semaphore>,
    in_all: usize,
    /// Each holds one slot ready for the next connection.
    listeners: usize,
}

impl Connections {
    /// `slots` are those of the listeners: what is taken of them is what is connected.
    pub fn new(slots: Arc<Semaphore>, listeners: usize) -> Self {
        Self { in_all: slots.available_permits(), slots, listeners }
    }

    pub fn count(&self) -> usize {
        self.in_all.saturating_sub(self.slots.available_permits() + self.listeners)
    }
}

impl Console {
    /// Serves until the end, also while the server stops: its load balancer asks whether it does. Probes are short: those under way
    /// are simply dropped.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let own_ip = listener.local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |address| address.ip());
        let crowd = Crowd::new(CONNECTIONS_MAX, QUIET);
        loop {
            let Some(slot) = crowd.free().await else { return };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stop) => return,
            };
            let Ok((socket, peer)) = accepted else {
                let _ = tokio::time::timeout(Duration::from_millis(50), stopped(&mut stop)).await;
                continue;
            };
            let console = self.clone();
            let mut stop = stop.clone();
            let place = crowd.seat(slot);
            tokio::spawn(async move {
                let answering = service_fn(|request| console.answer(request, peer.ip(), own_ip));
                let mut http = http1::Builder::new();
                let http = http.timer(TokioTimer::new()).header_read_timeout(HEADER_READ);
                tokio::select! {
                    _ = http.serve_connection(TokioIo::new(place.watch(socket)), answering) => {}
                    () = place.leaves() => {}
                    () = stopped(&mut stop) => {}
                }
            });
        }
    }

    async fn answer(&self, request: Request<Incoming>, peer: IpAddr, own: IpAddr) -> Result<Answer, Infallible> {
        let plain =
            |answer: Response<Full<Bytes>>| answer.map(|body| body.map_err(|never| match never {}).boxed_unsync());
        if api::is_ours(request.uri().path()) && self.is_for_us(&request) {
            return Ok(self.answer_api(request, peer, own).await);
        }
        self.answer_plain(request, peer, own).await.map(plain)
    }

    /// Whether the request names this server, and not a name that somebody made point here.
    fn is_for_us(&self, request: &Request<Incoming>) -> bool {
        let host = request.headers().get(HOST).map(|host| host.to_str().unwrap_or("?"));
        let host = request.uri().authority().map(|authority| authority.as_str()).or(host);
        host.is_none_or(|host| is_known(host, &self.names))
    }

    async fn answer_plain(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
        own: IpAddr,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        if !self.is_for_us(&request) {
            return Ok(text(StatusCode::MISDIRECTED_REQUEST, MISDIRECTED));
        }
        if request.method() == Method::POST && request.uri().path() == admin::PATH {
            return Ok(self.command(request, peer, own).await);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n"));
        }
        Ok(match request.uri().path() {
            // That this is answered is all there is to say.
            "/healthz" => text(StatusCode::OK, "ok\n"),
            "/readyz" => self.readiness().await,
            "/metrics" => text(StatusCode::OK, self.report().await),
            path => assets::answer(path, request.headers()).unwrap_or_else(|| {
                text(StatusCode::NOT_FOUND, "there are /, for people; and /healthz, /readyz and /metrics\n")
            }),
        })
    }

    async fn readiness(&self) -> Response<Full<Bytes>> {
        let stopping = *self.stopping.borrow();
        let health = health::check(&self.data, stopping).await;
        let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let body = serde_json::to_string_pretty(&health).unwrap_or_default();
        let mut response = text(status, body + "\n");
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    /// A command of `lazuli account`.
    async fn command(&self, request: Request<Incoming>, peer: IpAddr, own: IpAddr) -> Response<Full<Bytes>> {
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if !self.admin.admits(header, peer, own) {
            return text(StatusCode::FORBIDDEN, "the token is in the data directory, and good on this machine only\n");
        }
        let body = Limited::new(request.into_body(), admin::MOST_BYTES).collect().await;
        let ask = body.ok().and_then(|body| serde_json::from_slice::<Ask>(&body.to_bytes()).ok());
        let Some(ask) = ask else { return text(StatusCode::BAD_REQUEST, "this is no command\n") };
        let configured = |name: &str| self.edge.accounts().configured(name);
        match account::carry_out(&ask, &self.data.store, configured).await {
            Ok(said) => text(StatusCode::OK, said),
            Err(why) => text(StatusCode::BAD_REQUEST, why),
        }
    }

    async fn report(&self) -> String {
        let probe = health::look(&self.data).await;
        let requests: Vec<_> = self.edge.metrics().read().collect();
        metrics::render(&metrics::Report {
            requests: &requests,
            smb: Some(&self.smb),
            data: &self.data,
            probe,
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            connections: self.connections.count(),
            lab: self.lab.as_ref().map(|lab| lab.fired()),
            recorder: self.edge.recorder().map(|recorder| recorder.fill()),
        })
    }
}

const MISDIRECTED: &str =
    "the console answers to addresses and to localhost; allow this name with --console-name NAME\n";

/// Whether `host` (of a request, with or without a port) is an address, localhost, or one of `names`.
fn is_known(host: &str, names: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let is_address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<Ipv4Addr>().is_ok(),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    is_address || name.eq_ignore_ascii_case("localhost") || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L6: a name that somebody made point here is not answered.
    #[test]
    fn only_addresses_and_known_names_are_answered() {
        let names = ["lazuli.internal".to_owned()];
        for (host, known) in [
            ("127.0.0.1:10080", true),
            ("10.1.2.3", true),
            ("[::1]:10080", true),
            ("localhost", true),
            ("LOCALHOST:10080", true),
            ("Lazuli.Internal:10080", true),
            ("lazuli.internal.", true),
            ("evil.example", false),
            ("evil.example:10080", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("evil.localhost.example:80", false),
            ("[evil]", false),
            ("::1", false),
            ("", false),
            ("?", false),
        ] {
            assert_eq!(is_known(host, &names), known, "{host}");
        }
    }
}
