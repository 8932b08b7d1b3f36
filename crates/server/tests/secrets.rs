//! No secret is ever written down. The server runs at its most talkative while every kind of credential comes by, good and bad; then
//! neither its log, nor its metrics, nor any file of its data directory may contain any of them.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use lazuli_testkit::client::{Answer, account_sas_of, connect, percent_encoded, read_answer, sign};
use lazuli_testkit::process::{Directory, Server};

const ACCOUNT: &str = "confidential";
/// Nobody's: 64 bytes each.
const KEYS: [&str; 2] = [
    "c2VjcmV0LWtleS1udW1iZXItb25lLW9mLXRoZS1hY2NvdW50LXRoYXQtaXMtY29uZmlkZW50aWFsLS0tLS0tMQ==",
    "c2VjcmV0LWtleS1udW1iZXItdHdvLW9mLXRoZS1hY2NvdW50LXRoYXQtaXMtY29uZmlkZW50aWFsLS0tLS0tMg==",
];
const CUSTOMER_KEY: &str = "Y3VzdG9tZXIta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM=";
/// SHA-256 of the key above.
const CUSTOMER_KEY_SHA256: &str = "YFgYEE+VZktYqqwhC53BTMZKtkZMRi3+J4I8zT832lA=";
/// Unsigned, as basic mode takes it: issued by Microsoft, for storage, for long.
const CLAIMS: &str = r#"{"iss":"https://sts.windows.net/44444444-0000-0000-0000-000000000000/","aud":"https://storage.azure.com","exp":4070908800,"nbf":0,"oid":"11111111-0000-0000-0000-000000000000","tid":"44444444-0000-0000-0000-000000000000"}"#;

struct World {
    server: Server,
    /// What must not be found, and what it is.
    secrets: Vec<(&'static str, String)>,
}

impl World {
    fn secret(&mut self, what: &'static str, value: &str) -> String {
        self.secrets.push((what, value.to_owned()));
        value.to_owned()
    }

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(self.server.address, method, &format!("/{ACCOUNT}{target}"), headers, body)
    }
}

fn ask(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = connect(address).expect("it accepts");
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    head.push_str("x-ms-version: 2023-11-03\r\nConnection: close\r\n");
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it takes a request");
    read_answer(&mut BufReader::new(stream), method == "HEAD").expect("it answers").0
}

fn base64_url(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

#[test]
fn no_secret_is_written_down() {
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "secrets");
    let (log, debug) = (directory.0.join("log"), directory.0.join("debug"));
    let account = format!("{ACCOUNT}:{}:{}", KEYS[0], KEYS[1]);
    let debug_flag = debug.display().to_string();
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    let elsewhere_at = elsewhere.local_addr().expect("an address").to_string();
    let data = directory.0.join("data");
    let flags = [
        "--copy-source",
        &elsewhere_at,
        "--account",
        &account,
        "--log-level",
        "trace",
        "--access-log",
        "--debug",
        &debug_flag,
        "--oauth",
        "basic",
        "--oauth-insecure",
    ];
    let mut command = Server::command(&[], env!("CARGO_BIN_EXE_lazuli"), &data, &flags);
    command.stderr(File::create(&log).expect("a log"));
    let server = Server::launch(command).expect("it starts");
    let mut world = World { server, secrets: Vec::new() };
    KEYS.iter().for_each(|key| drop(world.secret("an account key", key)));

    shared_access_signatures(&mut world);
    shared_keys(&mut world);
    tokens(&mut world);
    customer_keys(&mut world);
    copies(&mut world);
    copy_from_elsewhere(&mut world, elsewhere);
    stored_account(&mut world, &data);

    let console = world.server.console();
    let metrics = ["/metrics", "/healthz", "/"].map(|path| ask(console, "GET", path, &[], "").body);
    let World { server, secrets } = world;
    assert!(server.stop().expect("it stops").success());
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
    let mut written = vec![
        ("the log".to_owned(), read(&log)),
        ("the debug log".to_owned(), read(&debug)),
        ("the metrics".to_owned(), String::from_utf8_lossy(&metrics.concat()).into_owned()),
    ];
    written.extend(files(&data).iter().map(|path| (path.display().to_string(), read(path))));
    for (place, text) in &written {
        for (what, secret) in &secrets {
            assert!(secret.len() >= 16, "too short to be told from anything else: {secret}");
            for form in [secret.clone(), percent_encoded(secret), secret.trim_end_matches('=').to_owned()] {
                assert!(!text.contains(&form), "{what} is in {place}: {form}");
            }
        }
    }
    // Or else the above says nothing.
    assert!(
        written[0].1.contains("/confidential/con") && written[1].1.contains("/confidential/con"),
        "requests are logged"
    );
    assert!(written[2].1.contains("lazuli"), "there are metrics");
    assert!(written.iter().skip(3).any(|(_, text)| text.contains("confidential")), "there is data");
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|entry| files(&entry)).collect()
}

