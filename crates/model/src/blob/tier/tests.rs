use super::*;
use crate::blob::{ContentRef, PutBlob, ReadBlob};

const TAKES: Rehydration = Rehydration { standard_seconds: 60, high_seconds: 20 };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(0).plus_seconds(seconds)
}

fn blob(kind: Kind, tier: Option<Tier>, rehydrating: Option<Rehydrating>) -> Blob {
    let content = ContentRef { length: 40 << 30, ..ContentRef::EMPTY };
    Blob { tier, rehydrating, ..Blob::new(kind, content, at(1)) }
}

fn back(to: Tier, priority: Priority) -> Option<Rehydrating> {
    Some(Rehydrating { to, priority, since: at(5), until: at(65) })
}

fn set(tier: Tier, priority: Option<Priority>) -> SetBlobTier {
    SetBlobTier { which: Which::Current, tier, priority, conditions: Conditions::default(), lease: None }
}

/// Over what, with which tier asked for: the tier of the new blob, and whether its change is told.
#[test]
fn b31_a_blob_takes_over_the_tier_of_the_one_it_replaces() {
    let page = Kind::Page { sequence: 0 };
    for (old, asked, want) in [
        (None, None, None),
        (None, Some(Tier::Cool), Some(Tier::Cool)),
        (Some(blob(Kind::Block, None, None)), None, None),
        (Some(blob(Kind::Block, Some(Tier::Hot), None)), None, Some(Tier::Hot)),
        (Some(blob(Kind::Block, Some(Tier::Cool), None)), None, Some(Tier::Cool)),
        (Some(blob(Kind::Block, Some(Tier::Cool), None)), Some(Tier::Hot), Some(Tier::Hot)),
        (Some(blob(Kind::Block, Some(Tier::Cold), None)), None, Some(Tier::Cold)),
        (Some(blob(Kind::Block, Some(Tier::Archive), None)), None, None),
        (Some(blob(Kind::Block, Some(Tier::Archive), back(Tier::Hot, Priority::High))), None, None),
        (Some(blob(page, Some(Tier::Premium(Premium::P10)), None)), None, None),
    ] {
        let put = PutBlob { tier: asked, may_overwrite: true, ..crate::blob::tests::put() };
        let made = put.decide(old.as_ref(), ContentRef::EMPTY, None, at(9)).unwrap();
        assert_eq!((made.tier, made.tier_changed), (want, want.map(|_| at(9))), "{old:?} {asked:?}");
    }
}

#[test]
fn premium_accounts_infer_the_tier_of_a_page_blob() {
    const GIB: u64 = 1 << 30;
    for (length, tier) in
        [(0, Premium::P10), (128 * GIB, Premium::P10), (128 * GIB + 512, Premium::P15), (8192 * GIB, Premium::P60)]
    {
        assert_eq!(Premium::of_length(length), tier, "{length}");
    }
}

/// "Set Blob Tier", "Overview of blob rehydration" and recordings: what is there, what is asked for, what comes of it.
#[test]
fn tiers_of_block_blobs() {
    use Priority::{High, Standard};
    use TierChange::{Done, Pending};
    let way = |to, priority, until| Some((to, priority, at(until)));
    let table = [
        (None, None, Tier::Hot, None, Ok((Tier::Hot, None, Done))),
        (None, None, Tier::Archive, Some(Standard), Ok((Tier::Archive, None, Done))),
        (Some(Tier::Cool), None, Tier::Smart, None, Ok((Tier::Smart, None, Done))),
        (Some(Tier::Archive), None, Tier::Archive, None, Ok((Tier::Archive, None, Done))),
        (Some(Tier::Archive), None, Tier::Hot, None, Ok((Tier::Archive, way(Tier::Hot, Standard, 70), Pending))),
        (Some(Tier::Archive), None, Tier::Cold, Some(High), Ok((Tier::Archive, way(Tier::Cold, High, 30), Pending))),
        (
            Some(Tier::Archive),
            back(Tier::Hot, Standard),
            Tier::Hot,
            Some(High),
            Ok((Tier::Archive, way(Tier::Hot, High, 30), Pending)),
        ),
        (
            Some(Tier::Archive),
            back(Tier::Hot, High),
            Tier::Hot,
            Some(Standard),
            Ok((Tier::Archive, way(Tier::Hot, High, 65), Pending)),
        ),
        (Some(Tier::Archive), back(Tier::Hot, High), Tier::Cool, None, Err(Refusal::BlobBeingRehydrated)),
        (Some(Tier::Archive), back(Tier::Hot, High), Tier::Archive, None, Err(Refusal::BlobBeingRehydrated)),
        (None, None, Tier::Premium(Premium::P80), None, Err(Refusal::AccessTierNotSupportedForBlobType)),
    ];
    for (tier, rehydrating, to, priority, want) in table {
        let before = blob(Kind::Block, tier, rehydrating);
        let got = set(to, priority).decide(Some(&before), TAKES, at(10));
        let seen = got.map(|(after, how)| {
            assert_eq!((after.etag, after.modified), (before.etag, before.modified));
            let way = after.rehydrating.map(|back| (back.to, back.priority, back.until));
            (after.tier.unwrap(), way, how)
        });
        assert_eq!(seen, want, "{tier:?} {rehydrating:?} → {to:?}");
    }
}

