//! A hostile neighbour: clients that send what is known to be dear, all the time, and what a small GET and a small PUT of somebody else take
//! meanwhile. `benches/run neighbour` reports it; a test of the real binary wants only that everybody is served.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::client::{ACCOUNT, Client, account_sas, connect};
use crate::fuzz::parquet::with_metadata;
use crate::process::Server;

const CONTAINER: &str = "hostile";
const TABLE: &str = "hostile";
const LISTED: usize = 400;
const ENTITIES: usize = 500;

/// Where the services of one server are.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub blob: SocketAddr,
    pub table: SocketAddr,
}

impl Place {
    pub fn of(server: &Server) -> Self {
        Self { blob: server.endpoint("Blob"), table: server.endpoint("Table") }
    }
}

/// One kind of what a hostile client does, again and again.
pub struct Attack {
    pub name: &'static str,
    act: fn(&mut Clients) -> io::Result<()>,
}

struct Clients {
    place: Place,
    blob: Client,
    table: Client,
}

pub const ATTACKS: &[Attack] = &[
    Attack {
        name: "LIKE over a long record",
        act: |on| {
            on.query(
                "long",
                &format!("SELECT * FROM BlobStorage WHERE _1 LIKE '%{}b'", "a".repeat(200_000)),
                "delimited",
            )
        },
    },
    Attack {
        name: "LIKE with _ over a long record",
        act: |on| {
            on.query(
                "long",
                &format!("SELECT * FROM BlobStorage WHERE _1 LIKE '%{}_b%'", "a".repeat(200_000)),
                "delimited",
            )
        },
    },
    Attack {
        name: "a record joined with itself",
        act: |on| on.query("long", &format!("SELECT _1{} FROM BlobStorage", "||_1".repeat(200)), "delimited"),
    },
    Attack {
        name: "a column many times",
        act: |on| on.query("long", &format!("SELECT _1{} FROM BlobStorage", ",_1".repeat(50_000)), "delimited"),
    },
    Attack { name: "arrays of JSON", act: |on| on.query("arrays", "SELECT * FROM BlobStorage", "json") },
    Attack {
        name: "a path of many steps",
        act: |on| on.query("arrays", &format!("SELECT * FROM BlobStorage{}", "[*]".repeat(80_000)), "json"),
    },
    Attack { name: "Parquet: lists in lists", act: |on| on.query("lists", "SELECT * FROM BlobStorage", "parquet") },
    Attack {
        name: "Parquet: a list of booleans",
        act: |on| on.query("booleans", "SELECT * FROM BlobStorage", "parquet"),
    },
    Attack {
        name: "Parquet: rows without end",
        act: |on| on.query("rows", "SELECT COUNT(*) FROM BlobStorage", "parquet"),
    },
    Attack { name: "a query nobody waits for", act: Clients::abandoned_query },
    Attack { name: "an entity of 80,000 annotations", act: Clients::annotations },
    Attack { name: "$select of names nobody has", act: Clients::select },
    Attack { name: "a long $filter", act: Clients::filter },
    Attack { name: "unfinished heads", act: Clients::unfinished_heads },
    Attack { name: "a list of 50,000 blocks", act: Clients::block_list },
    Attack { name: "long listings", act: Clients::listing },
];

impl Clients {
    fn new(place: Place) -> Self {
        Self { place, blob: Client::new(place.blob), table: Client::new(place.table) }
    }

    fn query(&mut self, blob: &str, sql: &str, input: &str) -> io::Result<()> {
        let path = format!("{CONTAINER}/{blob}");
        self.blob.send("POST", &path, "comp=query", &[], document(sql, input).as_bytes()).map(drop)
    }

