//! The ledger as this process has it mapped.
#![expect(unsafe_code, reason = "a boundary: a mapping of a file as words")]

use crate::boundary::calls;
use crate::ledger::{self, WORDS};
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Where it is mapped; null while there is none.
static BASE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

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

/// Looks at no mapping any more.
pub fn leave() {
    MIN_BYTES.store(usize::MAX, Ordering::Relaxed);
}

/// Maps the ledger at `path`. Nothing where it is not one of ours.
pub fn join(path: &CStr) {
    let Ok(start) = calls::map_file(path, WORDS * size_of::<u64>()) else { return };
    BASE.store(std::ptr::with_exposed_provenance_mut(start), Ordering::Release);
    let Some(words) = words().filter(|words| words[ledger::MAGIC_AT].load(Ordering::Relaxed) == ledger::MAGIC) else {
        BASE.store(std::ptr::null_mut(), Ordering::Release);
        let _not_ours = calls::unmap(start, WORDS * size_of::<u64>());
        return;
    };
    words[ledger::PROCESSES].fetch_add(1, Ordering::Relaxed);
    let least = words[ledger::MIN_BYTES].load(Ordering::Relaxed).max(LEAST);
    MIN_BYTES.store(usize::try_from(least).unwrap_or(usize::MAX), Ordering::Relaxed);
}
