//! Copy Blob: from a blob in this server it is done when it is answered; from elsewhere it goes on (`sources`).

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use lazuli_model::AccountName;
use lazuli_model::blob::{Blob, CopyBlob, CopyTags, Encryption, Family, Kind, Tier};
use lazuli_store::{Broken, Copying, Fetch, Lock, Reader, Source, Store, Unfinished};

use crate::answer::{Answer, name};
use crate::blob::copied::status_text;
use crate::blob::copy_source::{self, From};
use crate::blob::{encryption, headers, protection};
use crate::head::guid;
use crate::operation::{AccountNeeds, By, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::rehearsal::Over;
use crate::serve::{Ask, Edge};
use crate::sources::{self, Fetched};
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "CopyBlob",
    methods: &["PUT"],
    on: On::Blob,
    when: &[
        When::Header("x-ms-copy-source"),
        When::NoHeader("x-ms-blob-type"),
        When::HeaderIsNot("x-ms-requires-sync", "true"),
    ],
    needs: "cw",
    also: &[("x-ms-tags", 't'), ("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    seconds: &[sources::COPY_SOURCE],
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let copy = parse(ask, Family::Copy, encryption::settle(ask).await?)?;
    let rehydrates = copy.tier.is_some_and(|tier| tier != Tier::Archive);
    let opened = copy_source::open(ask, Family::Copy, rehydrates, copy.tags == CopyTags::OfSource).await?;
    ask.settings.kind.permit_blob(opened.from.kind().into())?;
    let copy = CopyBlob { source: opened.url, ..copy };
    let hold = ask.plan.as_ref().and_then(|plan| plan.hold.clone());
    let blob = match (opened.from, hold) {
        (From::Here { reader, .. }, Some(over)) if matches!(reader.blob.kind, Kind::Block) => {
            held(ask, copy, *reader, over).await?
        }
        (from, _) => made(ask, copy, from).await?,
    };
    Ok(answer(&blob))
}

/// The copy; or its beginning, where the bytes have to come from elsewhere.
async fn made(ask: &Ask, copy: CopyBlob, from: From) -> Result<Blob, Failure> {
    let at = ask.head.blob_at()?;
    match from {
        From::Here { reader, which } => {
            Ok(ask.store.copy_blob(&at, copy, *reader, which, encryption::lock(ask)).await?)
        }
        From::Streamed(fetched) => {
            let total = fetched.length.unwrap_or_default();
            let fetch = fetch(ask, fetched.etag.clone())?;
            let (blob, copying) = ask.store.begin_copy(&at, copy, fetched.blob.clone(), total, fetch).await?;
            tokio::spawn(carry_out(ask.store.clone(), copying, *fetched, encryption::lock(ask)));
            Ok(blob)
        }
    }
}

/// A copy that a rehearsal keeps pending.
async fn held(ask: &Ask, copy: CopyBlob, mut reader: Reader, over: Over) -> Result<Blob, Failure> {
    let (source, total) = ((*reader.blob).clone(), reader.blob.content.length);
    let fetch = fetch(ask, Some(source.etag.to_string()))?;
    let (blob, copying) = ask.store.begin_copy(&ask.head.blob_at()?, copy, source, total, fetch).await?;
    let (store, lock) = (ask.store.clone(), encryption::lock(ask));
    tokio::spawn(async move {
        over().await;
        reader.seek(0, total);
        let received = store.receive_encrypted(&mut reader, Some(total), u64::MAX, false, lock).await;
        let ended = match received {
            Ok(received) => store.end_copy(&copying, received).await.map(drop),
            Err(_) => store.fail_copy(&copying, FAILED.to_owned()).await,
        };
        written_down(ended);
        written_down(store.forget_copy(&copying).await);
    });
    Ok(blob)
}

/// How the source is found again by a process that goes on with the copy.
fn fetch(ask: &Ask, etag: Option<String>) -> Result<Fetch, Failure> {
    let at = ask.head.blob_at()?;
    Ok(Fetch {
        url: ask.required_naming(By::CopySource)?.text.to_owned(),
        authorization: ask.head.text("x-ms-copy-source-authorization").map(str::to_owned),
        version: ask.head.text("x-ms-version").map(str::to_owned),
        etag,
        account: at.account.as_str().to_owned(),
        container: at.container.as_str().to_owned(),
    })
}

impl Edge {
    /// Takes up the copies from other hosts that were pending when the server stopped, or when another gateway did: each is made anew, from
    /// a source that is what it was. To be awaited before anything is served; the copies themselves go on after it.
    pub async fn resume_copies(self: &Arc<Self>) -> Result<(), Failure> {
        for unfinished in self.store().unfinished_copies().await? {
            tracing::info!("a copy from another host goes on");
            tokio::spawn(resume(self.clone(), unfinished));
        }
        Ok(())
    }
}

async fn resume(edge: Arc<Edge>, unfinished: Unfinished) {
    let Unfinished { copying, fetch, encryption } = unfinished;
    let store = edge.store().clone();
    let again = async {
        let lock = match encryption {
            Encryption::Service => None,
            // The key went with the request that brought it.
            Encryption::Customer(_) => return Err(Denied::BlobUsesCustomerSpecifiedEncryption.into()),
            Encryption::Scope(scope) => {
                let account = AccountName::parse(&fetch.account).map_err(|_| Denied::InternalError)?;
                let key = encryption::kept_scope_key(&store, &account, &scope).await?.ok_or(Denied::InternalError)?;
                Some(key.lock(edge.id()))
            }
        };
        Ok::<_, Failure>((edge.fetch_again(&fetch).await?, lock))
    };
    match again.await {
        Ok((fetched, lock)) => carry_out(store, copying, fetched, lock).await,
        Err(failure) => {
            tracing::info!(?failure, "a copy from another host could not go on");
            let failed = store.fail_copy(&copying, FAILED.to_owned()).await;
            written_down(failed.and(store.forget_copy(&copying).await));
        }
    }
}

/// Makes a copy from elsewhere, after its answer. If the process dies, the next one takes it up.
async fn carry_out(store: Store, copying: Copying, mut fetched: Fetched, lock: Option<Lock>) {
    let expected = fetched.length;
    let ended = {
        let done = AtomicU64::new(0);
        let mut counted = Counted { source: &mut fetched, done: &done };
        let mut receiving = pin!(store.receive_encrypted(&mut counted, expected, u64::MAX, false, lock));
        loop {
            match tokio::time::timeout(RENEWED_EVERY, receiving.as_mut()).await {
                Ok(received) => break Some(received),
                Err(_) if store.renew_copy(&copying, done.load(Relaxed)).await.unwrap_or(true) => {}
                Err(_) => break None, // aborted, or deleted
            }
        }
    };
    let ended = match ended {
        None => Ok(()),
        Some(Ok(received)) => store.end_copy(&copying, received).await.map(|_| ()),
        Some(Err(failure)) => {
            tracing::info!(?failure, "a copy from elsewhere failed");
            store.fail_copy(&copying, FAILED.to_owned()).await
        }
    };
    // What could not be written down is taken up at the next start.
    if let Ok(()) | Err(lazuli_store::Failure::Refused(_)) = ended {
        written_down(store.forget_copy(&copying).await);
    }
    written_down(ended);
}

fn written_down(ended: Result<(), lazuli_store::Failure>) {
    match ended {
        Ok(()) | Err(lazuli_store::Failure::Refused(_)) => {}
        Err(failure) => tracing::error!(?failure, "the end of a copy could not be written down"),
    }
}

const RENEWED_EVERY: Duration = Duration::from_secs(10);
const FAILED: &str = "500 InternalError \"Copy failed when reading the source.\"";

/// Counts what comes.
struct Counted<'a> {
    source: &'a mut Fetched,
    done: &'a AtomicU64,
}

impl Source for Counted<'_> {
    fn next(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Result<Option<Bytes>, Broken>> + Send + '_>> {
        Box::pin(async {
            let next = self.source.next().await?;
            self.done.fetch_add(next.as_ref().map_or(0, |bytes| bytes.len() as u64), Relaxed);
            Ok(next)
        })
    }
}

/// For Copy Blob and Copy Blob From URL.
pub fn parse(ask: &Ask, family: Family, encryption: Encryption) -> Result<CopyBlob, Refusal> {
    let head = &ask.head;
    let metadata = wire::headers::metadata(head)?;
    // Rule B6: only a priority that exists may be said. A copy is brought back as any blob is.
    headers::priority(head)?;
    Ok(CopyBlob {
        id: (ask.ids)(),
        source: String::new(),
        family,
        metadata: (!metadata.is_empty()).then_some(metadata),
        tags: copy_source::tags(head)?,
        tier: headers::permitted_tier(ask)?,
        seal: head.text("x-ms-seal-blob").map(|_| head.flag("x-ms-seal-blob")).transpose()?,
        protection: protection::of_new(ask)?,
        encryption,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
        may_overwrite: ask.grant.may_overwrite,
    })
}

pub fn answer(blob: &Blob) -> Answer {
    let answer = headers::written(Answer::new(StatusCode::ACCEPTED), blob);
    let answer = encryption::describe(answer, &blob.encryption);
    match &blob.copy {
        None => answer,
        Some(copy) => answer.text(&name::COPY_ID, guid(copy.id)).constant(&name::COPY_STATUS, status_text(copy.status)),
    }
}
