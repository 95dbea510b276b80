//! The bytes of a file that was made, as often as not with somebody who watches them pass, and the look back at the copy.

use super::Complaint;
use super::comparing::is_same;
use super::data::{Bytes, Failed};
use super::item::{Item, New};
use super::tree::Run;
use super::watched::{FileWatch, copy_watched};
use crew::scatter::Branch;
use files::{FileType, Status};
use rustix::fs::OFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The bytes and the metadata of a file. Who has watched its bytes, where they are watched.
pub fn fill<'a>(
    run: &Run<'a>,
    item: &Item<'_>,
    source: &OwnedFd,
    status: &Status,
    new: &New,
    branch: &mut Branch<'_, Run<'a>>,
) -> Result<Option<Box<dyn FileWatch + 'a>>, Complaint> {
    let target_device = item.place.directory().map_or(0, |directory| directory.target_device);
    let (sparse, reflink) = (run.copying.manner.sparse, run.copying.manner.reflink);
    let (source, target) = (source.as_fd(), new.file.as_fd());
    let is_file = new.is_file;
    let bytes = Bytes { source, target, status, target_device, is_file, sparse, reflink };
    let mut watch = run.copying.listener.watch();
    let mut buffer = std::mem::take(&mut branch.scratch.buffer);
    let mut passed = 0;
    let pause = |step_bytes| {
        passed += step_bytes;
        run.copying.tally.pass(step_bytes);
        branch.yield_point();
    };
    let copied = match &mut watch {
        Some(watch) => copy_watched(&bytes, buffer.bytes(), watch.as_mut(), pause),
        None => run.ways.copy(&bytes, &mut buffer, pause),
    };
    branch.scratch.buffer = buffer;
    branch.scratch.passed_bytes += passed;
    let filled = copied.map_err(|failed| {
        run.give_up(&Arc::clone(&branch.scratch.slot), branch);
        side_of(run, item, failed)
    })?;
    branch.scratch.counts.bytes += filled.bytes;
    run.pass(filled.bytes.saturating_sub(passed), &mut branch.scratch);
    branch.scratch.ways.count(filled.way);
    // What differs, or cannot be seen to be the same, is no copy. It is read before its times are set.
    if let Err(complaint) = verify(run, item, source, branch) {
        run.give_up(&Arc::clone(&branch.scratch.slot), branch);
        return Err(complaint);
    }
    run.carry_to_file(item, source, status, new, branch);
    if run.copying.manner.tells_ways {
        run.tell_way(item, new.backup.as_deref(), Some(filled.way));
    }
    Ok(watch)
}

fn side_of(run: &Run<'_>, item: &Item<'_>, failed: Failed) -> Complaint {
    match failed {
        Failed::Reading(error) => Complaint::Read(error),
        Failed::Writing(error) => Complaint::Write(item.target_path(run), error),
        Failed::Sharing(error) => Complaint::Share(item.target_path(run), error),
    }
}

fn verify<'a>(
    run: &Run<'a>,
    item: &Item<'_>,
    source: BorrowedFd<'_>,
    branch: &mut Branch<'_, Run<'a>>,
) -> Result<(), Complaint> {
    let Some(how) = run.copying.manner.verify else { return Ok(()) };
    let failed = |error| Complaint::Verify(item.target_path(run), error);
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK;
    let target = item.target.directory().open(item.target_name, flags, 0).map_err(failed)?;
    if Status::of(&target).map_err(failed)?.file_type() != FileType::Regular {
        return Ok(());
    }
    let mut buffer = std::mem::take(&mut branch.scratch.buffer);
    let same = is_same(source, target.as_fd(), how, buffer.bytes(), || branch.yield_point());
    branch.scratch.buffer = buffer;
    if same.map_err(failed)? { Ok(()) } else { Err(Complaint::Differs(item.target_path(run))) }
}
