//! The life of a request, all of it: connection → head → who → which operation → whether → parse, run, answer.
//!
//! Held true here:
//! * nothing is acted on before it is authorised, and no byte of a body is asked for before that;
//! * a write that began outlives its connection: it runs in a task of its own;
//! * a panic is an answer of 500, not the end of a connection;
//! * every answer carries the request's id, and memory per request is bounded.

mod access;
mod coalesce_wakes;
mod part;
mod permit;
mod record;
mod rehearse;
mod second;
pub(crate) mod website;
mod write_timeout;

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lazuli_model::account::Transport;
use lazuli_model::feed;
use lazuli_model::service::{CorsRule, Of};
use lazuli_model::{AccountName, AccountSettings, Timestamp, Version};
use lazuli_store::{CustomerKey, Store, detach_on_drop};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::accounts::Accounts;
use crate::analytics::{Analytics, Came};
use crate::answer::{Answer, Payload, name};
use crate::auth::{self, Grant, Identity, Openness};
use crate::body::Upload;
use crate::cors;
use crate::fault_log::FaultLog;
use crate::file;
use crate::head::{Arrival, Head, Moved, PathStyle, ProofCache, Service, Target, guid};
use crate::header_case::{CasedStream, HeaderCase};
use crate::heads::{HEAD_MAX, Heads};
use crate::lake;
use crate::metrics::Metrics;
use crate::operation::{self, Body, Spec};
use crate::recorder::Recorder;
use crate::refusal::{Denied, Failure, Refusal};
use crate::rehearsal::{HungUp, Plan, Rehearsal};
use crate::sources::Sources;
use crate::status::{self, Subject};
use crate::table::Manner;
use crate::versions::{self, Since};
use crate::workers::Workers;
use access::{Access, Outcome};
use coalesce_wakes::coalesce_wakes;
pub use record::LabExpiry;
pub(crate) use record::Watch;
use write_timeout::WriteTimeout;

pub(crate) use part::asked;
pub(crate) use second::Naming;

/// Makes ids that nobody can guess: of requests, leases and containers.
pub type Ids = Arc<dyn Fn() -> u128 + Send + Sync>;

/// What time it is outside. Signatures, SAS, tokens and keys of all kinds are good or not by this clock, which may be put right at
/// any moment; the engine's time never goes back, and is what everything stored is judged by.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// By how many ticks the clocks are ahead of the machine's, because somebody moved them.
pub type MovedBy = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Refuse versions newer than the newest we know, instead of serving them with our newest behaviour.
    pub strict_version: bool,
    /// Accept a version that is no date, and ignore headers and parameters that are not supported.
    pub loose: bool,
    /// How long a client may take to send a head.
    pub header_read_seconds: u64,
    /// How long a client may pause in a body.
    pub body_idle_seconds: u64,
    /// How long a client may take no byte of an answer.
    pub answer_idle_seconds: u64,
    /// The account is always the first part of the path, and never in the host's name.
    pub path_style_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strict_version: false,
            loose: false,
            header_read_seconds: 60,
            body_idle_seconds: 60,
            answer_idle_seconds: 60,
            path_style_only: false,
        }
    }
}

/// A request that may be acted on, as an operation gets it.
pub struct Ask {
    pub head: Head,
    pub spec: &'static Spec,
    /// Who asks. The other resources that the request names are judged by it ([`Ask::permit_second`]).
    pub identity: Identity,
    pub grant: Grant,
    pub body: Upload,
    pub store: Store,
    /// The account's, as they were when the request came.
    pub settings: Arc<AccountSettings>,
    pub ids: Ids,
    /// For what is asked inside this request: the parts of a batch, the source of a copy.
    pub edge: Arc<Edge>,
    /// Headers that go with a refusal, if it comes to one.
    pub beside: HeaderMap,
    /// The key that what it writes is encrypted by, once that is settled.
    pub seals: OnceLock<CustomerKey>,
    /// What is going to be recorded of it, if anything is.
    pub(crate) watch: Option<Watch>,
    /// Trouble that is made on purpose.
    pub(crate) plan: Option<Arc<Plan>>,
}

