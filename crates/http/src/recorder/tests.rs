//! The ring keeps its bound, and what goes in comes out.

use std::net::{IpAddr, Ipv4Addr};

use lazuli_model::{LeaseId, Timestamp, Version};
use lazuli_store::{Sight, Sighted};

use super::*;
use crate::auth::{AccountSas, Identity, Letters};
use crate::head::{Arrival, Head, Service};

fn head(uri: &str, headers: &[(&str, &str)], request_id: u128) -> Head {
    let mut request = http::Request::builder().method("PUT").uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let arrival = Arrival {
        service: Service::Blob,
        secure: false,
        peer: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)),
        now: Timestamp::from_ticks(5),
        wall: Timestamp::from_ticks(5),
        request_id,
        loose: false,
    };
    Head::read(request.body(()).unwrap().into_parts().0, arrival).unwrap()
}

fn note(head: &Head) -> Note<'_> {
    Note {
        head,
        identity: &Identity::Owner,
        row: 0,
        status: 201,
        code: "",
        kind: RecordKind::Change,
        etag: None,
        lease_call: false,
        lease: None,
        sight: Sight::default(),
        entity: None,
        messages: &[],
        receipt: None,
        rule: 0,
    }
}

#[test]
fn what_is_noted_is_what_is_read() {
    let recorder = Recorder::new(0);
    let asked = head(
        "/account/pictures/a%20cat?comp=lease&sv=2020-12-06&sp=rw&sig=c2VjcmV0",
        &[
            ("if-match", "\"0x1F\""),
            ("x-ms-client-request-id", "mine"),
            ("user-agent", "test"),
            ("x-ms-lease-action", "Acquire"),
            ("x-ms-lease-duration", "15"),
        ],
        7,
    );
    let messages = [Message { id: 9, dequeues: 2, visible: Timestamp::from_ticks(77), version: 3 }];
    let mut sight = Sight::default();
    sight.at.0 = 42;
    sight.found = Sighted::Made(Timestamp::from_ticks(31), Some(LeaseId(3)));
    let lease = Some("00000000-0000-0000-0000-000000000003");
    let code = "ConditionNotMet";
    let lease_call = true;
    let first = Note {
        status: 412,
        code,
        kind: RecordKind::Refusal,
        sight,
        lease_call,
        lease,
        messages: &messages,
        ..note(&asked)
    };
    recorder.note(&first);
    recorder.note(&note(&asked));
    let records = recorder.records();
    assert_eq!(records.len(), 2);
    let first = &records[0];
    assert_eq!((first.seq, records[1].seq), (0, 1));
    assert_eq!((first.at.ticks(), records[1].at.ticks()), (42, 5), "without a decision, the time of arrival");
    assert_eq!(first.object, "blob/account/pictures/a cat");
    assert_eq!((first.status, first.code.as_str(), first.kind), (412, code, RecordKind::Refusal));
    assert_eq!(first.asked.if_match, "\"0x1F\"");
    assert_eq!((first.client_request_id.as_str(), first.agent.as_str()), ("mine", "test"));
    assert_eq!(first.address.to_string(), "10.0.0.7");
    assert_eq!(first.etag_before.map(Timestamp::ticks), Some(31));
    assert_eq!(first.found, sight.found);
    let call = first.lease.as_ref().unwrap();
    assert_eq!((call.action.as_str(), call.seconds), ("acquire", Some(15)));
    assert_eq!(first.messages, messages);
    let all = Letters::all();
    let sas = AccountSas { version: Version::NEWEST, services: all, resource_types: all, letters: all };
    recorder.note(&Note { identity: &Identity::AccountSas(sas), ..note(&asked) });
    let signed = recorder.records().pop().unwrap();
    assert_eq!(signed.principal, "account-sas:sp=rw");
    let shown = serde_json::to_string(&[first, &signed]).unwrap();
    assert!(!shown.contains("c2VjcmV0"), "no signature is recorded: {shown}");
    assert!(shown.contains("\"kind\":\"refusal\"") && shown.contains("\"etag_before\":\"0x1F\""), "{shown}");
}

