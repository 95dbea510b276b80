//! What each call of the program means for the files that are queued: it is queued itself, or it waits for a file, or for all of them,
//! or it is none of our business. Calls nothing of the program's own; `boundary` does that with the answer.

use crate::boundary::{self, Descriptor};
use crate::end;
use crate::file::{self, Call, Fresh, QueueRefusal};
use crate::identities::{self, FileIdentity};
use crate::numbers::{self, Meaning};
use crate::statistics::FILES;
use rustix::fs::{FileType, OFlags, Stat};
use std::sync::OnceLock;
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

/// Which owners were accepted: a device, a user and a group, each in the place that its own bits name.
static OWNERS_WORK: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The device that was last found to store what is written to it.
static STORES: AtomicU64 = AtomicU64::new(0);

/// What the standard streams led to when the first file was to be queued: a process may have inherited duplicates of them.
static STANDARD: OnceLock<[Option<FileIdentity>; 3]> = OnceLock::new();

/// LIE: /dev/null is a file that is neither regular nor a pipe; it and the standard streams tell nobody anything that waits for it.
/// Files that they lead to are written by stdio as well, which is not seen.
const LAST_STANDARD_STREAM: i32 = 2;

/// File systems that have room and store nothing: writes are commands, or are refused.
const EFIVARFS: u64 = 0xde5e_81e4;
const HUGETLBFS: u64 = 0x9584_58f6;
/// Those that store and may have no limit, so that they name no room.
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

impl From<QueueRefusal> for Answer {
    fn from(refusal: QueueRefusal) -> Self {
        match refusal {
            QueueRefusal::Failed(errno) => Self::Failed(errno),
            QueueRefusal::NotHere => Self::Pass,
        }
    }
}

