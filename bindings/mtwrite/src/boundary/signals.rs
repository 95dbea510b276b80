//! Signals that would end the process while calls wait: they end it when nothing waits any more. Our handler stands only where the
//! program has none, and the program is told that there is none.
#![expect(unsafe_code, reason = "a boundary: actions of signals, and the functions that set them")]

use crate::boundary::next::{InOwnFunction, hook};
use crate::{boundary, file, statistics};
use libc::{SIG_DFL, sighandler_t};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering, compiler_fence};
use std::time::Duration;

/// Those that end a process by default and leave it able to wait a moment.
const ENDING: [c_int; 11] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGVTALRM,
    libc::SIGXCPU,
    libc::SIGABRT,
];

/// LIMIT: so long is waited for one call to be performed, longer for nothing: a file system that hangs must not keep a process alive.
const PATIENCE_ROUNDS: usize = 5000;
const ROUND: Duration = Duration::from_millis(1);

static ARE_HELD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The signal that came to this thread in the middle of a function of ours. No other thread may act on it: a worker would wait for itself.
    static PENDING: AtomicI32 = const { AtomicI32::new(0) };
}

/// From now on such a signal waits for what waits.
pub fn hold() {
    if !ARE_HELD.swap(true, Ordering::AcqRel) {
        for signal in ENDING {
            let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: a place for an action, which is filled in where the call succeeds; zeroes are one, too.
            let action = unsafe {
                next_action(signal, std::ptr::null(), action.as_mut_ptr());
                action.assume_init()
            };
            if action.sa_sigaction == SIG_DFL {
                // SAFETY: ours is one that may come at any moment, see there.
                unsafe { next_action(signal, &ours(&action), std::ptr::null_mut()) };
            }
        }
    }
}

/// Our action instead of the default one.
fn ours(default: &libc::sigaction) -> libc::sigaction {
    let mut action = *default;
    action.sa_sigaction = end_by as extern "C" fn(c_int) as *const () as sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    action
}

fn is_ours(handler: sighandler_t) -> bool {
    handler == end_by as extern "C" fn(c_int) as *const () as sighandler_t
}

/// The handler. In a function of ours this thread may hold a lock that the workers need: then it ends at the end of that.
extern "C" fn end_by(signal: c_int) {
    if InOwnFunction::is_inside() {
        PENDING.with(|pending| pending.store(signal, Ordering::Relaxed));
    } else {
        end(signal);
    }
}

/// Ends the process by the signal that came to this thread in the middle of a function of ours. The thread is out of that.
pub fn act_on_pending() {
    // ORDER: for the handler, which runs in this thread: what comes from here on finds it outside.
    compiler_fence(Ordering::SeqCst);
    let signal = PENDING.with(|pending| pending.load(Ordering::Relaxed));
    if signal != 0 {
        PENDING.with(|pending| pending.store(0, Ordering::Relaxed));
        end(signal);
    }
}

/// Waits for the workers, as long as they get on, tells what was done, and lets the signal have its way. Takes no lock and no memory.
fn end(signal: c_int) {
    let (mut owed, mut rounds) = (file::owed(), 0);
    while owed > 0 && rounds < PATIENCE_ROUNDS {
        std::thread::sleep(ROUND);
        let now = file::owed();
        rounds = if now < owed { 0 } else { rounds + 1 };
        owed = now;
    }
    boundary::report(&statistics::take());
    let mut default = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroes are the default action with an empty set; the signal is let through and sent to this thread.
    unsafe {
        next_action(signal, default.as_mut_ptr(), std::ptr::null_mut());
        let mut alone = std::mem::MaybeUninit::uninit();
        libc::sigemptyset(alone.as_mut_ptr());
        libc::sigaddset(alone.as_mut_ptr(), signal);
        libc::pthread_kill(libc::pthread_self(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, alone.as_ptr(), std::ptr::null_mut());
    }
}

static SIGACTION: super::next::NextFunction = super::next::NextFunction::new(c"sigaction");

/// # Safety
/// As sigaction(2).
unsafe fn next_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: every libc has it, with this signature.
    let function: unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int =
        unsafe { std::mem::transmute::<*mut c_void, _>(SIGACTION.address()) };
    // SAFETY: as the caller promises.
    unsafe { function(signal, new, old) }
}

/// Whether the default action of a signal is ours at present.
fn is_held(signal: c_int) -> bool {
    ARE_HELD.load(Ordering::Acquire) && ENDING.contains(&signal)
}

hook! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int, next => {
        if !is_held(signal) {
            return next();
        }
        // SAFETY: null, or an action, as the program promises.
        let replaced = unsafe { new.as_ref() }.filter(|new| new.sa_sigaction == SIG_DFL).map(ours);
        let outcome = match &replaced {
            // SAFETY: the program's arguments but for the one that is ours.
            Some(ours) => unsafe { next_action(signal, ours, old) },
            None => next(),
        };
        // SAFETY: null, or filled in where the call has succeeded.
        if outcome == 0 && let Some(old) = unsafe { old.as_mut() } && is_ours(old.sa_sigaction) {
            old.sa_sigaction = SIG_DFL;
        }
        outcome
    };
    fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t, next => {
        let before = if is_held(signal) && handler == SIG_DFL {
            let mut actions = [const { std::mem::MaybeUninit::<libc::sigaction>::zeroed() }; 2];
            let [default, before] = &mut actions;
            // SAFETY: zeroes are the default action; the second is a place for one, and stays a valid one.
            unsafe {
                next_action(signal, &ours(default.assume_init_ref()), before.as_mut_ptr());
                before.assume_init_ref().sa_sigaction
            }
        } else {
            next()
        };
        if is_ours(before) { SIG_DFL } else { before }
    };
}
