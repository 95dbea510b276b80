//! Options of archives that span volumes.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Archives that span volumes.
#[derive(Args, Debug)]
#[group(skip)]
pub struct VolumeArgs {
    /// The archive spans volumes: those that -f names one after the other, and then what a person, or --info-script, says
    #[arg(short = 'M', long, hide_short_help = true)]
    pub multi_volume: bool,

    /// Volumes have N KiB, with a suffix bytes (c), KiB (k), MiB (M), GiB (G) or TiB (T); it implies -M
    #[arg(short = 'L', long, value_name = "N", hide_short_help = true)]
    pub tape_length: Option<String>,

    /// Run COMMAND at the end of each volume; it implies -M
    #[arg(short = 'F', long, visible_alias = "new-volume-script", value_name = "COMMAND", hide_short_help = true)]
    pub info_script: Option<OsString>,

    /// Keep the number of the volume in FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub volno_file: Option<PathBuf>,
}

impl VolumeArgs {
    /// Whether there may be several.
    pub fn are_several(&self) -> bool {
        self.multi_volume || self.tape_length.is_some() || self.info_script.is_some()
    }
}
