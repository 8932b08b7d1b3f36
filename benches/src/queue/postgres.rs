//! A queue in PostgreSQL: a table in the order of visibility, taken from with `FOR UPDATE SKIP LOCKED`.

use super::{Connection, Peer, TEXT};
use crate::databases::connect_postgres;
use std::io;

const CREATE: &str = "create table bench (
    id bigserial primary key, visible timestamptz not null default now(), text text not null);
    create index on bench (visible, id)";
const PUT: &str = "insert into bench (text) values ($1)";
const GET: &str = "update bench set visible = now() + interval '30 seconds' where id = (
    select id from bench where visible <= now() order by visible, id for update skip locked limit 1) returning id, text";
const DELETE: &str = "delete from bench where id = $1";

pub struct Postgres {
    port: u16,
}

impl Postgres {
    pub fn new(port: u16) -> io::Result<Self> {
        connect_postgres(port)?.batch_execute(CREATE).map_err(io::Error::other)?;
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
        let (put, get, delete) = (prepare(PUT)?, prepare(GET)?, prepare(DELETE)?);
        Ok(Box::new(Session { client, put, get, delete, text: "x".repeat(TEXT) }))
    }

    fn empty(&self) -> io::Result<()> {
        connect_postgres(self.port)?.batch_execute("truncate bench").map_err(io::Error::other)
    }

    fn fill(&self, count: u64) -> io::Result<()> {
        let fill = format!("insert into bench (text) select repeat('x', {TEXT}) from generate_series(1, {count})");
        let mut client = connect_postgres(self.port)?;
        client.batch_execute(&format!("{fill}; analyze bench")).map_err(io::Error::other)
    }
}

struct Session {
    client: postgres::Client,
    put: postgres::Statement,
    get: postgres::Statement,
    delete: postgres::Statement,
    text: String,
}

impl Connection for Session {
    fn put(&mut self) -> io::Result<()> {
        self.client.execute(&self.put, &[&self.text]).map(drop).map_err(io::Error::other)
    }

    fn pair(&mut self) -> io::Result<()> {
        let row = self.client.query_opt(&self.get, &[]).map_err(io::Error::other)?;
        let id: i64 = row.ok_or_else(|| io::Error::other("the queue is empty"))?.get(0);
        self.client.execute(&self.delete, &[&id]).map(drop).map_err(io::Error::other)
    }
}
