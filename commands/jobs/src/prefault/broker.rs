//! The runner's side of the ledger: judges each mapping that a process of the program asks about, holds core tokens for its helpers while it is
//! populated, and collects what came of it. One thread reads the ledger; each core token has a thread of its own, since taking one may wait.

use super::Wishes;
use super::judge::{self, RoomVerdict};
use super::ledger::{self, Kind};
use super::policy::PolicyRequest;
use super::report::{MappingRecord, PrefaultOutcome};
use crate::preload::file_in_memory;
use crew::budget::{Hand, Lease, Request};
use machine::Host;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use mh_kit::shared_args::StandingArgs;
use mh_kit::sharing::{self, Shared};
use parking_lot::{Condvar, Mutex};
use rustix::fs::{SealFlags, fcntl_add_seals};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::futex::{Expected, wait_any, wake_all};
use sys::shared_words::SharedWords;

/// LIMIT: as the library has it.
pub const HELPERS_MAX: usize = 16;

/// How often it is looked for processes that ended in the middle, and for those that have something to do again.
const LOOK: Duration = Duration::from_millis(100);

/// How often a held token is looked at: whether the mapping is done, or another run is entitled to it.
const HOLD: Duration = Duration::from_millis(10);

/// A token is given back if nothing was populated for so long: the program is stopped, or far behind.
const STANDSTILL: Duration = Duration::from_millis(300);

/// Helpers of a run.
pub struct HelpersWanted {
    /// Core tokens at once.
    pub helpers: usize,
    /// Among other runs.
    pub standing: StandingArgs,
    /// For people.
    pub what: String,
}

/// The ledger before the program runs.
pub struct Broker {
    /// Keeps the path alive.
    _file: File,
    path: String,
    words: SharedWords,
}

/// The ledger while the program runs.
pub struct AnsweringBroker {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
    done: JoinHandle<PrefaultOutcome>,
}

/// What the threads share.
struct Desk {
    _file: File,
    words: SharedWords,
    host: Host,
    /// Slots that want another helper, by number and generation.
    queue: Mutex<VecDeque<(usize, u64)>>,
    is_wanted: Condvar,
    /// How often each slot was set free: who holds a token for one knows whether it is still the same mapping.
    generations: Vec<AtomicU64>,
    is_over: AtomicBool,
    /// A field for what the program's run is called and how it stands; its budget outlives its lease.
    lease: Box<dyn Lease>,
    _budget: Shared,
    helpers: usize,
}

impl Broker {
    /// A ledger with what is wanted.
    pub fn open(wishes: &Wishes) -> Result<Self, Failure> {
        let failed = |error: &(dyn std::error::Error + 'static)| Failure::Environment {
            command: wishes.name,
            message: format!("make a file in memory: {}", with_causes(error)),
        };
        let (file, path) = file_in_memory("prefault").map_err(|error| failed(&error))?;
        file.set_len((ledger::WORDS * size_of::<u64>()) as u64).map_err(|error| failed(&error))?;
        // A program that made it shorter would end whoever looks at what is gone.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(|error| failed(&error))?;
        let words = SharedWords::map(&file, ledger::WORDS).map_err(|error| failed(&error))?;
        let broker = Self { _file: file, path, words };
        broker.set(ledger::MAGIC_AT, ledger::MAGIC);
        broker.set(ledger::MIN_BYTES, wishes.min_bytes);
        broker.set(ledger::MODE, wishes.mode);
        broker.set(ledger::WINDOW_BYTES, wishes.window_bytes);
        let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |status| status.ino());
        broker.set(ledger::NAMESPACE, namespace);
        broker.set(ledger::FILTERS, own_filters());
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now = Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0));
        let ends = now.saturating_add(wishes.startup_time);
        broker.set(ledger::STARTUP_ENDS, u64::try_from(ends.as_nanos()).unwrap_or(u64::MAX));
        broker.set_policy(ledger::STARTUP_POLICY, wishes.startup);
        broker.set_policy(ledger::LATER_POLICY, wishes.later);
        Ok(broker)
    }

    fn set(&self, word: usize, value: u64) {
        self.words.words()[word].store(value, Ordering::Relaxed);
    }

    fn set_policy(&self, at: usize, request: Option<PolicyRequest>) {
        if let Some(request) = request {
            self.set(at, request.policy.number() + 1);
            self.set(at + 1, request.nodes);
        }
    }

    /// The variable by which processes find it.
    pub fn variable(&self) -> OsString {
        format!("MH_PREFAULT_LEDGER={}", self.path).into()
    }

    /// Answers from now on.
    pub fn begin(self, context: &Context, wanted: HelpersWanted) -> AnsweringBroker {
        for (word, mask) in node_cpus(&context.host).into_iter().enumerate() {
            self.set(ledger::NODE_CPUS + word, mask);
        }
        self.words.words()[ledger::IS_ANSWERING].store(1, Ordering::Release);
        // Behind the program, the one that populates is a helper.
        let is_ahead = self.words.words()[ledger::MODE].load(Ordering::Relaxed) & ledger::MODE_AHEAD != 0;
        let helpers = wanted.helpers.min(HELPERS_MAX).max(usize::from(is_ahead));
        let class = wanted.standing.priority().class();
        let budget = sharing::budget(context, helpers.max(1), class);
        let request = Request {
            priority: class,
            weight: wanted.standing.weight(),
            useful_width: helpers.max(1),
            what: wanted.what,
        };
        let lease = budget.budget.lease(request);
        let desk = Arc::new(Desk {
            _file: self._file,
            words: self.words,
            host: context.host.clone(),
            queue: Mutex::default(),
            is_wanted: Condvar::new(),
            generations: (0..ledger::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            is_over: AtomicBool::new(false),
            lease,
            _budget: budget,
            helpers,
        });
        let start = |work: fn(&Desk)| {
            let desk = Arc::clone(&desk);
            std::thread::spawn(move || work(&desk))
        };
        let threads = (0..helpers).map(|_| start(Desk::hold_tokens)).collect();
        let reader = Arc::clone(&desk);
        AnsweringBroker { threads, done: std::thread::spawn(move || reader.answer()), desk }
    }
}

