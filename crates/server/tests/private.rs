//! H7: what is stored is nobody's but its owner's. Files are readable by their owner alone, whatever the umask, and account keys are in none
//! of them: they are sealed under the key file.

use std::fs::File;
use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lazuli_testkit::client::{ACCOUNT, Answer, account_sas, account_sas_of, connect, read_answer};
use lazuli_testkit::process::{Directory, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_lazuli");
const MARKED: &str = "a text that only its owner may read";

fn ask(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = connect(address).expect("it accepts");
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    head.push_str("x-ms-version: 2023-11-03\r\nConnection: close\r\n");
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(&[format!("{head}\r\n").as_bytes(), body].concat()).expect("it takes a request");
    read_answer(&mut BufReader::new(stream), method == "HEAD").expect("it answers").0
}

/// Something of every service, small and large.
fn use_every_service(server: &Server) {
    let sas = account_sas();
    let (large, page) = (MARKED.repeat(10_000), [7; 512]);
    let put = |service: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]| {
        let joint = if target.contains('?') { '&' } else { '?' };
        let target = format!("/{ACCOUNT}{target}{joint}{sas}");
        let answer = ask(server.endpoint(service), method, &target, headers, body);
        assert!(answer.status < 300, "{method} {target}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    };
    put("Blob", "PUT", "/con?restype=container", &[], b"");
    put("Blob", "PUT", "/con/small", &[("x-ms-blob-type", "BlockBlob")], MARKED.as_bytes());
    put("Blob", "PUT", "/con/large", &[("x-ms-blob-type", "BlockBlob")], large.as_bytes());
    put("Blob", "PUT", "/con/pages", &[("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "1024")], b"");
    put("Blob", "PUT", "/con/pages?comp=page", &[("x-ms-page-write", "update"), ("Range", "bytes=0-511")], &page);
    put("Queue", "PUT", "/que", &[], b"");
    let message = format!("<QueueMessage><MessageText>{MARKED}</MessageText></QueueMessage>");
    put("Queue", "POST", "/que/messages", &[], message.as_bytes());
    let json = [("Content-Type", "application/json"), ("Accept", "application/json;odata=nometadata")];
    put("Table", "POST", "/Tables", &json, br#"{"TableName":"tab"}"#);
    put("Table", "POST", "/tab", &json, format!(r#"{{"PartitionKey":"p","RowKey":"r","text":"{MARKED}"}}"#).as_bytes());
    put("File", "PUT", "/sha?restype=share", &[], b"");
    let length = large.len().to_string();
    put("File", "PUT", "/sha/file", &[("x-ms-type", "file"), ("x-ms-content-length", &length)], b"");
    let range = [("x-ms-write", "update"), ("x-ms-range", &format!("bytes=0-{}", large.len() - 1))];
    put("File", "PUT", "/sha/file?comp=range", &range, large.as_bytes());
}

/// Everything in a directory, itself included.
fn walk(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path());
        entries.for_each(|entry| all.extend(walk(&entry)));
    }
    all
}

/// What of it has rights for others than its owner.
fn wide(path: &Path) -> Vec<String> {
    let mode = |path: &Path| std::fs::symlink_metadata(path).map_or(0, |found| found.permissions().mode() & 0o777);
    let wide = walk(path).into_iter().filter(|path| mode(path) & 0o077 != 0);
    wide.map(|path| format!("{:o} {}", mode(&path), path.display())).collect()
}

fn holds(path: &Path, text: &str) -> Vec<PathBuf> {
    let files = walk(path).into_iter().filter(|path| path.is_file());
    let found = |path: &PathBuf| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).contains(text);
    files.filter(found).collect()
}

/// Run by a shell whose umask would let everybody in.
const OPEN_UMASK: [&str; 3] = ["sh", "-c", "umask 000; exec \"$0\" \"$@\""];

fn lazuli(location: &Path, words: &[&str]) -> Output {
    Command::new(BINARY).args(words).arg("--location").arg(location).output().expect("it runs")
}

/// As it ends when it refuses to start.
fn refusal(location: &Path, more: &[&str]) -> String {
    let output = Server::command(&[], BINARY, location, more).output().expect("it runs");
    assert!(!output.status.success(), "it started");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn create(location: &Path, name: &str, more: &[&str]) -> [String; 2] {
    let output = lazuli(location, &[&["account", "create", name], more].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let key = |which: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(which)).expect("a key");
        line.trim().to_owned()
    };
    [key("key1"), key("key2")]
}

fn status_with(server: &Server, account: &str, key: &str) -> u16 {
    let target = format!("/{account}/?comp=list&{}", account_sas_of(account, key));
    ask(server.address, "GET", &target, &[], b"").status
}

#[test]
fn only_its_owner_reads_the_data_directory() {
    let base = Directory::new(env!("CARGO_TARGET_TMPDIR"), "private");
    let (data, debug) = (base.0.join("data"), base.0.join("logs/debug"));
    let flags = ["--debug", debug.to_str().expect("text")];
    let server = Server::launch(Server::command(&OPEN_UMASK, BINARY, &data, &flags)).expect("it starts");
    use_every_service(&server);
    create(&data, "mine1", &[]);
    assert_eq!([wide(&data), wide(debug.parent().expect("a directory"))], [[""; 0]; 2], "while it runs");
    assert!(server.stop().expect("it stops").success());
    assert_eq!(wide(&data), [""; 0], "after a stop");
    let server = Server::launch(Server::command(&OPEN_UMASK, BINARY, &data, &[])).expect("it starts");
    put_more(&server);
    server.kill().expect("it is killed");
    assert_eq!(wide(&data), [""; 0], "after a kill");
    assert!(!holds(&data, MARKED).is_empty(), "or else nothing was looked at");
    strangers_read_nothing(&base.0, &data);
}

fn put_more(server: &Server) {
    let target = format!("/{ACCOUNT}/con/more?{}", account_sas());
    let body = MARKED.repeat(3_000);
    assert_eq!(ask(server.address, "PUT", &target, &[("x-ms-blob-type", "BlockBlob")], body.as_bytes()).status, 201);
}

/// As uid 65534. Only root can try that, and only where strangers come as far as the test's own directory.
fn strangers_read_nothing(base: &Path, data: &Path) {
    let as_nobody = |path: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "cat"]).arg(path);
        command.output().is_ok_and(|output| output.status.success())
    };
    let control = base.join("control");
    std::fs::write(&control, "everybody's").expect("a file");
    std::fs::set_permissions(&control, PermissionsExt::from_mode(0o644)).expect("its mode");
    if !as_nobody(&control) {
        eprintln!("strangers were not tried: this needs root, setpriv, and a directory that they can reach");
        return;
    }
    for file in walk(data).iter().filter(|path| path.is_file()) {
        assert!(!as_nobody(file), "a stranger reads {}", file.display());
    }
}

#[test]
fn a_directory_that_others_could_read_is_closed_to_them() {
    let base = Directory::new(env!("CARGO_TARGET_TMPDIR"), "private-old");
    let (data, log) = (base.0.join("data"), base.0.join("log"));
    Server::start(BINARY, &data, &[]).expect("it starts").stop().expect("it stops");
    for path in walk(&data) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
    }
    let mut command = Server::command(&[], BINARY, &data, &[]);
    command.stderr(File::create(&log).expect("a log"));
    Server::launch(command).expect("it starts").stop().expect("it stops");
    assert_eq!(wide(&data), [""; 0]);
    let log = std::fs::read_to_string(&log).expect("a log");
    assert!(log.contains("other users of this machine could read") && log.contains("rotate-key"), "{log}");
}

#[test]
fn account_keys_are_in_no_file_and_need_the_key_file() {
    let base = Directory::new(env!("CARGO_TARGET_TMPDIR"), "private-keys");
    let (data, elsewhere) = (base.0.join("data"), base.0.join("elsewhere.key"));
    Server::start(BINARY, &data, &[]).expect("it starts").stop().expect("it stops");
    let keys = create(&data, "mine1", &[]);
    let server = Server::start(BINARY, &data, &[]).expect("it starts");
    assert_eq!([status_with(&server, "mine1", &keys[0]), status_with(&server, "mine1", &keys[1])], [200, 200]);
    let rotated = lazuli(&data, &["account", "rotate-key", "mine1", "key2"]);
    assert!(String::from_utf8_lossy(&rotated.stdout).contains(&keys[0]), "commands reach the server");
    server.stop().expect("it stops");
    for key in &keys {
        let holders = holds(&data, key);
        assert!(holders.is_empty(), "a key stands in the clear in {holders:?}");
    }

    // The key file can be kept apart from the data, and then the data tells nothing.
    std::fs::rename(data.join("secrets.key"), &elsewhere).expect("a key file");
    let refused = refusal(&data, &[]);
    assert!(refused.contains("secrets.key is missing") && refused.contains("--key-file"), "{refused}");
    assert!(!data.join("secrets.key").exists(), "none is made where one is missing");
    let flags = ["--key-file", elsewhere.to_str().expect("text")];
    let server = Server::start(BINARY, &data, &flags).expect("it starts");
    assert_eq!(status_with(&server, "mine1", &keys[0]), 200);
    server.stop().expect("it stops");
    assert!(!data.join("secrets.key").exists());
    let mut show = Command::new(BINARY);
    show.args(["account", "show", "mine1", "--keys", "--location"]).arg(&data).env("LAZULI_KEY_FILE", &elsewhere);
    let shown = show.output().expect("it runs");
    assert!(String::from_utf8_lossy(&shown.stdout).contains(&keys[0]));

    std::fs::write(data.join("secrets.key"), "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n").expect("a file");
    let refused = refusal(&data, &[]);
    assert!(refused.contains("is not the key file of this data directory"), "{refused}");
    assert!(refused.contains("mine1") && refused.contains("--key-file"), "{refused}");
}

#[test]
fn accounts_are_given_by_a_file_and_the_command_line_is_warned_about() {
    let base = Directory::new(env!("CARGO_TARGET_TMPDIR"), "private-file");
    let (accounts, log) = (base.0.join("accounts"), base.0.join("log"));
    let key = "c2VjcmV0LWtleS1vZi10aGUtYWNjb3VudC10aGF0LWNvbWVzLWZyb20tYS1maWxl";
    std::fs::write(&accounts, format!("# ours\nmine1:{key}\n")).expect("a file");
    let path = accounts.to_str().expect("text");
    let line = format!("mine2:{key}");
    for (mode, flags, said) in [
        (0o600, &["--account-file", path][..], None),
        (0o644, &["--account-file", path], Some("chmod go-rwx")),
        (0o600, &["--account-file", path, "--account", &line], Some("list of processes")),
    ] {
        std::fs::set_permissions(&accounts, PermissionsExt::from_mode(mode)).expect("its mode");
        let mut command = Server::command(&[], BINARY, &base.0.join("data"), flags);
        command.stderr(File::create(&log).expect("a log"));
        let server = Server::launch(command).expect("it starts");
        assert_eq!(status_with(&server, "mine1", key), 200);
        let shown = lazuli(&base.0.join("data"), &["account", "show", "mine1", "--keys"]);
        assert!(String::from_utf8_lossy(&shown.stdout).contains("--account-file"), "it says where the keys are");
        server.stop().expect("it stops");
        let text = std::fs::read_to_string(&log).expect("a log");
        assert_eq!(text.contains("WARN"), said.is_some(), "{text}");
        assert!(said.is_none_or(|said| text.contains(said)) && !text.contains(key), "{text}");
    }
}
