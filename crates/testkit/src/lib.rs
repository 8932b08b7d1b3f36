//! What the tests share: a checker of histories, the reference that judges them, faults, workloads.

pub mod linear;
