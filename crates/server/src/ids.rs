//! Ids that nobody can guess, for requests, leases and containers. The one place where they are made.
//!
//! Randomness is the kernel's, fetched for many ids at a time: one call for each would cost a small request several percent.

use std::cell::RefCell;

const IDS_AT_ONCE: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

/// A random GUID, version 4.
pub fn random() -> u128 {
    let bits = SPARE.with_borrow_mut(|spare| {
        if spare.is_empty() {
            spare.extend(fresh());
        }
        spare.pop().expect("filled above")
    });
    uuid::Builder::from_random_bytes(bits.to_ne_bytes()).into_uuid().as_u128()
}

/// Without the kernel's randomness no id is safe to give out, so there is nothing to go on with.
#[expect(clippy::disallowed_methods, reason = "the one place where ids are made")]
fn fresh() -> impl Iterator<Item = u128> {
    let mut bytes = [0; IDS_AT_ONCE * 16];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    (0..IDS_AT_ONCE).map(move |at| u128::from_ne_bytes(bytes[at * 16..][..16].try_into().expect("sixteen bytes")))
}

/// A secret of 64 bytes in Base64, as account keys are.
#[expect(clippy::disallowed_methods, reason = "the one place where secrets are made")]
pub fn key() -> String {
    use base64::Engine;
    let mut bytes = [0; 64];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A secret of 32 bytes.
#[expect(clippy::disallowed_methods, reason = "the one place where secrets are made")]
pub fn secret() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn ids_differ_and_are_guids_of_version_4() {
        let ids: Vec<u128> = (0..1_000).map(|_| super::random()).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        assert!(ids.iter().all(|id| id >> 76 & 0xf == 4));
    }
}
