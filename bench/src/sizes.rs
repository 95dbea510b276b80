//! The chart of wall time against size: a panel a format, a point for each tool and level, ours and the rivals'.
//! Times are those of a GiB, since slow levels have smaller inputs. SVG; embeds no fonts and measures nothing.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

/// A tool at a level.
pub struct Point {
    pub format: &'static str,
    pub level: &'static str,
    pub corpus: &'static str,
    pub tool: String,
    /// Output to input.
    pub share: f64,
    /// Wall seconds of a GiB.
    pub gib_s: f64,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), Box<dyn std::error::Error + 'a>>;
/// Left, top, right, bottom.
type Box4 = [i32; 4];

const WIDTH: u32 = 1000;
const COLUMNS: usize = 2;
const PANEL: (i32, i32) = (500, 320);
const HEAD: i32 = 62;
/// From a panel's edges to its plot.
const MARGIN: Box4 = [58, 44, 24, 44];
const LETTER_WIDTH: i32 = 7;
const TEXT_HEIGHT: i32 = 13;
const MARK: i32 = 5;
const TICKS_MAX: f64 = 7.0;
const SHARE_STEPS: [f64; 9] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

/// Ours, then rivals by order.
const COLOURS: [RGBColor; 4] =
    [RGBColor(40, 100, 180), RGBColor(214, 110, 40), RGBColor(70, 140, 70), RGBColor(130, 80, 150)];

/// Draws the points of a corpus; nothing where there are none.
pub fn draw(path: &Path, corpus: &str, points: &[&Point]) -> Result<(), String> {
    let formats = in_order(points.iter().map(|point| point.format));
    if formats.is_empty() {
        return Ok(());
    }
    let rows = formats.len().div_ceil(COLUMNS) as i32;
    let area = SVGBackend::new(path, (WIDTH, (HEAD + rows * PANEL.1) as u32)).into_drawing_area();
    draw_all(&area, corpus, points, &formats).map_err(|error| format!("could not draw {}: {error}", path.display()))
}

fn draw_all<'a>(area: &Area<'a>, corpus: &str, points: &[&Point], formats: &[&str]) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let title = format!("Compressing \"{corpus}\": wall time against output size, by tool and level");
    area.draw(&Text::new(title, (12, 14), ("sans-serif", 18).into_font()))?;
    let how = "Lower is faster, further left is smaller. Times are scaled to 1 GiB of input; points on a beginning of the corpus name its size.";
    area.draw(&Text::new(how, (12, 38), ("sans-serif", 13).into_font()))?;
    for (index, format) in formats.iter().enumerate() {
        let origin = ((index % COLUMNS) as i32 * PANEL.0, HEAD + (index / COLUMNS) as i32 * PANEL.1);
        let points: Vec<&Point> = points.iter().copied().filter(|point| point.format == *format).collect();
        Panel::new(origin, points).draw(area, format)?;
    }
    area.present()?;
    Ok(())
}

/// Each once, in the order of their first.
fn in_order<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

struct Panel<'p> {
    /// Of the plot in the picture.
    plot: Box4,
    origin: (i32, i32),
    points: Vec<&'p Point>,
    tools: Vec<&'p str>,
    share: (f64, f64),
    /// Logarithms of the seconds.
    log_s: (f64, f64),
}

impl<'p> Panel<'p> {
    fn new(origin: (i32, i32), points: Vec<&'p Point>) -> Self {
        let [left, top, right, bottom] = MARGIN;
        let plot = [origin.0 + left, origin.1 + top, origin.0 + PANEL.0 - right, origin.1 + PANEL.1 - bottom];
        let range = |figure: fn(&Point) -> f64| {
            let figures = || points.iter().map(|point| figure(point));
            (figures().fold(f64::INFINITY, f64::min), figures().fold(f64::NEG_INFINITY, f64::max))
        };
        let widened = |(least, most): (f64, f64), span_min: f64| {
            let (middle, half) = (f64::midpoint(least, most), (most - least).max(span_min) * 0.62);
            (middle - half, middle + half)
        };
        let share = widened(range(|point| point.share), 0.01);
        let log_s = widened(range(|point| point.gib_s.log10()), 0.5);
        let tools = in_order(points.iter().map(|point| point.tool.as_str()));
        Self { plot, origin, points, tools, share, log_s }
    }

    fn x(&self, share: f64) -> i32 {
        let along = (share - self.share.0) / (self.share.1 - self.share.0);
        self.plot[0] + (along * f64::from(self.plot[2] - self.plot[0])) as i32
    }

    fn y(&self, gib_s: f64) -> i32 {
        let along = (gib_s.log10() - self.log_s.0) / (self.log_s.1 - self.log_s.0);
        self.plot[3] - (along * f64::from(self.plot[3] - self.plot[1])) as i32
    }

