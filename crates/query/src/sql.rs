//! The SQL of Query Blob Contents, parsed. Recursion is bounded; whatever the text, there is an answer.

use lazuli_model::depth::{self, Depth};

const TEXT_MAX: usize = 256 << 10;
/// How many sums, products and the like a statement may have: each is a level of the tree, because their order counts.
const ARITHMETIC_MAX: usize = 256;
/// Steps of a path. No record is deeper.
const PATH_MAX: usize = depth::JSON.levels();

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub what: What,
    /// The path behind the table's name, for JSON: `BlobStorage[*].a.b`.
    pub from: Vec<Step>,
    pub filter: Option<Expression>,
    pub limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    All,
    Columns(Vec<Column>),
    /// `sys.split(size)`: how the blob can be cut into parts of whole records.
    Split(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub expression: Expression,
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Name(String),
    Index(usize),
    /// `[*]`
    Each,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Path(Vec<Step>),
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    IsNull(Box<Expression>),
    In(Box<Expression>, Vec<Expression>),
    Between(Box<Expression>, Box<Expression>, Box<Expression>),
    Like(Box<Expression>, Box<Expression>, Option<char>),
    Cast(Box<Expression>, Type),
    /// By upper-case name.
    Call(String, Vec<Expression>),
    Aggregate(Aggregate, Option<Box<Expression>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Int,
    Float,
    Text,
    Bool,
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    Count,
    Sum,
    Average,
    Least,
    Greatest,
}

/// Why it does not read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name or keyword, as written.
    Word(String),
    /// A name in double quotes or brackets.
    Quoted(String),
    Text(String),
    Number(String),
    Sign(&'static str),
}

const SIGNS: [&str; 22] =
    ["<>", "!=", "<=", ">=", "||", "<", ">", "=", "(", ")", "[", "]", ",", ".", ";", "+", "-", "*", "/", "%", "&", "|"];

pub fn parse(text: &str) -> Result<Select, Unreadable> {
    if text.len() > TEXT_MAX {
        return Err(Unreadable("the expression is too long".into()));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: depth::SQL, arithmetic: 0 };
    let select = parser.select()?;
    parser.take(";");
    match parser.peek() {
        None => Ok(select),
        Some(_) => Err(parser.stuck("the end")),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Unreadable> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if first == '\'' || first == '"' {
            let (quoted, after) = quoted(rest, first).ok_or_else(|| Unreadable("a quote is not closed".into()))?;
            tokens.push(if first == '\'' { Token::Text(quoted) } else { Token::Quoted(quoted) });
            rest = after;
        } else if first.is_ascii_digit() {
            let (number, after) = digits(rest);
            tokens.push(Token::Number(number.to_owned()));
            rest = after;
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err(Unreadable(format!("unexpected character {first:?}")));
        }
    }
    Ok(tokens)
}

/// The text between quotes, in which two quotes stand for one, and what follows.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote)?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(after) => {
                value.push(quote);
                rest = after;
            }
            None => return Some((value, rest)),
        }
    }
}

