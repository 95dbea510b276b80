//! Options about reports of a run: checkpoints, totals, and how names are shown.

use clap::{ArgAction, Args};
use std::ffi::OsString;
use std::path::PathBuf;

/// Reports.
#[derive(Args, Debug)]
#[group(skip)]
pub struct TellingArgs {
    /// Print the size of the archive at the end; with a signal, whenever that arrives: HUP, QUIT, INT, USR1 or USR2
    #[arg(long, value_name = "SIGNAL", num_args = 0..=1, require_equals = true, default_missing_value = "",
        action = ArgAction::Append, hide_short_help = true)]
    pub totals: Vec<String>,

    /// Act at every Nth record of 10,240 bytes, or every 10th
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10", hide_short_help = true)]
    pub checkpoint: Option<String>,

    /// What to do at checkpoints: echo[=TEXT] (default), dot, ttyout=TEXT, bell, totals, sleep=SECONDS, exec=COMMAND, wait=SIGNAL
    #[arg(long, value_name = "ACTION", action = ArgAction::Append, hide_short_help = true)]
    pub checkpoint_action: Vec<OsString>,

    /// Ask before each file is archived, or extracted
    #[arg(short = 'w', long, visible_alias = "confirmation", hide_short_help = true)]
    pub interactive: bool,

    /// Print the number of the archive's block in front of lines of -v and -t
    #[arg(short = 'R', long, hide_short_help = true)]
    pub block_number: bool,

    /// Print the lines of -v and -t to FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub index_file: Option<PathBuf>,

    /// Show names as escape (default), literal, shell, shell-always, c, c-maybe, locale or clocale does
    #[arg(long, value_name = "STYLE", hide_short_help = true,
        value_parser = ["literal", "shell", "shell-always", "c", "c-maybe", "escape", "locale", "clocale"])]
    pub quoting_style: Option<String>,

    /// Put a backslash in front of these characters too
    #[arg(long, value_name = "CHARACTERS", action = ArgAction::Append, hide_short_help = true)]
    pub quote_chars: Vec<OsString>,

    /// Show these characters as they are
    #[arg(long, value_name = "CHARACTERS", action = ArgAction::Append, hide_short_help = true)]
    pub no_quote_chars: Vec<OsString>,
}
