//! Where data is copied from and to: a path of this machine, or the URL of a container or a blob at any endpoint.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::settings::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    Key(String),
    Sas(String),
    Token(String),
    Anonymous,
}

/// Printed without what is secret in it.
impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credential::Key(_) => "Key",
            Credential::Sas(_) => "Sas",
            Credential::Token(_) => "Token",
            Credential::Anonymous => "Anonymous",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub secure: bool,
    /// Host and port as in the URL.
    pub authority: String,
    /// `/account`, or nothing if the account is in the host's name.
    pub base: String,
    pub account: String,
    /// Empty for the account as a whole.
    pub container: String,
    /// The blob's name, or the beginning of names; decoded.
    pub name: String,
    pub credential: Credential,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Local(PathBuf),
    Remote(Remote),
}

impl Place {
    /// `variable` gives AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_TOKEN.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let (secure, rest) = match text {
            _ if text.starts_with("https://") => (true, &text[8..]),
            _ if text.starts_with("http://") => (false, &text[7..]),
            _ => return Ok(Place::Local(PathBuf::from(text))),
        };
        let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, query)| (rest, query));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = decoded(path).ok_or_else(|| format!("{text}: the path is not UTF-8"))?;
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
        let in_host = host.parse::<IpAddr>().is_err() && host.split('.').nth(1) == Some("blob");
        let (account, path) = match in_host {
            true => (host.split('.').next().unwrap_or_default().to_owned(), path.as_str()),
            false => path.split_once('/').map_or((path.clone(), ""), |(account, path)| (account.to_owned(), path)),
        };
        if account.is_empty() {
            return Err(format!("{text}: name the account, as in http://127.0.0.1:10000/devstoreaccount1/container"));
        }
        let (container, name) = path.split_once('/').unwrap_or((path, ""));
        let credential = match () {
            () if query.contains("sig=") => Credential::Sas(query.to_owned()),
            () => credential(&account, variable),
        };
        Ok(Place::Remote(Remote {
            secure,
            authority: authority.to_owned(),
            base: if in_host { String::new() } else { format!("/{account}") },
            account,
            container: container.to_owned(),
            name: name.to_owned(),
            credential,
        }))
    }
}

fn credential(account: &str, variable: impl Fn(&str) -> Option<String>) -> Credential {
    let given = |name: &str| variable(name).filter(|text| !text.is_empty());
    if let Some(key) = given("AZURE_STORAGE_KEY") {
        return Credential::Key(key);
    }
    if let Some(sas) = given("AZURE_STORAGE_SAS_TOKEN") {
        return Credential::Sas(sas.trim_start_matches('?').to_owned());
    }
    if let Some(token) = given("AZURE_STORAGE_TOKEN") {
        return Credential::Token(token);
    }
    match account == DEVELOPMENT_ACCOUNT {
        true => Credential::Key(DEVELOPMENT_KEY.to_owned()),
        false => Credential::Anonymous,
    }
}

impl Remote {
    pub fn host_and_port(&self) -> (String, u16) {
        let default = if self.secure { 443 } else { 80 };
        let (host, port) = match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, port.parse().unwrap_or(default))
            }
            Some(_) | None => (self.authority.as_str(), default),
        };
        (host.trim_matches(['[', ']']).to_owned(), port)
    }
}

/// Percent-decoded.
fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = [bytes.next()?, bytes.next()?];
        out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> Remote {
        match Place::parse(text, |name| (name == "AZURE_STORAGE_KEY").then(|| "a2V5".into())).unwrap() {
            Place::Remote(remote) => remote,
            Place::Local(path) => panic!("{path:?}"),
        }
    }

    #[test]
    fn urls_of_emulators_and_clouds_are_understood() {
        let own = remote("http://127.0.0.1:10000/devstoreaccount1/pictures/a%20cat.png");
        assert_eq!((own.account.as_str(), own.base.as_str()), ("devstoreaccount1", "/devstoreaccount1"));
        assert_eq!((own.container.as_str(), own.name.as_str()), ("pictures", "a cat.png"));
        assert_eq!(own.host_and_port(), ("127.0.0.1".into(), 10000));
        let cloud = remote("https://mine.blob.core.windows.net/pictures/cats/");
        assert_eq!((cloud.account.as_str(), cloud.base.as_str(), cloud.name.as_str()), ("mine", "", "cats/"));
        assert_eq!(cloud.host_and_port(), ("mine.blob.core.windows.net".into(), 443));
        let signed = remote("https://mine.blob.core.windows.net/pictures?sv=1&sig=x");
        assert_eq!(signed.credential, Credential::Sas("sv=1&sig=x".into()));
        assert!(!format!("{signed:?}").contains("sig="));
        assert_eq!(Place::parse("./here", |_| None), Ok(Place::Local("./here".into())));
        assert!(Place::parse("http://127.0.0.1:10000", |_| None).is_err());
    }

    #[test]
    fn the_development_account_needs_no_key() {
        let Ok(Place::Remote(remote)) = Place::parse("http://localhost:10000/devstoreaccount1/c", |_| None) else {
            panic!()
        };
        assert_eq!(remote.credential, Credential::Key(DEVELOPMENT_KEY.into()));
    }
}
