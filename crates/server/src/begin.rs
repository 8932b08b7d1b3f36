//! What is there from the start: `--create container:pictures,queue:jobs,table:cats,share:home`, and `--seed DIR`, whose directories are containers and
//! whose files are blobs. Held true: what is there already stays as it is, so a second start changes nothing.

use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST};
use lazuli_http::Service;
use lazuli_http::accounts::Account;

use crate::api::encoded;
use crate::api::loopback::Loopback;

/// Files beyond this are not for a seed: they would be held in memory.
const FILE_MAX: u64 = 256 << 20;

/// A kind and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    Container(String),
    Queue(String),
    Table(String),
    Share(String),
}

/// `container:pictures,queue:jobs`
pub fn parse(text: &str) -> Result<Vec<Created>, String> {
    let one = |part: &str| {
        let (kind, name) = part
            .split_once(':')
            .ok_or_else(|| format!("{part}: write KIND:NAME, as in container:pictures or queue:jobs"))?;
        let name = name.to_owned();
        match kind {
            "container" => Ok(Created::Container(name)),
            "queue" => Ok(Created::Queue(name)),
            "table" => Ok(Created::Table(name)),
            "share" => Ok(Created::Share(name)),
            _ => Err(format!("{kind}: there are container, queue, table and share")),
        }
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

/// Makes what was asked for in `account`.
pub async fn create(loopback: &Loopback, account: &Account, all: &[Created]) -> Result<(), String> {
    for one in all {
        let (service, method, path, body) = match one {
            Created::Container(name) => (Service::Blob, "PUT", format!("{name}?restype=container"), String::new()),
            Created::Queue(name) => (Service::Queue, "PUT", name.clone(), String::new()),
            Created::Share(name) => (Service::File, "PUT", format!("{name}?restype=share"), String::new()),
            Created::Table(name) => {
                (Service::Table, "POST", "Tables".to_owned(), serde_json::json!({"TableName": name}).to_string())
            }
        };
        let json = [("content-type", "application/json")];
        let headers = if service == Service::Table { &json[..] } else { &[] };
        let status = put(loopback, account, service, method, &path, headers, body.into()).await?;
        if !matches!(status, 200..300 | 409) {
            return Err(format!("--create: {one:?} cannot be made ({status}); is the name valid?"));
        }
    }
    Ok(())
}

/// Puts the files of each directory in `seed` into the container of its name, unless they are there.
pub async fn seed(loopback: &Loopback, account: &Account, seed: &Path) -> Result<u64, String> {
    let mut count = 0;
    for container in entries(seed)? {
        if !container.is_dir() {
            return Err(format!(
                "{}: --seed is a directory of directories, one for each container",
                container.display()
            ));
        }
        let name = text(&container)?;
        create(loopback, account, &[Created::Container(name.clone())]).await?;
        let mut directories = vec![container.clone()];
        while let Some(directory) = directories.pop() {
            for entry in entries(&directory)? {
                if entry.is_dir() {
                    directories.push(entry);
                    continue;
                }
                count += u64::from(seed_file(loopback, account, &name, &container, &entry).await?);
            }
        }
    }
    Ok(count)
}

async fn seed_file(
    loopback: &Loopback,
    account: &Account,
    container: &str,
    root: &Path,
    file: &Path,
) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    if std::fs::metadata(file).map_err(failed)?.len() > FILE_MAX {
        return Err(format!("{}: files of a seed have up to 256 MiB; use `lazuli cp`", file.display()));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let parts: Result<Vec<String>, String> =
        file.strip_prefix(root).unwrap_or(file).components().map(|part| text(part.as_os_str().as_ref())).collect();
    let path = format!("{container}/{}", encoded(&parts?.join("/")));
    let headers = [("x-ms-blob-type", "BlockBlob"), ("if-none-match", "*"), ("x-ms-blob-content-type", kind(file))];
    match put(loopback, account, Service::Blob, "PUT", &path, &headers, bytes.into()).await? {
        200..300 => Ok(true),
        409 => Ok(false),
        status => Err(format!("{}: the blob cannot be made ({status})", file.display())),
    }
}

async fn put(
    loopback: &Loopback,
    account: &Account,
    service: Service,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<u16, String> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/{}/{path}", account.name().as_str()))
        .header(HOST, "127.0.0.1")
        .header("user-agent", "lazuli-begin")
        .header(CONTENT_LENGTH, body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).map_err(|error| format!("{path}: {error}"))?;
    let answer = loopback.send_signed(service, std::net::Ipv4Addr::LOCALHOST.into(), account, request).await?;
    let status = answer.status().as_u16();
    let _ = answer.into_body().collect().await;
    Ok(status)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    Ok(entries)
}

fn text(path: &Path) -> Result<String, String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| format!("{}: a name must be UTF-8", path.display()))
}

/// By the end of a file's name, for what browsers show.
pub fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html",
        "txt" | "md" => "text/plain",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_create_is_a_list() {
        let all = parse("container:pictures, queue:jobs,table:cats,share:home").unwrap();
        assert_eq!(all[0], Created::Container("pictures".into()));
        assert_eq!(all.len(), 4);
        assert!(parse("pictures").is_err() && parse("bucket:pictures").is_err());
    }
}
