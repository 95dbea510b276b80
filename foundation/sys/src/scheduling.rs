//! The process's own scheduling priority (`setpriority(2)`), the calling thread's class and CPUs (`sched_setscheduler(2)`,
//! `sched_setaffinity(2)`), and where it runs (`sched_getcpu(3)`).
//! Priority is only ever lowered: raising needs rights that an everyday utility does not have.

use std::io;

/// Makes this process nicer by `steps` (1 to 19 lowest). Threads started later inherit it.
pub fn be_nicer(steps: u8) -> io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    let nicer = (now + i32::from(steps)).min(19);
    Ok(rustix::process::setpriority_process(None, nicer)?)
}

/// Makes this process as nice as `steps` above the usual (1 to 19 lowest), unless it is so already: a parent may have seen to it.
pub fn be_as_nice_as(steps: u8) -> io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    let wanted = i32::from(steps).min(19);
    if now < wanted { Ok(rustix::process::setpriority_process(None, wanted)?) } else { Ok(()) }
}

/// A class of the kernel's scheduler below the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// SCHED_BATCH and nicer by so many steps: gives way, and is not taken for somebody who types.
    Batch {
        /// 1 to 19.
        nicer_by: u8,
    },
    /// SCHED_IDLE: runs where nobody else wants to.
    Idle,
}

/// Puts the calling thread, and what it starts from now on, into `class`.
///
/// LIE: a thread without rights does not get out again, so this is for threads that end soon. Under autogrouping (`sched(7)`) it
/// counts among programs of the same session only.
pub fn enter(class: Class) -> io::Result<()> {
    let policy = match class {
        Class::Batch { .. } => libc::SCHED_BATCH,
        Class::Idle => libc::SCHED_IDLE,
    };
    set_policy(policy)?;
    match class {
        // LIE: setpriority(2) speaks of processes; on Linux a number of 0 means the calling thread.
        Class::Batch { nicer_by } => be_nicer(nicer_by),
        Class::Idle => Ok(()),
    }
}

/// Starts threads that do not take the caller's CPU from it: while it lives the calling thread is of class SCHED_BATCH, and so are, for good,
/// those that it starts, which wait until it sleeps. In another class than the usual one everything stays as it is.
#[derive(Debug)]
pub struct Unhurried {
    is_batch: bool,
}

impl Unhurried {
    /// From now on.
    pub fn begin() -> Self {
        // SAFETY: 0 is the calling thread; there is nothing else to be right about.
        let is_usual = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
        Self { is_batch: is_usual && set_policy(libc::SCHED_BATCH).is_ok() }
    }
}

impl Drop for Unhurried {
    fn drop(&mut self) {
        if self.is_batch {
            let _stays_batch = set_policy(libc::SCHED_OTHER);
        }
    }
}

/// The class of the calling thread.
fn set_policy(policy: i32) -> io::Result<()> {
    // SAFETY: an all-zero sched_param is the only one that these classes take.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the pointer is to a live object.
    if unsafe { libc::sched_setscheduler(0, policy, &parameters) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lets the calling thread, and what it starts from now on, run on `cpus` only.
pub fn stay_on(cpus: &[usize]) -> io::Result<()> {
    Ok(rustix::thread::sched_setaffinity(None, &cpu_set(cpus))?)
}

/// LIMIT: CPUs from 1024 on are left out, as in the table.
pub(crate) fn cpu_set(cpus: &[usize]) -> rustix::thread::CpuSet {
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter(|&&cpu| cpu < rustix::thread::CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu));
    set
}

/// The CPU that the calling thread runs on, or did a moment ago. Costs some nanoseconds: no system call where the C library
/// keeps a restartable sequence area or the kernel's vDSO answers.
pub fn current_cpu() -> usize {
    // SAFETY: no arguments; -1 where the kernel has no such call.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disposable_thread_takes_its_class_and_cpu_with_it() {
        std::thread::spawn(|| {
            let cpu = current_cpu();
            stay_on(&[cpu]).expect("it runs there now");
            enter(Class::Idle).expect("nobody is refused less");
            assert_eq!(current_cpu(), cpu);
            // SAFETY: 0 is the calling thread.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_IDLE);
        })
        .join()
        .expect("no panic");
        // SAFETY: 0 is the calling thread.
        assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_OTHER, "the others stay as they were");
    }

    #[test]
    fn who_starts_threads_unhurriedly_is_of_its_own_class_again_afterwards() {
        // SAFETY: 0 is the calling thread.
        let class = || unsafe { libc::sched_getscheduler(0) };
        std::thread::spawn(move || {
            let unhurried = Unhurried::begin();
            assert_eq!(class(), libc::SCHED_BATCH);
            assert_eq!(std::thread::spawn(class).join().expect("no panic"), libc::SCHED_BATCH);
            drop(unhurried);
            assert_eq!(class(), libc::SCHED_OTHER);
            enter(Class::Idle).expect("lower is always allowed");
            drop(Unhurried::begin());
            assert_eq!(class(), libc::SCHED_IDLE, "another class than the usual one stays");
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn a_thread_runs_on_a_cpu_that_it_may_run_on() {
        let allowed = rustix::thread::sched_getaffinity(None).expect("asked");
        assert!(allowed.is_set(current_cpu()));
    }
}
