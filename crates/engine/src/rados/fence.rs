//! Which clients of the cluster gateways are, so that one that is declared dead can be shut out.
//!
//! ```text
//!  object x     a gateway → the name of its client; or `-`: it was fenced before it had written anything
//! ```
//!
//! Held true:
//! * a gateway's client is written down before its first transaction and before its first object of content;
//! * a gateway that was fenced before that is never enrolled, so it never writes;
//! * one that was fenced later is shut out by the cluster. An OSD that has answered the gateway which fenced it knows of that, so what
//!   the survivor has read cannot be changed by a late operator of the dead one.

use bytes::Bytes;

use super::pool::{Found, Pool, ReadStep, Trouble, WriteStep};
use crate::Fault;

const OBJECT: &str = "x";
const CLIENTS: char = 'a';
const NEVER: &[u8] = b"-";
const TRIES: u32 = 8;

pub(super) const DEAD: &str = "this gateway was silent for so long that others took it for dead, and the cluster takes nothing from it any more: start it anew";

pub(super) fn client_row(gateway: u128) -> Bytes {
    format!("{CLIENTS}{gateway:032x}").into()
}

/// Writes down which client the gateway is.
pub(super) async fn enrol(pool: &dyn Pool, gateway: u128) -> Result<(), Fault> {
    let (row, client) = (client_row(gateway), Bytes::from(pool.client()?));
    for _ in 0..TRIES {
        match write_first(pool, &row, client.clone()).await {
            Ok(()) => return Ok(()),
            Err(Trouble::Lost) => continue,
            Err(Trouble::Changed) => {}
            Err(trouble) => return Err(trouble.into()),
        }
        // The answer to an earlier try may have been lost.
        return match written(pool, &row).await? {
            Some(stored) if stored == client => Ok(()),
            Some(_) | None => Err(Fault::Unavailable(DEAD.into())),
        };
    }
    Err(Trouble::Lost.into())
}

pub(super) async fn fence(pool: &dyn Pool, gateway: u128) -> Result<(), Fault> {
    let row = client_row(gateway);
    for _ in 0..TRIES {
        match written(pool, &row).await? {
            Some(stored) if stored == NEVER => return Ok(()),
            Some(client) => {
                let client = std::str::from_utf8(&client)
                    .map_err(|_| Fault::Corrupt(format!("the object {OBJECT} names a client that is none")))?;
                return pool.shut_out(client).await.map_err(Fault::from);
            }
            None => {}
        }
        match write_first(pool, &row, Bytes::from_static(NEVER)).await {
            Ok(()) => return Ok(()),
            // It was enrolled meanwhile, or this was applied: the next look tells.
            Err(Trouble::Changed | Trouble::Lost) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Err(Trouble::Lost.into())
}

async fn write_first(pool: &dyn Pool, row: &Bytes, value: Bytes) -> Result<(), Trouble> {
    let absent = WriteStep::Compare { key: row.clone(), value: Bytes::new() };
    pool.write(OBJECT, vec![absent, WriteStep::Set(vec![(row.clone(), value)])]).await
}

async fn written(pool: &dyn Pool, row: &Bytes) -> Result<Option<Bytes>, Fault> {
    match pool.read(OBJECT, vec![ReadStep::Rows(vec![row.clone()])]).await {
        Ok(mut reading) => match reading.found.pop() {
            Some(Found::Rows { rows, .. }) => Ok(rows.into_iter().next().map(|(_, value)| value)),
            Some(Found::Bytes(_)) | None => Ok(None),
        },
        Err(Trouble::Missing) => Ok(None),
        Err(trouble) => Err(trouble.into()),
    }
}
