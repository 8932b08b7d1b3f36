//! A request inside another one: a part of a batch. It lives the life of any request, from who is asking to the answer; only
//! its connection, its service and its version are those of the request that carries it.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, Uri};
use tokio::time::Instant;

use super::{Done, Echo, Edge, finish, refuse, route};
use crate::answer::Payload;
use crate::body::Upload;
use crate::head::{Arrival, Head, Moved, PathStyle};
use crate::operation::{self, Spec};
use crate::refusal::{Failure, Refusal};

impl Edge {
    /// The head of a request that came inside `outer`. It names its host only if that is another one.
    pub(crate) fn inner_head(
        &self,
        outer: &Head,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
    ) -> Result<Head, Refusal> {
        let mut parts = inner_parts(outer, method, uri, headers);
        if self.options.path_style_only {
            parts.extensions.insert(PathStyle);
        }
        parts.extensions.insert(Moved(outer.wall.ticks() - outer.machine.ticks()));
        let mut head = Head::read(parts, self.inner_arrival(outer))?;
        (head.version, head.version_sent) = (outer.version, outer.version_sent);
        Ok(head)
    }

    fn inner_arrival(&self, outer: &Head) -> Arrival {
        Arrival {
            service: outer.service,
            secure: outer.secure,
            peer: outer.peer,
            now: outer.now,
            wall: outer.wall,
            request_id: (self.ids)(),
            loose: self.options.loose,
        }
    }

    /// Admits, runs and answers it. Nothing of the outer request's rights is passed on.
    pub(crate) async fn answer_inner(self: &Arc<Self>, head: Head) -> Response<Payload> {
        let (now, since) = (head.now, Instant::now());
        let echo = Echo::of(&head.method, &head.headers, head.request_id);
        let done = self.act(head, Upload::empty()).await;
        let outcome = done.outcome.map_err(|failure| (failure, done.beside));
        let answer =
            outcome.unwrap_or_else(|(failure, beside)| refuse(&failure, beside, done.subject, None, &echo, now));
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        // Its bytes are in the body of the request that carries it, and counted there.
        self.metrics.count(done.row, answer.status, micros, 0, 0);
        finish(answer, echo, done.version)
    }

    /// How `refusal` looks where it stands for all the parts.
    pub(crate) fn refuse_inner(&self, outer: &Head, refusal: Refusal) -> Response<Payload> {
        let echo = Echo::of(&Method::POST, &HeaderMap::new(), outer.request_id);
        let done = Done::empty();
        let answer = refuse(&refusal.into(), HeaderMap::new(), done.subject, None, &echo, outer.now);
        finish(answer, echo, Some(outer.version))
    }
}

/// The operation that a head asks for.
pub(crate) fn asked(head: &Head) -> Result<&'static Spec, Failure> {
    Ok(operation::served(route(head)?).spec)
}

fn inner_parts(outer: &Head, method: Method, uri: Uri, headers: HeaderMap) -> Parts {
    let mut parts = Request::new(()).into_parts().0;
    (parts.method, parts.uri, parts.headers) = (method, uri, headers);
    if let Some(host) = outer.headers.get(http::header::HOST)
        && !parts.headers.contains_key(http::header::HOST)
    {
        parts.headers.insert(http::header::HOST, host.clone());
    }
    parts
}
