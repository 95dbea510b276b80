//! The functions of `manyhands.h`: pointers and numbers in, values of `share` behind them. No panic leaves it, a null pointer
//! is an answer and not a crash; any other pointer is taken at the caller's word, as everywhere in C.
#![expect(unsafe_code, reason = "a boundary: names that a linker finds, and pointers that another language gives")]

use crate::memory_pool::{self, MemoryPool};
use crate::share::{Mistake, OpenedBudget, Share, ShareSettings};
use crew::budget::lease_token;
use memory::range::MemoryRange;
use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

pub const OK: c_int = 0;
pub const NOT_NOW: c_int = 1;
pub const WRONG_ARGUMENT: c_int = -1;
pub const WRONG_HAND: c_int = -2;
pub const BROKEN: c_int = -3;
pub const NO_MEMORY: c_int = -4;

const NULL: Mistake = Mistake::Argument("a null pointer");

thread_local! {
    /// What went wrong last in this thread.
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a function's body; keeps what went wrong for `mh_error`, be it a mistake of the caller or a defect of ours.
fn answer(body: impl FnOnce() -> Result<c_int, Mistake>) -> c_int {
    let (text, code) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => return code,
        Ok(Err(Mistake::Hand)) => (Mistake::Hand.said(), WRONG_HAND),
        Ok(Err(mistake @ Mistake::Memory(_))) => (mistake.said(), NO_MEMORY),
        Ok(Err(mistake)) => (mistake.said(), WRONG_ARGUMENT),
        Err(_panic) => ("go on: this is a defect of libmanyhands".to_owned(), BROKEN),
    };
    // Not even a thread that is ending, whose locals are gone, may panic across the boundary.
    let _nobody_asks = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
    code
}

/// A panic instead of an answer that has no room for an error.
fn quietly<Answer: Default>(body: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_default()
}

/// What a handle leads to.
///
/// # Safety
/// The pointer is null, or came from an opening function of this library and was not closed.
unsafe fn opened<'a, Opened>(handle: *const Opened) -> Result<&'a Opened, Mistake> {
    // SAFETY: it leads to a live box of ours, as the caller promises, and only shared references are made of it.
    unsafe { handle.as_ref() }.ok_or(NULL)
}

/// Writes an answer to where the caller wants it.
///
/// # Safety
/// The pointer is null or may be written through.
unsafe fn put<Value>(place: *mut Value, value: impl FnOnce() -> Result<Value, Mistake>) -> Result<(), Mistake> {
    if place.is_null() {
        return Err(NULL);
    }
    let value = value()?;
    // SAFETY: it is not null, and the caller promises the rest. `write` drops nothing: what was there was never a value of ours.
    unsafe { place.write(value) };
    Ok(())
}

/// The text at a pointer; none where that is null.
///
/// # Safety
/// The pointer is null or leads to bytes that end with a zero.
unsafe fn text<'a>(start: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null, and ended by a zero as the caller promises.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) })
}

/// Copies as much of `whole` as there is room for, with a closing zero; the length of all of it.
///
/// # Safety
/// `room` is null or may be written to, `bytes` of them.
unsafe fn copy(whole: &str, room: *mut c_char, bytes: usize) -> usize {
    if !room.is_null() && bytes > 0 {
        let length = whole.len().min(bytes - 1);
        // SAFETY: the caller promises `bytes` bytes of room, of which these are `length` and one more; a text of ours does
        // not lie in the caller's room.
        unsafe {
            room.copy_from_nonoverlapping(whole.as_ptr().cast(), length);
            room.add(length).write(0);
        }
    }
    whole.len()
}

/// # Safety
/// As `manyhands.h` says: `directory` is null or a string, `crew` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_crew_open(directory: *const c_char, crew: *mut *mut OpenedBudget) -> c_int {
    answer(|| {
        // SAFETY: the caller promises a string or null.
        let directory = unsafe { text(directory) }.map(|directory| Path::new(OsStr::from_bytes(directory.to_bytes())));
        let open = || {
            let [directory_told, lease] = ["MH_CREW_DIR", lease_token::VARIABLE].map(std::env::var_os);
            let told = ShareSettings { directory: directory_told.as_deref(), lease: lease.as_deref() };
            Ok(Box::into_raw(Box::new(OpenedBudget::open(directory, told))))
        };
        // SAFETY: the caller promises a place or null.
        unsafe { put(crew, open) }.map(|()| OK)
    })
}

