//! An extension of an engine, which none has to have: entries that walks passed over are kept together until one of them changes, with
//! what walkers noted of them, so that the next walk need not see them all. The embedded engine has it. A walker that can make use of it
//! says so ([`Walker::skipping`](crate::Walker::skipping)), and sees everything where there is no such cache.

use std::any::Any;
use std::sync::OnceLock;

use crate::Entry;

/// A walker that passes over entries of which it knows enough.
pub trait Skipping {
    /// Whether it need not see any of these.
    fn passes(&mut self, stretch: &dyn Stretched) -> bool;
}

/// Entries that lie beside each other.
pub trait Stretched {
    /// What walkers have noted of them, for the next one. It goes when they go.
    fn note(&self) -> &Note;
    /// How many bytes of notes there is room for.
    fn room(&self) -> usize;
    fn each<'a>(&'a self, see: &mut dyn FnMut(&Entry<'a>));
    /// The shorter ones that it consists of, which a walker is asked about if it does not pass over all of it. None, if it is short.
    fn parts(&self, see: &mut dyn FnMut(&dyn Stretched));
}

pub type Note = OnceLock<Box<dyn Any + Send + Sync>>;