/// A copy whose source does not come to its end: what it takes to fetch it anew is kept, and sealed.
fn copy_from_elsewhere(world: &mut World, elsewhere: TcpListener) {
    let signature =
        world.secret("the signature of a source that is being fetched", "c2lnbmF0dXJlLW9mLWEtc2xvdy1zb3VyY2UtLS0tLS0t");
    let from = format!(
        "http://{}/other/con/blob?sv=2020-12-06&sig={}",
        elsewhere.local_addr().expect("an address"),
        percent_encoded(&signature)
    );
    let slow = std::thread::spawn(move || {
        let (stream, _) = elsewhere.accept().expect("it is asked");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).expect("a head") > 2 {
            line.clear();
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nETag: \"0x1\"\r\nx-ms-blob-type: BlockBlob\r\n\r\n";
        stream.get_mut().write_all(head.as_bytes()).expect("it listens");
        stream
    });
    let sas = account_sas_of(ACCOUNT, KEYS[0]);
    let copied = world.ask("PUT", &format!("/con/slow?{sas}"), &[("x-ms-copy-source", &from)], "");
    assert_eq!(copied.status, 202, "{}", String::from_utf8_lossy(&copied.body));
    assert_eq!(copied.header("x-ms-copy-status"), Some("pending"));
    drop(slow.join().expect("the source"));
}

/// An account whose keys the server made, and told once.
fn stored_account(world: &mut World, data: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lazuli"));
    let made = command.args(["account", "create", "storedone", "--location"]).arg(data).output().expect("it runs");
    let told = String::from_utf8_lossy(&made.stdout).into_owned();
    for which in ["key1", "key2"] {
        let key = told.lines().find_map(|line| line.strip_prefix(which)).expect("a key").trim();
        world.secret("the key of a stored account", key);
    }
}

fn shared_access_signatures(world: &mut World) {
    let good = account_sas_of(ACCOUNT, KEYS[0]);
    let signature = good.split_once("&sig=").expect("it is signed").1.to_owned();
    world.secret("the signature of a SAS", &signature);
    assert_eq!(world.ask("PUT", &format!("/con?restype=container&{good}"), &[], "").status, 201);
    let put = world.ask("PUT", &format!("/con/blob?{good}"), &[("x-ms-blob-type", "BlockBlob")], "text");
    assert_eq!(put.status, 201);
    let bad = world.secret("a wrong signature of a SAS", "d3Jvbmctc2lnbmF0dXJlLW9mLWEtc2FzLXRoYXQtaXM=");
    let broken = good.replace(&signature, &percent_encoded(&bad));
    assert_eq!(world.ask("GET", &format!("/con/blob?{broken}"), &[], "").status, 403);
    let service = format!("sv=2020-12-06&sr=b&sp=r&se=2099-01-01T00%3A00%3A00Z&sig={}", percent_encoded(&bad));
    assert_eq!(world.ask("GET", &format!("/con/blob?{service}"), &[], "").status, 403);
    let malformed = world.secret("what should be a signature", "this%is=no&signature-at-all-but-secret");
    world.ask("GET", &format!("/con/blob?sv=2020-12-06&sig={malformed}"), &[], "");
}

