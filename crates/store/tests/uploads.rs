//! Bodies on their way in: lengths, limits, digests, and what becomes of bytes that no record comes to name.

mod world;

use bytes::Bytes;
use lazuli_model::{Conditions, Refusal, conditions::Match};
use lazuli_store::{Broken, Failure};
use world::*;

#[tokio::test]
async fn lengths_and_limits() {
    let world = World::plain();
    let too_large = |limit| Failure::Refused(Refusal::RequestBodyTooLarge { limit });
    //           length  expected       limit   refusal
    let table = [
        (0, None, 10, None),
        (10, None, 10, None),
        (11, None, 10, Some(too_large(10))),
        (5, Some(11), 10, Some(too_large(10))),
        (100_000, None, 99_999, Some(too_large(99_999))),
        (100_000, Some(100_000), 100_000, None),
    ];
    for (length, expected, limit, want) in table {
        let received = world.store.receive(&mut Parts::of(&pattern(1, length), 777), expected, limit, false).await;
        assert_eq!(received.err(), want, "{length} of {expected:?} within {limit}");
    }
    let [long, short] = [Refusal::BodyTooLong, Refusal::BodyTooShort];
    let table = [(4, 5, &short), (6, 5, &long), (100_000, 99_999, &long), (99_999, 100_000, &short), (0, 1, &short)];
    for (length, expected, want) in table {
        let mut body = Parts::of(&pattern(1, length), 777);
        let refused = world.store.receive(&mut body, Some(expected), 1 << 20, false).await.err();
        assert_eq!(refused, Some(Failure::Refused(want.clone())), "{length}");
    }
    assert_eq!(world.content.size(), 0, "what was refused is given back");
}

#[tokio::test]
async fn a_body_that_breaks_is_refused_as_it_broke() {
    let world = World::plain();
    let framing = Refusal::InvalidInput { reason: "framing".into() };
    for (broken, want) in [(Broken::HungUp, Refusal::BodyBrokenOff), (Broken::Refused(framing.clone()), framing)] {
        let mut body = Parts::of(&pattern(1, 100_000), 10_000);
        body.0.push_back(Err(broken));
        let refused = world.store.receive(&mut body, None, 1 << 20, true).await.err();
        assert_eq!(refused, Some(Failure::Refused(want)));
    }
    assert_eq!(world.content.size(), 0);
}

#[tokio::test]
async fn digests_do_not_depend_on_how_the_body_comes() {
    use md5::Digest;
    let world = World::plain();
    for length in [0, 1, 16 << 10, (16 << 10) + 1, 70_000, 3 << 20] {
        let bytes = pattern(3, length);
        let md5: [u8; 16] = md5::Md5::digest(&bytes).into();
        let crc64 = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes);
        for size in [1_000, 9_999, 1 << 20] {
            let received = world.store.receive(&mut Parts::of(&bytes, size), None, u64::MAX, true).await.unwrap();
            assert_eq!((received.length, received.crc64, received.md5), (length as u64, crc64, Some(md5)), "{length}");
        }
    }
}

#[tokio::test]
async fn staged_bytes_follow_the_transaction() {
    let world = World::plain();
    world.create("box", 1).await;
    let bytes = pattern(1, 50_000);
    world.put("kept", &bytes).await.unwrap();
    assert_eq!(world.content.size(), 50_000);

    let mut put = put_blob();
    put.conditions = Conditions { if_none_match: Some(Match::Any), ..Conditions::default() };
    let content = world.receive(&bytes).await;
    assert_eq!(
        world.store.put_blob(&blob("kept"), put, content).await,
        Err(Failure::Refused(Refusal::BlobAlreadyExists))
    );
    assert_eq!(world.content.size(), 50_000, "refused: given back");

    drop(world.receive(&bytes).await);
    assert_eq!(world.content.size(), 50_000, "never used: given back");
}

/// D5: a caller that goes away in the middle leaves all of the operation or nothing, never bytes without a record.
#[tokio::test]
async fn a_write_that_began_outlives_its_caller() {
    for polls in 0..40 {
        let world = World::distributed(polls);
        world.create("box", 1).await;
        let content = world.receive(&pattern(1, 50_000)).await;
        let at = blob("b");
        {
            let mut put = Box::pin(world.store.put_blob(&at, put_blob(), content));
            for _ in 0..polls {
                if std::future::poll_fn(|context| std::task::Poll::Ready(put.as_mut().poll(context))).await.is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        for _ in 0..500 {
            tokio::task::yield_now().await;
        }
        match world.get("b", None).await {
            Ok(bytes) => assert_eq!(bytes, pattern(1, 50_000)),
            Err(failure) => {
                assert_eq!(failure, Failure::Refused(Refusal::BlobNotFound));
                assert_eq!(world.content.size(), 0, "{polls}");
            }
        }
    }
}

#[tokio::test]
async fn a_body_of_many_small_parts_is_gathered() {
    let world = World::plain();
    world.create("box", 1).await;
    let bytes = pattern(5, 40_000);
    let mut body = Parts(bytes.iter().map(|byte| Ok(Bytes::copy_from_slice(&[*byte]))).collect());
    let received = world.store.receive(&mut body, None, 1 << 20, true).await.unwrap();
    world.store.put_blob(&blob("b"), put_blob(), received).await.unwrap();
    assert_eq!(world.get("b", None).await.unwrap(), bytes);
}
