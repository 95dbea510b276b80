//! `--send PATH`: gives jobs to a server. Over a socket the server says what it has taken, and with --wait what became of it; into
//! a named pipe a job is one write under a lock, so that jobs of many senders never mix. Waits for no server to come.

use super::NAME;
use super::more_args::ServerArgs;
use jobs::server::greeting;
use mh_kit::failure::{Failure, Outcome, with_causes};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use terminal::quote;

/// Sends the command in `words`, or where there are none the lines of standard input.
pub fn send(path: &Path, args: &ServerArgs, words: &[OsString]) -> Result<Outcome, Failure> {
    let kind = rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind != Ok(FileType::Fifo) {
        return to_socket(path, args, words);
    }
    if args.wait || args.finish {
        return Err(super::plan::usage("--wait and --finish need a server on a socket: a named pipe has no answer"));
    }
    into_pipe(path, words)
}

fn failure(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Environment { command: NAME, message: format!("{what} {}: {}", quote(path), with_causes(error)) }
}

fn into_pipe(path: &Path, words: &[OsString]) -> Result<Outcome, Failure> {
    let opened = rustix::fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let descriptor = opened.map_err(|error| match error {
        rustix::io::Errno::NXIO => failure("send to", path, &io::Error::other("no server reads it")),
        other => failure("open", path, &other.into()),
    })?;
    // A full pipe is waited for from here on.
    rustix::fs::fcntl_setfl(&descriptor, OFlags::empty()).map_err(|error| failure("open", path, &error.into()))?;
    let mut server = File::from(descriptor);
    if !words.is_empty() {
        let line = record(words)?;
        put(&mut server, line.as_bytes()).map_err(|error| failure("send to", path, &error))?;
        return Ok(Outcome::Done);
    }
    for line in io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| failure("read jobs for", path, &error))?;
        put(&mut server, &line).map_err(|error| failure("send to", path, &error))?;
    }
    Ok(Outcome::Done)
}

fn put(server: &mut File, line: &[u8]) -> io::Result<()> {
    flock(&*server, FlockOperation::LockExclusive)?;
    let written = server.write_all(&[line, b"\n"].concat());
    flock(&*server, FlockOperation::Unlock)?;
    written
}

fn to_socket(path: &Path, args: &ServerArgs, words: &[OsString]) -> Result<Outcome, Failure> {
    let line = if words.is_empty() { None } else { Some(record(words)?) };
    let server = UnixStream::connect(path).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => failure("send to", path, &io::Error::other("no server listens there")),
        _ => failure("send to", path, &error),
    })?;
    let wishes = [(args.wait, greeting::WAIT), (args.finish, greeting::FINISH), (line.is_some(), greeting::RECORDS)];
    let wishes: Vec<&str> = wishes.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, word)| word).collect();
    let wanted = if wishes.is_empty() { String::new() } else { format!("{}{}\n", greeting::PREFIX, wishes.join(" ")) };
    // When the server hangs up early, it may have said why: that is heard below.
    let _heard_below = match line {
        Some(line) => (&server).write_all(format!("{wanted}{line}\n").as_bytes()),
        None if args.finish => (&server).write_all(wanted.as_bytes()),
        None => send_input(&server, &wanted).map_err(|error| failure("read jobs for", path, &error))?,
    };
    let _hung_up_already = server.shutdown(Shutdown::Write);
    hear(path, args, server)
}

/// Standard input as it comes; a last line gets its end, without which it would be no job. An error is our own input's; whether
/// the server took all is what comes back.
fn send_input(mut server: &UnixStream, wanted: &str) -> io::Result<io::Result<()>> {
    let (mut input, mut buffer, mut last) = (io::stdin().lock(), vec![0; 64 << 10], b'\n');
    let mut sent = server.write_all(wanted.as_bytes());
    while sent.is_ok() {
        match input.read(&mut buffer) {
            Ok(0) if last == b'\n' => break,
            Ok(0) => return Ok(server.write_all(b"\n")),
            Ok(count) => {
                last = buffer[count - 1];
                sent = server.write_all(&buffer[..count]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// What the server says; silence means that it has ended.
fn hear(path: &Path, args: &ServerArgs, server: UnixStream) -> Result<Outcome, Failure> {
    let (mut was_taken, mut ended) = (false, None);
    for line in BufReader::new(server).lines() {
        let line = line.map_err(|error| failure("hear from", path, &error))?;
        let said: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| failure("understand", path, &error.into()))?;
        if let Some(error) = said.get("error").and_then(serde_json::Value::as_str) {
            return Err(failure("send all jobs to", path, &io::Error::other(error.to_owned())));
        }
        was_taken |= said.get("taken").is_some();
        ended = said.get("failed").and_then(serde_json::Value::as_u64).or(ended);
    }
    match (was_taken, args.wait, ended) {
        (true, true, Some(0)) | (true, false, _) => Ok(Outcome::Done),
        (true, true, Some(_)) => Ok(Outcome::Partial),
        (true, true, None) => {
            Err(failure("wait for jobs of", path, &io::Error::other("the server ended before they did")))
        }
        (false, ..) => {
            Err(failure("send to", path, &io::Error::other("the server ended before it had taken the jobs")))
        }
    }
}

/// The command as a record: its words exactly, to be run where we are.
fn record(words: &[OsString]) -> Result<String, Failure> {
    let argv: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let argv = argv.ok_or_else(|| super::plan::usage("--send takes arguments that are text"))?;
    let here = std::env::current_dir().ok().and_then(|directory| directory.to_str().map(str::to_owned));
    Ok(serde_json::json!({ "argv": argv, "cwd": here }).to_string())
}
