//! The only crate that writes to a terminal: messages, progress, tables, units, quoted names.
//! Seen by `commands` alone. Knows no command and reads no environment: the meaning of `NO_COLOR` or a flag arrives as a value.
//! Whatever a file name contains, no escape sequence of it reaches a terminal through here.

mod display_width;
mod durations;
mod emphasis;
pub mod full_screen;
mod messages;
mod output;
mod progress;
mod quote;
mod screen;
mod table;
mod units;

pub use display_width::{columns, shorten_middle};
pub use durations::{DurationError, parse_duration};
pub use emphasis::{Tint, wrapped, wrapped_line};
pub use messages::{KeptMessages, Messages, Verbosity};
pub use output::{Colour, Delivery, StandardStream, TextDestination, TextOutput, standard_output_columns};
pub use progress::{Progress, ProgressSample, render_line};
pub use quote::{printable, quote, quote_text};
pub use table::{Align, TextTable};
pub use units::{
    SizeError, bytes, bytes_of, duration, duration_coarse, error_digits, four_digits, integer, parse_bytes, percentage,
    percentage_whole, rate,
};
