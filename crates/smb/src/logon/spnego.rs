//! SPNEGO: which mechanism of logon is used ([MS-SPNG], RFC 4178). Here there is one, NTLM; the tokens around it are read and written all the
//! same, and the list of mechanisms is vouched for by the key that the logon leaves.

use super::der::{self, APPLICATION, ENUMERATED, GENERAL_STRING, OCTETS, OID, SEQUENCE, context};

/// 1.3.6.1.5.5.2
const SPNEGO: &[u8] = &[0x2b, 6, 1, 5, 5, 2];
/// 1.3.6.1.4.1.311.2.2.10
pub const NTLMSSP: &[u8] = &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0a];
/// Clients offer at most a handful.
const MECHANISMS_MAX: usize = 16;

/// What a client begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    pub mechanisms: Vec<&'a [u8]>,
    /// The list as it was sent, which is what the checksum covers.
    pub list: &'a [u8],
    /// The first message of the first mechanism.
    pub token: Option<&'a [u8]>,
}

/// How far the negotiation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Completed = 0,
    Incomplete = 1,
    Rejected = 2,
    /// Go on with what the server has chosen, and vouch for the list at the end.
    RequestMic = 3,
}

/// What both sides go on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resp<'a> {
    pub state: Option<u8>,
    pub mechanism: Option<&'a [u8]>,
    pub token: Option<&'a [u8]>,
    pub list_mic: Option<&'a [u8]>,
}

pub fn parse_init(mut token: &[u8]) -> Option<Init<'_>> {
    let mut inner = der::expect(&mut token, APPLICATION)?;
    if der::expect(&mut inner, OID)? != SPNEGO {
        return None;
    }
    let mut choice = der::expect(&mut inner, context(0))?;
    let mut fields = der::expect(&mut choice, SEQUENCE)?;
    let list = der::expect(&mut fields, context(0))?;
    let mut items = der::expect(&mut { list }, SEQUENCE)?;
    let mut mechanisms = Vec::new();
    while !items.is_empty() {
        if mechanisms.len() == MECHANISMS_MAX {
            return None;
        }
        mechanisms.push(der::expect(&mut items, OID)?);
    }
    der::optional(&mut fields, context(1))?;
    let token = match der::optional(&mut fields, context(2))? {
        Some(mut field) => Some(der::expect(&mut field, OCTETS)?),
        None => None,
    };
    Some(Init { mechanisms, list, token })
}

pub fn parse_resp(mut token: &[u8]) -> Option<Resp<'_>> {
    let mut inner = der::expect(&mut token, context(1))?;
    let mut fields = der::expect(&mut inner, SEQUENCE)?;
    let mut field = |number, tag| match der::optional(&mut fields, context(number))? {
        Some(mut content) => Some(Some(der::expect(&mut content, tag)?)),
        None => Some(None),
    };
    let state = field(0, ENUMERATED)?;
    Some(Resp {
        state: state.and_then(|state| state.first().copied()),
        mechanism: field(1, OID)?,
        token: field(2, OCTETS)?,
        list_mic: field(3, OCTETS)?,
    })
}

fn init(fields: &[Vec<u8>]) -> Vec<u8> {
    let choice = der::value(context(0), &der::value(SEQUENCE, &fields.concat()));
    der::value(APPLICATION, &[der::value(OID, SPNEGO), choice].concat())
}

fn list(mechanisms: &[&[u8]]) -> Vec<u8> {
    let items: Vec<u8> = mechanisms.iter().flat_map(|mechanism| der::value(OID, mechanism)).collect();
    der::value(context(0), &der::value(SEQUENCE, &items))
}

/// What the server offers in its answer to NEGOTIATE. The hint is what every Windows sends, and means nothing.
pub fn offer() -> Vec<u8> {
    let name = der::value(GENERAL_STRING, b"not_defined_in_RFC4178@please_ignore");
    let hints = der::value(context(3), &der::value(SEQUENCE, &der::value(context(0), &name)));
    init(&[list(&[NTLMSSP]), hints])
}

/// What a client sends first.
pub fn encode_init(mechanisms: &[&[u8]], token: Option<&[u8]>) -> Vec<u8> {
    let token = token.map(|token| der::value(context(2), &der::value(OCTETS, token)));
    init(&[list(mechanisms), token.unwrap_or_default()])
}

pub fn encode_resp(
    state: Option<State>,
    mechanism: Option<&[u8]>,
    token: Option<&[u8]>,
    mic: Option<&[u8]>,
) -> Vec<u8> {
    let field = |number, tag, content: Option<&[u8]>| {
        content.map_or(Vec::new(), |content| der::value(context(number), &der::value(tag, content)))
    };
    let state = state.map(|state| [state as u8]);
    let fields = [
        field(0, ENUMERATED, state.as_ref().map(|state| &state[..])),
        field(1, OID, mechanism),
        field(2, OCTETS, token),
        field(3, OCTETS, mic),
    ];
    der::value(context(1), &der::value(SEQUENCE, &fields.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypt::hex;

    const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];

    #[test]
    fn tokens_read_back() {
        for token in [None, Some(&b"token"[..]), Some(&[7; 300])] {
            let bytes = encode_init(&[KERBEROS, NTLMSSP], token);
            let read = parse_init(&bytes).expect("a token");
            assert_eq!((read.mechanisms, read.token), (vec![KERBEROS, NTLMSSP], token));
        }
        let offer = offer();
        assert_eq!(parse_init(&offer).expect("our own").mechanisms, [NTLMSSP]);
        for mic in [None, Some(&[9; 16][..])] {
            let bytes = encode_resp(Some(State::RequestMic), Some(NTLMSSP), Some(b"x"), mic);
            let resp = Resp { state: Some(3), mechanism: Some(NTLMSSP), token: Some(b"x"), list_mic: mic };
            assert_eq!(parse_resp(&bytes), Some(resp));
        }
    }

    #[test]
    fn what_windows_sends_is_read_and_written() {
        let first = hex("604806062B0601050502A03E303CA00E300C060A2B06010401823702020AA22A
             04284E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F");
        let read = parse_init(&first).expect("a token");
        assert_eq!(read.mechanisms, [NTLMSSP]);
        assert_eq!(read.list, hex("300C060A2B06010401823702020A"));
        assert_eq!(encode_init(&read.mechanisms, read.token), first);
        let last = hex("A11B3019A0030A0100A3120410010000003B453CDC3524164200000000");
        let mic = hex("010000003B453CDC3524164200000000");
        assert_eq!(encode_resp(Some(State::Completed), None, None, Some(&mic)), last);
        assert_eq!(parse_resp(&last).expect("a token").list_mic, Some(&mic[..]));
    }

    #[test]
    fn tokens_cut_short_are_refused() {
        for whole in [encode_init(&[NTLMSSP], Some(b"token")), encode_resp(None, None, Some(b"token"), Some(&[1; 16]))]
        {
            for end in 0..whole.len() {
                assert_eq!(parse_init(&whole[..end]), None);
                assert_eq!(parse_resp(&whole[..end]), None);
            }
        }
        assert_eq!(parse_init(&encode_init(&[NTLMSSP; 17], None)), None, "too many to be meant");
    }
}
