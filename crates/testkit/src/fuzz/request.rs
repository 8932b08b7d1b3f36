//! A request as a corpus has it: `METHOD /target`, headers, a blank line and the body. What a request needs to be let in is added by
//! with any sender, so that inputs carry no signatures and survive mutation.

pub struct Request<'a> {
    pub method: &'a [u8],
    /// Without the account.
    pub target: &'a [u8],
    pub headers: Vec<(&'a [u8], &'a [u8])>,
    pub body: &'a [u8],
}

/// Between the requests, or the parts, of an input.
pub const BREAK: &[u8] = b"\n---\n";

pub fn split<'a>(input: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = input.windows(by.len()).position(|window| window == by)?;
    Some((&input[..at], &input[at + by.len()..]))
}

/// At most `most`.
pub fn pieces(mut input: &[u8], most: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while pieces.len() + 1 < most
        && let Some((piece, rest)) = split(input, BREAK)
    {
        pieces.push(piece);
        input = rest;
    }
    pieces.push(input);
    pieces
}

impl<'a> Request<'a> {
    pub fn read(input: &'a [u8]) -> Option<Self> {
        let (head, body) = split(input, b"\n\n").unwrap_or((input, b""));
        let mut lines = head.split(|byte| *byte == b'\n');
        let (method, target) = split(lines.next()?, b" ")?;
        let headers = lines.filter_map(|line| split(line, b":")).map(|(name, value)| (name, value.trim_ascii()));
        Some(Self { method, target, headers: headers.collect(), body })
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))
    }
}
