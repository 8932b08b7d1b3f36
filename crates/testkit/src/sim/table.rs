//! One partition of a table: entities, batches that happen whole or not at all, and queries that see one moment.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lazuli_http::Service;
use serde_json::Value;

use super::object::{Asked, Object};
use super::scene::Scene;
use super::wire::{Answer, Request, escape};
use crate::chance::Chance;
use crate::linear::Specification;

pub struct Partition;

/// `If-Match`: any, or this one.
#[derive(Clone, Debug)]
pub enum Match {
    Any,
    Tag(String),
}

#[derive(Clone, Debug)]
pub enum Change {
    Insert {
        row: &'static str,
        value: u64,
    },
    /// Without `wanted`: insert or replace.
    Replace {
        row: &'static str,
        value: u64,
        wanted: Option<Match>,
    },
    /// Without `wanted`: insert or merge. Sets the property `b`.
    Merge {
        row: &'static str,
        value: u64,
        wanted: Option<Match>,
    },
    Delete {
        row: &'static str,
        wanted: Match,
    },
}

#[derive(Clone, Debug)]
pub enum Call {
    One(Change),
    Batch(Vec<Change>),
    Get {
        row: &'static str,
    },
    /// The rows from one on, which a token stands for.
    Query {
        most: usize,
        from: Option<(String, String)>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entity {
    tag: Option<String>,
    /// The value of the call that wrote it: what one batch writes has one tag.
    by: u64,
    a: Option<u64>,
    b: Option<u64>,
}

type State = BTreeMap<String, Entity>;

const ROWS: [&str; 4] = ["r1", "r2", "r3", "r4"];

impl Change {
    fn row(&self) -> &'static str {
        match self {
            Change::Insert { row, .. } | Change::Replace { row, .. } => row,
            Change::Merge { row, .. } | Change::Delete { row, .. } => row,
        }
    }

    fn apply(&self, state: &mut State) -> Result<(), &'static str> {
        let row = self.row();
        let old = state.get(row).cloned();
        let held = |wanted: &Match| match (&old, wanted) {
            (None, _) => Err("ResourceNotFound"),
            (Some(_), Match::Any) => Ok(()),
            (Some(entity), Match::Tag(tag)) if entity.tag.as_ref() == Some(tag) => Ok(()),
            (Some(_), Match::Tag(_)) => Err("UpdateConditionNotSatisfied"),
        };
        let entity = match self {
            Change::Insert { value, .. } => match old {
                Some(_) => return Err("EntityAlreadyExists"),
                None => Entity { tag: None, by: *value, a: Some(*value), b: None },
            },
            Change::Replace { value, wanted, .. } => {
                wanted.as_ref().map_or(Ok(()), held)?;
                Entity { tag: None, by: *value, a: Some(*value), b: None }
            }
            Change::Merge { value, wanted, .. } => {
                wanted.as_ref().map_or(Ok(()), held)?;
                Entity { tag: None, by: *value, a: old.and_then(|entity| entity.a), b: Some(*value) }
            }
            Change::Delete { wanted, .. } => {
                held(wanted)?;
                state.remove(row);
                return Ok(());
            }
        };
        state.insert(row.to_owned(), entity);
        Ok(())
    }

