//! All processes that descend from this one, as `/proc` lists them: holding all their threads to some CPUs, stopping them and
//! letting them go on. With this process as subreaper (`guard`) nobody escapes from the tree but by the death of its root.
//! A tree changes while it is walked: each walk is repeated until it meets nobody new.

use crate::reap;
use crate::signals::number;
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

/// LIMIT: walks at a time. A tree that grows faster than it can be walked this often keeps some threads as they are until the
/// next change.
const WALKS_MAX: usize = 16;

/// A process below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descendant {
    /// Which one.
    pub pid: Pid,
    /// Stopped by a signal or a debugger, or already dead: it runs nothing now.
    pub rests: bool,
    /// Its first thread runs, or waits for a CPU.
    pub runs: bool,
    /// Its threads; none once it is dead.
    pub threads: usize,
}

/// The processes below `root`, parents before their children.
pub fn descendants(root: Pid) -> Vec<Descendant> {
    below(&[root])
}

/// The processes below any of `roots`, each once; the roots themselves where they are below one another only.
pub fn below(roots: &[Pid]) -> Vec<Descendant> {
    Processes::look().below(roots)
}

/// All processes at one moment, by their parents.
#[derive(Debug, Default)]
pub struct Processes {
    children: BTreeMap<i32, Vec<Descendant>>,
    /// Nothing was left out that could be asked at another time (no file could be opened, no memory).
    is_whole: bool,
}

impl Processes {
    /// Looks at all that `/proc` lists: some 10 us each.
    pub fn look() -> Self {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Self::default() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let mut found = Self { children: BTreeMap::new(), is_whole: true };
        for pid in numbers.filter_map(Pid::from_raw) {
            let stat = read_there(&format!("/proc/{}/stat", pid.as_raw_nonzero()));
            found.is_whole &= stat.is_ok();
            if let Some(stat) = stat.ok().flatten().as_deref().and_then(Stat::read) {
                let Stat { parent, state, threads } = stat;
                let (rests, runs) = (matches!(state, b'T' | b't' | b'Z' | b'X'), state == b'R');
                found.children.entry(parent).or_default().push(Descendant { pid, rests, runs, threads });
            }
        }
        found
    }

    /// The children of `parent`.
    pub fn children(&self, parent: Pid) -> &[Descendant] {
        self.children.get(&parent.as_raw_nonzero().get()).map_or(&[], Vec::as_slice)
    }

    /// The processes below any of `roots`, as [`below`].
    pub fn below(&self, roots: &[Pid]) -> Vec<Descendant> {
        let mut met = BTreeSet::new();
        let mut take = |parent: Pid| match met.insert(parent.as_raw_nonzero()) {
            true => self.children(parent),
            false => &[],
        };
        let mut found: Vec<Descendant> = roots.iter().flat_map(|&root| take(root)).copied().collect();
        let mut next = 0;
        while let Some(&Descendant { pid, .. }) = found.get(next) {
            found.extend(take(pid));
            next += 1;
        }
        found
    }
}

/// What a file of `/proc` says; none where its process is gone, or hidden from us.
fn read_there(path: &str) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => Ok(None),
            _ => Err(error),
        },
    }
}

/// What `/proc/PID/stat` says of a process, or of a thread.
pub(crate) struct Stat {
    pub(crate) parent: i32,
    pub(crate) state: u8,
    threads: usize,
}

impl Stat {
    /// `pid (name) state parent ...`; the name may hold anything, so it ends at the last parenthesis (proc(5)).
    pub(crate) fn read(stat: &[u8]) -> Option<Self> {
        let behind_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[behind_name..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        // Column 20 of the file; the parent is column 4.
        Some(Self { parent, state, threads: fields.nth(15)?.parse().ok()? })
    }
}

/// Lets every thread below `root` run on `cpus` only; threads that they start later inherit it. The first refusal is told (a
/// process of another user); the others are held all the same.
pub fn hold_to(root: Pid, cpus: &[usize]) -> io::Result<()> {
    let set = crate::scheduling::cpu_set(cpus);
    let mut met = BTreeSet::new();
    let mut refused = Ok(());
    for _ in 0..WALKS_MAX {
        let threads: Vec<Pid> = descendants(root).into_iter().flat_map(|process| threads_of(process.pid)).collect();
        let fresh: Vec<Pid> = threads.into_iter().filter(|thread| met.insert(thread.as_raw_nonzero())).collect();
        if fresh.is_empty() {
            break;
        }
        for thread in fresh {
            match rustix::thread::sched_setaffinity(Some(thread), &set) {
                // It has ended meanwhile.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => refused = refused.and(Err(error.into())),
            }
        }
    }
    refused
}

/// How many threads below `root` run or wait for a CPU, counted up to `most`. None where `/proc` does not tell, or shows nobody
/// below `root`: whoever asks knows of somebody there.
pub fn runnable(root: Pid, most: usize) -> Option<usize> {
    let processes = Processes::look();
    let below = processes.below(&[root]);
    let mut count = 0;
    for process in &below {
        count += match process.threads {
            0 | 1 => usize::from(process.runs),
            _ => runnable_threads(process.pid, most - count).ok()?,
        };
        if count >= most {
            return Some(most);
        }
    }
    (processes.is_whole && !below.is_empty()).then_some(count)
}

fn runnable_threads(process: Pid, most: usize) -> io::Result<usize> {
    let mut count = 0;
    for thread in threads_of(process) {
        if count == most {
            break;
        }
        let stat = read_there(&format!("/proc/{}/task/{}/stat", process.as_raw_nonzero(), thread.as_raw_nonzero()))?;
        count += usize::from(stat.as_deref().and_then(Stat::read).is_some_and(|stat| stat.state == b'R'));
    }
    Ok(count)
}

fn threads_of(process: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())) else { return Vec::new() };
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Stops what runs below `root`. Returns whom; those that rested already are not among them.
pub fn stop(root: Pid) -> Vec<Pid> {
    let mut stopped: Vec<Pid> = Vec::new();
    for _ in 0..WALKS_MAX {
        let running = descendants(root).into_iter().filter(|process| !process.rests && !stopped.contains(&process.pid));
        let fresh: Vec<Pid> = running.map(|process| process.pid).collect();
        if fresh.is_empty() {
            break;
        }
        for &process in &fresh {
            let _ended_or_not_ours = reap::signal_process(process, number::SIGSTOP);
        }
        stopped.extend(fresh);
    }
    stopped
}

