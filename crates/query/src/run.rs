//! A query under way: bytes of the blob go in, frames of the answer come out, a slice of work at a time.
//!
//! Held true: a turn ends soon after its slice of the budget is spent, or when there is a frame to send; between two turns no more is
//! held than a record's bytes, a frame, and of a Parquet file the row group that was asked for.

use bytes::Bytes;
use lazuli_model::Timestamp;

use crate::avro::Framing;
use crate::budget::{Budget, Exceeded};
use crate::delimited::{Cut, Cutter, Named, Names, Row as Line};
use crate::evaluate::{Columns, Gathered, Record, Scene, Wrong, evaluate};
use crate::json::{self, Read};
use crate::output::{Row, Writer};
use crate::parquet::{self, Scan};
use crate::sql::{Aggregate, Column, Expression, Step, What, each_inner};
use crate::value::Value;
use crate::{Input, Mistake, Query, RECORD_MAX};

/// Results are sent when there are so many bytes of them.
const FRAME_BYTES: usize = 1 << 20;
/// Progress is told this often.
const PROGRESS_BYTES: u64 = 4 << 20;
/// Mistakes in records are told up to here, and then ended with one that is fatal.
const MISTAKES_MAX: usize = 10_000;
/// Texts that aggregates hold, all of them.
const AGGREGATES_MAX: usize = 16 << 20;

/// What a run wants before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another turn, after others had theirs.
    Again,
    /// The next bytes of the blob, however many; then [`Run::give`].
    Next,
    /// These bytes of the blob; then [`Run::give`].
    Range { from: u64, to: u64 },
    /// That so many bytes of memory are set aside for it, instead of those before.
    Memory(usize),
    /// Nothing. What is ready is the end of the answer.
    Over,
}

pub struct Run {
    input: Source,
    judge: Judge,
    given: Option<Bytes>,
    ended: bool,
    finished: bool,
}

enum Source {
    Delimited(Cutter),
    Json(json::Reader),
    Parquet(Box<Scan>),
}

impl Run {
    pub fn new(query: Query, sync: [u8; 16], total: u64, now: Timestamp) -> Self {
        let input = match &query.input {
            Input::Delimited(form) => Source::Delimited(Cutter::new(form.clone())),
            Input::Json(separator) => Source::Json(json::Reader::new(separator)),
            Input::Parquet => Source::Parquet(Box::new(Scan::new(total))),
        };
        Self { input, judge: Judge::new(query, sync, total, now), given: None, ended: false, finished: false }
    }

    /// What was asked for; nothing at the end of the blob.
    pub fn give(&mut self, bytes: Option<Bytes>) {
        self.ended |= bytes.is_none();
        self.given = bytes;
    }

    /// What is to be sent by now.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.judge.out)
    }

    /// Steps that were spent so far.
    pub fn spent(&self) -> u64 {
        self.judge.budget.spent()
    }

    /// Goes on for a slice.
    pub fn turn(&mut self) -> Turn {
        if self.finished {
            return Turn::Over;
        }
        self.judge.budget.begin_slice();
        let wants = match &mut self.input {
            Source::Delimited(cutter) => {
                if let Some(bytes) = self.given.take() {
                    self.judge.scanned += bytes.len() as u64;
                    cutter.feed(&bytes);
                }
                self.judge.lines(cutter, self.ended)
            }
            Source::Json(reader) => {
                if let Some(bytes) = self.given.take() {
                    self.judge.scanned += bytes.len() as u64;
                    reader.feed(&bytes);
                }
                self.judge.values(reader, self.ended)
            }
            Source::Parquet(scan) => scan.turn(&mut self.judge, self.given.take()),
        };
        if wants == Turn::Over || self.judge.over {
            self.judge.finish();
            self.finished = true;
            return Turn::Over;
        }
        self.judge.drain();
        wants
    }
}

