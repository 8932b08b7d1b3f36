//! A client of Azure's protocol that looks at every answer: one connection, one request at a time, with an account SAS.

use crate::reply::head_end;
use crate::request::{self, ACCOUNT};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub struct Client {
    stream: TcpStream,
    sas: String,
    /// Kept, so that a call costs what it sends and what it gets.
    request: Vec<u8>,
    received: Vec<u8>,
    buffer: Vec<u8>,
}

pub struct Call<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// With an `&` behind each parameter.
    pub query: &'a str,
    /// Whole lines.
    pub headers: &'a str,
    pub body: &'a [u8],
    /// Those that are an answer.
    pub statuses: &'a [u16],
}

/// Where the body of an answer ends.
enum Extent {
    Length(usize),
    Chunked,
}

impl Client {
    pub fn connect(at: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        let (request, received, buffer) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
        Ok(Self { stream, sas: request::sas(), request, received, buffer })
    }

    /// The body of the answer, whose headers are shown to `header`.
    pub fn ask(&mut self, call: &Call, header: impl FnMut(&str, &str)) -> io::Result<String> {
        let Call { method, path, query, headers, body, statuses } = call;
        let (sas, version, length) = (&self.sas, request::VERSION, body.len());
        self.request.clear();
        write!(
            self.request,
            "{method} /{ACCOUNT}/{path}?{query}{sas} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: {version}\r\n\
             {headers}Content-Length: {length}\r\n\r\n"
        )?;
        self.request.extend_from_slice(body);
        self.stream.write_all(&self.request)?;
        let (status, answer) = self.answer(header)?;
        if statuses.contains(&status) {
            return Ok(answer);
        }
        Err(io::Error::other(format!("{method} {path}: {status} {answer}")))
    }

    fn answer(&mut self, header: impl FnMut(&str, &str)) -> io::Result<(u16, String)> {
        self.received.clear();
        let end = loop {
            self.receive()?;
            if let Some(end) = head_end(&self.received) {
                break end;
            }
        };
        let head = std::str::from_utf8(&self.received[..end]).ok();
        let (status, extent) = head.and_then(|head| read_head(head, header)).ok_or_else(bad)?;
        let body = match extent {
            Extent::Length(length) => {
                self.receive_up_to(end + length)?;
                String::from_utf8_lossy(&self.received[end..end + length]).into_owned()
            }
            Extent::Chunked => String::from_utf8_lossy(&self.chunks(end)?).into_owned(),
        };
        Ok((status, body))
    }

    fn chunks(&mut self, mut from: usize) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                match self.received[from..].iter().position(|&byte| byte == b'\n') {
                    Some(at) => break from + at,
                    None => self.receive()?,
                }
            };
            let line = std::str::from_utf8(&self.received[from..line_end]).map_err(|_| bad())?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(|_| bad())?;
            from = line_end + 1;
            self.receive_up_to(from + length + 2)?;
            body.extend_from_slice(&self.received[from..from + length]);
            from += length + 2;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn receive_up_to(&mut self, length: usize) -> io::Result<()> {
        while self.received.len() < length {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        match self.stream.read(&mut self.buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.received.extend_from_slice(&self.buffer[..length]);
                Ok(())
            }
        }
    }
}

fn read_head(head: &str, mut header: impl FnMut(&str, &str)) -> Option<(u16, Extent)> {
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let mut extent = Extent::Length(0);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            extent = Extent::Length(value.parse().ok()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            extent = Extent::Chunked;
        } else {
            header(name, value);
        }
    }
    Some((status, extent))
}

fn bad() -> io::Error {
    io::Error::other("an answer that is no HTTP")
}
