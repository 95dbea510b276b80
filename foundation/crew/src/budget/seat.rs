//! One run's row in one table: what it may do there now. Never waits; `machine_wide` does.
//! Knows words, entitlement and the witness of the kernel; nothing of threads.

use super::cpu_set::CpuSet;
use super::entitlement::Entitled;
use super::hands::{self, Life, Taken, Witness};
use super::layout::{CPUS, ClaimWord, HandWord, field, hand_word, row_word};
use super::memory::Memory;
use super::progress::{self, RunProgress};
use super::row::{self, RowEntry, RowSeen, Standing};
use super::sleep::{self, SleepMoment, is_newly_dead, tell_listeners};
use super::table::{DeathWordThread, FileNumber, MemoryTable, TableError};
use super::view::{SLICE_MS, TableView};
use super::{Company, Priority, row::RowIdentity};
use machine::{Host, Topology, process_facts};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use sys::byte_lock;
use sys::own_table::HandedFd;
use sys::robust_mark::{MarkKeeper, OWNER_DIED};
use sys::shared_words::SharedWords;

/// A row and everything that belongs to it.
pub(super) struct Seat {
    table: Arc<MemoryTable>,
    /// Threads with tables of descriptors of their own ask through it too.
    locks: HandedFd,
    /// A word mapped through the same description: the lock outlives the thread that claimed the row, and its descriptor with it.
    _lifeline: SharedWords,
    row: usize,
    entry: RowEntry,
    keeper: Option<MarkKeeper>,
    /// Whether no quota stands between this run and its CPUs: then a free word is all it needs while nobody is hungry.
    is_unbound: bool,
    /// What its CPUs are, where they are not all the same.
    uneven: Option<Topology>,
    /// How many of its CPUs, the lowest, it leaves to external programs now.
    left_out: AtomicUsize,
}

/// What came of trying to take a hand.
pub(super) enum TakeOutcome {
    /// This CPU.
    Got(Taken),
    /// The first hand, for which no CPU is free: it is run above capacity.
    Above(Taken),
    /// Not now: it is others' turn, or nothing is free yet.
    NotNow,
}

/// Milliseconds of CLOCK_MONOTONIC, which all runs on the machine share (time namespaces aside).
pub(super) fn now_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

impl Seat {
    /// Claims a row of `table`, signs it with `entry` and has it marked.
    pub(super) fn claim(
        table: Arc<MemoryTable>,
        entry: RowEntry,
        death_word_thread: DeathWordThread,
    ) -> Result<Self, TableError> {
        let locks = table.open_for_locks()?;
        let lifeline = SharedWords::map(&locks, 1).map_err(|cause| TableError::System {
            operation: "map",
            path: table.path().to_owned(),
            cause,
        })?;
        let locks = HandedFd::from(OwnedFd::from(locks));
        let witness = KernelWitness::new(&table, locks.as_fd(), Some(entry.identity.namespace));
        let Some(row) = hands::claim_row(table.words(), &witness) else {
            return Err(TableError::Full { path: table.path().to_owned() });
        };
        // Before the row is seen, so that a row in use never shows its last owner's death.
        table.death_word(row).store(0, Ordering::SeqCst);
        row::write(table.words(), row, &entry);
        table.tell_watchers();
        // Behind it, so that whoever is woken finds the row of the death word.
        let keeper = table.keep_death_word(row, death_word_thread);
        let is_unbound = entry.quota.is_none_or(|quota| quota.hands() >= entry.cpus.count() as u64);
        Ok(Self {
            table,
            locks,
            _lifeline: lifeline,
            row,
            entry,
            keeper,
            is_unbound,
            uneven: None,
            left_out: AtomicUsize::new(0),
        })
    }

    /// Takes CPUs in the order that `topology` says, where it says any.
    pub(super) fn preferring(mut self, topology: &Topology) -> Self {
        self.uneven = (!topology.is_flat()).then(|| topology.clone());
        self
    }

    fn words(&self) -> &[AtomicU64] {
        self.table.words()
    }

    fn put(&self, field: usize, value: u64) {
        self.words().store(row_word(self.row, field), value);
    }