/// # Safety
/// `crew` is null or opened, and not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_crew_close(crew: *mut OpenedBudget) {
    if !crew.is_null() {
        // SAFETY: it came from Box::into_raw in `mh_crew_open`, and the caller gives it up.
        quietly(|| drop(unsafe { Box::from_raw(crew) }));
    }
}

/// # Safety
/// `crew` is null or opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_crew_hands(crew: *const OpenedBudget) -> usize {
    // SAFETY: as the caller promises.
    quietly(|| unsafe { opened(crew) }.map_or(0, OpenedBudget::hands))
}

/// # Safety
/// `crew` is null or opened; `room` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_crew_why_alone(crew: *const OpenedBudget, room: *mut c_char, bytes: usize) -> usize {
    quietly(|| {
        // SAFETY: as the caller promises.
        let why = unsafe { opened(crew) }.map_or_else(Mistake::said, OpenedBudget::why_alone);
        // SAFETY: as the caller promises.
        unsafe { copy(&why, room, bytes) }
    })
}

/// # Safety
/// `crew` is null or opened, `what` null or a string, `lease` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_lease_open(
    crew: *const OpenedBudget,
    priority: c_int,
    weight: c_uint,
    useful_width: usize,
    what: *const c_char,
    lease: *mut *mut Share,
) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let (crew, what) = unsafe { (opened(crew)?, text(what).ok_or(NULL)?) };
        let what = what.to_string_lossy().into_owned();
        let open = || Ok(Box::into_raw(Box::new(crew.lease(priority, weight, useful_width, what)?)));
        // SAFETY: the caller promises a place or null.
        unsafe { put(lease, open) }.map(|()| OK)
    })
}

/// # Safety
/// `lease` is null or opened, no other call on it is in progress, and it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_lease_close(lease: *mut Share) {
    if !lease.is_null() {
        // SAFETY: it came from Box::into_raw in `mh_lease_open`, and the caller gives it up.
        quietly(|| drop(unsafe { Box::from_raw(lease) }));
    }
}

/// # Safety
/// `lease` is null or opened, `hand` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_take(lease: *const Share, hand: *mut u64) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let lease = unsafe { opened(lease) }?;
        // SAFETY: as the caller promises.
        unsafe { put(hand, || Ok(lease.take())) }.map(|()| OK)
    })
}

/// # Safety
/// `lease` is null or opened, `hand` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_try_take(lease: *const Share, hand: *mut u64) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let lease = unsafe { opened(lease) }?;
        let mut code = NOT_NOW;
        let take = || Ok(lease.try_take().inspect(|_| code = OK).unwrap_or(0));
        // SAFETY: as the caller promises.
        unsafe { put(hand, take) }.map(|()| code)
    })
}

/// # Safety
/// `lease` is null or opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_must_return(lease: *const Share, hand: u64) -> c_int {
    // SAFETY: as the caller promises.
    answer(|| unsafe { opened(lease) }?.must_return(hand).map(c_int::from))
}

/// # Safety
/// `lease` is null or opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_give_back(lease: *const Share, hand: u64) -> c_int {
    // SAFETY: as the caller promises.
    answer(|| unsafe { opened(lease) }?.give_back(hand).map(|()| OK))
}

/// # Safety
/// `lease` is null or opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_set_useful_width(lease: *const Share, width: usize) -> c_int {
    // SAFETY: as the caller promises.
    answer(|| unsafe { opened(lease) }?.set_useful_width(width).map(|()| OK))
}

/// # Safety
/// `room` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_error(room: *mut c_char, bytes: usize) -> usize {
    quietly(|| {
        let last = LAST_ERROR.try_with(|last| last.borrow().clone()).unwrap_or_default();
        // SAFETY: as the caller promises.
        unsafe { copy(&last, room, bytes) }
    })
}

/// # Safety
/// `crew` is null or opened, `pool` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_pool_open(crew: *const OpenedBudget, threads: usize, pool: *mut *mut MemoryPool) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let crew = unsafe { opened(crew) }?;
        let open = || Ok(Box::into_raw(Box::new(MemoryPool::open(crew, threads)?)));
        // SAFETY: the caller promises a place or null.
        unsafe { put(pool, open) }.map(|()| OK)
    })
}