fn digits(text: &str) -> (&str, &str) {
    let mut end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let fraction =
        text[end..].strip_prefix('.').map(|rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    if let Some(length) = fraction.filter(|length| *length > 0) {
        end += 1 + length;
    }
    let rest = &text[end..];
    if let Some(rest) = rest.strip_prefix(['e', 'E']) {
        let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let length = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        if length > 0 {
            end += 1 + (rest.len() - unsigned.len()) + length;
        }
    }
    text.split_at(end)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: Depth,
    arithmetic: usize,
}

type Parsed<T> = Result<T, Unreadable>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(self.stuck(sign)) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.word(word) { Ok(()) } else { Err(self.stuck(word)) }
    }

    fn stuck(&self, wanted: &str) -> Unreadable {
        match self.peek() {
            None => Unreadable(format!("the expression ends where {wanted} should be")),
            Some(token) => Unreadable(format!("{token:?} stands where {wanted} should be")),
        }
    }

    fn select(&mut self) -> Parsed<Select> {
        self.expect_word("SELECT")?;
        let what = self.what()?;
        self.expect_word("FROM")?;
        let (from, alias) = self.table()?;
        let filter = if self.word("WHERE") { Some(self.expression()?) } else { None };
        let limit = if self.word("LIMIT") { Some(self.count()?) } else { None };
        let mut select = Select { what, from, filter, limit };
        for name in alias.iter().map(String::as_str).chain(["BlobStorage"]) {
            without_table(&mut select, name);
        }
        if select.filter.as_ref().is_some_and(has_aggregate) {
            return Err(Unreadable("an aggregate cannot be in a condition".into()));
        }
        Ok(select)
    }

    fn count(&mut self) -> Parsed<u64> {
        match self.peek() {
            Some(Token::Number(text)) => {
                let count = text.parse().map_err(|_| self.stuck("a whole number"))?;
                self.at += 1;
                Ok(count)
            }
            _ => Err(self.stuck("a number")),
        }
    }

    fn what(&mut self) -> Parsed<What> {
        if self.take("*") {
            return Ok(What::All);
        }
        if self.is_word("sys") && self.tokens.get(self.at + 1) == Some(&Token::Sign(".")) {
            self.at += 2;
            self.expect_word("split")?;
            self.expect("(")?;
            let size = self.count()?;
            self.expect(")")?;
            return if size == 0 { Err(Unreadable("a split of nothing".into())) } else { Ok(What::Split(size)) };
        }
        let mut columns = Vec::new();
        loop {
            let expression = self.expression()?;
            let name = if self.word("AS") { Some(self.name()?) } else { None };
            columns.push(Column { expression, name });
            if !self.take(",") {
                break;
            }
        }
        let aggregates = columns.iter().filter(|column| has_aggregate(&column.expression)).count();
        if aggregates != 0 && aggregates != columns.len() {
            return Err(Unreadable("there is no GROUP BY, so either all columns are aggregates or none is".into()));
        }
        Ok(What::Columns(columns))
    }

    fn table(&mut self) -> Parsed<(Vec<Step>, Option<String>)> {
        let name = self.name()?;
        if !name.eq_ignore_ascii_case("BlobStorage") {
            return Err(Unreadable(format!("the table is BlobStorage, not {name:?}")));
        }
        let path = self.steps()?;
        let alias = match self.peek() {
            Some(Token::Word(word)) if !["WHERE", "LIMIT"].iter().any(|key| word.eq_ignore_ascii_case(key)) => {
                self.word("AS");
                Some(self.name()?)
            }
            _ => None,
        };
        Ok((path, alias))
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Word(name) | Token::Quoted(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.stuck("a name")),
        }
    }

    /// `.a[0][*]`
    fn steps(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if steps.len() > PATH_MAX {
                return Err(Unreadable(format!("a path has more than {PATH_MAX} steps")));
            }
            if self.take(".") {
                steps.push(Step::Name(self.name()?));
            } else if self.take("[") {
                steps.push(match self.peek() {
                    Some(Token::Sign("*")) => {
                        self.at += 1;
                        Step::Each
                    }
                    Some(Token::Text(name) | Token::Quoted(name)) => {
                        let name = name.clone();
                        self.at += 1;
                        Step::Name(name)
                    }
                    _ => Step::Index(usize::try_from(self.count()?).unwrap_or(usize::MAX)),
                });
                self.expect("]")?;
            } else {
                return Ok(steps);
            }
        }
    }

    fn expression(&mut self) -> Parsed<Expression> {
        let here = self.depth;
        self.depth = here.deeper().ok_or_else(|| Unreadable("the expression is nested too deeply".into()))?;
        let found = self.disjunction();
        self.depth = here;
        found
    }

    fn disjunction(&mut self) -> Parsed<Expression> {
        let mut parts = vec![self.conjunction()?];
        while self.word("OR") {
            parts.push(self.conjunction()?);
        }
        Ok(balanced("OR", parts))
    }

    fn conjunction(&mut self) -> Parsed<Expression> {
        let mut parts = vec![self.negation()?];
        while self.word("AND") {
            parts.push(self.negation()?);
        }
        Ok(balanced("AND", parts))
    }

    fn negation(&mut self) -> Parsed<Expression> {
        let mut times = 0;
        while self.word("NOT") {
            times += 1;
        }
        let inner = self.comparison()?;
        Ok(if times % 2 == 1 { not(inner) } else { inner })
    }

    fn comparison(&mut self) -> Parsed<Expression> {
        let left = self.sum()?;
        for (sign, name) in [("=", "="), ("<>", "<>"), ("!=", "<>"), ("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")]
        {
            if self.take(sign) {
                return Ok(binary(name, left, self.sum()?));
            }
        }
        if self.word("IS") {
            let negated = self.word("NOT");
            if !self.word("NULL") && !self.word("MISSING") {
                return Err(self.stuck("NULL"));
            }
            let is = Expression::IsNull(Box::new(left));
            return Ok(if negated { not(is) } else { is });
        }
        let negated = self.word("NOT");
        let found = if self.word("IN") {
            self.expect("(")?;
            let mut among = vec![self.expression()?];
            while self.take(",") {
                among.push(self.expression()?);
            }
            self.expect(")")?;
            Expression::In(Box::new(left), among)
        } else if self.word("BETWEEN") {
            let low = self.sum()?;
            self.expect_word("AND")?;
            Expression::Between(Box::new(left), Box::new(low), Box::new(self.sum()?))
        } else if self.word("LIKE") {
            let pattern = self.sum()?;
            let escape = if self.word("ESCAPE") { self.one_character()? } else { None };
            Expression::Like(Box::new(left), Box::new(pattern), escape)
        } else if negated {
            return Err(self.stuck("IN, BETWEEN or LIKE"));
        } else {
            return Ok(left);
        };
        Ok(if negated { not(found) } else { found })
    }

    fn one_character(&mut self) -> Parsed<Option<char>> {
        match self.peek() {
            Some(Token::Text(text)) if text.chars().count() == 1 => {
                let escape = text.chars().next();
                self.at += 1;
                Ok(escape)
            }
            _ => Err(self.stuck("one character in quotes")),
        }
    }

    fn sum(&mut self) -> Parsed<Expression> {
        let mut left = self.product()?;
        loop {
            let Some(sign) = ["+", "-", "||", "&", "|"].into_iter().find(|sign| self.take(sign)) else {
                return Ok(left);
            };
            self.compute()?;
            left = binary(sign, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parsed<Expression> {
        let mut left = self.factor()?;
        loop {
            let Some(sign) = ["*", "/", "%"].into_iter().find(|sign| self.take(sign)) else { return Ok(left) };
            self.compute()?;
            left = binary(sign, left, self.factor()?);
        }
    }

    fn compute(&mut self) -> Parsed<()> {
        self.arithmetic += 1;
        if self.arithmetic > ARITHMETIC_MAX {
            return Err(Unreadable(format!("the expression has more than {ARITHMETIC_MAX} arithmetic operators")));
        }
        Ok(())
    }

    fn factor(&mut self) -> Parsed<Expression> {
        let mut negative = false;
        loop {
            if self.take("-") {
                negative = !negative;
            } else if !self.take("+") {
                break;
            }
        }
        let inner = self.primary()?;
        Ok(if negative { Expression::Unary("-", Box::new(inner)) } else { inner })
    }

    fn primary(&mut self) -> Parsed<Expression> {
        if self.take("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let token = self.peek().cloned().ok_or_else(|| self.stuck("an expression"))?;
        match token {
            Token::Text(text) => {
                self.at += 1;
                Ok(Expression::Text(text))
            }
            Token::Number(text) => {
                self.at += 1;
                let whole = text.parse().map(Expression::Int);
                whole.or_else(|_| text.parse().map(Expression::Float)).map_err(|_| self.stuck("a number"))
            }
            Token::Word(word) => self.named(word),
            Token::Quoted(_) => self.path(),
            Token::Sign(_) => Err(self.stuck("an expression")),
        }
    }

    /// A keyword, a call or a column.
    fn named(&mut self, word: String) -> Parsed<Expression> {
        let upper = word.to_ascii_uppercase();
        let call = self.tokens.get(self.at + 1) == Some(&Token::Sign("("));
        match upper.as_str() {
            "NULL" | "TRUE" | "FALSE" if !call => {
                self.at += 1;
                Ok(match upper.as_str() {
                    "NULL" => Expression::Null,
                    text => Expression::Bool(text == "TRUE"),
                })
            }
            "CAST" if call => {
                self.at += 2;
                let inner = self.expression()?;
                self.expect_word("AS")?;
                let to = self.name()?;
                self.expect(")")?;
                let to = type_of(&to).ok_or_else(|| Unreadable(format!("there is no type {to}")))?;
                Ok(Expression::Cast(Box::new(inner), to))
            }
            _ if call => self.call(upper),
            _ => self.path(),
        }
    }

    fn call(&mut self, name: String) -> Parsed<Expression> {
        self.at += 2;
        let aggregate = match name.as_str() {
            "COUNT" => Some(Aggregate::Count),
            "SUM" => Some(Aggregate::Sum),
            "AVG" => Some(Aggregate::Average),
            "MIN" => Some(Aggregate::Least),
            "MAX" => Some(Aggregate::Greatest),
            _ => None,
        };
        if let Some(aggregate) = aggregate {
            let inner =
                if aggregate == Aggregate::Count && self.take("*") { None } else { Some(Box::new(self.expression()?)) };
            self.expect(")")?;
            return Ok(Expression::Aggregate(aggregate, inner));
        }
        let mut arguments = Vec::new();
        if name == "TRIM" {
            for side in ["LEADING", "TRAILING", "BOTH"] {
                if self.word(side) {
                    arguments.push(Expression::Text(side.into()));
                }
            }
        }
        // A part of a date is written as a word.
        if ["DATE_ADD", "DATE_DIFF", "EXTRACT"].contains(&name.as_str()) {
            arguments.push(Expression::Text(self.name()?.to_ascii_uppercase()));
            if !self.take(",") && !self.word("FROM") {
                return Err(self.stuck(","));
            }
        }
        while !self.take(")") {
            arguments.push(self.expression()?);
            // SUBSTRING(a FROM 1 FOR 2), TRIM(LEADING 'x' FROM a)
            if !self.take(",") && !self.word("FROM") && !self.word("FOR") && self.peek() != Some(&Token::Sign(")")) {
                return Err(self.stuck(")"));
            }
        }
        Ok(Expression::Call(name, arguments))
    }

    fn path(&mut self) -> Parsed<Expression> {
        let first = Step::Name(self.name()?);
        let mut path = vec![first];
        path.extend(self.steps()?);
        Ok(Expression::Path(path))
    }
}

/// Conditions joined by one word, as a tree that is no deeper than it must be: a list of thousands is nothing unusual, and trees are gone
/// through by recursion. There is at least one.
fn balanced(sign: &'static str, mut parts: Vec<Expression>) -> Expression {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let right = parts.split_off(parts.len().div_ceil(2));
    binary(sign, balanced(sign, parts), balanced(sign, right))
}

fn binary(name: &'static str, left: Expression, right: Expression) -> Expression {
    Expression::Binary(name, Box::new(left), Box::new(right))
}

fn not(inner: Expression) -> Expression {
    Expression::Unary("NOT", Box::new(inner))
}

fn type_of(name: &str) -> Option<Type> {
    Some(match name.to_ascii_uppercase().as_str() {
        "INT" | "INTEGER" | "BIGINT" => Type::Int,
        "FLOAT" | "DOUBLE" | "DECIMAL" | "NUMERIC" => Type::Float,
        "STRING" | "VARCHAR" | "CHAR" => Type::Text,
        "BOOL" | "BOOLEAN" => Type::Bool,
        "TIMESTAMP" | "DATE" => Type::Time,
        _ => return None,
    })
}

fn has_aggregate(expression: &Expression) -> bool {
    let mut found = matches!(expression, Expression::Aggregate(..));
    each_inner(expression, &mut |inner| found |= has_aggregate(inner));
    found
}

/// Calls `act` for each expression directly inside.
pub fn each_inner<'a>(expression: &'a Expression, act: &mut dyn FnMut(&'a Expression)) {
    use Expression::*;
    match expression {
        Null | Bool(_) | Int(_) | Float(_) | Text(_) | Path(_) | Aggregate(_, None) => {}
        Unary(_, a) | IsNull(a) | Cast(a, _) | Aggregate(_, Some(a)) => act(a),
        Binary(_, a, b) | Like(a, b, _) => {
            act(a);
            act(b);
        }
        Between(a, b, c) => {
            act(a);
            act(b);
            act(c);
        }
        In(a, list) => {
            act(a);
            list.iter().for_each(act);
        }
        Call(_, list) => list.iter().for_each(act),
    }
}

/// Takes the table's name or alias from before the names of columns.
fn without_table(select: &mut Select, alias: &str) {
    if let What::Columns(columns) = &mut select.what {
        columns.iter_mut().for_each(|column| strip(&mut column.expression, alias));
    }
    if let Some(filter) = &mut select.filter {
        strip(filter, alias);
    }
}

fn strip(expression: &mut Expression, alias: &str) {
    use Expression::*;
    match expression {
        Null | Bool(_) | Int(_) | Float(_) | Text(_) | Aggregate(_, None) => {}
        Path(path) => {
            if path.len() > 1 && matches!(&path[0], Step::Name(name) if name.eq_ignore_ascii_case(alias)) {
                path.remove(0);
            }
        }
        Unary(_, a) | IsNull(a) | Cast(a, _) | Aggregate(_, Some(a)) => strip(a, alias),
        Binary(_, a, b) | Like(a, b, _) => {
            strip(a, alias);
            strip(b, alias);
        }
        Between(a, b, c) => {
            strip(a, alias);
            strip(b, alias);
            strip(c, alias);
        }
        In(a, list) => {
            strip(a, alias);
            list.iter_mut().for_each(|one| strip(one, alias));
        }
        Call(_, list) => list.iter_mut().for_each(|one| strip(one, alias)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_queries_read() {
        for text in [
            "SELECT * from BlobStorage",
            "select * from blobstorage where id < 1;",
            "SELECT _2 from BlobStorage WHERE _1 > 250",
            "SELECT a.b[0].\"c d\" AS x, CAST(_1 AS INT) FROM BlobStorage[*].items[*] AS s WHERE s.a IS NOT NULL LIMIT 5",
            "SELECT COUNT(*), AVG(_1), SUM(_2 * 2) FROM BlobStorage WHERE NOT (a = 'it''s' OR b IN (1, 2.5e3)) AND c LIKE '%x!%' ESCAPE '!'",
            "SELECT sys.split(1000) FROM BlobStorage",
            "SELECT SUBSTRING(a FROM 1 FOR 2), TRIM(LEADING 'x' FROM b), DATE_ADD(day, 1, c), -(-1) FROM BlobStorage WHERE a BETWEEN 1 AND 2",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
        let alias = parse("SELECT s.a, BlobStorage.b FROM BlobStorage s").unwrap();
        let name = |text: &str| Column { expression: Expression::Path(vec![Step::Name(text.into())]), name: None };
        assert_eq!(alias.what, What::Columns(vec![name("a"), name("b")]));
    }

    #[test]
    fn bad_queries_say_why() {
        for text in [
            "",
            "SELECT",
            "SELECT * FROM Other",
            "SELECT * FROM BlobStorage WHERE",
            "SELECT a, COUNT(*) FROM BlobStorage",
            "SELECT * FROM BlobStorage WHERE COUNT(*) > 1",
            "SELECT 'a FROM BlobStorage",
            "SELECT * FROM BlobStorage LIMIT x",
            "SELECT CAST(a AS WIZARD) FROM BlobStorage",
            "SELECT * FROM BlobStorage; DROP TABLE x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("SELECT {}1{} FROM BlobStorage", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep).is_err());
        let nots = format!("SELECT * FROM BlobStorage WHERE {} a", "NOT ".repeat(10_000));
        assert!(parse(&nots).is_ok());
    }

    /// Trees are gone through by recursion, and dropped by it: a long text must not be a deep tree.
    #[test]
    fn long_is_not_deep() {
        for (word, good) in [("OR", true), ("AND", true), ("+", false), ("*", false), ("||", false)] {
            let text = format!("SELECT * FROM BlobStorage WHERE 1{} = 1", format!(" {word} 1").repeat(20_000));
            assert_eq!(parse(&text).is_ok(), good, "{word}");
        }
        // C2: records are found along the path behind the table's name, step by step.
        assert!(parse(&format!("SELECT * FROM BlobStorage{}", "[*]".repeat(80_000))).is_err());
        assert!(parse(&format!("SELECT a{} FROM BlobStorage", ".a".repeat(80_000))).is_err());
        let three = parse("SELECT * FROM BlobStorage WHERE 1 - 2 - 3").unwrap().filter;
        let [one, two, three_itself] = [1, 2, 3].map(Expression::Int);
        assert_eq!(three, Some(binary("-", binary("-", one, two), three_itself)));
    }
}
