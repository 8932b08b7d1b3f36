//! File systems over the edge: what a signature opens there.

mod client;

use client::{ACCOUNT, Client, accounts, start};
use lazuli_http::Service;

const VERSION: (&str, &str) = ("x-ms-version", "2023-11-03");

/// An account SAS with these letters, as a query.
fn sas(letters: &str) -> String {
    let (version, end) = ("2019-02-02", "2099-01-01T00:00:00Z");
    let text = format!("{ACCOUNT}\n{letters}\nb\no\n\n{end}\n\n\n{version}\n");
    let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv={version}&ss=b&srt=o&sp={letters}&se={end}&sig={signature}")
}

/// Who may create and not write takes no name away from what has it, within a file system and between two.
#[tokio::test]
async fn a_rename_by_who_may_only_create_overwrites_nothing() {
    let server = start();
    server.set(&[("hierarchical-namespace", "on")]).await;
    let mut owner = Client::to_service(&server, Service::Dfs);
    let mut stranger = Client::unsigned_to(&server, Service::Dfs);
    for file_system in ["one", "two"] {
        let made = owner.send("PUT", &format!("/{file_system}?resource=filesystem"), &[VERSION], b"").await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    for (path, text) in [("/one/mine", "mine"), ("/one/kept", "kept"), ("/two/kept", "kept")] {
        assert_eq!(owner.send("PUT", &format!("{path}?resource=file"), &[VERSION], b"").await.status, 201);
        let append = format!("{path}?action=append&position=0&flush=true");
        assert_eq!(owner.send("PATCH", &append, &[VERSION], text.as_bytes()).await.status, 202);
    }
    let (create, write) = (sas("rcm"), sas("rwm"));
    for (letters, to, want) in [
        (&create, "/one/kept", (403, Some("UnauthorizedBlobOverwrite"))),
        (&create, "/two/kept", (403, Some("UnauthorizedBlobOverwrite"))),
        (&create, "/one/new", (201, None)),
    ] {
        let source = format!("/one/mine?{letters}");
        let headers = [VERSION, ("x-ms-rename-source", source.as_str())];
        let answer = stranger.send("PUT", &format!("{to}?{letters}"), &headers, b"").await;
        assert_eq!((answer.status, answer.header("x-ms-error-code")), want, "{to} {}", answer.text());
    }
    for kept in ["/one/kept", "/two/kept"] {
        assert_eq!(owner.send("GET", kept, &[VERSION], b"").await.text(), "kept");
    }
    let source = format!("/one/new?{write}");
    let headers = [VERSION, ("x-ms-rename-source", source.as_str())];
    assert_eq!(stranger.send("PUT", &format!("/two/kept?{write}"), &headers, b"").await.status, 201);
    assert_eq!(owner.send("GET", "/two/kept", &[VERSION], b"").await.text(), "mine");
}

/// What every list of a path shows is short: otherwise a page of 5,000 of them is as long as 5,000 heads of requests.
#[tokio::test]
async fn what_is_kept_with_a_path_is_short() {
    let server = start();
    server.set(&[("hierarchical-namespace", "on")]).await;
    let mut owner = Client::to_service(&server, Service::Dfs);
    assert_eq!(owner.send("PUT", "/one?resource=filesystem", &[VERSION], b"").await.status, 201);
    let create = "/one/file?resource=file";
    for (header, most) in [("x-ms-owner", 256), ("x-ms-group", 256), ("x-ms-encryption-context", 1024)] {
        let (long, fits) = ("a".repeat(most + 1), "a".repeat(most));
        let refused = owner.send("PUT", create, &[VERSION, (header, &long)], b"").await;
        assert_eq!((refused.status, refused.header("x-ms-error-code")), (400, Some("InvalidHeaderValue")), "{header}");
        assert_eq!(owner.send("PUT", create, &[VERSION, (header, &fits)], b"").await.status, 201, "{header}");
    }
    for header in ["x-ms-owner", "x-ms-group"] {
        let long = "a".repeat(257);
        let set = "/one/file?action=setAccessControl";
        assert_eq!(owner.send("PATCH", set, &[VERSION, (header, &long)], b"").await.status, 400, "{header}");
    }
}

/// A list begins at a path that is relative to the directory; one that is not recursive, at a name.
#[tokio::test]
async fn a_list_begins_where_it_is_asked_to() {
    let server = start();
    server.set(&[("hierarchical-namespace", "on")]).await;
    let mut owner = Client::to_service(&server, Service::Dfs);
    assert_eq!(owner.send("PUT", "/one?resource=filesystem", &[VERSION], b"").await.status, 201);
    for path in ["/one/d/a/x", "/one/d/b/x", "/one/d/b/y", "/one/d/c"] {
        assert_eq!(owner.send("PUT", &format!("{path}?resource=file"), &[VERSION], b"").await.status, 201);
    }
    for (recursive, begin, want) in [
        (true, "b/y", Some(vec!["d/b/y", "d/c"])),
        (true, "b", Some(vec!["d/b", "d/b/x", "d/b/y", "d/c"])),
        (false, "b", Some(vec!["d/b", "d/c"])),
        (false, "bb", Some(vec!["d/c"])),
        (false, "b/y", None),
    ] {
        let url = format!("/one?resource=filesystem&recursive={recursive}&directory=d&beginFrom={begin}");
        let answer = owner.send("GET", &url, &[VERSION], b"").await;
        let Some(want) = want else {
            assert_eq!((answer.status, answer.header("x-ms-error-code")), (400, Some("InvalidQueryParameterValue")));
            continue;
        };
        let page: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        let names: Vec<&str> =
            page["paths"].as_array().unwrap().iter().filter_map(|path| path["name"].as_str()).collect();
        assert_eq!(names, want, "{recursive} {begin}");
    }
}
