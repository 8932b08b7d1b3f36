//! The words of a filter. Positions in messages count characters, as the service's do.

use super::super::{Guid, Value, read_time};
use super::{Operator, invalid};
use crate::Refusal;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Open,
    Close,
    Comma,
    And,
    Or,
    Not,
    Operator(Operator),
    Literal(Value),
    Null,
    Name(String),
    /// A name with a parenthesis right behind it.
    Function,
    End,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Where the next token begins, and where the last one ended, in bytes.
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// An error about the token that was read last.
    pub(super) fn syntax_error(&self) -> Refusal {
        invalid(format!("Syntax error at position {} in '{}'.", self.position(self.at), self.text))
    }

    fn position(&self, at: usize) -> usize {
        self.text[..at].chars().count()
    }

    pub(super) fn next(&mut self) -> Result<Token, Refusal> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        match first {
            '(' => self.take(1, Token::Open),
            ')' => self.take(1, Token::Close),
            ',' => self.take(1, Token::Comma),
            '\'' => self.quoted(self.at).map(|text| Token::Literal(Value::String(text))),
            '0'..='9' | '-' | '.' => self.number(),
            c if c == '_' || c.is_alphabetic() => self.word(),
            c => Err(invalid(format!(
                "Syntax error: character '{c}' is not valid at position {} in '{}'.",
                self.position(self.at),
                self.text
            ))),
        }
    }

    fn take(&mut self, length: usize, token: Token) -> Result<Token, Refusal> {
        self.at += length;
        Ok(token)
    }

    /// The text of a literal that began at `start`; two quotes are one. `at` is at its opening quote.
    fn quoted(&mut self, start: usize) -> Result<String, Refusal> {
        let mut inside = String::new();
        let mut rest = &self.text[self.at + 1..];
        loop {
            let Some(end) = rest.find('\'') else {
                self.at = self.text.len();
                return Err(invalid(format!(
                    "Unterminated string literal at position {} in '{}'.",
                    self.position(start),
                    self.text
                )));
            };
            inside.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(more) => {
                    inside.push('\'');
                    rest = more;
                }
                None => break,
            }
        }
        self.at = self.text.len() - rest.len();
        Ok(inside)
    }

    fn number(&mut self) -> Result<Token, Refusal> {
        let rest = &self.text[self.at..];
        if let Some(behind) = rest.strip_prefix("-INF") {
            self.at = self.text.len() - behind.len();
            return Ok(Token::Literal(Value::Double(f64::NEG_INFINITY)));
        }
        let mut last = ' ';
        let length = rest
            .find(|c: char| {
                let sign = matches!(c, '+' | '-') && matches!(last, ' ' | 'e' | 'E');
                last = c;
                !(sign || c == '.' || c.is_ascii_alphanumeric())
            })
            .unwrap_or(rest.len());
        let word = &rest[..length];
        let value = number(word).ok_or_else(|| self.unrecognized("Edm.Double", word))?;
        self.at += length;
        Ok(Token::Literal(value))
    }

    fn word(&mut self) -> Result<Token, Refusal> {
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest.find(|c: char| !(c == '_' || c.is_alphanumeric())).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        match self.text[self.at..].chars().next() {
            Some('\'') => return self.typed(start, word),
            Some('(') if keyword(word).is_none() => return Ok(Token::Function),
            Some(_) | None => {}
        }
        Ok(keyword(word).unwrap_or_else(|| Token::Name(word.to_owned())))
    }

    /// `datetime'…'` and its kin.
    fn typed(&mut self, start: usize, word: &str) -> Result<Token, Refusal> {
        let inside = self.quoted(start)?;
        let (name, value) = match word {
            "datetime" => ("Edm.DateTime", read_time(&inside).map(Value::DateTime)),
            "guid" => ("Edm.Guid", Guid::parse(&inside).map(Value::Guid)),
            "X" | "x" | "binary" => ("Edm.Binary", hex(&inside).map(Value::Binary)),
            _ => return Err(self.syntax_error()),
        };
        value.map(Token::Literal).ok_or_else(|| self.unrecognized(name, &self.text[start..self.at]))
    }

    fn unrecognized(&self, name: &str, literal: &str) -> Refusal {
        let at = self.position(self.at);
        invalid(format!("Unrecognized '{name}' literal '{literal}' at '{at}' in '{}'.", self.text))
    }
}

fn keyword(word: &str) -> Option<Token> {
    Some(match word {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "eq" => Token::Operator(Operator::Equal),
        "ne" => Token::Operator(Operator::NotEqual),
        "gt" => Token::Operator(Operator::Greater),
        "ge" => Token::Operator(Operator::GreaterOrEqual),
        "lt" => Token::Operator(Operator::Less),
        "le" => Token::Operator(Operator::LessOrEqual),
        // C# writes them with a capital.
        word if word.eq_ignore_ascii_case("true") => Token::Literal(Value::Boolean(true)),
        word if word.eq_ignore_ascii_case("false") => Token::Literal(Value::Boolean(false)),
        "null" => Token::Null,
        "NaN" => Token::Literal(Value::Double(f64::NAN)),
        "INF" => Token::Literal(Value::Double(f64::INFINITY)),
        _ => return None,
    })
}

/// `12`, `12L`, `1.5`, `1e3`, with a letter for its type or without.
fn number(word: &str) -> Option<Value> {
    let (digits, suffix) = match word.char_indices().next_back() {
        Some((at, 'L' | 'l')) => (&word[..at], 'L'),
        Some((at, 'D' | 'd' | 'F' | 'f' | 'M' | 'm')) => (&word[..at], 'D'),
        Some(_) | None => (word, ' '),
    };
    let plain = digits.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    match suffix {
        'L' => digits.parse().ok().map(Value::Int64),
        ' ' if plain => {
            let narrow = digits.parse().ok().map(Value::Int32);
            narrow.or_else(|| digits.parse().ok().map(Value::Int64)).or_else(|| digits.parse().ok().map(Value::Double))
        }
        _ => {
            let shaped = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
            shaped.then(|| digits.parse().ok().map(Value::Double))?
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |b: u8| char::from(b).to_digit(16).map(|value| value as u8);
    let even = digits.len().is_multiple_of(2);
    even.then(|| digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect())?
}
