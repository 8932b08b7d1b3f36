//! One line of a log. Fields stand between semicolons; what may hold a quote, a semicolon or the end of a line is HTML encoded and quoted.

use super::{Authentication, Class, service_name};
use crate::Timestamp;
use crate::service::Of;

/// What is written of one request.
#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    pub start: Timestamp,
    pub operation: &'a str,
    pub class: Class,
    pub status: u16,
    /// Until the last byte of the answer could be sent, and until it was known.
    pub end_to_end_ms: u64,
    pub server_ms: u64,
    pub authentication: Authentication,
    pub account: &'a str,
    pub of: Of,
    pub url: &'a str,
    /// `/account/container/blob`
    pub key: &'a str,
    pub request_id: &'a str,
    /// `127.0.0.1:50000`
    pub requester: &'a str,
    pub version: &'a str,
    pub request_head_bytes: u64,
    pub request_bytes: u64,
    pub answer_head_bytes: u64,
    pub answer_bytes: u64,
    pub content_length: u64,
    pub request_md5: &'a str,
    pub answer_md5: &'a str,
    pub etag: &'a str,
    pub modified: Option<Timestamp>,
    /// `If-Match=…`
    pub conditions: &'a str,
    pub user_agent: &'a str,
    pub referrer: &'a str,
    pub client_request_id: &'a str,
}

impl LogLine<'_> {
    /// In format `version`: 2.0 has what a token says besides, and 1.0 is all else.
    pub fn write(&self, version: &str, out: &mut String) {
        let is_second = version == "2.0";
        let requester = match self.authentication {
            Authentication::Key => self.account,
            Authentication::Anonymous | Authentication::Sas | Authentication::Bearer => "",
        };
        let service = service_name(self.of).to_ascii_lowercase();
        let modified = self.modified.map(long_date).unwrap_or_default();
        let number = |value: u64| value.to_string();
        let fields = [
            if is_second { "2.0" } else { "1.0" }.to_owned(),
            self.start.to_iso(),
            self.operation.to_owned(),
            self.class.message(self.authentication),
            self.status.to_string(),
            number(self.end_to_end_ms),
            number(self.server_ms),
            self.authentication.name().to_owned(),
            requester.to_owned(),
            self.account.to_owned(),
            service,
            quoted(self.url),
            quoted(self.key),
            self.request_id.to_owned(),
            // One request of a batch is one line.
            "0".to_owned(),
            self.requester.to_owned(),
            self.version.to_owned(),
            number(self.request_head_bytes),
            number(self.request_bytes),
            number(self.answer_head_bytes),
            number(self.answer_bytes),
            number(self.content_length),
            quoted(self.request_md5),
            quoted(self.answer_md5),
            quoted(self.etag),
            modified,
            quoted(self.conditions),
            quoted(self.user_agent),
            quoted(self.referrer),
            quoted(self.client_request_id),
        ];
        out.push_str(&fields.join(";"));
        if is_second {
            // Object, tenant, application, resource, issuer, name, and two that are reserved: tokens are not kept.
            out.push_str(";;;;;;;;");
        }
        out.push('\n');
    }
}

/// Nothing, or text between quotes in which nothing ends a field.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push_str(&format!("&#{};", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// `Thursday, 19-Jun-14 22:58:43 GMT`
fn long_date(time: Timestamp) -> String {
    const DAYS: [(&str, &str); 7] = [
        ("Mon", "Monday"),
        ("Tue", "Tuesday"),
        ("Wed", "Wednesday"),
        ("Thu", "Thursday"),
        ("Fri", "Friday"),
        ("Sat", "Saturday"),
        ("Sun", "Sunday"),
    ];
    // `Thu, 19 Jun 2014 22:58:43 GMT`
    let short = time.to_http();
    let day = DAYS.iter().find(|(name, _)| short.starts_with(name)).map_or("", |(_, name)| name);
    format!("{day}, {}-{}-{} {}", &short[5..7], &short[8..11], &short[14..16], &short[17..])
}
