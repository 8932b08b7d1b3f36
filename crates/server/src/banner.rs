//! What a person sees at the start: where it listens, where data lives, and a connection string to copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use lazuli_http::Service;

use crate::listen::Door;
use crate::settings::{DEVELOPMENT_KEY, LAKE_ACCOUNT, Place, Settings};

/// Where something listens.
pub struct Listening {
    pub at: SocketAddr,
    /// The port that it has not got, because something else has it.
    pub moved_from: Option<u16>,
}

pub fn text(settings: &Settings, services: &[(Door, Listening)], console: &Listening) -> String {
    let scheme = settings.scheme();
    let mut lines = vec![format!("Lazuli {}", env!("CARGO_PKG_VERSION")), String::new()];
    for (name, _) in &settings.account_names {
        for (door, listening) in services.iter().filter(|(door, _)| shows(name.as_str(), *door)) {
            let (at, note) = (reachable(listening.at), note(*door, listening));
            if *door == Door::Smb {
                let (ip, port, name) = (at.ip(), at.port(), name.as_str());
                lines.push(format!("  {:<9} smbclient -p {port} -U {name} //{ip}/SHARE{note}", door.name()));
                continue;
            }
            lines.push(format!("  {:<9} {scheme}://{at}/{}{note}", door.name(), name.as_str()));
        }
    }
    let (at, moved) = (reachable(console.at), moved(console));
    lines.push(format!("  Console   http://{at}  (/healthz, /readyz, /metrics, /api{moved})"));
    lines.push(match &settings.place {
        Place::Memory => "  Data      in memory; nothing is left after a stop".to_string(),
        Place::Directory(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            format!("  Data      {}", path.display())
        }
        Place::Cluster(cluster) => {
            format!("  Data      Ceph pool {} ({})", cluster.pool, cluster.configuration.display())
        }
    });
    lines.push(String::new());
    for (name, public) in &settings.account_names {
        let name = name.as_str();
        // Only the key that everybody knows is shown.
        let key = if *public { DEVELOPMENT_KEY } else { "<your key>" };
        let endpoint = |(door, listening): &(Door, Listening)| match door {
            Door::Api(Service::Blob | Service::Queue | Service::Table | Service::File) => {
                format!("{}Endpoint={scheme}://{}/{name};", door.name(), reachable(listening.at))
            }
            Door::Api(Service::Dfs) if name == LAKE_ACCOUNT => {
                format!("DfsEndpoint={scheme}://{}/{name};", reachable(listening.at))
            }
            // Connection strings have no word for them.
            Door::Api(Service::Dfs) | Door::Website | Door::Smb => String::new(),
        };
        let endpoints: String = services.iter().filter(|(door, _)| shows(name, *door)).map(endpoint).collect();
        lines.push(format!("DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};{endpoints}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The account for lake tools is shown where they look for it.
fn shows(account: &str, door: Door) -> bool {
    account != LAKE_ACCOUNT || matches!(door, Door::Api(Service::Blob | Service::Dfs))
}

fn note(door: Door, listening: &Listening) -> String {
    let about = match door {
        Door::Website => "once it is enabled",
        Door::Smb => "the password is the account's key",
        Door::Api(Service::Dfs) => "also on the Blob endpoint",
        Door::Api(Service::Blob | Service::Queue | Service::Table | Service::File) => "",
    };
    match (about, moved(listening)) {
        ("", moved) if moved.is_empty() => String::new(),
        ("", moved) => format!("  ({})", moved.trim_start_matches(", ")),
        (about, moved) => format!("  ({about}{moved})"),
    }
}

fn moved(listening: &Listening) -> String {
    listening.moved_from.map_or_else(String::new, |port| format!(", {port} is taken"))
}

/// Nobody can connect to "every interface"; on this machine, loopback is one of them.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        ip => SocketAddr::new(ip, address.port()),
    }
}
