//! The matrices of "Manage file locks", restated and run cell by cell.

use super::*;
use crate::LeaseId;
use crate::lease::Length;

fn now() -> Timestamp {
    Timestamp::from_ticks(1_000)
}

fn access(letters: &str) -> Access {
    Access { read: letters.contains('R'), write: letters.contains('W'), delete: letters.contains('D') }
}

fn caching(letters: &str) -> Caching {
    Caching { read: letters.contains('R'), write: letters.contains('W'), handle: letters.contains('H') }
}

fn held(handle: u64, does: &str, shares: &str, caches: &str) -> Open {
    Open {
        handle,
        session: 1,
        gateway: 1,
        client: "10.0.0.4:445".into(),
        client_name: String::new(),
        access: access(does),
        sharing: access(shares),
        opened: now(),
        reconnected: None,
        delete_on_close: false,
        attributes_only: false,
        caching: caching(caches),
        cache: lease(handle.into()),
        epoch: 0,
        breaking: None,
        locks: Vec::new(),
    }
}

fn lease(key: u128) -> Cache {
    Cache::Lease { client: 7, key }
}

fn with(opens: Vec<Open>) -> Standing {
    Standing { opens, ..Standing::default() }
}

const READ: Act = Act::Read { from: 0, to: 10 };

/// The operations of the matrices, by the names that they have there.
fn act(name: &str) -> Act {
    match name {
        "Properties" => Act::Look,
        "Get" => READ,
        "Ranges" => Act::ListRanges,
        "Write" => Act::Write,
        "Create" => Act::Create,
        "Delete" => Act::Delete,
        "Lease" => Act::Lease,
        other => panic!("no operation {other}"),
    }
}

const ACTS: [&str; 7] = ["Properties", "Get", "Ranges", "Write", "Create", "Delete", "Lease"];

/// Which operations fail, by the sharing of a handle that reads. `Write` stands for Put Range, Set Properties
/// and Set Metadata.
#[test]
fn by_share_mode() {
    let table = [
        ("", "Create Get Write Delete Ranges Lease"),
        ("R", "Create Write Delete Lease"),
        ("W", "Create Get Delete Ranges Lease"),
        ("D", "Create Get Write Ranges Delete Lease"),
        ("RW", "Create Delete Lease"),
        ("RD", "Create Write Delete Lease"),
        ("WD", "Get Ranges Delete Lease"),
        ("RWD", "Delete"),
    ];
    for (sharing, fails) in table {
        for name in ACTS {
            let want = if fails.split(' ').any(|fail| fail == name) {
                Err(Refusal::SharingViolation)
            } else {
                Ok(Verdict::Go(Vec::new()))
            };
            assert_eq!(admit(act(name), &with(vec![held(1, "R", sharing, "")])), want, "{name} under {sharing:?}");
            // Who only looks at attributes denies nothing, but what is open is not deleted.
            let looked = admit(act(name), &with(vec![held(1, "", sharing, "")]));
            assert_eq!(looked.is_err(), name == "Delete", "{name} beside one who looks");
        }
    }
}

/// A lease is acquired while others only read, and then keeps them from more.
#[test]
fn leases_against_handles() {
    for (does, fits) in
        [("", true), ("R", true), ("W", false), ("D", false), ("RW", false), ("RD", false), ("RWD", false)]
    {
        let standing = with(vec![held(1, does, "RWD", "")]);
        assert_eq!(admit(Act::Lease, &standing).is_ok(), fits, "acquired against {does:?}");
        for (lease, blocks) in [
            (Lease::Available, false),
            (Lease::Leased { id: LeaseId(1), length: Length::Infinite, until: None }, true),
            (Lease::Broken { id: LeaseId(1) }, false),
        ] {
            let opening = opening(does, "RWD", "", 1);
            let opened = open(&opening, &Standing { lease, ..Standing::default() }, false, now());
            assert_eq!(opened.is_ok(), fits || !blocks, "{does:?} opened against {lease:?}");
        }
    }
}

