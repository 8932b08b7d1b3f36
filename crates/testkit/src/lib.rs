//! What the tests share: a checker of histories, seeded chance, a client and the real binary as a process.

pub mod blob_history;
pub mod chance;
pub mod client;
pub mod faults;
pub mod fuzz;
pub mod hostile;
pub mod killing;
pub mod ledger;
pub mod linear;
pub mod power;
pub mod process;
pub mod queue_history;
pub mod sim;
pub mod smb_client;
