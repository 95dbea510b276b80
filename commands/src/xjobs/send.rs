//! `--send FIFO`: gives jobs to the server that reads a named pipe. A job is one write under a lock, so jobs of many senders
//! never mix. Waits for no server: where nobody reads, that is said.

use super::NAME;
use crate::failure::{Failure, Outcome, with_causes};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use terminal::quote;

/// Sends the command in `words`, or where there are none the lines of standard input.
pub fn send(pipe: &Path, words: &[OsString]) -> Result<Outcome, Failure> {
    let failure = |what: &str, error: &std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("{what} {}: {}", quote(pipe), with_causes(error)),
    };
    let opened = rustix::fs::open(pipe, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let descriptor = opened.map_err(|error| match error {
        rustix::io::Errno::NXIO => failure("send to", &std::io::Error::other("no server reads it")),
        other => failure("open", &other.into()),
    })?;
    // A full pipe is waited for from here on.
    rustix::fs::fcntl_setfl(&descriptor, OFlags::empty()).map_err(|error| failure("open", &error.into()))?;
    let mut server = File::from(descriptor);
    if !words.is_empty() {
        let line = record(words)?;
        put(&mut server, line.as_bytes()).map_err(|error| failure("send to", &error))?;
        return Ok(Outcome::Done);
    }
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| failure("read jobs for", &error))?;
        put(&mut server, &line).map_err(|error| failure("send to", &error))?;
    }
    Ok(Outcome::Done)
}

fn put(server: &mut File, line: &[u8]) -> std::io::Result<()> {
    flock(&*server, FlockOperation::LockExclusive)?;
    let written = server.write_all(&[line, b"\n"].concat());
    flock(&*server, FlockOperation::Unlock)?;
    written
}

/// The command as a record: its words exactly, to be run where we are.
fn record(words: &[OsString]) -> Result<String, Failure> {
    let argv: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let argv = argv.ok_or_else(|| super::plan::usage("--send takes words that are text"))?;
    let here = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(str::to_owned));
    Ok(serde_json::json!({ "argv": argv, "cwd": here }).to_string())
}
