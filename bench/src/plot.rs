//! One picture a run: a bar for each comparison, ours against the rival, with the target as a mark.
//! SVG; embeds no fonts and knows no case.

use plotters::prelude::*;
use std::path::Path;

/// A comparison.
pub struct Bar {
    pub name: String,
    pub ratio: f64,
    pub must: Option<f64>,
}

const BAR_HEIGHT: u32 = 24;
/// Names and ratios: 52 letters fit before the ratio.
const LABEL_WIDTH: u32 = 450;
const WIDTH: u32 = 1000;

/// Draws all comparisons, one below the other. Left of 1 we are faster.
pub fn ratios(path: &Path, bars: &[Bar]) -> Result<(), String> {
    if bars.is_empty() {
        return Ok(());
    }
    let height = bars.len() as u32 * BAR_HEIGHT + 90;
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    draw(&area, bars).map_err(|error| format!("could not draw {}: {error}", path.display()))
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    bars: &[Bar],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    area.fill(&WHITE)?;
    // LIMIT: a comparison that we win or lose by more than this is cut off; its number stands before it.
    let most = bars.iter().map(|bar| bar.ratio).fold(1.1, f64::max).min(2.0);
    let scale = f64::from(WIDTH - LABEL_WIDTH - 30) / most;
    let x = |ratio: f64| (f64::from(LABEL_WIDTH) + ratio.min(most) * scale) as i32;
    let text = ("sans-serif", 14).into_font();
    let title = "our wall time / the rival's (below 1: we are faster; red mark: target)";
    area.draw(&Text::new(title, (10, 14), ("sans-serif", 16).into_font()))?;
    let bottom = 50 + bars.len() as i32 * BAR_HEIGHT as i32;
    for tick in 0..=(most / 0.25) as usize {
        let ratio = tick as f64 * 0.25;
        let colour = if tick == 4 { BLACK.stroke_width(2) } else { BLACK.mix(0.15).stroke_width(1) };
        area.draw(&PathElement::new([(x(ratio), 44), (x(ratio), bottom)], colour))?;
        area.draw(&Text::new(format!("{ratio:.2}"), (x(ratio) - 12, bottom + 8), text.clone()))?;
    }
    for (index, bar) in bars.iter().enumerate() {
        let top = 50 + index as i32 * BAR_HEIGHT as i32;
        let missed = bar.must.is_some_and(|must| bar.ratio > must);
        let colour = if missed {
            RGBColor(214, 120, 60)
        } else if bar.must.is_some() {
            RGBColor(60, 120, 190)
        } else {
            RGBColor(150, 165, 180)
        };
        area.draw(&Text::new(bar.name.clone(), (10, top + 3), text.clone()))?;
        area.draw(&Rectangle::new(
            [(LABEL_WIDTH as i32, top + 2), (x(bar.ratio), top + BAR_HEIGHT as i32 - 4)],
            colour.filled(),
        ))?;
        // In a column of their own: beside the bars they would lie on marks and lines.
        area.draw(&Text::new(format!("{:.2}", bar.ratio), (LABEL_WIDTH as i32 - 45, top + 3), text.clone()))?;
        if let Some(must) = bar.must {
            area.draw(&PathElement::new(
                [(x(must), top), (x(must), top + BAR_HEIGHT as i32 - 2)],
                RED.stroke_width(3),
            ))?;
        }
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_has_its_name_and_its_number() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ratios.svg");
        let bar = |name: &str, ratio, must| Bar { name: name.to_owned(), ratio, must };
        ratios(&path, &[bar("first", 0.25, Some(0.5)), bar("second", 12.5, None)]).expect("it can be drawn");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(["first", "second", "0.25", "12.50"].iter().all(|word| text.contains(word)));
    }

    #[test]
    fn nothing_measured_is_no_picture() {
        let path = Path::new("/nowhere/ratios.svg");
        assert_eq!(ratios(path, &[]), Ok(()));
        assert!(!path.exists());
    }
}
