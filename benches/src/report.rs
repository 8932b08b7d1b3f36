//! What was found, as Markdown: the expectations first, then every number they rest on.

use crate::contest::Measure;
use crate::restart::{End, Restarts};
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[derive(Default)]
pub struct Findings {
    pub measures: Vec<Measure>,
    /// Who, when, resident megabytes.
    pub memory: Vec<(&'static str, &'static str, f64)>,
    pub first_starts: Vec<(&'static str, Duration)>,
    /// With what they were, for example "with 1000000 more blobs".
    pub restarts: Vec<(String, Restarts)>,
    /// How busy the machine was with other things before the run.
    pub load_before: String,
    /// Name and version of each peer.
    pub versions: Vec<String>,
    /// How many blobs, at which rate.
    pub filled: Option<(u64, f64)>,
}

/// What the project promises on two cores.
struct Expectation {
    what: String,
    bound: Bound,
    measured: Option<f64>,
}

enum Bound {
    MinTimes(f64),
    MinShare(f64),
    MaxMegabytes(f64),
    MaxMilliseconds(f64),
}

impl Expectation {
    fn row(&self) -> String {
        let Some(measured) = self.measured else {
            return format!("| {} | {} | not measured | |", self.what, self.bound.text());
        };
        let (value, met) = match self.bound {
            Bound::MinTimes(times) => (format!("{measured:.1}×"), measured >= times),
            Bound::MinShare(share) => (format!("{:.0} %", measured * 100.0), measured >= share),
            Bound::MaxMegabytes(most) => (format!("{measured:.1} MB"), measured <= most),
            Bound::MaxMilliseconds(most) => (format!("{measured:.0} ms"), measured <= most),
        };
        format!("| {} | {} | {value} | {} |", self.what, self.bound.text(), if met { "yes" } else { "**no**" })
    }
}

impl Bound {
    fn text(&self) -> String {
        match self {
            Bound::MinTimes(times) => format!("≥ {times:.0}×"),
            Bound::MinShare(share) => format!("≥ {:.0} %", share * 100.0),
            Bound::MaxMegabytes(most) => format!("≤ {most:.0} MB"),
            Bound::MaxMilliseconds(most) => format!("≤ {most:.0} ms"),
        }
    }
}

impl Findings {
    fn expectations(&self) -> Vec<Expectation> {
        use Bound::{MaxMegabytes, MaxMilliseconds, MinShare, MinTimes};
        let races = [
            ("PUT 1 KiB", 32, "Lazuli", "Azurite", MinTimes(20.0)),
            ("GET 1 KiB", 32, "Lazuli", "Azurite", MinTimes(40.0)),
            ("HEAD", 32, "Lazuli", "Azurite", MinTimes(40.0)),
            ("GET 1 KiB", 32, "Lazuli", "nginx", MinShare(0.5)),
            ("PUT 4 MiB", 8, "Lazuli", "fio", MinShare(0.7)),
            ("PUT 4 MiB", 32, "Lazuli", "fio", MinShare(0.7)),
            ("GET 64 MiB", 8, "Lazuli", "nginx", MinShare(0.85)),
            ("GET 64 MiB", 32, "Lazuli", "nginx", MinShare(0.85)),
            ("first page of 100", 1, "of all blobs", "of 1 k blobs", MinShare(0.9)),
            ("first page of 1000", 1, "of all blobs", "of 1 k blobs", MinShare(0.9)),
        ];
        let mut all: Vec<Expectation> = races
            .into_iter()
            .map(|(title, clients, who, other, bound)| {
                let what = format!("{title}, {clients} clients: {who} against {other}");
                let rate = |name| {
                    self.measures.iter().find(|m| (m.title.as_str(), m.clients, m.who) == (title, clients, name))
                };
                let measured = rate(who).zip(rate(other)).map(|(own, other)| own.rate / other.rate);
                Expectation { what, bound, measured }
            })
            .collect();
        let idle = self.memory.iter().find(|(who, when, _)| (*who, *when) == ("Lazuli", "idle, empty"));
        let measured = idle.map(|(_, _, megabytes)| *megabytes);
        all.push(Expectation { what: "idle memory".into(), bound: MaxMegabytes(25.0), measured });
        for (with, restarts) in &self.restarts {
            let (ending, most) = match restarts.after {
                End::Stopped => ("a clean stop", 100.0),
                End::Killed => ("kill -9", 1000.0),
            };
            let what = format!("first answer after {ending}, {with}, worst of {}", restarts.first_answers.len());
            all.push(Expectation { what, bound: MaxMilliseconds(most), measured: restarts.worst() });
        }
        all
    }

