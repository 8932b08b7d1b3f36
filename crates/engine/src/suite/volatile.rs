//! Volatile rows: rows of their partition like all others, until the process that keeps them ends.

use super::*;

pub async fn all(engine: &Shared) {
    ranges(engine).await;
    refusals(engine).await;
    atomicity(engine).await;
    surveys(engine).await;
}

/// Gets, scans, walks and last reads find them, over a transaction's own writes too; a range over both kinds finds both.
async fn ranges(engine: &Shared) {
    let here = at(Space(130), b"p");
    for n in [b'b', b'd'] {
        put(engine, here.clone(), row(&here, &[n]), "durable").await;
        put(engine, here.clone(), volatile_row(&here, &[n]), "volatile").await;
    }
    let (from, to) = (volatile_row(&here, b"a"), volatile_row(&here, b"z"));
    let rows = |entries: &Entries| entries.iter().map(|(key, _)| rest(key)[0]).collect::<Vec<_>>();
    let found = scan(engine, &here, &from, &to, 9).await;
    assert_eq!(rows(&found), b"bd");
    assert!(found.iter().all(|(key, value)| key.is_volatile() && value == "volatile"));
    assert_eq!(rows(&scan(engine, &here, &from, &to, 1).await), b"b");
    assert_eq!(last(engine, &here, &from, &to).await, found.last().cloned());
    let (partition, first, end) = (here.clone(), from.clone(), to.clone());
    let seen = commit(engine, here.clone(), move |txn| {
        let key = |n: u8| volatile_row(&partition, &[n]);
        txn.put(key(b'c'), "new");
        txn.delete(key(b'd'));
        txn.delete(key(b'e'));
        let found = txn.scan(&first, &end, 9)?;
        let walked = walk(txn, &first, &end, 9)?;
        let last = txn.last(&first, &end)?;
        let one_by_one = [b'b', b'c', b'd'].map(|n| txn.get(&key(n)).map(|got| got.is_some()));
        Ok((found, walked, last, one_by_one))
    });
    let (found, walked, last_one, one_by_one) = seen.await;
    assert_eq!((rows(&found), &walked, last_one), (b"bc".to_vec(), &found, found.last().cloned()));
    assert_eq!(one_by_one, [true, true, false].map(Ok));
    assert_eq!(scan(engine, &here, &from, &to, 9).await, found);
    both_kinds(engine, here.space).await;
}

/// A range over all columns of a space: the durable rows, then the volatile ones.
async fn both_kinds(engine: &Shared, space: Space) {
    let (from, to) = (Key::new(space, Column(0), &[]), Key::new(space, Column(u8::MAX), &[]));
    let both = engine.survey(space, |txn| {
        let limited = (1..=4).map(|limit| txn.scan(&from, &to, limit)).collect::<Result<Vec<_>, _>>()?;
        let walked = (1..=4).map(|limit| walk(txn, &from, &to, limit)).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, Stop<()>>((limited, walked, txn.last(&from, &to)?))
    });
    let (scanned, walked, last) = both.await.expect("no fault").expect("no refusal");
    let kinds: Vec<_> = scanned[3].iter().map(|(key, _)| (key.is_volatile(), rest(key)[0])).collect();
    assert_eq!(kinds, [(false, b'b'), (false, b'd'), (true, b'b'), (true, b'c')]);
    assert!(scanned.iter().enumerate().all(|(n, found)| *found == scanned[3][..=n]));
    assert_eq!((walked, last), (scanned.clone(), scanned[3].last().cloned()));
}

/// What is refused leaves no volatile row behind.
async fn refusals(engine: &Shared) {
    let here = at(Space(131), b"p");
    let key = volatile_row(&here, b"a");
    for (value, refuses, expected) in [("one", true, None), ("two", false, Some("two")), ("three", true, Some("two"))] {
        let put = key.clone();
        let answer = engine.transact(here.clone(), move |txn| {
            txn.put(put.clone(), value);
            if refuses { Err(Stop::Refused(())) } else { Ok(()) }
        });
        assert_eq!(answer.await, Ok(if refuses { Err(()) } else { Ok(()) }));
        assert_eq!(get(engine, &key).await, expected.map(Bytes::from));
    }
}

