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
