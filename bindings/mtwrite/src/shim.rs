//! What each call of the program means for the files that are queued: it is queued itself, or it waits for a file, or for all of them,
//! or it is none of our business. Calls nothing of the program's own; `boundary` does that with the answer.

use crate::boundary::{self, Descriptor};
use crate::end;
use crate::file::{self, Call, Fresh, Refusal};
use crate::identities::{self, Identity};
use crate::numbers::{self, Meaning};
use crate::statistics::FILES;
use rustix::fs::{FileType, OFlags, Stat};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What the boundary does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was queued: success.
    Queued,
    /// It fails with this number.
    Failed(i32),
    /// The kernel decides.
    Pass,
}

/// What may be queued in this process.
static QUEUES_DATA: AtomicBool = AtomicBool::new(false);
static QUEUES_METADATA: AtomicBool = AtomicBool::new(false);
static USER: AtomicU32 = AtomicU32::new(u32::MAX);
const ROOT: u32 = 0;

/// Where an extended attribute was last set with success: a device and a kind of name.
static ATTRIBUTES_WORK: AtomicU64 = AtomicU64::new(0);

/// LIE: /dev/null is a file that is neither regular nor a pipe; it and the standard streams tell nobody anything that waits for it.
const LAST_STANDARD_STREAM: i32 = 2;

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(errno) => Self::Failed(errno),
            Refusal::NotHere => Self::Pass,
        }
    }
}

fn answer(outcome: Result<(), Refusal>) -> Answer {
    outcome.map_or_else(Answer::from, |()| Answer::Queued)
}

/// From now on calls are queued: data, and metadata too where no other library wants to hear of it.
pub fn begin(queues_metadata: bool) {
    know_user();
    QUEUES_METADATA.store(queues_metadata, Ordering::Release);
    QUEUES_DATA.store(true, Ordering::Release);
}

/// From now on nothing is queued: the process ends, or its threads are no longer alike.
pub fn cease() {
    QUEUES_DATA.store(false, Ordering::Release);
    end::release_all();
}

/// Whose rights the process has may have changed.
pub fn know_user() {
    USER.store(rustix::process::geteuid().as_raw(), Ordering::Release);
}

/// Bytes of the program for a descriptor, at its offset or at a place.
pub fn write(number: i32, bytes: &[u8], offset: Option<u64>) -> Answer {
    match queued(number) {
        Some((index, identity)) if is_still(number, identity) => {
            answer(file::at(index).write(index, number, bytes, offset))
        }
        Some((index, identity)) => {
            file::at(index).release(index, identity);
            numbers::set(number, Meaning::Unknown);
            write(number, bytes, offset)
        }
        None => first_write(number, bytes, offset),
    }
}

fn first_write(number: i32, bytes: &[u8], offset: Option<u64>) -> Answer {
    match numbers::meaning(number) {
        Meaning::Unknown if !bytes.is_empty() && QUEUES_DATA.load(Ordering::Acquire) => match consider(number) {
            Some(index) => answer(file::at(index).write(index, number, bytes, offset)),
            None => {
                before_telling(number);
                Answer::Pass
            }
        },
        _ => {
            before_telling(number);
            Answer::Pass
        }
    }
}

/// Bytes to a pipe may tell somebody that a file is ready.
pub fn before_telling(number: i32) {
    if numbers::meaning(number) == Meaning::Talks {
        end::drain_all();
    }
}

/// Owner, mode, times or an attribute by descriptor. What may be refused is not queued: a program does other things where it is.
pub fn furnish(number: i32, is_certain: impl FnOnce(u32) -> bool, call: impl FnOnce() -> Call) -> Answer {
    let is_queued = QUEUES_METADATA.load(Ordering::Acquire) && is_certain(USER.load(Ordering::Acquire));
    match queued(number) {
        Some((index, _)) if is_queued => match file::at(index).furnish(number, call()) {
            Err(Refusal::NotHere) => settle(number),
            outcome => answer(outcome),
        },
        _ => settle(number),
    }
}

/// Root alone may give a file away for certain.
pub fn may_change_owner(user: u32) -> bool {
    user == ROOT
}

/// Whether an attribute of that name will be taken by the file system, since one like it was.
pub fn may_set_attribute(number: i32, name: &[u8]) -> bool {
    let kind = queued(number).map(|(_, identity)| kind_of_attribute(identity, name));
    kind.is_some_and(|kind| kind == ATTRIBUTES_WORK.load(Ordering::Acquire))
}

/// An attribute was set, not queued.
pub fn attribute_was_set(number: i32, name: &[u8]) {
    if let Some((_, identity)) = queued(number) {
        ATTRIBUTES_WORK.store(kind_of_attribute(identity, name), Ordering::Release);
    }
}

/// The device, and the name up to its first dot: `user`, `security`, `trusted`.
fn kind_of_attribute(identity: Identity, name: &[u8]) -> u64 {
    let kind = name.split(|&byte| byte == b'.').next().unwrap_or_default();
    let folded = kind.iter().fold(1_u64, |sum, &byte| sum.wrapping_mul(257).wrapping_add(u64::from(byte)));
    folded.rotate_left(32) ^ identity.device
}

/// A call on a descriptor whose file must be as the program believes it to be. The answer is never that it was queued.
pub fn settle(number: i32) -> Answer {
    let Some((index, identity)) = queued(number) else { return Answer::Pass };
    file::at(index).drain(index, identity);
    file::at(index).told(identity).map_or_else(Answer::from, |()| Answer::Pass)
}

