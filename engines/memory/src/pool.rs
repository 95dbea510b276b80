//! The threads: created once, with small stacks that are touched before, and waiting behind a gate. No thread is created while memory is
//! populated, since a stack needs the lock that populating holds. Each thread that works has a hand of the lease.

use crate::chunks::{ChunkPlan, PopulateQueue};
use crate::error::MemoryError;
use crew::budget::Lease;
use parking_lot::{Condvar, Mutex, RwLock};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// LIMIT: of threads that work at one operation; vmtasks had as many. Whoever asks for more gets them.
pub const THREADS_MAX: usize = 16;

/// A thread needs some hundred bytes; this is what the C library wants at least, and room for a panic.
const STACK_BYTES: usize = 64 << 10;
/// Of it, so much is touched before the gate opens.
const STACK_TOUCHED_BYTES: usize = 16 << 10;

/// CPUs near to one node, on which this process may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCpus {
    /// The kernel's number of the node.
    pub number: usize,
    /// Its CPUs.
    pub cpus: Vec<usize>,
}

/// Where the allowed CPUs are, by node. On a host with one node, or none that is known, all are on one.
pub fn allowed_nodes(host: &machine::Host) -> Vec<NodeCpus> {
    let allowed = machine::allowed_cpu_numbers(host).unwrap_or_default();
    let nodes = machine::numa_nodes(host).unwrap_or_default().into_iter().map(|node| {
        let cpus = node.cpus.into_iter().filter(|cpu| allowed.contains(cpu)).collect();
        NodeCpus { number: node.number, cpus }
    });
    let nodes: Vec<NodeCpus> = nodes.filter(|node| !node.cpus.is_empty()).collect();
    if nodes.len() > 1 { nodes } else { vec![NodeCpus { number: 0, cpus: allowed }] }
}

/// On which of the nodes each of `threads` threads is: as many on each as it has CPUs, in proportion.
pub fn seats(nodes: &[NodeCpus], threads: usize) -> Vec<usize> {
    let weights: Vec<usize> = nodes.iter().map(|node| node.cpus.len().max(1)).collect();
    let mut seated = vec![0_usize; weights.len().max(1)];
    let mut seats = Vec::with_capacity(threads);
    for _ in 0..threads {
        // The node that is emptiest for its size; the first of equals.
        let emptier =
            |&one: &usize, &other: &usize| (seated[one] * weights[other]).cmp(&(seated[other] * weights[one]));
        let node = (0..weights.len()).min_by(emptier).unwrap_or(0);
        seated[node] += 1;
        seats.push(node);
    }
    seats
}

/// What is done to a chunk.
type Work = Box<dyn Fn(Range<usize>) -> io::Result<()> + Send + Sync>;

/// A part of a range for which the kernel refused.
#[derive(Debug)]
pub struct RangeFault {
    /// The part, from the range's beginning.
    pub part: Range<usize>,
    /// What the kernel said.
    pub cause: io::Error,
}

/// LIMIT: faults that are kept of one operation; the first ones say why.
const FAULTS_MAX: usize = 64;

/// One operation on all chunks of a range.
struct Job {
    plan: ChunkPlan,
    queue: PopulateQueue,
    /// Taken away at the end: whoever comes late finds nothing to work with.
    work: RwLock<Option<Work>>,
    /// Whether the first fault ends it.
    is_strict: bool,
    is_stopped: AtomicBool,
    faults: Mutex<Vec<RangeFault>>,
    at_work: AtomicUsize,
    /// Threads that wait for a hand.
    without_hand: AtomicUsize,
    at_work_most: AtomicUsize,
}

/// What came of an operation.
#[derive(Debug)]
pub struct OperationEnd {
    /// The most threads that worked at once.
    pub threads: usize,
    /// Whether threads waited for a hand until the end.
    pub is_short_of_hands: bool,
    /// Where the kernel refused, by place.
    pub faults: Vec<RangeFault>,
}

struct Shared {
    lease: Arc<dyn Lease>,
    gate: Mutex<Gate>,
    opens: Condvar,
}

