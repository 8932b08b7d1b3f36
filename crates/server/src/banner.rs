//! What a person sees at the start: where it listens, where data lives, and a connection string to copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::settings::{DEVELOPMENT_KEY, Place, Settings};

/// `services` are their names, as connection strings have them, and where they listen.
pub fn text(settings: &Settings, services: &[(&str, SocketAddr)], web: SocketAddr, console: SocketAddr) -> String {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let mut lines = vec![format!("Lazuli {}", env!("CARGO_PKG_VERSION")), String::new()];
    for (name, _) in &settings.account_names {
        for (service, at) in services {
            lines.push(format!("  {service:<9} {scheme}://{}/{}", reachable(*at), name.as_str()));
        }
        lines.push(format!("  Website   {scheme}://{}/{}  (once it is enabled)", reachable(web), name.as_str()));
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
        let endpoint =
            |(service, at): &(&str, SocketAddr)| format!("{service}Endpoint={scheme}://{}/{name};", reachable(*at));
        let endpoints: String = services.iter().map(endpoint).collect();
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
