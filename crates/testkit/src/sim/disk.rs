//! The same clients, and those of a lake, over the real engine and real extents, on a disk whose power is cut at any moment.
//!
//! The engine has threads of its own, so a seed does not give the same run twice; what it gives is the same mischief. A world is lived
//! once, in a process that the recorder of `power` watches, and in some worlds the disk fails now and then meanwhile. Then
//! for moments of the record a disk is drawn that a power cut could have left, the server is started on it, and
//! every object is looked at: what was acknowledged is there, what was under way is there whole or not at all.
//! In a third of these disks a bit is flipped first: then the server may refuse, but what it serves has to be right.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use lazuli_engine::Embedded;
use lazuli_engine::embedded::Options;
use lazuli_engine::extents::{self, Extents};

use super::lake::on_disk;
use super::scene::{Mischief, SEQUEL, Scene, Time};
use super::world::{Cast, Marks, Report, Saw, everything, serve, sweep};
use crate::chance::Chance;
use crate::power::{DATA, Lies, MARKS, Order, Trace, World, save};

/// Small, so that a world has tables, compactions and several files of the log.
const MEMTABLE_BYTES: u64 = 4 << 10;

/// What came of a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survived {
    pub lived: Report,
    pub cuts: usize,
    pub flips: usize,
    /// Starts refused because of a flipped bit.
    pub refused: usize,
    pub looked: Report,
}

/// The library to preload, built in `around`.
pub fn recorder(around: &Path) -> Result<PathBuf, String> {
    let (source, library) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("powercut/shim.c"), around.join("shim.so"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(compiler).args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).status();
    match built {
        Ok(status) if status.success() => Ok(library),
        Ok(_) | Err(_) => Err(format!("a C compiler is needed to build {}", source.display())),
    }
}

/// Runs `program --inside SEED DIR` where the recorder sees what it does; true if all was well.
pub fn watched(program: &Path, seed: u64) -> Result<bool, String> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let around = base.join(format!("lazuli-simulate-{}-{seed}", std::process::id()));
    let told = |error: std::io::Error| format!("{}: {error}", around.display());
    std::fs::create_dir_all(around.join("watched")).map_err(told)?;
    let status = Command::new(program)
        .args(["--inside", &seed.to_string()])
        .arg(&around)
        .env("LD_PRELOAD", recorder(&around)?)
        .env("LAZULI_POWERCUT_DIR", around.join("watched"))
        .env("LAZULI_POWERCUT_TRACE", around.join("trace"))
        .env("LAZULI_POWERCUT_ERRORS", if seed.is_multiple_of(2) { "300" } else { "0" })
        .status();
    let _ = std::fs::remove_dir_all(&around);
    Ok(status.map_err(told)?.success())
}

/// What the watched process does.
pub fn inside(seed: u64, around: &Path) -> Result<Survived, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let time = Time::new(seed);
    let mut chance = Chance::new(seed ^ 0xD15C);
    let said = |what: String| format!("seed {seed} on a disk, {what}");
    let saw = runtime.block_on(live(seed, &around.join("watched"), &time, &mut chance)).map_err(said)?;
    let mut survived = Survived::default();
    for one in &saw {
        survived.lived.add(one.judge().map_err(said)?);
    }
    let trace = Trace::read(&around.join("trace")).map_err(|error| said(error.to_string()))?;
    let mut moments: Vec<usize> = (0..8).map(|_| chance.below(trace.0.len() + 1)).collect();
    moments.push(trace.0.len());
    moments.sort_unstable();
    let (mut world, mut done) = (World::new(Lies::None), 0);
    for moment in moments {
        trace.0[done..moment].iter().for_each(|change| world.apply(change));
        done = moment;
        let marks = read_marks(&world.marks);
        if !marks.set_up {
            continue;
        }
        let order = *chance.pick(&[Order::Ordered, Order::Loose]);
        let at = around.join(format!("cut-{moment}"));
        save(&world.image(order, &mut chance), DATA, &at).map_err(|error| said(error.to_string()))?;
        let flipped = chance.one_in(3).then(|| flip(&at, &mut chance)).flatten();
        survived.cuts += 1;
        survived.flips += usize::from(flipped.is_some());
        let looked = runtime.block_on(look(&at, &time, &saw, &marks, flipped.is_some()));
        let _ = std::fs::remove_dir_all(&at);
        match looked {
            Ok(Some(report)) => survived.looked.add(report),
            Ok(None) => survived.refused += 1,
            Err(what) => {
                let flipped = flipped.map(|bit| format!(", {bit}")).unwrap_or_default();
                return Err(said(format!("cut after change {moment} ({order:?}){flipped}: {what}")));
            }
        }
    }
    Ok(survived)
}

