//! `mh`: looks up the command by name, runs it, ends with its exit code. Nothing else happens here.
//! The table of commands is in `registry.rs`; the crates beside this one have the commands.
// The tests of this crate begin with their harness.
#![cfg_attr(not(test), no_main)]

mod generate;
mod links;
mod registry;
mod tour;

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
