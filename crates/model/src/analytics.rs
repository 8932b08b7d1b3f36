//! Storage analytics: what is written down of requests where a service's properties ask for it, as lines of logs and as rows of metrics ("Storage
//! Analytics log format", "Storage Analytics metrics table schema", "Storage Analytics logged operations and status messages").
//!
//! Held true: a line, and what a request adds to a row, are pure functions of the request and its answer.

mod line;
mod tally;

use crate::service::{Logging, Metrics, Of, ServiceProperties};
use crate::{TableName, Timestamp};

pub use line::LogLine;
pub use tally::Tally;

/// The container of logs. It comes with the first of them, is not listed, and only the service writes there.
pub const LOGS: &str = "$logs";

/// The service, as logs and tables name it.
pub fn service_name(of: Of) -> &'static str {
    match of {
        Of::Blob => "Blob",
        Of::Queue => "Queue",
        Of::Table => "Table",
        Of::File => "File",
    }
}

/// What a request is to the switches of logging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    Read,
    Write,
    Delete,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Read => "read",
            Sort::Write => "write",
            Sort::Delete => "delete",
        }
    }
}

/// By what a request was authorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    Anonymous,
    Sas,
    Key,
    Bearer,
}

impl Authentication {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Authentication::Anonymous => "anonymous",
            Authentication::Sas => "sas",
            Authentication::Key => "authenticated",
            Authentication::Bearer => "OAuth",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Authentication::Anonymous => "Anonymous",
            Authentication::Sas => "SAS",
            Authentication::Key => "",
            Authentication::Bearer => "OAuth",
        }
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Success,
    ThrottlingError,
    ClientTimeoutError,
    ServerTimeoutError,
    ClientOtherError,
    ServerOtherError,
    AuthorizationError,
    NetworkError,
}

impl Class {
    pub const ALL: [Class; 8] = [
        Class::Success,
        Class::ThrottlingError,
        Class::ClientTimeoutError,
        Class::ServerTimeoutError,
        Class::ClientOtherError,
        Class::ServerOtherError,
        Class::AuthorizationError,
        Class::NetworkError,
    ];

    /// By the status and the code of the answer. Nothing that is answered is an error of the network.
    pub fn of(status: u16, code: &str) -> Self {
        match (status, code) {
            (..=299, _) => Class::Success,
            (503, "ServerBusy") | (429, _) => Class::ThrottlingError,
            (500, "OperationTimedOut") => Class::ServerTimeoutError,
            (408, _) => Class::ClientTimeoutError,
            (401 | 403, _) => Class::AuthorizationError,
            (300..=499, _) => Class::ClientOtherError,
            (500.., _) => Class::ServerOtherError,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::Success => "Success",
            Class::ThrottlingError => "ThrottlingError",
            Class::ClientTimeoutError => "ClientTimeoutError",
            Class::ServerTimeoutError => "ServerTimeoutError",
            Class::ClientOtherError => "ClientOtherError",
            Class::ServerOtherError => "ServerOtherError",
            Class::AuthorizationError => "AuthorizationError",
            Class::NetworkError => "NetworkError",
        }
    }

    /// As a line says it: `SASSuccess`.
    pub fn message(self, authentication: Authentication) -> String {
        format!("{}{}", authentication.prefix(), self.name())
    }

    /// "Logging anonymous requests": successes, errors of the server, timeouts, and reads of what has not changed.
    pub fn is_logged(self, authentication: Authentication, status: u16) -> bool {
        match (authentication, self) {
            (Authentication::Anonymous, Class::ClientOtherError) => status == 304,
            (Authentication::Anonymous, Class::AuthorizationError) => false,
            (Authentication::Anonymous | Authentication::Sas | Authentication::Key | Authentication::Bearer, _) => true,
        }
    }
}

/// What a service's properties ask for, as far as requests need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    pub logging: Logging,
    pub hour: Metrics,
    pub minute: Metrics,
}

impl From<&ServiceProperties> for Switches {
    fn from(properties: &ServiceProperties) -> Self {
        let ServiceProperties { logging, hour_metrics, minute_metrics, .. } = properties;
        Self { logging: logging.clone(), hour: hour_metrics.clone(), minute: minute_metrics.clone() }
    }
}

impl Switches {
    pub fn is_any_on(&self) -> bool {
        self.logs_any() || self.hour.enabled || self.minute.enabled
    }

    pub fn logs_any(&self) -> bool {
        self.logging.read || self.logging.write || self.logging.delete
    }

    /// Files have no logs.
    pub fn logs(&self, of: Of, sort: Sort) -> bool {
        let wanted = match sort {
            Sort::Read => self.logging.read,
            Sort::Write => self.logging.write,
            Sort::Delete => self.logging.delete,
        };
        wanted && of != Of::File
    }
}

/// How long a row of metrics counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricsSpan {
    Hour,
    Minute,
}

impl MetricsSpan {
    /// When the row began that `time` is in.
    pub fn begin(self, time: Timestamp) -> Timestamp {
        let ticks = match self {
            MetricsSpan::Hour => 3600 * crate::time::TICKS_PER_SECOND,
            MetricsSpan::Minute => 60 * crate::time::TICKS_PER_SECOND,
        };
        Timestamp::from_ticks(time.ticks() - time.ticks() % ticks)
    }

    /// The table of transactions.
    pub fn table(self, of: Of) -> TableName {
        let span = match self {
            MetricsSpan::Hour => "Hour",
            MetricsSpan::Minute => "Minute",
        };
        TableName::of_metrics(&format!("$Metrics{span}PrimaryTransactions{}", service_name(of)))
    }
}

/// The table of what the Blob service holds.
pub fn capacity_table() -> TableName {
    TableName::of_metrics("$MetricsCapacityBlob")
}

/// The PartitionKey of a row: `20260131T1500`.
pub fn row_time(begin: Timestamp) -> String {
    let iso = begin.to_iso();
    format!("{}{}{}T{}{}", &iso[..4], &iso[5..7], &iso[8..10], &iso[11..13], &iso[14..16])
}

/// The name of a log, without its number: `blob/2026/01/31/1500/`.
pub fn log_folder(of: Of, begin: Timestamp) -> String {
    let iso = begin.to_iso();
    let service = service_name(of).to_ascii_lowercase();
    format!("{service}/{}/{}/{}/{}00/", &iso[..4], &iso[5..7], &iso[8..10], &iso[11..13])
}

/// The hour of a log, from its name.
pub fn log_hour(name: &str) -> Option<Timestamp> {
    let mut parts = name.split('/').skip(1);
    let (year, month, day, hour) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Timestamp::parse_iso(&format!("{year}-{month}-{day}T{}:00:00Z", hour.get(..2)?))
}

#[cfg(test)]
mod tests;