fn opening(does: &str, shares: &str, caches: &str, key: u128) -> Opening {
    Opening {
        access: access(does),
        sharing: access(shares),
        reach: Reach::Content,
        truncate: false,
        delete_on_close: false,
        caching: caching(caches),
        cache: lease(key),
        epoch: 0,
        again: false,
    }
}

/// What is broken to what, and whether it is waited for.
#[test]
fn by_oplock() {
    let table = [
        // operation, RWH, RH, RW
        ("Properties", "wait RH", "none", "wait R"),
        ("Get", "wait RH", "none", "wait R"),
        ("Ranges", "wait RH", "none", "wait R"),
        ("Write", "wait", "tell", "wait"),
        ("Delete", "wait RW", "wait R", "none"),
    ];
    for (name, rwh, rh, rw) in table {
        for (caches, want) in [("RWH", rwh), ("RH", rh), ("RW", rw)] {
            let standing = with(vec![held(1, "R", "RWD", caches)]);
            let broken = |left: &str| vec![Break { handle: 1, to: caching(left) }];
            let got = admit(act(name), &standing);
            let want = match (want.split_once(' '), want, name) {
                (Some((_, left)), _, _) => Ok(Verdict::Wait(broken(left))),
                (None, "wait", _) => Ok(Verdict::Wait(broken(""))),
                (None, "tell", _) => Ok(Verdict::Go(broken(""))),
                // Nothing to break: but no handle at all may be open.
                (None, _, "Delete") => Err(Refusal::SharingViolation),
                (None, ..) => Ok(Verdict::Go(Vec::new())),
            };
            assert_eq!(got, want, "{name} under {caches}");
        }
    }
}

#[test]
fn a_clash_asks_whether_the_handle_is_still_open() {
    let mut standing = with(vec![held(1, "R", "", "RH")]);
    let asked = vec![Break { handle: 1, to: caching("R") }];
    assert_eq!(admit(READ, &standing), Ok(Verdict::Wait(asked.clone())));
    standing.mark(&asked, now());
    assert_eq!(admit(READ, &standing), Ok(Verdict::Wait(asked)), "as long as it has not answered");
    assert_eq!(acknowledge(&mut standing, lease(1), None, caching("R"), now()), Acknowledged::Done(Vec::new()));
    assert_eq!(admit(READ, &standing), Err(Refusal::SharingViolation), "it was open");
    assert!(!close(&mut standing, 1).unwrap());
    assert_eq!(admit(READ, &standing), Ok(Verdict::Go(Vec::new())));
}

#[test]
fn everything_is_refused_while_a_deletion_is_pending() {
    let standing = Standing { delete_pending: true, ..with(vec![held(1, "D", "RWD", "")]) };
    for name in ACTS {
        assert_eq!(admit(act(name), &standing), Err(Refusal::DeletePending), "{name}");
    }
    assert_eq!(open(&opening("R", "RWD", "", 2), &standing, false, now()).err(), Some(Refusal::DeletePending));
}

#[test]
fn a_file_goes_with_its_last_handle() {
    let mut standing = with(vec![held(1, "D", "RWD", ""), held(2, "R", "RWD", "")]);
    assert_eq!(
        set_delete_pending(&standing, 2, false, true, now()),
        Err(Refusal::SharingViolation),
        "not opened for it"
    );
    assert_eq!(set_delete_pending(&standing, 1, true, true, now()), Err(Refusal::ReadOnlyAttribute));
    assert!(set_delete_pending(&standing, 1, false, true, now()).is_ok());
    standing.delete_pending = true;
    assert_eq!(close(&mut standing, 1), Ok(false));
    assert_eq!(close(&mut standing, 2), Ok(true));
    let mut standing = with(vec![Open { delete_on_close: true, ..held(1, "D", "RWD", "") }]);
    assert_eq!(close(&mut standing, 1), Ok(true));
    assert_eq!(close(&mut standing, 1), Err(Refusal::ResourceNotFound));
}