/// Judges records, and says what they come to.
pub(crate) struct Judge {
    query: Query,
    framing: Framing,
    now: Timestamp,
    total: u64,
    scanned: u64,
    told: u64,
    names: Option<Names>,
    /// What the columns of the answer are called.
    shown: Vec<String>,
    opened: bool,
    writer: Writer,
    aggregates: Vec<Gathered>,
    columns: Columns,
    results: u64,
    split_from: u64,
    mistakes: Vec<Mistake>,
    mistaken: usize,
    sent_data: bool,
    over: bool,
    pub(crate) budget: Budget,
    out: Vec<u8>,
}

impl Judge {
    fn new(query: Query, sync: [u8; 16], total: u64, now: Timestamp) -> Self {
        let columns: &[Column] = match &query.select.what {
            What::Columns(columns) => columns,
            What::All | What::Split(_) => &[],
        };
        let expressions = || columns.iter().map(|column| &column.expression);
        let named_columns = Columns::of(expressions().chain(&query.select.filter));
        let headerless = query.input.is_headerless();
        let shown = columns.iter().enumerate().map(|(at, column)| named(column, at, headerless)).collect();
        let mut aggregates = Vec::new();
        expressions().for_each(|expression| gather(expression, &mut |kind, _| aggregates.push(Gathered::new(kind))));
        let writer = Writer::new(query.output.clone());
        let framing = Framing::new(sync);
        Self {
            out: framing.header(),
            query,
            framing,
            now,
            total,
            scanned: 0,
            told: 0,
            names: None,
            shown,
            opened: false,
            writer,
            aggregates,
            columns: named_columns,
            results: 0,
            split_from: 0,
            mistakes: Vec::new(),
            mistaken: 0,
            sent_data: false,
            over: false,
            budget: Budget::default(),
        }
    }

    /// Whether the next record has to wait for another turn.
    pub(crate) fn rests(&self) -> bool {
        self.over || self.budget.is_slice_over() || self.writer.ready() >= FRAME_BYTES
    }

    /// Before a record of so many bytes.
    fn begin(&self, bytes: usize) -> Result<(), Exceeded> {
        self.budget.begin_record();
        if self.budget.is_spent(self.scanned) {
            return Err(Exceeded::Steps);
        }
        // Eight times: it is cut, decoded and copied.
        self.budget.look(8 * bytes)
    }

