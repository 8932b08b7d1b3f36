//! A request inside another one: a part of a batch. It lives the life of any request, from who is asking to the answer; only
//! its connection, its service and its version are those of the request that carries it.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, Uri};
use lazuli_model::Refusal;
use lazuli_store::Failure;

use super::{Done, Echo, Edge, finish, refuse, route};
use crate::answer::Payload;
use crate::auth::{self, Grant};
use crate::body::Upload;
use crate::head::{Arrival, Head};
use crate::operation::{self, Spec};

impl Edge {
    /// The head of a request that came inside `outer`. It names its host only if that is another one.
    pub(crate) fn inner_head(
        &self,
        outer: &Head,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
    ) -> Result<Head, Refusal> {
        let mut head = Head::read(inner_parts(outer, method, uri, headers), self.inner_arrival(outer))?;
        (head.version, head.version_sent) = (outer.version, outer.version_sent);
        Ok(head)
    }

    fn inner_arrival(&self, outer: &Head) -> Arrival {
        Arrival {
            service: outer.service,
            secure: outer.secure,
            peer: outer.peer,
            now: outer.now,
            request_id: (self.ids)(),
            loose: self.options.loose,
        }
    }

    /// Admits, runs and answers it. Nothing of the outer request's rights is passed on.
    pub(crate) async fn answer_inner(self: &Arc<Self>, head: Head) -> Response<Payload> {
        let now = head.now;
        let echo = Echo::of(&head.method, &head.headers, head.request_id);
        let done = self.act(head, Upload::empty()).await;
        let outcome = done.outcome.map_err(|failure| (failure, done.beside));
        let answer =
            outcome.unwrap_or_else(|(failure, beside)| refuse(&failure, beside, done.subject, None, &echo, now));
        self.metrics.count(done.row, answer.status, 0, 0, answer.payload.length());
        finish(answer, echo, done.version)
    }

    /// Whether whoever sent `head` may do what `spec` does.
    pub(crate) async fn admit_inner(&self, head: &Head, spec: &Spec) -> Result<Grant, Failure> {
        let identity = auth::identify(head, &self.accounts)?;
        let openness = if identity.needs_record() { self.openness(head).await? } else { None };
        Ok(auth::authorize(&identity, spec, head, openness.as_ref())?)
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
