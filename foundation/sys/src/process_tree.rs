//! All processes that descend from this one, as `/proc` lists them: holding all their threads to some CPUs, stopping them and
//! letting them go on. With this process as subreaper (`guard`) nobody escapes from the tree but by the death of its root.
//! A tree changes while it is walked: each walk is repeated until it meets nobody new.

use crate::reap;
use crate::signals::number;
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
#[derive(Debug)]
pub struct Processes(BTreeMap<i32, Vec<Descendant>>);

impl Processes {
    /// Looks at all that `/proc` lists: some 10 us each.
    pub fn look() -> Self {
        Self(all_by_parent())
    }

    /// The children of `parent`.
    pub fn children(&self, parent: Pid) -> &[Descendant] {
        self.0.get(&parent.as_raw_nonzero().get()).map_or(&[], Vec::as_slice)
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

fn all_by_parent() -> BTreeMap<i32, Vec<Descendant>> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let mut children: BTreeMap<i32, Vec<Descendant>> = BTreeMap::new();
    for pid in numbers.filter_map(Pid::from_raw) {
        let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        if let Some((parent, state)) = parent_and_state(&stat) {
            let rests = matches!(state, b'T' | b't' | b'Z' | b'X');
            children.entry(parent).or_default().push(Descendant { pid, rests });
        }
    }
    children
}

/// `pid (name) state parent ...`; the name may hold anything, so it ends at the last parenthesis (proc(5)).
pub(crate) fn parent_and_state(stat: &[u8]) -> Option<(i32, u8)> {
    let behind_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[behind_name..]).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((fields.next()?.parse().ok()?, state))
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
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => refused = refused.and(Err(error.into())),
            }
        }
    }
    refused
}

/// How many threads below `root` run or wait for a CPU.
pub fn runnable(root: Pid) -> usize {
    let is_runnable = |process: Pid, thread: &Pid| {
        let (process, thread) = (process.as_raw_nonzero(), thread.as_raw_nonzero());
        let stat = std::fs::read(format!("/proc/{process}/task/{thread}/stat")).unwrap_or_default();
        parent_and_state(&stat).is_some_and(|(_, state)| state == b'R')
    };
    let count = |pid: Pid| threads_of(pid).iter().filter(|thread| is_runnable(pid, thread)).count();
    descendants(root).into_iter().map(|process| count(process.pid)).sum()
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

    /// A process with a child of its own; ends when its input does.
    fn family() -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cat; true"]).stdin(Stdio::piped()).stdout(Stdio::null());
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
        assert_eq!(parent_and_state(b"12 (a) b) R) S 7 12 12 0"), Some((7, b'S')));
        assert_eq!(parent_and_state(b"12 (sh) Z 1 0"), Some((1, b'Z')));
        assert_eq!(parent_and_state(b""), None);
    }

    #[test]
    fn a_family_is_held_to_a_cpu_stopped_and_continued() {
        let mut child = family();
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
        let mut child = family();
        let root = pid(&child);
        until(|| !descendants(root).is_empty());
        let below = descendants(root)[0].pid;
        end(&[root]);
        child.wait().expect("it ends");
        until(|| reap::group_of(below).is_none());
    }
}