/// A lock on any range keeps REST from writing; an exclusive one keeps it from reading that range.
#[test]
fn byte_range_locks() {
    let locked = |exclusive| {
        let lock = Lock { from: 100, to: 200, exclusive };
        with(vec![Open { locks: vec![lock], ..held(1, "RW", "RWD", "") }, held(2, "RW", "RWD", "")])
    };
    let conflict = Err(Refusal::FileLockConflict);
    let go = Ok(Verdict::Go(Vec::new()));
    let read = |from, to| Act::Read { from, to };
    for (exclusive, act, want) in [
        (false, Act::Write, &conflict),
        (true, Act::Write, &conflict),
        (true, read(0, 100), &go),
        (true, read(0, 101), &conflict),
        (true, read(199, 300), &conflict),
        (true, read(200, 300), &go),
        (false, read(0, 300), &go),
        (true, Act::ListRanges, &go),
        (true, Act::Look, &go),
    ] {
        assert_eq!(&admit(act, &locked(exclusive)), want, "{act:?}");
    }
    for (exclusive, handle, reads, writes) in
        [(true, 1, true, true), (true, 2, false, false), (false, 1, true, false), (false, 2, true, false)]
    {
        let standing = locked(exclusive);
        assert_eq!(super::read(&standing, handle, 150, 160).is_ok(), reads, "{exclusive} {handle}");
        assert_eq!(super::write(&standing, handle, 150, 160).is_ok(), writes, "{exclusive} {handle}");
        assert!(super::write(&standing, handle, 200, 210).is_ok());
    }
    for (held, asked, fits) in [(true, true, false), (true, false, false), (false, true, false), (false, false, true)] {
        let asked = Lock { from: 199, to: 250, exclusive: asked };
        assert_eq!(lock(&locked(held), 2, asked).is_ok(), fits, "{held} {asked:?}");
        assert!(lock(&locked(held), 2, Lock { from: 200, ..asked }).is_ok());
    }
    assert_eq!(unlock(&locked(true), 1, Lock::new(100, 100, true)), Ok(Vec::new()));
    assert_eq!(unlock(&locked(true), 1, Lock::new(100, 99, true)), Err(Refusal::InvalidRange));
}

#[test]
fn handles_and_locks_are_so_many() {
    for (handles, is_root, fits) in [
        (0, false, true),
        (HANDLES_MAX - 1, false, true),
        (HANDLES_MAX, false, false),
        (HANDLES_MAX, true, true),
        (ROOT_HANDLES_MAX, true, false),
    ] {
        let standing = with((0..handles as u64).map(|handle| held(handle, "R", "RWD", "")).collect());
        let expected = if fits { Ok(()) } else { Err(Refusal::TooManyHandles) };
        assert_eq!(permit_handle(&standing, is_root), expected, "{handles} {is_root}");
    }
    let locked = |count: usize| {
        let locks = (0..count as u128).map(|at| Lock { from: at as u64, to: at + 1, exclusive: true }).collect();
        with(vec![Open { locks, ..held(1, "RW", "RWD", "") }, held(2, "RW", "RWD", "")])
    };
    let beyond = Lock { from: 1 << 40, to: (1 << 40) + 1, exclusive: true };
    assert!(lock(&locked(LOCKS_MAX - 1), 2, beyond).is_ok());
    assert_eq!(lock(&locked(LOCKS_MAX), 2, beyond), Err(Refusal::TooManyLocks));
    assert_eq!(lock(&locked(LOCKS_MAX), 2, Lock::new(0, 1, true)), Err(Refusal::FileLockConflict));
}

/// Opens against opens: each one's access must be within the other's sharing.
#[test]
fn opens_fit_in_both_directions() {
    let letters = ["", "R", "W", "D", "RW", "RD", "WD", "RWD"];
    for (does, shares) in letters.iter().flat_map(|does| letters.map(|shares| (*does, shares))) {
        for (others_does, others_shares) in letters.iter().flat_map(|does| letters.map(|shares| (*does, shares))) {
            let standing = with(vec![held(1, others_does, others_shares, "")]);
            let fits = does.is_empty()
                || others_does.is_empty()
                || does.chars().all(|letter| others_shares.contains(letter))
                    && others_does.chars().all(|letter| shares.contains(letter));
            let opened = open(&opening(does, shares, "", 2), &standing, false, now());
            assert_eq!(opened.is_ok(), fits, "{does}/{shares} beside {others_does}/{others_shares}");
        }
    }
}

