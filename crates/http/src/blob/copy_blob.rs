//! Copy Blob: from a blob in this server it is done when it is answered; from elsewhere it goes on (`sources`).

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, CopyBlob, CopyTags, Encryption, Family, Tier};
use lazuli_store::{BlobAt, Broken, Failure, Source, Store};

use crate::answer::{Answer, name};
use crate::blob::copied::status_text;
use crate::blob::copy_source::{self, From};
use crate::blob::{content, encryption, headers, protection};
use crate::head::guid;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::serve::Ask;
use crate::sources::Fetched;

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
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let copy = parse(ask, Family::Copy, encryption::settle(ask).await?)?;
    let rehydrates = copy.tier.is_some_and(|tier| tier != Tier::Archive);
    let opened = copy_source::open(ask, Family::Copy, rehydrates, copy.tags == CopyTags::OfSource).await?;
    let copy = CopyBlob { source: opened.url, ..copy };
    let blob = match opened.from {
        From::Here { reader, which } => ask.store.copy_blob(&at, copy, *reader, which, content::lock(ask)?).await?,
        From::Elsewhere(fetched) => {
            let total = fetched.length.unwrap_or_default();
            let id = copy.id;
            let blob = ask.store.begin_copy(&at, copy, fetched.blob.clone(), total).await?;
            tokio::spawn(carry_out(ask.store.clone(), at, id, *fetched));
            blob
        }
    };
    Ok(answer(&blob))
}

/// Makes a copy from elsewhere, after its answer. If the process dies, a round of the sweeper ends it.
async fn carry_out(store: Store, at: BlobAt, id: u128, mut fetched: Fetched) {
    let expected = fetched.length;
    let ended = {
        let done = AtomicU64::new(0);
        let mut counted = Counted { source: &mut fetched, done: &done };
        let mut receiving = pin!(store.receive(&mut counted, expected, u64::MAX, false));
        loop {
            match tokio::time::timeout(RENEWED_EVERY, receiving.as_mut()).await {
                Ok(received) => break Some(received),
                Err(_) if store.renew_copy(&at, id, done.load(Relaxed)).await.unwrap_or(true) => {}
                Err(_) => break None, // aborted, or deleted
            }
        }
    };
    let ended = match ended {
        None => Ok(()),
        Some(Ok(received)) => store.end_copy(&at, id, received).await.map(|_| ()),
        Some(Err(failure)) => {
            tracing::info!(?failure, "a copy from elsewhere failed");
            store.fail_copy(&at, id, FAILED.to_owned()).await
        }
    };
    match ended {
        Ok(()) | Err(Failure::Refused(_)) => {}
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
    let metadata = headers::metadata(head)?;
    Ok(CopyBlob {
        id: (ask.ids)(),
        source: String::new(),
        family,
        metadata: (!metadata.is_empty()).then_some(metadata),
        tags: copy_source::tags(head)?,
        tier: headers::tier(head)?,
        seal: head.text("x-ms-seal-blob").map(|_| head.flag("x-ms-seal-blob")).transpose()?,
        protection: protection::of_new(ask)?,
        encryption,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
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
