//! Leases on work that one gateway at a time should do.
//!
//! ```text
//!  object x     l work        → gateway (16) until (8)
//! ```
//!
//! Held true: two gateways hold a lease together for no longer than their clocks differ. So what is done under it must be right
//! even if two do it; it is only wasteful.

use std::sync::PoisonError;

use bytes::{BufMut, Bytes, BytesMut};

use super::Gateway;
use super::pool::{Found, ReadStep, Trouble, WriteStep};
use crate::clock::TICKS_PER_SECOND;
use crate::{Fault, Stamp};

const OBJECT: &str = "x";
const LASTS: u64 = 60 * TICKS_PER_SECOND;
/// A lease with less than this left is renewed.
const RENEWED: u64 = 30 * TICKS_PER_SECOND;

pub(super) async fn hold(gateway: &Gateway, work: &str) -> Result<bool, Fault> {
    let now = gateway.clock.now().0;
    let held = gateway.leases.lock().unwrap_or_else(PoisonError::into_inner).get(work).copied();
    if held.is_some_and(|until| until.0 > now + RENEWED) {
        return Ok(true);
    }
    let key = Bytes::from(format!("l{work}"));
    let stored = match gateway.pool.read(OBJECT, vec![ReadStep::Rows(vec![key.clone()])]).await {
        Ok(mut reading) => match reading.found.pop() {
            Some(Found::Rows { rows, .. }) => rows.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
            Some(Found::Bytes(_)) | None => Bytes::new(),
        },
        Err(Trouble::Missing) => Bytes::new(),
        Err(trouble) => return Err(trouble.into()),
    };
    let holder = stored.first_chunk().map(|id| u128::from_be_bytes(*id));
    let until = stored.last_chunk().map_or(0, |until| u64::from_be_bytes(*until));
    if holder.is_some_and(|holder| holder != gateway.id) && until > now {
        return Ok(false);
    }
    let mut value = BytesMut::with_capacity(24);
    value.put_u128(gateway.id);
    value.put_u64(now + LASTS);
    let steps =
        vec![WriteStep::Compare { key: key.clone(), value: stored }, WriteStep::Set(vec![(key, value.freeze())])];
    match gateway.pool.write(OBJECT, steps).await {
        Ok(()) => {}
        Err(Trouble::Changed | Trouble::Lost) => return Ok(false),
        Err(trouble) => return Err(trouble.into()),
    }
    gateway.leases.lock().unwrap_or_else(PoisonError::into_inner).insert(work.to_owned(), Stamp(now + LASTS));
    Ok(true)
}
