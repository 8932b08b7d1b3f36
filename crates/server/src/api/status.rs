//! What the server is and how it does: for the console's plots, settings and log.

use hyper::Request;
use hyper::body::Incoming;
use lazuli_http::Service;
use lazuli_http::metrics::Reading;
use lazuli_model::account::SETTINGS;
use serde_json::{Map, Value, json as value};

use super::{Caller, Refused, Told, json, parameter};
use crate::account::{self, Ask};
use crate::console::Console;
use crate::listen::Door;
use crate::{health, metrics};

impl Console {
    pub(super) fn describe_server(&self, caller: &Caller) -> Told {
        let account = match caller {
            Caller::Operator => None,
            Caller::Session(session) => session.credential.account().map(str::to_owned),
        };
        let known = account.as_ref().and_then(|name| self.edge.accounts().get(name));
        let hierarchical = known.is_some_and(|account| account.settings().hierarchical_namespace);
        let endpoints: Map<String, Value> =
            self.endpoints.iter().map(|(door, url)| (word(*door).to_owned(), value!(url))).collect();
        Ok(json(&value!({
            "version": env!("CARGO_PKG_VERSION"),
            "started": self.started_at.to_iso(),
            "now": self.data.store.now().to_iso(),
            "lab": self.lab.is_some(),
            "recorder": self.edge.recorder().is_some(),
            "account": account,
            "hierarchical": hierarchical,
            "endpoints": endpoints,
            "clock": {"moved_seconds": self.data.moved.seconds()},
            "place": if caller.is_operator() { self.place.clone() } else { "directory".to_owned() },
        })))
    }

    pub(super) async fn describe_health(&self) -> Told {
        let stopping = *self.stopping.borrow();
        Ok(json(&health::check(&self.data, stopping).await))
    }

    pub(super) async fn describe_metrics(&self, caller: &Caller) -> Told {
        caller.sees()?;
        let operations: Vec<Value> = self
            .edge
            .metrics()
            .read()
            .filter(|row| row.by_class.iter().any(|count| *count > 0))
            .map(operation)
            .collect();
        let engine = self.data.engine_metrics().map(|engine| {
            value!({
                "commits": engine.commits, "transactions": engine.committed_transactions,
                "bytes": engine.committed_bytes, "commit_seconds": engine.commit_nanos as f64 / 1e9,
                "stalls": engine.stalls, "stall_seconds": engine.stall_nanos as f64 / 1e9,
                "queued": engine.queued, "journal_bytes": engine.journal_bytes, "buffered_bytes": engine.buffered_bytes,
                "failures": engine.failures,
            })
        });
        Ok(json(&value!({
            "at_ms": (crate::clock::machine().ticks() - lazuli_engine::clock::UNIX_EPOCH_TICKS) / 10_000,
            "uptime_seconds": self.started.elapsed().as_secs_f64(),
            "connections": self.connections.count(),
            "memory_bytes": metrics::resident_bytes(),
            "operations": operations,
            "engine": engine,
            "disk": self.data.disk().map(|(free, total)| value!({"free_bytes": free, "total_bytes": total})),
            "recorder": self.edge.recorder().map(|recorder| recorder.fill()),
            "lab": self.lab.as_ref().map(|lab| value!({"fired": lab.fired()})),
        })))
    }

    pub(super) async fn list_accounts(&self, caller: &Caller) -> Told {
        caller.operator()?;
        let mut accounts = Vec::new();
        for name in self.account_names().await? {
            accounts.push(self.describe_account(&name).await?);
        }
        Ok(json(&value!({"accounts": accounts})))
    }

    /// Those of the configuration and those that are stored.
    pub(super) async fn account_names(&self) -> Result<Vec<String>, Refused> {
        let stored = self.data.store.accounts().await.map_err(|_| Refused::bad("the accounts cannot be read"))?;
        let mut names: Vec<String> = self.edge.accounts().names().iter().map(|name| name.as_str().to_owned()).collect();
        names.extend(stored.iter().map(|(name, _)| name.as_str().to_owned()));
        names.sort();
        names.dedup();
        Ok(names)
    }

    async fn describe_account(&self, name: &str) -> Result<Value, Refused> {
        let parsed = lazuli_model::AccountName::parse(name).map_err(|_| Refused::bad("this is no account's name"))?;
        let known = self.data.store.known_account(&parsed).await.map_err(|_| Refused::bad("it cannot be read"))?;
        let settings: Vec<Value> = known
            .settings
            .entries()
            .zip(SETTINGS)
            .map(|((name, set), setting)| value!({"name": name, "value": set, "about": setting.about}))
            .collect();
        let keys = if self.edge.accounts().configured(name) { "configured" } else { "stored" };
        Ok(value!({"name": name, "keys": keys, "settings": settings}))
    }

    pub(super) async fn set_account(&self, caller: &Caller, name: &str, changes: Map<String, Value>) -> Told {
        caller.operator()?;
        let text = |given: Value| given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        let changes = changes.into_iter().map(|(name, given)| (name, text(given))).collect();
        let ask = Ask::Set { name: name.to_owned(), changes };
        let configured = |name: &str| self.edge.accounts().configured(name);
        account::carry_out(&ask, &self.data.store, configured).await.map_err(Refused::bad)?;
        Ok(json(&self.describe_account(name).await?))
    }

    pub(super) fn tail(&self, caller: &Caller, request: &Request<Incoming>) -> Told {
        caller.operator()?;
        let after = parameter(request, "after").and_then(|text| text.parse().ok());
        Ok(json(&self.log.after(after)))
    }
}

fn operation(row: Reading) -> Value {
    let used = row.latency.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    let latency: Vec<(u64, u64)> = row.latency[..used].iter().enumerate().map(|(n, count)| (1 << n, *count)).collect();
    value!({
        "name": row.operation, "by_class": row.by_class, "micros": row.micros,
        "bytes_in": row.bytes_in, "bytes_out": row.bytes_out, "latency": latency,
    })
}

fn word(door: Door) -> &'static str {
    match door {
        Door::Api(Service::Blob) => "blob",
        Door::Api(Service::Queue) => "queue",
        Door::Api(Service::Table) => "table",
        Door::Api(Service::File) => "file",
        Door::Api(Service::Dfs) => "dfs",
        Door::Website => "web",
        Door::Smb => "smb",
    }
}
