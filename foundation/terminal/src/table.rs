//! Plain text in aligned columns, for plans, reports and lists.
//! No lines, no colour, no wrapping, no trailing blanks.

use crate::display_width::{columns, shorten};
use crate::quote::printable;
use std::fmt;

/// Which side of its column a cell stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells. `Display` writes them, each row with a line end.
#[derive(Clone, Debug)]
pub struct TextTable {
    aligns: Vec<Align>,
    indent: usize,
    width_max: Option<usize>,
    /// Columns that are left out where there is no room, in this order.
    droppable: Vec<usize>,
    rows: Vec<Vec<String>>,
}

/// Blanks between two columns: one would join words of neighbouring cells.
const GAP: usize = 2;

/// LIMIT: so much of the last column is seen before others are left out for it; of a command line, its program.
const LAST_LEAST: usize = 20;

impl TextTable {
    /// A table without rows, with these columns.
    pub fn new(aligns: &[Align]) -> Self {
        Self { aligns: aligns.to_vec(), indent: 0, width_max: None, droppable: Vec::new(), rows: Vec::new() }
    }

    /// Starts every row with this many blanks.
    #[must_use]
    pub fn indented(mut self, blanks: usize) -> Self {
        self.indent = blanks;
        self
    }

    /// Cuts rows that are longer than so many columns: for a terminal, which would break them.
    #[must_use]
    pub fn no_wider_than(mut self, columns: Option<usize>) -> Self {
        self.width_max = columns;
        self
    }

    /// Leaves out these columns, one after the other, until what a row is about has room.
    #[must_use]
    pub fn dropping(mut self, columns: &[usize]) -> Self {
        self.droppable = columns.to_vec();
        self
    }

    /// Whether each column is shown.
    fn shown(&self, widths: &[usize]) -> Vec<bool> {
        let mut shown = vec![true; widths.len()];
        let Some(limit) = self.width_max else { return shown };
        let last = widths.len().saturating_sub(1);
        let width = |column: usize| if column == last { widths[column].min(LAST_LEAST) } else { widths[column] };
        for &dropped in &self.droppable {
            let needed: usize =
                (0..widths.len()).filter(|&column| shown[column]).map(|column| width(column) + GAP).sum();
            if self.indent + needed <= limit + GAP {
                break;
            }
            shown[dropped] = false;
        }
        shown
    }

    /// Adds a row; a heading is a row like others. Missing cells stay empty; control characters are escaped.
    ///
    /// # Panics
    /// When there are more cells than columns.
    pub fn row<Cell: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| printable(cell.as_ref()).into_owned()).collect();
        assert!(cells.len() <= self.aligns.len(), "a row has no more cells than the table has columns");
        self.rows.push(cells);
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| columns(cell)).max().unwrap_or(0)
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.aligns.len()).map(|column| self.width_of(column)).collect();
        let shown = self.shown(&widths);
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            let cells = row.iter().zip(&self.aligns).zip(&widths).zip(&shown).filter(|(_, is_shown)| **is_shown);
            for (((cell, align), width), _) in cells {
                let blanks = " ".repeat(width - columns(cell));
                match align {
                    Align::Left => line.extend([cell.as_str(), &blanks]),
                    Align::Right => line.extend([&blanks, cell.as_str()]),
                }
                line.push_str(&" ".repeat(GAP));
            }
            let line = line.trim_end();
            match self.width_max {
                Some(limit) => writeln!(formatter, "{}", shorten(line, limit))?,
                None => writeln!(formatter, "{line}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_to_their_side() {
        let mut table = TextTable::new(&[Align::Right, Align::Left, Align::Right, Align::Left]);
        table.row(["PID", "CLASS", "HOLDS", "WHAT"]);
        table.row(["8123", "high", "40", "tamp -9 db.export"]);
        table.row(["9001", "idle", "0"]);
        let expected = " PID  CLASS  HOLDS  WHAT\n\
                        8123  high      40  tamp -9 db.export\n\
                        9001  idle       0\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn indented_rows_have_no_trailing_blanks() {
        let mut table = TextTable::new(&[Align::Left, Align::Left, Align::Left]).indented(2);
        table.row(["format", "gz members of 1 MiB, level 9", "given"]);
        table.row(["read", "in each worker", ""]);
        let expected = "  format  gz members of 1 MiB, level 9  given\n  read    in each worker\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn wide_and_hostile_cells_keep_the_columns() {
        let mut table = TextTable::new(&[Align::Left, Align::Right]);
        table.row(["数据", "1"]);
        table.row(["a\nb", "22"]);
        assert_eq!(table.to_string(), "数据   1\na\\nb  22\n");
    }

    #[test]
    fn rows_that_a_terminal_would_break_are_cut() {
        let mut table = TextTable::new(&[Align::Right, Align::Left]).no_wider_than(Some(10));
        table.row(["7", "a long command"]);
        table.row(["8", "short"]);
        let text = table.to_string();
        assert!(text.lines().all(|line| columns(line) <= 10), "{text}");
        assert!(text.ends_with("8  short\n"), "{text}");
    }

    #[test]
    fn columns_that_matter_less_give_way_to_the_last_one() {
        let row = ["4711", "12345678", "abcdefgh", "a command line that is longer than all"];
        let at = |width| {
            let aligns = [Align::Right, Align::Right, Align::Left, Align::Left];
            let mut table = TextTable::new(&aligns).no_wider_than(width).dropping(&[1, 2]);
            table.row(row);
            table.to_string()
        };
        assert_eq!(at(None), "4711  12345678  abcdefgh  a command line that is longer than all\n");
        assert_eq!(at(Some(46)), "4711  12345678  abcdefgh  a command line tha..\n");
        assert_eq!(at(Some(45)), "4711  abcdefgh  a command line that is long..\n");
        assert_eq!(at(Some(35)), "4711  a command line that is long..\n");
        assert_eq!(at(Some(10)), "4711  a ..\n");
    }

    #[test]
    #[should_panic(expected = "no more cells")]
    fn a_cell_too_many_is_a_bug() {
        TextTable::new(&[Align::Left]).row(["one", "two"]);
    }
}
