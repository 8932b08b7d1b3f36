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
        caching: caching(caches),
        caching_key: handle.into(),
        breaking: None,
        locks: Vec::new(),
    }
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

/// Which operations fail, by the sharing of a handle that does nothing itself. `Write` stands for Put Range, Set Properties
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
            assert_eq!(admit(act(name), &with(vec![held(1, "", sharing, "")])), want, "{name} under {sharing:?}");
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
        truncate: false,
        delete_on_close: false,
        caching: caching(caches),
        caching_key: key,
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
    acknowledge(&mut standing, 1, caching("R")).unwrap();
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
    assert_eq!(set_delete_pending(&standing, 2, false, true), Err(Refusal::SharingViolation), "not opened for it");
    assert_eq!(set_delete_pending(&standing, 1, true, true), Err(Refusal::ReadOnlyAttribute));
    assert!(set_delete_pending(&standing, 1, false, true).is_ok());
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
    assert_eq!(unlock(&locked(true), 1, 100, 200), Ok(Vec::new()));
    assert_eq!(unlock(&locked(true), 1, 100, 199), Err(Refusal::InvalidRange));
}

/// Opens against opens: each one's access must be within the other's sharing.
#[test]
fn opens_fit_in_both_directions() {
    let letters = ["", "R", "W", "D", "RW", "RD", "WD", "RWD"];
    for (does, shares) in letters.iter().flat_map(|does| letters.map(|shares| (*does, shares))) {
        for (others_does, others_shares) in letters.iter().flat_map(|does| letters.map(|shares| (*does, shares))) {
            let standing = with(vec![held(1, others_does, others_shares, "")]);
            let fits = does.chars().all(|letter| others_shares.contains(letter))
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
    assert_eq!(write(&writing, 2, 0, 1), Ok(Verdict::Go(vec![Break { handle: 1, to: Caching::NONE }])));
}
