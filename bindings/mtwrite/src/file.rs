//! A file whose writes are queued: what waits for it, who works on it, what failed. One thread at a time works on a file, so its calls
//! are performed in the order in which the program made them. Which file comes when is decided in `workers`.

use crate::boundary::{self, Descriptor};
use crate::buffers::{Buffers, LARGE_BYTES};
use crate::identities::{self, FileIdentity};
use crate::locks::held;
use crate::numbers::{self, Meaning};
use crate::statistics::{BYTES, CALLS, DRAINED};
use crate::{end, workers};
use rustix::fs::Timestamps;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// LIMIT: files at once, open and closed. Each holds a descriptor; more would not be written any sooner.
const FILES: usize = 256;

/// Longer copies are made by `rep movsb`, which AMD's Zen 3 and 4 make up to twenty times slower where the two lie alike in their pages
/// (`docs/journal/0016-copies.md`): programs' buffers and ours often do.
const COPIED_AT_ONCE_BYTES: usize = 2 << 10;

/// Set-user-ID and set-group-ID.
const SET_ID: u32 = 0o6000;

/// The buffers of all files.
pub static BUFFERS: Buffers = Buffers::new();

static ALL: [File; FILES] = [const { File::new() }; FILES];
static FREE: Mutex<Free> = Mutex::new(Free { returned: Vec::new(), never_used: 0 });

/// Calls that were queued and are not performed yet.
static OWED: AtomicUsize = AtomicUsize::new(0);

/// Which places hold no file.
pub struct Free {
    returned: Vec<usize>,
    never_used: usize,
}

/// Something that the program has asked for.
pub enum Call {
    /// Bytes where the file's offset is.
    Write(Vec<u8>),
    /// Bytes at a place.
    WriteAt(Vec<u8>, u64),
    /// Owner and group, as fchown(2) has them.
    Owner(u32, u32),
    /// Permissions.
    Mode(u32),
    /// Times of access and change.
    Times(Timestamps),
    /// Name, value and flags of an extended attribute.
    Attribute(CString, Vec<u8>, i32),
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What could not be done to it.
    pub operation: &'static str,
    /// Which file.
    pub path: Vec<u8>,
    /// Why.
    pub errno: i32,
}

/// Why a call was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRefusal {
    /// An earlier call failed with this number.
    Failed(i32),
    /// The file is not queued (any more).
    NotHere,
}

/// How much of what waits is to be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerformExtent {
    /// All of it.
    All,
    /// What is worth the while: large pieces, and all of a closed file.
    Worthwhile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Resting,
    /// On the list of those that are ready.
    Listed,
    /// A thread works on it.
    Taken,
}

/// One file.
pub struct File {
    state: Mutex<FileState>,
    rested: Condvar,
}

/// What is known about it.
pub struct FileState {
    /// By which the program knows it; none once it was closed.
    number: Option<i32>,
    /// By which we do; none where there is no file in this place.
    private: Option<Descriptor>,
    identity: FileIdentity,
    /// Whether the program may change owner, mode and times of it for certain.
    may_furnish: bool,
    calls: VecDeque<Call>,
    /// An empty queue whose memory is used again.
    spare: VecDeque<Call>,
    /// In `calls`.
    waiting_bytes: usize,
    /// Since the beginning.
    all_bytes: usize,
    turn: Turn,
    waiters: usize,
    fault: Option<Fault>,
    lost: Lost,
    /// A write or a flush has answered with the fault.
    is_told: bool,
}

/// What could not be done to a file, for what comes after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    /// What follows lost bytes would be in the wrong place.
    bytes: bool,
    /// A program that is not given the file away would leave out the set-user-ID.
    owner: bool,
}

/// A file that was just opened, for queueing.
pub struct Fresh {
    /// The program's number.
    pub number: i32,
    /// Our own descriptor of it.
    pub private: Descriptor,
    /// What it is.
    pub identity: FileIdentity,
    /// Whether the program may change owner, mode and times of it for certain.
    pub may_furnish: bool,
}

/// The file at a place.
pub fn at(index: usize) -> &'static File {
    &ALL[index]
}

/// All places that have ever held a file.
pub fn all() -> impl Iterator<Item = (usize, &'static File)> {
    let used = lock_free().never_used;
    ALL.iter().enumerate().take(used)
}

