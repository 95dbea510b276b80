//! How an instrument's text looks: colour, and whether lines are cut at the terminal's width. In a pipe nothing is coloured or cut, as with ps.

use crate::context::{obeys_orders, variable};
use clap::{Args, ValueEnum};
use std::ffi::OsStr;
use terminal::{Colour, TextDestination, TextTable, Tint, standard_output_columns, wrapped};

/// Colour and width, as typed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LookArgs {
    /// Colour: on a terminal unless NO_COLOR is set, always, or never
    #[arg(
        long,
        visible_alias = "colour",
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true,
        hide_possible_values = true
    )]
    color: ColorArg,

    /// Whole command lines; on a terminal they are otherwise cut at its width
    #[arg(short = 'l', long, hide_short_help = true)]
    long: bool,
}

/// When to colour, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLook {
    /// Whether to colour.
    pub colour: Colour,
    /// Columns of the terminal: where prose is broken. None in a pipe.
    pub columns: Option<usize>,
    /// Columns at which rows are cut; none where they are whole.
    pub cut: Option<usize>,
}

impl TextLook {
    /// Nothing is coloured, broken or cut.
    pub const PLAIN: Self = Self { colour: Colour::Off, columns: None, cut: None };
}

impl TextLook {
    /// A table: cut where the terminal ends, its heading bold.
    pub fn table(self, table: TextTable) -> String {
        let text = table.no_wider_than(self.cut).to_string();
        let end = text.find('\n').map_or(text.len(), |at| at + 1);
        format!("{}{}", self.colour.paint(Tint::Bold, &text[..end]), &text[end..])
    }

    /// Sentences, broken between words where the terminal ends.
    pub fn prose(self, text: &str) -> String {
        wrapped(text, self.columns)
    }

    /// The sentence that answers.
    pub fn verdict(self, tint: Tint, text: &str) -> String {
        self.colour.paint(tint, &self.prose(text))
    }
}

impl LookArgs {
    /// For text on standard output.
    pub fn look(self) -> TextLook {
        // A terminal that obeys no orders is no place for colours.
        let is_terminal = obeys_orders() && TextDestination::of(&rustix::stdio::stdout()) == TextDestination::Terminal;
        let destination = if is_terminal { TextDestination::Terminal } else { TextDestination::Elsewhere };
        self.decide(variable("NO_COLOR").as_deref(), destination, standard_output_columns())
    }

    fn decide(self, no_color: Option<&OsStr>, destination: TextDestination, columns: Option<usize>) -> TextLook {
        let colour = match self.color {
            ColorArg::Auto => Colour::decide(no_color, destination),
            ColorArg::Always => Colour::On,
            ColorArg::Never => Colour::Off,
        };
        TextLook { colour, columns, cut: columns.filter(|_| !self.long) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_colour_and_cut_rows_and_a_pipe_has_neither() {
        let decide = |color, long, no_color: Option<&str>, destination, columns| {
            LookArgs { color, long }.decide(no_color.map(OsStr::new), destination, columns)
        };
        let terminal = decide(ColorArg::Auto, false, None, TextDestination::Terminal, Some(80));
        assert_eq!(terminal, TextLook { colour: Colour::On, columns: Some(80), cut: Some(80) });
        let whole = decide(ColorArg::Auto, true, Some("1"), TextDestination::Terminal, Some(80));
        assert_eq!(whole, TextLook { colour: Colour::Off, columns: Some(80), cut: None });
        assert_eq!(decide(ColorArg::Auto, false, None, TextDestination::Elsewhere, None), TextLook::PLAIN);
        assert_eq!(decide(ColorArg::Always, false, Some("1"), TextDestination::Elsewhere, None).colour, Colour::On);
        assert_eq!(decide(ColorArg::Never, false, None, TextDestination::Terminal, Some(80)).colour, Colour::Off);
    }
}
