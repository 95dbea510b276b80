//! Sampling without programs in the kernel: each thread's own file says in which call it waits, or that it is running.
//! Touches nothing of the threads; sees nothing of what a running thread does, and little of those that live briefly.

use super::layout::CALLS_KNOWN;
use super::names::CALL_RUNNING;
use super::snapshot::{CallSnapshot, OwnerTimes, TimeOwner};
use crate::files::{Files, Numbered};
use crate::source::words::text_of;
use machine::{Host, HostError};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Whose calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampledCalls {
    /// Every process that can be read, but this one.
    AllBut(u32),
    /// Processes of a name, cut as the kernel cuts it.
    Named(String),
    /// A process and its descendants.
    Tree(u32),
}

/// What the table is by; a name stands for the process's own.
pub type CallOwner = fn(&Process) -> TimeOwner;

/// A process as it is grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// A sampling under way.
pub struct CallSampler {
    files: Files,
    target: SampledCalls,
    owner: CallOwner,
    threads: HashMap<u32, Thread>,
    owners: BTreeMap<TimeOwner, OwnerTimes>,
    began: Instant,
    looked_for: Option<Instant>,
    samples: u64,
    unreadable: HashSet<u32>,
}

struct Thread {
    process: Process,
    path: String,
    seen: Instant,
    is_met: bool,
}

/// Between two searches for new processes and threads: a search reads a file of every process.
const SEARCH_INTERVAL: Duration = Duration::from_millis(200);
/// LIMIT: threads that are looked at each time; more would cost more than a hundredth of a core at a hundred looks a second.
const THREADS_MAX: usize = 2000;

impl CallSampler {
    /// Begins; nothing is looked at yet.
    pub fn start(host: &Host, target: SampledCalls, owner: CallOwner) -> Result<Self, HostError> {
        Ok(Self {
            files: Files::open(host, Path::new("/proc"))?,
            target,
            owner,
            threads: HashMap::new(),
            owners: BTreeMap::new(),
            began: Instant::now(),
            looked_for: None,
            samples: 0,
            unreadable: HashSet::new(),
        })
    }

    /// Looks at every thread once.
    pub fn look(&mut self) {
        let now = Instant::now();
        if self.looked_for.is_none_or(|last| now.duration_since(last) >= SEARCH_INTERVAL) {
            self.search(now);
            self.looked_for = Some(now);
        }
        let mut gone = Vec::new();
        for (number, thread) in &mut self.threads {
            let Ok(text) = self.files.read(&thread.path) else {
                gone.push(*number);
                continue;
            };
            let passed_ns = u64::try_from(now.duration_since(thread.seen).as_nanos()).unwrap_or(u64::MAX);
            thread.seen = now;
            let who = (self.owner)(&thread.process);
            let owner = self.owners.entry(who.clone()).or_insert_with(|| OwnerTimes::new(who));
            if !thread.is_met {
                (thread.is_met, owner.threads) = (true, owner.threads + 1);
            }
            add(owner, text, passed_ns);
            self.samples += 1;
        }
        for number in gone {
            self.threads.remove(&number);
        }
    }

    fn search(&mut self, now: Instant) {
        let mut processes = Vec::new();
        // A directory that cannot be listed now is listed next time.
        if self.files.numbers(&mut processes).is_err() {
            return;
        }
        let pids: Vec<u32> = processes.iter().map(|entry: &Numbered| entry.number).collect();
        let facts: BTreeMap<u32, (String, u32)> =
            pids.iter().filter_map(|pid| Some((*pid, name_and_parent(&mut self.files, *pid)?))).collect();
        for (pid, (name, _)) in &facts {
            if !is_wanted(&self.target, *pid, name, &facts) {
                continue;
            }
            let mut tasks = Vec::new();
            if self.files.numbers_below(&format!("{pid}/task"), &mut tasks).is_err() {
                continue;
            }
            for task in tasks.iter().map(|entry| entry.number) {
                if self.threads.len() >= THREADS_MAX || self.threads.contains_key(&task) {
                    continue;
                }
                let path = format!("{pid}/task/{task}/syscall");
                match self.files.read(&path) {
                    Ok(_readable) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                        self.unreadable.insert(task);
                        continue;
                    }
                    Err(_gone) => continue,
                }
                let process = Process { pid: *pid, name: name.clone() };
                self.threads.insert(task, Thread { process, path, seen: now, is_met: false });
            }
        }
    }

    /// Everything up to now.
    pub fn read(&self) -> CallSnapshot {
        CallSnapshot {
            elapsed_ns: u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            owners: self.owners.values().cloned().collect(),
            samples: self.samples,
            ..CallSnapshot::default()
        }
    }

    /// Threads whose files were refused: other users'.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.len() as u64
    }
}

