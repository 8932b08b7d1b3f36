//! `lazuli-benches compare` races Lazuli against Azurite, nginx and fio in one run and writes docs/performance.md;
//! `lazuli-benches load` drives one kind of request at a server that is already running, for profiling.
//! `lazuli-benches queue` races queues against Azurite, Redis and PostgreSQL; `lazuli-benches table` tables against Azurite and PostgreSQL.
//! `lazuli-benches file` races files against the file system itself, and `lazuli-benches lake` a hierarchical namespace.
//! `lazuli-benches sweep`, `growth` and `fill` go over sizes and clients, and over how much is stored.
//! `benches/run` builds both binaries and starts the comparison.

mod azure;
mod clock;
#[cfg(feature = "rados")]
mod cluster;
mod compare;
mod contest;
mod databases;
mod file;
mod fill;
mod growth;
mod lake;
mod load;
mod nothing;
mod peers;
mod plot;
mod process;
mod queue;
mod reply;
mod report;
mod request;
mod restart;
mod server;
mod sweep;
mod table;
mod turns;
mod work;

use clap::Parser;

#[derive(Parser)]
enum Arguments {
    /// Lazuli against its peers, all in one run
    Compare(compare::Options),
    /// Sizes from 1 KiB to 1 GiB and 1 to 256 clients, against Azurite and nginx, with plots
    Sweep(sweep::Options),
    /// The same requests beside few and beside millions of blobs and entities, with a plot
    Fill(fill::Options),
    /// The same operation beside little and beside much
    Growth(growth::Options),
    /// Queues at every depth, against Azurite, Redis and PostgreSQL
    Queue(queue::Options),
    /// Files: ranges, large directories, renames and snapshots, against the file system below
    File(file::Options),
    /// Data Lake: directories of many files, renames, appends and access control lists, against the file system below
    Lake(lake::Options),
    /// Tables: inserts, gets, batches, queries and scans, against Azurite and PostgreSQL
    Table(table::Options),
    /// Gateways on a Ceph cluster, beside librados and Ceph's gateway for S3
    #[cfg(feature = "rados")]
    Cluster(cluster::Options),
    /// One kind of request at a running server
    Load(work::Options),
    /// A server that reads requests and writes the same answer to all: the limit of any
    Nothing(nothing::Options),
}

fn main() -> std::io::Result<()> {
    match Arguments::parse() {
        Arguments::Compare(options) => compare::run(&options),
        Arguments::Sweep(options) => sweep::run(&options),
        Arguments::Fill(options) => fill::run(&options),
        Arguments::Growth(options) => growth::run(&options),
        Arguments::Queue(options) => queue::run(&options),
        Arguments::File(options) => file::run(&options),
        Arguments::Lake(options) => lake::run(&options),
        Arguments::Table(options) => table::run(&options),
        #[cfg(feature = "rados")]
        Arguments::Cluster(options) => cluster::run(&options),
        Arguments::Load(options) => work::run(&options),
        Arguments::Nothing(options) => nothing::run(&options),
    }
}
