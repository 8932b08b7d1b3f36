//! LOGOFF: what the session holds is closed, and what waits is ended. The session itself ends when the answer is out, which it still signs.

use std::sync::Arc;

use crate::serve::Client;

pub(crate) async fn run(client: &Arc<Client>, session: u64) {
    client.gateway.end_pending(session);
    // What is durable waits for the client to come back.
    client.gateway.end_opens(session, None, true).await;
}
