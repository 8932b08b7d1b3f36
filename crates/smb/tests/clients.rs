//! Clients that nobody here wrote, against a server that negotiates, logs on and lists shares, and does nothing else: Samba's smbclient and
//! rpcclient, and Python's smbprotocol and impacket, as far as they are installed.

mod server;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use lazuli_smb::crypt::{Cipher, SigningAlgorithm};
use lazuli_smb::logon::{Logon, Step};
use lazuli_smb::packet::negotiate::Dialect;
use lazuli_smb::session::negotiation::Encryption;
use server::{KEY, OTHER, Server, USER};

/// `./test` installs the clients and says where Python is: then a missing one is a failure. By itself, `cargo test` does without.
fn passed_over(why: &str) {
    assert!(std::env::var_os("LAZULI_PYTHON").is_none(), "{why}; conformance/install installs it");
    eprintln!("{why}: passed over");
}

fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        passed_over(&format!("{program} is not installed"));
    }
    found
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn smbclient(server: &Server, dialect: &str, user: &str, password: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("smbclient");
    command.args(["-s", "/dev/null", "-p", &server.port.to_string(), "-U", &format!("{user}%{password}")]);
    // Ten seconds for each answer, and not twenty.
    command.args(["-t", "10", &format!("--option=client min protocol={dialect}")]);
    command.args([&format!("--option=client max protocol={dialect}")]);
    command.args(arguments).output().expect("smbclient runs")
}

const DIALECTS: [(&str, Dialect); 5] = [
    ("SMB2_02", Dialect::Smb202),
    ("SMB2_10", Dialect::Smb210),
    ("SMB3_00", Dialect::Smb300),
    ("SMB3_02", Dialect::Smb302),
    ("SMB3_11", Dialect::Smb311),
];

/// It reaches TREE_CONNECT, and checks every signature on its way there.
#[test]
fn smbclient_logs_on_in_every_dialect_signed_and_sealed() {
    if !installed("smbclient") {
        return;
    }
    for (name, dialect) in DIALECTS {
        let sealing: &[bool] = match dialect {
            Dialect::Smb202 | Dialect::Smb210 => &[false],
            Dialect::Smb300 | Dialect::Smb302 | Dialect::Smb311 => &[false, true],
        };
        for sealed in sealing {
            let server = Server::start(Encryption::Offered);
            let protection = if *sealed { "--client-protection=encrypt" } else { "--client-protection=sign" };
            let output = smbclient(&server, name, USER, KEY, &["//127.0.0.1/share", protection, "-c", "exit"]);
            assert!(output.status.success(), "{name}, sealed {sealed}: {}", text(&output));
            let report = server.report();
            assert_eq!((report.dialect, report.connected), (Some(dialect), 1), "{name}: {report:?}");
            assert_eq!(report.sealed > 0, *sealed, "{report:?}");
            assert_eq!((report.signed > 0, report.refused), (!sealed, 0), "{report:?}");
        }
    }
}

/// Each algorithm of 3.1.1 with the keys that Samba derives for it.
#[test]
fn smbclient_signs_and_seals_with_every_algorithm() {
    if !installed("smbclient") {
        return;
    }
    let run = |option: String, protection: &str| {
        let server = Server::start(Encryption::Offered);
        let arguments = ["//127.0.0.1/share", &option, protection, "-c", "exit"];
        let output = smbclient(&server, "SMB3_11", USER, KEY, &arguments);
        assert!(output.status.success(), "{option}: {}", text(&output));
        server.report()
    };
    let ciphers = [
        ("AES-128-CCM", Cipher::Aes128Ccm),
        ("AES-128-GCM", Cipher::Aes128Gcm),
        ("AES-256-CCM", Cipher::Aes256Ccm),
        ("AES-256-GCM", Cipher::Aes256Gcm),
    ];
    for (name, cipher) in ciphers {
        let option = format!("--option=client smb3 encryption algorithms={name}");
        let report = run(option, "--client-protection=encrypt");
        assert!(report.cipher == Some(cipher) && report.sealed > 0, "{name}: {report:?}");
    }
    let algorithms = [
        ("HMAC-SHA256", SigningAlgorithm::HmacSha256),
        ("AES-128-CMAC", SigningAlgorithm::AesCmac),
        ("AES-128-GMAC", SigningAlgorithm::AesGmac),
    ];
    for (name, signing) in algorithms {
        let option = format!("--option=client smb3 signing algorithms={name}");
        let report = run(option, "--client-protection=sign");
        assert!(report.signing == Some(signing) && report.signed > 0, "{name}: {report:?}");
    }
}

