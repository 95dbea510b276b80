//! Waits of threads that have nothing to do: a server's poll, a worker's futex, a sleep. On an idle machine they are most of all time
//! and say nothing. Which rows these are is decided here; pure.

use super::show::TimeRow;
use observe::calls::snapshot::CallTimes;

/// Calls in which threads wait for something to do. Waits for disks and for locks of files are none; a futex may be a lock, so that
/// it is named in the line.
const IDLE_CALLS: &[&str] = &[
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "futex",
    "futex_wait",
    "futex_waitv",
    "nanosleep",
    "clock_nanosleep",
    "pause",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "wait4",
    "waitid",
    "accept",
    "accept4",
];

/// Where reading waits for a person.
const TERMINALS: [&str; 2] = ["/dev/pts/", "/dev/tty"];

/// LIMIT: a call of which less was waiting did some work, and has its row.
const WAITING_LEAST: f64 = 0.9;

/// LIMIT: names in the line.
const NAMES_MAX: usize = 3;

/// Idle waits, and the other rows, each in their order; no idle ones where all are wanted.
pub fn divided<'a>(rows: Vec<&'a TimeRow<'a>>, unfolds: bool) -> (Vec<&'a TimeRow<'a>>, Vec<&'a TimeRow<'a>>) {
    rows.into_iter().partition(|row| !unfolds && is_idle(row))
}

fn is_idle(row: &TimeRow<'_>) -> bool {
    let Some(call) = row.call else { return false };
    let waits_for_work = IDLE_CALLS.contains(&row.name.as_str()) || (row.name == "read" && is_of_terminal(call));
    waits_for_work && row.total_ns > 0 && row.waiting_ns as f64 >= WAITING_LEAST * row.total_ns as f64
}

fn is_of_terminal(call: &CallTimes) -> bool {
    let path = call.slowest.as_ref().and_then(|slowest| slowest.path.as_deref());
    path.is_some_and(|path| TERMINALS.iter().any(|terminal| path.starts_with(terminal)))
}

/// `(idle waits: poll, futex, read, 2 more)`, the longest first.
pub fn idle_waits(rows: &[&TimeRow<'_>]) -> String {
    let mut by_time: Vec<(&str, u64)> = Vec::new();
    for row in rows {
        match by_time.iter_mut().find(|(name, _)| *name == row.name) {
            Some((_, total_ns)) => *total_ns += row.total_ns,
            None => by_time.push((&row.name, row.total_ns)),
        }
    }
    by_time.sort_by_key(|(_, total_ns)| std::cmp::Reverse(*total_ns));
    let mut names: Vec<String> = by_time.iter().take(NAMES_MAX).map(|(name, _)| (*name).to_owned()).collect();
    if let Some(more) = by_time.len().checked_sub(NAMES_MAX).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    format!("(idle waits: {})", names.join(", "))
}
