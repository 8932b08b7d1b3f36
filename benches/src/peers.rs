//! How each server is started, all with their data below one scratch directory.

use crate::report::run;
use crate::request::{Site, file_name, noise};
use crate::server::{Launch, free_port};
use crate::work::{LARGE, LARGE_COUNT, SMALL, SMALL_COUNT};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Where everything is that a race needs.
#[derive(clap::Args)]
pub struct Stage {
    /// The binary that is measured
    #[arg(long, default_value = "target/release/lazuli")]
    pub lazuli: PathBuf,
    /// Where conformance/install put Azurite and Node
    #[arg(long, env = "LAZULI_CLIENTS")]
    pub clients: PathBuf,
    /// Data of all servers goes below here, and is removed at the end. Must be on a disk
    #[arg(long, default_value = "target")]
    pub scratch: PathBuf,
}

pub fn lazuli(binary: &Path, scratch: &Path) -> io::Result<Launch> {
    lazuli_at("--blob-port", binary, scratch, &[])
}

/// With more flags.
pub fn lazuli_with(binary: &Path, scratch: &Path, flags: &[&str]) -> io::Result<Launch> {
    lazuli_at("--blob-port", binary, scratch, flags)
}

pub fn lazuli_queue(binary: &Path, scratch: &Path) -> io::Result<Launch> {
    lazuli_at("--queue-port", binary, scratch, &[])
}

pub fn lazuli_table(binary: &Path, scratch: &Path) -> io::Result<Launch> {
    lazuli_at("--table-port", binary, scratch, &[])
}

pub fn lazuli_file(binary: &Path, scratch: &Path) -> io::Result<Launch> {
    lazuli_at("--file-port", binary, scratch, &[])
}

/// Data Lake, with Blob at another port of the same server.
pub fn lazuli_lake(binary: &Path, scratch: &Path, flags: &[&str]) -> io::Result<(Launch, SocketAddr)> {
    let blob_port = free_port()?;
    let own_port = blob_port.to_string();
    let flags = [&["--blob-port", &own_port], flags].concat();
    Ok((lazuli_at("--dfs-port", binary, scratch, &flags)?, (Ipv4Addr::LOCALHOST, blob_port).into()))
}

/// Durable writes are Lazuli's default and cannot be turned off.
fn lazuli_at(service: &str, binary: &Path, scratch: &Path, flags: &[&str]) -> io::Result<Launch> {
    const PORTS: [&str; 7] =
        ["--blob-port", "--queue-port", "--table-port", "--file-port", "--dfs-port", "--smb-port", "--console-port"];
    let location = scratch.join("lazuli");
    fs::create_dir_all(&location)?;
    let port = free_port()?;
    let own_port = port.to_string();
    let mut command = vec![text(binary), "serve", "--silent", "--host", "127.0.0.1", "--location", text(&location)];
    for other in PORTS.into_iter().filter(|port| !flags.contains(port)) {
        command.extend([other, if other == service { &own_port } else { "0" }]);
    }
    command.extend(flags);
    Ok(Launch::new("Lazuli", port, &command))
}

pub fn azurite(clients: &Path, scratch: &Path) -> io::Result<Launch> {
    azurite_at("blob", clients, scratch)
}

pub fn azurite_queue(clients: &Path, scratch: &Path) -> io::Result<Launch> {
    azurite_at("queue", clients, scratch)
}

/// In memory, and with much of it: what it saves it saves as one string, which can be no longer than 512 MB, and a million entities
/// are. So it promises even less than it does by default, and is spared the work.
pub fn azurite_table(clients: &Path, scratch: &Path) -> io::Result<Launch> {
    let mut launch = azurite_at("table", clients, scratch)?;
    let location = launch.command.iter().position(|word| word == "-l").expect("it has a location");
    launch.command.splice(location..location + 2, ["--inMemoryPersistence".to_owned()]);
    launch.command.insert(1, "--max-old-space-size=12000".to_owned());
    Ok(launch)
}

fn azurite_at(service: &str, clients: &Path, scratch: &Path) -> io::Result<Launch> {
    let main = clients.join(format!("azurite/node_modules/azurite/dist/src/{service}/main.js"));
    let node = clients.join("bin/node");
    if !main.exists() || !node.exists() {
        return Err(io::Error::other("Azurite is not installed: run conformance/install --bench"));
    }
    let location = scratch.join("azurite");
    fs::create_dir_all(&location)?;
    let port = free_port()?;
    let (own_port, flag) = (port.to_string(), format!("--{service}Port"));
    let mut command = vec![text(&node), text(&main), &flag, &own_port, "-l", text(&location)];
    command.extend(["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--loose"]);
    Ok(Launch::new("Azurite", port, &command))
}

/// Serves the same bytes as plain files, with sendfile.
pub fn nginx(scratch: &Path) -> io::Result<Launch> {
    nginx_with(scratch, &[("small", SMALL, SMALL_COUNT), ("large", LARGE, LARGE_COUNT)])
}

/// Of each container, so many files of so many bytes.
pub fn nginx_with(scratch: &Path, files: &[(&str, usize, u64)]) -> io::Result<Launch> {
    let root = scratch.join("nginx");
    for (container, size, count) in files {
        let directory = root.join(container);
        fs::create_dir_all(&directory)?;
        let bytes = noise(*size);
        for number in 0..*count {
            fs::write(directory.join(file_name(number)), &bytes)?;
        }
    }
    let port = free_port()?;
    let configuration = format!(
        "daemon off; worker_processes 2; pid {root}/pid; error_log stderr crit; user root root;
         events {{ worker_connections 1024; }}
         http {{
             access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; types {{ }}
             client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3;
             uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
             server {{ listen 127.0.0.1:{port}; root {root}; }}
         }}\n",
        root = root.display()
    );
    let path = root.join("nginx.conf");
    fs::write(&path, configuration)?;
    Ok(Launch::new("nginx", port, &["nginx", "-e", "stderr", "-p", text(&root), "-c", text(&path)]))
}

/// Of this program: the same answer to everything.
pub fn nothing() -> io::Result<Launch> {
    let (port, program) = (free_port()?, std::env::current_exe()?);
    Ok(Launch::new("nothing", port, &[text(&program), "nothing", "--port", &port.to_string()]))
}

/// As they name themselves; Azurite's package says it without a start.
pub fn versions(clients: &Path) -> Vec<String> {
    let package = fs::read_to_string(clients.join("azurite/node_modules/azurite/package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    let azurite = format!("Azurite {}", package["version"].as_str().unwrap_or("absent"));
    let node = format!("Node {}", run(text(&clients.join("bin/node")), &["--version"]));
    vec![azurite, node, run("nginx", &["-v"]).replace("nginx version: ", ""), run("fio", &["--version"])]
}

pub fn probe(launch: &Launch) -> crate::request::Request {
    match launch.name {
        "nginx" | "nothing" => Site::Files.get("small", SMALL_COUNT, SMALL),
        _ => Site::Azure.list_containers(),
    }
}

/// A directory that goes away with the run. It must be on a real disk, or durable writes would cost nothing.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(parent: &Path) -> io::Result<Scratch> {
        const TMPFS: i64 = 0x0102_1994;
        fs::create_dir_all(parent)?;
        let path = parent.canonicalize()?.join(format!("bench-{}", std::process::id()));
        fs::create_dir(&path)?;
        let scratch = Scratch(path);
        if rustix::fs::statfs(&scratch.0)?.f_type == TMPFS {
            return Err(io::Error::other(format!("{} is in memory: choose --scratch on a disk", parent.display())));
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{} was not removed: {error}", self.0.display());
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of the benchmark are UTF-8")
}
