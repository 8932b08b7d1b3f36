//! Account kinds and the settings of how an account is reached, over the wire: each with the refusal that the service gives.

mod client;

use client::{Answer, Client, account_sas, start, start_trusting};
use lazuli_http::Service;
use lazuli_model::account::{TlsVersion, Transport};

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.header("x-ms-error-code").unwrap_or_default())
}

const VERSION: (&str, &str) = ("x-ms-version", "2021-12-02");

#[tokio::test]
async fn b25_secure_transfer_comes_before_credentials() {
    let server = start();
    server.set(&[("secure-transfer", "on")]).await;
    for mut client in [Client::to(&server), Client::unsigned(&server)] {
        let answer = client.send("GET", "/?comp=list", &[VERSION], b"").await;
        assert_eq!(code(&answer), (400, "AccountRequiresHttps"));
        assert!(answer.text().contains("<AccountName>devstoreaccount1</AccountName>"), "{}", answer.text());
    }
    let mut secure = Client::over(&server, Service::Blob, Transport::Tls(TlsVersion::V1_2));
    assert_eq!(secure.send("GET", "/?comp=list", &[VERSION], b"").await.status, 200);
}

#[tokio::test]
async fn a_minimum_of_tls() {
    let server = start();
    server.set(&[("minimum-tls", "1.3")]).await;
    for (transport, want) in [
        (Transport::Plain, (200, "")),
        (Transport::Tls(TlsVersion::V1_2), (400, "TlsVersionNotPermitted")),
        (Transport::Tls(TlsVersion::V1_3), (200, "")),
    ] {
        let mut client = Client::over(&server, Service::Blob, transport);
        let answer = client.send("GET", "/?comp=list", &[VERSION], b"").await;
        assert_eq!(code(&answer), want, "{transport:?}");
    }
}

#[tokio::test]
async fn network_rules_refuse_whoever_comes_from_elsewhere() {
    let server = start();
    let mut client = Client::to(&server);
    for (rules, want) in [
        ("off", (200, "")),
        ("deny", (403, "AuthorizationFailure")),
        ("10.0.0.0/8", (403, "AuthorizationFailure")),
        ("10.0.0.0/8,127.0.0.0/8", (200, "")),
    ] {
        server.set(&[("network-rules", rules)]).await;
        assert_eq!(code(&client.send("GET", "/?comp=list", &[VERSION], b"").await), want, "{rules}");
    }
}

#[tokio::test]
async fn without_shared_key_only_tokens_are_good() {
    let server = start_trusting("https://sts.windows.net/tenant/");
    server.set(&[("shared-key", "off")]).await;
    let refused = (403, "KeyBasedAuthenticationNotPermitted");
    let mut signed = Client::to(&server);
    assert_eq!(code(&signed.send("GET", "/?comp=list", &[VERSION], b"").await), refused);
    let mut unsigned = Client::unsigned(&server);
    let with_sas = format!("/?comp=list&{}", account_sas());
    assert_eq!(code(&unsigned.send("GET", &with_sas, &[VERSION], b"").await), refused);
    // Nobody in particular is told to sign in, as ever.
    assert_eq!(unsigned.send("GET", "/?comp=list", &[VERSION], b"").await.status, 401);
}

#[tokio::test]
async fn containers_are_not_opened_where_the_account_forbids_it() {
    let server = start();
    let mut client = Client::to(&server);
    server.set(&[("public-access", "off")]).await;
    let refused = (409, "PublicAccessNotPermitted");
    let open = [VERSION, ("x-ms-blob-public-access", "blob")];
    assert_eq!(code(&client.send("PUT", "/public?restype=container", &open, b"").await), refused);
    assert_eq!(client.send("PUT", "/private?restype=container", &[VERSION], b"").await.status, 201);
    assert_eq!(code(&client.send("PUT", "/private?restype=container&comp=acl", &open, b"").await), refused);
    assert_eq!(client.send("PUT", "/private?restype=container&comp=acl", &[VERSION], b"").await.status, 200);
    let mut nobody = Client::unsigned(&server);
    assert_eq!(code(&nobody.send("GET", "/private/b", &[VERSION], b"").await), refused);
}

