//! Whether the recorder explains refusals rightly, judged from what clients were told and from nothing that the server remembers.
//!
//! ETags of one object only grow, and a client that wrote knows the ETag it made. So clients together know which of their requests ended an ETag: no
//! other that they know of made one between. A winner must have begun before the refused request was answered, must have been told that it succeeded, and
//! must not have been undone by what clients know happened in between.

use std::collections::HashMap;

use lazuli_http::recorder::{self, Why};

use super::wire::{Answer, Request, etag};

/// One request as its client knows it, with the numbers of its beginning and its end.
pub struct Known {
    pub request: Request,
    pub called: u64,
    /// `None`: nobody was told.
    pub returned: Option<(Answer, u64)>,
}

impl Known {
    fn path(&self) -> &str {
        self.request.target.split('?').next().unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn answer(&self) -> Option<(&Answer, u64)> {
        self.returned.as_ref().filter(|(answer, _)| answer.is_known()).map(|(answer, at)| (answer, *at))
    }

    fn is_lease_call(&self) -> bool {
        self.request.target.contains("comp=lease")
    }

    /// The ETag that it made, if it made one.
    fn made(&self) -> Option<u64> {
        let (answer, _) = self.answer().filter(|(answer, _)| answer.good())?;
        let writes = matches!(self.request.method, "PUT") && !self.is_lease_call();
        let same = ["comp=snapshot", "comp=tags", "comp=tier"].iter().any(|comp| self.request.target.contains(comp));
        if writes && !same { answer.etag() } else { None }
    }
}

/// How many refusals were explained with a winner; or which explanation is wrong.
pub fn check(calls: &[Known], records: &[recorder::Record]) -> Result<usize, String> {
    let id = |answer: &Answer| answer.header("x-ms-request-id").unwrap_or_default().to_owned();
    let by_id: HashMap<String, &Known> =
        calls.iter().filter_map(|call| call.answer().map(|(answer, _)| (id(answer), call))).collect();
    let mut explained = 0;
    for call in calls {
        let Some((answer, returned)) = call.answer().filter(|(answer, _)| matches!(answer.status, 409 | 412)) else {
            continue;
        };
        let wrong = |what: String| Err(format!("{what}: {:?} was answered with {answer:?}", call.request));
        let Some(told) = recorder::explain(records, &id(answer)) else { continue };
        let named = call.header("if-match").and_then(etag);
        let path = call.path();
        let writes: Vec<(u64, &Known)> = calls
            .iter()
            .filter(|other| other.path() == path)
            .filter_map(|other| Some((other.made()?, other)))
            .collect();
        if let (Some(named), "ConditionNotMet") = (named, answer.code().as_str()) {
            // Somebody whom clients know was faster: then the record must say so.
            let is_known = writes
                .iter()
                .any(|(made, other)| *made > named && other.answer().is_some_and(|(_, ended)| ended < call.called));
            if is_known && told.winner.is_none() {
                return wrong(format!("no winner was named ({})", told.text));
            }
        }
        let Some(winner) = &told.winner else { continue };
        explained += 1;
        if winner.refused {
            return wrong(format!("the winner {} was refused itself", winner.request_id));
        }
        // One whose client was never told is known to the record alone.
        let Some(other) = by_id.get(&winner.request_id) else { continue };
        if !other.answer().is_some_and(|(answer, _)| answer.good()) {
            return wrong(format!("the winner {:?} did not succeed", other.request));
        }
        if other.called > returned {
            return wrong(format!("the winner {:?} began after the refusal", other.request));
        }
        if let (Why::Replaced, Some(named), Some(made)) = (told.why, named, other.made()) {
            let made_by_clients = writes.iter().any(|(one, _)| *one == named);
            let between = writes.iter().find(|(one, _)| named < *one && *one < made);
            if let (true, Some((_, faster))) = (made_by_clients, between) {
                return wrong(format!(
                    "{:?} was named as the winner, and {:?} was before it",
                    other.request, faster.request
                ));
            }
        }
        if told.why == Why::Leased && !other.is_lease_call() {
            return wrong(format!("{:?} holds no lease", other.request));
        }
    }
    Ok(explained)
}
