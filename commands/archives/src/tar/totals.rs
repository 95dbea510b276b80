//! `--totals`: bytes of the archive, plain, in GNU tar's words.

use super::TarArgs;
use ::archive::extract::Feed;
use ::archive::member::{BLOCK_BYTES, Member, padded};
use ::archive::read::Reader;
use mh_kit::context::Context;

/// COMPAT: archives are read in records of 20 blocks.
const RECORD_BYTES: u64 = 20 * BLOCK_BYTES as u64;

/// Bytes up to the end of the record in which the end mark is, if the members end at `end`.
pub fn up_to_end_mark(end: u64) -> u64 {
    (end + 2 * BLOCK_BYTES as u64).next_multiple_of(RECORD_BYTES)
}

/// Where what is next to a member begins.
pub fn end_of(member: &Member) -> u64 {
    member.data_offset + padded(member.stored_bytes)
}

/// Tells how much was read, if it is asked for, by a reader that has reached the end.
pub fn show_read(context: &Context, args: &TarArgs, reader: &Reader, feed: &Feed) {
    let up_to_end = up_to_end_mark(reader.end_offset());
    let there = feed.file().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
    show(context, args, "read", there.map_or(up_to_end, |there| up_to_end.min(there)));
}

/// Tells how much was read or written, if it is asked for.
pub fn show(context: &Context, args: &TarArgs, done: &str, bytes: u64) {
    if args.totals {
        context.messages.report(&format!("Total bytes {done}: {bytes} ({})", terminal::bytes(bytes)));
    }
}