    fn witness(&self) -> KernelWitness<'_> {
        KernelWitness::new(&self.table, self.locks.as_fd(), Some(self.entry.identity.namespace))
    }

    pub(super) fn is_table_still_there(&self) -> bool {
        self.table.is_still_there()
    }

    /// The moment to begin a sleep with: to be asked before an attempt.
    pub(super) fn moment(&self) -> SleepMoment {
        sleep::moment(&self.table, self.row)
    }

    /// Whether a free word may be taken without asking whose turn it is.
    pub(super) fn is_calm(&self) -> bool {
        self.is_unbound && row::standing(self.words(), self.row).is_active() && !row::is_anybody_hungry(self.words())
    }

    /// Takes any free word, preferably that of the CPU this thread runs on.
    pub(super) fn take_any(&self) -> Option<Taken> {
        self.take_of(&self.cpus())
    }

    fn take_of(&self, cpus: &CpuSet) -> Option<Taken> {
        let start = sys::scheduling::current_cpu();
        let is_free = |cpu: usize| cpu < CPUS && HandWord(self.words().load(hand_word(cpu))).is_free();
        let best = self.uneven.as_ref().map(|topology| CpuSet::of(topology.best(is_free)).and(cpus));
        best.and_then(|best| hands::take(self.words(), self.row, &best, start))
            .or_else(|| hands::take(self.words(), self.row, cpus, start))
    }

    /// CPUs that this run takes hands on now.
    fn cpus(&self) -> CpuSet {
        // ORDER: Relaxed: a hand that is taken by the old number goes back at the next yield point.
        match self.left_out.load(Ordering::Relaxed) {
            0 => self.entry.cpus,
            left_out => self.entry.cpus.without_first(left_out),
        }
    }

    /// Leaves `count` of this run's CPUs, the lowest, to programs that take no part; all runs that do leave out the same ones.
    pub(super) fn leave_out(&self, count: usize) {
        let count = count.min(self.entry.cpus.count().saturating_sub(1));
        if self.left_out.swap(count, Ordering::Relaxed) != count {
            self.put(field::LEFT_OUT, count as u64);
            row::write_mask(self.words(), self.row, &self.cpus());
            self.pass_on();
        }
    }

    /// The processes of the table's runs, and how many hands those hold that are of another pid namespace: their numbers mean
    /// nothing here.
    pub(super) fn runs(&self) -> (Vec<u32>, u32) {
        let view = TableView::look(self.words(), now_ms());
        let is_near = |seen: &&RowSeen| seen.identity.namespace == self.entry.identity.namespace;
        let (near, far): (Vec<&RowSeen>, Vec<&RowSeen>) = view.rows.iter().partition(is_near);
        (near.iter().map(|seen| seen.identity.process).collect(), far.iter().map(|seen| view.held(seen)).sum())
    }

    /// The table at one look, after those who died under our eyes were reaped: what they wished for no longer counts.
    fn look(&self) -> TableView {
        if self.sees_a_death() {
            self.reap_others();
        }
        TableView::look(self.words(), now_ms())
    }

    /// Whether another run has died and nobody has looked after its row yet.
    pub(super) fn sees_a_death(&self) -> bool {
        row::present(self.words()).any(|row| row != self.row && is_newly_dead(&self.table, row))
    }

    /// Takes a hand if this run is entitled to one more. `may_go_above`: it holds no first hand yet.
    pub(super) fn attempt(&self, may_go_above: bool) -> TakeOutcome {
        let view = self.look();
        let Some(position) = view.position(self.row) else {
            // Somebody scribbled over the row: say again who this is.
            row::write(self.words(), self.row, &self.entry);
            return TakeOutcome::NotNow;
        };
        let (seen, entitled) = (view.rows[position], view.entitled(u32::MAX));
        let (held, is_aged) = (view.held(&seen), view.is_aged(&seen));
        if held >= entitled[position].may_hold {
            return TakeOutcome::NotNow;
        }
        let taken = self.take_a_seat(&view, &entitled);
        let has_one = held > 0 || view.inherited(&seen) > 0;
        let is_guaranteed = !has_one && may_go_above && (seen.standing.class >= Priority::Normal || is_aged);
        let above = || hands::take_above(self.words(), self.row).map(TakeOutcome::Above);
        let attempt = match taken {
            Some(taken) => TakeOutcome::Got(taken),
            None if is_guaranteed => above().unwrap_or(TakeOutcome::NotNow),
            None => TakeOutcome::NotNow,
        };
        if is_aged && !matches!(attempt, TakeOutcome::NotNow) {
            self.put(field::SLICE_UNTIL_MS, view.now_ms + SLICE_MS);
            self.put(field::HUNGRY_SINCE_MS, view.now_ms);
        }
        attempt
    }

    /// A free word that nobody with fewer CPUs to choose from waits for, else any; none when the quota is used up.
    fn take_a_seat(&self, view: &TableView, entitled: &[Entitled]) -> Option<Taken> {
        let is_used_up = |view: &TableView| {
            self.entry.quota.is_some_and(|quota| view.held_in_group(quota.group) >= quota.hands() && !self.is_unbound)
        };
        if is_used_up(view) {
            return None;
        }
        let polite = self.cpus().without(&self.wanted_by_the_blocked(view, entitled));
        let taken = self.take_of(&polite).or_else(|| self.take_of(&self.cpus()))?;
        // Two runs of one group may have taken the quota's last hand at the same moment: then both step back.
        let quota = self.entry.quota.filter(|_| !self.is_unbound);
        let after =
            quota.map(|quota| (TableView::look(self.words(), view.now_ms).held_in_group(quota.group), quota.hands()));
        if after.is_some_and(|(held, most)| held > most) {
            hands::give_back(self.words(), taken);
            return None;
        }
        Some(taken)
    }

    /// CPUs of other runs that are entitled to a hand and find none of their CPUs free.
    fn wanted_by_the_blocked(&self, view: &TableView, entitled: &[Entitled]) -> CpuSet {
        let waits_for_output = |position: usize| {
            let seen = &view.rows[position];
            seen.row != self.row
                && seen.waiting > 0
                && view.held(seen) < entitled[position].may_hold
                && seen.cpus.and(&view.free).is_empty()
        };
        let blocked = (0..view.rows.len()).filter(|&position| waits_for_output(position));
        blocked.fold(CpuSet::default(), |all, position| all.or(&view.rows[position].cpus))
    }

    /// Its class, weight and state, as others may have changed them.
    pub(super) fn standing(&self) -> Standing {
        row::standing(self.words(), self.row)
    }

    /// Whether `taken` is still this run's. A hand can only be lost while the process was stopped.
    pub(super) fn is_held(&self, taken: Taken) -> bool {
        hands::is_held(self.words(), taken)
    }

    /// Whether one of this run's hands should go back: it was paused, or others are entitled to more than they have.
    pub(super) fn must_return(&self, taken: Option<Taken>) -> bool {
        let standing = self.come_back();
        if standing.is_paused
            || taken.is_some_and(|taken| taken.cpu_slot < CPUS && !self.cpus().contains(taken.cpu_slot))
        {
            return true;
        }
        if !row::is_anybody_hungry(self.words()) {
            return false;
        }
        let view = self.look();
        let Some(position) = view.position(self.row) else { return false };
        let entitled = view.entitled(u32::MAX);
        if entitled[position].must_return > 0 {
            return true;
        }
        // With a narrower mask somebody may wait for this very CPU, while another one would do for us.
        let wanted = self.wanted_by_the_blocked(&view, &entitled);
        let could_move = !self.cpus().and(&view.free).without(&wanted).is_empty();
        could_move && taken.is_some_and(|taken| wanted.contains(taken.cpu_slot))
    }

    /// Whether its user wants it to rest.
    pub(super) fn is_paused(&self) -> bool {
        self.come_back().is_paused
    }

    /// What tells its table from others.
    pub(super) fn table_number(&self) -> FileNumber {
        self.table.number()
    }

    /// Claims a runner's hand: see [`hands::claim`].
    pub(super) fn claim_hand(&self, taken: Taken, lent: Option<ClaimWord>) -> Option<ClaimWord> {
        let claim = hands::claim(self.words(), &self.witness(), self.row, taken, lent);
        // A dead claimer was reaped on the way, and may have held hands of its own.
        self.pass_on();
        claim
    }

    /// Whether a runner's hand is still this run's to use.
    pub(super) fn is_claimed(&self, taken: Taken, claim: ClaimWord) -> bool {
        hands::is_claimed(self.words(), taken, claim)
    }

    /// A CPU for a hand that runs above capacity, if one is free now and this run's turn.
    pub(super) fn take_for_above(&self) -> Option<Taken> {
        let view = self.look();
        let position = view.position(self.row)?;
        let entitled = view.entitled(u32::MAX);
        (entitled[position].above == 0).then(|| self.take_a_seat(&view, &entitled)).flatten()
    }

    /// Clears what others wrote while this process was stopped; returns the standing.
    fn come_back(&self) -> Standing {
        let standing = row::standing(self.words(), self.row);
        if standing.is_set_aside {
            row::change_standing(self.words(), self.row, |standing| Standing { is_set_aside: false, ..standing });
            self.table.wake_all();
        }
        Standing { is_set_aside: false, ..standing }
    }

    /// Says how many hands the run waits for, and whether it runs one above capacity.
    pub(super) fn publish(&self, waiting: u32, is_above: bool) {
        let standing = self.come_back();
        let waited =
            self.words().load(row_word(self.row, field::WAITING)) > 0 && row::is_hungry(self.words(), self.row);
        // Who was paused and goes on begins to wait now, though it never had what it waits for.
        let is_new = waiting > 0 && !standing.is_paused && !waited;
        if is_new {
            self.put(field::HUNGRY_SINCE_MS, now_ms());
        }
        self.put(field::WAITING, u64::from(waiting));
        if (waiting > 0 && !standing.is_paused) || is_above {
            row::mark_hungry(self.words(), self.row);
        } else {
            row::unmark_hungry(self.words(), self.row);
        }
        if is_new {
            tell_listeners(&self.table, self.row);
        }
    }

    /// Says how far the run is: four words that nobody waits for.
    pub(super) fn publish_progress(&self, progress: &RunProgress) {
        progress::write(self.words(), self.row, progress);
    }

    /// Says that the run would not get faster by more hands than these.
    pub(super) fn set_useful_width(&self, width: u32) {
        self.put(field::USEFUL_WIDTH, u64::from(width));
        self.pass_on();
    }

    /// Says how many hands the run has from elsewhere.
    pub(super) fn set_external(&self, count: u64) {
        self.put(field::EXTERNAL, count);
    }

    /// Gives a hand back; false, and harmless, when it had been taken away.
    pub(super) fn give_back(&self, taken: Taken) -> bool {
        if self.words().load(row_word(self.row, field::WAITING)) > 0 {
            // Its time without a hand begins now.
            self.put(field::HUNGRY_SINCE_MS, now_ms());
        }
        let was_held = hands::give_back(self.words(), taken);
        self.pass_on();
        was_held
    }

    /// Wakes the run whose turn it is to take what is free, this one included. Whoever takes a hand does the same, so that of
    /// several that came free at once each finds its run. If the one that was woken is stopped, the others' slow looks find the
    /// hand.
    pub(super) fn pass_on(&self) {
        if !row::is_anybody_hungry(self.words()) {
            return;
        }
        if let Some(row) = TableView::look(self.words(), now_ms()).next_in_turn() {
            self.table.wake(row);
        }
    }

    /// How long a hungry run may sleep until it looks after the others itself; `patience` where it is the only one.
    pub(super) fn until_own_look(&self, patience: Duration) -> Duration {
        let hungry: Vec<usize> = row::hungry_or_listening(self.words()).collect();
        match hungry.binary_search(&self.row) {
            Ok(place) if hungry.len() > 1 => sleep::until_turn(place, hungry.len(), now_ms()),
            _ => patience,
        }
    }

    /// Whether a worker more would get a hand as soon as one is given back, or find one free.
    pub(super) fn may_hold_one_more(&self) -> bool {
        let view = self.look();
        view.position(self.row).is_some_and(|position| view.may_hold_one_more(position))
    }

    /// Whether this run's turn came between two times: all that are here, hungry or not, have theirs one after the other.
    pub(super) fn had_its_turn(&self, after_ms: u64, until_ms: u64) -> bool {
        let place = row::present(self.words()).take_while(|&row| row != self.row).count();
        let turn = sleep::until_turn(place, row::present(self.words()).count(), after_ms);
        turn <= Duration::from_millis(until_ms.saturating_sub(after_ms))
    }

    /// Sleeps until the wake word changes after `since`, until another run dies, or until `timeout` is over.
    pub(super) fn sleep(&self, since: SleepMoment, timeout: Duration) {
        sleep::sleep(&self.table, self.row, since, timeout);
    }

    /// Ends this run's own sleep.
    pub(super) fn wake_own(&self) {
        self.table.wake(self.row);
    }

    /// From now on other runs wake when they become hungry: this one has no yield points at which it would notice.
    pub(super) fn listen(&self) {
        self.put(field::LISTENS, 1);
    }

    /// The other runs.
    pub(super) fn company(&self) -> Company {
        let mut others = row::present(self.words()).filter(|&row| row != self.row).peekable();
        match () {
            () if others.peek().is_none() => Company::Nobody,
            () if others.any(|row| row::is_hungry(self.words(), row)) => Company::Hungry,
            () => Company::Content,
        }
    }

    /// Hands that the run could come to hold if it were of use to it to have `width` of them.
    pub(super) fn may_hold(&self, width: u32) -> u32 {
        let view = self.look();
        view.position(self.row).map_or(1, |position| view.may_hold(position, width))
    }

    /// Whether any run waits for a hand.
    pub(super) fn is_anybody_hungry(&self) -> bool {
        row::is_anybody_hungry(self.words())
    }

    /// Frees what the dead and the stopped hold, and tells everybody when something came of it. If not, whose turn was a stopped
    /// one's may be woken for nothing: the hand is another's then.
    pub(super) fn reap_others(&self) {
        if hands::reap_all(self.words(), &self.witness(), self.row) > 0 {
            self.table.wake_all();
        } else {
            self.pass_on();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        hands::empty(self.words(), self.row);
        // The death word goes before the lock does: the row's next owner sets its own.
        drop(self.keeper.take());
        self.table.tell_watchers();
        tell_listeners(&self.table, self.row);
        self.pass_on();
        // A failure (the thread that claimed the row is gone) leaves the lock to the end of the mapping, which follows at once.
        let _closing_unlocks = byte_lock::unlock(&self.locks, self.row as u64);
    }
}