    /// Whether the query needs a column of this name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let is_named = |step: Option<&Step>| match step {
            Some(Step::Name(first)) => first.eq_ignore_ascii_case(name),
            Some(Step::Index(_) | Step::Each) | None => true,
        };
        let deeper = self.query.select.from.iter().find(|step| **step != Step::Each);
        match (deeper, &self.query.select.what) {
            (Some(step), _) => is_named(Some(step)),
            (None, What::All) => true,
            (None, What::Columns(_) | What::Split(_)) => self.columns.paths().any(|path| is_named(path.first())),
        }
    }

    /// What the columns of records are called.
    pub(crate) fn call(&mut self, names: Vec<String>) {
        self.names = Some(Names::new(names));
    }

    /// The next record, which is somewhere behind `position`.
    pub(crate) fn record(&mut self, record: serde_json::Value, position: u64) {
        let path = std::mem::take(&mut self.query.select.from);
        json::within(record, &path, &mut |record| {
            self.json(&record, position);
            !self.over
        });
        self.query.select.from = path;
    }

    /// So much of the blob has been gone over.
    pub(crate) fn passed(&mut self, scanned: u64) {
        self.scanned = self.scanned.max(scanned.min(self.total));
    }

    /// Rule B17: what a row group came to is sent with the bytes that were read by then; a group that came to nothing is not told of.
    pub(crate) fn end_group(&mut self, read: u64) {
        self.passed(read);
        if self.writer.ready() > 0 {
            self.flush();
            self.out.extend(self.framing.progress(self.scanned, self.total));
            self.told = self.scanned;
        }
    }

    fn drain(&mut self) {
        if self.writer.ready() >= FRAME_BYTES || !self.mistakes.is_empty() || self.over {
            self.flush();
        }
        if self.scanned - self.told >= PROGRESS_BYTES && !self.over {
            self.told = self.scanned;
            self.out.extend(self.framing.progress(self.scanned, self.total));
        }
    }

    /// The end of the input: the aggregates, and the end of the answer.
    fn finish(&mut self) {
        self.open();
        self.budget.begin_record();
        if !self.aggregates.is_empty() {
            self.aggregated();
        }
        if let What::Split(_) = self.query.select.what
            && self.total > self.split_from
        {
            self.split(self.total);
        }
        let is_told = self.told > 0 && self.writer.ready() == 0 && self.mistakes.is_empty();
        self.flush();
        if !self.sent_data {
            self.out.extend(self.framing.data(&[]));
        }
        for mistake in std::mem::take(&mut self.mistakes) {
            self.out.extend(self.framing.error(&mistake));
        }
        match self.query.input {
            // Rule B17.
            Input::Parquet if is_told => {}
            Input::Parquet if self.scanned > 0 => self.out.extend(self.framing.progress(self.scanned, self.total)),
            Input::Parquet | Input::Delimited(_) | Input::Json(_) => {
                self.out.extend(self.framing.progress(self.total, self.total));
            }
        }
        self.out.extend(self.framing.end(self.total));
    }

    /// Data first, then what went wrong, as recorded.
    fn flush(&mut self) {
        self.open();
        let data = self.writer.take();
        if !data.is_empty() {
            self.sent_data = true;
            self.out.extend(self.framing.data(&data));
        }
        if self.sent_data {
            for mistake in std::mem::take(&mut self.mistakes) {
                self.out.extend(self.framing.error(&mistake));
            }
        }
    }

    fn open(&mut self) {
        if self.opened {
            return;
        }
        self.opened = true;
        let names = match &self.query.select.what {
            What::All => self.names.as_ref().map(Names::list),
            What::Columns(_) => Some(self.shown.as_slice()),
            What::Split(_) => None,
        };
        if let Some(opening) = self.writer.opening(names) {
            self.sent_data = true;
            self.out.extend(self.framing.data(&opening));
        }
    }

    fn lines(&mut self, cutter: &mut Cutter, ended: bool) -> Turn {
        let cut = cutter.rows(ended, |line| {
            self.line(&line);
            !self.rests()
        });
        let too_long = cut == Cut::Used && cutter.waiting() > RECORD_MAX;
        if (cut == Cut::TooLarge || too_long) && !self.over {
            self.end(Mistake::too_large(cutter.position()));
        }
        match cut {
            Cut::Stopped => Turn::Again,
            Cut::Used if !ended => Turn::Next,
            Cut::Used | Cut::TooLarge => Turn::Over,
        }
    }

    fn values(&mut self, reader: &mut json::Reader, ended: bool) -> Turn {
        let path = std::mem::take(&mut self.query.select.from);
        let read = reader.values(ended, |value, position, length| {
            // Rule B14: a number or a word is no record, and shows nothing.
            let is_record = value.is_object() || value.is_array();
            match self.begin(length) {
                Ok(()) if !is_record && path.is_empty() && matches!(self.query.select.what, What::All) => {
                    self.writer.blank();
                }
                Ok(()) => drop(json::within(value, &path, &mut |record| {
                    self.json(&record, position);
                    !self.over
                })),
                Err(exceeded) => self.exceed(exceeded, position),
            }
            !self.rests()
        });
        self.query.select.from = path;
        match read {
            Ok(Read::Stopped) => Turn::Again,
            Ok(Read::Used) if !ended => Turn::Next,
            Ok(Read::Used) => Turn::Over,
            Err(mistake) => {
                self.end(mistake);
                Turn::Over
            }
        }
    }

    fn line(&mut self, line: &Line) {
        let bytes = line.fields.iter().map(|field| field.len() + 1).sum();
        if let Input::Delimited(form) = &self.query.input
            && form.headers
            && self.names.is_none()
        {
            self.names = Some(Names::new(line.fields.clone()));
            return;
        }
        if let Err(exceeded) = self.begin(bytes) {
            return self.exceed(exceeded, line.position);
        }
        let names = self.names.take();
        let outcome = self.try_line(line, names.as_ref());
        self.names = names;
        if let Err(wrong) = outcome {
            self.wrong(wrong, line.position);
        }
    }

    fn try_line(&mut self, line: &Line, names: Option<&Names>) -> Result<(), Wrong> {
        let record = Named { row: line, names };
        match &self.query.select.what {
            What::Split(size) => {
                if line.position - self.split_from >= *size {
                    self.split(line.position);
                }
                Ok(())
            }
            What::All => {
                if !self.wanted(&record)? {
                    return Ok(());
                }
                let ordinals =
                    |at: usize| names.and_then(|names| names.list().get(at).cloned()).unwrap_or_else(|| ordinal(at));
                let shown: Vec<String> = match self.writer.names_columns() {
                    true => (0..line.fields.len()).map(ordinals).collect(),
                    false => Vec::new(),
                };
                let values = line.fields.iter().map(|field| Value::Text(field.as_str().into())).collect();
                if !self.writer.fits(line.fields.len()) {
                    self.misfit();
                    return Ok(());
                }
                self.writer.row(Row { names: &shown, values }, &self.budget)?;
                self.count();
                Ok(())
            }
            What::Columns(_) => self.columns(&record),
        }
    }

    fn json(&mut self, record: &serde_json::Value, position: u64) {
        if let Err(wrong) = self.try_json(record, position) {
            self.wrong(wrong, position);
        }
    }

    fn try_json(&mut self, record: &serde_json::Value, position: u64) -> Result<(), Wrong> {
        match &self.query.select.what {
            What::Split(size) => {
                if position - self.split_from >= *size {
                    self.split(position);
                }
                Ok(())
            }
            What::All => {
                if !self.wanted(record)? {
                    return Ok(());
                }
                if !self.writer.whole(record, &self.budget)? {
                    let (names, values): (Vec<String>, Vec<Value<'_>>) = match record.as_object() {
                        Some(members) => {
                            members.iter().map(|(name, value)| (name.clone(), Value::of_json(value))).unzip()
                        }
                        None => (vec![ordinal(0)], vec![Value::of_json(record)]),
                    };
                    self.writer.row(Row { names: &names, values }, &self.budget)?;
                }
                self.count();
                Ok(())
            }
            What::Columns(_) => self.columns(record),
        }
    }

    /// One row of columns, or one more record in the aggregates.
    fn columns(&mut self, record: &dyn Record) -> Result<(), Wrong> {
        if !self.wanted(record)? {
            return Ok(());
        }
        let What::Columns(columns) = &self.query.select.what else { return Ok(()) };
        let scene = Scene { columns: &self.columns, now: self.now, budget: &self.budget };
        if !self.aggregates.is_empty() {
            return aggregate(columns, &mut self.aggregates, record, &scene);
        }
        let values: Result<Vec<Value<'_>>, Wrong> =
            columns.iter().map(|column| evaluate(&column.expression, record, &scene)).collect();
        let values = values?;
        if !self.writer.fits(values.len()) {
            self.misfit();
            return Ok(());
        }
        self.writer.row(Row { names: &self.shown, values }, &self.budget)?;
        self.count();
        Ok(())
    }

    /// Rule B15: a row that does not fit the schema ends the query.
    fn misfit(&mut self) {
        let said = "Number of columns in the row does not match the schema.";
        self.fail("ClientError", said.to_owned(), 0);
    }

    fn wanted(&self, record: &dyn Record) -> Result<bool, Wrong> {
        let Some(filter) = &self.query.select.filter else { return Ok(self.query.select.limit != Some(0)) };
        let scene = Scene { columns: &self.columns, now: self.now, budget: &self.budget };
        Ok(evaluate(filter, record, &scene)?.to_bool()? == Value::Bool(true) && self.query.select.limit != Some(0))
    }

    fn count(&mut self) {
        self.results += 1;
        self.over |= self.query.select.limit.is_some_and(|limit| self.results >= limit);
    }

    /// The row that aggregates come to.
    fn aggregated(&mut self) {
        let What::Columns(columns) = &self.query.select.what else { return };
        let mut gathered = self.aggregates.iter().map(Gathered::value);
        let none = Columns::default();
        let scene = Scene { columns: &none, now: self.now, budget: &self.budget };
        let whole: Vec<Expression> = columns.iter().map(|column| replace(&column.expression, &mut gathered)).collect();
        let value = |whole| evaluate(whole, &serde_json::Value::Null, &scene).unwrap_or(Value::Null);
        let row = Row { names: &self.shown, values: whole.iter().map(value).collect() };
        if let Err(exceeded) = self.writer.row(row, &self.budget) {
            self.exceed(exceeded, self.total);
        }
    }

    fn split(&mut self, at: u64) {
        let length = Value::Int(i64::try_from(at - self.split_from).unwrap_or(i64::MAX));
        self.split_from = at;
        // One number is never too much.
        let _ = self.writer.row(Row { names: &[ordinal(0)], values: vec![length] }, &self.budget);
    }

    fn wrong(&mut self, wrong: Wrong, position: u64) {
        let (name, description) = match wrong {
            Wrong::NoColumn(ordinal) => {
                ("InvalidColumnOrdinal", format!("Column ordinal {ordinal} does not exist in row."))
            }
            Wrong::Type => ("InvalidTypeConversion", "Invalid type conversion.".to_owned()),
            Wrong::NoFunction(name) => {
                return self.fail("InvalidFunction", format!("There is no function {name}."), position);
            }
            Wrong::Exceeded(exceeded) => return self.exceed(exceeded, position),
        };
        self.mistaken += 1;
        if self.mistaken > MISTAKES_MAX {
            return self.fail("TooManyErrors", "Too many records have errors.".into(), position);
        }
        self.mistakes.push(Mistake { fatal: false, name, description, position });
    }

    fn exceed(&mut self, exceeded: Exceeded, position: u64) {
        match exceeded {
            Exceeded::Steps => {
                self.fail("QueryTooComplex", "The query takes too much work for what it reads.".into(), position)
            }
            Exceeded::Text => {
                self.fail("RecordTooLarge", "What the query makes of a record is too large.".into(), position)
            }
        }
    }

    pub(crate) fn fail_in_parquet(&mut self, bad: parquet::Bad, position: u64) {
        let (name, text) = match bad {
            parquet::Bad::Corrupt => ("ParseError", "The blob is not a Parquet file, or is damaged.".to_owned()),
            parquet::Bad::TooLarge => ("RecordTooLarge", "A record or a page is too large to be read.".to_owned()),
            parquet::Bad::Exceeded(exceeded) => return self.exceed(exceeded, position),
            parquet::Bad::Unsupported(what) => {
                ("UnsupportedFeature", format!("The Parquet file has {what}, which is not read."))
            }
        };
        self.fail(name, text, position);
    }

    fn fail(&mut self, name: &'static str, description: String, position: u64) {
        self.end(Mistake { fatal: true, name, description, position });
    }

    fn end(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
        self.over = true;
    }

    /// Before a row of a Parquet file.
    pub(crate) fn begin_row(&self) -> Result<(), Exceeded> {
        self.begin(0)
    }
}

