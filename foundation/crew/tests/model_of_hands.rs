//! Model of the table's protocol: processes come, take and give back, are killed and stopped between any two accesses to
//! shared memory, also while they claim a row or reap the dead, under schedules that shuttle steers. Some use the hands that others
//! hold for them, as jobs do.
//!
//! Checked: no two live processes believe in the same hand, nor in the same claim to one, a hand is lost only by who was stopped, and when all is over every
//! word is free and every row empty. `MH_MODEL_ITERATIONS` sets the schedules per case; each has ten kills, stops and continuations.

use crew::budget::cpu_set::CpuSet;
use crew::budget::hands::{
    Life, Taken, Witness, claim, claim_row, claims_of, empty, give_back, give_up, is_claimed, is_held, reap_all, take,
};
use crew::budget::layout::{
    BITMAP_WORDS, ClaimWord, HUNGRY_AT, PRESENT_AT, ROW_WORDS, claim_word, field, hand_word, row_word,
};
use crew::budget::memory::Memory;
use crew::budget::row::{self, RowEntry, RowIdentity, Standing};
use crew::budget::{Priority, Weight};
use shuttle::rand::Rng;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// Rows and CPUs of the model's table: fewer than processes, so that all is contended.
const ROWS: usize = 3;
const CPUS: usize = 2;
/// Processes of a schedule: those there at the beginning and those that come after a kill.
const PROCESSES: usize = 5;
const AT_FIRST: usize = 3;
/// Kills, stops and continuations of a schedule.
const EVENTS: usize = 10;
/// 10^5 such events. By hand: 10^5 schedules (a minute).
const SCHEDULES: usize = 10_000;
/// Accesses while a hand is held.
const JOB_STEPS: usize = 8;
/// Hands that a process takes if it lives so long.
const ROUNDS: usize = 5;

/// Unwinds a process that was killed; its name is all there is to it.
struct Died;

/// What the controller asks of a process, and what became of it.
#[derive(Default)]
struct Fate {
    kill: AtomicU64,
    stop: AtomicU64,
    is_stopped: AtomicU64,
    is_dead: AtomicU64,
}

/// Who believes to hold a CPU, and how often it had been stopped when it took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Believer {
    process: usize,
    stops: u32,
}

/// The machine: memory, locks, processes.
struct World {
    words: BTreeMap<usize, AtomicU64>,
    /// Process + 1 that holds a row's lock.
    locks: [AtomicU64; ROWS],
    fates: [Fate; PROCESSES],
    /// Who believes to hold a CPU; looked at between two steps, so not part of the schedule.
    believers: Mutex<[Option<Believer>; CPUS]>,
    /// Who believes to have claimed a CPU's hand, and which taking that was.
    claimers: Mutex<[Option<(Believer, Taken)>; CPUS]>,
    /// The last lease token that somebody wrote: a hand, and the claim of who handed it on.
    lease_token: Mutex<Option<(Taken, Option<ClaimWord>)>>,
    /// How often each process was stopped.
    stops: Mutex<[u32; PROCESSES]>,
}

impl World {
    fn new() -> Self {
        let rows = (0..ROWS).flat_map(|row| {
            let fields = [field::PROCESS, field::STANDING, field::WAITING];
            fields.map(|field| row_word(row, field))
        });
        let bitmaps = [PRESENT_AT, HUNGRY_AT];
        let used = rows.chain(bitmaps).chain((0..CPUS).map(hand_word)).chain((0..CPUS).map(claim_word));
        const { assert!(ROWS <= 64 && BITMAP_WORDS * 64 >= ROWS && ROW_WORDS > field::WAITING) };
        Self {
            words: used.map(|word| (word, AtomicU64::new(0))).collect(),
            locks: std::array::from_fn(|_| AtomicU64::new(0)),
            fates: std::array::from_fn(|_| Fate::default()),
            believers: Mutex::new([None; CPUS]),
            claimers: Mutex::new([None; CPUS]),
            lease_token: Mutex::new(None),
            stops: Mutex::new([0; PROCESSES]),
        }
    }

    fn is_dead(&self, process: usize) -> bool {
        self.fates[process].is_dead.load(Ordering::SeqCst) == 1
    }

    fn stops(&self, process: usize) -> u32 {
        self.stops.lock().expect("no panic")[process]
    }

    /// Only the dead, and those stopped since they took their hand, may be wrong about it.
    fn may_be_wrong(&self, believer: Believer) -> bool {
        self.is_dead(believer.process) || self.stops(believer.process) > believer.stops
    }
}

/// The world as one process sees it: every access may be its last, or the one before a long stop.
struct Process<'a> {
    world: &'a World,
    number: usize,
}