/// Ends `roots` and all below them. They are stopped first: who does not run starts nobody that would not be seen.
pub fn end(roots: &[Pid]) {
    let mut stopped: HashSet<Pid> = HashSet::new();
    for _ in 0..WALKS_MAX {
        let all = roots.iter().copied().chain(below(roots).into_iter().map(|process| process.pid));
        let fresh: Vec<Pid> = all.filter(|process| !stopped.contains(process)).collect();
        if fresh.is_empty() {
            break;
        }
        for &process in &fresh {
            let _ended_or_not_ours = reap::signal_process(process, number::SIGSTOP);
        }
        stopped.extend(fresh);
    }
    for process in stopped {
        let _ended_or_not_ours = reap::signal_process(process, number::SIGKILL);
    }
}

/// Lets those go on that [`stop`] stopped.
pub fn go_on(stopped: &[Pid]) {
    for &process in stopped {
        let _ended_or_not_ours = reap::signal_process(process, number::SIGCONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A process with children of its own; `script` ends when its input does.
    fn family(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().expect("sh starts")
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_raw(child.id().cast_signed()).expect("above 0")
    }

    fn until(mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_parent_stands_behind_the_name_whatever_that_is() {
        let read = |stat: &[u8]| Stat::read(stat).map(|stat| (stat.parent, stat.state, stat.threads));
        let rest = "12 12 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 5 0 99 1000";
        assert_eq!(read(format!("12 (a) b) R) S 7 {rest}").as_bytes()), Some((7, b'S', 5)));
        assert_eq!(read(format!("12 (sh) Z 1 {rest}").as_bytes()), Some((1, b'Z', 5)));
        assert_eq!((read(b""), read(b"12 (sh) Z 1")), (None, None));
    }

    #[test]
    fn threads_that_could_run_are_counted_up_to_a_number() {
        let spin = "while :; do :; done";
        let mut child = family(&format!("{spin} & one=$!; {spin} & other=$!; cat; kill $one $other"));
        let root = pid(&child);
        until(|| runnable(root, 8) == Some(2));
        assert_eq!((runnable(root, 1), runnable(root, 0)), (Some(1), Some(0)));
        let leaf = descendants(root)[0].pid;
        assert_eq!(runnable(leaf, 8), None, "nobody is below it");
        drop(child.stdin.take());
        child.wait().expect("it ends");
        let (own, is_over) = (rustix::process::getpid(), &AtomicBool::new(false));
        std::thread::scope(|scope| {
            let spin = || while !is_over.load(Ordering::Relaxed) {};
            (0..3).for_each(|_| _ = scope.spawn(spin));
            until(|| runnable_threads(own, 8).is_ok_and(|count| count >= 3));
            assert_eq!(runnable_threads(own, 2).ok(), Some(2));
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_family_is_held_to_a_cpu_stopped_and_continued() {
        let mut child = family("cat; true");
        let root = pid(&child);
        until(|| !descendants(root).is_empty());
        let allowed = rustix::thread::sched_getaffinity(None).expect("asked");
        let cpu = (0..1024).find(|&cpu| allowed.is_set(cpu)).expect("one at least");
        hold_to(root, &[cpu]).expect("they are ours");
        let below = descendants(root)[0].pid;
        let mask = rustix::thread::sched_getaffinity(Some(below)).expect("it lives");
        assert!(mask.count() == 1 && mask.is_set(cpu));
        let stopped = stop(root);
        assert!(stopped.contains(&below));
        until(|| descendants(root).iter().all(|process| process.rests));
        assert!(stop(root).is_empty(), "they rest already");
        go_on(&stopped);
        until(|| descendants(root).iter().all(|process| !process.rests));
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }

    #[test]
    fn a_family_is_ended_whole() {
        let mut child = family("cat; true");
        let root = pid(&child);
        until(|| !descendants(root).is_empty());
        let below = descendants(root)[0].pid;
        end(&[root]);
        child.wait().expect("it ends");
        until(|| crate::session::group_of(below).is_none());
    }
}
