//! Plots as SVG text for [`crate::page`], whose style has the colours: they change with the reader's screen, and lines differ by dashes and dots as well.
//! plotters knows neither classes nor axes of percentiles, and its logarithms come from the C library.

mod ruler;

use crate::page::escaped;
use ruler::Ruler;
use std::fmt::Write;
use terminal::{columns, shorten_middle};

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly; upright axes begin at zero.
    Linear,
    /// By their logarithm. Values that are not above zero are left out.
    Logarithmic,
    /// Shares below 1 by their distance from 1: 0, 90, 99, 99.9 % are equally far apart.
    Percentile,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// The quantity and its unit.
    pub label: &'a str,
    /// How its values lie along it.
    pub scale: Scale,
}

/// How points are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// A dot each.
    Dots,
    /// A line through them.
    Line,
    /// Dots with a line through them.
    Both,
}

/// Points that belong together. A point that is not finite is a gap in the line.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Across and upright.
    pub points: Vec<(f64, f64)>,
    /// Low and high of each point.
    pub band: Option<Vec<(f64, f64)>>,
    /// How they are shown.
    pub marks: Marks,
}

impl Series {
    /// A line through `points`.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, band: None, marks: Marks::Line }
    }
}

/// A picture of some series.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// Above it.
    pub title: &'a str,
    /// From left to right.
    pub x: Axis<'a>,
    /// From below.
    pub y: Axis<'a>,
    /// In the order of their colours; the first one is drawn first.
    pub series: Vec<Series>,
}

/// An estimate with its interval.
#[derive(Clone, Debug)]
pub struct IntervalRow {
    /// Of what it is.
    pub name: String,
    /// The lower end of the interval.
    pub low: f64,
    /// The estimate; not finite if there is none.
    pub value: f64,
    /// The upper end.
    pub high: f64,
}

/// Colours of the style.
const COLOURS: usize = 6;
/// Lines of more points are thinner, or they would hide each other.
const POINTS_WIDE: usize = 150;
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];
/// The size of a picture in its own units; the page scales it.
const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 300.0;
/// Of a letter of the usual size. Fonts differ; names that are shortened by it fit.
const LETTER: f64 = 7.3;
const LINE: f64 = 18.0;

/// The plot as SVG.
pub fn plot(plot: &Plot<'_>) -> Result<String, String> {
    let wrong =
        plot.series.iter().find(|series| series.band.as_ref().is_some_and(|band| band.len() != series.points.len()));
    if let Some(series) = wrong {
        return Err(format!("'{}' has not as many intervals as points", series.name));
    }
    let (legend, legend_height) = legend(plot);
    let top = 30.0 + legend_height + LINE;
    let y = Ruler::upright(plot.y.scale, plot.series.iter().flat_map(heights), (HEIGHT - 42.0, top));
    let y = y.ok_or_else(|| format!("'{}' has no point that can be drawn", plot.title))?;
    let left = y.ticks().iter().map(|(_, text)| columns(text)).max().unwrap_or(1) as f64 * LETTER + 14.0;
    let x = Ruler::lying(
        plot.x.scale,
        plot.series.iter().flat_map(|series| series.points.iter().map(|point| point.0)),
        (left, WIDTH - 20.0),
    );
    let x = x.ok_or_else(|| format!("'{}' has no point that can be drawn", plot.title))?;
    let mut svg = begin(plot.title, HEIGHT);
    svg.push_str(&legend);
    axes(&mut svg, (&x, plot.x.label), (&y, plot.y.label));
    plot.series.iter().enumerate().for_each(|(index, series)| draw_series(&mut svg, index, series, &x, &y));
    Ok(svg + "</svg>")
}

/// A dot with its interval for each row, one below the other.
pub fn intervals(title: &str, unit: &str, rows: &[IntervalRow], zero_line: Option<f64>) -> Result<String, String> {
    const ROW: f64 = 2.0 * LINE + 4.0;
    let top = 30.0;
    let bottom = top + rows.len() as f64 * ROW;
    let values = rows.iter().flat_map(|row| [row.low, row.value, row.high]);
    let ruler = Ruler::lying(Scale::Linear, values.chain(zero_line), (14.0, WIDTH - 20.0));
    let measured = rows.iter().any(|row| row.value.is_finite());
    let ruler = ruler.filter(|_| measured).ok_or_else(|| format!("'{title}' has no value that can be drawn"))?;
    let mut svg = begin(title, bottom + 44.0);
    lying_axis(&mut svg, &ruler, (top, bottom), unit);
    if let Some(x) = zero_line.and_then(|zero| ruler.at(zero)) {
        put(
            &mut svg,
            format_args!(
                "<path class=\"dim\" d=\"M{x:.1} {top}V{bottom}\" stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"4 3\"/>"
            ),
        );
    }
    for (index, row) in rows.iter().enumerate() {
        draw_interval(&mut svg, row, &ruler, top + index as f64 * ROW, unit);
    }
    Ok(svg + "</svg>")
}

