//! Shared Key and Shared Key Lite: the client signs a canonical form of the request with the account's key.
//!
//! One string and one HMAC per good request. Clients disagree about the order of headers and the encoding of paths,
//! so a signature that does not match is tried again over the few forms that real clients sign.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::{Timestamp, Version};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::{collation, failed, parameters};
use crate::accounts::Account;
use crate::head::{Head, Service, Style};
use crate::refusal::{Denied, Refusal};

/// How far the client's clock may be off, either way.
const SKEW_SECONDS: u64 = 15 * 60;

/// Since then a length of zero is signed as nothing.
const ZERO_LENGTH_IS_EMPTY: Version = Version::new(2015, 2, 21);
/// Since then headers without a value are signed too.
const EMPTY_HEADERS_ARE_SIGNED: Version = Version::new(2016, 5, 31);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Full,
    Lite,
}

pub fn verify(head: &Head, account: &Account, authorization: &str) -> Result<(), Refusal> {
    let (scheme, name, signature) = parse(authorization)?;
    if name != account.name().as_str() {
        return Err(failed(format!("The request is for account '{}' and signed for another.", account.name())).into());
    }
    verify_as(head, scheme, signature, |text, tag| account.signed(text, tag))
}

/// The Authorization header with which a client signs `head` for `account`.
pub fn sign(head: &Head, account: &Account) -> Result<String, Refusal> {
    let headers = Headers::of(head)?;
    let text = string_to_sign(head, Scheme::Full, &headers.collated, &head.raw_path);
    Ok(format!("SharedKey {}:{}", account.name(), account.sign(text.as_bytes())))
}

/// The same by another key than the account's.
pub fn verify_by(head: &Head, signature: &str, signed: impl Fn(&[u8], &[u8]) -> bool) -> Result<(), Refusal> {
    verify_as(head, Scheme::Full, signature, signed)
}

fn verify_as(
    head: &Head,
    scheme: Scheme,
    signature: &str,
    signed: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<(), Refusal> {
    let headers = Headers::of(head)?;
    check_date(head)?;
    if signs_query(head.service, scheme) {
        parameters::unconfused(head)?;
    }
    // A signature that is not Base64 is just wrong, as on Azure.
    let tag = STANDARD.decode(signature).unwrap_or_default();
    let first = string_to_sign(head, scheme, &headers.collated, &head.raw_path);
    if signed(first.as_bytes(), &tag) || other_forms(head, scheme, &headers).any(|s| signed(s.as_bytes(), &tag)) {
        return Ok(());
    }
    Err(failed(format!(
        "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. \
         Server used following string to sign: '{first}'."
    ))
    .into())
}

fn parse(authorization: &str) -> Result<(Scheme, &str, &str), Refusal> {
    let (scheme, rest) = authorization.split_once(' ').ok_or(Denied::InvalidAuthenticationInfo)?;
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("SharedKey") => Scheme::Full,
        _ if scheme.eq_ignore_ascii_case("SharedKeyLite") => Scheme::Lite,
        _ => return Err(Denied::InvalidAuthenticationInfo.into()),
    };
    let (name, signature) = rest.trim().split_once(':').ok_or(Denied::InvalidAuthenticationInfo)?;
    Ok((scheme, name, signature))
}

fn check_date(head: &Head) -> Result<(), Denied> {
    let text = head.text("x-ms-date").or_else(|| head.text("date"));
    let Some(text) = text else {
        return Err(failed("Request date header not specified"));
    };
    let Some(date) = Timestamp::parse_http(text) else {
        return Err(failed(format!("Request date header is not in the correct format: '{text}'")));
    };
    if date.plus_seconds(SKEW_SECONDS) < head.machine {
        return Err(failed(format!("Request date header too old: '{text}'")));
    }
    if head.wall.max(head.machine).plus_seconds(SKEW_SECONDS) < date {
        return Err(failed(format!("Request date header too far in the future: '{text}'")));
    }
    Ok(())
}

/// The `x-ms-` headers in the service's order, and in code order if that differs.
struct Headers<'a> {
    collated: Vec<(&'a str, &'a str)>,
    by_code: Option<Vec<(&'a str, &'a str)>>,
}

impl<'a> Headers<'a> {
    fn of(head: &'a Head) -> Result<Self, Refusal> {
        let signs_empty = head.version >= EMPTY_HEADERS_ARE_SIGNED;
        let mut collated = Vec::with_capacity(16);
        for (name, value) in head.headers.iter().filter(|(name, _)| name.as_str().starts_with("x-ms-")) {
            let value = std::str::from_utf8(value.as_bytes()).map(str::trim).unwrap_or_default();
            if signs_empty || !value.is_empty() {
                collated.push((name.as_str(), value));
            }
        }
        collated.sort_by(|left, right| collation::compare(left.0, right.0));
        if let Some(twice) = collated.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let header = Cow::Owned(twice[0].0.to_owned());
            return Err(Refusal::InvalidHeaderValue { header, value: twice[1].1.to_owned() });
        }
        let by_code = (!collated.is_sorted_by_key(|header| header.0)).then(|| {
            let mut by_code = collated.clone();
            by_code.sort_unstable_by_key(|header| header.0);
            by_code
        });
        Ok(Self { collated, by_code })
    }
}

