//! Sessions of the console, attacked: fixed beforehand, begun from another site, outlived by what they were begun with. And the lab, asked for by
//! every credential that there is.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use lazuli_testkit::client::{Answer, Client, account_sas, connect, read_answer};
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
const TOKEN: &str = "an-operators-token-of-a-test0";

fn start(name: &str) -> (Directory, Server) {
    start_with(name, &[])
}

fn start_with(name: &str, flags: &[&str]) -> (Directory, Server) {
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), name);
    let flags = [&["--operator-token", TOKEN], flags].concat();
    let server = Server::start(BINARY, &directory.0.join("data"), &flags).expect("it starts");
    (directory, server)
}

fn lazuli(words: &[&str]) -> String {
    let output = Command::new(BINARY).args(words).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn request(at: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    format!("{head}\r\n{body}")
}

fn ask(at: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = connect(at).expect("it accepts");
    stream.write_all(request(at, method, path, headers, body).as_bytes()).expect("it takes a request");
    read_answer(&mut BufReader::new(stream), false).expect("it answers").0
}

/// The cookie and the CSRF header of a new session.
fn begun(answer: &Answer) -> (String, String) {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, 200, "{text}");
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().unwrap_or_default().to_owned();
    let told: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    (cookie, told["csrf"].as_str().expect("its CSRF token").to_owned())
}

