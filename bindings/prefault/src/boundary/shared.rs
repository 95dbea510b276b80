//! The ledger as this process has it mapped.
#![expect(unsafe_code, reason = "a boundary: a mapping of a file as words")]

use crate::ahead::AheadState;
use crate::boundary::calls;
use crate::ledger::{self, WORDS};
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Where it is mapped; null while there is none.
static BASE: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// Mappings below this are not looked at; all of them where there is no ledger.
static MIN_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// LIMIT: no smaller mapping is populated, whatever the ledger says: it would cost more than it saves.
const LEAST: u64 = 1 << 20;

/// As in [`MIN_BYTES`].
#[inline]
pub fn min_bytes() -> usize {
    MIN_BYTES.load(Ordering::Relaxed)
}

/// All words; none where there is no ledger.
pub fn words() -> Option<&'static [AtomicU64; WORDS]> {
    let base = BASE.load(Ordering::Acquire);
    // SAFETY: `join` maps that many words for good; everybody uses them as atomics.
    (!base.is_null()).then(|| unsafe { &*base.cast::<[AtomicU64; WORDS]>() })
}

/// Half of a word: what a futex needs.
pub fn half(word: &'static AtomicU64) -> &'static AtomicU32 {
    // SAFETY: the first half of an aligned word that lives for good; nobody uses it whole.
    unsafe { &*word.as_ptr().cast::<AtomicU32>() }
}

/// Where the state of `ahead` is; 0 where that is not wanted.
static AHEAD: AtomicUsize = AtomicUsize::new(0);

/// The state of `ahead` in this process.
#[inline]
pub fn ahead_state() -> Option<&'static AheadState> {
    let page = AHEAD.load(Ordering::Acquire);
    // SAFETY: the page is ours for good, zeroes are such a state, and all of it is atomic.
    (page != 0).then(|| unsafe { &*core::ptr::with_exposed_provenance::<AheadState>(page) })
}

/// Counts a large mapping in a word of the ledger's header.
pub fn count(word: usize) {
    if let Some(words) = words() {
        words[word].fetch_add(1, Ordering::Relaxed);
    }
}

/// Looks at no mapping any more, and makes no call of its own.
pub fn leave() {
    MIN_BYTES.store(usize::MAX, Ordering::Relaxed);
    crate::ahead::end();
}

/// Whether this process may be looked after: not where it is numbered otherwise than for its runner, and not where a filter that the runner
/// does not have may end it for calls that it never made.
fn may_join(words: &[AtomicU64; WORDS]) -> bool {
    let word = |word: usize| words[word].load(Ordering::Relaxed);
    word(ledger::MAGIC_AT) == ledger::MAGIC
        && calls::namespace() == Some(word(ledger::NAMESPACE))
        && filters().is_some_and(|filters| filters <= word(ledger::FILTERS))
        && calls::can_populate()
}

/// Filters of system calls that this process has (proc_pid_status(5), Linux 5.9).
fn filters() -> Option<u64> {
    let mut status = [0_u8; 4096];
    let length = calls::read_file(c"/proc/self/status", &mut status)?;
    crate::status::filters(status.get(..length)?)
}

/// Maps the ledger at `path`. Nothing where it is not one of ours.
pub fn join(path: &CStr) {
    let Ok(start) = calls::map_file(path, WORDS * size_of::<u64>()) else { return };
    BASE.store(core::ptr::with_exposed_provenance_mut(start), Ordering::Release);
    let Some(words) = words().filter(|words| may_join(words)) else {
        BASE.store(core::ptr::null_mut(), Ordering::Release);
        let _not_ours = calls::unmap(start, WORDS * size_of::<u64>());
        return;
    };
    if words[ledger::MODE].load(Ordering::Relaxed) & ledger::MODE_AHEAD != 0 {
        AHEAD.store(calls::page_of_process().unwrap_or(0), Ordering::Release);
    }
    words[ledger::PROCESSES].fetch_add(1, Ordering::Relaxed);
    let least = words[ledger::MIN_BYTES].load(Ordering::Relaxed).max(LEAST);
    MIN_BYTES.store(usize::try_from(least).unwrap_or(usize::MAX), Ordering::Relaxed);
}
