//! `lazuli-benches compare` races Lazuli against Azurite, nginx and fio in one run and writes docs/performance.md;
//! `lazuli-benches load` drives one kind of request at a server that is already running, for profiling.
//! `benches/run` builds both binaries and starts the comparison.

mod clock;
mod compare;
mod contest;
mod load;
mod peers;
mod reply;
mod report;
mod request;
mod restart;
mod server;
mod work;

use clap::Parser;

#[derive(Parser)]
enum Arguments {
    /// Lazuli against its peers, all in one run
    Compare(compare::Options),
    /// One kind of request at a running server
    Load(work::Options),
}

fn main() -> std::io::Result<()> {
    match Arguments::parse() {
        Arguments::Compare(options) => compare::run(&options),
        Arguments::Load(options) => work::run(&options),
    }
}
