//! Delimited text: records cut out of bytes as they come, and fields out of a record.

use super::evaluate::{Absent, Record};
use super::sql::Step;
use super::value::Value;

/// How text is delimited. The defaults are those of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delimited {
    pub column: String,
    pub record: String,
    pub quote: Option<char>,
    pub escape: Option<char>,
    pub headers: bool,
}

impl Default for Delimited {
    fn default() -> Self {
        Self { column: ",".into(), record: "\n".into(), quote: Some('"'), escape: None, headers: false }
    }
}

/// A record's fields and where it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub fields: Vec<String>,
    pub position: u64,
}

/// Cuts records. What was fed and makes no record yet is kept.
pub struct Cutter {
    form: Delimited,
    kept: Vec<u8>,
    /// How much of what is kept was looked at, and whether that ended inside quotes.
    seen: usize,
    quoted: bool,
    position: u64,
}

impl Cutter {
    pub fn new(form: Delimited) -> Self {
        Self { form, kept: Vec::new(), seen: 0, quoted: false, position: 0 }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
    }

    /// Bytes that make no record yet.
    pub fn waiting(&self) -> usize {
        self.kept.len()
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next records, as many as are whole; at the `end` of the input, what is left is one too.
    pub fn rows(&mut self, end: bool, mut act: impl FnMut(Row) -> bool) {
        let kept = std::mem::take(&mut self.kept);
        let mut from = 0;
        let mut wanted = true;
        while wanted && let Some((to, next)) = self.record(&kept, from) {
            wanted = self.give(&kept[from..to], (next - from) as u64, &mut act);
            from = next;
        }
        if wanted && end && from < kept.len() {
            self.give(&kept[from..], (kept.len() - from) as u64, &mut act);
            from = kept.len();
        }
        self.kept = kept[from..].to_vec();
    }

    fn give(&mut self, record: &[u8], length: u64, act: &mut impl FnMut(Row) -> bool) -> bool {
        let position = self.position;
        self.position += length;
        // Windows ends lines with two characters; the service takes the first for part of the end.
        let record = match record.strip_suffix(b"\r") {
            Some(before) if self.form.record == "\n" => before,
            Some(_) | None => record,
        };
        record.is_empty() || act(Row { fields: fields(&String::from_utf8_lossy(record), &self.form), position })
    }

    /// Where the record that begins at `from` ends, and where the next one begins.
    fn record(&mut self, kept: &[u8], from: usize) -> Option<(usize, usize)> {
        let separator = self.form.record.as_bytes();
        let one = |c: Option<char>| c.filter(char::is_ascii).map(|c| c as u8);
        let (quote, escape) = (one(self.form.quote), one(self.form.escape));
        let mut at = from + self.seen;
        while at < kept.len() {
            let byte = kept[at];
            if self.quoted && Some(byte) == escape && escape != quote {
                at += 1;
            } else if Some(byte) == quote {
                self.quoted = !self.quoted;
            } else if !self.quoted && kept[at..].starts_with(separator) && !separator.is_empty() {
                (self.seen, self.quoted) = (0, false);
                return Some((at, at + separator.len()));
            }
            at += 1;
        }
        // A separator of several bytes may be half there.
        let sure = kept.len().saturating_sub(separator.len().saturating_sub(1)).max(from + self.seen);
        if at > kept.len() || self.quoted || separator.len() > 1 {
            // Looked at again from the start: an escape or a separator was cut in two.
            (self.seen, self.quoted) = (0, false);
        } else {
            self.seen = sure - from;
        }
        None
    }
}

fn fields(record: &str, form: &Delimited) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut rest = record;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if quoted && Some(c) == form.escape && form.escape != form.quote {
            field.extend(after.chars().next());
            rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        } else if quoted && Some(c) == form.quote && after.starts_with(c) {
            field.push(c);
            rest = &after[c.len_utf8()..];
        } else if Some(c) == form.quote && (quoted || field.is_empty()) {
            quoted = !quoted;
            rest = after;
        } else if !quoted && !form.column.is_empty() && rest.starts_with(&form.column) {
            fields.push(std::mem::take(&mut field));
            rest = &rest[form.column.len()..];
        } else {
            field.push(c);
            rest = after;
        }
    }
    fields.push(field);
    fields
}

