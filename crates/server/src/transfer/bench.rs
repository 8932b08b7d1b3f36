//! A quick measurement of an endpoint: small and large blobs, written and read, for some seconds each. Honest: every answer is waited for and checked, errors are counted, nothing
//! is retried into a better number, and what the numbers are of is said with them.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::{Ask, Client};
use crate::ids;

const SMALL: usize = 4 << 10;
const LARGE: usize = 4 << 20;

pub async fn run(client: Arc<Client>, seconds: u64, parallel: usize) -> Result<String, String> {
    let container = format!("lazuli-bench-{:016x}", ids::random() as u64);
    let made = Ask { method: "PUT", path: container.clone(), query: "restype=container".into(), ..Ask::default() };
    client.ask(&made, &[]).await?;
    let time = Duration::from_secs(seconds.clamp(1, 600));
    let parallel = parallel.clamp(1, 256);
    let mut text = format!(
        "{}, {parallel} connections, {} s each; from this machine, over its network, with a SAS or key checked each time\n\n{:24} {:>10} {:>10} {:>9} {:>9} {:>9} {:>7}\n",
        client.remote.authority,
        time.as_secs(),
        "",
        "per s",
        "MiB/s",
        "p50 ms",
        "p99 ms",
        "max ms",
        "errors"
    );
    for (name, method, size) in [
        ("put 4 KiB", "PUT", SMALL),
        ("get 4 KiB", "GET", SMALL),
        ("put 4 MiB", "PUT", LARGE),
        ("get 4 MiB", "GET", LARGE),
    ] {
        let row = measure(&client, &container, method, size, time, parallel).await;
        text.push_str(&row.text(name, size));
    }
    let gone = Ask { method: "DELETE", path: container, query: "restype=container".into(), ..Ask::default() };
    client.ask(&gone, &[404]).await?;
    Ok(text)
}

#[derive(Default)]
struct Row {
    micros: Vec<u64>,
    errors: u64,
    seconds: f64,
}

impl Row {
    fn text(mut self, name: &str, size: usize) -> String {
        self.micros.sort_unstable();
        let at = |part: f64| {
            let index = ((self.micros.len() as f64 - 1.0) * part).max(0.0) as usize;
            self.micros.get(index).map_or(0.0, |micros| *micros as f64 / 1e3)
        };
        let rate = self.micros.len() as f64 / self.seconds.max(0.001);
        format!(
            "{name:24} {rate:>10.0} {:>10.1} {:>9.2} {:>9.2} {:>9.2} {:>7}\n",
            rate * size as f64 / 1048576.0,
            at(0.5),
            at(0.99),
            at(1.0),
            self.errors
        )
    }
}

async fn measure(
    client: &Arc<Client>,
    container: &str,
    method: &'static str,
    size: usize,
    time: Duration,
    parallel: usize,
) -> Row {
    let since = Instant::now();
    let mut running = JoinSet::new();
    for worker in 0..parallel {
        let (client, container) = (client.clone(), container.to_owned());
        running.spawn(async move {
            let (mut row, mut number) = (Row::default(), 0u64);
            let body = Bytes::from(vec![worker as u8; size]);
            while since.elapsed() < time {
                // Reads are of what the writes before them left.
                let path = format!("{container}/{size}-{worker}-{}", number % 16);
                number += 1;
                let ask = match method {
                    "PUT" => {
                        let headers = vec![("x-ms-blob-type", "BlockBlob".to_owned())];
                        Ask { method, path, headers, body: body.clone(), ..Ask::default() }
                    }
                    _ => Ask { method, path, ..Ask::default() },
                };
                let begun = Instant::now();
                match client.ask_once(&ask).await {
                    Ok(answer)
                        if (200..300).contains(&answer.status) && (method == "PUT" || answer.body.len() == size) =>
                    {
                        row.micros.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
                    }
                    // Workers that wrote fewer than sixteen have fewer to read.
                    Ok(answer) if answer.status == 404 && method == "GET" => number = 0,
                    Ok(_) | Err(_) => row.errors += 1,
                }
            }
            row
        });
    }
    let mut all = Row::default();
    while let Some(Ok(row)) = running.join_next().await {
        all.micros.extend(row.micros);
        all.errors += row.errors;
    }
    all.seconds = since.elapsed().as_secs_f64();
    all
}
