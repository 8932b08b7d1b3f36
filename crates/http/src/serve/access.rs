//! The access log: a line per request, under the target `lazuli::access`, built only if that target is logged. Held true: of a query only
//! parameters that are known to be no secret are shown with their values. A SAS is a secret by its signature; what is unknown may be one.

use std::net::IpAddr;

use http::header::USER_AGENT;
use http::request::Parts;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use crate::operation;

/// Longer ones are cut: who writes the log has no use for them, and who fills it should not.
const PATH_MAX: usize = 2048;
const QUERY_MAX: usize = 2048;
const AGENT_MAX: usize = 256;

/// Parameters of the services that say what is wanted, or for whom and for how long a SAS is good. All else is left out: `sig`, and what a
/// client made up. `popreceipt` is left out too: it lets its holder delete a message.
#[rustfmt::skip]
const SHOWN: [&str; 73] = [
    "$expand", "$filter", "$format", "$orderby", "$select", "$skip", "$top", "action", "api-version", "blockid",
    "blocklisttype", "comp", "continuation", "copyid", "deletetype", "delimiter", "directory", "epk", "erk",
    "include", "marker", "maxresults", "messagettl", "mode", "nextpartitionkey", "nextrowkey", "nexttablename",
    "numofmessages", "peekonly", "position", "prefix", "prevsharesnapshot", "prevsnapshot", "recursive", "resource",
    "restype", "rscc", "rscd", "rsce", "rscl", "rsct", "saoid", "scid", "sdd", "se", "ses", "sharesnapshot",
    "showonly", "si", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv", "snapshot", "sp", "spk", "spr", "sr",
    "srk", "srt", "ss", "st", "startfrom", "suoid", "sv", "timeout", "tn", "versionid", "visibilitytimeout", "where",
];

pub(super) struct Access {
    method: Method,
    path: String,
    query: String,
    agent: String,
    /// Empty if the request was too wrong to say.
    pub account: String,
}

/// What became of it.
pub(super) struct Outcome {
    pub row: Option<usize>,
    pub status: StatusCode,
    /// Of a refusal.
    pub code: Option<&'static str>,
    pub micros: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

impl Access {
    pub fn of(parts: &Parts) -> Option<Self> {
        tracing::enabled!(target: "lazuli::access", tracing::Level::DEBUG).then(|| Self {
            method: parts.method.clone(),
            path: cut(parts.uri.path(), PATH_MAX),
            query: cut(&without_secrets(parts.uri.query().unwrap_or_default()), QUERY_MAX),
            agent: cut(
                parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default(),
                AGENT_MAX,
            ),
            account: String::new(),
        })
    }

    pub fn log(self, peer: IpAddr, outcome: Outcome, id: &str) {
        let operation = outcome.row.map_or("Other", |row| operation::served(row).spec.name);
        let Outcome { status, code, micros, bytes_in, bytes_out, row: _ } = outcome;
        let Self { method, path, query, agent, account } = self;
        let (status, code) = (status.as_u16(), code.unwrap_or_default());
        tracing::debug!(
            target: "lazuli::access",
            %peer, account, operation, %method, path, query, status, code, micros, bytes_in, bytes_out, agent, id
        );
    }
}

/// `comp=list&sig=…`: names are compared as they are understood, decoded and in any case.
fn without_secrets(query: &str) -> String {
    let shown = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy().to_ascii_lowercase();
        (SHOWN.binary_search(&name.as_str()).is_ok(), name == "sig")
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| match shown(&pair) {
        (true, _) => pair,
        (false, true) => "sig=…",
        (false, false) => "…",
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(SHOWN.is_sorted());
    }

    #[test]
    fn signatures_are_left_out_however_they_are_spelt() {
        for (query, expected) in [
            ("", ""),
            ("restype=container&comp=list", "restype=container&comp=list"),
            ("sv=2020-12-06&sr=b&sp=r&sig=c2VjcmV0", "sv=2020-12-06&sr=b&sp=r&sig=…"),
            ("SIG=c2VjcmV0&Comp=list", "sig=…&Comp=list"),
            ("s%69g=c2VjcmV0&%63omp=list", "sig=…&%63omp=list"),
            ("%53%49%47=c2VjcmV0", "sig=…"),
            ("sig=c2VjcmV0&sig=bW9yZQ", "sig=…&sig=…"),
            ("sig=a&c2VjcmV0&comp=list", "sig=…&…&comp=list"),
            ("popreceipt=AAAA&visibilitytimeout=0", "…&visibilitytimeout=0"),
            ("access_token=c2VjcmV0", "…"),
            ("&&comp=list&", "comp=list"),
        ] {
            assert_eq!(without_secrets(query), expected, "{query}");
        }
    }

    #[test]
    fn what_is_long_is_cut_at_a_letter() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äöüä", 3), "äöü…");
    }
}