#[derive(Default)]
struct Gate {
    /// Counts jobs, so that a thread sees each once.
    turn: u64,
    job: Option<Arc<Job>>,
    /// How many threads are to work at it, the caller's included.
    width: usize,
    is_closed: bool,
    ready: usize,
}

/// Threads that wait for operations. One operation at a time: a second one waits for the first.
pub struct ThreadPool {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    nodes: Vec<NodeCpus>,
    seats: Vec<usize>,
    one_at_a_time: Mutex<()>,
}

impl ThreadPool {
    /// Creates threads so that, with the caller's, `threads` may work at once, each with a hand of `lease`.
    pub fn new(lease: Arc<dyn Lease>, nodes: Vec<NodeCpus>, threads: usize) -> Result<Self, MemoryError> {
        let threads = threads.max(1);
        let shared = Arc::new(Shared { lease, gate: Mutex::default(), opens: Condvar::new() });
        let mut pool = Self {
            seats: seats(&nodes, threads),
            helpers: Vec::with_capacity(threads - 1),
            one_at_a_time: Mutex::new(()),
            nodes,
            shared,
        };
        for number in 1..threads {
            let helper = pool.helper(number).map_err(MemoryError::Thread)?;
            pool.helpers.push(helper);
        }
        let mut gate = pool.shared.gate.lock();
        while gate.ready < threads - 1 {
            pool.shared.opens.wait(&mut gate);
        }
        drop(gate);
        Ok(pool)
    }

    /// Threads that may work at once.
    pub fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    fn helper(&self, number: usize) -> io::Result<JoinHandle<()>> {
        let (shared, seat) = (Arc::clone(&self.shared), self.seats[number]);
        // On one node the scheduler knows best.
        let pinned_to = if self.nodes.len() > 1 { self.nodes[seat].cpus.clone() } else { Vec::new() };
        let thread = std::thread::Builder::new().name(format!("memory-{number}")).stack_size(STACK_BYTES);
        thread.spawn(move || {
            touch_stack();
            stay_on(&pinned_to);
            shared.help(number, seat);
        })
    }

    /// Does `work` to all chunks of `plan`, with at most `width` threads, and returns when all of it is done or given up.
    pub fn run(
        &self,
        plan: ChunkPlan,
        width: usize,
        is_strict: bool,
        work: impl Fn(Range<usize>) -> io::Result<()> + Send + Sync + 'static,
    ) -> OperationEnd {
        let _turn = self.one_at_a_time.lock();
        let width = width.clamp(1, self.threads()).min(plan.count().max(1));
        let mut by_node = vec![0; self.nodes.len().max(1)];
        self.seats.iter().take(width).for_each(|&seat| by_node[seat] += 1);
        let job = Arc::new(Job {
            queue: PopulateQueue::new(plan.count(), &by_node),
            plan,
            work: RwLock::new(Some(Box::new(work))),
            is_strict,
            is_stopped: AtomicBool::new(false),
            faults: Mutex::default(),
            at_work: AtomicUsize::new(0),
            without_hand: AtomicUsize::new(0),
            at_work_most: AtomicUsize::new(0),
        });
        self.shared.announce(&job, width);
        job.attend(self.shared.lease.as_ref(), self.own_seat());
        // ORDER: a sign for the report. With the last chunk taken, whoever still waits had no part in it.
        let is_short_of_hands = job.without_hand.load(Ordering::Relaxed) > 0;
        // Waits for those who are at their last chunk.
        drop(job.work.write().take());
        self.shared.gate.lock().job = None;
        let mut faults = std::mem::take(&mut *job.faults.lock());
        faults.sort_by_key(|fault| fault.part.start);
        OperationEnd { threads: job.at_work_most.load(Ordering::Relaxed).max(1), is_short_of_hands, faults }
    }

    /// The node of the calling thread, which is not pinned.
    fn own_seat(&self) -> usize {
        let cpu = sched_getcpu();
        self.nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.gate.lock().is_closed = true;
        self.shared.opens.notify_all();
        for helper in self.helpers.drain(..) {
            // A panic of a helper was a defect; it has been shown, and there is nobody to hand it to.
            let _ended = helper.join();
        }
    }
}