/// # Safety
/// `pool` is null or opened, no other call on it is in progress, and it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_pool_close(pool: *mut MemoryPool) {
    if !pool.is_null() {
        // SAFETY: it came from Box::into_raw in `mh_pool_open`, and the caller gives it up.
        quietly(|| drop(unsafe { Box::from_raw(pool) }));
    }
}

/// # Safety
/// `pool` is null or opened, `memory` null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_create(
    pool: *const MemoryPool,
    bytes: usize,
    kind: c_int,
    flags: c_uint,
    memory: *mut *mut MemoryRange,
) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let pool = unsafe { opened(pool) }?;
        let create = || Ok(Box::into_raw(Box::new(pool.create(bytes, kind, flags)?)));
        // SAFETY: the caller promises a place or null.
        unsafe { put(memory, create) }.map(|()| OK)
    })
}

/// # Safety
/// `memory` is null or created and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_address(memory: *const MemoryRange) -> *mut c_void {
    // SAFETY: as the caller promises.
    let address = quietly(|| unsafe { opened(memory) }.map_or(0, MemoryRange::address));
    std::ptr::with_exposed_provenance_mut(address)
}

/// # Safety
/// `pool` is null or opened, `memory` null or created and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_resident(pool: *const MemoryPool, memory: *const MemoryRange) -> usize {
    quietly(|| {
        // SAFETY: as the caller promises.
        let (pool, memory) = unsafe { (opened(pool), opened(memory)) };
        pool.and_then(|pool| Ok(pool.resident(memory?))).unwrap_or(0)
    })
}

/// # Safety
/// `memory` is null or created and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_lock(memory: *const MemoryRange) -> c_int {
    // SAFETY: as the caller promises.
    answer(|| memory_pool::lock(unsafe { opened(memory) }?).map(|()| OK))
}

/// # Safety
/// `pool` is null or opened; `memory` is null or created, nobody uses it or its bytes, and it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_destroy(pool: *const MemoryPool, memory: *mut MemoryRange) -> c_int {
    answer(|| {
        // SAFETY: as the caller promises.
        let pool = unsafe { opened(pool) }?;
        if memory.is_null() {
            return Ok(OK);
        }
        // SAFETY: it came from Box::into_raw in `mh_memory_create`, and the caller gives it up.
        pool.destroy(*unsafe { Box::from_raw(memory) }).map(|()| OK)
    })
}

