//! Opens that outlive their connection.

use std::sync::Arc;
use std::time::Duration;

use super::Gateway;
use super::opens::Open;

impl Gateway {
    /// A durable open waits for its client, unless its cache is what somebody else waits for.
    pub(super) async fn keep(self: &Arc<Self>, open: Arc<Open>, seconds: u64) {
        let lost = {
            let mut state = open.state();
            (state.session, state.tree) = (0, 0);
            state.lost += 1;
            state.lost
        };
        let unanswered = self.is_asked(&open).await;
        let gateway = self.clone();
        let ends = async move {
            if !unanswered {
                (gateway.alarm)(Duration::from_secs(seconds)).await;
            }
            let over = {
                let mut opens = gateway.opens();
                let still = {
                    let state = open.state();
                    state.session == 0 && state.lost == lost
                };
                still && opens.remove(open.id).is_some()
            };
            if over {
                gateway.close_open(&open).await;
            }
        };
        tokio::spawn(ends);
    }

    /// Whether somebody waits for its client to give up what it caches. The client may have heard of it, and is not there to answer; of what is
    /// asked from now on it does not hear (`let_go`).
    async fn is_asked(&self, open: &Open) -> bool {
        let Ok(file) = open.file() else { return false };
        self.store.query_handle(&file.at).await.is_ok_and(|seen| seen.breaking)
    }
}
