//! What a query may not say where a signature is made over its text: anything by which two queries would come to the same text.

use std::borrow::Cow;

use lazuli_model::Refusal;

use super::failed;
use super::sas::malformed;
use super::shared_key::lower;
use crate::head::Head;

/// Every parameter that a SAS consists of.
const OF_SAS: [&str; 36] = [
    "sv", "ss", "srt", "sr", "sp", "st", "se", "sip", "spr", "si", "sig", "tn", "spk", "srk", "epk", "erk", "ses",
    "sdd", "skoid", "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid", "sduoid", "skdutid", "srh", "srq",
    "rscc", "rscd", "rsce", "rscl", "rsct",
];

/// What a SAS may sign of the resource's own parameters.
const SIGNED_BESIDE: [&str; 2] = ["snapshot", "versionid"];

fn place_of_sas(name: &str) -> Option<usize> {
    // Most parameters of a request are longer than any of a SAS.
    (name.len() <= 7).then(|| OF_SAS.iter().position(|known| known.eq_ignore_ascii_case(name)))?
}

/// A SAS with a parameter that comes twice is refused, whichever of the two would do (observed).
pub fn once(head: &Head) -> Result<(), Refusal> {
    let mut seen = 0_u64;
    for place in head.query.iter().filter_map(|(name, _)| place_of_sas(name)) {
        if seen & 1 << place != 0 {
            return Err(failed(format!("The parameter {} of the signature comes more than once.", OF_SAS[place])));
        }
        seen |= 1 << place;
    }
    Ok(())
}

/// Fields are signed as lines, so none may contain a line's end: it would move its neighbours.
pub fn unbroken(head: &Head) -> Result<(), Refusal> {
    // What a SAS binds besides is chosen by the client: any parameter.
    let binds = head.query.get("srq").is_some();
    let signed = |name: &str| {
        binds || place_of_sas(name).is_some() || SIGNED_BESIDE.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    // `name:value` is one line; a colon in the name would begin the value elsewhere.
    let bound = |name: &str| head.query.get(name).is_some_and(|names| names.contains(':'));
    let broken = head.query.iter().any(|(name, value)| breaks(value) && signed(name));
    if broken || bound("srq") || bound("srh") { Err(malformed()) } else { Ok(()) }
}

/// Parameters that are lists: their values mean the same when they are joined by commas.
const LISTS: [&str; 2] = ["include", "showonly"];

/// Shared Key signs each parameter as a line of its own, `name:value`, and joins the values of one name by commas.
pub fn unconfused(head: &Head) -> Result<(), Refusal> {
    let confuses = |name: &str| name.contains(|letter: char| letter == ':' || letter.is_control());
    if head.query.iter().any(|(name, value)| confuses(name) || breaks(value)) {
        return Err(failed("A query parameter has a character that cannot be signed."));
    }
    let mut names: Vec<Cow<'_, str>> = head.query.iter().map(|(name, _)| lower(name)).collect();
    names.sort_unstable();
    match names.windows(2).find(|two| two[0] == two[1] && !LISTS.contains(&&*two[0])) {
        None => Ok(()),
        Some(twice) => Err(failed(format!("The query parameter {} comes more than once.", twice[0]))),
    }
}

fn breaks(value: &str) -> bool {
    memchr::memchr2(b'\n', b'\r', value.as_bytes()).is_some()
}
