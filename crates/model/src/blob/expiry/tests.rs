use super::*;
use crate::blob::{ContentRef, Immutability, Kind};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(0).plus_seconds(seconds)
}

fn blob() -> Blob {
    Blob::new(Kind::Block, ContentRef::EMPTY, at(100))
}

/// "Set Blob Expiry", at 200 on a blob of 100.
#[test]
fn when_a_blob_expires() {
    let invalid = |time: u64| Err(Refusal::ExpiryTimePassed { time: at(time) });
    let table = [
        (Expiry::Never, Ok(None)),
        (Expiry::RelativeToNow(5_000), Ok(Some(at(205)))),
        (Expiry::RelativeToCreation(150_000), Ok(Some(at(250)))),
        (Expiry::RelativeToCreation(50_000), invalid(150)),
        (Expiry::Absolute(at(300)), Ok(Some(at(300)))),
        (Expiry::Absolute(at(200)), invalid(200)),
    ];
    for (expiry, want) in table {
        let got = SetBlobExpiry { expiry, lease: None }.decide(Some(&blob()), at(200)).map(|blob| blob.expires);
        assert_eq!(got, want, "{expiry:?}");
    }
    let far = SetBlobExpiry { expiry: Expiry::RelativeToNow(u64::MAX), lease: None };
    assert!(far.decide(Some(&blob()), at(200)).is_ok(), "no overflow");
}

#[test]
fn what_has_expired_is_not_there_unless_it_is_protected() {
    let mut expiring = Blob { expires: Some(at(200)), ..blob() };
    assert!(expiring.clone().at(at(199)).is_some());
    assert!(expiring.clone().at(at(200)).is_none());
    expiring.immutability = Some(Immutability { until: at(300), locked: false });
    assert!(expiring.clone().at(at(200)).is_some());
    assert!(expiring.at(at(300)).is_none());
}
