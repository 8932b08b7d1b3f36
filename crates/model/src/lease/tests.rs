//! The outcome tables of "Lease Blob" in our notation, run cell by cell.
//!
//! `A` and `B` are ids, and `C` is a third. The lease was acquired for 30 seconds 10 seconds ago; the one that is
//! breaking has 20 seconds to go.

use super::*;

const A: LeaseId = LeaseId(0xA);
const B: LeaseId = LeaseId(0xB);
const C: LeaseId = LeaseId(0xC);
const LENGTH: Length = Length::Seconds(30);

fn now() -> Timestamp {
    after(0)
}

fn after(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(638_000_000_000_000_000).plus_seconds(seconds)
}

fn id(word: &str) -> LeaseId {
    match word {
        "A" => A,
        "B" => B,
        "C" => C,
        other => panic!("no id {other}"),
    }
}

/// A state of the head line.
fn state(word: &str) -> Lease {
    match word {
        "Available" => Lease::Available,
        "Leased.A" => Lease::Leased { id: A, length: LENGTH, until: Some(after(20)) },
        "Breaking.A" => Lease::Breaking { id: A, length: LENGTH, until: after(20) },
        "Broken.A" => Lease::Broken { id: A },
        "Expired.A" => Lease::Expired { id: A, length: LENGTH },
        other => panic!("no state {other}"),
    }
}

/// The first word of a line: `acquire.A`, `change.A.B`, `break.10`, `break` …
fn action(word: &str) -> Action {
    match *word.split('.').collect::<Vec<_>>() {
        ["acquire", proposed] => Action::Acquire { proposed: id(proposed), length: LENGTH },
        ["renew", own] => Action::Renew { id: id(own) },
        ["change", from, to] => Action::Change { id: id(from), to: id(to) },
        ["release", own] => Action::Release { id: id(own) },
        ["break"] => Action::Break { period_seconds: None },
        ["break", period] => Action::Break { period_seconds: Some(period.parse().unwrap()) },
        _ => panic!("no action {word}"),
    }
}

/// What a lease is, in the words of a cell: `Leased.A:20` has 20 seconds to go.
fn show(lease: Lease) -> String {
    let name = |id: LeaseId| format!("{:X}", id.0);
    match lease {
        Lease::Available => "Available".into(),
        Lease::Leased { id, until: Some(until), .. } => format!("Leased.{}:{}", name(id), now().seconds_until(until)),
        Lease::Leased { id, until: None, .. } => format!("Leased.{}", name(id)),
        Lease::Breaking { id, until, .. } => format!("Breaking.{}:{}", name(id), now().seconds_until(until)),
        Lease::Broken { id } => format!("Broken.{}", name(id)),
        Lease::Expired { id, .. } => format!("Expired.{}", name(id)),
    }
}

fn refusal(word: &str) -> Option<Refusal> {
    Some(match word {
        "present" => Refusal::LeaseAlreadyPresent,
        "no-acquire" => Refusal::LeaseIsBreakingAndCannotBeAcquired,
        "no-change" => Refusal::LeaseIsBreakingAndCannotBeChanged,
        "no-renew" => Refusal::LeaseIsBrokenAndCannotBeRenewed,
        "mismatch" => Refusal::LeaseIdMismatchWithLeaseOperation,
        "none" => Refusal::LeaseNotPresentWithLeaseOperation,
        "missing" => Refusal::LeaseIdMissing,
        "blob-none" => Refusal::LeaseNotPresentWithBlobOperation,
        "blob-mismatch" => Refusal::LeaseIdMismatchWithBlobOperation,
        "cont-none" => Refusal::LeaseNotPresentWithContainerOperation,
        "cont-mismatch" => Refusal::LeaseIdMismatchWithContainerOperation,
        "lost" => Refusal::LeaseLost,
        _ => return None,
    })
}