#[test]
fn the_bound_holds_and_the_oldest_go_first() {
    let bytes_max = 4 * PIECE_BYTES;
    let recorder = Recorder::new(bytes_max as u64);
    let long = format!("/account/c/{}", "x".repeat(1000));
    for number in 0..2_000u128 {
        recorder.note(&note(&head(&long, &[], number)));
        assert!(recorder.fill().bytes <= bytes_max);
    }
    let records = recorder.records();
    let fill = recorder.fill();
    assert_eq!(records.len() as u64, fill.records);
    assert_eq!(fill.records + fill.dropped, 2_000);
    assert!(fill.dropped > 0 && records.len() > 100);
    assert!(records.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq), "nothing is missing in between");
    assert_eq!(records.last().unwrap().seq, 1_999);
    recorder.clear();
    assert_eq!((recorder.records().len(), recorder.fill().records), (0, 0));
}

/// A client chooses names, agents and ids: none of them makes a record long.
#[test]
fn one_record_is_short_whatever_a_client_sends() {
    let recorder = Recorder::new(0);
    let agent = "ä".repeat(4_000);
    let path = format!("/account/c/{}", "y".repeat(8_000));
    recorder.note(&note(&head(&path, &[("user-agent", &agent), ("if-match", &agent)], 1)));
    assert!(recorder.fill().bytes < 4_096, "{}", recorder.fill().bytes);
    assert_eq!(recorder.records().len(), 1);
}

/// A record of a call on the container `box` at `at`, which saw `found`.
struct Told {
    operation: &'static str,
    at: u64,
    found: Sighted,
    kind: RecordKind,
}

fn called(recorder: &Recorder, told: &Told) -> String {
    let asked = head("/account/box?restype=container", &[], u128::from(told.at));
    let row = (0..).find(|row| crate::operation::name(*row) == told.operation).unwrap();
    let mut sight = Sight::default();
    (sight.at.0, sight.found) = (told.at, told.found);
    let etag = format!("\"0x{:X}\"", told.at);
    let etag = (told.kind == RecordKind::Change).then_some(etag.as_str());
    let code = if told.kind == RecordKind::Refusal { "ContainerAlreadyExists" } else { "" };
    recorder.note(&Note { row, kind: told.kind, code, etag, sight, ..note(&asked) });
    crate::head::guid(u128::from(told.at))
}

fn seen_at(at: u64) -> Sighted {
    Sighted::Made(Timestamp::from_ticks(at), None)
}

const CREATE: &str = "CreateContainer";
const SET: &str = "SetContainerMetadata";

/// The container of the record was deleted. The one that is there was made by a call that is not in the record.
#[test]
fn who_made_what_is_gone_is_not_blamed_for_what_is_there() {
    let recorder = Recorder::new(0);
    called(&recorder, &Told { operation: CREATE, at: 10, found: Sighted::Nothing, kind: RecordKind::Change });
    called(&recorder, &Told { operation: "DeleteContainer", at: 20, found: seen_at(10), kind: RecordKind::Change });
    let refused = called(&recorder, &Told { operation: CREATE, at: 40, found: seen_at(30), kind: RecordKind::Refusal });
    let told = explain(&recorder.records(), &refused).unwrap();
    assert_eq!((told.why, told.winner, told.certain), (Why::Unknown, None, false), "{}", told.text);
}

/// A change whose end nobody told is the cause if somebody saw its stamp.
#[test]
fn a_change_without_an_answer_is_named_once_its_stamp_was_seen() {
    let recorder = Recorder::new(0);
    called(&recorder, &Told { operation: CREATE, at: 10, found: Sighted::Nothing, kind: RecordKind::Change });
    called(&recorder, &Told { operation: "DeleteContainer", at: 20, found: seen_at(10), kind: RecordKind::Change });
    let lost =
        called(&recorder, &Told { operation: CREATE, at: 30, found: Sighted::Nothing, kind: RecordKind::Uncertain });
    let told = explain(&recorder.records(), &lost).unwrap();
    assert_eq!((told.why, told.certain), (Why::Uncertain, false), "{}", told.text);
    called(&recorder, &Told { operation: SET, at: 40, found: seen_at(30), kind: RecordKind::Change });
    let refused = called(&recorder, &Told { operation: CREATE, at: 50, found: seen_at(40), kind: RecordKind::Refusal });
    let told = explain(&recorder.records(), &refused).unwrap();
    assert_eq!(
        (told.why, told.winner.map(|winner| winner.request_id)),
        (Why::Created, Some(lost.clone())),
        "{}",
        told.text
    );
    assert_eq!(explain(&recorder.records(), &lost).unwrap().why, Why::Applied);
}

