//! The parameters of requests about messages, read and held to their ranges.

use lazuli_model::Version;
use lazuli_model::queue::{BATCH_MAX, Receipt, TEXT_MAX, VISIBILITY_SECONDS, WEEK_SECONDS};

use crate::refusal::{Denied, Refusal};

/// Since then a message may live longer than a week, and forever.
const LIVES_LONGER: Version = Version::new(2017, 7, 29);

/// `numofmessages`.
pub fn most(text: Option<&str>) -> Result<u32, Refusal> {
    text.map_or(Ok(1), |text| within("numofmessages", text, 1, BATCH_MAX))
}

/// `visibilitytimeout` of Get Messages.
pub fn hidden_by_get(text: Option<&str>) -> Result<u32, Refusal> {
    text.map_or(Ok(VISIBILITY_SECONDS), |text| within("visibilitytimeout", text, 1, WEEK_SECONDS))
}

/// `visibilitytimeout` of Update Message, which must be there. Without it the service was seen to call its value invalid
/// (azure-sdk-for-go#2140).
pub fn hidden_by_update(text: Option<&str>) -> Result<u32, Refusal> {
    let missing = || invalid("visibilitytimeout", "", "");
    within("visibilitytimeout", text.ok_or_else(missing)?, 0, WEEK_SECONDS)
}

/// `visibilitytimeout` and `messagettl` of Put Message: seconds hidden, and seconds of life.
pub fn put(hidden: Option<&str>, lives: Option<&str>, version: Version) -> Result<(u32, Option<u32>), Refusal> {
    let seconds = hidden.map_or(Ok(0), |text| within("visibilitytimeout", text, 0, WEEK_SECONDS))?;
    let life = match lives {
        None => Some(WEEK_SECONDS),
        Some(text) if version < LIVES_LONGER => Some(within("messagettl", text, 1, WEEK_SECONDS)?),
        Some("-1") => None,
        // JavaScript programs write the largest number that they know for "never".
        Some(text) if is_large(text) => None,
        Some(text) => Some(text.parse::<u32>().ok().filter(|life| *life > 0).ok_or_else(|| {
            let reason = "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.";
            invalid("messagettl", text, reason)
        })?),
    };
    if life.is_some_and(|life| seconds >= life) {
        let text = hidden.unwrap_or_default();
        return Err(invalid("visibilitytimeout", text, "messagettl must be greater than visibilitytimeout."));
    }
    Ok((seconds, life))
}

/// More seconds than a message can live.
fn is_large(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|life| life > i32::MAX as u64)
}

/// A message's text, measured as it would be stored. Observed: the service calls the body too large, and not the message.
pub fn text(text: &str) -> Result<String, Refusal> {
    if text.len() > TEXT_MAX {
        return Err(Denied::RequestBodyTooLarge { limit: TEXT_MAX as u64 }.into());
    }
    Ok(text.to_owned())
}

/// `popreceipt`, which must be there.
pub fn receipt(text: Option<&str>) -> Result<Receipt, Refusal> {
    let text = text.ok_or(Refusal::MissingRequiredQueryParameter { name: "popreceipt".into() })?;
    Receipt::parse(text).ok_or_else(|| invalid("popreceipt", text, "Invalid pop receipt format."))
}

fn within(name: &'static str, text: &str, least: u32, most: u32) -> Result<u32, Refusal> {
    let number: i64 = text.parse().map_err(|_| invalid(name, text, ""))?;
    match u32::try_from(number) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(Refusal::OutOfRangeQueryParameterValue {
            name: name.into(),
            value: text.to_owned(),
            least: least.to_string(),
            most: most.to_string(),
        }),
    }
}

fn invalid(name: &'static str, value: &str, reason: &'static str) -> Refusal {
    Refusal::InvalidQueryParameterValue { name: name.into(), value: value.to_owned(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_there_and_can_be_read() {
        assert!(matches!(receipt(None), Err(Refusal::MissingRequiredQueryParameter { .. })));
        assert!(matches!(receipt(Some("x")), Err(Refusal::InvalidQueryParameterValue { .. })));
    }

    /// "Put Message", "Get Messages", "Update Message": ranges and defaults.
    #[test]
    fn ranges() {
        let new = Version::new(2021, 2, 12);
        let old = Version::new(2016, 5, 31);
        let week = Some(WEEK_SECONDS);
        let puts = [
            (None, None, new, Some((0, week))),
            (Some("0"), Some("1"), new, Some((0, Some(1)))),
            (Some("604800"), Some("-1"), new, Some((604_800, None))),
            (None, Some("1073741824"), new, Some((0, Some(1_073_741_824)))),
            (None, Some("-1"), old, None),
            (None, Some("604800"), old, Some((0, week))),
            (None, Some("604801"), old, None),
            (None, Some("0"), new, None),
            (None, Some("-2"), new, None),
            (None, Some("4294967295"), new, Some((0, None))),
            (None, Some("9007199254740991"), new, Some((0, None))),
            (None, Some("x"), new, None),
            (Some("604801"), Some("-1"), new, None),
            (Some("-1"), None, new, None),
            (Some("604800"), None, new, None),
            (Some("5"), Some("5"), new, None),
            (Some("5"), Some("6"), new, Some((5, Some(6)))),
        ];
        for (hidden, lives, version, expected) in puts {
            assert_eq!(put(hidden, lives, version).ok(), expected, "{hidden:?} {lives:?} {version}");
        }
        for (text, count, by_get, by_update) in [
            (None, Some(1), Some(30), None),
            (Some("0"), None, None, Some(0)),
            (Some("1"), Some(1), Some(1), Some(1)),
            (Some("32"), Some(32), Some(32), Some(32)),
            (Some("33"), None, Some(33), Some(33)),
            (Some("604800"), None, Some(604_800), Some(604_800)),
            (Some("604801"), None, None, None),
            (Some("-1"), None, None, None),
            (Some("1.5"), None, None, None),
        ] {
            let seen = (most(text).ok(), hidden_by_get(text).ok(), hidden_by_update(text).ok());
            assert_eq!(seen, (count, by_get, by_update), "{text:?}");
        }
        let detail = Refusal::OutOfRangeQueryParameterValue {
            name: "numofmessages".into(),
            value: "33".into(),
            least: "1".into(),
            most: "32".into(),
        };
        assert_eq!(most(Some("33")), Err(detail));
        assert!(text(&"é".repeat(TEXT_MAX / 2)).is_ok());
        let limit = TEXT_MAX as u64;
        assert_eq!(text(&format!("a{}", "é".repeat(TEXT_MAX / 2))), Err(Denied::RequestBodyTooLarge { limit }.into()));
    }
}