/// Runs `cell(first word of the line, state of the column)` for every cell, and compares.
fn check(table: &str, cell: impl Fn(&str, Lease) -> Result<String, Refusal>) {
    let mut lines = table.lines();
    let states: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let mut cells = 0;
    for line in lines {
        let mut words = line.split_whitespace();
        let row = words.next().unwrap();
        for column in &states {
            let expected = words.next().unwrap_or_else(|| panic!("{row} has no cell for {column}"));
            let got = cell(row, state(column));
            let expected = refusal(expected).map_or_else(|| Ok(expected.to_owned()), Err);
            assert_eq!(got, expected, "{row} on {column}");
            cells += 1;
        }
        assert_eq!(words.next(), None, "{row}");
    }
    assert!(cells > 0);
}

#[test]
fn actions() {
    check(
        "              Available    Leased.A       Breaking.A     Broken.A     Expired.A
         acquire.A     Leased.A:30  Leased.A:30    no-acquire     Leased.A:30  Leased.A:30
         acquire.B     Leased.B:30  present        present        Leased.B:30  Leased.B:30
         break         none         Breaking.A:20  Breaking.A:20  Broken.A     Broken.A
         break.0       none         Broken.A       Broken.A       Broken.A     Broken.A
         break.10      none         Breaking.A:10  Breaking.A:10  Broken.A     Broken.A
         break.60      none         Breaking.A:20  Breaking.A:20  Broken.A     Broken.A
         change.A.B    none         Leased.B:20    no-change      none         none
         change.A.A    none         Leased.A:20    no-change      none         none
         change.B.A    none         Leased.A:20    mismatch       none         none
         change.B.C    none         mismatch       mismatch       none         none
         renew.A       mismatch     Leased.A:30    no-renew       no-renew     Leased.A:30
         renew.B       mismatch     mismatch       mismatch       mismatch     mismatch
         release.A     mismatch     Available      Available      Available    Available
         release.B     mismatch     mismatch       mismatch       mismatch     mismatch",
        |row, lease| act(lease, action(row), now()).map(|outcome| show(outcome.lease)),
    );
}

#[test]
fn writes_to_a_blob() {
    check(
        "          Available  Leased.A       Breaking.A     Broken.A   Expired.A
         with.A    blob-none  Leased.A:20    Breaking.A:20  lost       lost
         with.B    blob-none  blob-mismatch  blob-mismatch  lost       lost
         without   Available  missing        missing        Available  Available",
        |row, lease| permit_write(lease, sent(row), now(), On::Blob).map(show),
    );
}

#[test]
fn reads_of_a_blob() {
    check(
        "          Available  Leased.A       Breaking.A     Broken.A  Expired.A
         with.A    blob-none  ok             ok             lost      lost
         with.B    blob-none  blob-mismatch  blob-mismatch  lost      lost
         without   ok         ok             ok             ok        ok",
        |row, lease| permit_read(lease, sent(row), now(), On::Blob).map(|()| "ok".into()),
    );
}

#[test]
fn deletion_of_a_container() {
    check(
        "          Available  Leased.A       Breaking.A     Broken.A  Expired.A
         with.A    cont-none  ok             ok             lost      lost
         with.B    cont-none  cont-mismatch  cont-mismatch  lost      lost
         without   ok         missing        missing        ok        ok",
        |row, lease| permit_write(lease, sent(row), now(), On::Container).map(|_| "ok".into()),
    );
}

#[test]
fn use_of_a_container() {
    check(
        "          Available  Leased.A       Breaking.A     Broken.A  Expired.A
         with.A    cont-none  ok             ok             lost      lost
         with.B    cont-none  cont-mismatch  cont-mismatch  lost      lost
         without   ok         ok             ok             ok        ok",
        |row, lease| permit_read(lease, sent(row), now(), On::Container).map(|()| "ok".into()),
    );
}

fn sent(row: &str) -> Option<LeaseId> {
    row.strip_prefix("with.").map(id)
}