impl AnsweringBroker {
    /// The program has ended.
    pub fn end(self) -> PrefaultOutcome {
        self.desk.is_over.store(true, Ordering::SeqCst);
        self.desk.words.words()[ledger::IS_ANSWERING].store(0, Ordering::Release);
        self.desk.is_wanted.notify_all();
        let bell = self.desk.words.half(ledger::BELL);
        bell.fetch_add(1, Ordering::AcqRel);
        wake_all(bell);
        let done = self.done.join().expect("the reader of the ledger does not panic");
        // A token that is being waited for is given back as soon as it comes; the program's end does not wait for that.
        drop(self.threads);
        done
    }
}

impl Desk {
    fn slot(&self, slot: usize, word: usize) -> &AtomicU64 {
        &self.words.words()[ledger::FIRST_SLOT + slot * ledger::SLOT_WORDS + word]
    }

    fn read(&self, slot: usize, word: usize) -> u64 {
        self.slot(slot, word).load(Ordering::Acquire)
    }

    fn state(&self, slot: usize) -> &std::sync::atomic::AtomicU32 {
        self.words.half(ledger::FIRST_SLOT + slot * ledger::SLOT_WORDS + ledger::STATE)
    }

    /// The reader of the ledger.
    fn answer(&self) -> PrefaultOutcome {
        let mode = self.words.words()[ledger::MODE].load(Ordering::Relaxed);
        let mut done = PrefaultOutcome::of_run(mode & ledger::MODE_AHEAD != 0);
        let mut looked = Instant::now();
        loop {
            let bell = self.words.half(ledger::BELL);
            let seen = bell.load(Ordering::Acquire);
            let is_over = self.is_over.load(Ordering::SeqCst);
            let looks_closely = is_over || looked.elapsed() >= LOOK;
            if looks_closely {
                looked = Instant::now();
            }
            self.words.words()[ledger::SILENT_UNTIL].store(0, Ordering::Relaxed);
            for slot in 0..ledger::SLOTS {
                match self.state(slot).load(Ordering::Acquire) {
                    ledger::ASKED => self.decide(slot),
                    ledger::DONE => self.collect(slot, &mut done, false),
                    ledger::FREE => {}
                    _ if looks_closely && (is_over || !self.lives(slot)) => self.collect(slot, &mut done, true),
                    ledger::WORKING if looks_closely && done.is_ahead => self.serve_ahead(slot),
                    _ => {}
                }
            }
            if is_over {
                done.processes = self.words.words()[ledger::PROCESSES].load(Ordering::Relaxed);
                done.missed = self.words.words()[ledger::MISSED].load(Ordering::Relaxed);
                done.left_alone = self.words.words()[ledger::LEFT_ALONE].load(Ordering::Relaxed);
                done.unwanted = self.words.words()[ledger::UNWANTED].load(Ordering::Relaxed);
                return done;
            }
            // An error leaves the next look to the clock.
            if wait_any(&[Expected { word: bell, value: seen }], LOOK).is_err() {
                std::thread::sleep(HOLD);
            }
        }
    }

