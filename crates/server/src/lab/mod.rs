//! The lab: rules that make trouble on purpose (docs/lab-api.md says which). Held true:
//! * there is a lab only in a server that was started with `--lab`, and only the operator can make rules;
//! * a rule fits, or does not, by what a request that was admitted says; it ends by its count, its time, or when it is removed;
//! * what a rule makes others do to an object (a rival's write, a broken lease) is really done, by requests like any client's.

mod rival;
mod rule;

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lazuli_http::refusal::Denied;
use lazuli_http::rehearsal::{Ending, Over, Plan, Planned, Rehearsal};
use lazuli_http::{Edge, Head, Spec};
use lazuli_store::Store;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::loopback::Loopback;
use crate::ids;
pub use rule::{Do, RuleSpec};

/// So many rules, and no more: each request is held against them.
const RULES_MAX: usize = 256;

pub struct Lab {
    rules: Mutex<Vec<Rule>>,
    next: AtomicU64,
    fired: AtomicU64,
    loopback: Loopback,
    edge: Arc<Edge>,
    store: Store,
    /// Client request ids of rivals that are under way: nobody makes trouble for them.
    rivals: Mutex<HashSet<String>>,
}

struct Rule {
    id: u64,
    spec: RuleSpec,
    fired: u64,
    ends: Option<Instant>,
    bucket: rule::Bucket,
    /// Who waits for the rule's end waits for this to be dropped.
    over: watch::Sender<()>,
}

/// A rule as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    pub id: u64,
    pub fired: u64,
    pub left: Option<u64>,
    #[serde(flatten)]
    pub spec: RuleSpec,
}

impl Rule {
    fn shown(&self) -> Shown {
        let left = self.spec.count.map(|count| count.saturating_sub(self.fired));
        Shown { id: self.id, fired: self.fired, left, spec: self.spec.clone() }
    }

    fn is_over(&self, now: Instant) -> bool {
        // One that holds copies ends by its time, or when it is removed: they are pending until then.
        let spent = self.spec.act != Do::HoldCopy && self.spec.count.is_some_and(|count| self.fired >= count);
        spent || self.ends.is_some_and(|ends| now >= ends)
    }
}

impl Lab {
    pub fn new(edge: Arc<Edge>, store: Store, loopback: Loopback) -> Self {
        Self {
            rules: Mutex::default(),
            next: AtomicU64::new(1),
            fired: AtomicU64::new(0),
            loopback,
            edge,
            store,
            rivals: Mutex::default(),
        }
    }

    pub fn add(&self, spec: RuleSpec) -> Result<Shown, String> {
        spec.check()?;
        let mut rules = self.current();
        if rules.len() >= RULES_MAX {
            return Err(format!("there are {RULES_MAX} rules already; remove some"));
        }
        let ends = spec.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        let id = self.next.fetch_add(1, Relaxed);
        let bucket = rule::Bucket::new(&spec, Instant::now());
        let rule = Rule { id, spec, fired: 0, ends, bucket, over: watch::channel(()).0 };
        let shown = rule.shown();
        tracing::warn!(rule = id, act = shown.spec.act.name(), "the lab has a new rule: trouble on purpose");
        rules.push(rule);
        Ok(shown)
    }

    pub fn remove(&self, id: u64) -> bool {
        let mut rules = self.current();
        let before = rules.len();
        rules.retain(|rule| rule.id != id);
        rules.len() < before
    }

    pub fn clear(&self) {
        self.current().clear();
    }

    pub fn rules(&self) -> Vec<Shown> {
        self.current().iter().map(Rule::shown).collect()
    }

    /// How often any rule acted.
    pub fn fired(&self) -> u64 {
        self.fired.load(Relaxed)
    }

    /// The rules that are not over.
    fn current(&self) -> MutexGuard<'_, Vec<Rule>> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        rules.retain(|rule| !rule.is_over(now));
        rules
    }

    /// The first rule that acts on this request.
    fn choose(&self, spec: &'static Spec, head: &Head) -> Option<(u64, RuleSpec, Option<Over>)> {
        let client = head.text("x-ms-client-request-id").unwrap_or_default();
        if self.rivals.lock().unwrap_or_else(PoisonError::into_inner).contains(client) {
            return None;
        }
        let now = Instant::now();
        let mut rules = self.current();
        let at = rules.iter_mut().position(|rule| {
            let spent = rule.spec.count.is_some_and(|count| rule.fired >= count);
            let fits = !spent && rule.spec.fits(spec, head);
            fits && rule.bucket.acts(&rule.spec, head, now) && chance(rule.spec.probability)
        })?;
        let rule = &mut rules[at];
        rule.fired += 1;
        self.fired.fetch_add(1, Relaxed);
        let over = (rule.spec.act == Do::HoldCopy).then(|| over(rule.over.subscribe(), rule.ends));
        Some((rule.id, rule.spec.clone(), over))
    }
}

/// Resolves when the rule is removed, or its time is over.
fn over(gone: watch::Receiver<()>, ends: Option<Instant>) -> Over {
    Arc::new(move || -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut gone = gone.clone();
        Box::pin(async move {
            let gone = async { while gone.changed().await.is_ok() {} };
            match ends {
                None => gone.await,
                Some(ends) => drop(tokio::time::timeout_at(ends, gone).await),
            }
        })
    })
}

fn chance(probability: Option<f64>) -> bool {
    probability.is_none_or(|probability| ((ids::random() >> 64) as u32 as f64) / f64::from(u32::MAX) <= probability)
}

impl Rehearsal for Lab {
    fn plan<'a>(&'a self, spec: &'static Spec, head: &'a Head) -> Planned<'a> {
        let chosen = self.choose(spec, head);
        Box::pin(async move {
            let (rule, chosen, hold) = chosen?;
            let plan = Plan { rule, ..Plan::default() };
            let pause = Duration::from_millis(chosen.milliseconds.unwrap_or(1000));
            let end = |ending| match chosen.apply {
                true => Plan { after: Some(ending), ..plan.clone() },
                false => Plan { before: Some(ending), ..plan.clone() },
            };
            Some(match chosen.act {
                Do::LoseRace => {
                    self.lose_race(rule, head).await;
                    plan
                }
                Do::BreakLease => {
                    self.break_lease(rule, head).await;
                    plan
                }
                Do::ExpireLease => {
                    self.expire_lease(rule, head).await;
                    plan
                }
                Do::DeliverTwice => Plan { visible: true, ..plan },
                Do::HoldCopy => Plan { hold, ..plan },
                Do::Fail if chosen.status == Some(500) => end(Ending::Refuse(Denied::InternalError.into())),
                Do::Fail => end(Ending::Refuse(Denied::ServerBusy.into())),
                Do::Disconnect => end(Ending::HangUp),
                Do::Slow => Plan { pause, ..plan },
                Do::Truncate => Plan { cut: Some(chosen.bytes.unwrap_or(0)), ..plan },
                Do::Throttle => Plan { before: Some(Ending::Refuse(Denied::ServerBusy.into())), ..plan },
                Do::Lag => Plan { lag: pause, ..plan },
            })
        })
    }
}
