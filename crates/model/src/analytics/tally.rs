//! What a row of metrics counts. Rows are added to, so that several servers, and one that was stopped, count in one row.

use super::{Authentication, Class};
use crate::table::Value;

/// Of one operation, or of all, in an hour or a minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    requests: i64,
    billable: i64,
    ingress: i64,
    egress: i64,
    end_to_end_ms: f64,
    server_ms: f64,
    /// By class: by key or token, anonymous, and by SAS.
    by_class: [[i64; 3]; 8],
}

const PREFIXES: [&str; 3] = ["", "Anonymous", "SAS"];

impl Tally {
    pub fn count(
        &mut self,
        class: Class,
        authentication: Authentication,
        milliseconds: f64,
        ingress: u64,
        egress: u64,
    ) {
        self.requests += 1;
        // "Requests that are authenticated, or anonymous and successful".
        let is_free = matches!(
            (class, authentication),
            (Class::AuthorizationError | Class::ThrottlingError, _)
                | (Class::ClientOtherError, Authentication::Anonymous)
        );
        self.billable += i64::from(!is_free);
        self.ingress = self.ingress.saturating_add_unsigned(ingress);
        self.egress = self.egress.saturating_add_unsigned(egress);
        if class == Class::Success {
            self.end_to_end_ms += milliseconds;
            self.server_ms += milliseconds;
        }
        let by = match authentication {
            Authentication::Key | Authentication::Bearer => 0,
            Authentication::Anonymous => 1,
            Authentication::Sas => 2,
        };
        self.by_class[class as usize][by] += 1;
    }

    pub fn add(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.billable += other.billable;
        self.ingress = self.ingress.saturating_add(other.ingress);
        self.egress = self.egress.saturating_add(other.egress);
        self.end_to_end_ms += other.end_to_end_ms;
        self.server_ms += other.server_ms;
        for (own, other) in self.by_class.iter_mut().flatten().zip(other.by_class.iter().flatten()) {
            *own += other;
        }
    }

    fn of(&self, class: Class) -> i64 {
        self.by_class[class as usize].iter().sum()
    }

    /// The properties of its row.
    pub fn properties(&self) -> Vec<(String, Value)> {
        let share = |count: i64| if self.requests == 0 { 0.0 } else { 100.0 * count as f64 / self.requests as f64 };
        let of_successes = |total: f64| match self.of(Class::Success) {
            0 => 0.0,
            successes => total / successes as f64,
        };
        let timeouts = self.of(Class::ClientTimeoutError) + self.of(Class::ServerTimeoutError);
        let unavailable = self.of(Class::ServerTimeoutError) + self.of(Class::ServerOtherError);
        let mut row: Vec<(String, Value)> = vec![
            ("TotalIngress".into(), Value::Int64(self.ingress)),
            ("TotalEgress".into(), Value::Int64(self.egress)),
            ("TotalRequests".into(), Value::Int64(self.requests)),
            ("TotalBillableRequests".into(), Value::Int64(self.billable)),
            ("Availability".into(), Value::Double(if self.requests == 0 { 100.0 } else { 100.0 - share(unavailable) })),
            ("AverageE2ELatency".into(), Value::Double(of_successes(self.end_to_end_ms))),
            ("AverageServerLatency".into(), Value::Double(of_successes(self.server_ms))),
            ("PercentSuccess".into(), Value::Double(share(self.of(Class::Success)))),
            ("PercentThrottlingError".into(), Value::Double(share(self.of(Class::ThrottlingError)))),
            ("PercentTimeoutError".into(), Value::Double(share(timeouts))),
            ("PercentServerOtherError".into(), Value::Double(share(self.of(Class::ServerOtherError)))),
            ("PercentClientOtherError".into(), Value::Double(share(self.of(Class::ClientOtherError)))),
            ("PercentAuthorizationError".into(), Value::Double(share(self.of(Class::AuthorizationError)))),
            ("PercentNetworkError".into(), Value::Double(share(self.of(Class::NetworkError)))),
        ];
        for (by, prefix) in PREFIXES.iter().enumerate() {
            for class in Class::ALL {
                row.push((format!("{prefix}{}", class.name()), Value::Int64(self.by_class[class as usize][by])));
            }
        }
        row
    }

    /// What a row counted that [`Tally::properties`] made.
    pub fn read(properties: &[(String, Value)]) -> Self {
        let find = |name: &str| properties.iter().find(|(own, _)| own == name).map(|(_, value)| value);
        let whole = |name: &str| match find(name) {
            Some(Value::Int64(value)) => *value,
            Some(_) | None => 0,
        };
        let real = |name: &str| match find(name) {
            Some(Value::Double(value)) => *value,
            Some(_) | None => 0.0,
        };
        let mut tally = Tally {
            requests: whole("TotalRequests"),
            billable: whole("TotalBillableRequests"),
            ingress: whole("TotalIngress"),
            egress: whole("TotalEgress"),
            ..Tally::default()
        };
        for (by, prefix) in PREFIXES.iter().enumerate() {
            for class in Class::ALL {
                tally.by_class[class as usize][by] = whole(&format!("{prefix}{}", class.name()));
            }
        }
        let successes = tally.of(Class::Success) as f64;
        tally.end_to_end_ms = real("AverageE2ELatency") * successes;
        tally.server_ms = real("AverageServerLatency") * successes;
        tally
    }
}
