//! The one message of SMB 1 that is understood: a client that does not know what it talks to asks for all its dialects at once, and
//! SMB 2 may be among them ([MS-SMB2] 3.3.5.3).

use bytes::Bytes;

use super::wire::{Malformed, Parsed, Sink, Source};

const COMMAND_NEGOTIATE: u8 = 0x72;
const DIALECTS_MAX: usize = 64;
const ANY_SMB2: &[u8] = b"SMB 2.???";
const SMB_2_0_2: &[u8] = b"SMB 2.002";

/// What of SMB 2 was among the dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Any: the client will negotiate again, in SMB 2's own words.
    Wildcard,
    /// 2.0.2, and nothing newer.
    OnlyFirst,
    /// A client of SMB 1 alone.
    Nothing,
}

/// Reads the dialects of an SMB 1 NEGOTIATE.
pub fn parse(message: Bytes) -> Parsed<Offer> {
    let mut source = Source::new(message);
    if source.array()? != *b"\xffSMB" || source.u8()? != COMMAND_NEGOTIATE {
        return Err(Malformed::Signature);
    }
    // Status, flags, process, signature, ids: nothing of it matters any more.
    source.skip(27)?;
    if source.u8()? != 0 {
        return Err(Malformed::StructureSize);
    }
    let length = source.size16()?;
    let dialects = source.take(length)?;
    let (mut wildcard, mut first) = (false, false);
    // Each one is a byte 2 and a string that ends with a zero.
    for (count, dialect) in dialects.split(|byte| *byte == 0).filter(|dialect| !dialect.is_empty()).enumerate() {
        if count == DIALECTS_MAX {
            return Err(Malformed::Count);
        }
        match dialect.strip_prefix(&[2]).ok_or(Malformed::Value)? {
            ANY_SMB2 => wildcard = true,
            SMB_2_0_2 => first = true,
            _ => {}
        }
    }
    Ok(match (wildcard, first) {
        (true, _) => Offer::Wildcard,
        (false, true) => Offer::OnlyFirst,
        (false, false) => Offer::Nothing,
    })
}

/// What a client sends that offers these.
pub fn encode(dialects: &[&str]) -> Bytes {
    let mut sink = Sink::new();
    sink.bytes(b"\xffSMB");
    sink.u8(COMMAND_NEGOTIATE);
    sink.zeros(28);
    let list: Vec<u8> = dialects.iter().flat_map(|name| [&[2], name.as_bytes(), &[0]].concat()).collect();
    sink.size16(list.len());
    sink.bytes(&list);
    sink.finish().freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_smb2_is_found_among_the_dialects() {
        let table: [(&[&str], Offer); 5] = [
            (&["NT LM 0.12"], Offer::Nothing),
            (&["NT LM 0.12", "SMB 2.002"], Offer::OnlyFirst),
            (&["NT LM 0.12", "SMB 2.002", "SMB 2.???"], Offer::Wildcard),
            (&["SMB 2.???"], Offer::Wildcard),
            (&[], Offer::Nothing),
        ];
        for (dialects, offer) in table {
            assert_eq!(parse(encode(dialects)), Ok(offer), "{dialects:?}");
        }
    }

    #[test]
    fn everything_else_of_smb1_is_refused() {
        let mut other = encode(&["NT LM 0.12"]).to_vec();
        other[4] = 0x73;
        assert_eq!(parse(other.into()), Err(Malformed::Signature));
        let whole = encode(&["NT LM 0.12", "SMB 2.002"]);
        for end in 0..whole.len() {
            assert!(parse(whole.slice(..end)).is_err(), "cut at {end}");
        }
        assert_eq!(parse(encode(&["x"; 65])), Err(Malformed::Count));
    }
}
