//! What a person sees at the start: where it listens, where data lives, and a connection string to copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::settings::{DEVELOPMENT_KEY, Place, Settings};

pub fn text(settings: &Settings, blob: SocketAddr, queue: SocketAddr, console: SocketAddr) -> String {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let (blob, queue) = (reachable(blob), reachable(queue));
    let mut lines = vec![format!("Lazuli {}", env!("CARGO_PKG_VERSION")), String::new()];
    for (name, _) in &settings.account_names {
        lines.push(format!("  Blob      {scheme}://{blob}/{name}", name = name.as_str()));
        lines.push(format!("  Queue     {scheme}://{queue}/{name}", name = name.as_str()));
    }
    lines.push(format!("  Console   http://{}  (/healthz, /metrics)", reachable(console)));
    lines.push(match &settings.place {
        Place::Memory => "  Data      in memory; nothing is left after a stop".to_string(),
        Place::Directory(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            format!("  Data      {}", path.display())
        }
    });
    lines.push(String::new());
    for (name, public) in &settings.account_names {
        let name = name.as_str();
        // Only the key that everybody knows is shown.
        let key = if *public { DEVELOPMENT_KEY } else { "<your key>" };
        lines.push(format!(
            "DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};BlobEndpoint={scheme}://{blob}/{name};QueueEndpoint={scheme}://{queue}/{name};"
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Nobody can connect to "every interface"; on this machine, loopback is one of them.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        ip => SocketAddr::new(ip, address.port()),
    }
}