    /// Who populates behind the program has given its token back while there was nothing to do, and wants one again.
    fn serve_ahead(&self, slot: usize) {
        let wants = self.read(slot, ledger::HELPERS) == 1 && self.read(slot, ledger::GRANTED) == 0;
        let entry = (slot, self.generations[slot].load(Ordering::Acquire));
        let mut queue = self.queue.lock();
        if wants && !queue.contains(&entry) {
            queue.push_back(entry);
            self.is_wanted.notify_one();
        }
    }

    /// Whether the process of a slot is still there.
    fn lives(&self, slot: usize) -> bool {
        let process = self.read(slot, ledger::PROCESS) & u64::from(u32::MAX);
        process == 0 || Path::new(&format!("/proc/{process}")).exists()
    }

    fn decide(&self, slot: usize) {
        let (bytes, mode) = (self.read(slot, ledger::BYTES), self.words.words()[ledger::MODE].load(Ordering::Relaxed));
        let window = self.words.words()[ledger::WINDOW_BYTES].load(Ordering::Relaxed);
        let process = u32::try_from(self.read(slot, ledger::PROCESS) & u64::from(u32::MAX)).unwrap_or(0);
        let is_huge = self.read(slot, ledger::KIND) == Kind::Huge as u64;
        let is_ahead = mode & ledger::MODE_AHEAD != 0;
        // What the program locks is locked already, and counted as such.
        let kind = self.read(slot, ledger::KIND);
        let is_by_program = [Kind::Locked, Kind::LockedFile].iter().any(|&locked| locked as u64 == kind);
        let is_locked = mode & ledger::MODE_LOCK != 0 && !is_by_program;
        // Explicit huge pages were set aside by mmap(2) already.
        let now = if is_huge {
            0
        } else if is_ahead {
            bytes.min(window)
        } else {
            bytes
        };
        let room = judge::room(&self.host, process, self.promised());
        let RoomVerdict { verdict, room } = judge::judge(room, now, bytes, is_locked);
        self.slot(slot, ledger::ROOM).store(room, Ordering::Relaxed);
        self.slot(slot, ledger::VERDICT).store(verdict, Ordering::Release);
        let state = self.state(slot);
        // The library no longer waits where this fails.
        if state.compare_exchange(ledger::ASKED, ledger::ANSWERED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        wake_all(state);
        let is_strict = mode & ledger::MODE_STRICT != 0;
        let goes = verdict == ledger::VERDICT_GO || (verdict == ledger::VERDICT_LOCK_LIMIT && !is_strict);
        if goes {
            let helpers = if is_ahead { self.helpers.min(1) } else { self.helpers };
            let generation = self.generations[slot].load(Ordering::Acquire);
            self.queue.lock().extend((0..helpers).map(|_| (slot, generation)));
            self.is_wanted.notify_all();
        }
    }

    /// Bytes that were promised to mappings and are not there yet.
    fn promised(&self) -> u64 {
        let is_under_way =
            |slot: &usize| matches!(self.state(*slot).load(Ordering::Acquire), ledger::ANSWERED | ledger::WORKING);
        let words = self.words.words();
        let is_ahead = words[ledger::MODE].load(Ordering::Relaxed) & ledger::MODE_AHEAD != 0;
        let most = if is_ahead { words[ledger::WINDOW_BYTES].load(Ordering::Relaxed) } else { u64::MAX };
        let left = |slot| self.read(slot, ledger::BYTES).saturating_sub(self.read(slot, ledger::POPULATED)).min(most);
        (0..ledger::SLOTS).filter(is_under_way).map(left).fold(0, u64::saturating_add)
    }

    /// Reads what came of a mapping, and sets its slot free.
    fn collect(&self, slot: usize, done: &mut PrefaultOutcome, is_cut_off: bool) {
        let kind = self.read(slot, ledger::KIND);
        // The end of the program is the usual end of a mapping that is populated behind it.
        let is_cut_off = is_cut_off && !done.is_ahead;
        let fault = u32::try_from(self.read(slot, ledger::FAULT)).ok();
        done.add(MappingRecord {
            process: u32::try_from(self.read(slot, ledger::PROCESS) & u64::from(u32::MAX)).unwrap_or(0),
            address: self.read(slot, ledger::ADDRESS),
            bytes: self.read(slot, ledger::BYTES),
            kind: Kind::ALL.into_iter().find(|known| *known as u64 == kind),
            verdict: self.read(slot, ledger::VERDICT),
            room: self.read(slot, ledger::ROOM),
            populated: self.read(slot, ledger::POPULATED),
            wall: Duration::from_nanos(self.read(slot, ledger::WALL_NS)),
            work: Duration::from_nanos(self.read(slot, ledger::WORK_NS)),
            helpers: self.read(slot, ledger::HELPERS),
            fault: if is_cut_off { None } else { fault },
            lock_fault: u32::try_from(self.read(slot, ledger::LOCK_FAULT)).unwrap_or(0),
            policy: self.read(slot, ledger::POLICY),
            policy_fault: u32::try_from(self.read(slot, ledger::POLICY_FAULT)).unwrap_or(0),
            is_cut_off,
        });
        self.generations[slot].fetch_add(1, Ordering::AcqRel);
        self.slot(slot, ledger::GRANTED).store(0, Ordering::Release);
        // Whoever claims it next has not written its number yet: it must not be taken for one that has ended.
        self.slot(slot, ledger::PROCESS).store(0, Ordering::Release);
        self.state(slot).store(ledger::FREE, Ordering::Release);
    }

    /// A thread that takes a core token for whoever wants one, and holds it while a helper may work.
    fn hold_tokens(&self) {
        while let Some((slot, generation)) = self.next_wanted() {
            let hand = self.lease.take();
            let is_same = || self.generations[slot].load(Ordering::Acquire) == generation;
            let must_return = is_same() && self.hold(slot, &hand, &is_same);
            self.lease.give_back(hand);
            if must_return && is_same() {
                self.queue.lock().push_back((slot, generation));
            }
        }
    }

    /// Holds a token for a slot while its threads get on; whether another run is entitled to it.
    fn hold(&self, slot: usize, hand: &Hand, is_same: &impl Fn() -> bool) -> bool {
        self.slot(slot, ledger::GRANTED).fetch_add(1, Ordering::AcqRel);
        let (mut populated, mut since) = (u64::MAX, Instant::now());
        let mut must_return = false;
        while is_same() && !must_return && !self.is_over.load(Ordering::SeqCst) && since.elapsed() < STANDSTILL {
            let mut queue = self.queue.lock();
            self.is_wanted.wait_for(&mut queue, HOLD);
            drop(queue);
            must_return = self.lease.must_return(hand);
            let now = self.read(slot, ledger::POPULATED);
            if now != populated {
                (populated, since) = (now, Instant::now());
            }
        }
        if is_same() {
            let less_one = |granted: u64| granted.checked_sub(1);
            let _set_free_meanwhile =
                self.slot(slot, ledger::GRANTED).fetch_update(Ordering::AcqRel, Ordering::Relaxed, less_one);
        }
        must_return
    }

    /// The next slot that wants a helper; none at the end.
    fn next_wanted(&self) -> Option<(usize, u64)> {
        let mut queue = self.queue.lock();
        while !self.is_over.load(Ordering::SeqCst) {
            if let Some(wanted) = queue.pop_front() {
                return Some(wanted);
            }
            self.is_wanted.wait_for(&mut queue, LOOK);
        }
        None
    }
}

/// Filters of system calls that this process has (proc_pid_status(5)), and that programs inherit.
fn own_filters() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    field.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// CPUs of each node, as the ledger has them; all zero on a machine of one node, where it does not matter.
fn node_cpus(host: &Host) -> Vec<u64> {
    let mut masks = vec![0; ledger::NODES * ledger::MASK_WORDS];
    let nodes = machine::numa_nodes(host).unwrap_or_default();
    if nodes.len() < 2 {
        return masks;
    }
    for node in nodes.iter().filter(|node| node.number < ledger::NODES) {
        for cpu in node.cpus.iter().filter(|&&cpu| cpu < ledger::MASK_WORDS * 64) {
            masks[node.number * ledger::MASK_WORDS + cpu / 64] |= 1 << (cpu % 64);
        }
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::super::policy;
    use super::*;
    use testkit::fake_machine::FakeMachine;

    #[test]
    fn cpus_of_nodes_are_written_where_there_are_several() {
        let fake = FakeMachine::new(4, 1 << 30);
        policy::with_nodes(&fake, 1);
        let host = Host::rooted_at(fake.root());
        assert!(node_cpus(&host).iter().all(|&mask| mask == 0));
        policy::with_nodes(&fake, 2);
        let masks = node_cpus(&host);
        assert_eq!((masks[0], masks[1], masks[ledger::MASK_WORDS]), (0b11, 1, 0b1100));
    }
}