/// The same for a call after which the file can be written by other ways than this number.
pub fn settle_for_good(number: i32) -> Answer {
    let Some((index, identity)) = queued(number) else { return Answer::Pass };
    let answer = settle(number);
    if answer == Answer::Pass {
        file::at(index).release(index, identity);
    }
    answer
}

/// The program closes a number. It does so in any case; the answer is what it hears.
pub fn close(number: i32) -> Answer {
    match numbers::meaning(number) {
        Meaning::Queued(index) => match file::at(index).close(index, number) {
            Err(Refusal::Failed(errno)) => Answer::Failed(errno),
            _ => Answer::Pass,
        },
        Meaning::Private | Meaning::Unknown => Answer::Pass,
        Meaning::Foreign | Meaning::Talks => {
            numbers::set(number, Meaning::Unknown);
            Answer::Pass
        }
    }
}

/// A number that the program cannot know, since it is ours: for it, nothing is there.
pub fn is_private(number: i32) -> bool {
    numbers::meaning(number) == Meaning::Private
}

/// A file was opened, or a number is new for another reason.
pub fn opened(number: i32, flags: OFlags) {
    if let Some((index, identity)) = queued(number) {
        // It was closed behind our back.
        file::at(index).release(index, identity);
    }
    numbers::set(number, Meaning::Unknown);
    let cannot_be_queued = flags.contains(OFlags::CREATE | OFlags::EXCL)
        || flags.intersects(OFlags::PATH | OFlags::DIRECTORY)
        || !identities::any();
    if !cannot_be_queued
        && let Ok(status) = Descriptor::of_program(number).status()
        && let Some((index, identity)) = queued_file(&status)
    {
        file::at(index).release(index, identity);
    }
}

/// A path was looked at: true where it must be looked at again, as its file was not as the program believes.
pub fn was_behind(identity: Identity, mode: u32) -> bool {
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return false;
    }
    let Some(index) = identities::find(identity) else { return false };
    file::at(index).drain(index, identity);
    true
}

/// How a file is seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// It is as the program believes it to be, at this moment.
    Now,
    /// And stays so: it can be read or written by other ways from now on.
    ForGood,
}

/// Something will be done to what a path leads to.
pub fn before_path(care: Care, status: impl FnOnce() -> Option<Stat>) {
    if identities::any()
        && let Some(status) = status()
        && let Some((index, identity)) = queued_file(&status)
    {
        match care {
            Care::Now => file::at(index).drain(index, identity),
            Care::ForGood => file::at(index).release(index, identity),
        }
    }
}

fn queued_file(status: &Stat) -> Option<(usize, Identity)> {
    let identity = identity_of(status);
    let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    identities::find(identity).filter(|_| is_regular).map(|index| (index, identity))
}

/// What a file is.
pub fn identity_of(status: &Stat) -> Identity {
    Identity { device: status.st_dev, inode: status.st_ino }
}

fn queued(number: i32) -> Option<(usize, Identity)> {
    let Meaning::Queued(index) = numbers::meaning(number) else { return None };
    Some((index, file::at(index).identity(number)?))
}

/// LIE: a number may be closed and given out again without a call that we see, by libc itself or by another library.
fn is_still(number: i32, identity: Identity) -> bool {
    Descriptor::of_program(number).status().is_ok_and(|status| identity_of(&status) == identity)
}

/// The first bytes for a number: whether its file is one to queue. It is if it is new and empty, has one name, and can only be written
/// by this descriptor.
fn consider(number: i32) -> Option<usize> {
    let descriptor = Descriptor::of_program(number);
    let status = descriptor.status().ok()?;
    let kind = FileType::from_raw_mode(status.st_mode);
    if kind != FileType::RegularFile {
        let talks = !matches!(kind, FileType::CharacterDevice | FileType::BlockDevice) && number > LAST_STANDARD_STREAM;
        numbers::set(number, if talks { Meaning::Talks } else { Meaning::Foreign });
        return None;
    }
    let index = adopt(number, descriptor, &status);
    if index.is_none() {
        numbers::set(number, Meaning::Foreign);
    }
    index
}

fn adopt(number: i32, descriptor: Descriptor, status: &Stat) -> Option<usize> {
    if let Some((index, identity)) = queued_file(status) {
        // It is written through another descriptor already.
        file::at(index).release(index, identity);
        return None;
    }
    let flags = descriptor.flags().ok()?;
    let other_ways = OFlags::APPEND | OFlags::DIRECT | OFlags::SYNC | OFlags::DSYNC | OFlags::PATH;
    let is_for_writing_alone = flags & OFlags::ACCMODE == OFlags::WRONLY && !flags.intersects(other_ways);
    if status.st_size != 0 || status.st_nlink != 1 || !is_for_writing_alone {
        return None;
    }
    boundary::keep_standard_error();
    let private = descriptor.keep()?;
    let identity = identity_of(status);
    let user = USER.load(Ordering::Acquire);
    let fresh = Fresh { number, private, identity, may_furnish: user == ROOT || user == status.st_uid };
    match file::adopt(fresh) {
        Ok(index) => {
            // No other thread can have queued it since: the number is this thread's.
            let _is_first = identities::add(identity, index);
            numbers::set(number, Meaning::Queued(index));
            FILES.add(1);
            Some(index)
        }
        Err(fresh) => {
            let _closed = fresh.private.close();
            None
        }
    }
}