    fn place(&self, point: &Point) -> (i32, i32) {
        (self.x(point.share), self.y(point.gib_s))
    }

    fn colour(&self, tool: &str) -> RGBColor {
        let index = self.tools.iter().position(|known| *known == tool).unwrap_or_default();
        COLOURS[index % COLOURS.len()]
    }

    fn draw<'a>(&self, area: &Area<'a>, format: &str) -> Drawn<'a> {
        self.draw_axes(area)?;
        self.draw_legend(area, format)?;
        for tool in &self.tools {
            let of_tool: Vec<&Point> = self.points.iter().copied().filter(|point| point.tool == *tool).collect();
            // Levels of the same input are one line; another input is another line.
            for corpus in in_order(of_tool.iter().map(|point| point.corpus)) {
                let of_corpus = of_tool.iter().filter(|point| point.corpus == corpus);
                let line: Vec<(i32, i32)> = of_corpus.map(|point| self.place(point)).collect();
                area.draw(&PathElement::new(line, self.colour(tool).mix(0.45).stroke_width(2)))?;
            }
        }
        for point in &self.points {
            self.draw_mark(area, &point.tool, self.place(point))?;
        }
        let font = ("sans-serif", TEXT_HEIGHT).into_font();
        for (point, text, at) in self.labels() {
            // Lines may pass below it.
            let corner = (at.0 + text.len() as i32 * LETTER_WIDTH, at.1 + TEXT_HEIGHT);
            area.draw(&Rectangle::new([at, corner], WHITE.mix(0.8).filled()))?;
            area.draw(&Text::new(text, at, font.color(&self.colour(&point.tool))))?;
        }
        Ok(())
    }

    fn draw_axes<'a>(&self, area: &Area<'a>) -> Drawn<'a> {
        let [left, top, right, bottom] = self.plot;
        let (faint, font) = (BLACK.mix(0.12).stroke_width(1), ("sans-serif", 12).into_font());
        for share in share_ticks(self.share) {
            let (x, text) = (self.x(share), percent(share));
            area.draw(&PathElement::new([(x, top), (x, bottom)], faint))?;
            area.draw(&Text::new(text.clone(), (x - text.len() as i32 * 3, bottom + 6), font.clone()))?;
        }
        for seconds in second_ticks(self.log_s) {
            let (y, text) = (self.y(seconds), format!("{seconds} s"));
            area.draw(&PathElement::new([(left, y), (right, y)], faint))?;
            area.draw(&Text::new(text.clone(), (left - 8 - text.len() as i32 * 6, y - 6), font.clone()))?;
        }
        area.draw(&Rectangle::new([(left, top), (right, bottom)], BLACK.mix(0.5).stroke_width(1)))?;
        area.draw(&Text::new("output, % of the input", (right - 112, bottom + 23), font.clone()))?;
        area.draw(&Text::new("wall s / GiB (log)", (self.origin.0 + 12, bottom + 23), font))?;
        Ok(())
    }

    fn draw_legend<'a>(&self, area: &Area<'a>, format: &str) -> Drawn<'a> {
        let top = self.origin.1 + 16;
        let mut x = self.plot[0];
        area.draw(&Text::new(format.to_owned(), (x, top), ("sans-serif", 18).into_font().style(FontStyle::Bold)))?;
        x += 60;
        for tool in &self.tools {
            self.draw_mark(area, tool, (x, top + 10))?;
            area.draw(&Text::new((*tool).to_owned(), (x + 10, top + 3), ("sans-serif", TEXT_HEIGHT).into_font()))?;
            x += 34 + tool.len() as i32 * LETTER_WIDTH;
        }
        Ok(())
    }

    /// A shape of its own for each tool: colours are not all that tells them apart.
    fn draw_mark<'a>(&self, area: &Area<'a>, tool: &str, (x, y): (i32, i32)) -> Drawn<'a> {
        let colour = self.colour(tool);
        match self.tools.iter().position(|known| *known == tool) {
            Some(0) => area.draw(&Circle::new((x, y), MARK + 1, colour.filled()))?,
            Some(1) => {
                let corners = [(x - MARK + 1, y - MARK + 1), (x + MARK - 1, y + MARK - 1)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            _ => area.draw(&TriangleMarker::new((x, y), MARK + 1, colour.filled()))?,
        }
        Ok(())
    }

    /// Levels beside their points, where nothing else is; the first place of all where something is everywhere.
    fn labels(&self) -> Vec<(&'p Point, String, (i32, i32))> {
        let mut taken: Vec<Box4> = self.points.iter().map(|point| around(self.place(point))).collect();
        let mut labels = Vec::new();
        for &point in &self.points {
            let (x, y) = self.place(point);
            let text = label(point);
            let (width, gap) = (text.len() as i32 * LETTER_WIDTH, MARK + 4);
            let (above, below, beside) = (y - gap - TEXT_HEIGHT, y + gap, y - TEXT_HEIGHT / 2);
            let (left, right, centred) = (x - gap - width, x + gap, x - width / 2);
            // Ours is mostly the lowest: its labels go below, the rivals' above, where there is room.
            let is_ours = self.tools.first() == Some(&point.tool.as_str());
            let (first, second) = if is_ours { (below, above) } else { (above, below) };
            let near = [
                (right, beside),
                (centred, first),
                (left, beside),
                (centred, second),
                (right, first),
                (left, first),
                (right, second),
                (left, second),
            ];
            let far = near.map(|(at_x, at_y)| (at_x + (at_x - centred) / 2, at_y + (at_y - beside)));
            let tall = TEXT_HEIGHT;
            let boxed = |&(left, top): &(i32, i32)| [left, top, left + width, top + tall];
            let is_free = |place: &(i32, i32)| {
                let it = boxed(place);
                is_within(it, self.plot) && !taken.iter().any(|other| overlap(it, *other))
            };
            let place = near.iter().chain(&far).copied().find(is_free).unwrap_or(near[0]);
            taken.push(boxed(&place));
            labels.push((point, text, place));
        }
        labels
    }
}

