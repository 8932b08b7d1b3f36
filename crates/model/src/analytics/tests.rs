use super::*;
use crate::table::Value;

const START: &str = "2014-06-19T22:59:23.1967767Z";

fn line() -> LogLine<'static> {
    LogLine {
        start: Timestamp::parse_iso(START).unwrap(),
        operation: "GetBlob",
        class: Class::Success,
        status: 200,
        end_to_end_ms: 17,
        server_ms: 16,
        authentication: Authentication::Anonymous,
        account: "storagesample",
        of: Of::Blob,
        url: "https://storagesample.blob.core.windows.net/sample-container1/00001.txt",
        key: "/storagesample/sample-container1/00001.txt",
        request_id: "61d2e3f6-bcb7-4cd1-a81e-4f8f497f0da2",
        requester: "192.100.0.102:4362",
        version: "2014-02-14",
        request_head_bytes: 283,
        request_bytes: 0,
        answer_head_bytes: 354,
        answer_bytes: 23,
        content_length: 0,
        request_md5: "",
        answer_md5: "",
        etag: "0x8D15A2DDEEC8F00",
        modified: Timestamp::parse_iso("2014-06-19T22:58:43Z"),
        conditions: "",
        user_agent: "Mozilla/5.0; (compatible)",
        referrer: "",
        client_request_id: "",
    }
}

/// The example of "Storage Analytics log format", with a semicolon in the name of the client.
#[test]
fn a_line_as_documented() {
    let mut first = String::new();
    line().write("1.0", &mut first);
    assert_eq!(
        first,
        "1.0;2014-06-19T22:59:23.1967767Z;GetBlob;AnonymousSuccess;200;17;16;anonymous;;storagesample;blob;\
         \"https://storagesample.blob.core.windows.net/sample-container1/00001.txt\";\"/storagesample/sample-container1/00001.txt\";\
         61d2e3f6-bcb7-4cd1-a81e-4f8f497f0da2;0;192.100.0.102:4362;2014-02-14;283;0;354;23;0;;;\"0x8D15A2DDEEC8F00\";\
         Thursday, 19-Jun-14 22:58:43 GMT;;\"Mozilla/5.0; (compatible)\";;\n"
    );
    let mut second = String::new();
    LogLine { authentication: Authentication::Key, conditions: "If-Match=\"a\n\"", ..line() }.write("2.0", &mut second);
    assert!(second.contains(";authenticated;storagesample;storagesample;blob;"), "{second}");
    assert!(second.contains(";\"If-Match=&quot;a&#10;&quot;\";"), "{second}");
    assert_eq!(second.matches('\n').count(), 1);
    // Eight fields more; what is encoded has semicolons of its own.
    assert_eq!(second.matches(';').count(), first.matches(';').count() + 8 + 3);
}

#[test]
fn what_came_of_a_request() {
    for (status, code, class) in [
        (200, "", Class::Success),
        (206, "", Class::Success),
        (304, "ConditionNotMet", Class::ClientOtherError),
        (404, "BlobNotFound", Class::ClientOtherError),
        (409, "ContainerAlreadyExists", Class::ClientOtherError),
        (401, "NoAuthenticationInformation", Class::AuthorizationError),
        (403, "AuthenticationFailed", Class::AuthorizationError),
        (408, "", Class::ClientTimeoutError),
        (429, "", Class::ThrottlingError),
        (500, "InternalError", Class::ServerOtherError),
        (500, "OperationTimedOut", Class::ServerTimeoutError),
        (503, "ServerBusy", Class::ThrottlingError),
    ] {
        assert_eq!(Class::of(status, code), class, "{status} {code}");
    }
    assert_eq!(Class::Success.message(Authentication::Sas), "SASSuccess");
    let anonymous = Authentication::Anonymous;
    assert!(Class::Success.is_logged(anonymous, 200) && Class::ClientOtherError.is_logged(anonymous, 304));
    assert!(!Class::ClientOtherError.is_logged(anonymous, 404) && !Class::AuthorizationError.is_logged(anonymous, 401));
    assert!(Class::AuthorizationError.is_logged(Authentication::Sas, 403));
}

#[test]
fn rows_are_added_to() {
    let mut one = Tally::default();
    one.count(Class::Success, Authentication::Key, 4.0, 10, 100);
    one.count(Class::Success, Authentication::Sas, 2.0, 0, 0);
    one.count(Class::ServerOtherError, Authentication::Anonymous, 9.0, 0, 0);
    one.count(Class::AuthorizationError, Authentication::Sas, 1.0, 0, 0);
    let row = one.properties();
    let find = |name: &str| row.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone()).unwrap();
    assert_eq!(find("TotalRequests"), Value::Int64(4));
    assert_eq!(find("TotalBillableRequests"), Value::Int64(3));
    assert_eq!((find("TotalIngress"), find("TotalEgress")), (Value::Int64(10), Value::Int64(100)));
    assert_eq!((find("Success"), find("SASSuccess")), (Value::Int64(1), Value::Int64(1)));
    assert_eq!((find("Availability"), find("PercentSuccess")), (Value::Double(75.0), Value::Double(50.0)));
    assert_eq!(find("AverageE2ELatency"), Value::Double(3.0));
    assert_eq!(row.len(), 14 + 3 * 8);
    let mut twice = Tally::read(&row);
    assert_eq!(twice, one);
    twice.add(&one);
    let row = twice.properties();
    assert!(row.contains(&("TotalRequests".into(), Value::Int64(8))));
    assert!(row.contains(&("AverageE2ELatency".into(), Value::Double(3.0))));
}

#[test]
fn names_of_logs_and_rows() {
    let time = Timestamp::parse_iso("2026-01-31T15:42:59Z").unwrap();
    assert_eq!(row_time(MetricsSpan::Hour.begin(time)), "20260131T1500");
    assert_eq!(row_time(MetricsSpan::Minute.begin(time)), "20260131T1542");
    let folder = log_folder(Of::Queue, time);
    assert_eq!(folder, "queue/2026/01/31/1500/");
    assert_eq!(log_hour(&format!("{folder}000001.log")), Some(MetricsSpan::Hour.begin(time)));
    assert_eq!(log_hour("queue/2026"), None);
    assert_eq!(MetricsSpan::Hour.table(Of::Blob).as_str(), "$MetricsHourPrimaryTransactionsBlob");
    assert_eq!(MetricsSpan::Minute.table(Of::File).as_str(), "$MetricsMinutePrimaryTransactionsFile");
    assert_eq!(capacity_table().as_str(), "$MetricsCapacityBlob");
    for name in ["$MetricsHourPrimaryTransactionsBlob", "$metricscapacityblob"] {
        assert!(TableName::parse(name).is_ok_and(|name| name.is_of_metrics()), "{name}");
    }
    assert!(TableName::parse("$Metrics").is_err() && TableName::parse("$MetricsHourPrimaryTransactions").is_err());
}

#[test]
fn switches() {
    let logging = Logging { read: true, ..Logging::default() };
    let switches = Switches { logging, ..Switches::default() };
    assert!(switches.is_any_on() && switches.logs(Of::Blob, Sort::Read) && !switches.logs(Of::Blob, Sort::Delete));
    assert!(!switches.logs(Of::File, Sort::Read), "files have no logs");
    assert!(!Switches::default().is_any_on());
}