/// Nobody saw what it left, and it may have been the cause: then nobody is named, and the text says why.
#[test]
fn a_change_that_may_have_been_the_cause_makes_an_explanation_uncertain() {
    let recorder = Recorder::new(0);
    let made = Told { operation: CREATE, at: 10, found: Sighted::Unknown, kind: RecordKind::Change };
    let first = called(&recorder, &made);
    let refusal = |at| Told { operation: CREATE, at, found: Sighted::Unknown, kind: RecordKind::Refusal };
    let refused = called(&recorder, &refusal(20));
    assert_eq!(explain(&recorder.records(), &refused).unwrap().winner.unwrap().request_id, first);
    let gone = Told { operation: "DeleteContainer", at: 30, found: Sighted::Unknown, kind: RecordKind::Uncertain };
    called(&recorder, &gone);
    let refused = called(&recorder, &refusal(40));
    let told = explain(&recorder.records(), &refused).unwrap();
    assert_eq!((told.why, told.winner), (Why::Unknown, None));
    assert!(told.text.contains("Perhaps because of DeleteContainer by 10.0.0.7"), "{}", told.text);
}

const LEASE: &str = "0000000b-0000-0000-0000-000000000000";
const SECOND: u64 = 10_000_000;

/// A call on the blob `disk`, in its second, which saw `found`. A lease that is acquired lasts 15 seconds.
fn on_disk(recorder: &Recorder, operation: &str, second: u64, found: Sighted, kind: RecordKind) -> String {
    let lease_call = operation == "AcquireBlobLease";
    let headers: &[(&str, &str)] = match lease_call {
        true => &[("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15")],
        false => &[("x-ms-lease-id", LEASE)],
    };
    let asked = head("/account/box/disk", headers, u128::from(second));
    let row = (0..).find(|row| crate::operation::name(*row) == operation).unwrap();
    let mut sight = Sight::default();
    (sight.at.0, sight.found) = (second * SECOND, found);
    let etag = format!("\"0x{:X}\"", second * SECOND);
    let etag = (kind == RecordKind::Change && operation == "PutBlob").then_some(etag.as_str());
    let code = if kind == RecordKind::Refusal { "LeaseNotPresentWithBlobOperation" } else { "" };
    let lease = lease_call.then_some(LEASE);
    recorder.note(&Note { row, kind, code, etag, lease_call, lease, sight, ..note(&asked) });
    crate::head::guid(u128::from(second))
}

fn disk_of(second: u64, lease: bool) -> Sighted {
    Sighted::Made(Timestamp::from_ticks(second * SECOND), lease.then(|| LeaseId::parse(LEASE).unwrap()))
}

/// Why the lease of a blob is not that of the next blob of its name, which was put after a delete in its second; and who is blamed.
fn told_of_deleted_lease(second: u64, is_in_force: bool, kind: RecordKind) -> (Why, Option<String>) {
    let recorder = Recorder::new(0);
    on_disk(&recorder, "PutBlob", 1, Sighted::Nothing, RecordKind::Change);
    on_disk(&recorder, "AcquireBlobLease", 2, disk_of(1, false), RecordKind::Change);
    on_disk(&recorder, "DeleteBlob", second, disk_of(1, is_in_force), kind);
    on_disk(&recorder, "PutBlob", second + 1, Sighted::Nothing, RecordKind::Change);
    let refused = on_disk(&recorder, "GetBlob", second + 2, disk_of(second + 1, false), RecordKind::Refusal);
    let told = explain(&recorder.records(), &refused).unwrap();
    (told.why, told.winner.map(|winner| winner.operation.to_owned()))
}

#[test]
fn who_deletes_a_blob_ends_its_lease_unless_the_time_of_that_was_over() {
    assert_eq!(told_of_deleted_lease(5, true, RecordKind::Change), (Why::Deleted, Some("DeleteBlob".into())));
    assert_eq!(told_of_deleted_lease(20, false, RecordKind::Change), (Why::Expired, None));
}

/// A blob is put where another one was that had a lease. That one was deleted, and not replaced.
#[test]
fn who_puts_a_blob_is_not_blamed_for_a_delete_that_nobody_knows_of() {
    assert_eq!(told_of_deleted_lease(5, true, RecordKind::Uncertain), (Why::Unknown, None));
}
