//! A query under way: bytes of the blob go in, frames of the answer come out.

use lazuli_model::Timestamp;

use super::avro::Framing;
use super::delimited::{Cutter, Named, Row as Line};
use super::evaluate::{Gathered, Record, Scene, Wrong, columns_of, evaluate};
use super::json;
use super::output::{Row, Writer};
use super::request::{Input, Query};
use super::sql::{Column, Expression, Step, What};
use super::value::Value;
use super::{Mistake, RECORD_MAX};

/// Results are sent when there are so many bytes of them.
const FRAME_BYTES: usize = 1 << 20;
/// Progress is told this often.
const PROGRESS_BYTES: u64 = 4 << 20;
/// Mistakes in records are told up to here, and then ended with one that is fatal.
const MISTAKES_MAX: usize = 10_000;

pub struct Run {
    query: Query,
    framing: Framing,
    now: Timestamp,
    total: u64,
    scanned: u64,
    told: u64,
    source: Source,
    names: Option<Vec<String>>,
    opened: bool,
    writer: Writer,
    aggregates: Vec<Gathered>,
    columns: Vec<Vec<Step>>,
    results: u64,
    split_from: u64,
    mistakes: Vec<Mistake>,
    mistaken: usize,
    sent_data: bool,
    over: bool,
}

enum Source {
    Delimited(Cutter),
    Json(json::Reader),
    /// Records come as they are ([`Run::record`]).
    Records,
}

impl Run {
    pub fn new(query: Query, sync: [u8; 16], total: u64, now: Timestamp) -> Self {
        let source = match &query.input {
            Input::Delimited(form) => Source::Delimited(Cutter::new(form.clone())),
            Input::Json(separator) => Source::Json(json::Reader::new(separator)),
            Input::Parquet => Source::Records,
        };
        let expressions: Vec<&Expression> = match &query.select.what {
            What::Columns(columns) => columns.iter().map(|column| &column.expression).collect(),
            What::All | What::Split(_) => Vec::new(),
        };
        let columns = columns_of(expressions.iter().copied().chain(&query.select.filter));
        let mut aggregates = Vec::new();
        expressions
            .iter()
            .for_each(|expression| gather(expression, &mut |kind, _| aggregates.push(Gathered::new(kind))));
        let writer = Writer::new(query.output.clone());
        Self {
            query,
            framing: Framing::new(sync),
            now,
            total,
            scanned: 0,
            told: 0,
            source,
            names: None,
            opened: false,
            writer,
            aggregates,
            columns,
            results: 0,
            split_from: 0,
            mistakes: Vec::new(),
            mistaken: 0,
            sent_data: false,
            over: false,
        }
    }

    pub fn header(&self) -> Vec<u8> {
        self.framing.header()
    }

