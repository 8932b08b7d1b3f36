//! Answers become a frame, signed one by one or sealed together. Only to find the keys are the sessions looked at: what costs time, on long answers, needs
//! neither them nor the connection.

use std::sync::Arc;

use super::connection::{Close, Reply};
use super::protection::Answer;
use super::{ConnectionId, Sessions};
use crate::crypt::{Sealer, SigningKey};
use crate::packet::compound::{Chain, Encoded};
use crate::packet::header::Flags;
use crate::packet::payload::Payload;
use crate::packet::transform::TRANSFORM_SIZE;

/// The answers of one frame, with the keys that protect them.
#[derive(Debug)]
pub struct Answers {
    replies: Vec<(Reply, Option<Arc<SigningKey>>)>,
    sealer: Option<Arc<Sealer>>,
}

impl Answers {
    pub fn new(connection: ConnectionId, replies: Vec<Reply>, sessions: &Sessions) -> Result<Self, Close> {
        let sealed = replies.iter().find(|reply| reply.answer == Answer::Sealed).map(|reply| reply.header.session);
        let sealer_of = |id| sessions.still(id).and_then(|session| session.sealer.clone()).ok_or(Close::Sealing);
        let sealer = sealed.map(sealer_of).transpose()?;
        let key_of = |reply: &Reply| {
            let session = sessions.still(reply.header.session).filter(|_| reply.answer == Answer::Signed)?;
            Some(session.signing(connection).unwrap_or(session.binding()).clone())
        };
        let with_key = |reply: Reply| (key_of(&reply), reply);
        let replies = replies.into_iter().map(with_key).map(|(key, reply)| (reply, key)).collect();
        Ok(Self { replies, sealer })
    }

    /// The data of a READ at its end are copied only where they have to be.
    pub fn encode(self) -> Result<Encoded, Close> {
        let mut keys = Vec::with_capacity(self.replies.len());
        let mut chain = Chain::join(self.replies.into_iter().map(|(reply, key)| {
            let echoes = reply.answer == Answer::Signed && reply.header.signature != [0; 16];
            let signed = if echoes || key.is_some() { Flags::SIGNED } else { Flags::default() };
            keys.push(key);
            let flags = reply.header.flags.with(signed);
            reply.response.encode(&crate::packet::Header { flags, ..reply.header })
        }));
        for (at, key) in keys.iter().enumerate() {
            let Some(key) = key else { continue };
            if key.wants_one_piece() {
                chain.gather();
            }
            chain.sign(at, |head, payload| key.sign(head, payload));
        }
        let Some(sealer) = self.sealer else { return Ok(chain.finish()) };
        let mut frame = chain.behind(TRANSFORM_SIZE);
        sealer.seal(&mut frame).map_err(|_| Close::Exhausted)?;
        Ok(Encoded { head: frame, payload: Payload::default() })
    }
}
