//! Screens of a terminal as an SVG that shows one after another. Knows the colours that `tmux capture-pane -e` writes, and no
//! movement of a cursor: a captured screen has none.

use std::fmt::Write as _;

/// Lines of runs of text that look alike.
#[derive(Debug, PartialEq, Eq)]
pub struct Screen {
    lines: Vec<Vec<TextRun>>,
}

#[derive(Debug, PartialEq, Eq)]
struct TextRun {
    column: usize,
    text: String,
    look: Look,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    is_bold: bool,
    is_dim: bool,
    /// 0 to 7, as terminals count colours.
    colour: Option<u8>,
}

impl Screen {
    /// Reads what was captured.
    pub fn read(captured: &str) -> Self {
        let mut look = Look::default();
        let lines = captured.trim_end().lines().map(|line| runs_of(line, &mut look)).collect();
        Self { lines }
    }
}

fn runs_of(line: &str, look: &mut Look) -> Vec<TextRun> {
    let mut runs = Vec::new();
    let mut column = 0;
    for (number, part) in line.split('\u{1b}').enumerate() {
        let text = match part.strip_prefix('[').and_then(|order| order.split_once('m')) {
            Some((codes, text)) if number > 0 => {
                codes.split([';', ':']).for_each(|code| look.obey(code));
                text
            }
            _ => part,
        };
        if !text.trim().is_empty() {
            runs.push(TextRun { column, text: text.to_owned(), look: *look });
        }
        column += text.chars().count();
    }
    runs
}

impl Look {
    fn obey(&mut self, code: &str) {
        match code.parse().unwrap_or(0) {
            0 => *self = Self::default(),
            1 => self.is_bold = true,
            2 => self.is_dim = true,
            22 => (self.is_bold, self.is_dim) = (false, false),
            code @ 30..=37 => self.colour = Some(code - 30),
            code @ 90..=97 => self.colour = Some(code - 90),
            39 => self.colour = None,
            // Underlines and backgrounds are not drawn.
            _ => {}
        }
    }

    fn class(self) -> String {
        let words = [(self.is_bold, "b"), (self.is_dim, "d")].into_iter().filter(|(is, _)| *is).map(|(_, word)| word);
        let colour = self.colour.map(|colour| format!("c{colour}"));
        words.map(str::to_owned).chain(colour).collect::<Vec<_>>().join(" ")
    }
}

const CELL_WIDTH: f64 = 8.4;
const LINE_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
const SECONDS_A_SCREEN: usize = 6;

/// The picture.
pub fn drawn(screens: &[Screen], columns: usize, rows: usize) -> String {
    let (width, height) = (columns as f64 * CELL_WIDTH + 2.0 * MARGIN, rows as f64 * LINE_HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"mh in a terminal\">\n<style>\n{}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d1f2b\" stroke=\"#6c7086\"/>\n",
        style(screens.len())
    );
    for (number, screen) in screens.iter().enumerate() {
        writeln!(svg, "<g class=\"s s{number}\">").expect("writing to a string");
        for (row, runs) in screen.lines.iter().take(rows).enumerate() {
            runs.iter().for_each(|run| svg.push_str(&run.drawn(row)));
        }
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

impl TextRun {
    fn drawn(&self, row: usize) -> String {
        let x = MARGIN + self.column as f64 * CELL_WIDTH;
        let y = MARGIN + (row as f64 + 0.75) * LINE_HEIGHT;
        // Every run is as wide as its cells, whatever font there is.
        let text = self.text.trim_end();
        let length = text.chars().count() as f64 * CELL_WIDTH;
        let class = match self.look.class() {
            class if class.is_empty() => class,
            class => format!(" class=\"{class}\""),
        };
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\"{class}>{}</text>\n", escaped(text))
    }
}

fn escaped(text: &str) -> String {
    // A number for blanks, which renderers would fold.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "&#160;")
}

fn style(screens: usize) -> String {
    let colours = ["#6c7086", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#cba6f7", "#94e2d5", "#ffffff"];
    let mut style = String::from(
        "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#dfe3f0}\n.b{font-weight:bold}\n.d{opacity:.65}\n",
    );
    for (number, colour) in colours.iter().enumerate() {
        writeln!(style, ".c{number}{{fill:{colour}}}").expect("writing to a string");
    }
    if screens > 1 {
        let (whole, share) = (screens * SECONDS_A_SCREEN, 100.0 / screens as f64);
        writeln!(style, "@keyframes t{{0%{{visibility:visible}}{share:.3}%{{visibility:hidden}}}}")
            .expect("writing to a string");
        writeln!(style, ".s{{visibility:hidden;animation:t {whole}s step-end infinite}}").expect("writing to a string");
        for number in 0..screens {
            // The first one is there at once, and alone where nothing moves.
            let rule = if number == 0 { "visibility:visible;" } else { "" };
            writeln!(style, ".s{number}{{{rule}animation-delay:{}s}}", number * SECONDS_A_SCREEN)
                .expect("writing to a string");
        }
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_begin_and_end_where_they_were_captured() {
        let screen = Screen::read("\u{1b}[1;32m$\u{1b}[0m mh\nplain \u{1b}[31mred\u{1b}[39m\n\n");
        let runs: Vec<_> =
            screen.lines.iter().flatten().map(|run| (run.column, run.text.as_str(), run.look.class())).collect();
        let expected = [(0, "$", "b c2"), (1, " mh", ""), (0, "plain ", ""), (6, "red", "c1")];
        assert_eq!(runs, expected.map(|(column, text, class)| (column, text, class.to_owned())));
    }

    #[test]
    fn a_picture_has_every_screen_and_no_markup_of_the_text() {
        let svg = drawn(&[Screen::read("a <b> & c"), Screen::read("second")], 20, 2);
        assert!(svg.contains("a&#160;&lt;b&gt;&#160;&amp;&#160;c</text>"), "{svg}");
        assert!(svg.contains("<g class=\"s s1\">\n<text"), "{svg}");
        assert!(svg.contains("animation:t 12s") && svg.contains("50.000%"), "{svg}");
        assert!(!drawn(&[Screen::read("a")], 20, 2).contains("animation"), "one screen stands still");
    }

    #[test]
    fn lines_below_the_terminal_are_left_out() {
        assert!(!drawn(&[Screen::read("a\nb\nlast")], 20, 2).contains("last"));
    }
}