    fn markdown(&self, scratch: &Path) -> String {
        let (machine, peers, load) = (machine(scratch), self.versions.join(", "), &self.load_before);
        let mut text = format!(
            "{machine} Load average before the run: {load}. Peers: {peers}.\n\n| expectation | bound | measured | met |\n|---|---|---|---|\n"
        );
        for expectation in self.expectations() {
            let _ = writeln!(text, "{}", expectation.row());
        }
        text += &format!("\n{}", race(&self.measures, None));
        text += "\n| server | first start, empty | memory |\n|---|---|---|\n";
        for (who, first_start) in &self.first_starts {
            let memory = self.memory.iter().filter(|(name, _, _)| name == who);
            let memory: Vec<_> = memory.map(|(_, when, megabytes)| format!("{megabytes:.0} MB {when}")).collect();
            let _ = writeln!(text, "| {who} | {:.0} ms | {} |", first_start.as_secs_f64() * 1e3, memory.join(", "));
        }
        if let Some((count, rate)) = self.filled {
            let _ = writeln!(text, "\nFilled with {count} blobs of 1 KiB by 64 clients at {rate:.0} per second.");
        }
        text
    }
}

/// The table of a race: what each side did and what it cost, and in the lines of the others how many times their rate Lazuli's is.
/// `beside` heads the column that says how much was there.
pub fn race(measures: &[Measure], beside: Option<&str>) -> String {
    let heading = beside.map_or(String::new(), |name| format!(" {name} |"));
    let rule = if beside.is_some() { "--:|" } else { "" };
    let mut text = format!(
        "| work |{heading} clients | by | per second | Lazuli against it | MB/s | p50 ms | p99 | p99.9 | max | server CPU µs each | memory MB |\n\
         |---|{rule}--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for measure in measures {
        let Measure { title, beside: count, clients, who, rate, megabytes, latency, cpu, memory } = measure;
        let there = beside.map_or(String::new(), |_| count.map_or(" |".into(), |count| format!(" {count} |")));
        let latency = latency.map_or("| | | ".into(), |each| each.map(|ms| format!("{ms:.2}")).join(" | "));
        let whole = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
        let (cpu, memory, against) = (whole(*cpu), whole(*memory), against(measures, measure));
        let megabytes = whole(Some(*megabytes).filter(|each| *each >= 0.5));
        let _ = writeln!(
            text,
            "| {title} |{there} {clients} | {who} | {} | {against} | {megabytes} | {latency} | {cpu} | {memory} |",
            precise(*rate)
        );
    }
    text
}

/// Of the same line, or with less of it there if that is all that the other could do.
fn against(measures: &[Measure], other: &Measure) -> String {
    let own = measures.iter().filter(|each| each.who == "Lazuli" && each.rivals(other));
    let own = own.clone().find(|each| each.beside == other.beside).or_else(|| own.clone().next());
    own.filter(|own| own.who != other.who).map_or(String::new(), |own| format!("{}×", precise(own.rate / other.rate)))
}

/// Few digits, but enough of what is small.
fn precise(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Prints the report and, if wanted, puts it between the markers of a document.
pub fn write(findings: &Findings, scratch: &Path, document: Option<&Path>) -> io::Result<()> {
    let measured = findings.markdown(scratch);
    println!("\n{measured}");
    replace(document, "blobs", &measured)
}

/// Puts what was measured between the markers of a document.
pub fn replace(document: Option<&Path>, part: &str, measured: &str) -> io::Result<()> {
    let Some(path) = document else { return Ok(()) };
    let (begin, end) = (format!("<!-- measured {part}: written by benches/run -->"), format!("<!-- end of {part} -->"));
    let text = std::fs::read_to_string(path)?;
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) =
        parts.ok_or_else(|| io::Error::other(format!("the document has lost its markers of {part}")))?;
    std::fs::write(path, format!("{before}{begin}\n\n{measured}\n{end}{after}"))
}

/// What a program prints, wherever it prints it.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = |output: std::process::Output| [output.stdout, output.stderr].concat();
    output.map(|output| String::from_utf8_lossy(&text(output)).trim().to_owned()).unwrap_or_default()
}

/// Of the last minute. Anything near the number of cores makes the numbers worthless.
pub fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// What the numbers depend on, without names of hosts or people.
pub fn machine(scratch: &Path) -> String {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0);
    format!(
        "Measured on {}: {} × {}, {:.0} GB memory, {} file system, Linux {}.",
        run("date", &["-u", "+%F"]),
        std::thread::available_parallelism().map_or(0, usize::from),
        field("/proc/cpuinfo", "model name"),
        memory * 1024.0 / 1e9,
        run("stat", &["-f", "-c", "%T", &scratch.to_string_lossy()]),
        run("uname", &["-r"]).split('-').next().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_race_tells_how_many_times_faster() {
        let measure = |who, rate, count| {
            let (title, latency, cpu) = ("put".to_owned(), Some([0.1, 0.2, 0.3, 0.4]), Some(12.3));
            let (beside, memory) = (Some(count), None);
            Measure { title, beside, clients: 8, who, rate, megabytes: 0.0, latency, cpu, memory }
        };
        let rows = [measure("Lazuli", 3000.0, 10), measure("Azurite", 400.0, 10), measure("Lazuli", 1000.0, 99)];
        let text = race(&rows, Some("depth"));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], "| put | 10 | 8 | Lazuli | 3000 |  |  | 0.10 | 0.20 | 0.30 | 0.40 | 12 |  |");
        assert_eq!(lines[1], "| put | 10 | 8 | Azurite | 400 | 7.50× |  | 0.10 | 0.20 | 0.30 | 0.40 | 12 |  |");
        assert_eq!(lines[2], "| put | 99 | 8 | Lazuli | 1000 |  |  | 0.10 | 0.20 | 0.30 | 0.40 | 12 |  |");
        let columns = |line: &str| line.matches('|').count();
        assert!(text.lines().all(|line| columns(line) == columns(lines[0])), "{text}");
    }
}