/// The free places, for a fork.
pub fn lock_free() -> MutexGuard<'static, Free> {
    held(FREE.lock())
}

/// Whether calls wait to be performed.
pub fn owed() -> usize {
    // ORDER: in one order with `workers::IS_QUIET`: either the sleeper sees the call, or the caller the sleeper.
    OWED.load(Ordering::SeqCst)
}

/// Finds a place for a file; gives it back where there is none.
pub fn adopt(fresh: Fresh) -> Result<usize, Fresh> {
    let free = {
        let mut free = lock_free();
        free.returned.pop().or_else(|| {
            let index = free.never_used;
            (index < FILES).then(|| {
                free.never_used += 1;
                index
            })
        })
    };
    let Some(index) = free else { return Err(fresh) };
    let mut state = ALL[index].lock();
    state.number = Some(fresh.number);
    state.private = Some(fresh.private);
    state.identity = fresh.identity;
    state.may_furnish = fresh.may_furnish;
    state.all_bytes = 0;
    state.lost = Lost::default();
    state.is_told = false;
    drop(state);
    Ok(index)
}

impl Free {
    /// In a process that was forked all places are free.
    pub fn begin_again(&mut self) {
        self.returned.clear();
        self.never_used = 0;
    }

    /// Whether files are in none but the first `count` places.
    pub fn is_within(&self, count: usize) -> bool {
        self.never_used <= count
    }
}

impl File {
    const fn new() -> Self {
        let state = FileState {
            number: None,
            private: None,
            identity: FileIdentity { device: 0, inode: 0 },
            may_furnish: false,
            calls: VecDeque::new(),
            spare: VecDeque::new(),
            waiting_bytes: 0,
            all_bytes: 0,
            turn: Turn::Resting,
            waiters: 0,
            fault: None,
            lost: Lost { bytes: false, owner: false },
            is_told: false,
        };
        Self { state: Mutex::new(state), rested: Condvar::new() }
    }

