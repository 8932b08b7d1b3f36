//! The one HTTP client: a connection, a request, an answer. For the sources of copies and the keys of token issuers; how a connection is made
//! is handed in, since only `server` knows of TLS.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection to another host.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

type Dialling = std::pin::Pin<Box<dyn Future<Output = std::io::Result<Box<dyn Wire>>> + Send>>;

/// Connects to a host and a port, with TLS or without.
pub type Dial = Arc<dyn Fn(String, u16, bool) -> Dialling + Send + Sync>;

/// Sends a request to the host of `uri`. The connection lives as long as the answer's body is read.
pub async fn exchange(dial: &Dial, uri: &Uri, request: Request<Empty<Bytes>>) -> Result<Response<Incoming>, String> {
    let secure = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let wire = dial(host, port, secure).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(wire)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| error.to_string())
}
