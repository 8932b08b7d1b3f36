//! What an operator and a newcomer meet: health, the console, logs, signals, accounts, ports. The real binary, asked as they would.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lazuli_testkit::client::{Answer, Client, account_sas, connect, read_answer};
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
const ACCOUNT: &str = "devstoreaccount1";

fn directory(name: &str) -> Directory {
    Directory::new(env!("CARGO_TARGET_TMPDIR"), name)
}

fn start(directory: &Directory, more: &[&str]) -> Server {
    Server::start(BINARY, &directory.0.join("data"), more).expect("it starts")
}

/// Asks by a name of the test's choice.
fn ask(at: SocketAddr, method: &str, target: &str, host: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = connect(at).expect("it accepts");
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).expect("it takes a request");
    read_answer(&mut BufReader::new(stream), method == "HEAD").expect("it answers").0
}

fn get(at: SocketAddr, target: &str) -> (u16, String) {
    let answer = ask(at, "GET", target, &at.to_string(), &[], "");
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

/// Whether it is ready, and the names of the checks that failed.
fn ready(at: SocketAddr) -> (u16, Vec<String>) {
    let (status, body) = get(at, "/readyz");
    let read: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let bad = read["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false);
    let names = bad.inspect(|check| assert!(check["do"].is_string(), "{check} says what to do"));
    (status, names.map(|check| check["name"].as_str().unwrap_or_default().to_owned()).collect())
}

fn put_blob(client: &mut Client, path: &str, body: &[u8]) -> u16 {
    let kind = [("x-ms-blob-type", "BlockBlob")];
    client.send("PUT", path, "", &kind, body).expect("an answer").status
}

fn container(client: &mut Client, name: &str) {
    assert_eq!(client.send("PUT", name, "restype=container", &[], b"").expect("an answer").status, 201);
}

fn lazuli(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().expect("it runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_missing_extent_is_seen_and_named() {
    let directory = directory("extents");
    let server = start(&directory, &[]);
    let mut client = Client::new(server.address);
    container(&mut client, "con");
    assert_eq!(put_blob(&mut client, "con/large", &vec![7; 1 << 20]), 201);
    let console = server.console();
    assert_eq!(get(console, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(ready(console), (200, vec![]));
    for file in fs::read_dir(directory.0.join("data/extents")).expect("extents") {
        fs::remove_file(file.expect("a file").path()).expect("removed");
    }
    assert_eq!(ready(console), (503, vec!["content".to_owned()]));
    let (_, metrics) = get(console, "/metrics");
    assert!(!metrics.contains("lazuli_content_extents_missing 0\n"), "{metrics}");
    assert_eq!(get(console, "/healthz").0, 200, "it is alive all the same");
}

/// A small file system, mounted for the test that fills it.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: PathBuf) -> Self {
        fs::create_dir_all(&path).expect("a place");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256m", "tmpfs"]).arg(&path).status();
        assert!(mounted.expect("mount runs").success(), "this test mounts a tmpfs: run it as root");
        Self(path)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_seen_and_so_is_its_end() {
    let directory = directory("full");
    let disk = Tmpfs::mount(directory.0.join("disk"));
    let server = Server::start(BINARY, &disk.0.join("data"), &[]).expect("it starts");
    let mut client = Client::new(server.address);
    container(&mut client, "con");
    let console = server.console();
    assert_eq!(ready(console), (200, vec![]));
    let ballast = disk.0.join("ballast");
    // Until there is no more: what the server keeps for itself, it has.
    let mut filling = Command::new("dd");
    filling.args(["if=/dev/zero", "bs=1M", "status=none"]).arg(format!("of={}", ballast.display()));
    let _ = filling.stderr(Stdio::null()).status().expect("dd runs");
    assert_eq!(ready(console), (503, vec!["disk".to_owned()]));
    assert_eq!(put_blob(&mut client, "con/blob", &vec![7; 1 << 20]), 503);
    let (_, metrics) = get(console, "/metrics");
    assert!(metrics.contains("lazuli_disk_has_room 0\n"), "{metrics}");
    assert!(!metrics.contains("lazuli_content_turned_away_total 0\n"), "{metrics}");
    fs::remove_file(&ballast).expect("removed");
    assert_eq!(ready(console), (200, vec![]));
    assert_eq!(put_blob(&mut client, "con/blob", &vec![7; 1 << 20]), 201);
    assert!(server.stop().expect("it stops").success());
}

#[test]
fn a_server_that_stops_says_so_until_the_last_request_has_ended() {
    let directory = directory("stopping");
    let server = start(&directory, &[]);
    let (console, address) = (server.console(), server.address);
    container(&mut Client::new(address), "con");
    let mut slow = connect(address).expect("it accepts");
    let sas = account_sas();
    let head = format!(
        "PUT /{ACCOUNT}/con/slow?{sas} HTTP/1.1\r\nHost: {address}\r\nx-ms-blob-type: BlockBlob\r\nExpect: 100-continue\r\n\
         Connection: close\r\nContent-Length: 4\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).expect("a head");
    let mut slow = BufReader::new(slow);
    let mut line = String::new();
    slow.read_line(&mut line).expect("it begins");
    assert!(line.contains("100"), "{line}");
    slow.read_line(&mut line).expect("the end of its head");
    server.signal("TERM").expect("sent");
    // The signal takes a moment to arrive; a server that no longer answers fails here.
    while ready(console).0 == 200 {}
    assert_eq!(ready(console), (503, vec!["process".to_owned()]));
    slow.get_mut().write_all(b"body").expect("a body");
    assert_eq!(read_answer(&mut slow, false).expect("an answer").0.status, 201);
    assert!(server.stop().expect("it ends").success());
}

/// L6: a page whose name was made to point here reads nothing.
#[test]
fn the_console_answers_to_addresses_and_known_names_only() {
    let directory = directory("rebinding");
    let server = start(&directory, &["--console-name", "lazuli.internal"]);
    let console = server.console();
    let port = console.port();
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("lazuli.internal:{port}"), 200),
        (format!("evil.example:{port}"), 421),
        ("127.0.0.1.evil.example".to_owned(), 421),
    ] {
        for path in ["/healthz", "/readyz", "/metrics", "/"] {
            let answer = ask(console, "GET", path, &host, &[], "");
            assert_eq!(answer.status, status, "{host} {path}");
            assert!(status == 200 || !String::from_utf8_lossy(&answer.body).contains("lazuli_"), "{host} {path}");
        }
    }
    let token = fs::read_to_string(directory.0.join("data/console.json")).expect("the console's file");
    let token: serde_json::Value = serde_json::from_str(&token).expect("JSON");
    let bearer = format!("Bearer {}", token["token"].as_str().expect("a token"));
    let list = |host: &str| ask(console, "POST", "/account", host, &[("Authorization", &bearer)], "\"List\"").status;
    assert_eq!((list("evil.example"), list(&console.to_string())), (421, 200));
}

#[test]
fn counters_count_what_their_help_says() {
    let directory = directory("counters");
    let server = start(&directory, &[]);
    let mut client = Client::new(server.address);
    container(&mut client, "con");
    assert_eq!(put_blob(&mut client, "con/blob", b"12345"), 201);
    assert_eq!(client.send("HEAD", "con/blob", "", &[], b"").expect("an answer").status, 200);
    assert_eq!(client.send("GET", "con/blob", "", &[], b"").expect("an answer").status, 200);
    // Refused before it was run, and still a Put Blob.
    let unsigned = ask(
        server.address,
        "PUT",
        &format!("/{ACCOUNT}/con/blob"),
        "localhost",
        &[("x-ms-blob-type", "BlockBlob")],
        "",
    );
    assert!((400..500).contains(&unsigned.status));
    let (_, metrics) = get(server.console(), "/metrics");
    for line in [
        "lazuli_requests_total{operation=\"PutBlob\",status=\"2xx\"} 1",
        "lazuli_requests_total{operation=\"PutBlob\",status=\"4xx\"} 1",
        "lazuli_requests_total{operation=\"CreateContainer\",status=\"2xx\"} 1",
        "lazuli_request_bytes_total{operation=\"PutBlob\"} 5",
        "lazuli_response_bytes_total{operation=\"GetBlob\"} 5",
        "lazuli_response_bytes_total{operation=\"GetBlobProperties\"} 0",
        "lazuli_content_turned_away_total 0",
        "lazuli_engine_open 1",
        "lazuli_disk_has_room 1",
        "lazuli_content_extents_missing 0",
        "lazuli_clock_ahead_seconds 0.000",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is missing from:\n{metrics}");
    }
    drop(client);
    let connections =
        |metrics: &str| metrics.lines().find_map(|line| line.strip_prefix("lazuli_connections ")?.parse().ok());
    let held: Vec<_> = (0..3).map(|_| connect(server.address).expect("it accepts")).collect();
    let mut counted: Option<u32> = None;
    for _ in 0..1000 {
        counted = connections(&get(server.console(), "/metrics").1);
        if counted == Some(3) {
            break;
        }
    }
    assert_eq!(counted, Some(3), "{} are open", held.len());
}

#[test]
fn the_access_log_has_who_what_and_how_it_ended_but_no_signature() {
    let directory = directory("access");
    let log = directory.0.join("log");
    let mut command =
        Server::command(&[], BINARY, &directory.0.join("data"), &["--access-log", "--log-format", "json"]);
    command.stderr(fs::File::create(&log).expect("a log"));
    let server = Server::launch(command).expect("it starts");
    let sas = account_sas();
    let signature = sas.split_once("&sig=").expect("it is signed").1.to_owned();
    let disguised = sas.replace("&sig=", "&%53i%67=");
    for query in [format!("comp=list&{sas}"), format!("comp=list&{disguised}")] {
        ask(server.address, "GET", &format!("/{ACCOUNT}/?{query}"), "localhost", &[("User-Agent", "tester/1.0")], "");
    }
    let missing = format!("/{ACCOUNT}/none/blob?{sas}");
    assert_eq!(ask(server.address, "GET", &missing, "localhost", &[("User-Agent", "tester/1.0")], "").status, 404);
    assert!(server.stop().expect("it stops").success());
    let log = fs::read_to_string(&log).expect("a log");
    assert!(!log.contains(&signature), "the signature is in the log:\n{log}");
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let line = lines.into_iter().find(|line| line["code"] == "ContainerNotFound").expect("the refusal is logged");
    assert_eq!(
        (&line["account"], &line["agent"], &line["status"]),
        (&ACCOUNT.into(), &"tester/1.0".into(), &404.into())
    );
    assert_eq!((&line["operation"], &line["method"]), (&"GetBlob".into(), &"GET".into()));
    let query = line["query"].as_str().expect("a query");
    assert!(query.starts_with("sv=") && query.ends_with("sig=…"), "{query}");
    assert!(log.contains("comp=list"), "{log}");
}

#[test]
fn a_hangup_reopens_the_log_and_ends_nothing() {
    let directory = directory("hangup");
    let (log, old) = (directory.0.join("debug.log"), directory.0.join("debug.log.1"));
    let server = start(&directory, &["--debug", &log.display().to_string()]);
    let mut client = Client::new(server.address);
    container(&mut client, "before");
    fs::rename(&log, &old).expect("moved");
    server.signal("HUP").expect("sent");
    let reopened = || fs::read_to_string(&log).is_ok_and(|text| text.contains("certificate"));
    while !reopened() {
        assert_eq!(get(server.console(), "/healthz").0, 200, "it goes on");
    }
    container(&mut client, "after");
    assert!(server.stop().expect("it stops").success());
    let (old, new) = (fs::read_to_string(&old).expect("the old"), fs::read_to_string(&log).expect("the new"));
    assert!(old.contains("/before") && !old.contains("/after"), "{old}");
    assert!(new.contains("/after") && !new.contains("/before"), "{new}");
}

#[test]
fn a_command_makes_no_store_unless_it_is_told_to() {
    let directory = directory("location");
    let wrong = directory.0.join("mistyped").display().to_string();
    for command in [&["list"][..], &["show", ACCOUNT], &["create", "another1"], &["set", ACCOUNT, "versioning=on"]] {
        let ran = lazuli(&[&["account", "--location", &wrong], command].concat());
        assert!(!ran.status.success() && said(&ran).contains("--create"), "{command:?}: {}", said(&ran));
        assert!(!Path::new(&wrong).exists(), "{command:?} made something");
    }
    let ran = lazuli(&["account", "--location", &wrong, "create", "another1", "--create"]);
    assert!(ran.status.success(), "{}", said(&ran));
    let ran = lazuli(&["account", "--location", &wrong, "show", "another1", "--keys"]);
    assert!(said(&ran).contains("key1"), "{}", said(&ran));
    let ran = lazuli(&["account", "--location", &wrong, "show", ACCOUNT, "--keys"]);
    assert!(said(&ran).contains("--account") && said(&ran).contains("Eby8vdM02xNOcqFl"), "{}", said(&ran));
}

/// L7: the account's own setting names hosts that may be copied from.
#[test]
fn an_account_says_where_copies_may_come_from() {
    let (here, there) = (directory("copy-here"), directory("copy-there"));
    let (source, target) = (start(&there, &[]), start(&here, &[]));
    let (mut from, mut to) = (Client::new(source.address), Client::new(target.address));
    container(&mut from, "con");
    container(&mut to, "con");
    assert_eq!(put_blob(&mut from, "con/blob", b"far away"), 201);
    let url = format!("http://{}/{ACCOUNT}/con/blob?{}", source.address, account_sas());
    let mut copy = |name: &str| {
        let headers = [("x-ms-copy-source", url.as_str()), ("x-ms-requires-sync", "true")];
        to.send("PUT", &format!("con/{name}"), "", &headers, b"").expect("an answer").status
    };
    let location = here.0.join("data").display().to_string();
    let set = |value: &str| {
        let ran = lazuli(&["account", "--location", &location, "set", ACCOUNT, &format!("copy-sources={value}")]);
        assert!(ran.status.success(), "{}", said(&ran));
    };
    assert_eq!(copy("forbidden"), 403);
    set("127.0.0.1:1,example.com");
    assert_eq!(copy("elsewhere"), 403);
    set(&source.address.to_string());
    assert_eq!(copy("allowed"), 202);
    set("off");
    assert_eq!(copy("again"), 403);
    assert_eq!(to.send("GET", "con/allowed", "", &[], b"").expect("an answer").body, b"far away");
}

#[test]
fn a_website_comes_with_its_container() {
    let directory = directory("website");
    let server = start(&directory, &[]);
    let mut client = Client::new(server.address);
    let exists =
        |client: &mut Client| client.send("GET", "$web", "restype=container", &[], b"").expect("an answer").status;
    let mut enable = |enabled: bool| {
        let body = format!(
            "<StorageServiceProperties><StaticWebsite><Enabled>{enabled}</Enabled></StaticWebsite></StorageServiceProperties>"
        );
        let set = client.send("PUT", "", "restype=service&comp=properties", &[], body.as_bytes()).expect("an answer");
        assert_eq!(set.status, 202);
        exists(&mut client)
    };
    assert_eq!([enable(false), enable(true), enable(true), enable(false)], [404, 200, 200, 200]);
    assert_eq!(put_blob(&mut client, "$web/index.html", b"hello"), 201);
}

#[test]
fn a_flat_account_tells_lake_clients_so() {
    let directory = directory("lake");
    let server = start(&directory, &[]);
    container(&mut Client::new(server.address), "con");
    let sas = account_sas();
    for at in [server.address, lake(&server)] {
        let probe = |method: &str, query: &str| {
            ask(at, method, &format!("/{ACCOUNT}/con/{query}"), "localhost", &[("x-ms-acl", "user::rwx")], "")
        };
        for (method, query) in
            [("HEAD", "?action=getAccessControl"), ("PATCH", "file?action=setAccessControlRecursive&mode=set")]
        {
            let answer = probe(method, &format!("{query}&{sas}"));
            assert_eq!(
                (answer.status, answer.code()),
                (400, "HierarchicalNamespaceNotEnabled"),
                "{at} {method} {query}"
            );
            if method != "HEAD" {
                let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
                assert_eq!(body["error"]["code"], "HierarchicalNamespaceNotEnabled");
                assert_eq!(answer.header("content-type"), Some("application/json;charset=utf-8"));
            }
            let unsigned = probe(method, query);
            assert_eq!((unsigned.status, unsigned.code()), (403, "AuthenticationFailed"), "{at} {method} {query}");
        }
        // Much of it works there, with directories as blobs that say so.
        assert_eq!(probe("PUT", &format!("file?resource=file&{sas}")).status, 201);
        assert_eq!(probe("GET", &format!("?resource=filesystem&recursive=true&{sas}")).status, 200);
        let listed = ask(at, "GET", &format!("/{ACCOUNT}/con?restype=container&comp=list&{sas}"), "localhost", &[], "");
        assert_eq!(listed.status, 200, "blobs are to be had on both ports");
    }
}

/// Where the Data Lake port is.
fn lake(server: &Server) -> SocketAddr {
    let line = server.banner().lines().find(|line| line.contains("Data Lake")).expect("it is announced");
    let rest = line.split_once("http://").expect("a URL").1;
    rest.split('/').next().expect("an address").parse().expect("an address")
}

#[test]
fn accounts_are_in_the_path_whatever_the_host_is_called() {
    let directory = directory("path-style");
    let server = start(&directory, &["--disableProductStyleUrl"]);
    container(&mut Client::new(server.address), "con");
    let target = format!("/{ACCOUNT}/con?restype=container&{}", account_sas());
    for host in ["storage.example.com", "azurite.blob.internal", "blob.example.com", "a.table.local:10000"] {
        assert_eq!(ask(server.address, "GET", &target, host, &[], "").status, 200, "{host}");
    }
}

#[test]
fn ports_that_nobody_asked_for_move() {
    let directory = directory("ports");
    let known = [("File", 10003), ("Data Lake", 10004), ("Website", 10005), ("Console", 10080)];
    // A port that another process holds may be released at any time, so it proves nothing.
    let held = known.map(|(name, port)| (name, TcpListener::bind(("127.0.0.1", port)).ok()));
    let mut command = Command::new(BINARY);
    command.arg("--location").arg(directory.0.join("data"));
    command.args(["--blob-port", "0", "--queue-port", "0", "--table-port", "0"]);
    let server = Server::launch(command).expect("it starts though other ports are taken");
    for (name, held) in &held {
        let line = server.banner().lines().find(|line| line.trim_start().starts_with(name)).expect("it is announced");
        assert!(held.is_none() || line.contains("is taken"), "{line}");
    }
    assert_eq!(get(server.console(), "/healthz").0, 200);
    let asked = lazuli(&["--location", "unused", "--blob-port", &server.address.port().to_string()]);
    assert!(said(&asked).contains("--blob-port"), "a port that clients know does not move: {}", said(&asked));
}

#[test]
fn an_open_door_with_the_public_key_is_warned_about() {
    let table: [(&[&str], bool); 4] = [
        (&["--host", "0.0.0.0", "--extentMemoryLimit", "5"], true),
        (&["--blobHost", "0.0.0.0", "--silent"], true),
        (&["--host", "127.0.0.1"], false),
        (&["--host", "0.0.0.0", "--account", "mine:a2V5"], false),
    ];
    for (number, (flags, warned)) in table.into_iter().enumerate() {
        let directory = directory(&format!("public-{number}"));
        let log = directory.0.join("log");
        let mut command = Server::command(&[], BINARY, &directory.0.join("data"), flags);
        let errors = fs::File::create(&log).expect("a log");
        let mut child = command.stdout(Stdio::null()).stderr(errors).spawn().expect("it starts");
        while !directory.0.join("data/console.json").exists() {
            assert!(child.try_wait().expect("a state").is_none(), "{flags:?}: it ended");
        }
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        assert!(child.wait().expect("it ends").success());
        let log = fs::read_to_string(&log).expect("a log");
        assert_eq!(log.matches("is public").count(), usize::from(warned), "{flags:?}: {log}");
        assert_eq!(log.contains("no effect"), flags.contains(&"--extentMemoryLimit"), "{flags:?}: {log}");
    }
}

/// Starts the binary under a name of Azurite's, and gives what it says until `last`, and after SIGTERM.
fn as_azurite(directory: &Directory, name: &str, flags: &[&str], last: &str) -> (Vec<String>, Vec<String>) {
    let link: PathBuf = directory.0.join(name);
    std::os::unix::fs::symlink(BINARY, &link).expect("a link");
    let mut child = Command::new(&link)
        .args(["--location", &directory.0.join("work").display().to_string()])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("stdout was piped"));
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains(last)) {
        let mut line = String::new();
        assert_ne!(out.read_line(&mut line).expect("a line"), 0, "it ended after {lines:?}");
        lines.push(line.trim_end().to_owned());
    }
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert!(child.wait().expect("it ends").success());
    (lines, rest.lines().map(str::to_owned).collect())
}

#[test]
fn called_as_azurite_it_says_what_fixtures_wait_for() {
    let directory = directory("azurite");
    // Other files in the workspace do not matter.
    fs::create_dir_all(directory.0.join("work")).expect("a workspace");
    fs::write(directory.0.join("work/package.json"), "{}").expect("another file");
    let ports = ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0", "--blobHost", "localhost"];
    // All that it knows, besides what is in the other tests.
    let others = "--silent --loose --skipApiVersionCheck --disableTelemetry --disableProductStyleUrl --oauth basic \
                  --blobKeepAliveTimeout 5 --queueKeepAliveTimeout 5 --tableKeepAliveTimeout 5";
    let flags: Vec<&str> = ports.into_iter().chain(others.split_whitespace()).collect();
    let (lines, rest) = as_azurite(&directory, "azurite", &flags, "Table service is successfully listening at");
    for (service, host) in [("Blob", "localhost"), ("Queue", "127.0.0.1"), ("Table", "127.0.0.1")] {
        assert!(lines.contains(&format!("Azurite {service} service is starting at http://{host}:0")), "{lines:?}");
        let start = format!("Azurite {service} service is successfully listening at http://{host}:");
        let line = lines.iter().find_map(|line| line.strip_prefix(&start)).expect("it listens");
        assert!(line.parse::<u16>().is_ok_and(|port| port > 0), "{line}");
        assert!(rest.contains(&format!("Azurite {service} service is closing...")), "{rest:?}");
        assert!(rest.contains(&format!("Azurite {service} service successfully closed")), "{rest:?}");
    }
    assert_eq!(lines.len(), 6, "nothing else is said: {lines:?}");
    assert!(directory.0.join("work/lazuli-data").is_dir());
}

#[test]
fn each_of_azurites_programs_starts_its_own_service() {
    for (program, service, own) in [
        ("azurite-blob", "Blob", "successfully listens on http://127.0.0.1:"),
        ("azurite-queue", "Queue", "successfully listens on http://127.0.0.1:"),
        ("azurite-table", "Table", "successfully started on 127.0.0.1:"),
    ] {
        let directory = directory(program);
        let port = format!("--{}Port", service.to_lowercase());
        let (lines, _) = as_azurite(&directory, program, &["-s", &port, "0"], own);
        assert!(lines.iter().all(|line| line.starts_with(&format!("Azurite {service} service"))), "{lines:?}");
        let common = format!("Azurite {service} service is successfully listening at http://127.0.0.1:");
        assert!(lines.iter().any(|line| line.starts_with(&common)), "{lines:?}");
    }
}
