//! In which form a client speaks and wants to be spoken to. Atom is for versions before 2015-12-11 only ("Payload format for
//! Table service operations").

use lazuli_model::Version;

use crate::head::Head;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    None,
    Minimal,
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json(Level),
    Atom,
}

const JSON_ONLY: Version = Version::new(2015, 12, 11);

impl Format {
    /// What the client wants to read.
    pub fn wanted(head: &Head) -> Result<Self, Refusal> {
        let asked = head.query.get("$format").or_else(|| head.text("accept")).unwrap_or_default().to_ascii_lowercase();
        let atom_is_known = head.version < JSON_ONLY;
        if asked.contains("json") {
            return match () {
                () if asked.contains("odata=verbose") => Err(Refusal::JsonVerboseFormatNotSupported),
                () if asked.contains("odata=nometadata") => Ok(Format::Json(Level::None)),
                () if asked.contains("odata=fullmetadata") => Ok(Format::Json(Level::Full)),
                () => Ok(Format::Json(Level::Minimal)),
            };
        }
        let atom = asked.contains("atom") || asked.contains("application/xml");
        match (atom, atom_is_known) {
            (true, false) => Err(Refusal::AtomFormatNotSupported),
            (_, true) => Ok(Format::Atom),
            (false, false) => Ok(Format::Json(Level::Minimal)),
        }
    }

    /// What the client wrote.
    pub fn sent(head: &Head, body: &[u8]) -> Result<Self, Refusal> {
        let kind = head.text("content-type").unwrap_or_default().to_ascii_lowercase();
        let looks_like_xml = body.trim_ascii_start().first() == Some(&b'<') || body.starts_with("\u{feff}".as_bytes());
        match () {
            () if kind.contains("odata=verbose") => Err(Refusal::JsonVerboseFormatNotSupported),
            () if kind.contains("json") => Ok(Format::Json(Level::Minimal)),
            () if kind.contains("atom") || kind.contains("xml") || (kind.is_empty() && looks_like_xml) => {
                if head.version < JSON_ONLY { Ok(Format::Atom) } else { Err(Refusal::AtomFormatNotSupported) }
            }
            () if kind.is_empty() => Ok(Format::Json(Level::Minimal)),
            () => Err(Refusal::MediaTypeNotSupported),
        }
    }
}

impl Level {
    pub fn content_type(self) -> &'static str {
        match self {
            Level::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Level::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Level::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }
}
