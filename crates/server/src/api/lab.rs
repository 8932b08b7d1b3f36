//! The lab's part of the API. Held true: without `--lab` there is nothing here, for nobody; with it, only for the operator.

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde::Deserialize;
use serde_json::json as value;

use super::{Caller, Refused, Told, document, empty, json, json_with};
use crate::console::Console;
use crate::lab::{Lab, RuleSpec};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_seconds: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reset {
    account: Option<String>,
}

impl Console {
    pub(super) async fn lab(&self, caller: &Caller, method: &str, path: &[&str], request: Request<Incoming>) -> Told {
        let off = || Refused::new(StatusCode::NOT_FOUND, "LabOff", "the lab is off: start the server with --lab");
        let lab = self.lab.as_ref().ok_or_else(off)?;
        caller.operator()?;
        match (method, path) {
            ("GET", []) => Ok(json(&value!({"rules": lab.rules(), "clock": self.clock(), "fired": lab.fired()}))),
            ("POST", ["rules"]) => {
                let spec: RuleSpec = document(request).await?;
                let rule = lab.add(spec).map_err(Refused::bad)?;
                Ok(json_with(StatusCode::CREATED, &rule))
            }
            ("DELETE", ["rules"]) => {
                lab.clear();
                Ok(empty(StatusCode::NO_CONTENT))
            }
            ("DELETE", ["rules", id]) => match id.parse().is_ok_and(|id| lab.remove(id)) {
                true => Ok(empty(StatusCode::NO_CONTENT)),
                false => Err(Refused::not_found()),
            },
            ("POST", ["clock"]) => {
                let Advance { advance_seconds } = document(request).await?;
                self.data.moved.advance(advance_seconds).map_err(Refused::bad)?;
                tracing::warn!(advance_seconds, "the lab moved the clocks ahead");
                Ok(json(&self.clock()))
            }
            ("POST", ["reset"]) => self.reset(lab, document(request).await?).await,
            _ => Err(Refused::not_found()),
        }
    }

    fn clock(&self) -> serde_json::Value {
        value!({"now": self.data.store.now().to_iso(), "moved_seconds": self.data.moved.seconds()})
    }

    async fn reset(&self, lab: &Lab, reset: Reset) -> Told {
        let names = crate::reset::accounts(&self.data.store, self.edge.accounts().names()).await;
        let emptied = crate::reset::empty(&self.data.store, &names, reset.account.as_deref()).await;
        let emptied = emptied.map_err(Refused::bad)?;
        lab.clear();
        if let Some(recorder) = self.edge.recorder() {
            recorder.clear();
        }
        tracing::warn!(?emptied, "the lab emptied the accounts");
        Ok(json(&emptied))
    }
}