#[test]
fn what_may_be_cached() {
    let alone = Standing::default();
    assert_eq!(open(&opening("RW", "RWD", "RWH", 1), &alone, false, now()).unwrap().1, caching("RWH"));
    let other = with(vec![held(1, "R", "RWD", "RWH")]);
    let asked = vec![Break { handle: 1, to: caching("RH") }];
    assert_eq!(open(&opening("R", "RWD", "RWH", 2), &other, false, now()).unwrap().0, Verdict::Wait(asked));
    assert!(
        matches!(open(&opening("R", "RWD", "RWH", 1), &other, false, now()), Ok((Verdict::Go(_), _))),
        "same client"
    );
    let shared = with(vec![held(1, "R", "RWD", "RH")]);
    assert_eq!(open(&opening("R", "RWD", "RWH", 2), &shared, false, now()).unwrap().1, caching("RH"));
    // A write through another handle makes cached reads stale.
    let writing = with(vec![held(1, "R", "RWD", "RH"), held(2, "W", "RWD", "")]);
    assert_eq!(write(&writing, 2, 0, 1), Ok(vec![Break { handle: 1, to: Caching::NONE }]));
}

fn opened(standing: &mut Standing, asked: &Opening) -> Verdict {
    let (verdict, _) = open(asked, standing, false, now()).unwrap();
    verdict
}

fn told(standing: &mut Standing, verdict: &Verdict) -> Vec<(String, String, bool)> {
    let (Verdict::Go(breaks) | Verdict::Wait(breaks)) = verdict;
    shown(&standing.mark(breaks, now()))
}

fn shown(notices: &[Notice]) -> Vec<(String, String, bool)> {
    let letters = |caching: Caching| {
        let all = [(caching.read, 'R'), (caching.write, 'W'), (caching.handle, 'H')];
        all.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect()
    };
    notices.iter().map(|notice| (letters(notice.from), letters(notice.to), notice.acknowledged)).collect()
}

fn notice(from: &str, to: &str, acknowledged: bool) -> Vec<(String, String, bool)> {
    vec![(from.to_owned(), to.to_owned(), acknowledged)]
}

/// What a second open breaks, by what the first one caches: an SMB lease, and an oplock. `!` waits.
#[test]
fn opens_break_leases_and_oplocks() {
    // cached, plain, overwriting, in conflict with the sharing
    let leases = [
        ("R", "-", "", "violation"),
        ("RH", "-", "", "!R"),
        ("RW", "!R", "!", "violation"),
        ("RWH", "!RH", "!", "!RW"),
    ];
    let oplocks = [("R", "-", "", "violation"), ("RW", "!R", "!", "violation"), ("RWH", "!R", "!", "!R")];
    let rows = leases.iter().map(|row| (row, lease(1))).chain(oplocks.iter().map(|row| (row, Cache::Oplock)));
    for ((cached, plain, overwriting, conflicting), cache) in rows {
        for (want, truncate, shares) in [(plain, false, "RWD"), (overwriting, true, "RWD"), (conflicting, false, "")] {
            let standing = with(vec![Open { cache, ..held(1, "RW", "RWD", cached) }]);
            let asked = Opening { truncate, ..opening("RW", shares, "", 2) };
            let got = open(&asked, &standing, false, now()).map(|(verdict, _)| verdict);
            let asked = |left: &str| vec![Break { handle: 1, to: caching(left) }];
            let want = match (want.strip_prefix('!'), *want) {
                (Some(left), _) => Ok(Verdict::Wait(asked(left))),
                (None, "-") => Ok(Verdict::Go(Vec::new())),
                (None, "violation") => Err(Refusal::SharingViolation),
                (None, left) => Ok(Verdict::Go(asked(left))),
            };
            assert_eq!(got, want, "{cached} of {cache:?}, overwriting {truncate}, sharing {shares:?}");
        }
    }
}

