//! A plain blocking client for tests that drive the real binary: one connection, one request at a time, every byte
//! under the test's control. Authorised by an account SAS, so that a request is the same bytes each time.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lazuli_model::Timestamp;
use ring::hmac;

pub const ACCOUNT: &str = "devstoreaccount1";
/// The key every Azure storage emulator shares, so no secret.
pub const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// An account SAS that may do everything until 2099.
pub fn account_sas() -> String {
    account_sas_of(ACCOUNT, KEY)
}

/// The same for another account, by its key.
pub fn account_sas_of(account: &str, key: &str) -> String {
    account_sas_until(account, key, "2099-01-01T00:00:00Z")
}

/// The time, by the machine's own clock.
pub fn real_time() -> Timestamp {
    Timestamp::from_ticks(lazuli_engine::clock::system_time().0)
}

/// The headers that sign a request without a body by the account's key, at `time`. The query is in the order of its names.
pub fn shared_key(method: &str, path: &str, query: &str, time: Timestamp) -> [(&'static str, String); 2] {
    let date = time.to_http();
    let query: String =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(n, v)| format!("\n{n}:{v}")).collect();
    let text = format!(
        "{method}\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:2023-11-03\n/{ACCOUNT}/{ACCOUNT}/{path}{query}"
    );
    [("x-ms-date", date), ("Authorization", format!("SharedKey {ACCOUNT}:{}", sign(KEY, &text)))]
}

/// An account SAS that may do everything until `expiry`.
pub fn account_sas_until(account: &str, key: &str, expiry: &str) -> String {
    let (permissions, services, types, version) = ("rwdlacuptfxi", "bqtf", "sco", "2022-11-02");
    let text = format!("{account}\n{permissions}\n{services}\n{types}\n\n{expiry}\n\n\n{version}\n\n");
    let signature = percent_encoded(&sign(key, &text));
    format!("sv={version}&ss={services}&srt={types}&sp={permissions}&se={}&sig={signature}", expiry.replace(':', "%3A"))
}

/// `text` signed with a key in Base64, in Base64.
pub fn sign(key: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &BASE64.decode(key).expect("a key is Base64"));
    BASE64.encode(hmac::sign(&key, text.as_bytes()))
}

/// Base64, for a query.
pub fn percent_encoded(base64: &str) -> String {
    base64.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn code(&self) -> &str {
        self.header("x-ms-error-code").unwrap_or("")
    }
}

pub struct Client {
    address: SocketAddr,
    sas: String,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self::with_sas(address, account_sas())
    }

    /// With a SAS of the test's own, or none if it signs otherwise.
    pub fn with_sas(address: SocketAddr, sas: String) -> Self {
        Self { address, sas, connection: None }
    }

    /// Sends `method /account/path?query` with `headers` and `body`, and reads the whole answer.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let head = self.head(method, path, query, headers, body.len());
        let answer = self.exchange(method, head.as_bytes(), body);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    /// What `GET path` gives, of a server that is no storage service.
    pub fn page(&mut self, path: &str) -> io::Result<String> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n\r\n", self.address);
        let answer = self.exchange("GET", head.as_bytes(), &[])?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    fn head(&self, method: &str, path: &str, query: &str, headers: &[(&str, &str)], length: usize) -> String {
        let joint = if query.is_empty() || self.sas.is_empty() { "" } else { "&" };
        let mut head =
            format!("{method} /{ACCOUNT}/{path}?{query}{joint}{} HTTP/1.1\r\nHost: {}\r\n", self.sas, self.address);
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str(&format!("x-ms-version: 2023-11-03\r\nContent-Length: {length}\r\n\r\n"));
        head
    }

    fn exchange(&mut self, method: &str, head: &[u8], body: &[u8]) -> io::Result<Answer> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(BufReader::new(connect(self.address)?)),
        };
        connection.get_mut().write_all(&[head, body].concat())?;
        let (answer, close) = read_answer(connection, method == "HEAD")?;
        if close {
            self.connection = None;
        }
        Ok(answer)
    }
}

pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_write_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

/// Reads one answer; true if the server will close the connection.
pub fn read_answer(from: &mut impl BufRead, bodiless: bool) -> io::Result<(Answer, bool)> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status: u16 = line.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or_else(|| bad(&line))?;
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        from.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    if status == 100 {
        return read_answer(from, bodiless);
    }
    let close = headers.get("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let body = match (bodiless || status == 304 || status == 204, headers.get("transfer-encoding")) {
        (true, _) => Vec::new(),
        (false, Some(_)) => read_chunks(from)?,
        (false, None) => {
            let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            from.read_exact(&mut body)?;
            body
        }
    };
    Ok((Answer { status, headers, body }, close))
}

fn read_chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, line.clone()))?;
        let at = body.len();
        body.resize(at + length, 0);
        from.read_exact(&mut body[at..])?;
        from.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}