/// Which blobs a kind of account has, and which tiers they can be put into.
#[tokio::test]
async fn b7_premium_accounts_have_blobs_of_their_own() {
    let block: &[_] = &[("x-ms-blob-type", "BlockBlob")];
    let page: &[_] = &[("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
    let append: &[_] = &[("x-ms-blob-type", "AppendBlob")];
    let cool_page: &[_] =
        &[("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512"), ("x-ms-access-tier", "Cool")];
    let cool_block: &[_] = &[("x-ms-blob-type", "BlockBlob"), ("x-ms-access-tier", "Cool")];
    let no_type = (400, "BlobTypeNotSupported");
    type Case<'a> = (&'a [(&'a str, &'a str)], (u16, &'a str));
    let table: &[(&str, &[Case<'_>])] = &[
        (
            "premium-page-blob",
            &[(block, no_type), (append, no_type), (page, (201, "")), (cool_page, (400, "InvalidBlobTier"))],
        ),
        (
            "premium-block-blob",
            &[
                (block, (201, "")),
                (append, (201, "")),
                (page, no_type),
                (cool_block, (400, "BlobAccessTierNotSupportedForAccountType")),
            ],
        ),
    ];
    for (kind, rows) in table {
        let server = start();
        server.set(&[("kind", kind)]).await;
        let mut client = Client::to(&server);
        assert_eq!(client.send("PUT", "/c?restype=container", &[VERSION], b"").await.status, 400, "too short a name");
        assert_eq!(client.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
        for (at, (headers, want)) in rows.iter().enumerate() {
            let headers: Vec<_> = headers.iter().copied().chain([VERSION]).collect();
            let answer = client.send("PUT", &format!("/con/b{at}"), &headers, b"").await;
            assert_eq!(code(&answer), *want, "{kind} {headers:?} {}", answer.text());
        }
        let block = client.send("PUT", "/con/x?comp=block&blockid=AAAA", &[VERSION], b"x").await;
        assert_eq!(block.status == 201, *kind == "premium-block-blob");
    }
}

#[tokio::test]
async fn b7_premium_page_blobs() {
    let server = start();
    server.set(&[("kind", "premium-page-blob")]).await;
    let mut client = Client::to(&server);
    client.send("PUT", "/con?restype=container", &[VERSION], b"").await;
    let made = [VERSION, ("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512"), ("x-ms-tags", "a=b")];
    assert_eq!(client.send("PUT", "/con/b", &made, b"").await.status, 201);
    let read = client.send("HEAD", "/con/b", &[VERSION], b"").await;
    assert_eq!(read.header("x-ms-access-tier"), Some("P10"));
    assert_eq!(read.header("x-ms-access-tier-inferred"), Some("true"));
    assert_eq!(read.header("x-ms-tag-count"), None);
    // Nor is a condition on tags looked at.
    let tier = [VERSION, ("x-ms-access-tier", "P50"), ("x-ms-if-tags", "\"a\"='other'")];
    assert_eq!(client.send("PUT", "/con/b?comp=tier", &tier, b"").await.status, 200);
    let write = [VERSION, ("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511")];
    let written = client.send("PUT", "/con/b?comp=page", &write, &[7; 512]).await;
    assert_eq!(written.status, 201);
    assert!(written.header("content-md5").is_some() && written.header("x-ms-content-crc64").is_none());
    let told = client.send("GET", "/?restype=account&comp=properties", &[VERSION], b"").await;
    assert_eq!(told.header("x-ms-sku-name"), Some("Premium_LRS"));
    assert_eq!(told.header("x-ms-account-kind"), Some("StorageV2"));
}

#[tokio::test]
async fn premium_file_accounts_have_premium_shares_and_nothing_else() {
    let server = start();
    server.set(&[("kind", "premium-file")]).await;
    let mut files = Client::to_service(&server, Service::File);
    assert_eq!(files.send("PUT", "/share?restype=share", &[VERSION], b"").await.status, 201);
    let read = files.send("GET", "/share?restype=share", &[VERSION], b"").await;
    assert_eq!(read.header("x-ms-access-tier"), Some("Premium"));
    assert_eq!(read.header("x-ms-enabled-protocols"), Some("SMB"));
    assert_eq!(read.header("x-ms-share-provisioned-iops"), Some("3100"));
    let hot = files.send("PUT", "/other?restype=share", &[VERSION, ("x-ms-access-tier", "Hot")], b"").await;
    assert_eq!(code(&hot), (400, "InvalidHeaderValue"));
    for service in [Service::Blob, Service::Queue] {
        let answer = Client::to_service(&server, service).send("GET", "/?comp=list", &[VERSION], b"").await;
        assert_eq!(code(&answer), (400, "InvalidUri"), "{service:?}");
    }
}

#[tokio::test]
async fn the_secondary_says_what_it_is_set_to() {
    let server = start();
    server.set(&[("geo-replication", "unavailable")]).await;
    let mut client = Client::unsigned(&server);
    let at = format!("-secondary/?restype=service&comp=stats&{}", account_sas());
    let answer = client.send("GET", &at, &[VERSION], b"").await;
    assert!(answer.text().contains("<Status>unavailable</Status><LastSyncTime />"), "{}", answer.text());
}

/// How an account is reached is asked at every door, before anything else.
#[tokio::test]
async fn every_service_refuses_alike() {
    let doors = [
        (Service::Blob, "/?comp=list"),
        (Service::Queue, "/?comp=list"),
        (Service::Table, "/Tables"),
        (Service::File, "/?comp=list"),
        (Service::Dfs, "/?resource=account"),
    ];
    let cases = [
        ("secure-transfer", "on", "off", 400, "AccountRequiresHttps"),
        ("network-rules", "deny", "off", 403, "AuthorizationFailure"),
        ("shared-key", "off", "on", 403, "KeyBasedAuthenticationNotPermitted"),
    ];
    for (setting, value, back, status, expected) in cases {
        let server = start();
        for (service, target) in doors {
            let mut client = Client::to_service(&server, service);
            let headers = [("x-ms-version", "2019-12-12"), ("accept", "application/json;odata=nometadata")];
            let allowed = client.send("GET", target, &headers, b"").await;
            assert_eq!(allowed.status, 200, "{service:?}: {}", allowed.text());
            server.set(&[(setting, value)]).await;
            let refused = client.send("GET", target, &headers, b"").await;
            assert_eq!(refused.status, status, "{service:?} {setting}: {}", refused.text());
            assert!(refused.text().contains(expected), "{service:?} {setting}: {}", refused.text());
            server.set(&[(setting, back)]).await;
        }
    }
}
