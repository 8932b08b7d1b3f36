//! Line charts as SVG, with logarithmic axes: sizes, depths and rates all go over decades.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Room for the labels: left, right, top, bottom.
const MARGIN: [f64; 4] = [80.0, 110.0, 40.0, 56.0];
/// Told apart by those who see few colours, too.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

pub struct Chart {
    pub title: &'static str,
    pub across: &'static str,
    pub up: &'static str,
    pub lines: Vec<Line>,
}

pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Chart {
    /// Beside the document, below `plots/`.
    pub fn write(&self, document: Option<&Path>, name: &str) -> io::Result<()> {
        let Some(directory) = document.and_then(Path::parent) else { return Ok(()) };
        let plots = directory.join("plots");
        fs::create_dir_all(&plots)?;
        fs::write(plots.join(format!("{name}.svg")), self.svg())
    }

    fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let across = Axis::over(points().map(|point| point.0), MARGIN[0], WIDTH - MARGIN[1]);
        let up = Axis::over(points().map(|point| point.1), HEIGHT - MARGIN[3], MARGIN[2]);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{}\" y=\"22\" font-size=\"15\">{}</text>\n",
            MARGIN[0], self.title
        );
        for decade in across.decades() {
            let x = across.place(decade);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - MARGIN[3],
                MARGIN[2],
                HEIGHT - MARGIN[3] + 18.0,
                short(decade)
            );
        }
        for decade in up.decades() {
            let y = up.place(decade);
            let _ = writeln!(
                text,
                "<path d=\"M{:.1} {y:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                MARGIN[0],
                WIDTH - MARGIN[1],
                MARGIN[0] - 8.0,
                y + 4.0,
                short(decade)
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (MARGIN[0] + WIDTH - MARGIN[1]) / 2.0,
            HEIGHT - 12.0,
            self.across,
            HEIGHT / 2.0,
            self.up
        );
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            line.draw(&mut text, colour, &across, &up);
        }
        text + "</svg>\n"
    }
}

impl Line {
    fn draw(&self, text: &mut String, colour: &str, across: &Axis, up: &Axis) {
        let places: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (across.place(*x), up.place(*y))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (x, y) in &places {
            let _ = write!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some((x, y)) = places.last() {
            let _ = writeln!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                x + 8.0,
                y + 4.0,
                self.name
            );
        }
    }
}

/// From one power of ten to another, between two places on the paper.
struct Axis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, begin: f64, end: f64) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            from = from.min(value.log10().floor());
            to = to.max(value.log10().ceil());
        }
        if !from.is_finite() || from == to {
            (from, to) = (0.0, 1.0);
        }
        Self { from, to, begin, end }
    }

    fn place(&self, value: f64) -> f64 {
        self.begin + (value.max(1e-9).log10() - self.from) / (self.to - self.from) * (self.end - self.begin)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|power| 10f64.powi(power))
    }
}

/// 1000000 as `1 M`.
fn short(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} G", value / 1e9),
        _ if value >= 1e6 => format!("{} M", value / 1e6),
        _ if value >= 1e3 => format!("{} k", value / 1e3),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_lines_where_the_numbers_say() {
        let lines = vec![Line { name: "one".into(), points: vec![(1.0, 10.0), (100.0, 1000.0)] }];
        let svg = Chart { title: "t", across: "x", up: "y", lines }.svg();
        assert!(svg.contains("points=\"80.0,344.0 610.0,40.0\""), "{svg}");
        assert!(svg.contains(">1 k</text>") && svg.contains(">one</text>"), "{svg}");
    }
}