#[test]
fn smbclient_gets_in_with_either_key_and_any_domain() {
    if !installed("smbclient") {
        return;
    }
    for user in [USER, r"AZURE\devstoreaccount1", r"localhost\devstoreaccount1", "DEVSTOREACCOUNT1"] {
        for password in [KEY, OTHER] {
            let server = Server::start(Encryption::Offered);
            let output = smbclient(&server, "SMB3_11", user, password, &["//127.0.0.1/share", "-c", "exit"]);
            assert!(output.status.success(), "{user}: {}", text(&output));
        }
    }
}

#[test]
fn smbclient_is_refused_by_name() {
    if !installed("smbclient") {
        return;
    }
    let table = [
        (USER, "wrong", "NT_STATUS_LOGON_FAILURE"),
        ("nobody", KEY, "NT_STATUS_LOGON_FAILURE"),
        ("guest", "", "NT_STATUS_LOGON_FAILURE"),
        ("", "", "NT_STATUS_ACCESS_DENIED"),
    ];
    for (name, _) in DIALECTS {
        for (user, password, status) in table {
            let server = Server::start(Encryption::Offered);
            let output = smbclient(&server, name, user, password, &["//127.0.0.1/share", "-c", "exit"]);
            assert!(!output.status.success() && text(&output).contains(status), "{name} {user:?}: {}", text(&output));
            assert_eq!(server.report().connected, 0);
        }
    }
}

#[test]
fn where_sealing_is_required_old_dialects_do_not_get_in() {
    if !installed("smbclient") {
        return;
    }
    for (name, dialect) in DIALECTS {
        let server = Server::start(Encryption::Required);
        let output = smbclient(&server, name, USER, KEY, &["//127.0.0.1/share", "-c", "exit"]);
        let report = server.report();
        match dialect {
            Dialect::Smb202 | Dialect::Smb210 => assert!(!output.status.success(), "{name}: {}", text(&output)),
            Dialect::Smb300 | Dialect::Smb302 | Dialect::Smb311 => {
                assert!(output.status.success(), "{name}: {}", text(&output));
                assert!(report.sealed > 0 && report.signed == 0, "{report:?}");
            }
        }
    }
}

/// A client that begins with SMB 1's dialects is led to SMB 2.
#[test]
fn smbclient_comes_over_from_smb1() {
    if !installed("smbclient") {
        return;
    }
    let server = Server::start(Encryption::Offered);
    let output = Command::new("smbclient")
        .args(["-s", "/dev/null", "-p", &server.port.to_string(), "-U", &format!("{USER}%{KEY}")])
        .args(["--option=client min protocol=NT1", "--option=client max protocol=SMB3_11"])
        .args(["//127.0.0.1/share", "-c", "exit"])
        .output()
        .expect("smbclient runs");
    assert!(output.status.success(), "{}", text(&output));
    let report = server.report();
    assert_eq!((report.legacy, report.dialect), (1, Some(Dialect::Smb311)), "{report:?}");
}

#[test]
fn smbclient_lists_the_shares() {
    if !installed("smbclient") {
        return;
    }
    for (name, _) in DIALECTS {
        let server = Server::start(Encryption::Offered);
        let output = smbclient(&server, name, USER, KEY, &["-g", "-L", "//127.0.0.1"]);
        let listed = text(&output);
        for line in ["Disk|share|about share", "Disk|backup|about backup", "IPC|IPC$|"] {
            assert!(listed.contains(line), "{name}: {listed}");
        }
    }
}

/// Every level of every call, parsed by Samba's own marshalling.
#[test]
fn rpcclient_understands_every_level() {
    if !installed("rpcclient") {
        return;
    }
    let server = Server::start(Encryption::Offered);
    let run = |command: &str| {
        let output = Command::new("rpcclient")
            .args(["-s", "/dev/null", "-p", &server.port.to_string(), "-U", &format!("{USER}%{KEY}")])
            .args(["127.0.0.1", "-c", command])
            .output()
            .expect("rpcclient runs");
        text(&output)
    };
    // It knows no others.
    for level in [1, 2, 502] {
        let listed = run(&format!("netshareenumall {level}"));
        assert!(listed.contains("share"), "{level}: {listed}");
        assert!(!listed.contains("WERR_") && !listed.contains("NT_STATUS"), "{level}: {listed}");
    }
    for level in [1, 2, 502, 1005] {
        let told = run(&format!("netsharegetinfo backup {level}"));
        assert!(!told.contains("WERR_") && !told.contains("NT_STATUS") && !told.is_empty(), "{level}: {told}");
    }
    for level in [101, 102] {
        let told = run(&format!("srvinfo {level}"));
        assert!(told.contains("platform_id") && told.contains("500"), "{level}: {told}");
    }
    let missing = run("netsharegetinfo nothing 1");
    assert!(missing.contains("WERR_NERR_NETNAMENOTFOUND"), "{missing}");
    let told = run("wkssvc_wkstagetinfo 102");
    assert!(!told.contains("NT_STATUS") && !told.contains("WERR_"), "{told}");
}