    fn abandoned_query(&mut self) -> io::Result<()> {
        let sql = format!("SELECT COUNT(*) FROM BlobStorage WHERE _1 LIKE '%{}_b%'", "a".repeat(100_000));
        let body = document(&sql, "delimited");
        let mut stream = connect(self.place.blob)?;
        let sas = account_sas();
        let head = format!(
            "POST /{ACCOUNT}/{CONTAINER}/long?comp=query&{sas} HTTP/1.1\r\nHost: a\r\nx-ms-version: 2023-11-03\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }

    fn annotations(&mut self) -> io::Result<()> {
        let many: String =
            (0..80_000).map(|at| format!("\"p{at}@odata.type\":\"Edm.Int64\",\"p{at}\":\"1\",")).collect();
        let body = format!("{{{many}\"PartitionKey\":\"a\",\"RowKey\":\"b\"}}");
        self.insert(&body).map(drop)
    }

    fn insert(&mut self, entity: &str) -> io::Result<u16> {
        let headers =
            [("Content-Type", "application/json"), ("Accept", "application/json"), ("Prefer", "return-no-content")];
        Ok(self.table.send("POST", TABLE, "", &headers, entity.as_bytes())?.status)
    }

    fn select(&mut self) -> io::Result<()> {
        let names: Vec<String> = (0..250).map(|at| format!("z{at}{}", "x".repeat(200))).collect();
        self.page(&format!("$select={}", names.join(",")))
    }

    fn filter(&mut self) -> io::Result<()> {
        self.page(&format!("$filter={}a%20eq%201", "a%20eq%201%20or%20".repeat(3_000)))
    }

    fn page(&mut self, query: &str) -> io::Result<()> {
        self.table.send("GET", &format!("{TABLE}()"), query, &[("Accept", "application/json")], &[]).map(drop)
    }

    fn unfinished_heads(&mut self) -> io::Result<()> {
        let head = format!("GET /{ACCOUNT}?a={}", "x".repeat(60_000));
        let open = |_| {
            let mut stream = connect(self.place.blob)?;
            stream.write_all(head.as_bytes()).map(|()| stream)
        };
        (0..100).map(open).collect::<io::Result<Vec<TcpStream>>>().map(drop)
    }

    fn block_list(&mut self) -> io::Result<()> {
        let body = format!("<BlockList>{}</BlockList>", "<Latest>AAAA</Latest>".repeat(50_000));
        self.blob.send("PUT", &format!("{CONTAINER}/none"), "comp=blocklist", &[], body.as_bytes()).map(drop)
    }

    fn listing(&mut self) -> io::Result<()> {
        let query = "restype=container&comp=list&include=metadata,tags,snapshots,versions";
        self.blob.send("GET", CONTAINER, query, &[], &[]).map(drop)
    }

    /// What the attacks are about.
    fn prepare(&mut self) -> io::Result<()> {
        let made = self.blob.send("PUT", CONTAINER, "restype=container", &[], &[])?;
        assert_eq!(made.status, 201, "{}", made.code());
        let group = [&[0x19, 0x0c, 0x26][..], &[0xfe], &[0xff; 7], &[0x7f, 0]].concat();
        let rows = [&[0x29, 0x1c, 0x48, 1, b'r', 0x15, 0, 0, 0x29, 0x1c][..], &group, &[0]].concat();
        let booleans = [&[0x19, 0xf1, 0x80, 0x80, 0xc0, 3][..], &vec![1; 7 << 20], &[0]].concat();
        let blobs = [
            ("long", vec![b'a'; 2 << 20]),
            ("arrays", format!("[{}0]", "[0],".repeat(1_000_000)).into_bytes()),
            ("lists", with_metadata(&vec![0x19; 100_001])),
            ("booleans", with_metadata(&booleans)),
            ("rows", with_metadata(&rows)),
        ];
        for (name, content) in &blobs {
            self.put(name, &[], content)?;
        }
        let long = "m".repeat(7_000);
        for at in 0..LISTED {
            self.put(&format!("listed/{at}"), &[("x-ms-meta-long", &long)], b"x")?;
        }
        let headers = [("Content-Type", "application/json"), ("Accept", "application/json")];
        let body = format!("{{\"TableName\":\"{TABLE}\"}}");
        self.table.send("POST", "Tables", "", &headers, body.as_bytes())?;
        for at in 0..ENTITIES {
            self.insert(&format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{at}\",\"b\":{at}}}"))?;
        }
        Ok(())
    }

    fn put(&mut self, name: &str, more: &[(&str, &str)], content: &[u8]) -> io::Result<()> {
        let headers = [&[("x-ms-blob-type", "BlockBlob")], more].concat();
        let put = self.blob.send("PUT", &format!("{CONTAINER}/{name}"), "", &headers, content)?;
        assert_eq!(put.status, 201, "{name}: {}", put.code());
        Ok(())
    }
}

fn document(sql: &str, input: &str) -> String {
    format!(
        "<QueryRequest><QueryType>SQL</QueryType><Expression>{sql}</Expression><InputSerialization><Format><Type>{input}</Type>\
         </Format></InputSerialization><OutputSerialization><Format><Type>json</Type></Format></OutputSerialization></QueryRequest>"
    )
}

/// Makes what the attacks and the honest client need.
pub fn prepare(place: Place) -> io::Result<()> {
    Clients::new(place).prepare()
}

/// So many hostile clients, each with all attacks in turn, for as long as `work` runs. Says how often they got through an attack.
pub fn beside<T>(place: Place, clients: usize, attacks: &[&Attack], work: impl FnOnce() -> T) -> (T, u64) {
    let (stop, acts) = (AtomicBool::new(false), AtomicU64::new(0));
    let result = std::thread::scope(|scope| {
        for client in 0..clients {
            let (stop, acts) = (&stop, &acts);
            scope.spawn(move || {
                let mut on = Clients::new(place);
                for attack in attacks.iter().cycle().skip(client * attacks.len() / clients) {
                    if stop.load(Relaxed) {
                        return;
                    }
                    // Being refused, or hung up on, is as good an end as any.
                    let _ = (attack.act)(&mut on);
                    acts.fetch_add(1, Relaxed);
                }
            });
        }
        let result = work();
        stop.store(true, Relaxed);
        result
    });
    (result, acts.into_inner())
}

/// How long the requests of an honest client took, sorted.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    pub gets: Vec<Duration>,
    pub puts: Vec<Duration>,
}

impl Latencies {
    pub fn at(sorted: &[Duration], part: f64) -> Duration {
        let at = ((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(at).copied().unwrap_or_default()
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured here is time")]
fn now() -> Instant {
    Instant::now()
}

/// Small puts and gets in turn, one at a time, for a while. Every one has to be answered, and right.
pub fn honest(place: Place, period: Duration) -> io::Result<Latencies> {
    let mut client = Client::new(place.blob);
    let mut found = Latencies::default();
    let (start, path) = (now(), format!("{CONTAINER}/honest"));
    let content = [b'h'; 1024];
    while start.elapsed() < period {
        let began = now();
        let put = client.send("PUT", &path, "", &[("x-ms-blob-type", "BlockBlob")], &content)?;
        found.puts.push(began.elapsed());
        let began = now();
        let got = client.send("GET", &path, "", &[], &[])?;
        found.gets.push(began.elapsed());
        if (put.status, got.status, got.body.as_slice()) != (201, 200, &content[..]) {
            return Err(io::Error::other(format!("an honest client got {} and {}", put.status, got.status)));
        }
    }
    found.gets.sort_unstable();
    found.puts.sort_unstable();
    Ok(found)
}
