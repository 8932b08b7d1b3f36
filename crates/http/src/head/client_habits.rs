//! What clients say otherwise than it is meant. Each is told apart by something that no other request has.

use http::Method;

use super::{Place, Query, Service, Style};

/// PATCH, sent by PUT. Java's own client, which Hadoop has, knows no PATCH.
pub(super) fn is_tunnelled(parts: &http::request::Parts, service: Service) -> bool {
    let wanted = parts.headers.get("x-http-method-override").is_some_and(|value| value.as_bytes() == b"PATCH");
    wanted && parts.method == Method::PUT && matches!(service, Service::Blob | Service::Dfs)
}

/// Clients forget the account when they rename in path style: JavaScript's of shares (`PUT /share/new?comp=rename`, the source is a whole
/// URL), and those in C++ and JavaScript of file systems (`PUT /filesystem/new`, the source is `/account/filesystem/old`). The source still
/// names it. The credential is checked as always.
pub(super) fn with_account<'a>(
    place: Place<'a>,
    parts: &'a http::request::Parts,
    path: &'a str,
    query: &Query,
) -> Place<'a> {
    if place.style != Style::Path {
        return place;
    }
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let source = match place.service {
        Service::File if query.get("comp").is_some_and(|comp| comp.eq_ignore_ascii_case("rename")) => {
            header("x-ms-file-rename-source").and_then(|url| url.split_once("://")).map_or("", |(_, rest)| rest)
        }
        Service::Blob | Service::Dfs => header("x-ms-rename-source").unwrap_or_default(),
        Service::File | Service::Queue | Service::Table => "",
    };
    let account = source.split('/').nth(1).unwrap_or_default();
    // A file system may have the name of an account: only who signs for that account means it.
    let signed = match (place.service, header("authorization")) {
        (_, Some(text)) => text.contains(&format!(" {account}:")),
        (service, None) => service == Service::File,
    };
    if account.is_empty() || account == place.account || !signed {
        return place;
    }
    Place { account, rest: path.strip_prefix('/').unwrap_or(path), ..place }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use http::Method;
    use lazuli_model::Timestamp;

    use crate::head::{Arrival, Head, Service, Target};

    fn read(method: &str, uri: &str, headers: &[(&str, &str)]) -> Head {
        let mut request = http::Request::builder().method(method).uri(uri).header("host", "127.0.0.1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let arrival = Arrival {
            service: Service::Dfs,
            secure: false,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now: Timestamp::from_ticks(0),
            wall: Timestamp::from_ticks(0),
            request_id: 0,
            loose: false,
        };
        Head::read(request.body(()).unwrap().into_parts().0, arrival).unwrap()
    }

    #[test]
    fn a_patch_may_come_as_put() {
        let with = |method: &str, value: &str| {
            let head = read(method, "/acc/fs/f?action=append", &[("X-HTTP-Method-Override", value)]);
            (head.method, head.tunnelled)
        };
        assert_eq!(with("PUT", "PATCH"), (Method::PATCH, true));
        assert_eq!(with("PUT", "DELETE"), (Method::PUT, false));
        assert_eq!(with("GET", "PATCH"), (Method::GET, false));
        assert_eq!(with("PATCH", "PATCH"), (Method::PATCH, false));
    }

    #[test]
    fn a_rename_in_path_style_may_name_the_account_in_its_source() {
        let blob = |container: &str, blob: &str| Target::Blob { container: container.into(), blob: blob.into() };
        let table = [
            ("/acc/fs/new", "/fs/old", "acc", "acc", blob("fs", "new")),
            ("/fs/new", "/acc/fs/old", "acc", "acc", blob("fs", "new")),
            ("/fs/d/new", "/acc/fs/old", "acc", "acc", blob("fs", "d/new")),
            // Nobody signs for the first name of the source: it is a file system.
            ("/fs/d/new", "/acc/fs/old", "fs", "fs", blob("d", "new")),
        ];
        for (uri, source, signed, account, target) in table {
            let signature = format!("SharedKey {signed}:AAAA");
            let headers = [("x-ms-rename-source", source), ("authorization", signature.as_str())];
            let head = read("PUT", uri, &headers);
            assert_eq!((head.account.as_str(), head.target), (account, target), "{uri} from {source}");
        }
    }
}
