//! Blob Batch: up to 256 deletions or changes of tier in one request, each authorised by itself and answered by itself.
//!
//! Observed: the batch is answered 202 whatever becomes of its parts. When it cannot be taken at all, it is answered 202 too,
//! with one part that has no `Content-ID`.

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, Method, Response, StatusCode, Uri};

use crate::answer::{Answer, Payload, name};
use crate::head::{Head, Target, guid};
use crate::operation::{ANY, AccountNeeds, Body, On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::{Ask, asked};
use crate::wire::multipart::{self, Part};

/// "Blob Batch" reference.
const PARTS_MAX: usize = 256;
/// A batch with more has too many anyway, and is read no further.
const READ_MAX: usize = 1024;
const BODY_MAX: u64 = 4 << 20;

/// Parts under way at a time: enough to share commits.
const AT_ONCE: usize = 64;

pub const SERVICE: Spec = Spec {
    name: "BlobBatch",
    methods: &["POST"],
    comp: Some("batch"),
    account_sas: Some(AccountNeeds { resource: 'o', any: ANY }),
    body: Body::Document { most: BODY_MAX },
    ..Spec::PLAIN
};

/// What the JavaScript client sends in path style for the one above.
pub const SERVICE_BY_PATH: Spec = Spec { name: "BlobBatchByPath", restype: Some("container"), ..SERVICE };

pub const CONTAINER: Spec =
    Spec { name: "ContainerBatch", on: On::Container, restype: Some("container"), needs: ANY, ..SERVICE };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let content_type = ask.head.text("content-type").unwrap_or_default();
    let boundary = multipart::boundary(content_type).map(str::to_owned);
    let unbounded = Refusal::InvalidHeaderValue { header: "Content-Type".into(), value: content_type.to_owned() };
    let body = ask.body.document(BODY_MAX).await?;
    // What is wrong with all of it is said in one part (rule A16).
    let answers = match boundary.ok_or(unbounded).and_then(|boundary| heads(ask, &body, &boundary)) {
        Ok(parts) => {
            let edge = &ask.edge;
            let answering = parts.into_iter().map(|(id, head)| async move { (id, edge.answer_inner(head).await) });
            stream::iter(answering).buffered(AT_ONCE).collect().await
        }
        Err(refusal) => vec![(None, ask.edge.refuse_inner(&ask.head, refusal))],
    };
    let boundary = format!("batchresponse_{}", guid((ask.ids)()));
    let mut answer =
        Answer::new(StatusCode::ACCEPTED).text(&name::CONTENT_TYPE, format!("multipart/mixed; boundary={boundary}"));
    answer.payload = Payload::Whole(document(&boundary, &answers));
    Ok(answer)
}

/// The parts with their ids, all of one operation that may be in a batch, all of this account and container.
fn heads(ask: &Ask, body: &Bytes, boundary: &str) -> Result<Vec<(Option<String>, Head)>, Refusal> {
    let parts = requests(body, boundary).ok_or_else(|| invalid("The body is not a batch of requests."))?;
    if parts.len() > PARTS_MAX {
        return Err(Refusal::ExceedsMaxBatchRequestCount);
    }
    let mut first: Option<&'static str> = None;
    let mut heads = Vec::with_capacity(parts.len());
    for (id, method, uri, headers) in parts {
        let head = ask.edge.inner_head(&ask.head, method, uri, headers)?;
        permit_target(&ask.head, &head)?;
        let operation = match asked(&head) {
            Ok(spec) if matches!(spec.name, "DeleteBlob" | "DeleteBlobVersion" | "DeleteBlobPermanently") => {
                "DeleteBlob"
            }
            Ok(spec) if spec.name == "SetBlobTier" => spec.name,
            Ok(_) | Err(_) => return Err(invalid("A batch takes Delete Blob and Set Blob Tier only.")),
        };
        if *first.get_or_insert(operation) != operation {
            return Err(Refusal::AllBatchSubRequestsShouldBeSameApi);
        }
        heads.push((id, head));
    }
    Ok(heads)
}

/// `Content-ID`, and what is asked for.
type Request = (Option<String>, Method, Uri, HeaderMap);

/// The requests; `None` if one of them is none.
fn requests(body: &[u8], boundary: &str) -> Option<Vec<Request>> {
    std::str::from_utf8(body).ok()?;
    let sections = multipart::sections(body, boundary, READ_MAX)?.into_iter();
    let requests = sections.map(|section| {
        let part = Part::read(section.trim_ascii_start())?;
        let inner = part.request()?;
        Some((part.id.map(str::to_owned), inner.method, inner.url.parse().ok()?, inner.headers))
    });
    requests.collect()
}

fn permit_target(batch: &Head, part: &Head) -> Result<(), Refusal> {
    let inside = match (&batch.target, &part.target) {
        (Target::Container(own), Target::Blob { container, .. }) => own == container,
        _ => true,
    };
    if inside && batch.account == part.account {
        Ok(())
    } else {
        Err(invalid("A part is for another account or container than the batch."))
    }
}

fn invalid(reason: &'static str) -> Refusal {
    Denied::InvalidInput { reason: reason.into() }.into()
}

fn document(boundary: &str, answers: &[(Option<String>, Response<Payload>)]) -> Bytes {
    let mut out = BytesMut::with_capacity(64 + answers.len() * 512);
    for (id, response) in answers {
        line(&mut out, &["--", boundary]);
        line(&mut out, &["Content-Type: application/http"]);
        if let Some(id) = id {
            line(&mut out, &["Content-ID: ", id]);
        }
        line(&mut out, &[]);
        part(&mut out, response);
    }
    out.put_slice(format!("--{boundary}--").as_bytes());
    out.freeze()
}

fn part(out: &mut BytesMut, response: &Response<Payload>) {
    let status = response.status();
    let reason = response.extensions().get::<hyper::ext::ReasonPhrase>().map(|reason| reason.as_bytes());
    let reason = reason.unwrap_or_else(|| status.canonical_reason().unwrap_or_default().as_bytes());
    line(out, &["HTTP/1.1 ", status.as_str(), " ", &String::from_utf8_lossy(reason)]);
    headers(out, response.headers(), |name| *name != name::SERVER && *name != name::CONTENT_TYPE);
    let body: &[u8] = match response.body() {
        Payload::Whole(body) => body,
        Payload::Empty | Payload::Stream(_) | Payload::Produced(_) | Payload::Cut(..) => &[],
    };
    if !body.is_empty() {
        line(out, &["Content-Length: ", &body.len().to_string()]);
    }
    headers(out, response.headers(), |name| *name == name::SERVER || *name == name::CONTENT_TYPE);
    line(out, &[]);
    if !body.is_empty() {
        out.put_slice(body);
        line(out, &[]);
    }
}

fn headers(out: &mut BytesMut, headers: &HeaderMap, wanted: impl Fn(&HeaderName) -> bool) {
    for (name, value) in headers.iter().filter(|(name, _)| wanted(name)) {
        let shown = match name.as_str() {
            "content-type" => "Content-Type",
            "server" => "Server",
            "etag" => "ETag",
            "last-modified" => "Last-Modified",
            other => other,
        };
        line(out, &[shown, ": ", &String::from_utf8_lossy(value.as_bytes())]);
    }
}

fn line(out: &mut BytesMut, texts: &[&str]) {
    texts.iter().for_each(|text| out.put_slice(text.as_bytes()));
    out.put_slice(b"\r\n");
}
