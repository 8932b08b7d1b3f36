//! The ETag of an entity: weak, and made of its timestamp: `W/"datetime'2022-05-06T00%3A34%3A41.820498Z'"`.

use std::fmt;

use crate::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub Timestamp);

impl Tag {
    /// Reads what [`fmt::Display`] prints, encoded or not. `None` is a tag that no entity has.
    pub fn parse(text: &str) -> Option<Self> {
        let inside = text.trim().strip_prefix("W/\"")?.strip_suffix('"')?;
        let time = inside.strip_prefix("datetime'")?.strip_suffix('\'')?;
        Timestamp::parse_iso(&time.replace("%3A", ":").replace("%3a", ":")).map(Self)
    }
}

impl Tag {
    /// At the end of `out`.
    pub fn write(self, out: &mut String) {
        // The colons of a time are the 14th and the 17th character.
        let time = self.0.to_iso_short();
        ["W/\"datetime'", &time[..13], "%3A", &time[14..16], "%3A", &time[17..], "'\""]
            .into_iter()
            .for_each(|part| out.push_str(part));
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        self.write(&mut text);
        f.write_str(&text)
    }
}