/// # Safety
/// `pool` is null or opened. The address is only given to the kernel, which refuses what is not mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mh_memory_populate(pool: *const MemoryPool, address: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    answer(|| unsafe { opened(pool) }?.populate(address.expose_provenance(), bytes).map(|()| OK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    /// What `mh_error` says, through a buffer of `bytes`.
    fn error(bytes: usize) -> (usize, String) {
        let mut room = vec![1_u8; bytes];
        // SAFETY: the buffer has as many bytes as are told.
        let length = unsafe { mh_error(room.as_mut_ptr().cast(), bytes) };
        (length, CStr::from_bytes_until_nul(&room).map_or(String::new(), |text| text.to_string_lossy().into_owned()))
    }

    #[test]
    fn null_pointers_are_answers() {
        let (mut hand, mut lease) = (7, null_mut());
        // SAFETY: null is what these functions have to bear, and the two places are live variables.
        unsafe {
            let codes = [
                mh_crew_open(null(), null_mut()),
                mh_lease_open(null(), 2, 100, 1, c"x".as_ptr(), &mut lease),
                mh_take(null(), &mut hand),
                mh_try_take(null(), &mut hand),
                mh_must_return(null(), 1),
                mh_give_back(null(), 1),
                mh_set_useful_width(null(), 1),
            ];
            assert_eq!(codes, [WRONG_ARGUMENT; 7]);
            mh_crew_close(null_mut());
            mh_lease_close(null_mut());
            assert_eq!(
                (mh_crew_hands(null()), mh_crew_why_alone(null(), null_mut(), 9)),
                (0, "accept a null pointer".len())
            );
        }
        assert_eq!((hand, lease.is_null()), (7, true), "what failed wrote nothing");
        assert_eq!(error(100), (21, "accept a null pointer".to_owned()));
        assert_eq!(
            (error(7), error(1), error(0)),
            ((21, "accept".to_owned()), (21, String::new()), (21, String::new()))
        );
    }

    #[test]
    fn a_run_goes_through_the_boundary() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = std::ffi::CString::new(parent.path().join("crew").as_os_str().as_bytes()).expect("no zero");
        let (mut crew, mut lease, mut hand, mut second) = (null_mut(), null_mut(), 0, 7);
        // SAFETY: all pointers are to live variables or to handles that were opened here and are closed once.
        unsafe {
            assert_eq!(mh_crew_open(directory.as_ptr(), &mut crew), OK);
            assert_eq!(mh_crew_why_alone(crew, null_mut(), 0), 0);
            assert!(mh_crew_hands(crew) > 0);
            assert_eq!(mh_lease_open(crew, 9, 100, 1, c"x".as_ptr(), &mut lease), WRONG_ARGUMENT);
            assert_eq!(mh_lease_open(crew, 2, 100, 1, c"x".as_ptr(), &mut lease), OK);
            mh_crew_close(crew);
            assert_eq!((mh_take(lease, &mut hand), mh_try_take(lease, &mut second)), (OK, NOT_NOW));
            assert_eq!((mh_must_return(lease, hand), second), (0, 0));
            assert_eq!((mh_take(lease, null_mut()), mh_set_useful_width(lease, 2)), (WRONG_ARGUMENT, OK));
            assert_eq!((mh_give_back(lease, hand), mh_give_back(lease, hand)), (OK, WRONG_HAND));
            assert!(error(200).1.starts_with("find this hand"));
            mh_lease_close(lease);
        }
    }

    #[test]
    fn memory_goes_through_the_boundary() {
        let (mut crew, mut pool, mut memory) = (null_mut(), null_mut(), null_mut());
        let bytes = 4 << 20;
        // SAFETY: all pointers are to live variables or to handles that were opened here and are closed once.
        unsafe {
            let parent = tempfile::tempdir().expect("a directory");
            let directory = std::ffi::CString::new(parent.path().as_os_str().as_bytes()).expect("no zero");
            assert_eq!(mh_crew_open(directory.as_ptr(), &mut crew), OK);
            assert_eq!((mh_pool_open(null(), 2, &mut pool), mh_pool_open(crew, 2, &mut pool)), (WRONG_ARGUMENT, OK));
            assert_eq!(mh_memory_create(pool, bytes, 7, 0, &mut memory), WRONG_ARGUMENT);
            assert_eq!(mh_memory_create(pool, 1 << 50, 0, 0, &mut memory), NO_MEMORY);
            assert!(error(200).1.starts_with("get 1125899906842624 bytes: "), "{}", error(200).1);
            assert_eq!(mh_memory_create(pool, bytes, 0, 0, &mut memory), OK);
            assert!(!mh_memory_address(memory).is_null() && mh_memory_address(null()).is_null());
            mh_memory_address(memory).cast::<u8>().add(bytes - 1).write(7);
            assert_eq!((mh_memory_resident(pool, memory), mh_memory_resident(null(), memory)), (bytes, 0));
            assert_eq!(mh_memory_populate(pool, mh_memory_address(memory), bytes), OK);
            assert_eq!(mh_memory_address(memory).cast::<u8>().add(bytes - 1).read(), 7, "content stays");
            assert_eq!(mh_memory_populate(pool, null_mut(), bytes), NO_MEMORY);
            assert_eq!((mh_memory_lock(null()), mh_memory_destroy(null(), memory)), (WRONG_ARGUMENT, WRONG_ARGUMENT));
            assert_eq!((mh_memory_destroy(pool, memory), mh_memory_destroy(pool, null_mut())), (OK, OK));
            mh_pool_close(pool);
            mh_pool_close(null_mut());
            mh_crew_close(crew);
        }
    }

    #[test]
    fn no_panic_leaves() {
        assert_eq!(answer(|| panic!("a defect, on purpose")), BROKEN);
        assert_eq!(error(6).1, "go on");
        assert_eq!(quietly::<usize>(|| panic!("a defect, on purpose")), 0);
    }
}
