//! Where copies may come from: this server, under the addresses at which it listens or is reached, and the hosts that the operator names, for all
//! accounts or for one (its setting `copy-sources`).

use std::net::SocketAddr;

use lazuli_http::Service;
use lazuli_http::sources::Sources;

use crate::fetch::dial;

/// `listening` are the addresses at which there is something to copy; `reached_at` are those of a load balancer before them; `allowed` is
/// what `--copy-source` says.
pub fn sources(listening: &[(SocketAddr, Service)], reached_at: &[(String, Service)], allowed: &[String]) -> Sources {
    let own = listening.iter().flat_map(|(at, service)| {
        let names = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{}", at.port()));
        names.into_iter().chain([at.to_string()]).map(|name| (name, *service))
    });
    // An account may name hosts of its own, at any time.
    Sources::new(own.chain(reached_at.iter().cloned()).collect(), allowed.to_vec(), Some(dial()))
}

/// What `--reached-at` says.
pub fn reached_at(flags: &[String]) -> Result<Vec<(String, Service)>, String> {
    flags.iter().map(|flag| parse(flag)).collect()
}

fn parse(flag: &str) -> Result<(String, Service), String> {
    let wrong =
        || format!("--reached-at {flag}: say SERVICE=HOST or SERVICE=HOST:PORT, with blob, file or dfs as the service");
    let (service, host) = flag.split_once('=').ok_or_else(wrong)?;
    let service = match service {
        "blob" => Service::Blob,
        "file" => Service::File,
        "dfs" => Service::Dfs,
        _ => return Err(wrong()),
    };
    let is_host =
        host.parse::<hyper::http::uri::Authority>().is_ok_and(|at| !at.host().is_empty() && !host.contains('@'));
    if is_host { Ok((host.to_owned(), service)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_balancer_names_a_service_and_a_host() {
        assert_eq!(parse("blob=storage.example:10000"), Ok(("storage.example:10000".to_owned(), Service::Blob)));
        assert_eq!(parse("file=files.example"), Ok(("files.example".to_owned(), Service::File)));
        for wrong in [
            "storage.example",
            "queue=storage.example",
            "blob=",
            "blob=http://storage.example",
            "blob=a b",
            "blob=me@there",
        ] {
            assert!(parse(wrong).is_err_and(|said| said.contains("SERVICE=HOST")), "{wrong}");
        }
    }
}
