//! What must be true of engine and extents after a power cut, whatever was lost.

use std::path::Path;

use lazuli_engine::content::Recovery;
use lazuli_engine::embedded::Options;
use lazuli_engine::extents::Extents;
use lazuli_engine::{Clock, Embedded, Stamp};
use tokio::sync::RwLock;

use super::workload::{
    Everything, Head, Held, MEMTABLE_BYTES, Marks, content, everything, extents_options, settle, stage, sweep, verify,
    write,
};

/// Opens what is in `data` and checks it against what had been marked (`before`) and all that ever was (`ever`).
/// Says what is wrong.
pub async fn check(data: &Path, before: &Marks, ever: &Marks) -> Result<(), String> {
    // A wall clock that stands at the beginning of time: only what was written down can make stamps go on.
    let options = Options {
        clock: Clock::new(|| Stamp(1)),
        cache_bytes: 1 << 20,
        point_cache_bytes: 1 << 20,
        range_cache_bytes: 1 << 20,
        memtable_bytes: MEMTABLE_BYTES,
        ..Options::default()
    };
    let engine = Embedded::open(data, options).map_err(|error| format!("the engine does not open: {error}"))?;
    let extents = Extents::open(&engine.directory().extents(), extents_options())
        .map_err(|error| format!("the extents do not open: {error}"))?;
    let fault = |fault| format!("{fault:?}");

    let all = everything(&engine).await.map_err(fault)?;
    nothing_lost(&all, before)?;
    nothing_invented(&all, before, ever)?;
    whole_transactions(&all)?;
    settle(&engine, &extents).await.map_err(fault)?;
    if let Some(extent) = extents.unsettled().first() {
        return Err(format!("extent {extent} is not settled"));
    }
    for head in all.heads.values() {
        verify(&extents, head).await?;
    }

    // Life goes on: garbage is swept, and what is new does not tread on what is old.
    sweep(&engine, &extents, &RwLock::new(())).await.map_err(fault)?;
    let op = u64::MAX >> 1;
    let staged = stage(&extents, &content(op, 30_000), false).await.map_err(fault)?;
    let held = Held::Pieces(staged.pieces().to_vec());
    let stamp =
        write(&engine, u64::MAX, op, Some(held), None).await.map_err(fault)?.map_err(|seen| seen.to_string())?;
    staged.adopted();
    let latest = all.history.values().map(|row| row.stamp).max().unwrap_or(0);
    if stamp <= latest {
        return Err(format!("stamp {stamp} follows {latest}"));
    }
    let after = everything(&engine).await.map_err(fault)?;
    for head in after.heads.values() {
        verify(&extents, head).await?;
    }
    extents.freed().await;
    Ok(())
}

fn nothing_lost(all: &Everything, before: &Marks) -> Result<(), String> {
    for (op, stamp) in &before.acknowledged {
        match all.history.get(op) {
            None => return Err(format!("write {op} was acknowledged and is lost")),
            Some(row) if row.stamp != *stamp => return Err(format!("write {op} has another stamp")),
            Some(_) => {}
        }
    }
    match before.seen.iter().find(|op| !all.history.contains_key(op)) {
        Some(op) => Err(format!("write {op} was seen and is lost")),
        None => Ok(()),
    }
}

fn nothing_invented(all: &Everything, before: &Marks, ever: &Marks) -> Result<(), String> {
    if let Some(op) = all.history.keys().find(|op| ever.refused.contains(op)) {
        return Err(format!("write {op} was refused and is there"));
    }
    if let Some(op) = all.history.keys().find(|op| !before.issued.contains(op)) {
        return Err(format!("write {op} is there before it was issued"));
    }
    // One writer, one order: what survives is what came before some moment.
    let latest = all.history.values().map(|row| row.stamp).max().unwrap_or(0);
    let missing = ever.acknowledged.iter().find(|(op, stamp)| **stamp <= latest && !all.history.contains_key(op));
    match missing {
        Some((op, _)) => Err(format!("write {op} is lost, and a later one is not")),
        None => Ok(()),
    }
}

fn whole_transactions(all: &Everything) -> Result<(), String> {
    let mut stamps: Vec<_> = all.history.values().map(|row| row.stamp).collect();
    stamps.sort_unstable();
    if stamps.windows(2).any(|two| two[0] == two[1]) {
        return Err("two writes have one stamp".into());
    }
    let blobs = all.heads.keys().chain(all.counts.keys()).copied().chain(all.history.values().map(|row| row.blob));
    for blob in blobs {
        let of_it = || all.history.iter().filter(|(_, row)| row.blob == blob);
        let last = of_it().max_by_key(|(_, row)| row.stamp).map(|(op, row)| (*op, row.stamp));
        let head = all.heads.get(&blob).map(|head| (head.op, head.stamp));
        if head != last {
            return Err(format!("blob {blob} is at {head:?}, its history at {last:?}"));
        }
        let (count, rows) = (all.counts.get(&blob).copied().unwrap_or(0), of_it().count() as u64);
        if count != rows {
            return Err(format!("blob {blob} counts {count} writes and has {rows}"));
        }
    }
    match all.heads.values().flat_map(Head::pieces).find(|piece| all.garbage.contains(piece)) {
        Some(piece) => Err(format!("{piece:?} is in use and garbage")),
        None => Ok(()),
    }
}