    /// Method, path, `If-Match` and body.
    fn say(&self) -> (&'static str, String, Option<String>, String) {
        let path = format!("/tab(PartitionKey='p',RowKey='{}')", self.row());
        let tag = |wanted: &Match| match wanted {
            Match::Any => "*".to_owned(),
            Match::Tag(tag) => tag.clone(),
        };
        match self {
            Change::Insert { row, value } => {
                let body = format!(r#"{{"PartitionKey":"p","RowKey":"{row}","a":{value}}}"#);
                ("POST", "/tab".into(), None, body)
            }
            Change::Replace { value, wanted, .. } => {
                ("PUT", path, wanted.as_ref().map(tag), format!(r#"{{"a":{value}}}"#))
            }
            Change::Merge { value, wanted, .. } => {
                ("MERGE", path, wanted.as_ref().map(tag), format!(r#"{{"b":{value}}}"#))
            }
            Change::Delete { wanted, .. } => ("DELETE", path, Some(tag(wanted)), String::new()),
        }
    }
}

/// Rows as an answer shows them.
fn shown(value: &Value) -> Option<(String, Entity)> {
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let tag = value.get("odata.etag").and_then(Value::as_str).map(str::to_owned);
    Some((value.get("RowKey")?.as_str()?.to_owned(), Entity { tag, by: 0, a: number("a"), b: number("b") }))
}

fn rows(answer: &Answer) -> Option<Vec<(String, Entity)>> {
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    value.get("value")?.as_array()?.iter().map(shown).collect()
}

/// A token, and the row that is in it: the next one at the moment of the page. To clients it is only a word.
fn token(answer: &Answer) -> Option<(String, String)> {
    let partition = answer.header("x-ms-continuation-nextpartitionkey")?;
    let row = answer.header("x-ms-continuation-nextrowkey")?;
    let name = BASE64.decode(row.split('!').nth(2)?.replace('-', "=")).ok()?;
    let token = format!("NextPartitionKey={}&NextRowKey={}", escape(partition), escape(row));
    Some((token, String::from_utf8(name).ok()?))
}

/// `None`, if the entity cannot be what was shown.
fn learn(state: &mut State, row: &str, seen: &Entity) -> Option<()> {
    let entity = state.get(row)?;
    if entity.a != seen.a || entity.b != seen.b {
        return None;
    }
    learn_tag(state, row, seen.tag.as_ref()?)
}

/// A client that learns the tag of one row of a batch may know that of the others.
fn learn_tag(state: &mut State, row: &str, tag: &String) -> Option<()> {
    let by = state.get(row)?.by;
    for entity in state.values_mut().filter(|entity| entity.by == by) {
        entity.tag.get_or_insert_with(|| tag.clone());
    }
    (state.get(row)?.tag.as_ref() == Some(tag)).then_some(())
}

/// Tags of the parts of a batch, if it went well.
fn tags(answer: &Answer) -> Option<Vec<Option<String>>> {
    let text = answer.text();
    let parts: Vec<&str> = text.split("HTTP/1.1 ").skip(1).collect();
    let tag = |part: &&str| part.lines().find_map(|line| line.strip_prefix("ETag: ")).map(|tag| tag.trim().to_owned());
    parts.iter().all(|part| part.starts_with('2')).then(|| parts.iter().map(tag).collect())
}

fn batch_code(answer: &Answer) -> String {
    let text = answer.text();
    let code = text.split("\"code\":\"").nth(1).unwrap_or_default();
    code.split('"').next().unwrap_or_default().to_owned()
}

impl Specification for Partition {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::new()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        let mut next = state.clone();
        let good = answer.is_some_and(Answer::good);
        let fits = match &op.call {
            Call::One(change) => match (change.apply(&mut next), answer) {
                (_, None) => true,
                (Ok(()), Some(answer)) => {
                    let tag = answer.header("etag").map(str::to_owned);
                    good && match (next.contains_key(change.row()), tag) {
                        (false, _) => true,
                        (true, Some(tag)) => learn_tag(&mut next, change.row(), &tag).is_some(),
                        (true, None) => false,
                    }
                }
                (Err(why), Some(answer)) => {
                    next.clone_from(state);
                    !good && answer.code() == why
                }
            },
            Call::Batch(changes) => {
                let done = changes.iter().try_for_each(|change| change.apply(&mut next));
                match (done, answer) {
                    (Ok(()), None) => true,
                    (Err(_), None) => {
                        next.clone_from(state);
                        true
                    }
                    (Ok(()), Some(answer)) => tags(answer).is_some_and(|tags| {
                        tags.len() == changes.len()
                            && changes.iter().zip(tags).all(|(change, tag)| {
                                match (next.contains_key(change.row()), tag) {
                                    (true, Some(tag)) => learn_tag(&mut next, change.row(), &tag).is_some(),
                                    (true, None) => false,
                                    (false, _) => true,
                                }
                            })
                    }),
                    (Err(why), Some(answer)) => {
                        next.clone_from(state);
                        tags(answer).is_none() && batch_code(answer) == why
                    }
                }
            }
            Call::Get { row } => answer.is_none_or(|answer| match state.contains_key(*row) {
                false => answer.code() == "ResourceNotFound",
                true => {
                    let value = serde_json::from_slice(&answer.body).ok();
                    let seen = value.as_ref().and_then(shown);
                    good && seen.is_some_and(|(_, entity)| learn(&mut next, row, &entity).is_some())
                }
            }),
            Call::Query { most, from } => answer.is_none_or(|answer| {
                let from = from.as_ref().map_or("", |(_, row)| row.as_str());
                let rest: Vec<&String> = state.keys().filter(|row| row.as_str() >= from).collect();
                let Some(seen) = rows(answer) else { return false };
                let names: Vec<&String> = seen.iter().map(|(row, _)| row).collect();
                good && names == rest[..rest.len().min(*most)]
                    && token(answer).map(|(_, row)| row).as_ref() == rest.get(*most).copied()
                    && seen.iter().all(|(row, entity)| learn(&mut next, row, entity).is_some())
            }),
        };
        if fits { vec![next] } else { vec![] }
    }
}

#[derive(Default)]
pub struct Known {
    tags: Vec<String>,
    /// A token, and the row with which it goes on.
    token: Option<(String, String)>,
}

fn change(chance: &mut Chance, known: &Known, row: &'static str, value: u64) -> Change {
    let wanted = |chance: &mut Chance| match known.tags.is_empty() || chance.one_in(2) {
        true => Match::Any,
        false => Match::Tag(known.tags[known.tags.len() - 1 - chance.below(known.tags.len().min(3))].clone()),
    };
    match chance.below(8) {
        0..=1 => Change::Insert { row, value },
        2 => Change::Replace { row, value, wanted: None },
        3 => Change::Merge { row, value, wanted: None },
        4 => Change::Replace { row, value, wanted: Some(wanted(chance)) },
        5 => Change::Merge { row, value, wanted: Some(wanted(chance)) },
        _ => Change::Delete { row, wanted: wanted(chance) },
    }
}

impl Object for Partition {
    type Call = Call;
    type Known = Known;
    const SERVICE: Service = Service::Table;

    fn name(&self) -> String {
        "partition of tab".into()
    }

    fn setup(&self) -> Vec<Request> {
        let create = Request::new("POST", "/Tables").with("content-type", "application/json");
        vec![create.body(r#"{"TableName":"tab"}"#)]
    }

    fn choose(&self, _scene: &Scene, chance: &mut Chance, known: &Known, value: u64) -> Call {
        match chance.below(12) {
            0..=4 => {
                let row = *chance.pick(&ROWS);
                Call::One(change(chance, known, row, value))
            }
            5..=7 => {
                let first = chance.below(ROWS.len() - 1);
                let rows = &ROWS[first..];
                Call::Batch(rows.iter().map(|row| change(chance, known, row, value)).collect())
            }
            8 => {
                let row = *chance.pick(&ROWS);
                Call::Get { row }
            }
            9 if known.token.is_some() => Call::Query { most: 2, from: known.token.clone() },
            9 | 10 => Call::Query { most: 2, from: None },
            _ => Call::Query { most: 9, from: None },
        }
    }

    fn request(&self, call: &Call) -> Request {
        let json = |request: Request| {
            request.with("content-type", "application/json").with("accept", "application/json;odata=fullmetadata")
        };
        match call {
            Call::One(change) => {
                let (method, path, wanted, body) = change.say();
                json(Request::new(method, path)).with_some("if-match", wanted).body(body)
            }
            Call::Batch(changes) => {
                let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
                for change in changes {
                    let (method, path, wanted, entity) = change.say();
                    let wanted = wanted.map(|tag| format!("If-Match: {tag}\r\n")).unwrap_or_default();
                    body += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
                    body += &format!("{method} http://127.0.0.1/devstoreaccount1{path} HTTP/1.1\r\n");
                    body += &format!("Content-Type: application/json\r\n{wanted}\r\n{entity}\r\n");
                }
                body += "--c--\r\n--b--\r\n";
                Request::new("POST", "/$batch").with("content-type", "multipart/mixed; boundary=b").body(body)
            }
            Call::Get { row } => json(Request::new("GET", format!("/tab(PartitionKey='p',RowKey='{row}')"))),
            Call::Query { most, from } => {
                let token = from.as_ref().map(|(token, _)| format!("&{token}")).unwrap_or_default();
                let filter = "$filter=PartitionKey%20eq%20'p'";
                json(Request::new("GET", format!("/tab()?{filter}&$top={most}{token}")))
            }
        }
    }

    fn learn(&self, _scene: &Scene, known: &mut Known, call: &Call, answer: &Answer) {
        if !answer.good() {
            return;
        }
        known.tags.extend(answer.header("etag").map(str::to_owned));
        if let Call::Query { .. } = call {
            let rows = rows(answer).unwrap_or_default();
            known.tags.extend(rows.iter().filter_map(|(_, entity)| entity.tag.clone()));
            known.token = token(answer);
        }
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::Get { .. } | Call::Query { .. })
    }

    fn inspect(&self, _known: &Self::Known) -> Vec<Call> {
        vec![Call::Query { most: 9, from: None }]
    }
}
