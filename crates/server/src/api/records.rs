//! What the recorder knows, as JSON and as events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use lazuli_http::recorder::{self, Heard, Record, Recorder};
use lazuli_model::Timestamp;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Caller, Refused, Told, json, parameter};
use crate::console::Console;

const PAGE_MAX: usize = 1000;
const TIMELINE_MAX: usize = 1000;
const STREAMS_MAX: usize = 16;
const HEARTBEAT: Duration = Duration::from_secs(15);

impl Console {
    fn recorder(&self) -> Result<&Arc<Recorder>, Refused> {
        let off = || Refused::new(StatusCode::NOT_FOUND, "NotFound", "the recorder is off: start without --recorder 0");
        self.edge.recorder().ok_or_else(off)
    }

    /// The records that `caller` may see, oldest first.
    fn seen(&self, caller: &Caller) -> Result<Vec<Record>, Refused> {
        let account = caller.sees()?;
        let mut records = self.recorder()?.records();
        if let Some(account) = account {
            records.retain(|record| record.account() == account);
        }
        Ok(records)
    }

    pub(super) fn list_records(&self, caller: &Caller, request: &Request<Incoming>) -> Told {
        let mut records = self.seen(caller)?;
        let asked = |name: &str| parameter(request, name);
        let (account, object, operation) = (asked("account"), asked("object"), asked("operation"));
        let (kind, code) = (asked("kind"), asked("code"));
        let before = asked("before").and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX);
        let limit = asked("limit").and_then(|text| text.parse().ok()).unwrap_or(100).clamp(1, PAGE_MAX);
        records.retain(|record| {
            record.seq < before
                && account.as_ref().is_none_or(|account| record.account() == account)
                && object.as_ref().is_none_or(|object| record.object.starts_with(object.as_str()))
                && operation.as_ref().is_none_or(|operation| record.operation.eq_ignore_ascii_case(operation))
                && code.as_ref().is_none_or(|code| record.code.eq_ignore_ascii_case(code))
                && kind.as_ref().is_none_or(|kind| record.is_refusal() == (kind == "refusal"))
        });
        let more = records.len() > limit;
        let records: Vec<Record> = records.into_iter().rev().take(limit).collect();
        Ok(json(&serde_json::json!({"records": records, "more": more})))
    }

    pub(super) fn timeline(&self, caller: &Caller, request: &Request<Incoming>) -> Told {
        let object = parameter(request, "object").ok_or_else(|| Refused::bad("name the object"))?;
        let mut records = self.seen(caller)?;
        records.retain(|record| record.object == object);
        records.sort_by_key(|record| (record.at, record.seq));
        records.drain(..records.len().saturating_sub(TIMELINE_MAX));
        Ok(json(&serde_json::json!({"object": object, "records": records})))
    }

    pub(super) fn explain(&self, caller: &Caller, id: &str) -> Told {
        let explained = recorder::explain(&self.seen(caller)?, id);
        let unknown = || {
            Refused::new(
                StatusCode::NOT_FOUND,
                "NotFound",
                "this request is not in the record: it changed nothing and was not refused because of another, or it is too long ago",
            )
        };
        Ok(json(&explained.ok_or_else(unknown)?))
    }

    pub(super) fn live_leases(&self, caller: &Caller) -> Told {
        Ok(json(&serde_json::json!({"leases": recorder::leases(&self.seen(caller)?, self.data.store.now())})))
    }

    pub(super) fn live_messages(&self, caller: &Caller) -> Told {
        Ok(json(&serde_json::json!({"messages": recorder::in_flight(&self.seen(caller)?, self.data.store.now())})))
    }

    pub(super) fn hottest(&self, caller: &Caller, request: &Request<Incoming>) -> Told {
        let seconds = parameter(request, "seconds").and_then(|text| text.parse::<u64>().ok()).unwrap_or(300);
        let now = self.data.store.now().ticks();
        let since = Timestamp::from_ticks(now.saturating_sub(seconds.saturating_mul(10_000_000)));
        Ok(json(&serde_json::json!({"objects": recorder::hot(&self.seen(caller)?, since)})))
    }

    pub(super) fn events(&self, caller: Caller, request: &Request<Incoming>) -> Told {
        let account = caller.sees()?;
        let recorder = self.recorder()?;
        if recorder.listeners() >= STREAMS_MAX {
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "TooMany", "too many streams of events"));
        }
        let refusals_only = parameter(request, "kind").is_none_or(|kind| kind != "all");
        let mut heard = recorder.listen();
        let (sender, receiver) = mpsc::channel::<Bytes>(64);
        let (sessions, edge, data) = (self.sessions.clone(), self.edge.clone(), self.data.clone());
        tokio::spawn(async move {
            let mut send = sender.send(Bytes::from_static(b": hello\n\n")).await;
            while send.is_ok() {
                let next = timeout(HEARTBEAT, heard.next()).await;
                // Asked after the wait: what happened since the session ended is not for it.
                let is_on = match &caller {
                    Caller::Operator => true,
                    Caller::Session(session) => {
                        sessions.is_on(&session.id) && session.credential.is_current(&edge, &data.store).await
                    }
                };
                if !is_on {
                    let _ = sender.send(Bytes::from_static(b"event: end\ndata: {}\n\n")).await;
                    return;
                }
                let text = match next {
                    Err(_) => ": still here\n\n".to_owned(),
                    Ok(None) => return,
                    Ok(Some(Heard::Lost(count))) => format!("event: lost\ndata: {{\"count\":{count}}}\n\n"),
                    Ok(Some(Heard::Record(record))) => {
                        let fits = account.as_ref().is_none_or(|account| record.account() == account);
                        if !fits || (refusals_only && !record.is_refusal()) {
                            continue;
                        }
                        let data = serde_json::to_string(&record).unwrap_or_default();
                        format!("event: record\nid: {}\ndata: {data}\n\n", record.seq)
                    }
                };
                send = sender.send(text.into()).await;
            }
        });
        let body = Events(receiver).map_err(|never| match never {}).boxed_unsync();
        let mut answer = Response::new(body);
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }
}

/// A body that goes on until nobody sends any more.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