fn answer(outcome: Result<(), QueueRefusal>) -> Answer {
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
    OWNERS_WORK.iter().for_each(|place| place.store(0, Ordering::Release));
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

/// Whether bytes for this number may be looked at: of what takes another way than the queue, only the kernel reads the memory.
pub fn may_read_bytes_for(number: i32) -> bool {
    matches!(numbers::meaning(number), Meaning::Unknown | Meaning::Doubled | Meaning::Queued(_))
}

/// Whether calls for this number may be queued already.
pub fn is_queued(number: i32) -> bool {
    matches!(numbers::meaning(number), Meaning::Queued(_))
}

fn first_write(number: i32, bytes: &[u8], offset: Option<u64>) -> Answer {
    match numbers::meaning(number) {
        Meaning::Unknown | Meaning::Doubled if !bytes.is_empty() && may_queue() => match consider(number) {
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

fn may_queue() -> bool {
    QUEUES_DATA.load(Ordering::Acquire) && !end::is_freezing()
}

/// Bytes to a pipe may tell somebody that a file is ready.
pub fn before_telling(number: i32) {
    if number > LAST_STANDARD_STREAM && is_heard(number) {
        end::drain_all();
    }
}

/// Owner, mode, times or an attribute by descriptor. What may be refused is not queued: a program does other things where it is.
pub fn furnish(number: i32, is_certain: bool, call: impl FnOnce() -> Call) -> Answer {
    let is_queued = is_certain && QUEUES_METADATA.load(Ordering::Acquire);
    match queued(number) {
        Some((index, _)) if is_queued => match file::at(index).furnish(number, call()) {
            Err(QueueRefusal::NotHere) => settle(number),
            outcome => answer(outcome),
        },
        _ => settle(number),
    }
}

/// Root alone may give a file away; where its users are not all known, or the file system has no owners, not even root: an owner is
/// certain once it was accepted.
pub fn may_change_owner(number: i32, owner: u32, group: u32) -> bool {
    USER.load(Ordering::Acquire) == ROOT
        && queued(number).is_some_and(|(_, identity)| {
            let (place, code) = place_of_owner(identity, owner, group);
            place.load(Ordering::Acquire) == code
        })
}

/// An owner was changed, not queued.
pub fn owner_was_changed(number: i32, owner: u32, group: u32) {
    if let Some((_, identity)) = queued(number) {
        let (place, code) = place_of_owner(identity, owner, group);
        place.store(code, Ordering::Release);
    }
}

/// Where an owner is remembered, and as what. LIE: two may look alike; then the refusal of one comes late, and is said.
fn place_of_owner(identity: FileIdentity, owner: u32, group: u32) -> (&'static AtomicU64, u64) {
    let both = u64::from(owner) << 32 | u64::from(group);
    // The odd factor spreads the bits; 0 would be an empty place.
    let code = (both ^ identity.device.rotate_left(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (&OWNERS_WORK[(code >> 58) as usize], code)
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
fn kind_of_attribute(identity: FileIdentity, name: &[u8]) -> u64 {
    let kind = name.split(|&byte| byte == b'.').next().unwrap_or_default();
    let folded = kind.iter().fold(1_u64, |sum, &byte| sum.wrapping_mul(257).wrapping_add(u64::from(byte)));
    folded.rotate_left(32) ^ identity.device
}

/// A call that only looks at a file, or moves within it: it must be as the program believes it to be. What failed is not this call's to tell.
pub fn before_look(number: i32) {
    if let Some((index, identity)) = queued(number) {
        file::at(index).drain(index, identity);
    }
}

/// A call on a descriptor whose file must be as the program believes it to be. The answer is never that it was queued.
pub fn settle(number: i32) -> Answer {
    let Some((index, identity)) = queued(number) else { return Answer::Pass };
    file::at(index).drain(index, identity);
    file::at(index).failed(identity).map_or_else(Answer::from, |()| Answer::Pass)
}

/// The same for bytes that take another way than the queue: a program looks at the answer.
pub fn settle_and_tell(number: i32) -> Answer {
    let Some((index, identity)) = queued(number) else { return Answer::Pass };
    file::at(index).drain(index, identity);
    file::at(index).tell(identity).map_or_else(Answer::from, |()| Answer::Pass)
}

/// The same for a flush, which means the file's bytes by whichever descriptor they came.
pub fn flush(number: i32) -> Answer {
    if identities::any()
        && queued(number).is_none()
        && let Ok(status) = Descriptor::of_program(number).status()
        && let Some((index, identity)) = queued_file(&status)
    {
        file::at(index).drain(index, identity);
        return file::at(index).tell(identity).map_or_else(Answer::from, |()| Answer::Pass);
    }
    settle_and_tell(number)
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

/// The number will lead elsewhere, whether or not anybody hears what failed.
pub fn release(number: i32) {
    if let Some((index, identity)) = queued(number) {
        file::at(index).release(index, identity);
    }
}

/// A lock is taken or given back: whoever waits for it may look at any file. LIE: the kernel gives up a process's locks on a file when any
/// of its descriptors is closed, so there must be none of ours.
pub fn before_lock(number: i32) -> Answer {
    end::drain_all();
    let answer = settle_for_good(number);
    if let Ok(status) = Descriptor::of_program(number).status() {
        if let Some((index, identity)) = queued_file(&status) {
            file::at(index).release(index, identity);
        }
        identities::lock_for_good(identity_of(&status));
    }
    if answer == Answer::Pass {
        // Its close gives the lock back.
        numbers::set(number, Meaning::Talks);
    }
    answer
}

/// A number was doubled: what is written by both must not wait in a queue of one.
pub fn doubled(number: i32, double: i32) {
    numbers::set(double, Meaning::Doubled);
    if numbers::meaning(number) == Meaning::Unknown {
        numbers::set(number, Meaning::Doubled);
    }
}

/// A number will be closed: whoever is at the other end of a pipe is told by that, too.
pub fn before_end(number: i32) {
    if is_heard(number) {
        end::drain_all();
    }
}

/// Whether somebody who may look at a file hears of this number.
fn is_heard(number: i32) -> bool {
    match numbers::meaning(number) {
        Meaning::Talks => true,
        Meaning::Private | Meaning::Queued(_) => false,
        Meaning::Foreign if number > LAST_STANDARD_STREAM => false,
        // One call more for each number that nothing was written to, while a file is queued.
        _ => {
            identities::any()
                && Descriptor::of_program(number)
                    .status()
                    .is_ok_and(|status| talks(FileType::from_raw_mode(status.st_mode)))
        }
    }
}

/// Whether somebody may be at the other end.
fn talks(kind: FileType) -> bool {
    matches!(kind, FileType::Fifo | FileType::Socket | FileType::Unknown)
}

/// The program closes a number. It does so in any case; the answer is what it hears.
pub fn close(number: i32) -> Answer {
    before_end(number);
    match numbers::meaning(number) {
        Meaning::Queued(index) => match file::at(index).close(index, number) {
            Err(QueueRefusal::Failed(errno)) => Answer::Failed(errno),
            _ => Answer::Pass,
        },
        Meaning::Private | Meaning::Unknown => Answer::Pass,
        Meaning::Doubled | Meaning::Foreign | Meaning::Talks => {
            numbers::set(number, Meaning::Unknown);
            Answer::Pass
        }
    }
}

/// A number that the program cannot know, since it is ours: for it, nothing is there.
pub fn is_private(number: i32) -> bool {
    numbers::meaning(number) == Meaning::Private
}

/// A file was opened, when so many files were finished. Whether it must be opened again: who may open it was waiting.
pub fn opened(number: i32, flags: OFlags, finished: u64) -> bool {
    if let Some((index, identity)) = queued(number) {
        // It was closed behind our back.
        file::at(index).release(index, identity);
    }
    numbers::set(number, Meaning::Unknown);
    let cannot_be_queued =
        flags.contains(OFlags::CREATE | OFlags::EXCL) || flags.intersects(OFlags::PATH | OFlags::DIRECTORY);
    if cannot_be_queued || !any_since(finished) {
        return false;
    }
    let Ok(status) = Descriptor::of_program(number).status() else { return false };
    match queued_file(&status) {
        Some((index, identity)) => {
            file::at(index).release(index, identity);
            true
        }
        None => is_regular(status.st_mode) && identities::finished() != finished,
    }
}

/// Whether a file is queued, or was when so many were finished.
pub fn any_since(finished: u64) -> bool {
    identities::any() || identities::finished() != finished
}

/// A path was looked at, when so many files were finished: true where it must be looked at again, as its file was not as the program believes.
pub fn was_behind(identity: FileIdentity, mode: u32, finished: u64) -> bool {
    if !is_regular(mode) {
        return false;
    }
    let Some(index) = identities::find(identity) else { return identities::finished() != finished };
    file::at(index).drain(index, identity);
    true
}

fn is_regular(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::RegularFile
}

/// How a file is seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCare {
    /// It is as the program believes it to be, at this moment.
    Now,
    /// And stays so: it can be read or written by other ways from now on.
    ForGood,
}

/// Something will be done to what a path leads to.
pub fn before_path(care: FileCare, status: impl FnOnce() -> Option<Stat>) {
    if identities::any()
        && let Some(status) = status()
        && let Some((index, identity)) = queued_file(&status)
    {
        match care {
            FileCare::Now => file::at(index).drain(index, identity),
            FileCare::ForGood => file::at(index).release(index, identity),
        }
    }
}

/// A name will be another. What is below a directory, or behind a link, goes with it.
pub fn before_rename(status: impl FnOnce() -> Option<Stat>) {
    if identities::any()
        && let Some(status) = status()
    {
        match queued_file(&status) {
            Some((index, identity)) => file::at(index).drain(index, identity),
            None if !is_regular(status.st_mode) => end::drain_all(),
            None => {}
        }
    }
}

fn queued_file(status: &Stat) -> Option<(usize, FileIdentity)> {
    let identity = identity_of(status);
    identities::find(identity).filter(|_| is_regular(status.st_mode)).map(|index| (index, identity))
}

/// What a file is.
pub fn identity_of(status: &Stat) -> FileIdentity {
    FileIdentity { device: status.st_dev, inode: status.st_ino }
}

fn queued(number: i32) -> Option<(usize, FileIdentity)> {
    let Meaning::Queued(index) = numbers::meaning(number) else { return None };
    Some((index, file::at(index).identity(number)?))
}

/// LIE: a number may be closed and given out again without a call that we see, by libc itself or by another library.
fn is_still(number: i32, identity: FileIdentity) -> bool {
    Descriptor::of_program(number).status().is_ok_and(|status| identity_of(&status) == identity)
}

/// The first bytes for a number: whether its file is one to queue. It is if it is new and empty, has one name, and can only be written
/// by this descriptor.
fn consider(number: i32) -> Option<usize> {
    if number <= LAST_STANDARD_STREAM {
        numbers::set(number, Meaning::Foreign);
        return None;
    }
    let descriptor = Descriptor::of_program(number);
    let status = descriptor.status().ok()?;
    let kind = FileType::from_raw_mode(status.st_mode);
    if kind != FileType::RegularFile {
        numbers::set(number, if talks(kind) { Meaning::Talks } else { Meaning::Foreign });
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
    if numbers::meaning(number) == Meaning::Doubled {
        return None;
    }
    let flags = descriptor.flags().ok()?;
    let other_ways = OFlags::APPEND | OFlags::DIRECT | OFlags::SYNC | OFlags::DSYNC | OFlags::PATH;
    let is_for_writing_alone = flags & OFlags::ACCMODE == OFlags::WRONLY && !flags.intersects(other_ways);
    let identity = identity_of(status);
    if status.st_size != 0
        || status.st_nlink != 1
        || !is_for_writing_alone
        || identities::is_locked(identity)
        || is_standard(identity)
        || !stores(descriptor, identity.device)
    {
        return None;
    }
    if boundary::are_numbers_scarce(number) {
        end::release_all();
        return None;
    }
    boundary::keep_standard_error();
    let private = descriptor.keep()?;
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

fn is_standard(identity: FileIdentity) -> bool {
    let standard = STANDARD.get_or_init(|| {
        [0, 1, LAST_STANDARD_STREAM]
            .map(|number| Descriptor::of_program(number).status().ok().map(|status| identity_of(&status)))
    });
    standard.contains(&Some(identity))
}

/// Whether what is written to a file of that device is kept, so that two writes may become one: in /proc, /sys and their like each is a
/// command. They name no room. LIMIT: asked when the device is another than that of the last file.
fn stores(descriptor: Descriptor, device: u64) -> bool {
    if STORES.load(Ordering::Acquire) == device {
        return true;
    }
    let stores = descriptor.room().is_ok_and(|(kind, blocks)| match kind {
        EFIVARFS | HUGETLBFS => false,
        TMPFS | RAMFS => true,
        _ => blocks > 0,
    });
    if stores {
        STORES.store(device, Ordering::Release);
    }
    stores
}
