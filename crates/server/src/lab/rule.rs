//! What a rule says, and whether a request is meant by it.

use lazuli_http::{Head, Spec, Target};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Do {
    LoseRace,
    BreakLease,
    ExpireLease,
    DeliverTwice,
    HoldCopy,
    Fail,
    Disconnect,
    Slow,
    Truncate,
    Throttle,
    Lag,
}

impl Do {
    pub fn name(self) -> &'static str {
        match self {
            Do::LoseRace => "lose-race",
            Do::BreakLease => "break-lease",
            Do::ExpireLease => "expire-lease",
            Do::DeliverTwice => "deliver-twice",
            Do::HoldCopy => "hold-copy",
            Do::Fail => "fail",
            Do::Disconnect => "disconnect",
            Do::Slow => "slow",
            Do::Truncate => "truncate",
            Do::Throttle => "throttle",
            Do::Lag => "lag",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    #[serde(rename = "do")]
    pub act: Do,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Or queue, table or share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apply: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
}

/// Longer ones are mistakes.
const SECONDS_MAX: f64 = 7.0 * 24.0 * 3600.0;
const MILLISECONDS_MAX: u64 = 600_000;

impl RuleSpec {
    /// What is wrong with it, in words that say what to do.
    pub fn check(&self) -> Result<(), String> {
        let known = |name: &str| {
            let mut all = lazuli_http::operation::CATALOGUES.iter().flat_map(|service| service.served);
            all.any(|operation| operation.spec.name.eq_ignore_ascii_case(name))
        };
        if let Some(name) = self.operation.as_ref().filter(|name| !known(name)) {
            return Err(format!("there is no operation {name}: `lazuli operations` lists them"));
        }
        if self.probability.is_some_and(|probability| !(0.0..=1.0).contains(&probability)) {
            return Err("probability is between 0 and 1".into());
        }
        if self.seconds.is_some_and(|seconds| !(0.0..=SECONDS_MAX).contains(&seconds)) {
            return Err("seconds are between 0 and a week".into());
        }
        if self.milliseconds.is_some_and(|milliseconds| milliseconds > MILLISECONDS_MAX && self.act == Do::Slow) {
            return Err("an answer can be up to 600000 milliseconds late".into());
        }
        if self.count == Some(0) {
            return Err("count is at least 1".into());
        }
        match (self.act, self.status) {
            (Do::Fail, None | Some(500 | 503)) => Ok(()),
            (Do::Fail, Some(_)) => Err("status is 500 or 503".into()),
            (_, Some(_)) => Err("only fail has a status".into()),
            (Do::Throttle, None) if self.requests_per_second.is_none() && self.bytes_per_second.is_none() => {
                Err("throttle needs requests_per_second or bytes_per_second".into())
            }
            (_, None) => Ok(()),
        }
    }

    pub fn fits(&self, spec: &'static Spec, head: &Head) -> bool {
        self.operation.as_ref().is_none_or(|operation| spec.name.eq_ignore_ascii_case(operation))
            && self.account.as_ref().is_none_or(|account| head.account == *account)
            && self.container.as_ref().is_none_or(|container| head.target.within() == Some(container))
            && self.prefix.as_ref().is_none_or(|prefix| name(head).is_some_and(|name| name.starts_with(prefix)))
            && self.can_act(spec, head)
    }

    /// Whether there is something for it to do.
    fn can_act(&self, spec: &'static Spec, head: &Head) -> bool {
        match self.act {
            Do::LoseRace => {
                let conditions = ["if-match", "if-none-match", "if-unmodified-since"];
                let message = matches!(head.target, Target::Message { .. }) && head.query.get("popreceipt").is_some();
                spec.writes() && (message || conditions.iter().any(|header| head.says(header)))
            }
            Do::BreakLease => head.says("x-ms-lease-id") && spec.comp != Some("lease"),
            Do::ExpireLease => {
                matches!(head.target, Target::Blob { .. }) && head.says("x-ms-lease-id") && spec.comp != Some("lease")
            }
            Do::DeliverTwice => spec.name == "GetMessages",
            Do::HoldCopy => spec.name == "CopyBlob",
            Do::Lag => head.secondary && !spec.writes(),
            Do::Fail | Do::Disconnect | Do::Slow | Do::Truncate | Do::Throttle => true,
        }
    }
}

/// The name within the container, queue or share.
fn name(head: &Head) -> Option<&str> {
    match &head.target {
        Target::Blob { blob, .. } => Some(blob),
        Target::Path { path, .. } => Some(path),
        Target::Message { id, .. } => Some(id),
        Target::Table(target) => target.key().map(|key| key.partition.as_str()),
        Target::Service | Target::Container(_) | Target::Queue(_) | Target::Messages(_) | Target::Share(_) => None,
    }
}

/// How much may still pass, in requests and in bytes. It fills at the rates of a throttle, up to what comes in a second.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    requests: f64,
    bytes: f64,
    at: Instant,
}

impl Bucket {
    pub fn new(spec: &RuleSpec, now: Instant) -> Self {
        let full = |rate: Option<f64>| rate.unwrap_or(f64::INFINITY);
        Self { requests: full(spec.requests_per_second), bytes: full(spec.bytes_per_second), at: now }
    }

    /// Whether this request is one too many; all others are let pass and counted. What is no throttle acts always.
    pub fn acts(&mut self, spec: &RuleSpec, head: &Head, now: Instant) -> bool {
        if spec.act != Do::Throttle {
            return true;
        }
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        let fill = |left: f64, rate: Option<f64>| rate.map_or(f64::INFINITY, |rate| (left + rate * seconds).min(rate));
        self.requests = fill(self.requests, spec.requests_per_second);
        self.bytes = fill(self.bytes, spec.bytes_per_second);
        let bytes = head.text("content-length").and_then(|length| length.parse().ok()).unwrap_or(0.0);
        // One that alone is more than a second's worth passes when the bucket is full, or it would never.
        let room = self.bytes >= bytes || spec.bytes_per_second.is_none_or(|rate| self.bytes >= rate);
        if self.requests < 1.0 || !room {
            return true;
        }
        self.requests -= 1.0;
        self.bytes -= bytes;
        false
    }
}