/// A Python with the module in it, if there is one: `LAZULI_PYTHON`, or the system's.
fn python(module: &str) -> Option<String> {
    let program = std::env::var("LAZULI_PYTHON").unwrap_or("python3".to_owned());
    let has = Command::new(&program).args(["-c", &format!("import {module}")]).output();
    let found = has.is_ok_and(|output| output.status.success());
    if !found {
        passed_over(&format!("{program} has no {module}"));
    }
    found.then_some(program)
}

fn script(program: &str, name: &str, server: &Server, arguments: &[&str]) -> String {
    let path = format!("{}/tests/clients/{name}.py", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(program).args([&path, &server.port.to_string()]).args(arguments).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{name} {arguments:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn smbprotocol_logs_on_in_every_dialect() {
    let Some(program) = python("smbprotocol") else { return };
    for (_, dialect) in DIALECTS {
        for sealed in [false, true] {
            if sealed && dialect < Dialect::Smb300 {
                continue;
            }
            let server = Server::start(Encryption::Offered);
            let number = format!("{:#x}", dialect.code());
            let sealing = if sealed { "sealed" } else { "signed" };
            let told = script(&program, "smbprotocol_client", &server, &[&number, sealing, USER, KEY]);
            assert_eq!(told, "connected");
            let report = server.report();
            assert_eq!((report.dialect, report.connected), (Some(dialect), 1), "{report:?}");
            assert_eq!(report.sealed > 0, sealed, "{report:?}");
        }
    }
    let server = Server::start(Encryption::Offered);
    let told = script(&program, "smbprotocol_client", &server, &["0x311", "signed", USER, "wrong"]);
    assert_eq!(told, "0xc000006d");
}

#[test]
fn impacket_logs_on_and_lists_the_shares() {
    let Some(program) = python("impacket") else { return };
    for (_, dialect) in DIALECTS {
        let server = Server::start(Encryption::Offered);
        let number = format!("{:#x}", dialect.code());
        // Impacket has no 3.0.2.
        if dialect == Dialect::Smb302 {
            continue;
        }
        let told = script(&program, "impacket_client", &server, &[&number, USER, KEY]);
        assert_eq!(told, "share backup IPC$", "{dialect:?}");
        let server = Server::start(Encryption::Offered);
        let told = script(&program, "impacket_client", &server, &[&number, USER, "wrong"]);
        assert_eq!(told, "0xc000006d", "{dialect:?}");
    }
}

/// The tokens alone, without SMB around them: pyspnego has an NTLM of its own.
#[test]
fn pyspnego_and_the_logon_agree_on_the_key() {
    let Some(program) = python("spnego") else { return };
    let table = [(USER, KEY, "negotiate"), (r"AZURE\devstoreaccount1", OTHER, "negotiate"), (USER, KEY, "ntlm")];
    for (user, password, protocol) in table {
        let (key, told) = exchange(&program, &[protocol, user, password]);
        assert_eq!(key.as_deref(), told.strip_prefix("key "), "{protocol} {user}");
    }
    let (key, _) = exchange(&program, &["negotiate", USER, "wrong"]);
    assert_eq!(key, None);
}

/// Both sides' keys, in hexadecimal digits; `None` if the logon is refused.
fn exchange(program: &str, arguments: &[&str]) -> (Option<String>, String) {
    let path = format!("{}/tests/clients/spnego_client.py", env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(program)
        .arg(path)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Python runs");
    let mut input = child.stdin.take().expect("a pipe");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let (mut logon, mut key) = (Logon::new("lazuli"), None);
    let mut told = String::new();
    for line in lines {
        if line.starts_with("key ") {
            told = line;
            break;
        }
        let answer = match logon.step(unhex(&line).into(), server::NOW, [3; 8], server::passwords) {
            Step::Continue(token) => token,
            Step::Done(identity) => {
                key = Some(hex(&identity.session_key));
                identity.token
            }
            Step::Nobody(_) | Step::Refused(_) => break,
        };
        writeln!(input, "{}", hex(&answer)).expect("the client reads");
    }
    drop(input);
    let _ = child.wait();
    (key, told)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).expect("digits")).collect()
}
