//! Draws line charts over windows as SVG. The page's CSS sets the colors of the classes.

use std::fmt::Write;

use super::escape;
use crate::price::tokens;

/// A line chart with the window on the horizontal axis.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line<'a>>,
    /// Whether the vertical axis starts at zero.
    pub(super) from_zero: bool,
}

/// The line of one policy.
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
/// The minimum distance between two names at the ends of lines.
const NAME_SPACING: f64 = 12.0;
/// The number of colors that the page's CSS has for policies other than `auto`.
const COLORS: usize = 8;

impl Chart<'_> {
    /// Draws the chart.
    pub(super) fn svg(&self) -> String {
        let scale = Scale::of(self);
        let mut text = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\
             <text class=\"title\" x=\"0\" y=\"14\">{0}</text>",
            escape(self.title)
        );
        scale.draw_axes(&mut text);
        // The default policy is drawn last, over the others.
        let is_ours = |line: &&Line<'_>| line.name == "auto";
        let others = self
            .lines
            .iter()
            .filter(|line| !is_ours(line))
            .zip(0..)
            .map(|(line, at)| (line, format!("other c{}", at % COLORS)));
        let ours = self.lines.iter().filter(is_ours).map(|line| (line, "ours".to_owned()));
        let lines: Vec<(&Line<'_>, String)> =
            others.chain(ours).filter(|(line, _)| !line.points.is_empty()).collect();
        for (line, class) in &lines {
            let path: Vec<String> = line
                .points
                .iter()
                .map(|&(x, y)| format!("{:.1},{:.1}", scale.x(x), scale.y(y)))
                .collect();
            let _ = write!(text, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
            for &(x, y) in &line.points {
                let _ = write!(
                    text,
                    "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\">\
                     <title>{}, {}: {y:.2}</title></circle>",
                    scale.x(x),
                    scale.y(y),
                    escape(line.name),
                    thousands(x),
                );
            }
        }
        draw_names(&mut text, &scale, &lines);
        text.push_str("</svg>");
        text
    }
}

/// Draws the names at the ends of the lines, pushed apart if they would overlap.
fn draw_names(text: &mut String, scale: &Scale, lines: &[(&Line<'_>, String)]) {
    let end = |line: &Line<'_>| Some(scale.y(line.points.last()?.1));
    let mut ends: Vec<(f64, &str, &String)> =
        lines.iter().filter_map(|(line, class)| Some((end(line)?, line.name, class))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut top = TOP;
    // All names must fit into the drawing.
    let bottom = HEIGHT - BOTTOM + NAME_SPACING;
    for (at, (line_end, name, class)) in ends.iter().enumerate() {
        let lowest = bottom - tokens(ends.len() - at) * NAME_SPACING;
        let y = line_end.max(top).min(lowest.max(top));
        top = y + NAME_SPACING;
        let x = WIDTH - RIGHT + 8.0;
        let _ = write!(
            text,
            "<text class=\"name {class}\" x=\"{x}\" y=\"{:.1}\">{}</text>",
            y + 3.5,
            escape(name)
        );
    }
}

/// Maps figures to coordinates.
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
        let most = points().map(|point| point.1).fold(f64::MIN, f64::max);
        let least = points().map(|point| point.1).fold(f64::MAX, f64::min);
        let margin = (most - least).max(1.0) * 0.05;
        let low = if chart.from_zero { 0.0 } else { (least - margin).floor() };
        let high = if chart.from_zero { most * 1.05 } else { most.ceil() };
        Self { windows, low, high: if high > low { high } else { low + 1.0 } }
    }

    /// Windows are evenly spaced, because each is usually twice the one before.
    fn x(&self, window: f64) -> f64 {
        let index = self.windows.iter().position(|&known| known >= window).unwrap_or(0);
        let steps = tokens(self.windows.len().saturating_sub(1).max(1));
        LEFT + (WIDTH - LEFT - RIGHT) * tokens(index) / steps
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.low) / (self.high - self.low)
    }

    fn draw_axes(&self, text: &mut String) {
        let step = tick(self.high - self.low);
        let digits = if step < 0.1 { 2 } else { usize::from(step < 1.0) };
        let first = (self.low / step).ceil() * step;
        let ticks = (0..=MAX_TICKS).map(|at| first + tokens(at) * step);
        for value in ticks.take_while(|value| *value <= self.high + step / 1_000.0) {
            let y = self.y(value);
            let right = WIDTH - RIGHT;
            let _ = write!(
                text,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{value:.digits$}</text>",
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
                thousands(window),
            );
        }
    }
}

/// The maximum number of ticks of an axis.
const MAX_TICKS: usize = 10;

/// Returns the distance between ticks: 1, 2 or 5 times a power of ten, so that there are about
/// five.
fn tick(range: f64) -> f64 {
    let rough = range / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

/// Writes a window as people say it: `8K`.
fn thousands(window: f64) -> String {
    match window % 1_000.0 == 0.0 {
        true => format!("{}K", window / 1_000.0),
        false => window.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!([tick(100.0), tick(47.0), tick(1.4), tick(0.9)], [20.0, 10.0, 0.5, 0.2]);
        assert_eq!([thousands(8_000.0), thousands(500.0)], ["8K", "500"]);
    }
}