/// One more record.
fn aggregate(
    columns: &[Column],
    aggregates: &mut [Gathered],
    record: &dyn Record,
    scene: &Scene<'_>,
) -> Result<(), Wrong> {
    let mut values = Vec::with_capacity(aggregates.len());
    for column in columns {
        let mut wrong = None;
        gather(&column.expression, &mut |_, inner| {
            let value = inner.map_or(Ok(Value::Int(1)), |inner| evaluate(inner, record, scene));
            values.push(value.unwrap_or_else(|error| {
                wrong = Some(error);
                Value::Null
            }));
        });
        wrong.map_or(Ok(()), Err)?;
    }
    let mut held = 0;
    for (gathered, value) in aggregates.iter_mut().zip(values) {
        gathered.add(value, scene.budget)?;
        held += gathered.size();
        if held > AGGREGATES_MAX {
            return Err(Wrong::Exceeded(Exceeded::Text));
        }
    }
    Ok(())
}

fn ordinal(at: usize) -> String {
    format!("_{}", at + 1)
}

/// What a column is called: as it says, as the member it is, or by its place. Rule B16: where fields have no names, that is its
/// place in the output.
fn named(column: &Column, at: usize, headerless: bool) -> String {
    match (&column.name, &column.expression) {
        (Some(name), _) => name.clone(),
        (None, Expression::Path(_)) if headerless => ordinal(at),
        (None, Expression::Path(path)) => match path.last() {
            Some(Step::Name(name)) => name.clone(),
            Some(Step::Index(_) | Step::Each) | None => ordinal(at),
        },
        (None, _) => ordinal(at),
    }
}