/// Attributes are looked at past every cache, the security descriptor past leases.
#[test]
fn an_open_breaks_what_it_reaches() {
    let table = [
        (Reach::Attributes, Cache::Oplock, false),
        (Reach::Attributes, lease(1), false),
        (Reach::Security, Cache::Oplock, true),
        (Reach::Security, lease(1), false),
        (Reach::Content, Cache::Oplock, true),
        (Reach::Content, lease(1), true),
    ];
    for (reach, cache, breaks) in table {
        let standing = with(vec![Open { cache, ..held(1, "RW", "RWD", "RWH") }]);
        let asked = Opening { reach, ..opening("", "RWD", "", 2) };
        let waits = matches!(open(&asked, &standing, false, now()), Ok((Verdict::Wait(_), _)));
        assert_eq!(waits, breaks, "{reach:?} {cache:?}");
    }
}

/// More is wanted while a break is under way: the client hears of it when it has answered, step by step.
#[test]
fn a_break_goes_on_in_steps() {
    let mut standing = with(vec![held(1, "RW", "RWD", "RWH")]);
    let plain = opening("RW", "RWD", "", 2);
    let verdict = opened(&mut standing, &plain);
    assert_eq!(told(&mut standing, &verdict), notice("RWH", "RH", true));
    let overwriting = Opening { truncate: true, ..opening("RW", "RWD", "", 3) };
    let verdict = opened(&mut standing, &overwriting);
    assert!(matches!(verdict, Verdict::Wait(_)));
    assert_eq!(told(&mut standing, &verdict), vec![], "one at a time");
    assert_eq!(acknowledge(&mut standing, lease(1), None, caching("RWH"), now()), Acknowledged::TooMuch);
    let mut acknowledged = |to: &str| match acknowledge(&mut standing, lease(1), None, caching(to), now()) {
        Acknowledged::Done(notices) => shown(&notices),
        other @ (Acknowledged::Unasked | Acknowledged::TooMuch) => panic!("{other:?}"),
    };
    assert_eq!(acknowledged("RH"), notice("RH", "R", true));
    assert_eq!(acknowledged("R"), notice("R", "", false));
    assert_eq!(acknowledge(&mut standing, lease(1), None, caching(""), now()), Acknowledged::Unasked);
    assert!(matches!(opened(&mut standing, &Opening { again: true, ..overwriting }), Verdict::Go(_)));
}

/// A client that never answers caches nothing any more.
#[test]
fn a_break_ends_in_time() {
    let mut standing = with(vec![held(1, "RW", "RWD", "RWH")]);
    let asked = opening("RW", "RWD", "", 2);
    let verdict = opened(&mut standing, &asked);
    told(&mut standing, &verdict);
    let ends = now().plus_seconds(BREAK_ENDS_SECONDS);
    assert_eq!(standing.next_end(), Some(ends));
    let before = standing.clone().at(Timestamp::from_ticks(ends.ticks() - 1));
    assert_eq!(before, standing);
    let after = standing.at(ends);
    assert_eq!((after.opens[0].caching, after.opens[0].breaking), (caching(""), None));
    assert!(matches!(open(&asked, &after, false, ends), Ok((Verdict::Go(_), _))));
}

/// Handles of one lease have one state, which a later one may raise and never lowers.
#[test]
fn handles_of_a_lease_share_its_state() {
    let mut standing = with(vec![held(1, "R", "RWD", "R")]);
    let raised = standing.admit(Open { cache: lease(1), ..held(2, "R", "RWD", "") }, caching("RH"), caching("RH"));
    assert_eq!((raised.caching, raised.epoch), (caching("RH"), 1));
    assert!(standing.opens.iter().all(|open| (open.caching, open.epoch) == (caching("RH"), 1)));
    let same = standing.admit(Open { cache: lease(1), ..held(3, "R", "RWD", "") }, caching("R"), caching("R"));
    assert_eq!((same.caching, same.epoch), (caching("RH"), 1));
    let partly = standing.admit(Open { cache: lease(1), ..held(4, "R", "RWD", "") }, caching("RWH"), caching("RH"));
    assert_eq!((partly.caching, partly.epoch), (caching("RH"), 1));
    let notices = standing.mark(&[Break { handle: 2, to: Caching::NONE }], now());
    assert_eq!(shown(&notices), notice("RH", "", true), "one client is told once");
    assert!(standing.opens.iter().all(|open| open.breaking.is_some() && open.epoch == 2));
}

