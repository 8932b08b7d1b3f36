//! Cross-origin requests: which rule lets one through, and what the answers say. Rules are tried in order and the first
//! that matches decides ("Cross-Origin Resource Sharing support for Azure Storage").

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use lazuli_model::service::CorsRule;

use crate::refusal::Refusal;

/// What a preflight asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Preflight<'a> {
    origin: &'a str,
    method: &'a str,
    /// `Access-Control-Request-Headers`, if any.
    headers: &'a str,
}

/// The headers that answer an OPTIONS request.
pub fn preflight(rules: &[CorsRule], request: &HeaderMap) -> Result<HeaderMap, Refusal> {
    let text =
        |name: HeaderName| request.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty());
    let asked = Preflight {
        origin: text(header::ORIGIN).ok_or(Refusal::CorsHeaderMissing)?,
        method: text(header::ACCESS_CONTROL_REQUEST_METHOD).ok_or(Refusal::CorsHeaderMissing)?,
        headers: text(header::ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default(),
    };
    let rule = rules.iter().find(|rule| rule_permits(rule, asked)).ok_or(Refusal::CorsPreflightFailure)?;
    let mut answer = allowed_origin(rule, asked.origin);
    set(&mut answer, header::ACCESS_CONTROL_ALLOW_METHODS, asked.method);
    if !asked.headers.is_empty() {
        set(&mut answer, header::ACCESS_CONTROL_ALLOW_HEADERS, asked.headers);
    }
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, rule.max_age_seconds.into());
    Ok(answer)
}

