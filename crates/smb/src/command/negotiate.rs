//! NEGOTIATE.

use std::sync::Arc;

use crate::packet::error::ErrorData;
use crate::packet::{Response, negotiate};
use crate::serve::Client;
use crate::session::protection::Answer;
use crate::session::{Close, Received, Reply};
use crate::status::Status;

pub(crate) fn run(
    client: &Arc<Client>,
    received: &Received,
    request: &negotiate::Request,
    answer: Answer,
) -> Result<Reply, Close> {
    let gateway = &client.gateway;
    let (now, salt) = (gateway.now(), gateway.salt());
    let negotiated =
        client.with_connection(|connection| connection.negotiate(&gateway.policy, received, request, now, salt))?;
    let (status, response) = match negotiated {
        Ok(response) => (Status::Success, response),
        Err(status) => (status, Response::Error(ErrorData::None)),
    };
    Ok(Reply { header: client.header(&received.header, 0, status), response, answer })
}