fn shared_keys(world: &mut World) {
    let date = world.ask("GET", "/con/blob", &[], "").header("date").expect("answers are dated").to_owned();
    for (key, status) in [(KEYS[0], 200), (KEYS[1], 200)] {
        let text = format!("GET\n\n\n\nx-ms-date:{date}\nx-ms-version:2023-11-03\n/{ACCOUNT}/{ACCOUNT}/con/blob");
        let signature = world.secret("the signature of a request", &sign(key, &text));
        let authorization = format!("SharedKeyLite {ACCOUNT}:{signature}");
        let headers = [("x-ms-date", date.as_str()), ("Authorization", &authorization)];
        let got = world.ask("GET", "/con/blob", &headers, "");
        assert_eq!(got.status, status, "{}", String::from_utf8_lossy(&got.body));
    }
    let wrong = world.secret("a wrong signature of a request", "d3Jvbmctc2lnbmF0dXJlLW9mLWEtcmVxdWVzdC10aGF0LWlz");
    for scheme in ["SharedKey", "SharedKeyLite", "Basic", "Digest"] {
        let authorization = format!("{scheme} {ACCOUNT}:{wrong}");
        let got = world.ask("GET", "/con/blob", &[("x-ms-date", &date), ("Authorization", &authorization)], "");
        assert!((400..500).contains(&got.status), "{scheme}: {}", got.status);
    }
    // Inside a batch as well.
    let part = format!(
        "--b\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nDELETE /{ACCOUNT}/con/none HTTP/1.1\r\nx-ms-date: {date}\r\n\
         Authorization: SharedKey {ACCOUNT}:{wrong}\r\nContent-Length: 0\r\n\r\n--b--\r\n"
    );
    let sas = account_sas_of(ACCOUNT, KEYS[0]);
    let batch =
        world.ask("POST", &format!("/?comp=batch&{sas}"), &[("Content-Type", "multipart/mixed; boundary=b")], &part);
    assert_eq!(batch.status, 202, "{}", String::from_utf8_lossy(&batch.body));
}

