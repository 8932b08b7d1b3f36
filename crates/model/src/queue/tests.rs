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
        assert_eq!(Receipt::parse(receipt).map(|read| read.to_string()).as_ref(), Some(receipt));
    }
}

#[test]
fn what_is_no_receipt_is_none() {
    for text in ["", "x", "abc=", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAA", "é", &"A".repeat(28)] {
        assert_eq!(Receipt::parse(text), None, "{text}");
    }
    let plus =
        Receipt { place: Place { visible: Timestamp::from_ticks(u64::MAX - (4 << 56)), inserted: at(0) }, version: 1 };
    let text = plus.to_string();
    assert!(text.contains('+') || text.contains('/'), "{text}");
    assert_eq!(Receipt::parse(&text.replace('+', " ")), Some(plus));
}

#[test]
fn moves() {
    let put = message();
    assert_eq!((put.dequeued, put.place, put.expires), (0, Place { visible: at(0), inserted: at(0) }, Some(at(100))));
    let got = put.taken(30, at(5));
    assert_eq!((got.dequeued, got.place), (1, Place { visible: at(35), inserted: at(0) }));
    // Both may hide it beyond its end.
    assert_eq!(put.taken(500, at(5)).place.visible, at(505));
    let update = |seconds| UpdateMessage { id: 7, receipt: got.receipt(), hidden_seconds: seconds, text: None };
    assert_eq!(update(95).decide(Some(&got), at(5)).map(|message| message.place.visible), Ok(at(100)));
    assert_eq!(update(96).decide(Some(&got), at(5)).map(|message| message.place.visible), Ok(at(101)));
    let updated = update(0).decide(Some(&got), at(6)).unwrap();
    assert_eq!((updated.dequeued, updated.place.visible, updated.expires), (1, at(6), Some(at(100))));
    let forever = PutMessage { id: 1, text: String::new(), hidden_seconds: 9, lives_seconds: None }.decide(at(0));
    assert_eq!((forever.expires, forever.place.visible), (None, at(9)));
}
