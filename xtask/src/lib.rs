//! What the other scripts of the project share. No task is here.
#![expect(clippy::print_stdout, reason = "a script talks to whoever runs it")]

pub mod workspace;
