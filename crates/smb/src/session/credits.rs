//! Which message ids a client may use, and how many ([MS-SMB2] 3.3.1.1, 3.3.1.2, 3.3.5.2.3).
//!
//! A credit is the right to one message id. Ids that have been granted lie in a window; each is used once, in any order, and the window moves when its lowest
//! are used up. It never holds more than `MAX` ids, so that a client that leaves one out cannot make it grow.

use std::collections::VecDeque;

/// What Samba allows, and clients are built for: 512 MiB under way at 64 KiB each.
pub const MAX: u16 = 8192;
/// Until somebody has logged on. A logon needs one at a time.
pub const MAX_BEFORE_LOGON: u16 = 16;

#[derive(Debug)]
pub struct Window {
    /// The lowest id that has not been used.
    low: u64,
    /// Of each granted id from there on, whether it has been used.
    used: VecDeque<bool>,
}

/// The id was never granted, or has been used: the connection is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSequence;

impl Default for Window {
    /// A connection begins with the right to one request.
    fn default() -> Self {
        Self { low: 0, used: VecDeque::from([false]) }
    }
}

impl Window {
    /// Takes the ids of a request: `charge` of them, from `id` on. All are taken, or none.
    pub fn take(&mut self, id: u64, charge: u16) -> Result<(), OutOfSequence> {
        let from = id.checked_sub(self.low).and_then(|from| usize::try_from(from).ok()).ok_or(OutOfSequence)?;
        let to = from.checked_add(usize::from(charge.max(1))).filter(|to| *to <= self.used.len());
        let range = from..to.ok_or(OutOfSequence)?;
        if self.used.range(range.clone()).any(|used| *used) {
            return Err(OutOfSequence);
        }
        self.used.range_mut(range).for_each(|used| *used = true);
        while self.used.front() == Some(&true) {
            self.used.pop_front();
            self.low += 1;
        }
        Ok(())
    }

    /// Grants what a request asks for, as far as the window goes: at least what the request cost, so that a client keeps what it has.
    pub fn grant(&mut self, asked: u16, charge: u16, max: u16) -> u16 {
        let room = usize::from(max).saturating_sub(self.used.len());
        // The last id is for messages that answer no request.
        let ids = u64::MAX - 1 - self.low - self.used.len() as u64;
        let wanted = asked.max(charge).max(1);
        let granted = usize::from(wanted).min(room).min(usize::try_from(ids).unwrap_or(usize::MAX));
        self.used.extend(std::iter::repeat_n(false, granted));
        granted as u16
    }

    /// How many requests the client could send now.
    pub fn available(&self) -> usize {
        self.used.iter().filter(|used| !**used).count()
    }
}

/// What a request that moves so many bytes has to cost: one for each 64 KiB begun.
pub fn cost(moves: u64) -> u64 {
    moves.saturating_sub(1) / 65536 + 1
}

/// What a request's header says that it costs, and whether that is enough. Before 2.1 everything costs one.
pub fn charge(said: u16, moves: u64, multi_credit: bool) -> Result<u16, TooCheap> {
    let charge = if multi_credit { said.max(1) } else { 1 };
    if u64::from(charge) < cost(moves) { Err(TooCheap) } else { Ok(charge) }
}

/// STATUS_INVALID_PARAMETER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooCheap;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(granted: u16) -> Window {
        Window { low: 0, used: VecDeque::from(vec![false; usize::from(granted)]) }
    }

    #[test]
    fn a_connection_begins_with_one() {
        let mut window = Window::default();
        assert_eq!(window.take(1, 1), Err(OutOfSequence));
        assert_eq!(window.take(0, 1), Ok(()));
        assert_eq!(window.take(0, 1), Err(OutOfSequence), "used");
        assert_eq!(window.take(1, 1), Err(OutOfSequence), "not granted");
        assert_eq!(window.grant(1, 1, MAX), 1);
        assert_eq!(window.take(1, 1), Ok(()));
    }

    #[test]
    fn ids_are_used_once_in_any_order() {
        let mut window = window(10);
        let table = [
            (3, 1, true),
            (3, 1, false),
            (0, 1, true),
            (1, 2, true),
            (2, 1, false),
            (0, 1, false),
            (4, 7, false),
            (8, 3, false),
            (8, 2, true),
            (7, 2, false),
            (4, 4, true),
            (10, 1, false),
            (u64::MAX, 1, false),
        ];
        for (id, charge, granted) in table {
            assert_eq!(window.take(id, charge).is_ok(), granted, "{charge} from {id}");
        }
        assert_eq!((window.low, window.available()), (10, 0));
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let mut window = window(4);
        assert_eq!(window.take(2, 1), Ok(()));
        assert_eq!(window.take(1, 2), Err(OutOfSequence));
        assert_eq!(window.take(1, 1), Ok(()), "it is still free");
    }

    #[test]
    fn as_much_is_granted_as_fits() {
        let table = [
            // asked, cost, in the window before, granted
            (0, 1, 1, 1),
            (1, 1, 1, 1),
            (100, 1, 1, 100),
            (0, 16, 1, 16),
            (u16::MAX, 1, 1, MAX - 1),
            (u16::MAX, 1, MAX, 0),
            (10, 1, MAX - 3, 3),
        ];
        for (asked, charge, before, granted) in table {
            assert_eq!(window(before).grant(asked, charge, MAX), granted, "{asked} asked at {before}");
        }
        let mut window = window(MAX);
        assert_eq!(window.take(0, 1), Ok(()));
        assert_eq!(window.grant(1, 1, MAX), 1, "what is used may be granted again");
    }

    #[test]
    fn a_client_that_leaves_one_out_gets_no_more_than_the_window() {
        let mut window = window(MAX);
        for id in 1..u64::from(MAX) {
            window.take(id, 1).expect("granted");
            assert_eq!(window.grant(u16::MAX, 1, MAX), 0);
        }
        assert_eq!((window.used.len(), window.available()), (usize::from(MAX), 1));
        window.take(0, 1).expect("the one that was left out");
        assert_eq!(window.grant(u16::MAX, 1, MAX), MAX);
    }

    #[test]
    fn credits_never_run_dry_for_a_client_that_plays_by_the_rules() {
        let mut window = Window::default();
        let mut next = 0;
        for turn in 0..100_000_u64 {
            let charge = (turn % 5 + 1).min(window.available() as u64) as u16;
            window.take(next, charge).expect("a granted id");
            next += u64::from(charge);
            window.grant(1, charge, MAX);
            assert!(window.available() > 0);
        }
    }

    #[test]
    fn what_moves_much_costs_much() {
        let table = [(0, 1), (1, 1), (65536, 1), (65537, 2), (8 << 20, 128), (u64::from(u32::MAX) * 2, 131072)];
        for (moves, credits) in table {
            assert_eq!(cost(moves), credits);
        }
        assert_eq!(charge(0, 65536, true), Ok(1));
        assert_eq!(charge(2, 65537, true), Ok(2));
        assert_eq!(charge(1, 65537, true), Err(TooCheap));
        assert_eq!(charge(9, 10, false), Ok(1), "before 2.1 the field means nothing");
        assert_eq!(charge(2, 65537, false), Err(TooCheap), "and nothing is that long");
    }
}
