//! Delimited text: records cut out of bytes as they come, and fields out of a record.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::budget::Budget;
use crate::evaluate::{Absent, Record};
use crate::sql::Step;
use crate::value::Value;

/// Fields of one record.
const FIELDS_MAX: usize = 1 << 16;

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

/// Cuts records. What was fed and makes no record yet is kept; each byte of it is looked at once, however it came.
pub struct Cutter {
    form: Delimited,
    kept: Vec<u8>,
    /// Where in what is kept the next record begins.
    from: usize,
    /// How much of that record was looked at, and whether that ended inside quotes.
    seen: usize,
    quoted: bool,
    position: u64,
}

/// Why there are no more records for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// What was fed has no more.
    Used,
    /// Nobody wants more.
    Stopped,
    /// The next one has too many fields.
    TooLarge,
}

impl Cutter {
    pub fn new(form: Delimited) -> Self {
        Self { form, kept: Vec::new(), from: 0, seen: 0, quoted: false, position: 0 }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        // Moved only when half of it is behind, so that the moving costs no more than the feeding.
        if self.from * 2 >= self.kept.len() {
            self.kept.drain(..self.from);
            self.from = 0;
        }
        self.kept.extend_from_slice(bytes);
    }

    /// Bytes that make no record yet.
    pub fn waiting(&self) -> usize {
        self.kept.len() - self.from
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next records, as many as are whole and `act` wants; at the `end` of the input, what is left is one too.
    pub fn rows(&mut self, end: bool, mut act: impl FnMut(Row) -> bool) -> Cut {
        let kept = std::mem::take(&mut self.kept);
        let cut = loop {
            let (to, next) = match self.record(&kept) {
                Some(found) => found,
                None if end && self.from < kept.len() => (kept.len(), kept.len()),
                None => break Cut::Used,
            };
            let row = self.row(&kept[self.from..to]);
            let length = (next - self.from) as u64;
            let Some(row) = row else { break Cut::TooLarge };
            self.position += length;
            (self.from, self.seen, self.quoted) = (next, 0, false);
            if row.is_some_and(|row| !act(row)) {
                break Cut::Stopped;
            }
        };
        self.kept = kept;
        cut
    }

    /// `None`: it has too many fields. An empty record is none.
    fn row(&self, record: &[u8]) -> Option<Option<Row>> {
        // Windows ends lines with two characters; the service takes the first for part of the end.
        let record = match record.strip_suffix(b"\r") {
            Some(before) if self.form.record == "\n" => before,
            Some(_) | None => record,
        };
        if record.is_empty() {
            return Some(None);
        }
        let fields = fields(&String::from_utf8_lossy(record), &self.form)?;
        Some(Some(Row { fields, position: self.position }))
    }

    /// Where the record that begins at `from` ends, and where the next one begins.
    fn record(&mut self, kept: &[u8]) -> Option<(usize, usize)> {
        let separator = self.form.record.as_bytes();
        let one = |c: Option<char>| c.filter(char::is_ascii).map(|c| c as u8);
        let (quote, escape) = (one(self.form.quote), one(self.form.escape));
        let mut at = self.from + self.seen;
        while at < kept.len() {
            let (byte, rest) = (kept[at], &kept[at..]);
            if self.quoted && Some(byte) == escape && escape != quote {
                // What is escaped has not come yet.
                if rest.len() < 2 {
                    break;
                }
                at += 1;
            } else if Some(byte) == quote {
                self.quoted = !self.quoted;
            } else if !self.quoted && !separator.is_empty() {
                if rest.starts_with(separator) {
                    return Some((at, at + separator.len()));
                }
                // A separator of several bytes may be half there.
                if rest.len() < separator.len() && separator.starts_with(rest) {
                    break;
                }
            }
            at += 1;
        }
        self.seen = at - self.from;
        None
    }
}

/// `None` if there are too many.
fn fields(record: &str, form: &Delimited) -> Option<Vec<String>> {
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
            if fields.len() == FIELDS_MAX {
                return None;
            }
            fields.push(std::mem::take(&mut field));
            rest = &rest[form.column.len()..];
        } else {
            field.push(c);
            rest = after;
        }
    }
    fields.push(field);
    Some(fields)
}