fn draw_interval(svg: &mut String, row: &IntervalRow, ruler: &Ruler, top: f64, unit: &str) {
    let number = terminal::four_digits;
    let shown = match (row.value.is_finite(), row.low.is_finite() && row.high.is_finite()) {
        (false, _) => "not measured".to_owned(),
        (true, false) => format!("{} {unit}", number(row.value)),
        (true, true) => format!("{} ({} to {}) {unit}", number(row.value), number(row.low), number(row.high)),
    };
    let room = (WIDTH / LETTER) as usize;
    let name = shorten_middle(&row.name, room.saturating_sub(columns(&shown) + 2).max(10));
    text(svg, "start", (14.0, top + LINE - 2.0), &name);
    text(svg, "end", (WIDTH - 20.0, top + LINE - 2.0), &shown);
    let middle = top + LINE + 10.0;
    put(
        svg,
        format_args!(
            "<g class=\"s0\" fill=\"currentColor\" stroke=\"currentColor\"><title>{}: {}</title>",
            escaped(&row.name),
            escaped(&shown)
        ),
    );
    if let (Some(low), Some(high)) = (ruler.at(row.low), ruler.at(row.high)) {
        put(
            svg,
            format_args!(
                "<path d=\"M{low:.1} {middle}H{high:.1}M{low:.1} {}v10M{high:.1} {}v10\" stroke-width=\"2\"/>",
                middle - 5.0,
                middle - 5.0
            ),
        );
    }
    if let Some(x) = ruler.at(row.value) {
        put(svg, format_args!("<circle cx=\"{x:.1}\" cy=\"{middle}\" r=\"4.5\"/>"));
    }
    svg.push_str("</g>");
}

/// All heights that have to find room.
fn heights(series: &Series) -> impl Iterator<Item = f64> + '_ {
    let band = series.band.iter().flatten().flat_map(|(low, high)| [*low, *high]);
    series.points.iter().map(|point| point.1).chain(band)
}

fn begin(title: &str, height: f64) -> String {
    let mut svg = String::new();
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\" font-size=\"13\">",
            escaped(title)
        ),
    );
    let shortened = shorten_middle(title, ((WIDTH - 8.0) / (LETTER + 0.7)) as usize);
    put(&mut svg, format_args!("<text x=\"4\" y=\"18\" font-weight=\"600\">{}</text>", escaped(&shortened)));
    svg
}

/// The names of the series, and how high they stand.
fn legend(plot: &Plot<'_>) -> (String, f64) {
    let (mut svg, mut at, mut row) = (String::new(), 4.0, 0.0);
    for (index, series) in plot.series.iter().enumerate() {
        let name = shorten_middle(&series.name, ((WIDTH - 50.0) / LETTER) as usize);
        let width = 30.0 + columns(&name) as f64 * LETTER + 12.0;
        if at > 4.0 && at + width > WIDTH {
            (at, row) = (4.0, row + LINE);
        }
        let middle = 34.0 + row;
        group(&mut svg, index, &series.name);
        if series.marks != Marks::Dots {
            line(&mut svg, index, 1.8, &format!("M{at:.1} {middle}h24"));
        }
        if series.marks != Marks::Line {
            dots(&mut svg, &dot(index, at + 12.0, middle));
        }
        svg.push_str("</g>");
        text(&mut svg, "start", (at + 30.0, middle + 4.0), &name);
        at += width;
    }
    (svg, row + LINE)
}

fn axes(svg: &mut String, (x, x_label): (&Ruler, &str), (y, y_label): (&Ruler, &str)) {
    let ((left, right), (bottom, top)) = (x.ends(), y.ends());
    lying_axis(svg, x, (top, bottom), x_label);
    for (at, tick) in y.ticks() {
        put(svg, format_args!("<path class=\"rule\" d=\"M{left:.1} {at:.1}H{right}\" stroke=\"currentColor\"/>"));
        put(svg, format_args!("<g class=\"dim\">"));
        text(svg, "end", (left - 6.0, at + 4.0), &tick);
        svg.push_str("</g>");
    }
    put(svg, format_args!("<g class=\"dim\">"));
    text(svg, "start", (4.0, top - 9.0), y_label);
    svg.push_str("</g>");
}

