//! Drawings as SVG. Colours are the page's: a drawing names classes.

use std::fmt::Write;

use super::escape;
use crate::price::tokens;
use crate::run::Outcome;

/// Lines over windows.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line<'a>>,
    /// Whether the axis begins at nothing.
    pub(super) from_zero: bool,
}

/// One policy.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 34.0;
/// The least distance between two names at the ends of lines.
const APART: f64 = 12.0;

impl Chart<'_> {
    /// The drawing.
    pub(super) fn svg(&self) -> String {
        let scale = Scale::of(self);
        let mut text = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text class=\"title\" x=\"0\" y=\"14\">{0}</text>",
            escape(self.title)
        );
        scale.draw_axes(&mut text);
        // Ours is drawn last, over the others.
        let mut lines: Vec<&Line<'_>> = self.lines.iter().filter(|line| !line.points.is_empty()).collect();
        lines.sort_by_key(|line| line.name == "auto");
        for line in &lines {
            let class = if line.name == "auto" { "ours" } else { "other" };
            let path: Vec<String> =
                line.points.iter().map(|&(x, y)| format!("{:.1},{:.1}", scale.x(x), scale.y(y))).collect();
            let _ = write!(text, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
            for &(x, y) in &line.points {
                let _ = write!(
                    text,
                    "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\"><title>{}, window {x}: {y:.2}</title></circle>",
                    scale.x(x),
                    scale.y(y),
                    escape(line.name),
                );
            }
        }
        draw_names(&mut text, &scale, &lines);
        text.push_str("</svg>");
        text
    }
}

/// The names at the ends of the lines, pushed apart where they would cover each other.
fn draw_names(text: &mut String, scale: &Scale, lines: &[&Line<'_>]) {
    let mut ends: Vec<(f64, &str)> =
        lines.iter().filter_map(|line| Some((scale.y(line.points.last()?.1), line.name))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    // The whole column must end inside the drawing.
    let room = HEIGHT - BOTTOM + APART;
    for (at, (y, name)) in ends.iter().enumerate() {
        let latest = room - tokens(ends.len() - at) * APART;
        let place = y.max(free).min(latest.max(free));
        free = place + APART;
        let class = if *name == "auto" { "name ours" } else { "name" };
        let x = WIDTH - RIGHT + 8.0;
        let _ = write!(text, "<text class=\"{class}\" x=\"{x}\" y=\"{:.1}\">{}</text>", place + 3.5, escape(name));
    }
}

/// From figures to places.
struct Scale {
    windows: Vec<f64>,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(chart: &Chart<'_>) -> Self {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let mut windows: Vec<f64> = points().map(|point| point.0).collect();
        windows.sort_by(f64::total_cmp);
        windows.dedup();
        let high = points().map(|point| point.1).fold(f64::MIN, f64::max);
        let low = points().map(|point| point.1).fold(f64::MAX, f64::min);
        let low = if chart.from_zero { 0.0 } else { (low - (high - low).max(1.0) * 0.05).floor() };
        let high = if chart.from_zero { high * 1.05 } else { high.ceil() };
        Self { windows, low, high: if high > low { high } else { low + 1.0 } }
    }

    /// Windows stand at equal distances: they are doubled, not added.
    fn x(&self, window: f64) -> f64 {
        let place = self.windows.iter().position(|&known| known >= window).unwrap_or(0);
        let steps = tokens(self.windows.len().saturating_sub(1).max(1));
        LEFT + (WIDTH - LEFT - RIGHT) * tokens(place) / steps
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.low) / (self.high - self.low)
    }

    fn draw_axes(&self, text: &mut String) {
        for step in 0..=4 {
            let value = self.low + (self.high - self.low) * f64::from(step) / 4.0;
            let (y, right) = (self.y(value), WIDTH - RIGHT);
            let digits = if self.high - self.low < 8.0 { 2 } else { 0 };
            let _ = write!(
                text,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.digits$}</text>",
                LEFT - 6.0,
                y + 3.5,
            );
        }
        for &window in &self.windows {
            let _ = write!(
                text,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                self.x(window),
                HEIGHT - BOTTOM + 16.0,
                window,
            );
        }
    }
}

const COURSE_WIDTH: f64 = 300.0;
const COURSE_HEIGHT: f64 = 96.0;
/// More calls than this are drawn as so many columns.
const COLUMNS: usize = 150;

/// The prompts of one session: a column a call, what the cache served below, what it did not on top, folds as marks.
pub(super) fn course(outcome: &Outcome, most: usize) -> String {
    let mut text = format!(
        "<svg viewBox=\"0 0 {COURSE_WIDTH} {COURSE_HEIGHT}\" role=\"img\" aria-label=\"tokens per call, {}\">",
        escape(&outcome.policy)
    );
    let step = outcome.calls.len().div_ceil(COLUMNS).max(1);
    let columns = outcome.calls.len().div_ceil(step).max(1);
    let width = COURSE_WIDTH / tokens(columns);
    let height = |count: usize| (COURSE_HEIGHT - 10.0) * tokens(count) / tokens(most.max(1));
    for (at, calls) in outcome.calls.chunks(step).enumerate() {
        let x = tokens(at) * width;
        let mean =
            |figure: fn(&crate::run::CallFigures) -> usize| calls.iter().map(figure).sum::<usize>() / calls.len();
        let (all, read) = (mean(|call| call.tokens), mean(|call| call.read));
        for (class, from, to) in [("read", 0, read), ("fresh", read, all)] {
            let (bottom, top) = (height(from), height(to));
            let _ = write!(
                text,
                "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>",
                COURSE_HEIGHT - top,
                width.max(0.4),
                top - bottom,
            );
        }
        let (first, last) = (calls.first().map_or(0, |call| call.message), calls.last().map_or(0, |call| call.message));
        let folds = outcome.folds.iter().filter(|fold| (first..=last).contains(&fold.before)).count();
        if folds > 0 {
            let _ = write!(
                text,
                "<path class=\"fold\" d=\"M{:.2},0 l3,0 l-1.5,5 z\"><title>{folds} folds by message {last}: {all} tokens</title></path>",
                x + width / 2.0 - 1.5
            );
        }
    }
    text.push_str("</svg>");
    text
}