impl Shared {
    fn announce(&self, job: &Arc<Job>, width: usize) {
        let mut gate = self.gate.lock();
        gate.turn += 1;
        gate.width = width;
        gate.job = Some(Arc::clone(job));
        drop(gate);
        if width > 1 {
            self.opens.notify_all();
        }
    }

    /// A helper's life.
    fn help(&self, number: usize, seat: usize) {
        let mut seen = 0;
        let mut gate = self.gate.lock();
        gate.ready += 1;
        self.opens.notify_all();
        loop {
            match &gate.job {
                _ if gate.is_closed => return,
                Some(job) if gate.turn != seen && number < gate.width => {
                    let job = Arc::clone(job);
                    seen = gate.turn;
                    drop(gate);
                    job.attend(self.lease.as_ref(), seat);
                    drop(job);
                    gate = self.gate.lock();
                }
                _ => self.opens.wait(&mut gate),
            }
        }
    }
}

impl Job {
    /// Works with a hand until nothing is left; at each chunk's end the hand may have to go back.
    fn attend(&self, lease: &dyn Lease, seat: usize) {
        loop {
            self.without_hand.fetch_add(1, Ordering::Relaxed);
            let hand = lease.take();
            self.without_hand.fetch_sub(1, Ordering::Relaxed);
            let is_left = self.spell(seat, || lease.must_return(&hand));
            lease.give_back(hand);
            if !is_left {
                return;
            }
        }
    }

