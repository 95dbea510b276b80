//! A recording that is shown: on a screen with the same keys, or as text. What is damaged or missing in it is reported.

use super::export::clock;
use super::keep::{newest_of, samples_are};
use super::screen::{self, SharedHost};
use super::session::HostSession;
use super::{INTERVAL, NAME, SysstatArgs, text};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::Format;
use mh_kit::instrument::pace::{Pace, Woken};
use mh_kit::report::print_as;
use observe::host::recording::SnapshotLog;
use std::fs::File;
use std::path::Path;

/// Opens a recording.
fn open(path: &Path) -> Result<SnapshotLog, Failure> {
    let could_not = |operation: &str, error: std::io::Error| Failure::Environment {
        command: NAME,
        message: format!("{operation} {}: {}", terminal::quote(path), sys::error_text::message(&error)),
    };
    let file = File::open(path).map_err(|error| could_not("open", error))?;
    SnapshotLog::open(file).map_err(|error| could_not("read", error))
}

/// What is wrong with it.
fn complaints(log: &SnapshotLog) -> Vec<String> {
    let mut all = Vec::new();
    if log.damaged_bytes > 0 {
        let bytes = log.damaged_bytes;
        all.push(format!("{bytes} bytes are damaged and were skipped, with the samples that build on them"));
    }
    if log.unfinished_bytes > 0 {
        all.push(format!(
            "its last {} bytes are no whole sample: it is being written, or was cut",
            log.unfinished_bytes
        ));
    }
    let missed = log.gaps.iter().map(|gap| gap.missed).sum();
    match log.gaps.len() {
        0 => {}
        1 => all.push(format!("{} missing: they could not be written", samples_are(missed))),
        gaps => all.push(format!("{} missing in {gaps} gaps: they could not be written", samples_are(missed))),
    }
    all
}

/// Shows the recording at `path`, or the newest of a directory.
pub fn replay(context: &Context, args: &SysstatArgs, path: &Path) -> Result<Outcome, Failure> {
    let newest = newest_of(path);
    let path = newest.as_deref().unwrap_or(path);
    let log = open(path)?;
    let warn = |text: &str| context.messages.warning(NAME, &format!("{}: {text}", terminal::quote(path)), &[]);
    complaints(&log).iter().for_each(|text| warn(text));
    let session = HostSession::recorded(log);
    if session.places().is_empty() {
        let message = format!("replay {}: there is no sample of mh sysstat in it", terminal::quote(path));
        return Err(Failure::Environment { command: NAME, message });
    }
    let is_text = args.format.format() == Format::Text;
    if context.terminals.have_a_screen() && is_text && !args.plain && !args.once {
        screen::show(NAME, session, INTERVAL, String::new(), play)?;
        return Ok(Outcome::Done);
    }
    let unreadable = print(args, session)?;
    if unreadable > 0 {
        warn(&format!("{unreadable} samples cannot be read: what they build on is damaged"));
        return Ok(Outcome::Partial);
    }
    Ok(Outcome::Done)
}

/// Prints all of it, or its last moment. Returns how many moments cannot be read.
fn print(args: &SysstatArgs, mut session: HostSession) -> Result<usize, Failure> {
    let places = if args.once { session.places().end - 1..session.places().end } else { session.places() };
    let is_text = args.format.format() == Format::Text;
    let (mut printed, mut unreadable) = (0, 0);
    for place in places {
        let Some(shown) = session.at(place) else {
            unreadable += 1;
            continue;
        };
        if let Some(missed) = session.missed_before(place).filter(|_| is_text) {
            let until = clock(shown.later.at.wall_ns);
            print_as(NAME, &format!("-- {} missing before {until}: they could not be written\n", samples_are(missed)))?;
        }
        if shown.earlier.is_none() && !args.once {
            continue;
        }
        print_as(NAME, &text(args, &session, &shown, printed))?;
        printed += 1;
    }
    Ok(unreadable)
}

/// Rings once a second, for a recording that is played.
fn play(shared: &SharedHost) -> Result<(), Failure> {
    let failed = |error: std::io::Error| mh_kit::instrument::failure(NAME, &error);
    let mut pace = Pace::begin(INTERVAL, 1).map_err(|error| mh_kit::instrument::failure(NAME, &error))?;
    while pace.sleep().map_err(failed)? == Woken::Due {
        shared.ring();
    }
    Ok(())
}