/// What the answer to an actual request carries; [`merge`] adds it. Where a rule depends on the origin, caches must
/// know (`Vary`), even when this origin matched none.
pub fn actual(rules: &[CorsRule], origin: &str, method: &Method) -> HeaderMap {
    let mut for_method = rules.iter().filter(|rule| permits_method(rule, method.as_str())).peekable();
    let depends = for_method.peek().is_some();
    let Some(rule) = for_method.find(|rule| permits_origin(rule, origin)) else {
        let mut answer = HeaderMap::new();
        if depends {
            answer.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
        return answer;
    };
    let mut answer = allowed_origin(rule, origin);
    if !rule.exposed_headers.is_empty() {
        set(&mut answer, header::ACCESS_CONTROL_EXPOSE_HEADERS, &rule.exposed_headers);
    }
    answer
}

/// Adds what [`actual`] gave to the other headers of an answer. Of what the rule exposes, those are named that are there.
pub fn merge(answer: &mut HeaderMap, mut cors: HeaderMap) {
    if let Some(patterns) = cors.remove(header::ACCESS_CONTROL_EXPOSE_HEADERS) {
        let patterns = patterns.to_str().unwrap_or_default();
        let shown =
            answer.keys().map(HeaderName::as_str).filter(|name| list(patterns).any(|pattern| covers(pattern, name)));
        let shown = shown.collect::<Vec<_>>().join(",");
        if !shown.is_empty() {
            set(&mut cors, header::ACCESS_CONTROL_EXPOSE_HEADERS, &shown);
        }
    }
    answer.extend(cors);
}

/// What a client or an administrator wrote; what cannot be a header's value is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// A rule for everyone says `*`; one for some repeats the origin, allows credentials and tells caches.
fn allowed_origin(rule: &CorsRule, origin: &str) -> HeaderMap {
    let mut answer = HeaderMap::new();
    if list(&rule.allowed_origins).any(|allowed| allowed == "*") {
        set(&mut answer, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        return answer;
    }
    set(&mut answer, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set(&mut answer, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    set(&mut answer, header::VARY, "Origin");
    answer
}

fn rule_permits(rule: &CorsRule, asked: Preflight<'_>) -> bool {
    permits_origin(rule, asked.origin)
        && permits_method(rule, asked.method)
        && list(asked.headers).all(|header| list(&rule.allowed_headers).any(|allowed| covers(allowed, header)))
}

/// Origins compare with case, as the reference says; `https://*.example.com` stands for any subdomain.
fn permits_origin(rule: &CorsRule, origin: &str) -> bool {
    list(&rule.allowed_origins).any(|allowed| match allowed.split_once('*') {
        None => allowed == origin,
        Some(("", "")) => true,
        Some((before, after)) => {
            origin.len() > before.len() + after.len() && origin.starts_with(before) && origin.ends_with(after)
        }
    })
}

fn permits_method(rule: &CorsRule, method: &str) -> bool {
    list(&rule.allowed_methods).any(|allowed| allowed == method)
}

/// A header's name, or a prefix that ends with `*`.
fn covers(pattern: &str, header: &str) -> bool {
    match pattern.strip_suffix('*') {
        None => pattern.eq_ignore_ascii_case(header),
        Some(prefix) => header.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &str, methods: &str, headers: &str, exposed: &str) -> CorsRule {
        CorsRule {
            allowed_origins: origins.to_owned(),
            allowed_methods: methods.to_owned(),
            allowed_headers: headers.to_owned(),
            exposed_headers: exposed.to_owned(),
            max_age_seconds: 200,
        }
    }

    /// The rules and requests of the reference's own example.
    fn documented() -> Vec<CorsRule> {
        vec![
            rule("http://www.contoso.com", "PUT,HEAD", "x-ms-meta-source*,x-ms-meta-target*", "x-ms-meta-source*"),
            rule("*", "GET", "", ""),
            rule("http://www.contoso.com", "GET", "x-ms-client-request-id", "x-ms-meta-*"),
        ]
    }

    fn ask(origin: Option<&'static str>, method: Option<&'static str>, headers: Option<&'static str>) -> HeaderMap {
        let mut request = HeaderMap::new();
        for (name, value) in [
            (header::ORIGIN, origin),
            (header::ACCESS_CONTROL_REQUEST_METHOD, method),
            (header::ACCESS_CONTROL_REQUEST_HEADERS, headers),
        ] {
            request.extend(value.map(|value| (name, HeaderValue::from_static(value))));
        }
        request
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let mut shown: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?"))).collect();
        shown.sort_unstable();
        shown
    }

    const CONTOSO: &str = "http://www.contoso.com";

    #[test]
    fn preflights() {
        let table = [
            ("PUT", CONTOSO, Some("x-ms-meta-source1"), true),
            ("PUT", CONTOSO, Some("X-MS-META-SOURCE1, x-ms-meta-target"), true),
            ("PUT", CONTOSO, Some("x-ms-meta-other"), false),
            ("PUT", CONTOSO, None, true),
            ("GET", CONTOSO, None, true),
            ("GET", CONTOSO, Some("x-ms-client-request-id"), true),
            ("GET", "http://www.fabrikam.com", None, true),
            ("GET", "http://www.fabrikam.com", Some("x-ms-client-request-id"), false),
            ("POST", CONTOSO, None, false),
            ("PUT", "http://www.Contoso.com", None, false),
        ];
        for (method, origin, headers, allowed) in table {
            let answer = preflight(&documented(), &ask(Some(origin), Some(method), headers));
            assert_eq!(answer.is_ok(), allowed, "{method} {origin} {headers:?}");
        }
        let full =
            preflight(&documented(), &ask(Some(CONTOSO), Some("PUT"), Some("x-ms-meta-source1"))).expect("allowed");
        assert_eq!(
            shown(&full),
            [
                "access-control-allow-credentials: true",
                "access-control-allow-headers: x-ms-meta-source1",
                "access-control-allow-methods: PUT",
                "access-control-allow-origin: http://www.contoso.com",
                "access-control-max-age: 200",
                "vary: Origin",
            ]
        );
        assert_eq!(preflight(&[], &ask(Some(CONTOSO), Some("GET"), None)), Err(Refusal::CorsPreflightFailure));
        // Rule A12.
        assert_eq!(preflight(&[], &ask(None, Some("GET"), None)), Err(Refusal::CorsHeaderMissing));
        assert_eq!(preflight(&[], &ask(Some("a"), None, None)), Err(Refusal::CorsHeaderMissing));
    }

    /// The table of the reference: rules, origin, method, and what the answer carries.
    #[test]
    fn actual_requests() {
        let some = [rule("http://a.com", "GET", "", "x-ms-meta-*,etag")];
        let all = [rule("*", "GET", "", "")];
        let table: [(&[CorsRule], _, _, &[&str]); 5] = [
            (
                &some,
                "http://a.com",
                Method::GET,
                &[
                    "access-control-allow-credentials: true",
                    "access-control-allow-origin: http://a.com",
                    "access-control-expose-headers: etag,x-ms-meta-b",
                    "vary: Origin",
                ],
            ),
            (&some, "http://b.com", Method::GET, &["vary: Origin"]),
            (&some, "http://a.com", Method::PUT, &[]),
            (&all, "http://b.com", Method::GET, &["access-control-allow-origin: *"]),
            (&[], "http://a.com", Method::GET, &[]),
        ];
        for (rules, origin, method, expected) in table {
            let mut answer = HeaderMap::new();
            for name in ["etag", "date", "x-ms-meta-b"] {
                answer.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
            }
            merge(&mut answer, actual(rules, origin, &method));
            for name in ["etag", "date", "x-ms-meta-b"] {
                answer.remove(name);
            }
            assert_eq!(shown(&answer), expected, "{origin} {method}");
        }
    }

    #[test]
    fn subdomains() {
        let rules = [rule("https://*.example.com", "GET", "*", "")];
        for (origin, allowed) in [
            ("https://a.example.com", true),
            ("https://a.b.example.com", true),
            ("https://.example.com", false),
            ("https://example.com", false),
            ("http://a.example.com", false),
        ] {
            assert_eq!(preflight(&rules, &ask(Some(origin), Some("GET"), Some("x-any"))).is_ok(), allowed, "{origin}");
        }
    }
}