/// What a connection knows of all its requests.
struct Link {
    peer: IpAddr,
    port: u16,
    service: Service,
    transport: Transport,
    /// Its requests are visits to static websites.
    website: bool,
    header_case: Arc<HeaderCase>,
    proofs: ProofCache,
}

impl Link {
    fn new(peer: SocketAddr, service: Service, transport: Transport, website: bool) -> Self {
        Self {
            peer: peer.ip(),
            port: peer.port(),
            service,
            transport,
            website,
            header_case: Arc::default(),
            proofs: ProofCache::default(),
        }
    }
}

pub struct Edge {
    store: Store,
    accounts: Accounts,
    options: Options,
    ids: Ids,
    wall: WallClock,
    metrics: Metrics,
    fault_log: FaultLog,
    sources: OnceLock<Sources>,
    workers: Workers,
    heads: Heads,
    recorder: OnceLock<Arc<Recorder>>,
    rehearsal: OnceLock<Arc<dyn Rehearsal>>,
    moved: OnceLock<MovedBy>,
    analytics: Analytics,
}

/// What is read of a body at once.
const BUFFER_BYTES: usize = 512 << 10;
/// 8 KiB of metadata may be many small pairs.
const HEADERS_MAX: usize = 300;

impl Edge {
    pub fn new(store: Store, accounts: Accounts, options: Options, ids: Ids, wall: WallClock) -> Arc<Self> {
        let (metrics, fault_log, sources) = (Metrics::new(), FaultLog::default(), OnceLock::new());
        let (workers, heads, recorder) = (Workers::default(), Heads::default(), OnceLock::new());
        let (rehearsal, moved) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self {
            store,
            accounts,
            options,
            ids,
            wall,
            metrics,
            fault_log,
            sources,
            workers,
            heads,
            recorder,
            rehearsal,
            moved,
            analytics: Analytics::default(),
        })
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Says where copies may come from; once, before anything is served. Until then, from this server alone.
    pub fn allow_sources(&self, sources: Sources) {
        let _ = self.sources.set(sources);
    }

    pub(crate) fn sources(&self) -> &Sources {
        self.sources.get_or_init(Sources::default)
    }

    /// Records what is changed and refused from now on; once, before anything is served.
    pub fn record(&self, recorder: Arc<Recorder>) {
        let _ = self.recorder.set(recorder);
    }

    /// Lets `rehearsal` make trouble; once, before anything is served. Without this nobody can.
    pub fn rehearse(&self, rehearsal: Arc<dyn Rehearsal>) {
        let _ = self.rehearsal.set(rehearsal);
    }