    /// Nothing more needs to be read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What `bytes` of the blob come to.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.scanned += bytes.len() as u64;
        match &mut self.source {
            Source::Delimited(cutter) => cutter.feed(bytes),
            Source::Json(reader) => reader.feed(bytes),
            Source::Records => {}
        }
        self.turn(false);
        self.drain()
    }

    /// Whether the query needs a column of this name.
    pub fn wants(&self, name: &str) -> bool {
        let named = |step: Option<&Step>| match step {
            Some(Step::Name(first)) => first.eq_ignore_ascii_case(name),
            Some(Step::Index(_) | Step::Each) | None => true,
        };
        let deeper = self.query.select.from.iter().find(|step| **step != Step::Each);
        match (deeper, &self.query.select.what) {
            (Some(step), _) => named(Some(step)),
            (None, What::All) => true,
            (None, What::Columns(_) | What::Split(_)) => self.columns.iter().any(|path| named(path.first())),
        }
    }

    /// What the columns of records are called.
    pub fn call(&mut self, names: Vec<String>) {
        self.names = Some(names);
    }

    /// The next record, which is somewhere behind `position`.
    pub fn record(&mut self, record: serde_json::Value, position: u64) {
        let path = self.query.select.from.clone();
        json::within(record, &path, &mut |record| {
            self.json(&record, position);
            !self.over
        });
    }

    /// So much of the blob has been gone over.
    pub fn passed(&mut self, scanned: u64) {
        self.scanned = self.scanned.max(scanned.min(self.total));
    }

    /// What is to be sent by now.
    pub fn drain(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.writer.ready() >= FRAME_BYTES || !self.mistakes.is_empty() || self.over {
            self.flush(&mut out);
        }
        if self.scanned - self.told >= PROGRESS_BYTES && !self.over {
            self.told = self.scanned;
            out.extend(self.framing.progress(self.scanned, self.total));
        }
        out
    }

    /// The end of the input: the last record, the aggregates, and the end of the answer.
    pub fn finish(&mut self) -> Vec<u8> {
        if !self.over {
            self.turn(true);
        }
        let mut out = Vec::new();
        self.open(&mut out);
        if !self.aggregates.is_empty() {
            self.aggregated();
        }
        if let What::Split(_) = self.query.select.what
            && self.total > self.split_from
        {
            self.split(self.total);
        }
        self.flush(&mut out);
        if !self.sent_data {
            out.extend(self.framing.data(&[]));
        }
        for mistake in std::mem::take(&mut self.mistakes) {
            out.extend(self.framing.error(&mistake));
        }
        out.extend(self.framing.progress(self.total, self.total));
        out.extend(self.framing.end(self.total));
        out
    }

    /// Data first, then what went wrong, as recorded.
    fn flush(&mut self, out: &mut Vec<u8>) {
        self.open(out);
        let data = self.writer.take();
        if !data.is_empty() {
            self.sent_data = true;
            out.extend(self.framing.data(&data));
        }
        if self.sent_data {
            for mistake in std::mem::take(&mut self.mistakes) {
                out.extend(self.framing.error(&mistake));
            }
        }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if self.opened {
            return;
        }
        self.opened = true;
        let names = match &self.query.select.what {
            What::All => self.names.clone(),
            What::Columns(columns) => Some(columns.iter().enumerate().map(|(at, column)| named(column, at)).collect()),
            What::Split(_) => None,
        };
        if let Some(opening) = self.writer.opening(names.as_deref()) {
            self.sent_data = true;
            out.extend(self.framing.data(&opening));
        }
    }

    fn turn(&mut self, end: bool) {
        // Each source is taken out while its records are judged, and put back.
        let none = Source::Json(json::Reader::default());
        match std::mem::replace(&mut self.source, none) {
            Source::Delimited(mut cutter) => {
                cutter.rows(end, |line| {
                    self.line(&line);
                    !self.over
                });
                if cutter.waiting() > RECORD_MAX && !self.over {
                    self.fail("RecordTooLarge", "A record is too large to be read.".into(), cutter.position());
                }
                self.source = Source::Delimited(cutter);
            }
            Source::Json(mut reader) => {
                let path = self.query.select.from.clone();
                let outcome = reader.values(end, |value, position| {
                    json::within(value, &path, &mut |record| {
                        self.json(&record, position);
                        !self.over
                    })
                });
                if let Err(mistake) = outcome {
                    self.mistakes.push(mistake);
                    self.over = true;
                }
                self.source = Source::Json(reader);
            }
            Source::Records => self.source = Source::Records,
        }
    }

    fn line(&mut self, line: &Line) {
        if let Input::Delimited(form) = &self.query.input
            && form.headers
            && self.names.is_none()
        {
            self.names = Some(line.fields.clone());
            return;
        }
        let names = self.names.clone();
        let record = Named { row: line, names: names.as_deref() };
        match &self.query.select.what {
            What::Split(size) => {
                if line.position - self.split_from >= *size {
                    self.split(line.position);
                }
            }
            What::All => match self.wanted(&record) {
                Ok(true) => {
                    let ordinals = |at: usize| {
                        names.as_ref().and_then(|names| names.get(at).cloned()).unwrap_or_else(|| ordinal(at))
                    };
                    let shown: Vec<String> = (0..line.fields.len()).map(ordinals).collect();
                    let values = line.fields.iter().cloned().map(Value::Text).collect();
                    self.writer.row(Row { names: &shown, values });
                    self.count();
                }
                Ok(false) => {}
                Err(wrong) => self.wrong(wrong, line.position),
            },
            What::Columns(_) => self.columns(&record, line.position),
        }
    }

    fn json(&mut self, record: &serde_json::Value, position: u64) {
        match &self.query.select.what {
            What::Split(size) => {
                if position - self.split_from >= *size {
                    self.split(position);
                }
            }
            What::All => match self.wanted(record) {
                Ok(true) => {
                    if !self.writer.whole(record) {
                        let members: Vec<(String, Value)> = match record.as_object() {
                            Some(members) => {
                                members.iter().map(|(name, value)| (name.clone(), Value::of_json(value))).collect()
                            }
                            None => vec![(ordinal(0), Value::of_json(record))],
                        };
                        let (names, values): (Vec<String>, Vec<Value>) = members.into_iter().unzip();
                        self.writer.row(Row { names: &names, values });
                    }
                    self.count();
                }
                Ok(false) => {}
                Err(wrong) => self.wrong(wrong, position),
            },
            What::Columns(_) => self.columns(record, position),
        }
    }

    /// One row of columns, or one more record in the aggregates.
    fn columns(&mut self, record: &dyn Record, position: u64) {
        if let Err(wrong) = self.try_columns(record) {
            self.wrong(wrong, position);
        }
    }

    fn try_columns(&mut self, record: &dyn Record) -> Result<(), Wrong> {
        if !self.wanted(record)? {
            return Ok(());
        }
        let What::Columns(columns) = &self.query.select.what else { return Ok(()) };
        let scene = Scene { columns: &self.columns, now: self.now };
        if !self.aggregates.is_empty() {
            let mut values = Vec::with_capacity(self.aggregates.len());
            for column in columns {
                let mut wrong = None;
                gather(&column.expression, &mut |_, inner| {
                    let value = inner.map_or(Ok(Value::Int(1)), |inner| evaluate(inner, record, &scene));
                    values.push(value.unwrap_or_else(|error| {
                        wrong = Some(error);
                        Value::Null
                    }));
                });
                wrong.map_or(Ok(()), Err)?;
            }
            for (gathered, value) in self.aggregates.iter_mut().zip(values) {
                gathered.add(value)?;
            }
            return Ok(());
        }
        let names: Vec<String> = columns.iter().enumerate().map(|(at, column)| named(column, at)).collect();
        let values: Result<Vec<Value>, Wrong> =
            columns.iter().map(|column| evaluate(&column.expression, record, &scene)).collect();
        self.writer.row(Row { names: &names, values: values? });
        self.count();
        Ok(())
    }

    fn wanted(&self, record: &dyn Record) -> Result<bool, Wrong> {
        let Some(filter) = &self.query.select.filter else { return Ok(self.query.select.limit != Some(0)) };
        let scene = Scene { columns: &self.columns, now: self.now };
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
        let scene = Scene { columns: &[], now: self.now };
        let names: Vec<String> = columns.iter().enumerate().map(|(at, column)| named(column, at)).collect();
        let values = columns.iter().map(|column| {
            let whole = replace(&column.expression, &mut gathered);
            evaluate(&whole, &serde_json::Value::Null, &scene).unwrap_or(Value::Null)
        });
        let values = values.collect();
        self.writer.row(Row { names: &names, values });
    }

    fn split(&mut self, at: u64) {
        let length = Value::Int(i64::try_from(at - self.split_from).unwrap_or(i64::MAX));
        self.split_from = at;
        self.writer.row(Row { names: &[ordinal(0)], values: vec![length] });
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
        };
        self.mistaken += 1;
        if self.mistaken > MISTAKES_MAX {
            return self.fail("TooManyErrors", "Too many records have errors.".into(), position);
        }
        self.mistakes.push(Mistake { fatal: false, name, description, position });
    }

    pub fn fail(&mut self, name: &'static str, description: String, position: u64) {
        self.mistakes.push(Mistake { fatal: true, name, description, position });
        self.over = true;
    }
}

