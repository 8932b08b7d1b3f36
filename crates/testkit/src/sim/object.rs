//! Something that clients use and a reference judges: what to ask of it, and whether the answers have an order.

use std::fmt::Debug;
use std::sync::Arc;

use lazuli_http::Service;

use super::scene::{Scene, ticks};
use super::wire::{Answer, Request, Told, Wire};
use crate::chance::Chance;
use crate::linear::{Event, Specification};

/// A call, and the beats of the clock between which it happened.
#[derive(Clone, Debug)]
pub struct Asked<C> {
    pub call: C,
    pub from: u64,
    pub until: u64,
}

impl<C> Asked<C> {
    /// The moments at which it can have happened: one, if the answer tells.
    pub fn moments(&self, told: Option<u64>) -> Vec<u64> {
        match told {
            Some(beat) => vec![ticks(beat)],
            None => (self.from..=self.until).map(ticks).collect(),
        }
    }
}

pub type Call<O> = <O as Object>::Call;
pub type Record<O> = Event<Asked<Call<O>>, Answer>;

pub trait Object: Specification<Op = Asked<<Self as Object>::Call>, Answer = Answer> + Send + Sync + 'static {
    type Call: Clone + Debug + Send + Sync;
    /// What a client has learnt, and so may use in its next call.
    type Known: Default + Send;
    const SERVICE: Service;

    fn name(&self) -> String;
    /// What has to be there before the first call.
    fn setup(&self) -> Vec<Request>;
    /// `value` is a number that nobody has had.
    fn choose(&self, scene: &Scene, chance: &mut Chance, known: &Self::Known, value: u64) -> Self::Call;
    fn request(&self, call: &Self::Call) -> Request;
    fn learn(&self, scene: &Scene, known: &mut Self::Known, call: &Self::Call, answer: &Answer);
    /// Whether the call changes nothing when it succeeds.
    fn reads(call: &Self::Call) -> bool;
    /// Histories that are judged one by one, because nothing is promised about calls of two of them: one, as a rule.
    fn apart(&self, history: &[Record<Self>]) -> Vec<Vec<Record<Self>>>
    where
        Self: Sized,
    {
        vec![history.to_vec()]
    }
    /// Calls that look at everything there is, and at what is `known` besides, for the end of a history.
    fn inspect(&self, known: &Self::Known) -> Vec<Self::Call>;
}

/// Calls, learns, and pushes the clock. `Err`: the server said what it may not say.
pub async fn client<O: Object>(
    id: usize,
    scene: Arc<Scene>,
    object: Arc<O>,
    mut chance: Chance,
) -> Result<Vec<Record<O>>, String> {
    let mut wire = Wire::new(scene.clone(), O::SERVICE);
    let mut known = O::Known::default();
    let mut records = Vec::new();
    for _ in 0..scene.mischief.calls {
        for _ in 0..chance.below(4) {
            tokio::task::yield_now().await;
        }
        if chance.below(1000) < scene.mischief.jumps {
            scene.time.jump(&mut chance);
        }
        let call = object.choose(&scene, &mut chance, &known, scene.next());
        records.extend(one(id, &scene, &*object, &mut wire, &mut known, call, &mut chance).await?);
    }
    Ok(records)
}

/// One call, as it was seen; nothing, if it must not have happened.
pub async fn one<O: Object>(
    id: usize,
    scene: &Scene,
    object: &O,
    wire: &mut Wire,
    known: &mut O::Known,
    call: O::Call,
    chance: &mut Chance,
) -> Result<Option<Record<O>>, String> {
    let (called, from) = (scene.next(), scene.earliest());
    // By which the record of it is found.
    let request = object.request(&call).with("x-ms-client-request-id", called.to_string());
    scene.mark('C', called);
    let told = wire.ask(&request, chance).await;
    let until = scene.time.latest();
    let op = Asked { call, from, until };
    match told {
        Told::Answer(answer) => {
            scene.mark('R', called);
            object.learn(scene, known, &op.call, &answer);
            Ok(Some(Event { client: id, op, called, returned: Some((answer, scene.next())) }))
        }
        Told::Nothing if O::reads(&op.call) => Ok(None),
        // Where the engine has threads, nobody knows when it has ended.
        Told::Nothing if scene.has_threads() => {
            let until = until + 20;
            Ok(Some(Event { client: id, op: Asked { until, ..op }, called, returned: None }))
        }
        Told::Nothing => Ok(Some(Event { client: id, op, called, returned: Some((Answer::unknown(), scene.next())) })),
        Told::Void => Ok(None),
        Told::Wrong(what) => Err(format!("{}: {what}", object.name())),
    }
}