fn by_sas() -> String {
    format!(r#"{{"account":"devstoreaccount1","sas":"{}"}}"#, account_sas())
}

fn by_key() -> String {
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    format!(r#"{{"account":"devstoreaccount1","key":"{key}"}}"#)
}

/// A new account, and its first key.
fn account(data: &Path, name: &str) -> String {
    lazuli(&["account", "--location", &data.display().to_string(), "create", name]);
    let shown = lazuli(&["account", "--location", &data.display().to_string(), "show", name, "--keys"]);
    let mut keys = shown.split_whitespace().filter(|word| word.len() == 88 && word.ends_with("=="));
    keys.next().expect("a key").to_owned()
}

#[test]
fn a_session_that_was_put_into_a_browser_is_not_the_operators() {
    let (_directory, server) = start("sessions-fixed");
    let console = server.console();
    let (known, csrf) = begun(&ask(console, "POST", "/api/session", &[], &by_sas()));
    let headers = [("Cookie", known.as_str()), ("X-Lazuli-CSRF", csrf.as_str())];
    let operator = format!(r#"{{"operator":"{TOKEN}"}}"#);
    let (cookie, _) = begun(&ask(console, "POST", "/api/session/operator", &headers, &operator));
    assert_ne!(cookie, known);
    let records = |cookie: &str| ask(console, "GET", "/api/records", &[("Cookie", cookie)], "").status;
    assert_eq!((records(&known), records(&cookie)), (401, 200));
}

#[test]
fn another_site_begins_no_session() {
    let (_directory, server) = start("sessions-elsewhere");
    let console = server.console();
    for header in [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")] {
        let refused = ask(console, "POST", "/api/session", &[header], &by_sas());
        assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{header:?}");
    }
    let own = format!("http://{console}");
    begun(&ask(console, "POST", "/api/session", &[("Origin", &own), ("Sec-Fetch-Site", "same-origin")], &by_sas()));
}

#[test]
fn a_session_ends_with_the_key_that_it_was_begun_with() {
    let (directory, server) = start("sessions-rotated");
    let (console, data) = (server.console(), directory.0.join("data"));
    let key = account(&data, "rotated1");
    let body = format!(r#"{{"account":"rotated1","key":"{key}"}}"#);
    let (cookie, _) = begun(&ask(console, "POST", "/api/session", &[], &body));
    let records = || ask(console, "GET", "/api/records", &[("Cookie", cookie.as_str())], "").status;
    assert_eq!(records(), 200);
    lazuli(&["account", "--location", &data.display().to_string(), "rotate-key", "rotated1", "key1"]);
    assert_eq!(records(), 401);
}

#[test]
fn a_session_that_has_ended_hears_nothing_more() {
    let (_directory, server) = start("sessions-events");
    let console = server.console();
    let (cookie, csrf) = begun(&ask(console, "POST", "/api/session", &[], &by_key()));
    let mut stream = connect(console).expect("it accepts");
    let listen = request(console, "GET", "/api/events?kind=all", &[("Cookie", &cookie)], "");
    stream.write_all(listen.as_bytes()).expect("it takes a request");
    let mut heard = BufReader::new(stream).lines().map(|line| line.expect("it goes on"));
    assert!(heard.by_ref().any(|line| line.contains(": hello")));
    let mut client = Client::new(server.address);
    let mut make = |name: &str| client.send("PUT", name, "restype=container", &[], b"").expect("an answer").status;
    assert_eq!(make("before"), 201);
    assert!(heard.by_ref().any(|line| line.contains("devstoreaccount1/before")));
    let headers = [("Cookie", cookie.as_str()), ("X-Lazuli-CSRF", csrf.as_str())];
    assert_eq!(ask(console, "DELETE", "/api/session", &headers, "").status, 204);
    assert_eq!(make("after"), 201);
    let told: Vec<String> = heard.by_ref().take_while(|line| !line.contains("event: end")).collect();
    assert!(!told.iter().any(|line| line.contains("devstoreaccount1/after")), "{told:?}");
}

/// Some operations on a blob ask for no condition, so that trying them would do them.
#[test]
fn trying_a_signature_stores_nothing() {
    let (_directory, server) = start("sessions-tried");
    let console = server.console();
    let mut client = Client::new(server.address);
    assert_eq!(client.send("PUT", "con", "restype=container", &[], b"").expect("an answer").status, 201);
    let (cookie, csrf) = begun(&ask(console, "POST", "/api/session", &[], &by_sas()));
    let headers = [("Cookie", cookie.as_str()), ("X-Lazuli-CSRF", csrf.as_str())];
    let blob = format!("http://{}/devstoreaccount1/con/x", server.address);
    let tried = |query: &str| {
        let body = format!(r#"{{"url":"{blob}?{query}{}","method":"PUT"}}"#, account_sas());
        ask(console, "POST", "/api/sas/check", &headers, &body).status
    };
    assert_eq!((tried(""), tried("comp=undelete&"), tried("comp=block&blockid=QUFB&")), (200, 400, 400));
}

/// All that the lab can be asked for, with what it answers to the operator if it is on. The reset comes last.
const LAB: [(&str, &str, &str, u16); 6] = [
    ("GET", "/api/lab", "", 200),
    ("POST", "/api/lab/rules", r#"{"do":"fail","operation":"ListContainers"}"#, 201),
    ("DELETE", "/api/lab/rules/1", "", 204),
    ("DELETE", "/api/lab/rules", "", 204),
    ("POST", "/api/lab/clock", r#"{"advance_seconds":61}"#, 200),
    ("POST", "/api/lab/reset", "{}", 200),
];

type Headers = Vec<(&'static str, String)>;

/// Everybody who can ask the console for something, and whether the console knows them; and whether they are the operator.
fn callers(console: SocketAddr) -> Vec<(&'static str, Headers, bool, bool)> {
    let session = |body: &str| {
        let (cookie, csrf) = begun(&ask(console, "POST", "/api/session", &[], body));
        vec![("Cookie", cookie), ("X-Lazuli-CSRF", csrf)]
    };
    let bearer = |token: &str| vec![("Authorization", format!("Bearer {token}"))];
    let signed = vec![("Authorization", "SharedKey devstoreaccount1:c2lnbmVk".to_owned())];
    vec![
        ("nobody", Vec::new(), false, false),
        ("a wrong token", bearer("an-operators-token-of-a-test1"), false, false),
        ("a signature of the data plane", signed, false, false),
        (
            "a cookie that was made up",
            vec![("Cookie", "lazuli=00000000000000000000000000000000".to_owned())],
            false,
            false,
        ),
        ("a session of a SAS", session(&by_sas()), true, false),
        ("a session of a key", session(&by_key()), true, false),
        ("a session of the operator", session(&format!(r#"{{"operator":"{TOKEN}"}}"#)), true, true),
        ("the operator's token", bearer(TOKEN), true, true),
    ]
}

fn lab_answers(name: &str, flags: &[&str], expected: impl Fn(bool, bool, u16) -> u16) -> (Directory, Server) {
    let (directory, server) = start_with(name, flags);
    let console = server.console();
    for (who, headers, is_known, is_operator) in callers(console) {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        for (method, path, body, done) in LAB {
            let answer = ask(console, method, path, &headers, body);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            // Only one who makes the first rule can take it away.
            let is_gone = path == "/api/lab/rules/1" && answer.status == 404 && text.contains("NotFound");
            let wanted = expected(is_known, is_operator, done);
            assert!(answer.status == wanted || (wanted == 204 && is_gone), "{who}: {method} {path}: {wanted}, {text}");
            assert!(wanted != 404 || text.contains("LabOff"), "{who}: {method} {path}: {text}");
        }
    }
    (directory, server)
}

/// The lab's part of the security matrix: without `--lab` nobody reaches any of it, by no credential and at no port, and nothing has happened.
#[test]
fn with_the_lab_off_nothing_of_it_can_be_reached() {
    let off = |is_known: bool, _, _| if is_known { 404 } else { 401 };
    let (directory, server) = lab_answers("lab-off", &[], off);
    let mut client = Client::new(server.address);
    assert_eq!(client.send("PUT", "kept", "restype=container", &[], b"").expect("an answer").status, 201);
    // The data plane takes these for names of accounts and blobs.
    let token = format!("Bearer {TOKEN}");
    for (method, path, body, _) in LAB {
        for (path, headers) in
            [(path.to_owned(), vec![("Authorization", token.as_str())]), (format!("{path}?{}", account_sas()), vec![])]
        {
            let status = ask(server.address, method, &path, &headers, body).status;
            assert!((400..500).contains(&status), "{method} {path} at the blob port: {status}");
        }
    }
    let location = directory.0.join("data").display().to_string();
    for words in [&["clock", "advance", "61s"][..], &["reset"], &["lab", "list"]] {
        let output = Command::new(BINARY).args(words).args(["--location", &location]).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(told.contains("--lab"), "{words:?} says what is missing: {told}");
    }
    assert_eq!(client.send("GET", "kept", "restype=container", &[], b"").expect("an answer").status, 200);
    let server = ask(server.console(), "GET", "/api/server", &[("Authorization", &token)], "");
    let told: serde_json::Value = serde_json::from_slice(&server.body).expect("JSON");
    assert_eq!((told["lab"].as_bool(), told["clock"]["moved_seconds"].as_f64()), (Some(false), Some(0.0)), "{told}");
}

/// What shows that the matrix asks for the right things: with `--lab` the operator gets all of it, and nobody else anything.
#[test]
fn with_the_lab_on_it_is_the_operators_alone() {
    let on = |is_known: bool, is_operator: bool, done: u16| match (is_known, is_operator) {
        (false, _) => 401,
        (true, false) => 403,
        (true, true) => done,
    };
    lab_answers("lab-on", &["--lab"], on);
}
