//! The console port: `/healthz` and `/metrics`, for whoever watches over the server; and `/account`, for commands of those who
//! may read the data directory (`admin.rs`).

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use lazuli_http::Edge;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::account::{self, Ask};
use crate::admin::{self, Admin};
use crate::data::Data;
use crate::listen::stopped;
use crate::metrics;

const HEADER_READ: Duration = Duration::from_secs(10);
const CONNECTIONS_MAX: usize = 64;
/// Of the services, and of websites.
const LISTENERS: usize = 5;

pub struct Console {
    edge: Arc<Edge>,
    data: Arc<Data>,
    slots: Arc<Semaphore>,
    slots_in_all: usize,
    started: Instant,
    admin: Admin,
}

impl Console {
    /// `slots` are those of the listeners: what is taken of them is what is connected.
    #[expect(clippy::disallowed_methods, reason = "uptime, which nothing depends on")]
    pub fn new(edge: Arc<Edge>, data: Arc<Data>, slots: Arc<Semaphore>, admin: Admin) -> Arc<Self> {
        let slots_in_all = slots.available_permits();
        Arc::new(Self { edge, data, slots, slots_in_all, started: Instant::now(), admin })
    }

    /// Serves until the stop. Probes are short: those under way are simply dropped.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let own_ip = listener.local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |address| address.ip());
        let own = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok(slot) = own.clone().acquire_owned().await else { return };
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
            tokio::spawn(async move {
                let answering = service_fn(|request| console.answer(request, peer.ip(), own_ip));
                let mut http = http1::Builder::new();
                let http = http.timer(TokioTimer::new()).header_read_timeout(HEADER_READ);
                tokio::select! {
                    _ = http.serve_connection(TokioIo::new(socket), answering) => {}
                    () = stopped(&mut stop) => {}
                }
                drop(slot);
            });
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
        own: IpAddr,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        if request.method() == Method::POST && request.uri().path() == admin::PATH {
            return Ok(self.command(request, peer, own).await);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n"));
        }
        Ok(match request.uri().path() {
            "/healthz" => match self.data.healthy().await {
                Ok(()) => text(StatusCode::OK, "ok\n"),
                Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not healthy: {why}\n")),
            },
            "/metrics" => text(StatusCode::OK, self.report()),
            "/" => text(StatusCode::OK, "Lazuli. /healthz says whether it works, /metrics what it does.\n"),
            _ => text(StatusCode::NOT_FOUND, "there are /healthz and /metrics\n"),
        })
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

    fn report(&self) -> String {
        let requests: Vec<_> = self.edge.metrics().read().collect();
        metrics::render(&metrics::Report {
            requests: &requests,
            data: &self.data,
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            // Each listener holds one slot ready for the next connection.
            connections: self.slots_in_all.saturating_sub(self.slots.available_permits() + LISTENERS),
        })
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}
