//! OPLOCK_BREAK from a client: it says what it still caches.

use lazuli_model::file::arbiter::{Acknowledged, Cache, Caching};

use crate::packet::Response;
use crate::packet::oplock::{Break, LeaseAck, OplockBreak, OplockLevel};
use crate::serve::dispatch::{Ask, Outcome};
use crate::status::Status;

use super::caching::{of_lease, of_oplock, oplock_level};

pub(super) async fn run(ask: &Ask<'_>, request: Break) -> Outcome {
    match request {
        Break::Oplock(oplock) => of_handle(ask, &oplock).await,
        Break::LeaseAck(ack) => of_key(ask, &ack).await,
        Break::Lease(_) => Err(Status::InvalidParameter),
    }
}

async fn of_handle(ask: &Ask<'_>, request: &OplockBreak) -> Outcome {
    let open = ask.open(request.file)?;
    let file = open.file()?;
    let level = OplockLevel::from_code(request.level).ok_or(Status::InvalidParameter)?;
    let to = match level {
        OplockLevel::None | OplockLevel::Two => of_oplock(level),
        OplockLevel::Exclusive | OplockLevel::Batch | OplockLevel::Lease => return Err(Status::InvalidParameter),
    };
    let store = &ask.gateway.store;
    let (level, status) = match store.acknowledge_break(&file.at, Cache::Oplock, to).await? {
        Acknowledged::Done(_) => (oplock_level(to), Status::Success),
        Acknowledged::TooMuch => {
            // What was asked for stands.
            store.acknowledge_break(&file.at, Cache::Oplock, Caching::NONE).await?;
            (OplockLevel::None, Status::Success)
        }
        Acknowledged::Unasked => return Err(Status::InvalidOplockProtocol),
    };
    Ok((status, Response::OplockBreak(Break::Oplock(OplockBreak { level: level.code(), file: open.id }))))
}

async fn of_key(ask: &Ask<'_>, request: &LeaseAck) -> Outcome {
    let client = ask.client.with_connection(|connection| connection.agreed().map(|agreed| agreed.client));
    let client = u128::from_le_bytes(client.ok_or(Status::InvalidParameter)?);
    let cache = Cache::Lease { client, key: u128::from_le_bytes(request.key) };
    let at = {
        let opens = ask.gateway.opens();
        let of_lease = opens.all().find_map(|open| open.file().ok().filter(|file| file.cache == cache));
        of_lease.map(|file| file.at.clone())
    };
    let at = at.ok_or(Status::ObjectNameNotFound)?;
    let to = of_lease(request.state);
    match ask.gateway.store.acknowledge_break(&at, cache, to).await? {
        Acknowledged::Done(_) => Ok((Status::Success, Response::OplockBreak(Break::LeaseAck(request.clone())))),
        Acknowledged::TooMuch => Err(Status::RequestNotAccepted),
        Acknowledged::Unasked => Err(Status::Unsuccessful),
    }
}