fn ordinal(at: usize) -> String {
    format!("_{}", at + 1)
}

/// What a column is called: as it says, as the member it is, or by its place.
fn named(column: &Column, at: usize) -> String {
    match (&column.name, &column.expression) {
        (Some(name), _) => name.clone(),
        (None, Expression::Path(path)) => match path.last() {
            Some(Step::Name(name)) => name.clone(),
            Some(Step::Index(_) | Step::Each) | None => ordinal(at),
        },
        (None, _) => ordinal(at),
    }
}

/// Calls `act` for each aggregate in an expression, in order.
fn gather<'a>(expression: &'a Expression, act: &mut dyn FnMut(super::sql::Aggregate, Option<&'a Expression>)) {
    if let Expression::Aggregate(kind, inner) = expression {
        return act(*kind, inner.as_deref());
    }
    super::sql::each_inner(expression, &mut |inner| gather(inner, act));
}

/// The expression with the values of aggregates in their places.
fn replace(expression: &Expression, values: &mut dyn Iterator<Item = Value>) -> Expression {
    match expression {
        Expression::Aggregate(..) => match values.next() {
            Some(Value::Int(number)) => Expression::Int(number),
            Some(Value::Float(number)) => Expression::Float(number),
            Some(Value::Bool(value)) => Expression::Bool(value),
            Some(Value::Missing | Value::Null) | None => Expression::Null,
            Some(other) => Expression::Text(other.to_text()),
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
        other => other.clone(),
    }
}