/// Forms besides the first that real clients sign. Made only when the first did not match.
fn other_forms<'a>(head: &'a Head, scheme: Scheme, headers: &'a Headers<'a>) -> impl Iterator<Item = String> {
    let mut paths = vec![Cow::Borrowed(head.raw_path.as_str())];
    let mut add = |path: Option<String>| paths.extend(path.filter(|path| *path != head.raw_path).map(Cow::Owned));
    add(reencoded(&head.raw_path));
    add(primary_path(head));
    let orders: Vec<_> = [Some(&headers.collated), headers.by_code.as_ref()].into_iter().flatten().collect();
    let pairs =
        paths.into_iter().flat_map(move |path| orders.clone().into_iter().map(move |order| (path.clone(), order)));
    // The first pair is what was tried already.
    pairs.skip(1).map(move |(path, order)| string_to_sign(head, scheme, order, &path))
}

/// What a path segment need not encode, and the slash.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'%')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// Decoded, then encoded no more than needed: what clients sign whose URL library rewrites paths after they built them.
fn reencoded(raw_path: &str) -> Option<String> {
    let decoded = percent_decode_str(raw_path).decode_utf8().ok()?;
    Some(utf8_percent_encode(&decoded, IN_PATH).to_string())
}

/// A request to the secondary may be signed with the primary's path ("Authorize with Shared Key").
fn primary_path(head: &Head) -> Option<String> {
    if !(head.secondary && head.style == Style::Path) {
        return None;
    }
    let rest = head.raw_path.strip_prefix('/')?.split_once('/').map_or("", |(_, rest)| rest);
    Some(format!("/{}/{rest}", head.account))
}

fn string_to_sign(head: &Head, scheme: Scheme, headers: &[(&str, &str)], path: &str) -> String {
    let mut out = String::with_capacity(512);
    match (head.service, scheme) {
        (Service::Table, Scheme::Full) => {
            line(&mut out, signed_method(head));
            line(&mut out, header(head, "content-md5"));
            line(&mut out, header(head, "content-type"));
            line(&mut out, head.text("x-ms-date").unwrap_or_else(|| header(head, "date")));
        }
        (Service::Table, Scheme::Lite) => {
            line(&mut out, head.text("x-ms-date").unwrap_or_else(|| header(head, "date")));
        }
        (Service::Blob | Service::Queue | Service::File | Service::Dfs, Scheme::Full) => {
            standard_headers(&mut out, head);
            canonical_headers(&mut out, headers);
        }
        (Service::Blob | Service::Queue | Service::File | Service::Dfs, Scheme::Lite) => {
            line(&mut out, signed_method(head));
            line(&mut out, header(head, "content-md5"));
            line(&mut out, header(head, "content-type"));
            line(&mut out, date(head));
            canonical_headers(&mut out, headers);
        }
    }
    let _ = write!(out, "/{}{path}", head.account);
    match signs_query(head.service, scheme) {
        true => canonical_query(&mut out, head),
        false => short_query(&mut out, head),
    }
    out
}

/// Whether all parameters are signed, or `comp` alone.
fn signs_query(service: Service, scheme: Scheme) -> bool {
    service != Service::Table && scheme == Scheme::Full
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn header<'a>(head: &'a Head, name: &str) -> &'a str {
    head.text(name).unwrap_or_default()
}

/// As it was sent.
fn signed_method(head: &Head) -> &str {
    if head.tunnelled { "PUT" } else { head.method.as_str() }
}

/// Nothing when `x-ms-date` is there: it is among the canonical headers then.
fn date(head: &Head) -> &str {
    if head.text("x-ms-date").is_some() { "" } else { header(head, "date") }
}

fn standard_headers(out: &mut String, head: &Head) {
    line(out, signed_method(head));
    line(out, header(head, "content-encoding"));
    line(out, header(head, "content-language"));
    let length = header(head, "content-length");
    line(out, if length == "0" && head.version >= ZERO_LENGTH_IS_EMPTY { "" } else { length });
    line(out, header(head, "content-md5"));
    line(out, header(head, "content-type"));
    line(out, date(head));
    for name in ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"] {
        line(out, header(head, name));
    }
}

fn canonical_headers(out: &mut String, headers: &[(&str, &str)]) {
    for (name, value) in headers {
        let _ = writeln!(out, "{name}:{value}");
    }
}

/// Every parameter, by lower-case name; several values of one name are sorted and joined.
fn canonical_query(out: &mut String, head: &Head) {
    let mut pairs: Vec<(Cow<'_, str>, &str)> = head.query.iter().map(|(name, value)| (lower(name), value)).collect();
    pairs.sort_unstable();
    let mut last = None;
    for (name, value) in &pairs {
        if last == Some(name) {
            let _ = write!(out, ",{value}");
        } else {
            let _ = write!(out, "\n{name}:{value}");
        }
        last = Some(name);
    }
}

pub(super) fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn short_query(out: &mut String, head: &Head) {
    if let Some(comp) = head.query.get("comp") {
        let _ = write!(out, "?comp={comp}");
    }
}