fn label(point: &Point) -> String {
    match point.corpus.split_once('-') {
        Some((_, mib)) => format!("{} ({mib} MiB)", point.level),
        None => point.level.to_owned(),
    }
}

fn around((x, y): (i32, i32)) -> Box4 {
    [x - MARK - 1, y - MARK - 1, x + MARK + 1, y + MARK + 1]
}

fn overlap(one: Box4, other: Box4) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

fn is_within(inner: Box4, outer: Box4) -> bool {
    inner[0] > outer[0] && inner[1] > outer[1] && inner[2] < outer[2] && inner[3] < outer[3]
}

fn share_ticks((least, most): (f64, f64)) -> Vec<f64> {
    let fits = |step: &f64| (most - least) / step <= TICKS_MAX;
    let step = SHARE_STEPS.into_iter().find(fits).unwrap_or(0.5);
    ((least / step).ceil() as i64..=(most / step).floor() as i64).map(|count| count as f64 * step).collect()
}

/// 1, 2 and 5 of each power of ten.
fn second_ticks((least, most): (f64, f64)) -> Vec<f64> {
    let powers = least.floor() as i32..=most.ceil() as i32;
    let ticks = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    ticks.filter(|tick| (least..=most).contains(&tick.log10())).collect()
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(tool: &str, level: &'static str, corpus: &'static str, share: f64, gib_s: f64) -> Point {
        Point { format: "zst", level, corpus, tool: tool.to_owned(), share, gib_s }
    }

    #[test]
    fn every_tool_and_level_is_in_the_picture() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("sizes.svg");
        let points = [point("ours", "-3", "source", 0.1, 2.0), point("theirs", "-19", "source-64", 0.08, 300.0)];
        draw(&path, "source", &points.each_ref()).expect("it can be drawn");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(["ours", "theirs", "-3", "-19 (64 MiB)", "zst", "9 %", "100 s"].iter().all(|word| text.contains(word)));
        let none = directory.path().join("none.svg");
        assert_eq!(draw(&none, "mixed", &[]), Ok(()));
        assert!(!none.exists());
    }

    #[test]
    fn labels_do_not_lie_on_each_other_nor_on_points() {
        let levels = [("-1", 0.124, 1.8), ("-3", 0.11, 2.6), ("-9", 0.0876, 6.1)];
        let all: Vec<Point> = levels
            .iter()
            .flat_map(|&(level, share, seconds)| {
                let near = |tool: &str, by: f64| point(tool, level, "source", share * by, seconds * by);
                [near("ours", 1.0), near("theirs", 1.005), near("other", 0.995)]
            })
            .collect();
        let panel = Panel::new((0, 0), all.iter().collect());
        let boxed = |text: &str, (x, y): (i32, i32)| [x, y, x + text.len() as i32 * LETTER_WIDTH, y + TEXT_HEIGHT];
        let labels: Vec<Box4> = panel.labels().iter().map(|(_, text, at)| boxed(text, *at)).collect();
        for (index, one) in labels.iter().enumerate() {
            assert!(!labels[index + 1..].iter().any(|other| overlap(*one, *other)), "{labels:?}");
            assert!(!all.iter().any(|point| overlap(*one, around(panel.place(point)))), "{labels:?}");
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(second_ticks((0.0, 1.0)), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(
            share_ticks((0.081, 0.132)).iter().map(|&share| percent(share)).collect::<Vec<_>>(),
            ["9 %", "10 %", "11 %", "12 %", "13 %"]
        );
    }
}