/// What is granted beside others.
#[test]
fn oplocks_and_leases_beside_each_other() {
    let oplock = |caches: &str| Opening { cache: Cache::Oplock, ..opening("R", "RWD", caches, 0) };
    let others = |cache, caches: &str| with(vec![Open { cache, ..held(1, "R", "RWD", caches) }]);
    let table = [
        (oplock("RWH"), others(Cache::Oplock, "R"), "R"),
        (oplock("RWH"), others(lease(1), "R"), "R"),
        (oplock("RWH"), others(lease(1), "RH"), ""),
        (opening("R", "RWD", "RWH", 2), others(lease(1), "RH"), "RH"),
        (opening("R", "RWD", "RWH", 2), others(Cache::Oplock, "R"), "R"),
        (opening("R", "RWD", "RWH", 2), others(Cache::Oplock, ""), "RH"),
        (opening("R", "RWD", "WH", 2), Standing::default(), ""),
        (oplock("RWH"), Standing::default(), "RWH"),
    ];
    for (asked, standing, want) in table {
        let (_, granted) = open(&asked, &standing, false, now()).unwrap();
        assert_eq!(granted, caching(want), "{asked:?} beside {standing:?}");
    }
}

#[test]
fn empty_ranges_and_the_last_byte() {
    let held_lock = |from, length| {
        let lock = Lock::new(from, length, true);
        with(vec![Open { locks: vec![lock], ..held(1, "RW", "RWD", "") }, held(2, "RW", "RWD", "")])
    };
    let asked = |from, length| Lock::new(from, length, true);
    for (held, ask, fits) in [
        ((10, 10), (15, 0), false),
        ((10, 10), (10, 0), true),
        ((10, 10), (20, 0), true),
        ((10, 0), (5, 10), false),
        ((u64::MAX, 1), (u64::MAX, 1), false),
        ((u64::MAX, 1), (u64::MAX - 1, 1), true),
    ] {
        let got = lock(&held_lock(held.0, held.1), 2, asked(ask.0, ask.1));
        assert_eq!(got.is_ok(), fits, "{ask:?} beside {held:?}");
    }
    let stacked = held_lock(10, 10);
    assert!(lock(&stacked, 1, Lock::new(10, 10, false)).is_ok(), "its own, and shared");
    assert!(lock(&stacked, 1, asked(10, 10)).is_err());
}

/// What is refused because of others names the one of them that is in the way, and what goes ahead names nobody.
#[test]
fn a_refusal_knows_what_is_in_the_way() {
    let lock = Lock::new(5, 10, true);
    let standing = with(vec![
        held(1, "R", "RWD", ""),
        held(2, "R", "R", ""),
        Open { locks: vec![lock], ..held(3, "", "RWD", "") },
    ]);
    let by = |handle| Some(Obstacle { handle, lock: None });
    let locked = Some(Obstacle { handle: 3, lock: Some(lock) });
    for (act, want) in [
        (Act::Look, None),
        (Act::ListRanges, None),
        (Act::Read { from: 0, to: 5 }, None),
        (Act::Read { from: 14, to: 20 }, locked),
        (Act::Write, by(2)),
        (Act::Rename, by(2)),
        (Act::Delete, by(1)),
    ] {
        assert_eq!(obstacle(act, &standing), want, "{act:?}");
        assert_eq!(admit(act, &standing).is_err(), want.is_some(), "{act:?}");
    }
    for (asked, want) in [(opening("R", "RWD", "", 9), None), (opening("W", "RWD", "", 9), by(2))] {
        assert_eq!(open_obstacle(&asked, &standing), want);
        assert_eq!(open(&asked, &standing, false, now()).is_err(), want.is_some());
    }
    assert_eq!(read_obstacle(&standing, 1, 0, 6), locked);
    assert_eq!(read_obstacle(&standing, 3, 0, 6), None, "its own");
    assert_eq!(write_obstacle(&standing, 1, 14, 15), locked);
    assert_eq!(lock_obstacle(&standing, 2, Lock::new(0, 6, false)), locked);
    assert_eq!(lock_obstacle(&standing, 2, Lock::new(0, 5, false)), None);
}
