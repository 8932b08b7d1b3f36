//! Where copies may come from: this server, under the addresses at which it listens, and the hosts that the operator names, for all
//! accounts or for one (its setting `copy-sources`).

use std::net::SocketAddr;

use lazuli_http::Service;
use lazuli_http::sources::Sources;

use crate::fetch::dial;

/// `listening` are the addresses at which there is something to copy; `allowed` is what `--copy-source` says.
pub fn sources(listening: &[(SocketAddr, Service)], allowed: &[String]) -> Sources {
    let own = listening.iter().flat_map(|(at, service)| {
        let names = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{}", at.port()));
        names.into_iter().chain([at.to_string()]).map(|name| (name, *service))
    });
    // An account may name hosts of its own, at any time.
    Sources::new(own.collect(), allowed.to_vec(), Some(dial()))
}
