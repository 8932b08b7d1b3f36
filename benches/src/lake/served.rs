//! Work at the server that is several calls in a row: files written part by part through both doors, and directories listed to their end.

use super::{ALL_PAGE, Work};
use crate::azure::{Call, Client};
use crate::request::{FileSystem, encode, noise};
use crate::turns::Turn;
use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which API writes.
#[derive(Clone, Copy)]
pub enum Door {
    Lake,
    Blob,
}

/// A new file at each turn, in so many parts, or a file of the client's own that grows.
pub fn writer<'a>(
    at: SocketAddr,
    door: Door,
    work: Work,
    (parts, size): (u64, u64),
    numbers: &'a AtomicU64,
) -> io::Result<Turn<'a>> {
    let mut client = Client::connect(at)?;
    let body = noise(size as usize);
    let name = move |number: u64| match door {
        Door::Lake => format!("lake/w{number:010}"),
        Door::Blob => format!("lake/b{number:010}"),
    };
    if work == Work::Append {
        let (path, mut position) = (name(numbers.fetch_add(1, Ordering::Relaxed)), 0);
        create(&mut client, door, &path)?;
        return Ok(Box::new(move || {
            match door {
                Door::Lake => append(&mut client, &path, position, &body, "&flush=true")?,
                Door::Blob => ask(&mut client, "PUT", &path, "comp=appendblock&", "", &body, 201)?,
            }
            position += size;
            Ok(())
        }));
    }
    Ok(Box::new(move || {
        let path = name(numbers.fetch_add(1, Ordering::Relaxed));
        match door {
            Door::Lake => append_all(&mut client, &path, parts, &body),
            Door::Blob => put_blocks(&mut client, &path, parts, &body),
        }
    }))
}

fn append_all(client: &mut Client, path: &str, parts: u64, body: &[u8]) -> io::Result<()> {
    ask(client, "PUT", path, "resource=file&", "", b"", 201)?;
    let size = body.len() as u64;
    (0..parts).try_for_each(|part| append(client, path, part * size, body, ""))?;
    ask(client, "PATCH", path, &format!("action=flush&position={}&", parts * size), "", b"", 200)
}

fn append(client: &mut Client, path: &str, position: u64, body: &[u8], flush: &str) -> io::Result<()> {
    ask(client, "PATCH", path, &format!("action=append&position={position}{flush}&"), "", body, 202)
}

fn put_blocks(client: &mut Client, path: &str, parts: u64, body: &[u8]) -> io::Result<()> {
    let mut list = "<BlockList>".to_owned();
    for part in 0..parts {
        let id = BASE64_STANDARD.encode(format!("{part:06}"));
        ask(client, "PUT", path, &format!("comp=block&blockid={}&", encode(&id)), "", body, 201)?;
        let _ = write!(list, "<Latest>{id}</Latest>");
    }
    list += "</BlockList>";
    ask(client, "PUT", path, "comp=blocklist&", "", list.as_bytes(), 201)
}

fn create(client: &mut Client, door: Door, path: &str) -> io::Result<()> {
    match door {
        Door::Lake => ask(client, "PUT", path, "resource=file&", "", b"", 201),
        Door::Blob => ask(client, "PUT", path, "", "x-ms-blob-type: AppendBlob\r\n", b"", 201),
    }
}

fn ask(
    client: &mut Client,
    method: &str,
    path: &str,
    query: &str,
    headers: &str,
    body: &[u8],
    status: u16,
) -> io::Result<()> {
    client.ask(&Call { method, path, query, headers, body, statuses: &[status] }, |_, _| {}).map(drop)
}

/// All `count` files of a directory, page by page.
pub fn lister<'a>(at: SocketAddr, directory: &'a str, count: u64) -> io::Result<Turn<'a>> {
    let mut client = Client::connect(at)?;
    let first = format!("{}&maxResults={ALL_PAGE}&", FileSystem::listed(directory));
    Ok(Box::new(move || {
        let (mut query, mut seen) = (first.clone(), 0);
        loop {
            let mut next = None;
            let call = Call { method: "GET", path: "lake", query: &query, headers: "", body: b"", statuses: &[200] };
            let page = client.ask(&call, |name, value| {
                if name.eq_ignore_ascii_case("x-ms-continuation") {
                    next = Some(value.to_owned());
                }
            })?;
            seen += page.matches("\"name\":").count() as u64;
            match next {
                Some(next) => query = format!("{first}continuation={}&", encode(&next)),
                None if seen == count => return Ok(()),
                None => return Err(io::Error::other(format!("{seen} paths instead of {count}"))),
            }
        }
    }))
}