impl Process<'_> {
    fn breathe(&self) {
        let fate = &self.world.fates[self.number];
        if fate.kill.load(Ordering::SeqCst) == 1 {
            resume_unwind(Box::new(Died));
        }
        while fate.stop.load(Ordering::SeqCst) == 1 {
            self.world.stops.lock().expect("no panic")[self.number] += 1;
            fate.is_stopped.store(1, Ordering::SeqCst);
            shuttle::thread::yield_now();
            if fate.kill.load(Ordering::SeqCst) == 1 {
                resume_unwind(Box::new(Died));
            }
        }
        fate.is_stopped.store(0, Ordering::SeqCst);
    }

    fn word(&self, word: usize) -> Option<&AtomicU64> {
        let found = self.world.words.get(&word);
        if found.is_some() {
            self.breathe();
        }
        found
    }
}

/// Words that the model leaves out read as 0 and forget what is written.
impl Memory for Process<'_> {
    fn load(&self, word: usize) -> u64 {
        self.word(word).map_or(0, |word| word.load(Ordering::SeqCst))
    }

    fn store(&self, word: usize, value: u64) {
        self.word(word).inspect(|word| word.store(value, Ordering::SeqCst));
    }

    fn exchange(&self, word: usize, old: u64, new: u64) -> bool {
        self.word(word).is_some_and(|word| word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok())
    }

    fn set_bits(&self, word: usize, bits: u64) {
        self.word(word).inspect(|word| {
            word.fetch_or(bits, Ordering::SeqCst);
        });
    }

    fn clear_bits(&self, word: usize, bits: u64) {
        self.word(word).inspect(|word| {
            word.fetch_and(!bits, Ordering::SeqCst);
        });
    }
}

impl Witness for Process<'_> {
    fn try_lock(&self, row: usize) -> bool {
        let Some(lock) = self.world.locks.get(row) else { return false };
        self.breathe();
        lock.compare_exchange(0, self.number as u64 + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn unlock(&self, row: usize) {
        self.breathe();
        self.world.locks[row].store(0, Ordering::SeqCst);
    }

    fn life(&self, row: usize) -> Life {
        let process = self.load(row_word(row, field::PROCESS)) as usize;
        match process.checked_sub(1).map(|number| &self.world.fates[number]) {
            Some(fate) if fate.is_dead.load(Ordering::SeqCst) == 1 => Life::Gone,
            Some(fate) if fate.is_stopped.load(Ordering::SeqCst) == 1 => Life::Stopped,
            _ => Life::Runs,
        }
    }
}

impl Process<'_> {
    fn live(&self) {
        let Some(row) = claim_row(self, self) else { return };
        row::write(self, row, &self.entry());
        for _ in 0..ROUNDS {
            self.come_back(row);
            // The hungry reap; here some do that are not, for the sake of more encounters.
            if shuttle::rand::thread_rng().gen_ratio(1, 3) {
                reap_all(self, self, row);
            }
            if shuttle::rand::thread_rng().gen_ratio(1, 2) {
                self.be_a_job(row);
            }
            match take(self, row, &CpuSet::of(0..CPUS), self.number) {
                Some(taken) => self.hold(taken),
                None => {
                    reap_all(self, self, row);
                }
            }
        }
        empty(self, row);
        self.unlock(row);
    }

    fn entry(&self) -> RowEntry {
        let (class, weight) = (Priority::Normal, Weight::default());
        RowEntry {
            identity: RowIdentity { process: self.number as u32 + 1, start_ticks: 0, namespace: 0 },
            standing: Standing { class, weight, is_paused: false, is_set_aside: false, is_job_slots: false },
            useful_width: 1,
            cpus: CpuSet::of(0..CPUS),
            quota: None,
            what: String::new(),
            now_ms: 0,
        }
    }

    fn come_back(&self, row: usize) {
        if row::standing(self, row).is_set_aside {
            row::change_standing(self, row, |standing| Standing { is_set_aside: false, ..standing });
        }
    }

    /// From here to the next access nobody else runs: belief and word change in one step.
    fn hold(&self, taken: Taken) {
        let own = Believer { process: self.number, stops: self.world.stops(self.number) };
        let before = self.world.believers.lock().expect("no panic")[taken.cpu_slot].replace(own);
        if let Some(other) = before {
            assert!(self.world.may_be_wrong(other), "{other:?} and {own:?} both hold CPU {}", taken.cpu_slot);
        }
        *self.world.lease_token.lock().expect("no panic") = Some((taken, None));
        // So long that its jobs can come.
        let is_held = (0..JOB_STEPS).all(|_| is_held(self, taken));
        assert!(is_held || self.world.may_be_wrong(own), "a hand was lost");
        // The belief goes before the word does: in between nobody believes, which is no mistake.
        self.world.believers.lock().expect("no panic")[taken.cpu_slot].take_if(|believer| *believer == own);
        let was_held = give_back(self, taken);
        assert!(was_held || self.world.may_be_wrong(own), "a hand was lost");
    }
}