/// `running`, or the call's number and more, or -1 where it waits in none.
fn add(owner: &mut OwnerTimes, text: &[u8], passed_ns: u64) {
    owner.life_ns += passed_ns;
    owner.samples += 1;
    let first = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    let number = std::str::from_utf8(first).ok();
    let waits_in = number.and_then(|number| number.parse::<u32>().ok()).filter(|number| *number < CALLS_KNOWN);
    match (waits_in, first) {
        (None, b"-1") => owner.between_waiting_ns += passed_ns,
        (None, _) => {
            let call = owner.call(CALL_RUNNING);
            (call.total_ns, call.samples) = (call.total_ns + passed_ns, call.samples + 1);
        }
        (Some(number), _) => {
            let call = owner.call(number);
            (call.total_ns, call.waiting_ns) = (call.total_ns + passed_ns, call.waiting_ns + passed_ns);
            call.samples += 1;
        }
    }
}

fn is_wanted(target: &SampledCalls, pid: u32, name: &str, facts: &BTreeMap<u32, (String, u32)>) -> bool {
    match target {
        SampledCalls::AllBut(own) => pid != *own,
        SampledCalls::Named(wanted) => name == wanted,
        SampledCalls::Tree(root) => {
            let parent = |pid: &u32| facts.get(pid).map(|(_, parent)| *parent).filter(|parent| parent != pid);
            // LIMIT: as many generations as the exact way follows.
            std::iter::successors(Some(pid), parent).take(32).any(|ancestor| ancestor == *root)
        }
    }
}

/// From `/proc/PID/stat`: the name may hold anything, so it ends at the last bracket.
fn name_and_parent(files: &mut Files, pid: u32) -> Option<(String, u32)> {
    let text = files.read(&format!("{pid}/stat")).ok()?;
    let (begin, end) = (text.iter().position(|byte| *byte == b'(')?, text.iter().rposition(|byte| *byte == b')')?);
    let name = text_of(text.get(begin + 1..end)?);
    let behind = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    Some((name, behind.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_threads_file_says_is_believed_as_far_as_it_goes() {
        let mut owner = OwnerTimes::new(TimeOwner::All);
        for text in ["0 0x3 0x7f 0x1 0 0 0 0x7ffc 0x7f00\n", "running\n", "-1 0x7ffc 0x7f00\n", "", "99999 x", "\u{7f}"]
        {
            add(&mut owner, text.as_bytes(), 10);
        }
        assert_eq!((owner.life_ns, owner.samples, owner.between_waiting_ns), (60, 6, 10));
        assert_eq!((owner.call(0).waiting_ns, owner.call(CALL_RUNNING).total_ns), (10, 40));
    }

    #[test]
    fn a_tree_has_its_descendants_and_a_name_its_bearers() {
        let facts = [(1, 0), (5, 1), (6, 5), (7, 6), (8, 1)].map(|(pid, parent)| (pid, ("a".to_owned(), parent)));
        let facts = BTreeMap::from(facts);
        let wanted = |target: &SampledCalls| facts.keys().filter(|pid| is_wanted(target, **pid, "a", &facts)).count();
        assert_eq!(wanted(&SampledCalls::Tree(5)), 3);
        assert_eq!(wanted(&SampledCalls::AllBut(5)), 4);
        assert_eq!(
            (wanted(&SampledCalls::Named("a".to_owned())), wanted(&SampledCalls::Named("b".to_owned()))),
            (5, 0)
        );
    }

    #[test]
    fn a_waiting_thread_of_this_process_is_seen_waiting() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| rustix::io::read(&reader, &mut [0_u8; 1]));
            let mut sampler = CallSampler::start(&Host::real(), SampledCalls::Tree(std::process::id()), |process| {
                TimeOwner::Process { pid: process.pid, name: process.name.clone() }
            })
            .expect("proc is there");
            let read = super::super::names::call_number("read").expect("there");
            loop {
                sampler.look();
                let snapshot = sampler.read();
                let is_seen = snapshot.owners.iter().flat_map(|owner| &owner.calls).any(|call| call.number == read);
                if is_seen || sampler.unreadable() > 0 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            rustix::io::write(&writer, b"x").expect("write");
            waiting.join().expect("no panic").expect("read");
        });
    }
}