    /// Its state, for a fork.
    pub fn lock(&self) -> MutexGuard<'_, FileState> {
        held(self.state.lock())
    }

    /// What it is; none where no file is in this place, or another than that of `number`.
    pub fn identity(&self, number: i32) -> Option<FileIdentity> {
        let state = self.lock();
        (state.number == Some(number)).then_some(state.identity)
    }

    /// Queues bytes of the program. Waits, or works, while the budget of memory is used up.
    pub fn write(&self, index: usize, number: i32, bytes: &[u8], mut offset: Option<u64>) -> Result<(), QueueRefusal> {
        let mut rest = bytes;
        CALLS.add(1);
        BYTES.add(bytes.len() as u64);
        while !rest.is_empty() {
            let mut state = self.lock_for(number)?;
            state.tell()?;
            let put = state.put(rest, offset);
            rest = &rest[put..];
            offset = offset.map(|offset| offset + put as u64);
            let is_ready = state.is_worthwhile() && state.turn == Turn::Resting;
            if is_ready {
                state.turn = Turn::Listed;
            }
            drop(state);
            match (is_ready, put) {
                (true, _) => workers::list(index, LARGE_BYTES),
                (false, 0) => workers::relieve(),
                (false, _) => workers::attend(),
            }
        }
        Ok(())
    }

    /// Queues another call, where the program is known to be allowed it.
    pub fn furnish(&self, number: i32, call: Call) -> Result<(), QueueRefusal> {
        let mut state = self.lock_for(number)?;
        state.failed()?;
        if !state.may_furnish {
            return Err(QueueRefusal::NotHere);
        }
        state.push(call);
        drop(state);
        CALLS.add(1);
        workers::attend();
        Ok(())
    }

    /// The program closes its number. What waits is performed later; what failed already is answered now, and said at the end too:
    /// few programs look at this answer.
    pub fn close(&self, index: usize, number: i32) -> Result<(), QueueRefusal> {
        let mut state = self.lock();
        if state.number != Some(number) {
            return Err(QueueRefusal::NotHere);
        }
        state.number = None;
        numbers::set(number, Meaning::Unknown);
        let failed = state.failed();
        if state.turn == Turn::Resting && state.calls.is_empty() {
            state.leave(index);
        } else if state.turn == Turn::Resting {
            state.turn = Turn::Listed;
            let bytes = state.waiting_bytes;
            drop(state);
            workers::list(index, bytes);
        }
        failed
    }

    /// Waits, or works, until all that the program asked of the file of `identity` was done.
    pub fn drain(&self, index: usize, identity: FileIdentity) {
        let mut state = self.lock();
        if state.is_at_work(identity) {
            DRAINED.add(1);
        }
        while state.is_at_work(identity) {
            if state.turn == Turn::Taken {
                state.waiters += 1;
                state = held(self.rested.wait(state));
                state.waiters -= 1;
            } else {
                drop(state);
                self.run(index, PerformExtent::All);
                state = self.lock();
            }
        }
    }

    /// What failed, for an answer that programs look at: to a write or a flush.
    pub fn tell(&self, identity: FileIdentity) -> Result<(), QueueRefusal> {
        let mut state = self.lock();
        if state.is_here(identity) { state.tell() } else { Ok(()) }
    }

    /// What failed, for any other answer.
    pub fn failed(&self, identity: FileIdentity) -> Result<(), QueueRefusal> {
        let state = self.lock();
        if state.is_here(identity) { state.failed() } else { Ok(()) }
    }

    /// From now on the program's calls go to the kernel as they are.
    pub fn release(&self, index: usize, identity: FileIdentity) {
        loop {
            self.drain(index, identity);
            let mut state = self.lock();
            // Another thread of the program may have queued more meanwhile.
            if !state.is_at_work(identity) {
                if state.is_here(identity) {
                    if let Some(number) = state.number.take() {
                        numbers::set(number, Meaning::Foreign);
                    }
                    state.leave(index);
                }
                return;
            }
        }
    }

    /// What is in this place now.
    pub fn occupant(&self) -> Option<FileIdentity> {
        self.lock().occupant()
    }

    /// Performs what waits. Says whether there was anything.
    pub fn run(&self, index: usize, extent: PerformExtent) -> bool {
        let mut state = self.lock();
        let Some(private) = state.private else { return false };
        let is_wanted = state.turn == Turn::Listed || (extent == PerformExtent::All && state.turn == Turn::Resting);
        if !is_wanted || state.calls.is_empty() {
            return false;
        }
        state.turn = Turn::Taken;
        while !state.calls.is_empty() && (extent == PerformExtent::All || state.is_worthwhile()) {
            let spare = std::mem::take(&mut state.spare);
            let mut calls = std::mem::replace(&mut state.calls, spare);
            state.waiting_bytes = 0;
            let mut lost = state.lost;
            drop(state);
            let count = calls.len();
            let fault = perform_all(private, &mut calls, &mut lost);
            OWED.fetch_sub(count, Ordering::SeqCst);
            state = self.lock();
            state.lost = lost;
            state.spare = calls;
            state.fault = state.fault.take().or(fault);
        }
        state.turn = Turn::Resting;
        if state.waiters > 0 {
            self.rested.notify_all();
        }
        if state.number.is_none() && state.calls.is_empty() {
            state.leave(index);
        }
        true
    }

    fn lock_for(&self, number: i32) -> Result<MutexGuard<'_, FileState>, QueueRefusal> {
        let state = self.lock();
        if state.number == Some(number) { Ok(state) } else { Err(QueueRefusal::NotHere) }
    }
}

impl FileState {
    fn is_here(&self, identity: FileIdentity) -> bool {
        self.private.is_some() && self.identity == identity
    }

    fn is_at_work(&self, identity: FileIdentity) -> bool {
        self.is_here(identity) && (self.turn == Turn::Taken || !self.calls.is_empty())
    }

    fn is_worthwhile(&self) -> bool {
        self.number.is_none() || self.waiting_bytes >= LARGE_BYTES
    }

    /// What is in this place.
    pub fn occupant(&self) -> Option<FileIdentity> {
        self.private.is_some().then_some(self.identity)
    }

    fn failed(&self) -> Result<(), QueueRefusal> {
        self.fault.as_ref().map_or(Ok(()), |fault| Err(QueueRefusal::Failed(fault.errno)))
    }

