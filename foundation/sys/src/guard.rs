//! A guard over a process that has children: when the process is killed, even by SIGKILL, what it started is ended too.
//! The guard is the parent: it forks once, before any thread exists, and the child goes on as the process that works. As
//! subreaper (`prctl(2)`) the guard inherits whatever the other leaves behind, daemons included. Limit: both killed at once.

use crate::process_tree::Stat;
use crate::reap::{self, How};
use crate::signals::{JOB_CONTROL, SignalQueue, die_by, number, stop_here};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, set_child_subreaper};
use rustix::time::Timespec;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Between asking what is left behind to end and ending it. Longer keeps a killed run's jobs alive; shorter gives them no
/// time to remove their unfinished files.
const GRACE: Duration = Duration::from_millis(300);

/// The guard of this process; 0 where there is none.
static GUARD: AtomicI32 = AtomicI32::new(0);

/// Whether this process had a guard and it has been killed: nobody ends then what is left behind.
pub fn is_lost() -> bool {
    // ORDER: Relaxed: written once, before there is another thread.
    let guard = Pid::from_raw(GUARD.load(Ordering::Relaxed));
    guard.is_some() && rustix::process::getppid() != guard
}

/// Divides this process in two: returns in the one that is to work; the other one guards it and never returns.
///
/// Signals of [`JOB_CONTROL`] that processes send to the guard are passed on, and those of `besides`; keys at the terminal reach both by
/// themselves. The guard ends as the worker does. When the guard is killed, the worker gets SIGTERM.
///
/// # Errors
/// When no process can be had: then this process is as it was, without a guard.
///
/// # Panics
/// When threads exist already.
pub fn divide(besides: &[i32]) -> io::Result<()> {
    assert_eq!(threads(), 1, "a process is divided before it has threads");
    set_child_subreaper(Pid::from_raw(1))?;
    let guard = rustix::process::getpid();
    // Before there is a child: the end of a short one would go unheard.
    let signals = SignalQueue::open(&[JOB_CONTROL, besides].concat())?;
    // SAFETY: this is the only thread, so the child has a whole copy of every lock and of the allocator.
    match unsafe { libc::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            signals.close();
            set_child_subreaper(None)?;
            Err(error)
        }
        0 => {
            signals.close();
            become_worker(guard)
        }
        worker => guard_until_end(&signals, Pid::from_raw(worker).expect("fork tells a number above 0")),
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

fn become_worker(guard: Pid) -> io::Result<()> {
    // Orphans of its jobs come to the worker, as long as it lives.
    set_child_subreaper(Pid::from_raw(1))?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
    // ORDER: as in `is_lost`.
    GUARD.store(guard.as_raw_nonzero().get(), Ordering::Relaxed);
    if is_lost() {
        die_by(number::SIGTERM);
    }
    Ok(())
}

fn guard_until_end(signals: &SignalQueue, worker: Pid) -> ! {
    loop {
        sleep_until_signal(signals, None);
        for arrived in signals.take().unwrap_or_default() {
            match arrived.signal {
                number::SIGCHLD => {
                    if let Some(how) = ended(worker) {
                        if let How::Signal(_) = how {
                            end_children(signals);
                        }
                        end_as(how);
                    }
                }
                number::SIGTSTP => {
                    if arrived.is_sent_by_process {
                        pass_on(worker, number::SIGTSTP);
                    }
                    stop_here();
                }
                signal if arrived.is_sent_by_process => pass_on(worker, signal),
                _ => {}
            }
        }
    }
}

fn pass_on(worker: Pid, signal: i32) {
    let _ended_meanwhile = reap::signal_process(worker, signal);
}

fn sleep_until_signal(signals: &SignalQueue, at_most: Option<Duration>) {
    let limit = at_most.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let _or_interrupted = poll(&mut [PollFd::new(signals, PollFlags::IN)], limit.as_ref());
}

/// Reaps all that has ended; how the worker did, if it is among them.
fn ended(worker: Pid) -> Option<How> {
    let mut how = None;
    while let Ok(Some(ended)) = reap::next_ended() {
        if ended.pid == worker {
            how = Some(ended.how);
        }
    }
    how
}

/// Ends all children, and theirs as they become ours, until none is left. `signals` has SIGCHLD.
pub fn end_children(signals: &SignalQueue) {
    signal_children(number::SIGTERM);
    signal_children(number::SIGCONT);
    let grace = Instant::now() + GRACE;
    while reap_all() {
        let left = grace.saturating_duration_since(Instant::now());
        if left.is_zero() {
            signal_children(number::SIGKILL);
        }
        sleep_until_signal(signals, Some(left.max(Duration::from_millis(5))));
        let _seen = signals.take();
    }
}

/// Whether any child lives still.
fn reap_all() -> bool {
    loop {
        match reap::next_ended() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Sends `signal` to the children of this process, and to the groups that they lead.
pub fn signal_children(signal: i32) {
    for child in children_of(rustix::process::getpid()) {
        let _ended_meanwhile = reap::signal_group(child, signal);
        let _ended_meanwhile = reap::signal_process(child, signal);
    }
}

/// The children of `parent`, from the `stat` files of all processes.
pub fn children_of(parent: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |&number: &i32| {
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        Stat::read(&stat).is_some_and(|found| found.parent == parent.as_raw_nonzero().get())
    };
    numbers.filter(is_child).filter_map(Pid::from_raw).collect()
}

fn end_as(how: How) -> ! {
    match how {
        // SAFETY: ends this process, which has nothing to tidy up: all buffers are the worker's.
        How::Exit(code) => unsafe { libc::_exit(code) },
        How::Signal(signal) => die_by(signal),
    }
}