    /// Says by how many ticks both clocks were moved ahead of the machine's; once, before anything is served.
    pub fn clocks_moved(&self, moved: MovedBy) {
        let _ = self.moved.set(moved);
    }

    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recorder.get()
    }

    /// Looks again for what the properties of services ask for, of logs and metrics.
    pub async fn refresh_analytics(&self) -> Result<(), lazuli_store::Failure> {
        self.analytics.refresh(&self.store).await
    }

    /// Writes what was gathered of requests.
    pub async fn flush_analytics(&self) -> Result<(), lazuli_store::Failure> {
        self.analytics.flush(&self.store).await
    }

    /// Where long work is done.
    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// A random number.
    pub(crate) fn id(&self) -> u128 {
        (self.ids)()
    }

    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Serves one connection until it closes or `stop` turns true; then the request in flight is still finished.
    pub async fn serve<I>(
        self: &Arc<Self>,
        io: I,
        peer: SocketAddr,
        service: Service,
        transport: impl Into<Transport>,
        stop: watch::Receiver<bool>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let link = Link::new(peer, service, transport.into(), false);
        coalesce_wakes(self.serve_link(io, link, stop)).await;
    }

    /// As [`Edge::serve`], for visitors of static websites.
    pub async fn serve_website<I>(
        self: &Arc<Self>,
        io: I,
        peer: SocketAddr,
        transport: impl Into<Transport>,
        stop: watch::Receiver<bool>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let link = Link::new(peer, Service::Blob, transport.into(), true);
        coalesce_wakes(self.serve_link(io, link, stop)).await;
    }

    async fn serve_link<I>(self: &Arc<Self>, io: I, link: Link, mut stop: watch::Receiver<bool>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = link.peer;
        let io = WriteTimeout::new(io, Duration::from_secs(self.options.answer_idle_seconds));
        let io = CasedStream::new(io, link.header_case.clone(), self.heads.clone());
        let link = &link;
        // Boxed: hyper makes room for the future in every connection, also in those that have nothing to do.
        let answering = service_fn(|request| Box::pin(async move { self.respond(link, request).await }));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(self.options.header_read_seconds))
            .half_close(true)
            .max_headers(HEADERS_MAX)
            .max_header_size(HEAD_MAX)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(TokioIo::new(io), answering);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            // Without its value, which would hold the channel's lock.
            () = async { drop(stop.wait_for(|stop| *stop).await) } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, %peer, "a connection ended early");
        }
    }

    /// One request, from its head to its answer's head.
    async fn respond(self: &Arc<Self>, link: &Link, request: Request<Incoming>) -> Result<Response<Payload>, HungUp> {
        let now = self.store.now();
        let since = Instant::now();
        let request_id = (self.ids)();
        let (mut parts, incoming) = request.into_parts();
        if self.options.path_style_only {
            parts.extensions.insert(PathStyle);
        }
        if let Some(moved) = self.moved.get().map(|moved| moved()).filter(|moved| *moved > 0) {
            parts.extensions.insert(Moved(moved));
        }
        let echo = Echo::of(&parts.method, &parts.headers, request_id);
        let mut access = Access::of(&parts);
        let waits = parts.headers.contains_key(http::header::EXPECT);
        let upload =
            Upload::new(incoming, Duration::from_secs(self.options.body_idle_seconds), waits, &link.header_case);
        let spelt = link.header_case.take();
        let arrival = Arrival {
            service: link.service,
            secure: link.transport.is_secure(),
            peer: link.peer,
            now,
            wall: (self.wall)(),
            request_id,
            loose: self.options.loose,
        };
        let read = match link.website {
            true => website::head(parts, arrival),
            false => Head::read_again(parts, arrival, &link.proofs),
        };
        if let (Some(access), Ok(head)) = (&mut access, &read) {
            access.account = head.account.clone();
        }
        let noted = match &read {
            Ok(head) => self.analytics.note(head, SocketAddr::new(link.peer, link.port)),
            Err(_) => None,
        };
        let is_lake = read.as_ref().is_ok_and(|head| !link.website && lake::is_call(head));
        let done = match read {
            Ok(mut head) => match self.permit_reach(link.transport, link.peer, &head).await {
                Ok(()) if link.website => Box::pin(self.visit(head, upload)).await,
                Ok(()) => {
                    head.spelt = spelt;
                    self.act(head, upload).await
                }
                Err(failure) => {
                    let manner = Manner::of(&head);
                    Done { outcome: Err(failure), manner, ..Done::refused(Denied::InternalError, upload) }
                }
            },
            Err(refusal) => Done::refused(refusal, upload),
        };
        if done.hung_up {
            return Err(HungUp);
        }
        if let Err(Failure::Broken(fault)) = &done.outcome {
            self.fault_log.write(fault, &echo.id, now);
        }
        let code = match (access.is_some() || noted.is_some(), &done.outcome) {
            (true, Err(failure)) if is_lake => Some(lake::refuse::status(failure).code),
            (true, Err(failure)) => Some(status::of_failure(failure, done.subject).code),
            (false, _) | (_, Ok(_)) => None,
        };
        let unversioned = matches!(done.outcome, Err(Failure::Refused(Refusal::OperationNotNamed)));
        let outcome = done.outcome.map_err(|failure| (failure, done.beside));
        let manner = done.manner.as_ref();
        let mut answer = outcome.unwrap_or_else(|(failure, beside)| match is_lake {
            true => lake::refuse::answer(&failure, beside, echo.head_only, &echo.id, now),
            false => refuse(&failure, beside, done.subject, manner, &echo, now),
        });
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let bytes_out = if echo.head_only { 0 } else { answer.payload.length() };
        self.metrics.count(done.row, answer.status, micros, done.bytes_in, bytes_out);
        if let Some(noted) = noted {
            let spec = done.row.map(|row| operation::served(row).spec);
            let (status, code, headers) = (answer.status, code.unwrap_or_default(), &answer.headers);
            self.analytics
                .count(&noted, &Came { spec, status, code, micros, bytes_in: done.bytes_in, bytes_out, headers });
        }
        if let Some(access) = access {
            let (row, status, bytes_in) = (done.row, answer.status, done.bytes_in);
            access.log(link.peer, Outcome { row, status, code, micros, bytes_in, bytes_out }, &echo.id);
        }
        link.header_case.say(std::mem::take(&mut answer.spelt));
        let mut response = finish(answer, echo, done.version);
        if unversioned {
            response.headers_mut().remove(&name::VERSION);
        }
        self.share(done.origin, response.headers_mut()).await;
        Ok(response)
    }

    /// Admits a request and runs its operation.
    async fn act(self: &Arc<Self>, mut head: Head, body: Upload) -> Done {
        if let Err(failure) = self.accounts.learn(&head.account, &self.store).await {
            return Done { outcome: Err(failure), ..Done::refused(Denied::InternalError, body) };
        }
        if head.method == Method::OPTIONS {
            return Done { outcome: self.preflight(&head).await, ..Done::refused(Denied::InternalError, body) };
        }
        let known = self.accounts.get(&head.account);
        head.hierarchical = known.is_some_and(|account| account.settings().hierarchical_namespace);
        let origin = Origin::of(&head, &self.accounts);
        let manner = Manner::of(&head);
        let mut routed = None;
        let (row, identity, grant) = match self.admit(&mut head, &body, &mut routed).await {
            Ok(admitted) => admitted,
            Err(failure) => {
                let refused = Done::refused(Denied::InternalError, body);
                return Done { outcome: Err(failure), row: routed, origin, manner, ..refused };
            }
        };
        let (asked, version) = (head.version, Some(head.version));
        let spec = operation::served(row).spec;
        let limit = time_limit(spec, &head);
        let patience =
            head.query.get("timeout").and_then(|text| text.parse().ok()).filter(|_| head.service == Service::File);
        let ids = self.ids.clone();
        let settings = self.accounts.get(&head.account).map(|account| account.settings().clone()).unwrap_or_default();
        let plan = match self.rehearsal.get() {
            Some(rehearsal) => rehearsal.plan(spec, &head).await.map(Arc::new),
            None => None,
        };
        let rule = plan.as_ref().map_or(0, |plan| plan.rule);
        let watch = self.recorder.get().and_then(|_| Watch::over(spec, &head, rule));
        let mut request = self.store.request();
        request.witness = watch.as_ref().map(|watch| watch.witness.clone());
        if settings.change_feed && spec.writes() {
            request.cause = Some(cause(spec, &head).into());
        }
        if let Some(seconds) = patience {
            request.patience_seconds = request.patience_seconds.min(seconds);
        }
        if settings.hierarchical_namespace {
            request.caller = auth::caller(&identity, &grant, &head).into();
        }
        let store = self.store.acting_for(request);
        let edge = self.clone();
        let lagging = rehearse::lagging(&mut head, plan.as_deref());
        // Boxed: it would be moved, and be part of every request's future, several times.
        let ask = Box::new(Ask {
            head,
            spec,
            identity,
            grant,
            body,
            store,
            settings,
            ids,
            edge,
            beside: HeaderMap::new(),
            seals: OnceLock::new(),
            watch,
            plan: plan.clone(),
        });
        if let Some(ending) = plan.as_ref().and_then(|plan| plan.before.as_ref()) {
            let done = rehearse::ended(&ask, row, ending);
            ask.body.drain();
            return Done { row: Some(row), origin, version, manner: manner.map(Manner::admitted), ..done };
        }
        let running = AssertUnwindSafe(run(row, ask)).catch_unwind();
        let running = async move { if spec.writes() { detach_on_drop(running).await } else { running.await } };
        let done = match limit {
            None => running.await,
            // A write that began goes on; its client is told that nobody waited for it.
            Some(limit) => tokio::time::timeout(limit, running).await.unwrap_or_else(|_| Ok(Done::late())),
        };
        let done = done.unwrap_or_else(|_| {
            tracing::error!(operation = spec.name, "an operation panicked; this is a bug of ours");
            Done { outcome: Err(Denied::InternalError.into()), ..Done::empty() }
        });
        let mut done = match plan {
            Some(plan) => rehearse::troubled(done, &plan, lagging).await,
            None => done,
        };
        if let Ok(answer) = &mut done.outcome {
            versions::strip(spec.on, asked, &mut answer.headers);
        }
        Done { row: Some(row), origin, version, manner: manner.map(Manner::admitted), ..done }
    }

    /// Everything between the head and the operation, in Azure's order: who, which, whether. `routed` is told which, also if
    /// it comes to a refusal after that: it is counted as that operation's.
    async fn admit(
        &self,
        head: &mut Head,
        body: &Upload,
        routed: &mut Option<usize>,
    ) -> Result<(usize, Identity, Grant), Failure> {
        self.settle_version(head).await?;
        let identity = auth::identify(head, &self.accounts)?;
        for name in versions::unknown_to(head.service, head.version) {
            head.headers.remove(name);
        }
        if head.service == Service::Table {
            crate::table::untunnel(head)?;
        }
        auth::permit_intent(&identity, head)?;
        let row = route(head)?;
        *routed = Some(row);
        let spec = operation::served(row).spec;
        let openness = if identity.needs_record() { self.openness(head).await? } else { None };
        let grant = auth::authorize(&identity, spec, head, openness.as_ref())?;
        if head.secondary && spec.writes() {
            return Err(Denied::SecondaryIsReadOnly.into());
        }
        permit::feed(spec, head)?;
        permit::analytics(spec, head)?;
        self.permit_kind(spec, head)?;
        self.permit_replica(spec, head)?;
        lake::permit_hierarchical(spec, head)?;
        head.query_opt("timeout", |text| text.parse::<u32>().ok().filter(|seconds| *seconds > 0))?;
        check_length(spec, head, body)?;
        Ok((row, identity, grant))
    }

    /// A request that does not say its version gets the account's default, else the oldest.
    async fn settle_version(&self, head: &mut Head) -> Result<(), Failure> {
        if head.version_sent {
            if self.options.strict_version && head.version > Version::NEWEST {
                let value = head.text("x-ms-version").unwrap_or_default().to_owned();
                return Err(Refusal::InvalidHeaderValue { header: "x-ms-version".into(), value }.into());
            }
            return Ok(());
        }
        // Only the Blob service has a default to be set.
        if head.service.properties() == Some(Of::Blob) && self.accounts.get(&head.account).is_some() {
            let properties = self.store.service_properties(&head.account()?, Of::Blob).await?;
            let default = properties.default_service_version.as_deref().and_then(Version::parse);
            head.version = default.unwrap_or(head.version);
        }
        Ok(())
    }

    async fn openness(&self, head: &Head) -> Result<Option<Openness>, Failure> {
        if self.accounts.get(&head.account).is_none() {
            return Ok(None);
        }
        match head.target {
            Target::Service => Ok(None),
            Target::Container(_) | Target::Blob { .. } => {
                Ok(self.store.container_for_access(&head.container_at()?).await?.map(Openness::from))
            }
            Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => {
                Ok(self.store.queue_for_access(&head.queue_at()?).await?.map(Openness::from))
            }
            Target::Share(_) | Target::Path { .. } => {
                Ok(self.store.share_for_access(&file::place::share(head)?).await?.map(Openness::from))
            }
            Target::Table(_) => match crate::table::signed_for(head) {
                Some(at) => Ok(self.store.table(&at).await?.map(Openness::from)),
                None => Ok(None),
            },
        }
    }

    async fn cors_rules(&self, account: &AccountName, service: Service) -> Result<Vec<CorsRule>, Failure> {
        match service.properties() {
            Some(of) => Ok(self.store.service_properties(account, of).await?.cors),
            None => Ok(Vec::new()),
        }
    }

    async fn preflight(&self, head: &Head) -> Result<Answer, Failure> {
        let rules = match self.accounts.get(&head.account) {
            Some(account) => self.cors_rules(account.name(), head.service).await?,
            None => Vec::new(),
        };
        let mut answer = Answer::new(StatusCode::OK);
        answer.headers = cors::preflight(&rules, &head.headers)?;
        Ok(answer)
    }

    /// Adds the CORS headers of an actual request. Rules are looked up only for browsers.
    async fn share(&self, origin: Option<Origin>, headers: &mut HeaderMap) {
        let Some(Origin { account, service, origin, method }) = origin else { return };
        match self.cors_rules(&account, service).await {
            Ok(rules) => cors::merge(headers, cors::actual(&rules, &origin, &method)),
            // Without its headers the browser keeps the answer from the page, which is the safe side.
            Err(failure) => tracing::error!(?failure, "the rules for other origins could not be read"),
        }
    }
}

