//! A report as one HTML file that needs nothing else: no script, no font, nothing from elsewhere. It follows the reader's dark or light screen, fits a
//! phone and can be printed. Text is only ever text, whatever it contains.

use std::borrow::Cow;
use std::fmt::Write;

/// A page under construction.
#[derive(Debug)]
pub struct HtmlPage {
    title: String,
    body: String,
}

impl HtmlPage {
    /// A page with its title as the first heading.
    pub fn new(title: &str) -> Self {
        Self { title: escaped(title).into_owned(), body: String::new() }
    }

    /// Begins a section.
    pub fn heading(&mut self, text: &str) -> &mut Self {
        self.put(format_args!("<h2>{}</h2>\n", escaped(text)))
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.put(format_args!("<p>{}</p>\n", escaped(text)))
    }

    /// The sentence that a reader in a hurry needs, set off from the others.
    pub fn verdict(&mut self, text: &str) -> &mut Self {
        self.put(format_args!("<p class=\"verdict\">{}</p>\n", escaped(text)))
    }

    /// A table, without a head if all names are empty. Columns of numbers are aligned on the right; a row that is too short ends in empty cells.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>]) -> &mut Self {
        let classes: Vec<&str> =
            (0..head.len()).map(|column| if is_numbers(rows, column) { " class=\"n\"" } else { "" }).collect();
        self.put(format_args!("<div class=\"wide\"><table>\n"));
        if head.iter().any(|name| !name.is_empty()) {
            self.put(format_args!("<thead><tr>"));
            for (name, class) in head.iter().zip(&classes) {
                self.put(format_args!("<th{class}>{}</th>", escaped(name)));
            }
            self.put(format_args!("</tr></thead>\n"));
        }
        self.put(format_args!("<tbody>\n"));
        for row in rows {
            self.put(format_args!("<tr>"));
            for (column, class) in classes.iter().enumerate() {
                self.put(format_args!("<td{class}>{}</td>", escaped(row.get(column).map_or("", String::as_str))));
            }
            self.put(format_args!("</tr>\n"));
        }
        self.put(format_args!("</tbody></table></div>\n"))
    }

    /// A picture of [`crate::plots`], which has escaped its texts itself, with a sentence below it. Two stand side by side if there is room.
    pub fn figure(&mut self, svg: &str, caption: &str) -> &mut Self {
        self.put(format_args!("<figure>{svg}<figcaption>{}</figcaption></figure>\n", escaped(caption)))
    }

    /// What programs read: folded up, in a frame.
    pub fn data(&mut self, summary: &str, text: &str) -> &mut Self {
        self.put(format_args!(
            "<details><summary>{}</summary><pre>{}</pre></details>\n",
            escaped(summary),
            escaped(text)
        ))
    }

    /// The whole file.
    pub fn to_html(&self) -> String {
        let (title, body) = (&self.title, &self.body);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        )
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) -> &mut Self {
        // A String takes whatever is written to it.
        let _written = self.body.write_fmt(text);
        self
    }
}

/// Nothing is loaded, run or sent, should an escape ever be missing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("page/style.css");

/// Text as HTML and SVG show it: characters that hide or reorder others are visible, as on a terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let visible = terminal::printable(text);
    if !visible.contains(['&', '<', '>', '"', '\'']) {
        return visible;
    }
    let mut safe = String::with_capacity(visible.len() + 16);
    for letter in visible.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    Cow::Owned(safe)
}

/// Whether every cell of a column begins as a number does; `-` stands for none.
fn is_numbers(rows: &[Vec<String>], column: usize) -> bool {
    let is_number =
        |cell: &str| cell.trim_start_matches(['+', '-', '<', '~']).starts_with(|first: char| first.is_ascii_digit());
    let mut cells =
        rows.iter().filter_map(|row| row.get(column)).filter(|cell| !matches!(cell.as_str(), "" | "-")).peekable();
    cells.peek().is_some() && cells.all(|cell| is_number(cell))
}

#[cfg(test)]
mod tests;
