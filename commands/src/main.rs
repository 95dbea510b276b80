//! `mh`: looks up the command by name, runs it, ends with its exit code. Nothing else happens here.
//! The commands are in `registry.rs`, one file each beside this one.
// The tests of this crate begin with their harness.
#![cfg_attr(not(test), no_main)]

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

#[global_allocator]
static ALLOCATOR: sys::allocator::LinedUp = sys::allocator::LinedUp;

#[cfg(not(test))]
sys::begin_with!(run);

#[cfg_attr(test, expect(dead_code, reason = "nothing but the beginning calls it"))]
#[expect(clippy::exit, reason = "it is what a return from Rust's own main comes to: standard output is written first")]
fn run(arguments: Vec<OsString>) -> ! {
    let code = match registry::dispatch(arguments) {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => failure.end(),
    };
    std::process::exit(code.into())
}