fn tokens(world: &mut World) {
    let head = base64_url(r#"{"alg":"RS256","typ":"JWT","kid":"1"}"#);
    let tag = world.secret("the signature of a token", &base64_url("the signature of a token that is good"));
    let claims = world.secret("the claims of a token", &base64_url(CLAIMS));
    let good = format!("Bearer {head}.{claims}.{tag}");
    let got = world.ask("GET", "/con/blob", &[("Authorization", &good)], "");
    assert_eq!(got.status, 200, "{} {}", got.code(), String::from_utf8_lossy(&got.body));
    let bad = world.secret("a token that is none", "this-is-no-token-but-it-may-be-a-secret");
    for authorization in [format!("Bearer {bad}"), format!("Bearer {bad} {bad}"), format!("Bearer {head}.{bad}.{tag}")]
    {
        let got = world.ask("GET", "/con/blob", &[("Authorization", &authorization)], "");
        assert!((400..500).contains(&got.status), "{}", got.status);
    }
    let info = "<KeyInfo><Start>2020-01-01T00:00:00Z</Start><Expiry>EXPIRY</Expiry></KeyInfo>";
    let date = got.header("date").unwrap_or_default().to_owned();
    let info = info.replace("EXPIRY", &tomorrow(&date)).replace("2020-01-01T00:00:00Z", &today(&date));
    let key = world.ask("POST", "/?restype=service&comp=userdelegationkey", &[("Authorization", &good)], &info);
    let text = String::from_utf8_lossy(&key.body).into_owned();
    assert_eq!(key.status, 200, "{} {text}", key.code());
    let value =
        text.split_once("<Value>").and_then(|(_, rest)| rest.split_once("</Value>")).expect("a key").0.to_owned();
    world.secret("a user delegation key", &value);
    let wrong = world.secret("the signature of a delegation SAS", &sign(&value, "something else"));
    let sas = format!(
        "sv=2020-12-06&sr=b&sp=r&se=2099-01-01T00%3A00%3A00Z&skoid=11111111-0000-0000-0000-000000000000&\
         sktid=44444444-0000-0000-0000-000000000000&skt={}&ske={}&sks=b&skv=2023-11-03&sig={}",
        today(&date).replace(':', "%3A"),
        tomorrow(&date).replace(':', "%3A"),
        percent_encoded(&wrong)
    );
    assert_eq!(world.ask("GET", &format!("/con/blob?{sas}"), &[], "").status, 403);
}

/// Midnight of an HTTP date's day, and of the day of the month after the next: enough for a key.
fn today(date: &str) -> String {
    midnight(date, 0)
}

fn tomorrow(date: &str) -> String {
    midnight(date, 2)
}

fn midnight(date: &str, days: u64) -> String {
    let now = lazuli_model::Timestamp::parse_http(date).expect("an HTTP date");
    now.plus_seconds(days * 86_400).to_iso_seconds()
}

fn customer_keys(world: &mut World) {
    let sas = account_sas_of(ACCOUNT, KEYS[0]);
    let key = world.secret("a customer's key", CUSTOMER_KEY);
    let wrong = world.secret("a wrong customer's key", "d3JvbmcgY3VzdG9tZXIga2V5IG9mIDMyIGJ5dGVzISE=");
    let hash = CUSTOMER_KEY_SHA256;
    for (key, hash, good) in [(&key, hash, true), (&wrong, hash, false), (&wrong, "no hash", false)] {
        let headers = [
            ("x-ms-blob-type", "BlockBlob"),
            ("x-ms-encryption-key", key.as_str()),
            ("x-ms-encryption-key-sha256", hash),
            ("x-ms-encryption-algorithm", "AES256"),
            ("x-ms-source-encryption-key", key.as_str()),
        ];
        let put = world.ask("PUT", &format!("/con/locked?{sas}"), &headers, "text");
        assert_eq!(put.status == 201, good, "{} {}", put.status, String::from_utf8_lossy(&put.body));
        let get = world.ask("GET", &format!("/con/locked?{sas}"), &headers[1..4], "");
        assert_eq!(get.status == 200, good, "{} {}", get.status, String::from_utf8_lossy(&get.body));
    }
}

fn copies(world: &mut World) {
    let sas = account_sas_of(ACCOUNT, KEYS[0]);
    let wrong = world.secret("the signature of a source", "c2lnbmF0dXJlLW9mLXRoZS1zb3VyY2Utb2YtYS1jb3B5LS0=");
    let token = world.secret("the token for a source", "a-token-for-the-source-of-a-copy-in-the-clear");
    let address = world.server.address;
    let own = format!("http://{address}/{ACCOUNT}/con/blob?{sas}");
    let bad = format!("http://{address}/{ACCOUNT}/con/blob?sv=2020-12-06&sr=b&sp=r&sig={}", percent_encoded(&wrong));
    let far = format!("http://127.0.0.1:9/else/con/blob?sig={}", percent_encoded(&wrong));
    let bearer = format!("Bearer {token}");
    for (source, good) in [(own.as_str(), true), (&bad, false), (&far, false)] {
        for more in [&[][..], &[("x-ms-requires-sync", "true")], &[("x-ms-copy-source-authorization", bearer.as_str())]]
        {
            let headers = [&[("x-ms-copy-source", source)], more].concat();
            let copied = world.ask("PUT", &format!("/con/copy?{sas}"), &headers, "");
            assert!(good || (400..500).contains(&copied.status), "{source}: {}", copied.status);
            let block = world.ask("PUT", &format!("/con/blocks?comp=block&blockid=AAAA&{sas}"), &headers, "");
            assert!(good || (400..500).contains(&block.status), "{source}: {}", block.status);
        }
    }
    let rename = format!("http://{address}/{ACCOUNT}/share/file?sig={}", percent_encoded(&wrong));
    ask(
        world.server.endpoint("File"),
        "PUT",
        &format!("/{ACCOUNT}/share/other?comp=rename&{sas}"),
        &[("x-ms-file-rename-source", &rename), ("x-ms-file-rename-source-authorization", &bearer)],
        "",
    );
}
