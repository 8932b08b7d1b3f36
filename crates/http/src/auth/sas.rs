//! Account SAS, and what it shares with service SAS: letters, times, addresses and protocols.
//!
//! A field is read in one way only, so that what was signed is what is enforced.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::access::{Letters, Times};
use lazuli_model::{Refusal, Timestamp, Version};

use super::failed;
use super::parameters::unbroken;
use crate::accounts::Account;
use crate::head::Head;

/// Since then the encryption scope is signed.
pub const SIGNS_SCOPE: Version = Version::new(2020, 12, 6);

/// A verified account SAS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSas {
    pub version: Version,
    pub services: Letters,
    pub resource_types: Letters,
    pub letters: Letters,
}

/// What an account SAS came to, apart from the time.
#[derive(Clone, Debug)]
pub struct Proven {
    pub account: Arc<Account>,
    sas: AccountSas,
    times: Times,
}

pub fn verify(head: &Head, account: &Arc<Account>, signature: &str) -> Result<AccountSas, Refusal> {
    let Proven { sas, times, .. } = match head.query.proven(account) {
        Some(proven) => proven,
        None => prove(head, account, signature)?,
    };
    times.permit(head.wall)?;
    Ok(sas)
}

fn prove(head: &Head, account: &Arc<Account>, signature: &str) -> Result<Proven, Refusal> {
    let signed = Fields::read(head)?;
    let text = signed.text(account);
    if let Some(proven) = head.query.proven_before(account, &text, signature) {
        return Ok(proven);
    }
    check_signature(account, &text, signature)?;
    let sas = AccountSas {
        version: signed.version,
        services: letters("ss", signed.services)?,
        resource_types: letters("srt", signed.resource_types)?,
        letters: letters("sp", signed.permissions)?,
    };
    let times = self::times(head)?;
    times.permit(head.wall)?;
    check_source(head)?;
    let proven = Proven { account: account.clone(), sas, times };
    head.query.prove(&text, signature, proven.clone());
    Ok(proven)
}

/// The signature of the account SAS whose other fields are in the query.
pub fn sign(head: &Head, account: &Account) -> Result<String, Refusal> {
    Ok(account.sign(Fields::read(head)?.text(account).as_bytes()))
}

/// What an account SAS signs.
struct Fields<'a> {
    version: Version,
    permissions: &'a str,
    services: &'a str,
    resource_types: &'a str,
    /// Start, expiry, addresses, protocols, version and scope.
    rest: [&'a str; 6],
}

impl<'a> Fields<'a> {
    fn read(head: &'a Head) -> Result<Self, Refusal> {
        let rest = ["st", "se", "sip", "spr", "sv", "ses"].map(|name| field(head, name));
        let [.., version, _] = rest;
        let version = Version::parse(version).ok_or_else(malformed)?;
        let [permissions, services, resource_types] = ["sp", "ss", "srt"].map(|name| field(head, name));
        unbroken(head)?;
        Ok(Self { version, permissions, services, resource_types, rest })
    }

    fn text(&self, account: &Account) -> String {
        let rest = if self.version >= SIGNS_SCOPE { &self.rest[..] } else { &self.rest[..5] };
        let fields = [account.name().as_str(), self.permissions, self.services, self.resource_types];
        let mut text = String::with_capacity(160);
        for part in fields.iter().chain(rest) {
            text.push_str(part);
            text.push('\n');
        }
        text
    }
}

/// A field of the SAS, decoded; absent and empty are the same.
pub fn field<'a>(head: &'a Head, name: &str) -> &'a str {
    head.query.raw(name).unwrap_or_default()
}

pub fn malformed() -> Refusal {
    failed("Signature fields not well formed.")
}

fn letters(name: &str, text: &str) -> Result<Letters, Refusal> {
    if text.is_empty() {
        return Err(failed(format!("{name} is mandatory. Cannot be empty")));
    }
    Letters::parse(text).ok_or_else(malformed)
}

pub fn matches(account: &Account, text: &str, signature: &str) -> bool {
    // A `+` that the client forgot to encode has been read as a blank.
    let signature = signature.replace(' ', "+");
    STANDARD.decode(signature).is_ok_and(|tag| account.signed(text.as_bytes(), &tag))
}

pub fn mismatch(text: &str) -> Refusal {
    failed(format!("Signature did not match. String to sign used was {text}"))
}

fn check_signature(account: &Account, text: &str, signature: &str) -> Result<(), Refusal> {
    if matches(account, text, signature) { Ok(()) } else { Err(mismatch(text)) }
}

/// `st` and `se`.
pub fn times(head: &Head) -> Result<Times, Refusal> {
    let time = |name| match field(head, name) {
        "" => Ok(None),
        text => Timestamp::parse_iso(text).map(Some).ok_or_else(malformed),
    };
    Ok(Times { start: time("st")?, expiry: time("se")? })
}

/// `spr` and `sip`.
pub fn check_source(head: &Head) -> Result<(), Refusal> {
    match field(head, "spr") {
        "" | "https,http" | "http,https" => {}
        "https" if head.secure => {}
        "https" => return Err(Refusal::AuthorizationProtocolMismatch),
        _ => return Err(malformed()),
    }
    match field(head, "sip") {
        "" => Ok(()),
        text => {
            let (from, to) = addresses(text).ok_or_else(malformed)?;
            match head.peer.to_canonical() {
                IpAddr::V4(peer) if from <= peer && peer <= to => Ok(()),
                IpAddr::V4(_) | IpAddr::V6(_) => Err(Refusal::AuthorizationSourceIpMismatch),
            }
        }
    }
}

/// An address, or two with a hyphen between them. IPv4 only, as in Azure.
fn addresses(text: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
}