/// What the kernel tells about other runs: their locks, their marks, their processes.
pub(super) struct KernelWitness<'a> {
    table: &'a MemoryTable,
    locks: BorrowedFd<'a>,
    namespace: Option<u64>,
}

impl<'a> KernelWitness<'a> {
    /// Locks are asked for through `locks`; `namespace` is the asker's own, where it is known.
    pub(super) fn new(table: &'a MemoryTable, locks: BorrowedFd<'a>, namespace: Option<u64>) -> Self {
        Self { table, locks, namespace }
    }
}

impl Witness for KernelWitness<'_> {
    fn try_lock(&self, row: usize) -> bool {
        // A lock that cannot be asked for (out of memory for locks) is one that was not got.
        byte_lock::try_lock(self.locks, row as u64).unwrap_or(false)
    }

    fn unlock(&self, row: usize) {
        let _closing_unlocks = byte_lock::unlock(self.locks, row as u64);
    }

    fn life(&self, row: usize) -> Life {
        if self.table.death_word(row).load(Ordering::SeqCst) & OWNER_DIED != 0 {
            return Life::Gone;
        }
        match row::read(self.table.words(), row) {
            // Process numbers of another namespace mean nothing here.
            Some(seen) if self.namespace == Some(seen.identity.namespace) => life_of(seen.identity),
            _ => Life::Runs,
        }
    }
}

/// What `/proc` says about a process of this pid namespace. When it does not answer, nothing speaks against its running.
pub(super) fn life_of(identity: RowIdentity) -> Life {
    match process_facts(&Host::real(), identity.process) {
        Ok(None) => Life::Gone,
        Ok(Some(facts)) if facts.start_ticks != identity.start_ticks => Life::Gone,
        Ok(Some(facts)) if facts.is_stopped => Life::Stopped,
        Ok(Some(_)) if machine::is_frozen(&Host::real(), identity.process).unwrap_or(false) => Life::Stopped,
        Ok(Some(_)) | Err(_) => Life::Runs,
    }
}
