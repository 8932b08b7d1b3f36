//! What each operation makes of a queue and of a message, as tables.

use super::*;

/// Which messages a Get of two takes, by how many it has and when they expire.
#[test]
fn messages_are_picked_until_there_are_enough() {
    let now = Timestamp::from_ticks(100);
    for (taken, expires, picked) in [
        (0, None, Pick::Take),
        (1, Some(101), Pick::Take),
        (1, Some(100), Pick::Expired),
        (0, Some(99), Pick::Expired),
        (2, None, Pick::Enough),
        (2, Some(99), Pick::Enough),
    ] {
        let place = Place { visible: now, inserted: now };
        let expires = expires.map(Timestamp::from_ticks);
        let message = Message { id: 1, place, expires, dequeued: 0, version: 0 };
        assert_eq!(pick(2, taken, &message, now), picked, "{taken} {expires:?}");
    }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(638_000_000_000_000_000).plus_seconds(seconds)
}

fn message() -> Message {
    let put = PutMessage { id: 7, text: "t".into(), hidden_seconds: 0, lives_seconds: Some(100) };
    put.decide(at(0))
}

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    Metadata::new(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()).unwrap()
}

#[test]
fn creating_twice_is_harmless_with_the_same_metadata() {
    let two = [("a", "1"), ("b", "2")];
    let queue = |pairs: &[(&str, &str)]| Queue { id: 1, metadata: metadata(pairs), policies: Vec::new() };
    let table = [
        (None, &two[..], "new"),
        (Some(queue(&two)), &two[..], "same"),
        (Some(queue(&two)), &[("B", "2"), ("a", "1")], "same"),
        (Some(queue(&two)), &[("a", "1")], "refused"),
        (Some(queue(&two)), &[("a", "1"), ("b", "3")], "refused"),
        (Some(queue(&[])), &[], "same"),
    ];
    for (current, pairs, expected) in table {
        let seen = match (CreateQueue { id: 2, metadata: metadata(pairs) }).decide(current.as_ref()) {
            Ok(Created::New(made)) => {
                assert_eq!(made, Queue { id: 2, ..queue(pairs) });
                "new"
            }
            Ok(Created::Same) => "same",
            Err(refusal) => {
                assert_eq!(refusal, Refusal::QueueAlreadyExists);
                "refused"
            }
        };
        assert_eq!(seen, expected, "{pairs:?}");
    }
}

/// Which receipts are good: only that of the last move, and only while the message lives.
#[test]
fn receipts() {
    use Refusal::*;
    let put = message();
    let got = put.taken(30, at(1));
    let again = got.taken(30, at(40));
    let updated = UpdateMessage { id: 7, receipt: again.receipt(), hidden_seconds: 0, text: None };
    let updated = updated.decide(Some(&again), at(41)).unwrap();
    let table = [
        // What stands at the receipt's place, the id, the receipt, when; and what comes of it.
        (Some(&put), 7, put.receipt(), 0, None),
        (Some(&got), 7, got.receipt(), 2, None),
        // Its time is over, but nobody else took it.
        (Some(&got), 7, got.receipt(), 60, None),
        (Some(&updated), 7, updated.receipt(), 60, None),
        (None, 7, put.receipt(), 2, Some(MessageNotFound)),
        (Some(&got), 7, Receipt { version: 0, ..got.receipt() }, 2, Some(MessageNotFound)),
        (Some(&got), 8, got.receipt(), 2, Some(PopReceiptMismatch)),
        (Some(&got), 7, got.receipt(), 99, None),
        (Some(&got), 7, got.receipt(), 100, Some(MessageNotFound)),
    ];
    for (current, id, receipt, now, refusal) in table {
        let deleted = DeleteMessage { id, receipt }.decide(current, at(now));
        let update = UpdateMessage { id, receipt, hidden_seconds: 0, text: None };
        let updated = update.decide(current, at(now)).map(|_| ());
        assert_eq!((deleted.err(), updated.err()), (refusal.clone(), refusal), "{current:?} {now}");
    }
    let all = [&put, &got, &again, &updated].map(|message| message.receipt().to_string());
    for (at, receipt) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| other != receipt), "{all:?}");
        assert_eq!(Receipt::parse(receipt).map(|read| read.to_string()).as_ref(), Ok(receipt));
    }
}

