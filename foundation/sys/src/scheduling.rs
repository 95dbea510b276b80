//! The process's own scheduling priority (`setpriority(2)`), and where the calling thread runs (`sched_getcpu(3)`).
//! Priority is only ever lowered: raising needs rights that an everyday utility does not have.

use std::io;

/// Makes this process nicer by `steps` (1 to 19 lowest). Threads started later inherit it.
pub fn be_nicer(steps: u8) -> io::Result<()> {
    let now = rustix::process::getpriority_process(None)?;
    let nicer = (now + i32::from(steps)).min(19);
    Ok(rustix::process::setpriority_process(None, nicer)?)
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
    fn a_thread_runs_on_a_cpu_that_it_may_run_on() {
        let allowed = rustix::thread::sched_getaffinity(None).expect("asked");
        assert!(allowed.is_set(current_cpu()));
    }
}
