//! A client of Azure's protocol that looks at every answer: one connection, one request at a time, with an account SAS.

use crate::request::{self, ACCOUNT};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub struct Client {
    stream: BufReader<TcpStream>,
    sas: String,
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

impl Client {
    pub fn connect(at: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), sas: request::sas() })
    }

    /// The body of the answer, whose headers are shown to `header`, names in lower case.
    pub fn ask(&mut self, call: &Call, header: impl FnMut(&str, &str)) -> io::Result<String> {
        let Call { method, path, query, headers, body, statuses } = call;
        let (sas, version, length) = (&self.sas, request::VERSION, body.len());
        let head = format!(
            "{method} /{ACCOUNT}/{path}?{query}{sas} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: {version}\r\n\
             {headers}Content-Length: {length}\r\n\r\n"
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat())?;
        let (status, answer) = self.answer(header)?;
        if statuses.contains(&status) {
            return Ok(answer);
        }
        Err(io::Error::other(format!("{method} {path}: {status} {answer}")))
    }

    fn answer(&mut self, mut header: impl FnMut(&str, &str)) -> io::Result<(u16, String)> {
        let bad = || io::Error::other("an answer that is no HTTP");
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status: u16 = line.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or_else(bad)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some(name_end) = line.find(':') else { break };
            line[..name_end].make_ascii_lowercase();
            let (name, value) = (&line[..name_end], line[name_end + 1..].trim());
            match name {
                "content-length" => length = value.parse().map_err(|_| bad())?,
                "transfer-encoding" => chunked = true,
                _ => header(name, value),
            }
        }
        let mut body = Vec::new();
        if !chunked {
            body.resize(length, 0);
            self.stream.read_exact(&mut body)?;
        }
        while chunked {
            line.clear();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(|_| bad())?;
            let at = body.len();
            body.resize(at + length, 0);
            self.stream.read_exact(&mut body[at..])?;
            self.stream.read_line(&mut line)?;
            chunked = length > 0;
        }
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}