#[test]
fn what_is_no_receipt_is_refused() {
    for text in ["", "x", "abc=", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAA", "é", &"A".repeat(28)] {
        let refused = Receipt::parse(text);
        assert!(matches!(refused, Err(Refusal::InvalidQueryParameterValue { .. })), "{text}: {refused:?}");
    }
    let plus =
        Receipt { place: Place { visible: Timestamp::from_ticks(u64::MAX - (4 << 56)), inserted: at(0) }, version: 1 };
    let text = plus.to_string();
    assert!(text.contains('+') || text.contains('/'), "{text}");
    assert_eq!(Receipt::parse(&text.replace('+', " ")), Ok(plus));
}

#[test]
fn moves() {
    let put = message();
    assert_eq!((put.dequeued, put.place, put.expires), (0, Place { visible: at(0), inserted: at(0) }, Some(at(100))));
    let got = put.taken(30, at(5));
    assert_eq!((got.dequeued, got.place), (1, Place { visible: at(35), inserted: at(0) }));
    // A get may hide it beyond its end; an update may not.
    assert_eq!(put.taken(500, at(5)).place.visible, at(505));
    let update = |seconds| UpdateMessage { id: 7, receipt: got.receipt(), hidden_seconds: seconds, text: None };
    assert_eq!(update(95).decide(Some(&got), at(5)).map(|message| message.place.visible), Ok(at(100)));
    let refused = update(96).decide(Some(&got), at(5));
    assert!(matches!(refused, Err(Refusal::OutOfRangeQueryParameterValue { .. })), "{refused:?}");
    let updated = update(0).decide(Some(&got), at(6)).unwrap();
    assert_eq!((updated.dequeued, updated.place.visible, updated.expires), (1, at(6), Some(at(100))));
    let forever = PutMessage { id: 1, text: String::new(), hidden_seconds: 9, lives_seconds: None }.decide(at(0));
    assert_eq!((forever.expires, forever.place.visible), (None, at(9)));
}

/// "Put Message", "Get Messages", "Update Message": ranges and defaults.
#[test]
fn ranges() {
    let new = Version::new(2021, 2, 12);
    let old = Version::new(2016, 5, 31);
    let week = Some(WEEK_SECONDS);
    let puts = [
        (None, None, new, Some((0, week))),
        (Some("0"), Some("1"), new, Some((0, Some(1)))),
        (Some("604800"), Some("-1"), new, Some((604_800, None))),
        (None, Some("1073741824"), new, Some((0, Some(1_073_741_824)))),
        (None, Some("-1"), old, None),
        (None, Some("604800"), old, Some((0, week))),
        (None, Some("604801"), old, None),
        (None, Some("0"), new, None),
        (None, Some("-2"), new, None),
        (None, Some("4294967295"), new, Some((0, None))),
        (None, Some("9007199254740991"), new, Some((0, None))),
        (None, Some("x"), new, None),
        (Some("604801"), Some("-1"), new, None),
        (Some("-1"), None, new, None),
        (Some("604800"), None, new, None),
        (Some("5"), Some("5"), new, None),
        (Some("5"), Some("6"), new, Some((5, Some(6)))),
    ];
    for (hidden, lives, version, expected) in puts {
        assert_eq!(asked::put(hidden, lives, version).ok(), expected, "{hidden:?} {lives:?} {version}");
    }
    for (text, most, by_get, by_update) in [
        (None, Some(1), Some(30), None),
        (Some("0"), None, None, Some(0)),
        (Some("1"), Some(1), Some(1), Some(1)),
        (Some("32"), Some(32), Some(32), Some(32)),
        (Some("33"), None, Some(33), Some(33)),
        (Some("604800"), None, Some(604_800), Some(604_800)),
        (Some("604801"), None, None, None),
        (Some("-1"), None, None, None),
        (Some("1.5"), None, None, None),
    ] {
        let seen = (asked::most(text).ok(), asked::hidden_by_get(text).ok(), asked::hidden_by_update(text).ok());
        assert_eq!(seen, (most, by_get, by_update), "{text:?}");
    }
    let detail = Refusal::OutOfRangeQueryParameterValue {
        name: "numofmessages".into(),
        value: "33".into(),
        least: "1".into(),
        most: "32".into(),
    };
    assert_eq!(asked::most(Some("33")), Err(detail));
    assert!(asked::text(&"é".repeat(TEXT_MAX / 2)).is_ok());
    let limit = TEXT_MAX as u64;
    assert_eq!(asked::text(&format!("a{}", "é".repeat(TEXT_MAX / 2))), Err(Refusal::RequestBodyTooLarge { limit }));
}
