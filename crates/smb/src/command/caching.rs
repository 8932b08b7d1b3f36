//! What clients cache, in the words of the protocol: oplocks and leases.

use lazuli_model::file::arbiter::Caching;

use crate::packet::oplock::{LeaseState, OplockLevel};

pub(crate) fn of_oplock(level: OplockLevel) -> Caching {
    match level {
        OplockLevel::None | OplockLevel::Lease => Caching::NONE,
        OplockLevel::Two => Caching::READ,
        OplockLevel::Exclusive => Caching::READ_WRITE,
        OplockLevel::Batch => Caching::ALL,
    }
}

pub(crate) fn oplock_level(caching: Caching) -> OplockLevel {
    match (caching.read, caching.write, caching.handle) {
        (_, true, true) => OplockLevel::Batch,
        (_, true, false) => OplockLevel::Exclusive,
        (true, false, _) => OplockLevel::Two,
        (false, false, _) => OplockLevel::None,
    }
}

pub(crate) fn of_lease(state: LeaseState) -> Caching {
    Caching {
        read: state.has(LeaseState::READ),
        write: state.has(LeaseState::WRITE),
        handle: state.has(LeaseState::HANDLE),
    }
}

pub(crate) fn lease_state(caching: Caching) -> LeaseState {
    let bits =
        [(caching.read, LeaseState::READ), (caching.write, LeaseState::WRITE), (caching.handle, LeaseState::HANDLE)];
    bits.iter().filter(|(set, _)| *set).fold(LeaseState::NONE, |state, (_, bit)| state.with(*bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_states_read_back() {
        for level in [OplockLevel::None, OplockLevel::Two, OplockLevel::Exclusive, OplockLevel::Batch] {
            assert_eq!(oplock_level(of_oplock(level)), level);
        }
        for bits in 0..8 {
            assert_eq!(lease_state(of_lease(LeaseState(bits))), LeaseState(bits));
        }
    }
}
