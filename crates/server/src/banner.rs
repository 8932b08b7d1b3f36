//! What a person sees at the start: where it listens, where data lives, and a connection string to copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::settings::{DEVELOPMENT_KEY, Place, Settings};

/// Where each service came to listen.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    pub blob: SocketAddr,
    pub queue: SocketAddr,
    pub file: SocketAddr,
    pub console: SocketAddr,
}

pub fn text(settings: &Settings, at: Listening) -> String {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let services = [("Blob", at.blob), ("Queue", at.queue), ("File", at.file)];
    let services = services.map(|(service, address)| (service, reachable(address)));
    let mut lines = vec![format!("Lazuli {}", env!("CARGO_PKG_VERSION")), String::new()];
    for (name, _) in &settings.account_names {
        for (service, address) in services {
            lines.push(format!("  {service:<9} {scheme}://{address}/{name}", name = name.as_str()));
        }
    }
    lines.push(format!("  Console   http://{}  (/healthz, /metrics)", reachable(at.console)));
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
        let endpoint =
            |(service, address): (&str, SocketAddr)| format!("{service}Endpoint={scheme}://{address}/{name};");
        let endpoints: String = services.map(endpoint).concat();
        lines.push(format!("DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};{endpoints}"));
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