    /// Chunk after chunk. Whether there may be more.
    fn spell(&self, seat: usize, must_return: impl Fn() -> bool) -> bool {
        let work = self.work.read();
        let Some(work) = work.as_ref() else { return false };
        // ORDER: a count for the report.
        let at_work = self.at_work.fetch_add(1, Ordering::Relaxed) + 1;
        let mut has_worked = false;
        let is_left = loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                break false;
            }
            let Some(number) = self.queue.take(seat) else { break false };
            if !has_worked {
                has_worked = true;
                self.at_work_most.fetch_max(at_work, Ordering::Relaxed);
            }
            self.do_chunk(work, number);
            if must_return() {
                break !self.queue.is_empty();
            }
        };
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        is_left
    }

    fn do_chunk(&self, work: &Work, number: usize) {
        let part = self.plan.chunk(number);
        let Err(cause) = work(part.clone()) else { return };
        let mut faults = self.faults.lock();
        if faults.len() < FAULTS_MAX {
            faults.push(RangeFault { part, cause });
        }
        if self.is_strict {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// Has the kernel make the pages of the stack now: later they would be faults under the lock that populating holds.
fn touch_stack() {
    let mut room = [0_u8; STACK_TOUCHED_BYTES];
    room.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&room);
}

/// Keeps the calling thread on these CPUs. Where that is refused it floats, and works all the same.
fn stay_on(cpus: &[usize]) {
    let mut set = CpuSet::new();
    // LIMIT: rustix's set holds 1,024 CPUs.
    let known: Vec<&usize> = cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU).collect();
    if known.is_empty() {
        return;
    }
    known.into_iter().for_each(|&cpu| set.set(cpu));
    let _it_floats = sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};

    fn lease(hands: usize) -> Arc<dyn Lease> {
        let request = Request {
            priority: Priority::Normal,
            weight: Weight::default(),
            useful_width: 4,
            what: "a test".to_owned(),
        };
        Arc::from(InProcess::new(hands).lease(request))
    }

    fn nodes(sizes: &[usize]) -> Vec<NodeCpus> {
        sizes.iter().enumerate().map(|(number, &cpus)| NodeCpus { number, cpus: (0..cpus).collect() }).collect()
    }

    fn pool(hands: usize, threads: usize) -> ThreadPool {
        ThreadPool::new(lease(hands), nodes(&[2]), threads).expect("threads can be had")
    }

    #[test]
    fn threads_sit_in_proportion_to_cpus() {
        assert_eq!(seats(&nodes(&[8, 8]), 5), [0, 1, 0, 1, 0]);
        let seated = seats(&nodes(&[12, 4]), 8);
        assert_eq!((seated.iter().filter(|&&seat| seat == 0).count(), seated.len()), (6, 8));
        assert_eq!((seats(&[], 2), seats(&nodes(&[1; 8]), 8)), (vec![0, 0], (0..8).collect()));
        for nodes_count in 1..=8_usize {
            let seated = seats(&nodes(&vec![32; nodes_count]), 256);
            let on = |node| seated.iter().filter(|&&seat| seat == node).count();
            assert!((0..nodes_count).all(|node| on(node).abs_diff(256 / nodes_count) <= 1));
        }
    }

    #[test]
    fn every_chunk_is_done_once_in_operation_after_operation() {
        let pool = pool(4, 4);
        for round in 0..50_usize {
            let done: Arc<Vec<AtomicUsize>> = Arc::new((0..round).map(|_| AtomicUsize::new(0)).collect());
            let seen = Arc::clone(&done);
            let end = pool.run(ChunkPlan::of_size(round, 1), 4, true, move |part| {
                seen[part.start].fetch_add(part.len(), Ordering::Relaxed);
                Ok(())
            });
            assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1), "{round}");
            assert!(end.faults.is_empty() && (1..=4).contains(&end.threads));
        }
    }

    #[test]
    fn with_one_hand_for_many_threads_all_is_done_and_the_hand_goes_back() {
        let lease = lease(1);
        let pool = ThreadPool::new(Arc::clone(&lease), nodes(&[2]), 3).expect("threads can be had");
        for _ in 0..20 {
            assert_eq!(pool.run(ChunkPlan::of_size(100, 1), 3, true, |_part| Ok(())).threads, 1);
        }
        drop(pool);
        let books = lease.books();
        assert!(books.taken > 0 && books.taken == books.returned, "{books:?}");
    }

    fn refusing(part: Range<usize>) -> io::Result<()> {
        if part.start.is_multiple_of(10) { Err(io::Error::from(io::ErrorKind::OutOfMemory)) } else { Ok(()) }
    }

    #[test]
    fn the_first_fault_ends_a_strict_operation_and_another_reports_each_place() {
        let pool = pool(2, 2);
        let end = pool.run(ChunkPlan::of_size(100, 1), 1, true, refusing);
        assert_eq!(end.faults.iter().map(|fault| fault.part.start).collect::<Vec<_>>(), [0]);
        let end = pool.run(ChunkPlan::of_size(100, 1), 2, false, refusing);
        assert_eq!(
            end.faults.iter().map(|fault| fault.part.start).collect::<Vec<_>>(),
            (0..100).step_by(10).collect::<Vec<_>>()
        );
        let end = pool.run(ChunkPlan::of_size(10_000, 1), 2, false, refusing);
        assert_eq!(end.faults.len(), FAULTS_MAX);
    }

    #[test]
    fn what_the_work_holds_is_let_go_when_the_operation_ends() {
        let (pool, held) = (pool(2, 2), Arc::new(()));
        let in_work = Arc::clone(&held);
        pool.run(ChunkPlan::of_size(10, 1), 2, true, move |_part| {
            let _held = &in_work;
            Ok(())
        });
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn allowed_cpus_are_sorted_by_node() {
        let machine = testkit::fake_machine::FakeMachine::new(4, 1 << 30);
        let host = machine::Host::rooted_at(machine.root());
        assert_eq!(allowed_nodes(&host), [NodeCpus { number: 0, cpus: vec![0, 1, 2, 3] }]);
        machine.file("sys/devices/system/node/online", "0-2\n");
        for (node, cpus) in ["0-1,8", "2-3", "9"].into_iter().enumerate() {
            let directory = format!("sys/devices/system/node/node{node}");
            machine.file(&format!("{directory}/meminfo"), "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 4 kB\n");
            machine.file(&format!("{directory}/cpulist"), cpus);
        }
        let expected = [NodeCpus { number: 0, cpus: vec![0, 1] }, NodeCpus { number: 1, cpus: vec![2, 3] }];
        assert_eq!(allowed_nodes(&host), expected);
    }
}