impl Process<'_> {
    /// Uses the hand of the last lease token, if nobody else does; or hands it on, as a runner that is a job, and takes it back.
    fn be_a_job(&self, row: usize) {
        let lease_token = *self.world.lease_token.lock().expect("no panic");
        let Some((taken, lent)) = lease_token else { return };
        // Before it claims: between the claim and the look behind it there is time to be stopped.
        let believer = Believer { process: self.number, stops: self.world.stops(self.number) };
        let Some(own) = claim(self, self, row, taken, lent) else { return };
        if shuttle::rand::thread_rng().gen_ratio(1, 3) {
            *self.world.lease_token.lock().expect("no panic") = Some((taken, Some(own)));
            let again = if is_claimed(self, taken, own) { Some(own) } else { claim(self, self, row, taken, None) };
            again.inspect(|&own| {
                give_up(self, taken.cpu_slot, own);
            });
            return;
        }
        self.use_claim(believer, taken, own);
    }

    fn use_claim(&self, believer: Believer, taken: Taken, own: ClaimWord) {
        if self.world.may_be_wrong(believer) {
            return;
        }
        let before = self.world.claimers.lock().expect("no panic")[taken.cpu_slot].replace((believer, taken));
        if let Some((other, of)) = before {
            // A claim of an earlier taking is noticed to be over at the next yield point.
            let is_excused = of != taken || self.world.may_be_wrong(other);
            assert!(is_excused, "{other:?} and {believer:?} both claim CPU {}", taken.cpu_slot);
        }
        let _looked = (0..JOB_STEPS / 2).all(|_| is_claimed(self, taken, own));
        self.world.claimers.lock().expect("no panic")[taken.cpu_slot].take_if(|claimer| *claimer == (believer, taken));
        let was_ours = give_up(self, taken.cpu_slot, own);
        let is_over = || !is_held(self, taken);
        assert!(was_ours || self.world.may_be_wrong(believer) || is_over(), "a claim was lost");
    }
}

/// A process from its start to its end, whichever it is. The kernel marks the dead first and frees their locks later.
fn run_process(world: &World, number: usize) {
    let process = Process { world, number };
    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| process.live()))
        && !cause.is::<Died>()
    {
        resume_unwind(cause);
    }
    world.fates[number].is_dead.store(1, Ordering::SeqCst);
    for lock in &world.locks {
        let _held_another_or_none = lock.compare_exchange(number as u64 + 1, 0, Ordering::SeqCst, Ordering::SeqCst);
    }
}

fn start(world: &Arc<World>, number: usize) -> shuttle::thread::JoinHandle<()> {
    let world = Arc::clone(world);
    shuttle::thread::spawn(move || run_process(&world, number))
}

/// One schedule: some processes, some misfortunes, and a last one that cleans up.
fn schedule() {
    let world = Arc::new(World::new());
    let mut threads: Vec<_> = (0..AT_FIRST).map(|number| start(&world, number)).collect();
    for _ in 0..EVENTS {
        // A step of ours is one access, theirs are four: without this all would be over before they have begun.
        for _ in 0..shuttle::rand::thread_rng().gen_range(0..60) {
            shuttle::thread::sleep(std::time::Duration::ZERO);
        }
        let victim = &world.fates[shuttle::rand::thread_rng().gen_range(0..threads.len())];
        match shuttle::rand::thread_rng().gen_range(0..5) {
            0 | 1 => victim.stop.store(1, Ordering::SeqCst),
            2 | 3 => victim.stop.store(0, Ordering::SeqCst),
            _ => {
                victim.kill.store(1, Ordering::SeqCst);
                if threads.len() < PROCESSES - 1 {
                    threads.push(start(&world, threads.len()));
                }
            }
        }
    }
    world.fates.iter().for_each(|fate| fate.stop.store(0, Ordering::SeqCst));
    threads.into_iter().for_each(|thread| thread.join().expect("no process panics"));
    clean_up_and_count(&world);
}

fn clean_up_and_count(world: &World) {
    let last = Process { world, number: PROCESSES - 1 };
    let own = claim_row(&last, &last).expect("all others are gone");
    reap_all(&last, &last, own);
    for cpu in 0..CPUS {
        assert!(take(&last, own, &CpuSet::of([cpu]), cpu).is_some(), "CPU {cpu} is lost");
    }
    assert_eq!(empty(&last, own), CPUS);
    assert!((0..ROWS).all(|row| claims_of(&last, row).is_empty()), "claims of the dead are left");
    last.unlock(own);
    assert_eq!(row::present(&last).count(), 0, "rows of the dead are left");
    assert!(world.locks.iter().all(|lock| lock.load(Ordering::SeqCst) == 0));
}

#[test]
fn no_hand_is_lost_or_minted_whoever_is_killed_or_stopped_where() {
    let schedules = super::schedules(SCHEDULES);
    shuttle::check_random(schedule, schedules / 2);
    shuttle::check_pct(schedule, schedules / 2, 3);
}