/// A row with the names of its columns.
pub struct Named<'a> {
    pub row: &'a Row,
    pub names: Option<&'a [String]>,
}

impl Record for Named<'_> {
    fn get(&self, path: &[Step]) -> Result<Value, Absent> {
        let [Step::Name(name)] = path else { return Ok(Value::Missing) };
        let by_name = self.names.and_then(|names| names.iter().position(|other| other.eq_ignore_ascii_case(name)));
        let ordinal = || name.strip_prefix('_').and_then(|digits| digits.parse::<usize>().ok()?.checked_sub(1));
        let at = by_name.or_else(ordinal).ok_or(Absent)?;
        self.row.fields.get(at).map(|text| Value::Text(text.clone())).ok_or(Absent)
    }
}

/// A record as text.
pub fn write(out: &mut Vec<u8>, fields: impl IntoIterator<Item = String>, form: &Delimited) {
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(form.column.as_bytes());
        }
        let special = |text: &str| !text.is_empty() && field.contains(text);
        match form.quote {
            Some(quote) if special(&form.column) || special(&form.record) || field.contains(quote) => {
                let escape = form.escape.unwrap_or(quote);
                out.extend_from_slice(quote.to_string().as_bytes());
                for c in field.chars() {
                    if c == quote || Some(c) == form.escape {
                        out.extend_from_slice(escape.to_string().as_bytes());
                    }
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                out.extend_from_slice(quote.to_string().as_bytes());
            }
            Some(_) | None => out.extend_from_slice(field.as_bytes()),
        }
    }
    out.extend_from_slice(form.record.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, form: &Delimited, step: usize) -> Vec<Row> {
        let mut cutter = Cutter::new(form.clone());
        let mut rows = Vec::new();
        for part in text.as_bytes().chunks(step) {
            cutter.feed(part);
            cutter.rows(false, |row| {
                rows.push(row);
                true
            });
        }
        cutter.rows(true, |row| {
            rows.push(row);
            true
        });
        rows
    }

    #[test]
    fn however_the_bytes_come_the_records_are_the_same() {
        let plain = Delimited::default();
        let escaping = Delimited { escape: Some('\\'), ..Delimited::default() };
        let wide = Delimited { column: "::".into(), record: "<>".into(), ..Delimited::default() };
        for (text, form, expected) in [
            ("a,b\nc,d\n", &plain, vec![(0, vec!["a", "b"]), (4, vec!["c", "d"])]),
            ("a,b\r\nc", &plain, vec![(0, vec!["a", "b"]), (5, vec!["c"])]),
            ("\"a,\n\"\"b\"\"\",c\nd", &plain, vec![(0, vec!["a,\n\"b\"", "c"]), (13, vec!["d"])]),
            ("\"a\\\"\nb\",c\nd", &escaping, vec![(0, vec!["a\"\nb", "c"]), (10, vec!["d"])]),
            ("a::b<>c::d<>", &wide, vec![(0, vec!["a", "b"]), (6, vec!["c", "d"])]),
            ("é,ü\n\n,\n", &plain, vec![(0, vec!["é", "ü"]), (7, vec!["", ""])]),
            ("\"open", &plain, vec![(0, vec!["open"])]),
            ("", &plain, vec![]),
        ] {
            for step in 1..=text.len().max(1) {
                let rows: Vec<(u64, Vec<String>)> =
                    cut(text, form, step).into_iter().map(|row| (row.position, row.fields)).collect();
                let expected: Vec<(u64, Vec<String>)> = expected
                    .iter()
                    .map(|(at, fields)| (*at, fields.iter().map(|field| field.to_string()).collect()))
                    .collect();
                assert_eq!(rows, expected, "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn what_would_be_misread_is_quoted() {
        let form =
            Delimited { column: ";".into(), record: ".".into(), quote: Some('\''), escape: Some('\\'), headers: false };
        let mut out = Vec::new();
        write(&mut out, ["1.0.1", "a;b", "it's", "plain, \"text\""].map(String::from), &form);
        assert_eq!(String::from_utf8(out).unwrap(), r#"'1.0.1';'a;b';'it\'s';plain, "text"."#);
        let mut out = Vec::new();
        write(&mut out, ["say \"hi\"", ""].map(String::from), &Delimited::default());
        assert_eq!(String::from_utf8(out).unwrap(), "\"say \"\"hi\"\"\",\n");
    }
}