/// A durable row and a volatile one that change together are never seen apart, and both count every transaction; while others
/// change the volatile row of the neighbour alone.
async fn atomicity(engine: &Shared) {
    let here = at(Space(132), b"both");
    let (durable, volatile) = (row(&here, b"count"), volatile_row(&here, b"count"));
    let mut tasks = JoinSet::new();
    for n in 0..90_u64 {
        let (engine, here, durable, volatile) = (engine.clone(), here.clone(), durable.clone(), volatile.clone());
        tasks.spawn(async move {
            match n % 3 {
                0 => {
                    commit(&engine, here, move |txn| {
                        let (one, other) = (number(txn.get(&durable)?), number(txn.get(&volatile)?));
                        txn.put(durable.clone(), (one + 1).to_be_bytes().to_vec());
                        txn.put(volatile.clone(), (other + 1).to_be_bytes().to_vec());
                        Ok(one == other)
                    })
                    .await
                }
                1 => {
                    let beside = volatile_row(&here, b"beside");
                    commit(&engine, here, move |txn| {
                        let same = txn.get(&durable)? == txn.get(&volatile)?;
                        let count = number(txn.get(&beside)?) + 1;
                        txn.put(beside.clone(), count.to_be_bytes().to_vec());
                        Ok(same)
                    })
                    .await
                }
                _ => {
                    let orders = [[&durable, &volatile], [&volatile, &durable]];
                    let [first, second] = orders[n as usize % 2];
                    let seen = engine.read(&here, |txn| Ok::<_, Stop<()>>((txn.get(first)?, txn.get(second)?)));
                    let (first, second) = seen.await.expect("no fault").expect("no refusal");
                    first == second
                }
            }
        });
    }
    assert!(join(tasks).await.into_iter().all(|same| same));
    for key in [durable, volatile, volatile_row(&here, b"beside")] {
        assert_eq!(number(get(engine, &key).await), 30, "{key:?}");
    }
}

/// A scan of a space shows a partition's rows of both kinds of one moment.
async fn surveys(engine: &Shared) {
    let space = Space(133);
    let mut tasks = JoinSet::new();
    for n in 0..60_u64 {
        let engine = engine.clone();
        tasks.spawn(async move {
            if n % 2 == 0 {
                let here = at(space, &[(n % 6) as u8]);
                let keys = [row(&here, b""), volatile_row(&here, b"")];
                commit(&engine, here, move |txn| {
                    keys.iter().for_each(|key| txn.put(key.clone(), n.to_be_bytes().to_vec()));
                    Ok(())
                })
                .await;
                return;
            }
            let ranges = [COLUMN, VOLATILE].map(|column| Key::new(space, column, &[]));
            let seen = engine.survey(space, |txn| {
                let [durable, volatile] = &ranges;
                let mut scan = |all: &Key| txn.scan(all, &all.after_prefix(), 99);
                Ok::<_, Stop<()>>((scan(durable)?, scan(volatile)?))
            });
            let (durable, volatile) = seen.await.expect("no fault").expect("no refusal");
            let rows =
                |entries: Entries| entries.into_iter().map(|(key, value)| (key.row(), value)).collect::<Vec<_>>();
            assert_eq!(rows(durable), rows(volatile));
        });
    }
    join(tasks).await;
}

const RESTARTED: Space = Space(134);

/// Fills a space with rows of both kinds, for [`after_restart`]. Some were written together, some apart, some deleted.
pub async fn before_restart(engine: &Shared) {
    let here = at(RESTARTED, b"p");
    for n in 0..40_u8 {
        let (durable, volatile) = (row(&here, &[n]), volatile_row(&here, &[n]));
        commit(engine, here.clone(), move |txn| {
            if n % 3 != 1 {
                txn.put(durable.clone(), vec![n]);
            }
            if n % 3 != 2 {
                txn.put(volatile.clone(), vec![n]);
            }
            Ok(())
        })
        .await;
    }
    let gone = here.clone();
    commit(engine, here, move |txn| {
        txn.delete(row(&gone, &[0]));
        txn.delete(volatile_row(&gone, &[0]));
        Ok(())
    })
    .await;
    assert_eq!(all_in(engine, RESTARTED, VOLATILE).await.len(), 26);
}

/// The process that kept the rows is another one now: the durable rows are there, and no volatile ones, of any partition; new
/// ones can be written.
pub async fn after_restart(engine: &Shared) {
    let here = at(RESTARTED, b"p");
    let durable: Vec<u8> = all_of(engine, RESTARTED).await.iter().map(|(key, _)| rest(key)[0]).collect();
    assert_eq!(durable, (1..40).filter(|n| n % 3 != 1).collect::<Vec<u8>>());
    for space in [RESTARTED, Space(130), Space(132), Space(133)] {
        assert_eq!(all_in(engine, space, VOLATILE).await, []);
    }
    put(engine, here.clone(), volatile_row(&here, b"new"), "new").await;
    assert_eq!(all_in(engine, RESTARTED, VOLATILE).await.len(), 1);
}
