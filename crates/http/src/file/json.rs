//! The two small JSON documents of the service: a permission on its way in, and on its way out.

use lazuli_model::file::Format;
use serde::Deserialize;

use crate::refusal::{Denied, Refusal};

/// `{"permission": "…", "format": "sddl"}`
#[derive(Debug, Deserialize)]
struct Permission {
    permission: String,
    #[serde(default)]
    format: Option<String>,
}

pub fn read_permission(body: &[u8]) -> Result<(String, Format), Refusal> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let refuse = |reason: &'static str| Denied::InvalidInput { reason: reason.into() };
    let read: Permission = serde_json::from_slice(body)
        .map_err(|_| refuse("The body has to be a JSON object with a member named permission."))?;
    let format = match read.format.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "sddl" => Format::Sddl,
        "binary" => Format::Binary,
        _ => return Err(refuse("The format of a permission is sddl or binary.").into()),
    };
    Ok((read.permission, format))
}

/// Without a format where none was asked for, as before there was one.
pub fn permission(text: &str, format: Option<Format>) -> Vec<u8> {
    let mut object = serde_json::Map::new();
    object.insert("permission".into(), text.into());
    if let Some(format) = format {
        let word = match format {
            Format::Sddl => "sddl",
            Format::Binary => "binary",
        };
        object.insert("format".into(), word.into());
    }
    serde_json::Value::Object(object).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_and_written() {
        let read = |text: &str| read_permission(text.as_bytes()).ok();
        assert_eq!(read(r#"{"permission": "O:BA"}"#), Some(("O:BA".into(), Format::Sddl)));
        assert_eq!(read(r#"{"permission":"AQ==","format":"Binary"}"#), Some(("AQ==".into(), Format::Binary)));
        for bad in ["", "[]", "{}", r#"{"permission":1}"#, r#"{"permission":"x","format":"y"}"#] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(permission("O:\"x\"", None), br#"{"permission":"O:\"x\""}"#);
    }
}
