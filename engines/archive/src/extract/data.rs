//! Data of regular files: whole ones, out of a block or straight out of the archive, and large ones in pieces by several hands.

use super::source::Carry;
use crate::member::{Extent, Member};
use crate::operation::Operation;
use crate::place::{OpenFile, PlaceError, Placed, Placer, could_not};
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use sys::at_offset::{read_full_at, write_all_at};

/// Bytes that are copied at a time where a file is too large for a block: what stays in the second-level cache.
const COPY_BYTES: usize = 256 << 10;

/// A file that one worker writes.
pub fn whole_file(
    placer: &mut Placer<'_>,
    member: &Member,
    carry: &Carry,
    block: &[u8],
    archive: Option<&File>,
) -> Result<Placed, PlaceError> {
    let Some(open) = placer.begin_file(member)? else { return Ok(Placed::LeftAlone) };
    let written = match (carry, archive) {
        (Carry::InBlock { from, bytes }, _) => write_stored(&open.file, member, 0, &block[*from..from + bytes]),
        (Carry::InArchive { offset }, Some(archive)) => copy_out(archive, *offset, member, &open.file),
        _ => Ok(()),
    };
    match written.and_then(|()| end_in_its_length(&open.file, member)) {
        Ok(()) => placer.finish_file(member, open).map(|()| Placed::Made),
        Err(cause) => {
            placer.abandon_file(member, open);
            Err(could_not(Operation::Write)(cause))
        }
    }
}

/// Writes stored bytes, the first of which is number `stored_from`, where they belong.
fn write_stored(file: &File, member: &Member, stored_from: u64, bytes: &[u8]) -> io::Result<()> {
    let Some(extents) = &member.sparse else { return write_all_at(file, bytes, stored_from) };
    each_stretch(extents, stored_from, bytes.len() as u64, |from, target, length| {
        let from = (from - stored_from) as usize;
        write_all_at(file, &bytes[from..from + length as usize], target)
    })
}

/// Calls `write` with (stored offset, offset in the file, bytes) for each stretch of a sparse file that has some of the
/// stored bytes `from..from + bytes`.
fn each_stretch(
    extents: &[Extent],
    from: u64,
    bytes: u64,
    mut write: impl FnMut(u64, u64, u64) -> io::Result<()>,
) -> io::Result<()> {
    let end = from + bytes;
    let mut stored = 0;
    for extent in extents {
        let (first, last) = (stored.max(from), (stored + extent.bytes).min(end));
        if first < last {
            write(first, extent.offset + (first - stored), last - first)?;
        }
        stored += extent.bytes;
        if stored >= end {
            break;
        }
    }
    Ok(())
}

/// Copies a file that is too large for a block straight out of the archive.
fn copy_out(archive: &File, offset: u64, member: &Member, file: &File) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    while done < member.stored_bytes {
        let count = (member.stored_bytes - done).min(COPY_BYTES as u64) as usize;
        if read_full_at(archive, &mut buffer[..count], offset + done)? < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_stored(file, member, done, &buffer[..count])?;
        done += count as u64;
    }
    Ok(())
}

/// A hole at the end has no byte that would make the file as long as it is.
fn end_in_its_length(file: &File, member: &Member) -> io::Result<()> {
    if member.sparse.is_some() { file.set_len(member.size) } else { Ok(()) }
}

/// A large file out of a stream: its pieces come to several workers, in any order. Whoever is first makes it, whoever is last
/// ends it.
pub struct PieceFile {
    member: std::sync::Arc<Member>,
    state: Mutex<State>,
}

struct State {
    file: Stage,
    left_bytes: u64,
}

enum Stage {
    Unopened,
    Open(OpenFile),
    /// Nothing is to be done any more: it failed, or what was there stays.
    Over,
}

impl PieceFile {
    /// Of a member.
    pub fn new(member: std::sync::Arc<Member>) -> Self {
        let state = State { file: Stage::Unopened, left_bytes: member.stored_bytes };
        Self { member, state: Mutex::new(state) }
    }

    /// Writes a piece. The outcome comes with the piece that settles it.
    pub fn piece(&self, placer: &mut Placer<'_>, stored_from: u64, bytes: &[u8]) -> Option<Result<Placed, PlaceError>> {
        // One piece at a time: the kernel's inode lock would make a second writer wait anyway.
        let mut state = self.state.lock();
        if matches!(state.file, Stage::Unopened) {
            state.file = match placer.begin_file(&self.member) {
                Ok(Some(open)) => Stage::Open(open),
                // It comes again, and so do the others.
                Err(error) if placer.may_have_been_too_early(&error) => return Some(Err(error)),
                outcome => {
                    state.file = Stage::Over;
                    return Some(outcome.map(|_| Placed::LeftAlone));
                }
            };
        }
        state.left_bytes -= bytes.len() as u64;
        let Stage::Open(open) = &state.file else { return None };
        let is_last = state.left_bytes == 0;
        let mut written = write_stored(&open.file, &self.member, stored_from, bytes);
        if is_last && written.is_ok() {
            written = end_in_its_length(&open.file, &self.member);
        }
        if written.is_ok() && !is_last {
            return None;
        }
        let Stage::Open(open) = std::mem::replace(&mut state.file, Stage::Over) else { return None };
        Some(match written {
            Ok(()) => placer.finish_file(&self.member, open).map(|()| Placed::Made),
            Err(cause) => {
                placer.abandon_file(&self.member, open);
                Err(could_not(Operation::Write)(cause))
            }
        })
    }

    /// The archive ended inside it.
    pub fn abandon(&self, placer: &Placer<'_>) {
        let mut state = self.state.lock();
        if let Stage::Open(open) = std::mem::replace(&mut state.file, Stage::Over) {
            placer.abandon_file(&self.member, open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_go_to_their_stretches_however_they_are_cut() {
        let extents = [(10, 5), (20, 0), (30, 7)].map(|(offset, bytes)| Extent { offset, bytes });
        let whole: Vec<u64> = (10..15).chain(30..37).collect();
        for cut in 0..=12 {
            let mut targets = vec![u64::MAX; 12];
            for (from, bytes) in [(0, cut), (cut, 12 - cut)] {
                let outcome = each_stretch(&extents, from, bytes, |from, target, bytes| {
                    (0..bytes).for_each(|at| targets[(from + at) as usize] = target + at);
                    Ok(())
                });
                outcome.expect("nothing fails");
            }
            assert_eq!(targets, whole, "cut at {cut}");
        }
    }
}
