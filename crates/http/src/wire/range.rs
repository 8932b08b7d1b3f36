//! Byte ranges of Get Blob: `x-ms-range` before `Range`, and only the two forms the service knows.

use http::HeaderValue;

use crate::answer::name;
use crate::head::Head;
use crate::refusal::{Denied, Refusal};
use crate::serve::Ask;

/// A digest of a range is given for at most this many bytes.
pub const DIGEST_RANGE_MAX: u64 = 4 << 20;

/// `bytes=from-` or `bytes=from-to`, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub from: u64,
    pub to: Option<u64>,
}

/// What is read: `from..to`, and whether the answer is partial (206 and Content-Range).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub to: u64,
    pub partial: bool,
}

/// Digests of the range that the client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeDigest {
    pub md5: bool,
    pub crc64: bool,
}

impl ByteRange {
    /// `None` for other forms: suffixes (`bytes=-5`), several ranges, other units, an end before its start.
    pub fn parse(text: &str) -> Option<Self> {
        let (unit, range) = text.trim().split_once('=')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (from, to) = range.split_once('-')?;
        let from = number(from)?;
        let to = if to.trim().is_empty() { None } else { Some(number(to)?) };
        to.is_none_or(|to| to >= from).then_some(Self { from, to })
    }

    /// A start at or beyond the end of the blob is refused; an end beyond it is cut.
    pub fn within(self, length: u64) -> Result<Span, Refusal> {
        if self.from >= length {
            return Err(Denied::InvalidRange.into());
        }
        let to = self.to.map_or(length, |to| to.saturating_add(1).min(length));
        Ok(Span { from: self.from, to, partial: true })
    }
}

/// Digits only: no sign, no blank inside.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

impl Span {
    pub fn whole(length: u64) -> Self {
        Self { from: 0, to: length, partial: false }
    }

    pub fn length(self) -> u64 {
        self.to - self.from
    }

    /// `Content-Range` of a 206.
    pub fn content_range(self, length: u64) -> String {
        format!("bytes {}-{}/{length}", self.from, self.to.saturating_sub(1))
    }
}

/// `Content-Range` of a 416.
fn unsatisfied(length: u64) -> String {
    format!("bytes */{length}")
}

/// The range asked for. A `Range` in a form that the service does not know is as if it were not there; an
/// `x-ms-range` is refused.
pub fn requested(head: &Head) -> Result<Option<ByteRange>, Refusal> {
    match head.opt("x-ms-range", ByteRange::parse)? {
        Some(range) => Ok(Some(range)),
        None => Ok(head.text("range").and_then(ByteRange::parse)),
    }
}

/// What is answered of content of this length. A range outside of it is refused with a header that says how long it is.
pub fn span(ask: &mut Ask, range: Option<ByteRange>, length: u64) -> Result<Span, Refusal> {
    let Some(range) = range else { return Ok(Span::whole(length)) };
    range.within(length).inspect_err(|_| {
        if let Ok(value) = HeaderValue::try_from(unsatisfied(length)) {
            ask.beside.insert(name::CONTENT_RANGE.clone(), value);
        }
    })
}

/// `x-ms-range-get-content-md5` and `-crc64`: only with a range, only one, and only up to 4 MiB.
pub fn digests(head: &Head, range: Option<ByteRange>) -> Result<RangeDigest, Refusal> {
    let md5 = head.flag("x-ms-range-get-content-md5")?;
    let crc64 = head.flag("x-ms-range-get-content-crc64")?;
    let name = if md5 { "x-ms-range-get-content-md5" } else { "x-ms-range-get-content-crc64" };
    // Rule B10.
    if md5 && crc64 {
        return Err(Refusal::BothCrc64AndMd5RangeHeaderPresent);
    }
    if (md5 || crc64) && range.is_none() {
        return Err(Refusal::InvalidHeaderValue { header: name.into(), value: "true".to_owned() });
    }
    Ok(RangeDigest { md5, crc64 })
}

impl RangeDigest {
    pub fn any(self) -> bool {
        self.md5 || self.crc64
    }

    /// Once the length of the answer is known.
    pub fn permit(self, span: Span) -> Result<(), Refusal> {
        if self.any() && span.length() > DIGEST_RANGE_MAX { Err(Denied::OutOfRangeInput.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::noise::survive;

    #[test]
    fn two_forms_are_known() {
        let table = [
            ("bytes=0-0", Some((0, Some(0)))),
            ("bytes=0-33554431", Some((0, Some(33_554_431)))),
            ("bytes=5-", Some((5, None))),
            ("Bytes=5-9", Some((5, Some(9)))),
            (" bytes= 5 - 9 ", Some((5, Some(9)))),
            ("bytes=18446744073709551615-", Some((u64::MAX, None))),
            ("bytes=-5", None),
            ("bytes=9-5", None),
            ("bytes=0-1,4-5", None),
            ("bytes=+1-2", None),
            ("bytes=18446744073709551616-", None),
            ("items=0-1", None),
            ("bytes=", None),
            ("0-1", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(ByteRange::parse(text).map(|range| (range.from, range.to)), expected, "{text}");
        }
    }

    #[test]
    fn a_range_is_cut_to_the_blob_or_refused() {
        let table = [
            ("bytes=0-3", 10, Ok("bytes 0-3/10")),
            ("bytes=0-99", 10, Ok("bytes 0-9/10")),
            ("bytes=9-", 10, Ok("bytes 9-9/10")),
            ("bytes=0-18446744073709551615", 10, Ok("bytes 0-9/10")),
            ("bytes=10-", 10, Err("bytes */10")),
            ("bytes=0-", 0, Err("bytes */0")),
        ];
        for (text, length, expected) in table {
            let span = ByteRange::parse(text).expect("a range").within(length);
            let said = span.map(|span| span.content_range(length)).map_err(|_| unsatisfied(length));
            assert_eq!(said, expected.map(str::to_owned).map_err(str::to_owned), "{text} of {length}");
        }
    }

    #[test]
    fn digests_stop_at_four_mebibytes() {
        let md5 = RangeDigest { md5: true, crc64: false };
        let of = |to| Span { from: 0, to, partial: true };
        assert_eq!(md5.permit(of(DIGEST_RANGE_MAX)), Ok(()));
        assert_eq!(md5.permit(of(DIGEST_RANGE_MAX + 1)), Err(Denied::OutOfRangeInput.into()));
        assert_eq!(RangeDigest::default().permit(of(u64::MAX)), Ok(()));
    }

    #[test]
    fn nonsense_does_not_panic() {
        survive(&[b"bytes=0-33554431", b"bytes=5-"], |bytes| {
            if let Some(range) = ByteRange::parse(&String::from_utf8_lossy(bytes)) {
                let _ = range.within(7).map(|span| span.content_range(7));
            }
        });
    }
}