/// What a browser's request says of where it comes from.
struct Origin {
    account: AccountName,
    service: Service,
    origin: String,
    method: Method,
}

impl Origin {
    fn of(head: &Head, accounts: &Accounts) -> Option<Self> {
        let origin = head.text("origin")?.to_owned();
        let account = accounts.get(&head.account)?.name().clone();
        Some(Self { account, service: head.service, origin, method: head.method.clone() })
    }
}

/// What became of a request.
struct Done {
    outcome: Result<Answer, Failure>,
    row: Option<usize>,
    bytes_in: u64,
    beside: HeaderMap,
    origin: Option<Origin>,
    subject: Subject,
    /// The version that was settled on, where the request has no header to repeat.
    version: Option<Version>,
    /// How the Table service says no.
    manner: Option<Manner>,
    /// There is no answer, on purpose.
    hung_up: bool,
}

impl Done {
    fn empty() -> Self {
        let outcome = Err(Denied::InternalError.into());
        let subject = Subject::Blob;
        Self {
            outcome,
            row: None,
            bytes_in: 0,
            beside: HeaderMap::new(),
            origin: None,
            subject,
            version: None,
            manner: None,
            hung_up: false,
        }
    }

    fn late() -> Self {
        Self { outcome: Err(Denied::OperationTimedOut.into()), ..Self::empty() }
    }

