//! Stored values: whatever the bytes, decoding any kind of record either fails or gives something that, encoded, decodes to itself.

use bytes::Bytes;
use lazuli_store::RECORD_KINDS;

/// The kind in the first byte, then the value; or any bytes, as every kind.
pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let kind = usize::from(*first);
    let kinds = if kind < RECORD_KINDS.len() { &RECORD_KINDS[kind..=kind] } else { RECORD_KINDS };
    for kind in kinds {
        let Ok(once) = (kind.reread)(&Bytes::copy_from_slice(rest)) else { continue };
        let twice = (kind.reread)(&once).unwrap_or_else(|fault| panic!("{}: {fault:?}: {once:?}", kind.name));
        assert_eq!(twice, once, "{}", kind.name);
    }
}