/// What columns are called.
#[derive(Debug, Default)]
pub struct Names {
    list: Vec<String>,
    /// Places in the order of names without case; of several, the first comes first.
    order: Vec<u32>,
}

impl Names {
    pub fn new(list: Vec<String>) -> Self {
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.sort_by(|a, b| without_case(&list[*a as usize], &list[*b as usize]));
        Self { list, order }
    }

    pub fn list(&self) -> &[String] {
        &self.list
    }

    fn place(&self, name: &str) -> Option<usize> {
        let before = |at: &u32| without_case(&self.list[*at as usize], name).is_lt();
        let at = *self.order.get(self.order.partition_point(before))? as usize;
        self.list[at].eq_ignore_ascii_case(name).then_some(at)
    }
}

fn without_case(a: &str, b: &str) -> Ordering {
    a.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(b.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// A row with the names of its columns.
pub struct Named<'a> {
    pub row: &'a Row,
    pub names: Option<&'a Names>,
}

impl Record for Named<'_> {
    fn get(&self, path: &[Step], _: &Budget) -> Result<Value<'_>, Absent> {
        let [Step::Name(name)] = path else { return Ok(Value::Missing) };
        let by_name = self.names.and_then(|names| names.place(name));
        let ordinal = || name.strip_prefix('_').and_then(|digits| digits.parse::<usize>().ok()?.checked_sub(1));
        let at = by_name.or_else(ordinal).ok_or(Absent::Column)?;
        self.row.fields.get(at).map(|text| Value::Text(Cow::Borrowed(text))).ok_or(Absent::Column)
    }
}

/// A record as text.
pub fn write<'a>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = Cow<'a, str>>, form: &Delimited) {
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
            ("\"open\\", &escaping, vec![(0, vec!["open"])]),
            ("a<b<>c<", &wide, vec![(0, vec!["a<b"]), (5, vec!["c<"])]),
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

    /// C3: a record that comes byte by byte, inside quotes or with a separator of two bytes, was looked at from its start each time.
    #[test]
    fn each_byte_is_looked_at_once() {
        let wide = Delimited { record: "\r\n".into(), ..Delimited::default() };
        for text in [format!("\"{}", "x".repeat(300_000)), "\r".repeat(300_000)] {
            let mut cutter = Cutter::new(wide.clone());
            for byte in text.bytes() {
                cutter.feed(&[byte]);
                assert_eq!(cutter.rows(false, |_| true), Cut::Used);
                assert!(cutter.waiting() - cutter.seen <= 1);
            }
        }
        let mut cutter = Cutter::new(Delimited::default());
        cutter.feed(",".repeat(FIELDS_MAX + 1).as_bytes());
        assert_eq!(cutter.rows(true, |_| true), Cut::TooLarge);
    }

    #[test]
    fn names_have_no_case_and_the_first_counts() {
        let names = Names::new(["b", "A", "a", "", "_2"].map(str::to_owned).to_vec());
        for (name, place) in [("B", Some(0)), ("a", Some(1)), ("", Some(3)), ("_2", Some(4)), ("c", None), ("aa", None)]
        {
            assert_eq!(names.place(name), place, "{name}");
        }
    }

    #[test]
    fn what_would_be_misread_is_quoted() {
        let form =
            Delimited { column: ";".into(), record: ".".into(), quote: Some('\''), escape: Some('\\'), headers: false };
        let mut out = Vec::new();
        write(&mut out, ["1.0.1", "a;b", "it's", "plain, \"text\""].map(Cow::Borrowed), &form);
        assert_eq!(String::from_utf8(out).unwrap(), r#"'1.0.1';'a;b';'it\'s';plain, "text"."#);
        let mut out = Vec::new();
        write(&mut out, ["say \"hi\"", ""].map(Cow::Borrowed), &Delimited::default());
        assert_eq!(String::from_utf8(out).unwrap(), "\"say \"\"hi\"\"\",\n");
    }
}