#[test]
fn tiers_of_page_blobs_only_go_up_and_must_be_large_enough() {
    let page = Kind::Page { sequence: 0 };
    let table = [
        (None, Tier::Premium(Premium::P6), Ok(())),
        (None, Tier::Premium(Premium::P4), Err(Refusal::BlobTierInadequateForContentLength)),
        (Some(Tier::Premium(Premium::P20)), Tier::Premium(Premium::P20), Ok(())),
        (Some(Tier::Premium(Premium::P20)), Tier::Premium(Premium::P30), Ok(())),
        (Some(Tier::Premium(Premium::P20)), Tier::Premium(Premium::P15), Err(Refusal::CannotChangeToLowerTier)),
        (None, Tier::Cool, Err(Refusal::AccessTierNotSupportedForBlobType)),
    ];
    for (before, to, want) in table {
        let got = set(to, None).decide(Some(&blob(page, before, None)), TAKES, at(10)).map(drop);
        assert_eq!(got, want, "{before:?} → {to:?}");
    }
    let append = blob(Kind::Append { sealed: false }, None, None);
    let refused = set(Tier::Hot, None).decide(Some(&append), TAKES, at(10)).map(drop);
    assert_eq!(refused, Err(Refusal::AccessTierNotSupportedForBlobType));
}

#[test]
fn the_way_back_ends_by_itself() {
    let archived = blob(Kind::Block, Some(Tier::Archive), back(Tier::Cool, Priority::Standard));
    let read = ReadBlob::default();
    for (now, want) in [(64, Err(Refusal::BlobBeingRehydrated)), (65, Ok(())), (1000, Ok(()))] {
        let seen = archived.clone().at(at(now));
        assert_eq!(read.decide_content(seen.as_ref(), at(now)).map(drop), want, "{now}");
        assert!(read.decide(seen.as_ref(), at(now)).is_ok(), "its properties can always be read");
    }
    let arrived = archived.at(at(65)).unwrap();
    assert_eq!((arrived.tier, arrived.tier_changed), (Some(Tier::Cool), Some(at(65))));
    let put = PutBlob { tier: Some(Tier::Premium(Premium::P4)), ..crate::blob::tests::put() };
    let refused = put.decide(None, ContentRef::EMPTY, None, at(1)).map(drop);
    assert_eq!(refused, Err(Refusal::AccessTierNotSupportedForBlobType));
}

#[test]
fn conditions_on_when_the_tier_changed() {
    let mut changed = blob(Kind::Block, Some(Tier::Cool), None);
    changed.tier_changed = Some(at(20));
    let never = blob(Kind::Block, None, None); // so since it was created
    let table = [
        (&changed, None, None, true),
        (&changed, Some(19), None, true),
        (&changed, Some(20), None, false),
        (&changed, None, Some(20), true),
        (&changed, None, Some(19), false),
        (&changed, Some(19), Some(19), false),
        (&never, Some(0), None, true),
        (&never, None, Some(0), false),
    ];
    for (blob, since, until, met) in table {
        let conditions = TierConditions { if_modified_since: since.map(at), if_unmodified_since: until.map(at) };
        assert_eq!(conditions.permit(blob).is_ok(), met, "{conditions:?}");
    }
}

/// "Optimize Azure Blob Storage costs with smart tier".
#[test]
fn where_a_blob_of_the_smart_tier_is() {
    let day = |days: u64| at(1).plus_seconds(days * DAY_SECONDS);
    let large = ContentRef { length: SMART_LENGTH_MIN, ..ContentRef::EMPTY };
    let smart = Blob { tier: Some(Tier::Smart), ..Blob::new(Kind::Block, large, at(1)) };
    let small = Blob { content: ContentRef::EMPTY, ..smart.clone() };
    let read = Blob { accessed: Some(day(80)), ..smart.clone() };
    let hot = Blob { tier: Some(Tier::Hot), ..smart.clone() };
    for (blob, days, tier) in [
        (&smart, 29, Some(Tier::Hot)),
        (&smart, 30, Some(Tier::Cool)),
        (&smart, 90, Some(Tier::Cold)),
        (&read, 100, Some(Tier::Hot)),
        (&read, 110, Some(Tier::Cool)),
        (&small, 400, Some(Tier::Hot)),
        (&hot, 400, None),
    ] {
        assert_eq!(blob.smart_tier(day(days)), tier, "{days} {:?}", blob.accessed);
    }
}
