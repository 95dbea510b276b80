//! Options of incremental archives.

use clap::Args;
use std::path::PathBuf;

/// Incremental archives.
#[derive(Args, Debug)]
#[group(skip)]
pub struct IncrementalArgs {
    /// Archive what has changed since the state in FILE was written, and write the new state; extracting, remove what went
    #[arg(short = 'g', long, value_name = "FILE", hide_short_help = true)]
    pub listed_incremental: Option<PathBuf>,

    /// The same without a state: all files, and what is in each directory
    #[arg(short = 'G', long, hide_short_help = true)]
    pub incremental: bool,

    /// Directories on another device are others: the default
    #[arg(long, overrides_with = "no_check_device", hide_short_help = true)]
    pub check_device: bool,

    /// The numbers of devices say nothing
    #[arg(long, hide_short_help = true)]
    pub no_check_device: bool,
}
