//! The services as a client inside the process asks them: over a pipe, with the same heads, signatures and rules as over a socket. For
//! the console's data plane and for the lab's rivals.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use lazuli_engine::clock::system_time;
use lazuli_http::accounts::Account;
use lazuli_http::auth;
use lazuli_http::head::Arrival;
use lazuli_http::{Edge, Head, Service};
use lazuli_model::{Timestamp, Version};
use tokio::sync::watch;

/// What a pipe holds each way.
const PIPE_BYTES: usize = 256 << 10;

#[derive(Clone)]
pub struct Loopback {
    edge: Arc<Edge>,
    stop: watch::Receiver<bool>,
}

impl Loopback {
    pub fn new(edge: Arc<Edge>, stop: watch::Receiver<bool>) -> Self {
        Self { edge, stop }
    }

    /// Sends `request` as if it came from `peer`. Its body and that of the answer are streamed.
    pub async fn send<B>(&self, service: Service, peer: IpAddr, secure: bool, request: Request<B>) -> Answered
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let (edge, stop) = (self.edge.clone(), self.stop.clone());
        tokio::spawn(async move { edge.serve(far, SocketAddr::new(peer, 0), service, secure, stop).await });
        let (mut sender, connection) = http1::handshake(TokioIo::new(near)).await.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|error| error.to_string())
    }

    /// The same, signed with a key of `account`.
    pub async fn send_signed<B>(
        &self,
        service: Service,
        peer: IpAddr,
        account: &Account,
        mut request: Request<B>,
    ) -> Answered
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        sign(service, account, &mut request)?;
        self.send(service, peer, false, request).await
    }
}

pub type Answered = Result<Response<Incoming>, String>;

const DATE: HeaderName = HeaderName::from_static("x-ms-date");
const VERSION: HeaderName = HeaderName::from_static("x-ms-version");

/// Dates the request, and signs it.
pub fn sign<B>(service: Service, account: &Account, request: &mut Request<B>) -> Result<(), String> {
    date(request);
    let head = head(service, request)?;
    let signed = auth::sign_request(&head, account).map_err(|refusal| format!("{refusal:?}"))?;
    let value = HeaderValue::try_from(signed).map_err(|error| error.to_string())?;
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// The machine's date, and the newest version unless another is asked for.
pub fn date<B>(request: &mut Request<B>) {
    let now = Timestamp::from_ticks(system_time().0).to_http();
    let headers = request.headers_mut();
    headers.insert(DATE, HeaderValue::try_from(now).expect("a date is a header's value"));
    if !headers.contains_key(VERSION) {
        let newest = HeaderValue::try_from(Version::NEWEST.to_string()).expect("a version is a header's value");
        headers.insert(VERSION, newest);
    }
}

/// As the service will read it.
pub fn head<B>(service: Service, request: &Request<B>) -> Result<Head, String> {
    let mut parts = Request::new(()).into_parts().0;
    (parts.method, parts.uri, parts.headers) =
        (request.method().clone(), request.uri().clone(), request.headers().clone());
    let now = Timestamp::from_ticks(system_time().0);
    let arrival = Arrival {
        service,
        secure: false,
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        now,
        wall: now,
        request_id: 0,
        loose: false,
    };
    Head::read(parts, arrival).map_err(|refusal| format!("{refusal:?}"))
}
