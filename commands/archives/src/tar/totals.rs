//! `--totals`: bytes of the archive, uncompressed, in GNU tar's words; at the end, and whenever a signal asks for them.

use super::TarArgs;
use super::checkpoints;
use ::archive::extract::Feed;
use ::archive::member::{BLOCK_BYTES, Member, padded};
use ::archive::read::Reader;
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// COMPAT: archives are read in records of 20 blocks.
pub const RECORD_BYTES: u64 = 20 * BLOCK_BYTES as u64;

/// How far a run is, for whoever asks by a signal.
#[derive(Clone, Debug)]
pub struct TotalsProgress {
    bytes: Arc<AtomicU64>,
    began: Instant,
}

impl Default for TotalsProgress {
    fn default() -> Self {
        Self { bytes: Arc::default(), began: Instant::now() }
    }
}

impl TotalsProgress {
    /// So much of the archive has been read or written.
    pub fn reach(&self, bytes: u64) {
        // ORDER: a count of its own.
        self.bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Prints totals whenever the signals arrive that the options name. They are held back from here on.
    pub fn print_at_signals(&self, context: &Context, args: &TarArgs) -> Result<(), Failure> {
        for name in args.telling.totals.iter().filter(|name| !name.is_empty()) {
            let signals = checkpoints::held(name.as_bytes())?;
            let (progress, messages, done) = (self.clone(), context.messages.clone(), word(args));
            std::thread::spawn(move || {
                while signals.wait().is_ok() {
                    let bytes = progress.bytes.load(Ordering::Relaxed) / RECORD_BYTES * RECORD_BYTES;
                    messages.report(&text(done, bytes, progress.began.elapsed()));
                }
            });
        }
        Ok(())
    }
}

fn word(args: &TarArgs) -> &'static str {
    let operation = &args.operation;
    if operation.create || operation.append || operation.update { "written" } else { "read" }
}

/// Whether totals are wanted at the end.
pub fn are_wanted(args: &TarArgs) -> bool {
    args.telling.totals.iter().any(String::is_empty)
}

/// Bytes up to the end of the record in which the end mark is, if the members end at `end`.
pub fn up_to_end_mark(end: u64) -> u64 {
    (end + 2 * BLOCK_BYTES as u64).next_multiple_of(RECORD_BYTES)
}

/// Where what is next to a member begins.
pub fn end_of(member: &Member) -> u64 {
    member.data_offset + padded(member.stored_bytes)
}

/// Bytes that a reader which has reached the end has read.
pub fn read(reader: &Reader, feed: &Feed) -> u64 {
    let up_to_end = up_to_end_mark(reader.end_offset());
    let there = feed.file().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
    there.map_or(up_to_end, |there| up_to_end.min(there))
}

/// Tells how much was read, if it is asked for, by a reader that has reached the end.
pub fn show_read(context: &Context, args: &TarArgs, reader: &Reader, feed: &Feed) {
    show(context, args, "read", read(reader, feed));
}

/// Tells how much was read or written, if it is asked for.
pub fn show(context: &Context, args: &TarArgs, done: &str, bytes: u64) {
    if are_wanted(args) {
        context.messages.report(&text(done, bytes, args.progress.began.elapsed()));
    }
}

/// `Total bytes written: 10240 (10KiB, 56MiB/s)`
pub fn text(done: &str, bytes: u64, took: Duration) -> String {
    format!("Total bytes {done}: {}", amount(bytes, took))
}

/// `10240 (10KiB, 56MiB/s)`
pub fn amount(bytes: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let rate = if seconds > 0.0 { (bytes as f64 / seconds) as u64 } else { 0 };
    format!("{bytes} ({}, {}/s)", short(bytes), short(rate))
}

/// COMPAT: by powers of 1024, rounded up, with a decimal below 10.
fn short(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    while unit + 1 < UNITS.len() && bytes >> (10 * (unit + 1)) > 0 {
        unit += 1;
    }
    if unit == 0 {
        return format!("{bytes}B");
    }
    let one = 1_u128 << (10 * unit);
    let tenths = (u128::from(bytes) * 10).div_ceil(one);
    if tenths < 100 {
        return format!("{}.{}{}", tenths / 10, tenths % 10, UNITS[unit]);
    }
    match u128::from(bytes).div_ceil(one) {
        1024 if unit + 1 < UNITS.len() => format!("1.0{}", UNITS[unit + 1]),
        whole => format!("{whole}{}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_up() {
        let shown = [0, 1023, 1024, 10240, 20481, 112_640, 1 << 20, (1 << 20) - 1, (2 << 30) + 1, u64::MAX];
        let expected = ["0B", "1023B", "1.0KiB", "10KiB", "21KiB", "110KiB", "1.0MiB", "1.0MiB", "2.1GiB", "16EiB"];
        assert_eq!(shown.map(short), expected);
        assert_eq!(text("read", 20480, Duration::from_secs(1)), "Total bytes read: 20480 (20KiB, 20KiB/s)");
    }
}
