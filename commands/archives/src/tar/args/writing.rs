//! Options about how files become members, and what becomes of the files.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// How files become members.
#[derive(Args, Debug)]
#[group(skip)]
pub struct WritingArgs {
    /// Remove files when the archive that they are in is complete
    #[arg(long, hide_short_help = true)]
    pub remove_files: bool,

    /// Compare the archive with the files when it is complete
    #[arg(short = 'W', long, hide_short_help = true)]
    pub verify: bool,

    /// Report files of which not all names are archived
    #[arg(short = 'l', long, hide_short_help = true)]
    pub check_links: bool,

    /// Label of the archive; of one that is read, the pattern that its label must match
    #[arg(short = 'V', long, value_name = "TEXT", hide_short_help = true)]
    pub label: Option<OsString>,

    /// How holes are found: seek (the file system is asked) or raw (zeros are looked for)
    #[arg(long, value_name = "METHOD", value_parser = ["seek", "raw"], hide_short_help = true)]
    pub hole_detection: Option<String>,

    /// How pax archives hold sparse files: 1.0 (default), 0.1 or 0.0; with it, --sparse is on
    #[arg(long, value_name = "VERSION", value_parser = ["0.0", "0.1", "1.0", "0", "1"], hide_short_help = true)]
    pub sparse_version: Option<String>,

    /// Owners to write instead of others: lines of FILE are OLD NEW[:UID], with + in front of numbers
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub owner_map: Option<PathBuf>,

    /// The same for groups
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub group_map: Option<PathBuf>,
}