/// Calls `act` for each aggregate in an expression, in order.
fn gather<'a>(expression: &'a Expression, act: &mut dyn FnMut(Aggregate, Option<&'a Expression>)) {
    if let Expression::Aggregate(kind, inner) = expression {
        return act(*kind, inner.as_deref());
    }
    each_inner(expression, &mut |inner| gather(inner, act));
}

/// The expression with the values of aggregates in their places.
fn replace(expression: &Expression, values: &mut dyn Iterator<Item = Value<'static>>) -> Expression {
    match expression {
        Expression::Aggregate(..) => match values.next() {
            Some(Value::Int(number)) => Expression::Int(number),
            Some(Value::Float(number)) => Expression::Float(number),
            Some(Value::Bool(value)) => Expression::Bool(value),
            Some(Value::Missing | Value::Null) | None => Expression::Null,
            Some(other) => Expression::Text(other.to_text().into_owned()),
        },
        Expression::Unary(sign, a) => Expression::Unary(sign, Box::new(replace(a, values))),
        Expression::Binary(sign, a, b) => {
            let a = Box::new(replace(a, values));
            Expression::Binary(sign, a, Box::new(replace(b, values)))
        }
        Expression::Cast(a, to) => Expression::Cast(Box::new(replace(a, values)), *to),
        Expression::Call(name, list) => {
            Expression::Call(name.clone(), list.iter().map(|one| replace(one, values)).collect())
        }
        Expression::IsNull(a) => Expression::IsNull(Box::new(replace(a, values))),
        Expression::In(a, list) => {
            let a = Box::new(replace(a, values));
            Expression::In(a, list.iter().map(|one| replace(one, values)).collect())
        }
        Expression::Between(a, low, high) => {
            let a = Box::new(replace(a, values));
            let low = Box::new(replace(low, values));
            Expression::Between(a, low, Box::new(replace(high, values)))
        }
        Expression::Like(a, pattern, escape) => {
            let a = Box::new(replace(a, values));
            Expression::Like(a, Box::new(replace(pattern, values)), *escape)
        }
        Expression::Null | Expression::Bool(_) | Expression::Int(_) | Expression::Float(_) => expression.clone(),
        Expression::Text(_) | Expression::Path(_) => expression.clone(),
    }
}
