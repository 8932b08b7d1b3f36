//! A small GET over HTTPS, or over HTTP from this machine: for the keys of token issuers. Bounded in size and time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Request, Uri};
use lazuli_http::client::{Dial, Wire, exchange};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

const MOST_BYTES: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(15);

/// Whether the URL is one that may be fetched: others could read and change what goes by in the clear.
pub fn check(url: &str) -> Result<(), String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is no URL"))?;
    let host = uri.host().unwrap_or_default();
    let local =
        host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if local => Ok(()),
        _ => Err(format!("{url}: keys are fetched over https, or over http from this machine")),
    }
}

pub async fn get(url: &str) -> Result<Vec<u8>, String> {
    check(url)?;
    timeout(PATIENCE, fetch(url)).await.map_err(|_| format!("{url} did not answer in {} s", PATIENCE.as_secs()))?
}

async fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is no URL"))?;
    let failed = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header("host", uri.authority().map_or("", |authority| authority.as_str()))
        .header("accept", "application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|error| failed(&error))?;
    let answer = exchange(&dial(), &uri, request).await.map_err(|error| failed(&error))?;
    if !answer.status().is_success() {
        return Err(failed(&format!("it answered {}", answer.status())));
    }
    let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await.map_err(|error| failed(&error))?;
    Ok(body.to_bytes().to_vec())
}

/// Connects to another host.
pub fn dial() -> Dial {
    Arc::new(|host, port, secure| {
        Box::pin(async move {
            let socket = TcpStream::connect((host.as_str(), port)).await?;
            if !secure {
                return Ok(Box::new(socket) as Box<dyn Wire>);
            }
            let name = ServerName::try_from(host).map_err(std::io::Error::other)?;
            Ok(Box::new(connector().connect(name, socket).await?) as Box<dyn Wire>)
        })
    })
}

/// Trusts whom the operating system trusts.
pub fn connector() -> TlsConnector {
    static CONFIGURATION: OnceLock<Arc<rustls::ClientConfig>> = OnceLock::new();
    let configuration = CONFIGURATION.get_or_init(|| {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("ring has the default versions of TLS");
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    });
    TlsConnector::from(configuration.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_changed_on_the_way() {
        for (url, good) in [
            ("https://login.example/keys", true),
            ("http://127.0.0.1:8080/keys", true),
            ("http://localhost/keys", true),
            ("http://[::1]/keys", true),
            ("http://login.example/keys", false),
            ("ftp://127.0.0.1/keys", false),
            ("keys.json", false),
        ] {
            assert_eq!(check(url).is_ok(), good, "{url}");
        }
    }
}
