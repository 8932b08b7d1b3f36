//! The same table in PostgreSQL, with both keys as its primary key.

use super::{BATCH, Connection, PARTITION, Peer, WANTED, Work};
use crate::databases::connect_postgres;
use crate::request::Request;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;

const COLUMNS: &str = "partition text collate \"C\" not null, row text collate \"C\" not null, modified timestamptz not null default now(),
    number int4, name text, flag bool, ratio float8, moment timestamptz, primary key (partition, row)";
const INSERT: &str = "insert into writes (partition, row, number, name, flag, ratio, moment)
    values ($1, $2, $3, repeat('x', 100), $3 % 2 = 0, $3 % 100 + 0.5, '2026-01-01Z')";
const BATCH_INSERT: &str = "insert into writes (partition, row, number, name, flag, ratio, moment)
    select $1, lpad(n::text, 3, '0'), n, repeat('x', 100), n % 2 = 0, n % 100 + 0.5, '2026-01-01Z' from generate_series(0, $2) n";
const GET: &str = "select * from bench where partition = $1 and row = $2";
const PAGE: &str = "select * from bench where partition = $1 order by row";
const SCAN: &str = "select * from bench where number = 7 and flag = false order by partition, row";
const SEARCH: &str = "select * from bench where name <> repeat('x', 100) order by partition, row";

pub struct Postgres {
    port: u16,
}

impl Postgres {
    pub fn new(port: u16) -> io::Result<Self> {
        let create = format!("create table bench ({COLUMNS}); create table writes ({COLUMNS})");
        connect_postgres(port)?.batch_execute(&create).map_err(io::Error::other)?;
        Ok(Self { port })
    }
}

impl Peer for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        let mut client = connect_postgres(self.port)?;
        let mut prepare = |text| client.prepare(text).map_err(io::Error::other);
        let (insert, batch, get) = (prepare(INSERT)?, prepare(BATCH_INSERT)?, prepare(GET)?);
        let (page, scan, search) = (prepare(PAGE)?, prepare(SCAN)?, prepare(SEARCH)?);
        Ok(Box::new(Session { client, insert, batch, get, page, scan, search }))
    }

    fn requests(&self, _: Work, _: u64) -> Option<(SocketAddr, Request)> {
        None
    }

    fn fill(&self, Range { start, end }: Range<u64>) -> io::Result<()> {
        let fill = format!(
            "insert into bench select lpad((n / {PARTITION})::text, 8, '0'), lpad(n::text, 10, '0'), now(), n % {WANTED}, repeat('x', 100),
             n % 2 = 0, n % 100 + 0.5, '2026-01-01Z' from generate_series({start}, {end} - 1) n; vacuum analyze bench"
        );
        let mut client = connect_postgres(self.port)?;
        fill.split("; ").try_for_each(|one| client.batch_execute(one).map_err(io::Error::other))
    }
}

struct Session {
    client: postgres::Client,
    insert: postgres::Statement,
    batch: postgres::Statement,
    get: postgres::Statement,
    page: postgres::Statement,
    scan: postgres::Statement,
    search: postgres::Statement,
}

impl Connection for Session {
    fn insert(&mut self, number: u64) -> io::Result<()> {
        let (partition, row) = (format!("i{:02}", number % 100), format!("{number:010}"));
        let value = (number % WANTED) as i32;
        self.client.execute(&self.insert, &[&partition, &row, &value]).map(drop).map_err(io::Error::other)
    }

    fn get(&mut self, number: u64) -> io::Result<()> {
        let (partition, row) = (format!("{:08}", number / PARTITION), format!("{number:010}"));
        self.client.query_one(&self.get, &[&partition, &row]).map(drop).map_err(io::Error::other)
    }

    fn batch(&mut self, number: u64) -> io::Result<()> {
        let (partition, last) = (format!("b{number:010}"), (BATCH - 1) as i32);
        self.client.execute(&self.batch, &[&partition, &last]).map(drop).map_err(io::Error::other)
    }

    fn partition(&mut self, number: u64) -> io::Result<u64> {
        let rows = self.client.query(&self.page, &[&format!("{number:08}")]);
        rows.map(|rows| rows.len() as u64).map_err(io::Error::other)
    }

    fn scan(&mut self) -> io::Result<u64> {
        self.client.query(&self.scan, &[]).map(|rows| rows.len() as u64).map_err(io::Error::other)
    }

    fn search(&mut self) -> io::Result<u64> {
        self.client.query(&self.search, &[]).map(|rows| rows.len() as u64).map_err(io::Error::other)
    }
}
