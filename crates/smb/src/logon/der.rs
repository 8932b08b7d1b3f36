//! As much of DER as SPNEGO's tokens need: a tag, a length, the content.

pub const SEQUENCE: u8 = 0x30;
pub const OCTETS: u8 = 0x04;
pub const OID: u8 = 0x06;
pub const ENUMERATED: u8 = 0x0a;
pub const GENERAL_STRING: u8 = 0x1b;
/// `[APPLICATION 0]`
pub const APPLICATION: u8 = 0x60;

/// `[n]`, constructed.
pub const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// The first value of `input`: its tag and content. `input` begins after it.
pub fn take<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (tag, rest) = input.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // A token counts its bytes with sixteen bits, so more than four of length are nonsense.
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some((*tag, content))
}

/// The content of the first value, if it has that tag.
pub fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let mut after = *input;
    let (found, content) = take(&mut after)?;
    (found == tag).then(|| {
        *input = after;
        content
    })
}

/// The same for what may be missing: `None` only if it is there and wrong.
pub fn optional<'a>(input: &mut &'a [u8], tag: u8) -> Option<Option<&'a [u8]>> {
    if input.first() == Some(&tag) { expect(input, tag).map(Some) } else { Some(None) }
}

pub fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
        out.push(0x80 | bytes.len() as u8);
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_length_read_back() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000] {
            let content = vec![7; length];
            let bytes = [value(OCTETS, &content), vec![1, 2]].concat();
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest), Some((OCTETS, &content[..])), "{length}");
            assert_eq!(rest, [1, 2]);
        }
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        for bytes in [
            &[][..],
            &[4],
            &[4, 1],
            &[4, 0x80],
            &[4, 0x82, 1],
            &[4, 0x85, 0, 0, 0, 0, 1, 7],
            &[4, 0x84, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(take(&mut &bytes[..]), None, "{bytes:x?}");
        }
        assert_eq!(expect(&mut &[4, 1, 7][..], OID), None);
        assert_eq!(optional(&mut &[4, 1, 7][..], OID), Some(None));
        assert_eq!(optional(&mut &[4, 2, 7][..], OCTETS), None);
    }
}