#[test]
fn time_passes() {
    // The last row's moments: a tick before the end, the end itself, and long after.
    let end = after(20).ticks();
    for (word, later) in [("Leased.A", "Expired.A"), ("Breaking.A", "Broken.A")] {
        let lease = state(word);
        assert_eq!(lease.at(Timestamp::from_ticks(end - 1)), lease);
        for ticks in [end, end + 1, u64::MAX] {
            assert_eq!(lease.at(Timestamp::from_ticks(ticks)), state(later));
        }
    }
    let forever = Lease::Leased { id: A, length: Length::Infinite, until: None };
    for lease in [forever, state("Available"), state("Broken.A"), state("Expired.A")] {
        assert_eq!(lease.at(Timestamp::from_ticks(u64::MAX)), lease);
    }
}

#[test]
fn breaking_an_infinite_lease() {
    let forever = Lease::Leased { id: A, length: Length::Infinite, until: None };
    for (word, expected, seconds) in
        [("break", "Broken.A", 0), ("break.0", "Broken.A", 0), ("break.60", "Breaking.A:60", 60)]
    {
        let outcome = act(forever, action(word), now()).unwrap();
        assert_eq!((show(outcome.lease).as_str(), outcome.seconds_left), (expected, Some(seconds)), "{word}");
    }
}

#[test]
fn answers() {
    let table = [
        ("acquire.B", "Available", Some(B), None),
        ("renew.A", "Leased.A", Some(A), None),
        ("change.A.B", "Leased.A", Some(B), None),
        ("change.B.A", "Leased.A", Some(A), None),
        ("release.A", "Leased.A", None, None),
        ("break", "Leased.A", None, Some(20)),
        ("break.5", "Leased.A", None, Some(5)),
        ("break.60", "Breaking.A", None, Some(20)),
        ("break", "Broken.A", None, Some(0)),
        ("break.5", "Expired.A", None, Some(0)),
    ];
    for (word, from, id, seconds_left) in table {
        let outcome = act(state(from), action(word), now()).unwrap();
        assert_eq!((outcome.id, outcome.seconds_left), (id, seconds_left), "{word} on {from}");
    }
}

#[test]
fn an_expired_lease_is_renewed_only_if_nobody_wrote() {
    let expired = state("Leased.A").at(after(20));
    assert!(act(expired, action("renew.A"), after(20)).is_ok());
    let written = permit_write(expired, None, after(20), On::Blob).unwrap();
    assert_eq!(act(written, action("renew.A"), after(20)), Err(Refusal::LeaseIdMismatchWithLeaseOperation));
}

#[test]
fn a_release_works_once() {
    let released = act(state("Expired.A"), action("release.A"), now()).unwrap().lease;
    assert_eq!(act(released, action("release.A"), now()), Err(Refusal::LeaseIdMismatchWithLeaseOperation));
}

#[test]
fn what_headers_show() {
    let forever = Lease::Leased { id: A, length: Length::Infinite, until: None };
    let table = [
        (state("Available"), "available", "unlocked", None),
        (state("Leased.A"), "leased", "locked", Some("fixed")),
        (forever, "leased", "locked", Some("infinite")),
        (state("Breaking.A"), "breaking", "locked", None),
        (state("Broken.A"), "broken", "unlocked", None),
        (state("Expired.A"), "expired", "unlocked", None),
    ];
    for (lease, state, status, duration) in table {
        assert_eq!(lease.shown(now()), Shown { state, status, duration });
    }
    assert_eq!(state("Leased.A").shown(after(20)).state, "expired");
    assert_eq!(state("Breaking.A").shown(after(20)).state, "broken");
}

