//! Where the next page begins, as an opaque text: `1!4!cGs-`. It says what is next and nothing of what was, so it is good for
//! as long as the table is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use lazuli_model::table::Key;

use super::status::invalid;
use crate::answer::Answer;
use crate::head::Head;
use crate::refusal::Refusal;

pub static NEXT_PARTITION: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
pub static NEXT_ROW: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
static NEXT_TABLE: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

fn encode(text: &str) -> String {
    let base64 = STANDARD.encode(text).replace('=', "-").replace('+', "*").replace('/', "_");
    format!("1!{}!{base64}", base64.len())
}

fn decode(token: &str) -> Result<String, Refusal> {
    let decoded = || {
        let (length, base64) = token.strip_prefix("1!")?.split_once('!')?;
        // A star that came as a blank was a plus once.
        let base64 = base64.replace('-', "=").replace(['*', ' '], "+").replace('_', "/");
        let whole = length.parse() == Ok(base64.len());
        String::from_utf8(STANDARD.decode(base64).ok().filter(|_| whole)?).ok()
    };
    decoded().ok_or_else(|| invalid().into())
}

pub fn tell_entity(answer: Answer, next: Option<&Key>) -> Answer {
    match next {
        Some(key) => answer.text(&NEXT_PARTITION, encode(&key.partition)).text(&NEXT_ROW, encode(&key.row)),
        None => answer,
    }
}

pub fn tell_table(answer: Answer, next: Option<&str>) -> Answer {
    answer.optional(&NEXT_TABLE, next.map(encode))
}

/// A partition without a row begins at its first.
pub fn entity(head: &Head) -> Result<Option<Key>, Refusal> {
    let row = head.query.get("NextRowKey").map(decode).transpose()?;
    let partition = head.query.get("NextPartitionKey").map(decode).transpose()?;
    Ok(partition.map(|partition| Key::new(partition, row.unwrap_or_default())))
}

pub fn table(head: &Head) -> Result<Option<String>, Refusal> {
    head.query.get("NextTableName").map(decode).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_as_recorded() {
        for (text, token) in [("pk", "1!4!cGs-"), ("1012", "1!8!MTAxMg--"), ("Smith", "1!8!U21pdGg-"), ("", "1!0!")] {
            assert_eq!(encode(text), token);
            assert_eq!(decode(token).as_deref(), Ok(text));
        }
        let odd = "ÿþ~?>\u{10ffff}";
        assert_eq!(decode(&encode(odd)).as_deref(), Ok(odd));
        for bad in ["", "1!", "1!4!", "1!3!cGs-", "2!4!cGs-", "1!x!cGs-", "1!4!!!!!", "1!4!//8-", "cGs-"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