fn lying_axis(svg: &mut String, ruler: &Ruler, (top, bottom): (f64, f64), label: &str) {
    svg.push_str("<g class=\"dim\">");
    for (at, tick) in ruler.ticks() {
        put(svg, format_args!("<path class=\"rule\" d=\"M{at:.1} {top:.1}V{bottom:.1}\" stroke=\"currentColor\"/>"));
        // The last one would stand out of the picture.
        let half = columns(&tick) as f64 * LETTER / 2.0;
        text(svg, "middle", (at.min(WIDTH - half - 1.0).max(half), bottom + 15.0), &tick);
    }
    text(svg, "middle", (f64::midpoint(ruler.ends().0, ruler.ends().1), bottom + 34.0), label);
    svg.push_str("</g>");
}

fn draw_series(svg: &mut String, index: usize, series: &Series, x: &Ruler, y: &Ruler) {
    group(svg, index, &series.name);
    if let Some(band) = &series.band {
        put(
            svg,
            format_args!("<path d=\"{}\" fill=\"currentColor\" fill-opacity=\"0.18\"/>", outline(series, band, x, y)),
        );
    }
    let places: Vec<Option<(f64, f64)>> = series.points.iter().map(|point| x.at(point.0).zip(y.at(point.1))).collect();
    if series.marks != Marks::Dots {
        line(svg, index, if places.len() > POINTS_WIDE { 1.0 } else { 1.8 }, &stroke(&places));
    }
    if series.marks != Marks::Line {
        dots(svg, &places.iter().flatten().map(|(x, y)| dot(index, *x, *y)).collect::<String>());
    }
    svg.push_str("</g>");
}

/// A path through all places, with gaps. A place between two gaps is a dot.
fn stroke(places: &[Option<(f64, f64)>]) -> String {
    let mut path = String::new();
    for run in places.split(Option::is_none) {
        for (at, (x, y)) in run.iter().flatten().enumerate() {
            put(&mut path, format_args!("{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' }));
        }
        if run.len() == 1 {
            path.push_str("h0");
        }
    }
    path
}

/// The surface between lows and highs. A low that a logarithmic axis has no place for is its end.
fn outline(series: &Series, band: &[(f64, f64)], x: &Ruler, y: &Ruler) -> String {
    let place = |((across, _), (low, high)): (&(f64, f64), &(f64, f64))| {
        let low = if low.is_finite() { Some(y.at(*low).unwrap_or(y.ends().0)) } else { None };
        Some((x.at(*across)?, low?, y.at(*high)?))
    };
    let places: Vec<_> = series.points.iter().zip(band).map(place).collect();
    let mut path = String::new();
    for run in places.split(Option::is_none).filter(|run| !run.is_empty()) {
        let there = run.iter().flatten().map(|(x, _, high)| (*x, *high));
        let back = run.iter().rev().flatten().map(|(x, low, _)| (*x, *low));
        let around: Vec<Option<(f64, f64)>> = there.chain(back).map(Some).collect();
        path.push_str(&stroke(&around));
        path.push('Z');
    }
    path
}

fn group(svg: &mut String, index: usize, name: &str) {
    put(svg, format_args!("<g class=\"s{}\"><title>{}</title>", index % COLOURS, escaped(name)));
}

fn line(svg: &mut String, index: usize, width: f64, path: &str) {
    let dashes = DASHES[index % DASHES.len()];
    put(
        svg,
        format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" stroke-linecap=\"round\" stroke-linejoin=\"round\" stroke-dasharray=\"{dashes}\"/>"
        ),
    );
}

fn dots(svg: &mut String, path: &str) {
    put(svg, format_args!("<path d=\"{path}\" fill=\"currentColor\"/>"));
}

/// A disk, a square, a triangle or a diamond.
fn dot(index: usize, x: f64, y: f64) -> String {
    match index % 4 {
        0 => format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", x - 3.0),
        1 => format!("M{:.1} {:.1}h5v5h-5z", x - 2.5, y - 2.5),
        2 => format!("M{x:.1} {:.1}l3.5 6h-7z", y - 3.5),
        _ => format!("M{x:.1} {:.1}l3.5 4l-3.5 4l-3.5-4z", y - 4.0),
    }
}

fn text(svg: &mut String, anchor: &str, (x, y): (f64, f64), words: &str) {
    put(svg, format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(words)));
}

fn put(svg: &mut String, text: std::fmt::Arguments<'_>) {
    // A String takes whatever is written to it.
    let _written = svg.write_fmt(text);
}

#[cfg(test)]
mod tests;
