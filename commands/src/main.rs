//! `mh`: looks up the command by name, runs it, ends with its exit code. Nothing else happens here.
//! The commands are in `registry.rs`, one file each beside this one.

mod ceiling;
mod context;
mod cp;
mod crew;
mod failure;
mod fit;
mod generate;
mod instruments;
mod job_slots;
mod links;
mod mtwrite;
mod mv;
mod pstime;
mod registry;
mod report;
mod rm;
mod settings;
mod shared_args;
mod sharing;
mod systime;
mod tamp;
mod tar;
mod timers;
mod tour;
mod trees;
mod xjobs;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Without a null device it stays as it is, and what is written to it is lost.
    let _stays = sys::standard_streams::bar_closed_output();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match registry::dispatch(arguments) {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(failure) => failure.end(),
    }
}