    fn refused(refusal: impl Into<Refusal>, body: Upload) -> Self {
        body.drain();
        Self { outcome: Err(Failure::Refused(refusal.into())), ..Self::empty() }
    }
}

async fn run(row: usize, mut ask: Box<Ask>) -> Done {
    let operation = operation::served(row);
    let outcome = (operation.run)(&mut ask).await;
    record::note(&ask, row, &outcome);
    let bytes_in = ask.body.read();
    ask.body.drain();
    let subject = record::subject(operation.spec.on);
    Done { outcome, row: Some(row), bytes_in, beside: ask.beside, subject, ..Done::empty() }
}

/// How a refusal or a fault is answered.
fn refuse(
    failure: &Failure,
    beside: HeaderMap,
    subject: Subject,
    manner: Option<&Manner>,
    echo: &Echo,
    now: Timestamp,
) -> Answer {
    let status = status::of_failure(failure, subject);
    if let Some(manner) = manner {
        return manner.refuse(&status, failure, beside, &echo.id, now);
    }
    let soft_deleted = matches!(failure, Failure::Refused(Refusal::Denied(Denied::BlobSoftDeleted)));
    let code = StatusCode::from_u16(status.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = Answer::new(code).constant(&name::ERROR_CODE, status.code);
    answer.headers.extend(beside);
    if soft_deleted {
        answer = answer.constant(&name::IS_SOFT_DELETED, "true");
    }
    answer.reason = ReasonPhrase::try_from(status.message.as_bytes()).ok();
    if let Some(challenge) = status.challenge() {
        answer = answer.constant(&name::WWW_AUTHENTICATE, challenge);
    }
    if code == StatusCode::NOT_MODIFIED || echo.head_only {
        return answer;
    }
    answer.xml(status.body(&echo.id, now))
}

fn route(head: &Head) -> Result<usize, Failure> {
    if lake::is_call(head) {
        return Ok(operation::route_lake(head)?);
    }
    let of = match head.service {
        // Data Lake clients know one host in path style, and send calls of the Blob API there too.
        Service::Blob | Service::Dfs => Of::Blob,
        Service::Queue => Of::Queue,
        Service::Table => Of::Table,
        Service::File if head.target == Target::Service && head.query.get("comp").is_none() => {
            return Err(Refusal::OperationNotNamed.into());
        }
        Service::File => Of::File,
    };
    Ok(operation::route_in(of, head)?)
}

/// How long the client lets the operation take: what it asks for, at most the service's own 30 seconds, or 60 for a block list
/// ("Setting timeouts for Blob service operations"). Content takes as long as its bytes keep coming.
fn time_limit(spec: &Spec, head: &Head) -> Option<Duration> {
    let asked = head.query.get("timeout")?.parse().ok()?;
    let most = match spec.body {
        Body::Content { .. } => return None,
        Body::Document { .. } => 60,
        Body::None => 30,
    };
    // What waits for an SMB client gives up by then, and says why it did: it is given the time to.
    let more = u64::from(head.service == Service::File);
    Some(Duration::from_secs(std::cmp::min(asked, most) + more))
}

/// What the change feed tells of a request.
fn cause(spec: &Spec, head: &Head) -> feed::Cause {
    let client_request = head.text("x-ms-client-request-id").unwrap_or_default().chars().take(1024).collect();
    feed::Cause { api: spec.name.to_owned(), request: head.request_id, client_request }
}

/// What can be said about a body before a byte of it is read.
fn check_length(spec: &Spec, head: &Head, body: &Upload) -> Result<(), Refusal> {
    let most = match spec.body {
        Body::None => return Ok(()),
        Body::Document { most } | Body::Content { most } => most,
    };
    let framed = head.headers.contains_key(http::header::CONTENT_LENGTH)
        || head.headers.contains_key(http::header::TRANSFER_ENCODING);
    if !framed {
        return Err(Refusal::MissingContentLengthHeader);
    }
    // A structured body is longer than what it carries; its operation looks closer.
    let structured = head.headers.contains_key(&name::STRUCTURED_BODY);
    match body.expected() {
        Some(length) if length > most && !structured => Err(Denied::RequestBodyTooLarge { limit: most }.into()),
        _ => Ok(()),
    }
}

/// What every answer repeats of its request.
struct Echo {
    id: String,
    head_only: bool,
    version: Option<HeaderValue>,
    client_id: Option<HeaderValue>,
}

impl Echo {
    fn of(method: &Method, headers: &HeaderMap, request_id: u128) -> Self {
        // What is too long, or no text, is not repeated.
        let client_id = headers.get(&name::CLIENT_REQUEST_ID).filter(|id| id.len() <= 1024 && id.to_str().is_ok());
        // Nor is a version that nobody could have meant.
        let version = headers.get(&name::VERSION).filter(|version| version.len() <= 64 && version.to_str().is_ok());
        Self {
            id: guid(request_id),
            head_only: method == Method::HEAD,
            version: version.cloned(),
            client_id: client_id.cloned(),
        }
    }
}

fn finish(answer: Answer, echo: Echo, version: Option<Version>) -> Response<Payload> {
    let mut headers = answer.headers;
    headers.insert(name::SERVER.clone(), HeaderValue::from_static("Lazuli/0.1"));
    if let Ok(id) = HeaderValue::try_from(echo.id) {
        headers.insert(name::REQUEST_ID.clone(), id);
    }
    let settled = || version.and_then(|version| HeaderValue::try_from(version.to_string()).ok());
    if let Some(version) = echo.version.or_else(settled) {
        headers.insert(name::VERSION.clone(), version);
    }
    if let Some(id) = echo.client_id {
        headers.insert(name::CLIENT_REQUEST_ID.clone(), id);
    }
    let asked = headers.get(&name::VERSION).and_then(|text| Version::parse(text.to_str().ok()?));
    if asked.is_some_and(|version| !Since::ErrorCodeHeader.is_in(version)) {
        headers.remove(&name::ERROR_CODE);
    }
    let mut response = Response::new(if echo.head_only { Payload::Empty } else { answer.payload });
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers;
    if let Some(reason) = answer.reason {
        response.extensions_mut().insert(reason);
    }
    response
}