    fn tell(&mut self) -> Result<(), QueueRefusal> {
        self.is_told |= self.fault.is_some();
        self.failed()
    }

    fn push(&mut self, call: Call) {
        // ORDER: see `owed`.
        OWED.fetch_add(1, Ordering::SeqCst);
        self.calls.push_back(call);
    }

    /// Copies as many bytes as go into the last buffer or a new one; none where there is no memory for one.
    fn put(&mut self, bytes: &[u8], offset: Option<u64>) -> usize {
        if self.room(offset) == 0 {
            let Some(buffer) = BUFFERS.take(bytes.len(), self.all_bytes) else { return 0 };
            self.push(match offset {
                None => Call::Write(buffer),
                Some(offset) => Call::WriteAt(buffer, offset),
            });
        }
        let count = self.room(offset).min(bytes.len());
        if let Some(Call::Write(buffer) | Call::WriteAt(buffer, _)) = self.calls.back_mut() {
            bytes[..count].chunks(COPIED_AT_ONCE_BYTES).for_each(|piece| buffer.extend_from_slice(piece));
        }
        self.waiting_bytes += count;
        self.all_bytes += count;
        count
    }

    /// How many bytes the last buffer still takes, if bytes for that place belong into it.
    fn room(&self, offset: Option<u64>) -> usize {
        match (self.calls.back(), offset) {
            (Some(Call::Write(buffer)), None) => buffer.capacity() - buffer.len(),
            (Some(Call::WriteAt(buffer, begin)), Some(offset)) if *begin + buffer.len() as u64 == offset => {
                buffer.capacity() - buffer.len()
            }
            _ => 0,
        }
    }

    /// The file leaves this place; our descriptor of it is closed.
    fn leave(&mut self, index: usize) {
        let Some(private) = self.private.take() else { return };
        // First the identity: once it is closed, an inode that was removed may come back as another file.
        identities::remove(self.identity);
        let closed = private.close();
        if let Some(fault) = self.fault.take().or_else(|| Fault::of("close", private, closed.err()))
            && !self.is_told
        {
            end::remember(fault);
        }
        lock_free().returned.push(index);
    }
}

impl Fault {
    fn of(operation: &'static str, descriptor: Descriptor, error: Option<Errno>) -> Option<Self> {
        error.map(|error| Self { operation, path: descriptor.path(), errno: error.raw_os_error() })
    }
}

/// Performs the calls, but for bytes behind lost ones, and gives back their memory. The first fault is what is said.
fn perform_all(descriptor: Descriptor, calls: &mut VecDeque<Call>, lost: &mut Lost) -> Option<Fault> {
    let mut fault = None;
    for call in calls.drain(..) {
        if let Some((operation, error)) = perform(descriptor, &call, lost) {
            fault = fault.or_else(|| Fault::of(operation, descriptor, Some(error)));
        }
        if let Call::Write(buffer) | Call::WriteAt(buffer, _) = call {
            BUFFERS.give_back(buffer);
        }
    }
    fault
}

/// What failed, and why.
fn perform(descriptor: Descriptor, call: &Call, lost: &mut Lost) -> Option<(&'static str, Errno)> {
    let write = |bytes: &[u8], offset, lost: &mut Lost| {
        let outcome = if lost.bytes { Ok(()) } else { boundary::write_all(descriptor, bytes, offset) };
        lost.bytes |= outcome.is_err();
        outcome
    };
    let (operation, outcome) = match call {
        Call::Write(bytes) => ("write", write(bytes, None, lost)),
        Call::WriteAt(bytes, offset) => ("write", write(bytes, Some(*offset), lost)),
        Call::Owner(user, group) => {
            let outcome = descriptor.change_owner(*user, *group);
            lost.owner |= outcome.is_err();
            ("change the owner of", outcome)
        }
        Call::Mode(mode) => {
            let mode = if lost.owner { *mode & !SET_ID } else { *mode };
            ("change the mode of", descriptor.change_mode(mode))
        }
        Call::Times(times) => ("change the times of", descriptor.change_times(times)),
        Call::Attribute(name, value, flags) => ("set an attribute of", descriptor.set_attribute(name, value, *flags)),
    };
    outcome.err().map(|error| (operation, error))
}
