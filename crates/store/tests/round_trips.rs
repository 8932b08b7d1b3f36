//! What operations cost on a cluster, in round trips: asking for rows, and committing, each count one.

mod world;

use lazuli_model::blob::DeleteSnapshots;
use world::*;

/// The round trips of what `act` does.
async fn trips<T>(world: &World, act: impl Future<Output = T>) -> u64 {
    let before = world.engine.round_trips();
    act.await;
    world.engine.round_trips() - before
}

/// The container, the account's settings, what the name has, the commit. Without saying what it wants, a decision would ask for
/// the rows of a name one by one.
#[tokio::test]
async fn a_small_blob_costs_few_round_trips() {
    let world = World::gentle();
    world.create("box", 1).await;
    let table = [
        ("put", trips(&world, world.put("new", b"one")).await, 4),
        ("put over another", trips(&world, world.put("new", b"two")).await, 4),
        ("get", trips(&world, world.get("new", None)).await, 3),
        ("get what is not there", trips(&world, world.get("other", None)).await, 4),
        ("delete", trips(&world, world.delete("new", Some(DeleteSnapshots::Include))).await, 8),
    ];
    for (what, counted, most) in table {
        assert!(counted <= most, "{what}: {counted} round trips, and not {most}");
    }
}
