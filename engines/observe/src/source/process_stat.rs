//! `/proc/PID/stat` and `/proc/PID/task/TID/stat` (proc_pid_stat(5)).
//! Times in it have steps of 10 ms; they serve where no better clock is.

use super::words::{number, words};
use serde::{Deserialize, Serialize};

/// What one line tells. A kernel that writes fewer columns leaves the last ones empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatLine {
    /// The kernel's letter: `R` can run, `S` sleeps, `D` sleeps and takes no signal, `Z` has ended, `T` is stopped.
    pub state: ThreadState,
    /// Its parent.
    pub parent: u32,
    /// Whether it is a thread of the kernel itself.
    pub is_kernel_thread: bool,
    /// Time in user mode, in clock ticks of 10 ms.
    pub user_ticks: u64,
    /// Time in the kernel, in clock ticks of 10 ms.
    pub system_ticks: u64,
    /// Time in user mode of children that ended and were waited for, in clock ticks of 10 ms.
    // LIE: a parent that ignores SIGCHLD never gets it.
    pub children_user_ticks: u64,
    /// Their time in the kernel, in clock ticks of 10 ms.
    pub children_system_ticks: u64,
    /// Threads it has now.
    pub threads: u32,
    /// When it began, in clock ticks after boot: with the number, what tells it from a later one.
    pub start_ticks: u64,
    /// Its nice value; older recordings have none.
    #[serde(default)]
    pub nice: i8,
    /// Size of its address space; older recordings have none.
    #[serde(default)]
    pub virtual_bytes: u64,
    /// Resident pages.
    pub resident_pages: u64,
    /// The CPU that it ran on last.
    pub cpu: Option<u32>,
    /// Time it waited for block devices, in clock ticks of 10 ms.
    // LIE: stays at 0 unless kernel.task_delayacct was switched on before the thread began.
    pub block_ticks: u64,
}

/// A thread's state as the kernel writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadState {
    /// Has a CPU or waits for one.
    Runnable,
    /// Waits for something.
    #[default]
    Sleeping,
    /// Waits and takes no signal: for a disk, or for something that is thought to be short.
    Uninterruptible,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Has ended and was not waited for.
    Ended,
    /// A kernel thread with nothing to do.
    Idle,
}

impl ThreadState {
    fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'R' => Self::Runnable,
            b'S' | b'P' => Self::Sleeping,
            b'D' | b'K' | b'W' => Self::Uninterruptible,
            b'T' | b't' => Self::Stopped,
            b'Z' | b'X' | b'x' => Self::Ended,
            b'I' => Self::Idle,
            _ => return None,
        })
    }

    /// The kernel's letter.
    pub fn letter(self) -> char {
        match self {
            Self::Runnable => 'R',
            Self::Sleeping => 'S',
            Self::Uninterruptible => 'D',
            Self::Stopped => 'T',
            Self::Ended => 'Z',
            Self::Idle => 'I',
        }
    }
}

/// PF_KTHREAD, include/linux/sched.h; unchanged since 2008.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The name (without its brackets) and the columns. None for what is no such line.
pub fn parse(text: &[u8]) -> Option<(&[u8], StatLine)> {
    // The name may hold blanks, brackets and line ends; nothing behind it has a bracket.
    let opens = text.iter().position(|&byte| byte == b'(')?;
    let closes = text.iter().rposition(|&byte| byte == b')')?;
    let name = text.get(opens + 1..closes)?;
    let mut columns = words(&text[closes + 1..]);
    let &[letter] = columns.next()? else { return None };
    let state = ThreadState::of(letter)?;
    // Columns are counted from 1 in proc_pid_stat(5); the parent is 4.
    let mut values = [0_u64; 43];
    let mut nice = 0;
    for (at, value) in values.iter_mut().enumerate().skip(4) {
        let Some(word) = columns.next() else { break };
        if at == 19 {
            nice = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(0);
        }
        // Negative numbers (terminal, priority) are none of ours, but for the nice value.
        *value = number(word).unwrap_or(0);
    }
    let line = StatLine {
        state,
        parent: narrow(values[4]),
        is_kernel_thread: values[9] & KERNEL_THREAD != 0,
        user_ticks: values[14],
        system_ticks: values[15],
        children_user_ticks: values[16],
        children_system_ticks: values[17],
        threads: narrow(values[20]),
        start_ticks: values[22],
        nice,
        virtual_bytes: values[23],
        resident_pages: values[24],
        cpu: u32::try_from(values[39]).ok(),
        block_ticks: values[42],
    };
    Some((name, line))
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "R 7 7 7 0 -1 4194560 1 2 3 4 500 60 7 8 15 -5 3 0 4711 99 123 18446744073709551615 \
        1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 42 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn hostile_names_do_not_move_the_columns() {
        for name in ["sh", "a) R 1 (b", "two\nlines", "", ")", "((("] {
            let text = format!("12 ({name}) {REST}\n");
            let (found, line) = parse(text.as_bytes()).expect("a good line");
            assert_eq!(found, name.as_bytes());
            assert_eq!((line.state, line.parent, line.threads), (ThreadState::Runnable, 7, 3));
            assert_eq!((line.user_ticks, line.system_ticks), (500, 60));
            assert_eq!((line.children_user_ticks, line.children_system_ticks), (7, 8));
            assert_eq!((line.start_ticks, line.resident_pages), (4711, 123));
            assert_eq!((line.nice, line.virtual_bytes), (-5, 99));
            assert_eq!((line.cpu, line.block_ticks), (Some(5), 42));
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        for bad in ["", "12 sh R 1", "12 (sh", "12 )sh( R", "12 (sh) ", "12 (sh) RS 1", "12 (sh) ? 1"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(parse(b"12 (sh) S").is_some(), "missing columns are empty");
    }
}