/// Whatever is done in whatever order, a locked lease keeps out everyone but the holder of the id it has.
#[test]
fn every_history_of_four_actions_keeps_others_out() {
    let actions = ["acquire.A", "acquire.B", "renew.A", "change.A.B", "release.A", "release.B", "break.10", "break.0"];
    let mut leases = vec![Lease::Available];
    for step in 0..4 {
        let now = after(step * 15);
        let mut next = Vec::new();
        for lease in leases {
            next.push(lease);
            next.extend(actions.iter().filter_map(|word| Some(act(lease, action(word), now).ok()?.lease)));
        }
        for lease in &next {
            let locked = lease.shown(now).status == "locked";
            let admitted = [A, B].iter().filter(|id| permit_write(*lease, Some(**id), now, On::Blob).is_ok()).count();
            assert_eq!(admitted, usize::from(locked), "{lease:?}");
            assert_eq!(permit_write(*lease, None, now, On::Blob).is_ok(), !locked, "{lease:?}");
        }
        leases = next;
    }
}

#[test]
fn ids_in_every_form_of_dotnet() {
    let expected = LeaseId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    for text in [
        "0123456789abcdef0123456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef",
        "01234567-89AB-CDEF-0123-456789ABCDEF",
        "{01234567-89ab-cdef-0123-456789abcdef}",
        "(01234567-89ab-cdef-0123-456789abcdef)",
        "{0x01234567,0x89ab,0xcdef,{0x01,0x23,0x45,0x67,0x89,0xab,0xcd,0xef}}",
        "{0x1234567,0x89AB,0xCDEF,{0x1,0x23,0x45,0x67,0x89,0xAB,0xCD,0xEF}}",
        " 01234567-89ab-cdef-0123-456789abcdef ",
    ] {
        assert_eq!(LeaseId::parse(text), Some(expected), "{text}");
    }
    assert_eq!(expected.to_string(), "01234567-89ab-cdef-0123-456789abcdef");
    for text in [
        "",
        "0123456789abcdef0123456789abcde",
        "+123456789abcdef0123456789abcdef",
        "01234567-89ab-cdef-0123-456789abcde",
        "0123456-789ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef-0",
        "{01234567-89ab-cdef-0123-456789abcdef",
        "{01234567-89ab-cdef-0123-456789abcdef)",
        "{0123456789abcdef0123456789abcdef}",
        "'01234567-89ab-cdef-0123-456789abcdef'",
        "{0x01234567,0x89ab,0xcdef,0x01,{0x23,0x45,0x67,0x89,0xab,0xcd,0xef}}",
        "{0x01234567,0x89ab,0xcdef,{0x01,0x23,0x45,0x67,0x89,0xab,0xcd}}",
        "{0x01234567,0x89ab,0xcdef,{0x01,0x23,0x45,0x67,0x89,0xab,0xcd,0x}}",
        "{0x01234567,0x89ab,0xcdef,{0x01,0x23,0x45,0x67,0x89,0xab,0xcd,0x1ef}}",
        "éééééééééééééééé",
    ] {
        assert_eq!(LeaseId::parse(text), None, "{text}");
    }
}

#[test]
fn durations() {
    for (text, length) in [
        ("-1", Some(Length::Infinite)),
        ("15", Some(Length::Seconds(15))),
        ("60", Some(Length::Seconds(60))),
        ("14", None),
        ("61", None),
        ("0", None),
        ("-2", None),
        ("", None),
        ("99999999999", None),
    ] {
        assert_eq!(Length::parse(text), length, "{text}");
    }
}

#[test]
fn a_file_has_leases_without_an_end() {
    let acquire = |length| Action::Acquire { proposed: LeaseId(1), length };
    let at_once = Action::Break { period_seconds: None };
    for (action, expected) in [
        (acquire(Length::Infinite), Ok(acquire(Length::Infinite))),
        (acquire(Length::Seconds(15)), Err(Refusal::InfiniteLeaseDurationRequired)),
        (Action::Break { period_seconds: Some(10) }, Ok(at_once)),
        (at_once, Ok(at_once)),
        (Action::Renew { id: LeaseId(1) }, Ok(Action::Renew { id: LeaseId(1) })),
    ] {
        assert_eq!(action.of_file(), expected, "{action:?}");
    }
}
