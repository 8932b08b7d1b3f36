//! The connection to a Ceph cluster, in builds that have one. Held true: a server whose clock is far from the cluster's does not start.

use std::sync::Arc;

use lazuli_engine::rados::Pool;

use crate::settings::ClusterPlace;

/// How far this machine's clock may be from the monitors'. Stamps, leases and heartbeats bear it.
#[cfg(feature = "rados")]
const CLOCK_SECONDS_MAX: u64 = 10;
/// How long an operator may take: longer than the cluster needs to replace an OSD that died.
#[cfg(feature = "rados")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

#[cfg(feature = "rados")]
pub fn connect(place: &ClusterPlace) -> Result<Arc<dyn Pool>, String> {
    use lazuli_engine::clock::{TICKS_PER_SECOND, system_time};
    let options = lazuli_rados::Options {
        configuration: place.configuration.clone(),
        user: place.user.clone(),
        pool: place.pool.clone(),
        patience: PATIENCE,
    };
    let cluster = lazuli_rados::Cluster::connect(&options).map_err(|error| error.to_string())?;
    match cluster.time() {
        Ok(there) => {
            let apart = there.0.abs_diff(system_time().0) / TICKS_PER_SECOND;
            if apart > CLOCK_SECONDS_MAX {
                return Err(format!(
                    "this machine's clock is {apart} s from that of the cluster's monitors: set it right (chrony, ntpd), at most \
                     {CLOCK_SECONDS_MAX} s are borne"
                ));
            }
        }
        Err(error) => tracing::warn!(%error, "the cluster's clock cannot be asked; this machine's is believed"),
    }
    Ok(Arc::new(cluster))
}

#[cfg(not(feature = "rados"))]
pub fn connect(place: &ClusterPlace) -> Result<Arc<dyn Pool>, String> {
    Err(format!("this build knows no Ceph, and cannot open the pool {}", place.pool))
}