async fn live(seed: u64, dir: &Path, time: &Arc<Time>, chance: &mut Chance) -> Result<Vec<Box<dyn Saw>>, String> {
    let fails = seed.is_multiple_of(2);
    let mischief = Mischief { faults: usize::from(fails), ..Mischief::of(seed) };
    let marks = File::create(dir.join(MARKS)).map_err(|error| error.to_string())?;
    let (engine, scene) = start(&dir.join(DATA), time, mischief, Some(marks), 1)?;
    let sweeper = tokio::spawn(sweep(scene.store.clone(), chance.draw()));
    on_disk::prepare(&scene).await;
    let mut casts: Vec<Cast> = everything(&scene, chance.one_in(3), chance).await?;
    casts.push(on_disk::cast(&scene, chance));
    let armed = dir.join("armed");
    std::fs::create_dir(&armed).map_err(|error| error.to_string())?;
    let mut saw = Vec::new();
    for cast in casts {
        saw.push(cast.await.map_err(|gone| format!("a client ended: {gone}"))??);
    }
    std::fs::remove_dir(&armed).map_err(|error| error.to_string())?;
    sweeper.abort();
    drop(scene);
    drop(engine);
    Ok(saw)
}

type Started = (Arc<Embedded>, Arc<Scene>);

fn start(
    data: &Path,
    time: &Arc<Time>,
    mischief: Mischief,
    marks: Option<File>,
    first: u64,
) -> Result<Started, String> {
    let small = Options {
        cache_bytes: 1 << 20,
        point_cache_bytes: 1 << 20,
        range_cache_bytes: 1 << 20,
        memtable_bytes: MEMTABLE_BYTES,
        clock: time.clock(),
        ..Options::default()
    };
    let engine = Embedded::open(data, small).map_err(|error| format!("the engine does not open: {error}"))?;
    let engine = Arc::new(engine);
    let options = extents::Options { capacity: 3 << 20, keep_free: 0, ..extents::Options::default() };
    let extents = Extents::open(&engine.directory().extents(), options)
        .map_err(|error| format!("the extents do not open: {error}"))?;
    let scene = serve(engine.clone(), Arc::new(extents), time.clone(), mischief, marks, first);
    Ok((engine, scene))
}

/// Starts on what a cut left, and looks at everything. `None`: damaged as it is, nothing was served from it.
async fn look(
    at: &Path,
    time: &Arc<Time>,
    saw: &[Box<dyn Saw>],
    marks: &Marks,
    damaged: bool,
) -> Result<Option<Report>, String> {
    let quiet = Mischief { faults: 0, hang_ups: 0, forgeries: 0, jumps: 0, clients: 0, calls: 0, damaged };
    let (engine, scene) = match start(at, time, quiet, None, SEQUEL) {
        Ok(started) => started,
        Err(_) if damaged => return Ok(None),
        Err(what) => return Err(what),
    };
    // What was left over is swept first: it must not take anything with it.
    for _ in 0..30 {
        if !matches!(scene.store.sweep_step().await, Ok(true)) {
            break;
        }
    }
    let mut report = Report::default();
    for one in saw {
        report.add(one.judge_after(&scene, marks).await?);
    }
    drop(scene);
    drop(engine);
    Ok(Some(report))
}

fn read_marks(bytes: &[u8]) -> Marks {
    let mut marks = Marks::default();
    let text = String::from_utf8_lossy(bytes);
    // A line without an end was not written whole.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let Some((what, call)) = line.trim_end().split_once(' ') else { continue };
        let call = call.parse().expect("marks are numbers");
        match what {
            "C" => drop(marks.called.insert(call)),
            "R" => drop(marks.returned.insert(call)),
            _ => marks.set_up = true,
        }
    }
    marks
}

/// Flips one bit of what is stored; says which. First a kind of file is drawn, so that those of which there is little have their share.
fn flip(data: &Path, chance: &mut Chance) -> Option<String> {
    let mut files = Vec::new();
    let mut left = vec![data.to_owned()];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(at).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() { left.push(path) } else { files.push(path) }
        }
    }
    files.retain(|path| path.metadata().is_ok_and(|file| file.len() > 0));
    files.sort();
    let parts = ["keys/log", "keys/tree/tables", "keys/tree", "keys", "extents", ""];
    for _ in 0..40 {
        let part = data.join(*chance.pick(&parts));
        let files: Vec<&PathBuf> = files.iter().filter(|path| path.starts_with(&part)).collect();
        let Some(path) = files.get(chance.below(files.len().max(1))) else { continue };
        let bytes = std::fs::read(path).ok()?;
        let at = chance.below(bytes.len());
        if bytes[at] != 0 {
            let flipped = bytes[at] ^ (1 << chance.below(8));
            File::options().write(true).open(path).ok()?.write_all_at(&[flipped], at as u64).ok()?;
            let name = path.strip_prefix(data).unwrap_or(path).display();
            return Some(format!("a bit flipped at {at} of {name} ({} bytes)", bytes.len()));
        }
    }
    None
}
