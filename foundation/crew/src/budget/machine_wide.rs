//! The budget of all runs of a user on this machine: a lease is a row of the shared table, and waits with the others.
//! Without a table it is the budget of one process, and reports why. Theory: `foundation/crew/BUDGET.md`.

mod lookout;
mod proxy;

pub use proxy::{Attention, Company, Proxy};

use super::hands::Taken;
use super::inheritance::Inheritance;
use super::layout::CPUS;
use super::lease_token::{LeaseToken, PassedHand};
use super::progress::{ProgressMeter, ProgressSource};
use super::row::{RowEntry, Standing};
use super::seat::{Seat, TakeOutcome, now_ms};
use super::sleep::{self, SleepMoment};
use super::table::{CrewDirectory, DeathWordThread, MemoryTable, TableError};
use super::{Budget, Hand, HandBooks, HandPlace, InProcess, Lease, Priority, Request, Surroundings};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};
use lookout::Lookout;
use std::error::Error;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Tables that a lease lives through. LIMIT: one is left for the next only when somebody removes it under a running program;
/// after the eighth the run goes on alone.
const SEATS: usize = 8;

/// How often a working run looks whether its table was removed. Longer lets old and new runs overlap longer; shorter costs a
/// system call at more yield points.
const TABLE_CHECK_MS: u64 = 1000;

/// While one run alone is hungry it looks after the dead and the stopped itself, for what no futex tells: first after 10 ms, then
/// twice as late each time up to a round (`sleep::ROUND`). Of several each has its turn in a round.
const LOOK_FIRST: Duration = Duration::from_millis(10);

/// One budget for all runs that use the same table.
#[derive(Clone)]
pub struct MachineWide {
    shared: Arc<Shared>,
}

struct Shared {
    directory: CrewDirectory,
    surroundings: Surroundings,
    /// The table in use, or why there is none.
    table: Mutex<Result<Arc<MemoryTable>, String>>,
    alone: InProcess,
    /// Hands that the runner above has for this process; the first lease claims them.
    inheritance: Mutex<Option<LeaseToken>>,
    /// The highest class whose runs leave cores to external programs.
    gives_way: Option<Priority>,
    death_word_thread: DeathWordThread,
}

impl MachineWide {
    /// Opens, or makes, the table in `directory`. Never fails: see [`MachineWide::why_alone`].
    pub fn open(directory: CrewDirectory, surroundings: Surroundings) -> Self {
        let table = MemoryTable::open(&directory).map(Arc::new).map_err(|error| said(&error));
        let alone = InProcess::new(surroundings.hands());
        let (table, inheritance) = (Mutex::new(table), Mutex::new(None));
        let (gives_way, death_word_thread) = (None, DeathWordThread::OwnThread);
        Self {
            shared: Arc::new(Shared {
                directory,
                surroundings,
                table,
                alone,
                inheritance,
                gives_way,
                death_word_thread,
            }),
        }
    }

    /// With the hands that a runner of jobs has for this process. What `lease_token` says is worth what the table says about it:
    /// [`Lease::inherited`] tells how many there are.
    #[must_use]
    pub fn with_inheritance(self, lease_token: LeaseToken) -> Self {
        *lock(&self.shared.inheritance) = Some(lease_token);
        self
    }

    /// Runs of class `up_to` and below leave alone the cores that programs outside the budget keep busy (`external_programs`).
    #[must_use]
    pub fn giving_way(mut self, up_to: Option<Priority>) -> Self {
        Arc::get_mut(&mut self.shared).expect("a budget is set up before it is shared").gives_way = up_to;
        self
    }

    /// With rows that the first thread of the program marks, where it is the one that takes them: no thread is started for it. For programs
    /// whose first thread uses no robust mutexes of the C library's.
    #[must_use]
    pub fn marked_by_first_thread(mut self) -> Self {
        Arc::get_mut(&mut self.shared).expect("a budget is set up before it is shared").death_word_thread =
            DeathWordThread::FirstThread;
        self
    }

    /// Why this budget is no more than that of one process, as text that reads after "could not"; none when runs share.
    pub fn why_alone(&self) -> Option<String> {
        lock(&self.shared.table).as_ref().err().cloned()
    }

    /// A row that says `entry`; none where runs do not share.
    fn claim(&self, entry: RowEntry) -> Option<Seat> {
        let table = lock(&self.shared.table).as_ref().ok().cloned()?;
        // Removed since it was opened: then the others are at its successor.
        let table = if table.is_still_there() { Ok(table) } else { self.shared.open_anew() };
        let seat = table.and_then(|table| Seat::claim(table, entry, self.shared.death_word_thread));
        let seat = seat.inspect_err(|error| self.shared.go_alone(error)).ok()?;
        Some(seat.preferring(&self.shared.surroundings.topology))
    }
}

/// A row that only shows what a run has from elsewhere: it takes no part in the dividing.
pub struct ShownRow(Seat);

impl ShownRow {
    /// Says how many hands the run has.
    pub fn set_external(&self, count: usize) {
        self.0.set_external(count as u64);
    }
}

impl MachineWide {
    /// Shows a run that has its hands from elsewhere; none where there is no table, or no room in it.
    pub fn show(&self, request: &Request) -> Option<ShownRow> {
        let table = lock(&self.shared.table).as_ref().ok().cloned()?;
        Seat::claim(table, self.shared.entry(request), self.shared.death_word_thread).ok().map(ShownRow)
    }
}

impl Budget for MachineWide {
    fn capacity(&self) -> usize {
        self.shared.surroundings.hands()
    }

    fn lease(&self, request: Request) -> Box<dyn Lease> {
        match self.claim(self.shared.entry(&request)) {
            Some(seat) => Box::new(Member::new(Arc::clone(&self.shared), request, seat)),
            None => self.shared.alone.lease(request),
        }
    }
}

impl Shared {
    fn gives_way(&self, class: Priority) -> bool {
        self.gives_way.is_some_and(|up_to| class <= up_to)
    }

    fn entry(&self, request: &Request) -> RowEntry {
        let (class, weight) = (request.priority, request.weight);
        RowEntry {
            identity: self.surroundings.identity,
            standing: Standing { class, weight, is_paused: false, is_set_aside: false, is_job_slots: false },
            useful_width: width(request.useful_width),
            cpus: self.surroundings.cpus,
            quota: self.surroundings.quota,
            what: request.what.clone(),
            now_ms: now_ms(),
        }
    }

    fn open_anew(&self) -> Result<Arc<MemoryTable>, TableError> {
        let table = Arc::new(MemoryTable::open(&self.directory)?);
        *lock(&self.table) = Ok(Arc::clone(&table));
        Ok(table)
    }

    fn go_alone(&self, error: &TableError) {
        *lock(&self.table) = Err(said(error));
    }
}

/// The error and what caused it, once each.
fn said(error: &TableError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn width(useful_width: usize) -> u32 {
    u32::try_from(useful_width.max(1)).unwrap_or(u32::MAX)
}

/// A lease with a row.
struct Member {
    shared: Arc<Shared>,
    request: Request,
    /// The rows it has had, one a table; the current one is the last. All stay mapped until the end, since hands of an older
    /// table may still be out.
    seats: [OnceLock<Seat>; SEATS],
    /// Index of the current seat; [`SEATS`] when the run goes on alone.
    current: AtomicUsize,
    alone: OnceLock<Box<dyn Lease>>,
    books: Books,
    useful_width: AtomicU32,
    /// Threads in the queue, to be read without its lock.
    waiting: AtomicU32,
    inheritance: Inheritance,
    /// Hands that a proxy wishes for without a thread in the queue.
    wished: AtomicU32,
    queue: Mutex<Queue>,
    changed: Condvar,
    next_check_ms: AtomicU64,
    /// When it was last found too early to hire somebody; 0: nobody has asked since the last one was.
    refused_ms: AtomicU64,
    once_a_second: OnceASecond,
}

/// What is done about once a second at a yield point.
#[derive(Default)]
struct OnceASecond {
    lookout: Mutex<Lookout>,
    meter: Mutex<ProgressMeter>,
}

/// What the waiting threads of a run share.
struct Queue {
    /// Whether one of them sleeps on the table for all.
    is_watched: bool,
    /// The hand that is guaranteed to the run, while it is out.
    first: Option<First>,
}

/// The run's first hand. It begins above capacity, and finds a CPU when one comes free.
#[derive(Clone, Copy)]
struct First {
    seat: usize,
    taken: Taken,
}

impl First {
    fn is_above(self) -> bool {
        self.taken.cpu_slot >= CPUS
    }
}

/// Hands out now and ever, in one word (the lower 16 bits count those out), and those lost.
#[derive(Default)]
struct Books {
    out_and_taken: AtomicU64,
    lost: AtomicU64,
}

impl Books {
    const OUT_BITS: u32 = 16;
    const OUT: u64 = (1 << Self::OUT_BITS) - 1;

    /// Notes one more, unless as many as `most` are out.
    fn note_taken(&self, most: u32) -> bool {
        // ORDER: SeqCst: a giver notes, then looks whether anybody waits; a waiter says so, then looks here.
        let note = |books: u64| {
            (books & Self::OUT < u64::from(most).min(Self::OUT)).then(|| books + (1 << Self::OUT_BITS) + 1)
        };
        self.out_and_taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, note).is_ok()
    }

    /// As if [`Books::note_taken`] had not been called.
    fn cancel(&self) {
        self.out_and_taken.fetch_sub((1 << Self::OUT_BITS) + 1, Ordering::SeqCst);
    }

    fn note_returned(&self) {
        self.out_and_taken.fetch_sub(1, Ordering::SeqCst);
    }

    fn out(&self) -> u32 {
        (self.out_and_taken.load(Ordering::SeqCst) & Self::OUT) as u32
    }

    fn both(&self) -> HandBooks {
        let books = self.out_and_taken.load(Ordering::SeqCst);
        let taken = books >> Self::OUT_BITS;
        let lost = self.lost.load(Ordering::SeqCst);
        HandBooks { taken, returned: taken - (books & Self::OUT), lost }
    }
}

impl Member {
    fn new(shared: Arc<Shared>, request: Request, seat: Seat) -> Self {
        let seats: [OnceLock<Seat>; SEATS] = std::array::from_fn(|_| OnceLock::new());
        let lease_token = lock(&shared.inheritance).take();
        let inheritance = lease_token.map(|lease_token| Inheritance::claim(&seat, &lease_token)).unwrap_or_default();
        let _the_first = seats[0].set(seat);
        Self {
            inheritance,
            useful_width: AtomicU32::new(width(request.useful_width)),
            shared,
            request,
            seats,
            current: AtomicUsize::new(0),
            alone: OnceLock::new(),
            books: Books::default(),
            waiting: AtomicU32::new(0),
            wished: AtomicU32::new(0),
            queue: Mutex::new(Queue { is_watched: false, first: None }),
            changed: Condvar::new(),
            next_check_ms: AtomicU64::new(now_ms() + TABLE_CHECK_MS),
            refused_ms: AtomicU64::new(0),
            once_a_second: OnceASecond::default(),
        }
    }

    /// The row in use; none when the run goes on alone.
    fn seat(&self) -> Option<(usize, &Seat)> {
        // ORDER: Acquire pairs with the Release of `move_on`; the seat itself is published by its OnceLock.
        let number = self.current.load(Ordering::Acquire);
        Some((number, self.seats.get(number)?.get()?))
    }

    fn seat_numbered(&self, number: usize) -> &Seat {
        self.seats[number].get().expect("a hand names the seat that it was taken at")
    }

    fn alone(&self) -> &dyn Lease {
        self.alone.get_or_init(|| self.shared.alone.lease(self.request.clone())).as_ref()
    }

    /// Hands beyond which this run takes none: its useful width and its CPUs.
    fn most(&self) -> u32 {
        let hands = u32::try_from(self.shared.surroundings.hands()).unwrap_or(u32::MAX);
        self.useful_width.load(Ordering::SeqCst).min(hands)
    }

    /// The seat of the inherited hands; none when there are none, or the run has moved to another table, or rests.
    fn inherited_lease(&self) -> Option<&Seat> {
        if self.inheritance.is_empty() {
            return None;
        }
        self.seat().filter(|(number, _)| *number == 0).map(|(_, seat)| seat)
    }

    fn take_inherited(&self) -> Option<Hand> {
        let seat = self.inherited_lease().filter(|seat| !seat.is_paused())?;
        if !self.books.note_taken(self.most()) {
            return None;
        }
        let taken = self.inheritance.take(seat);
        if taken.is_none() {
            self.books.cancel();
        }
        taken.map(|number| Hand { place: HandPlace::Inherited { number } })
    }

    /// While nobody is hungry a free word is all that is needed: no lock, no system call.
    fn take_quickly(&self) -> Option<Hand> {
        if let Some(hand) = self.take_inherited() {
            return Some(hand);
        }
        let (number, seat) = self.seat()?;
        if !seat.is_calm() || !self.books.note_taken(self.most()) {
            return None;
        }
        let taken = seat.take_any();
        if taken.is_none() {
            self.books.cancel();
        }
        taken.map(|taken| Hand { place: HandPlace::Cpu { seat: number, taken } })
    }

    /// Takes what this run is entitled to, hungry or not.
    fn attempt(&self, queue: &mut Queue) -> Option<Hand> {
        if let Some(hand) = self.take_inherited() {
            return Some(hand);
        }
        let (number, seat) = self.seat()?;
        if !self.books.note_taken(self.most()) {
            return None;
        }
        match seat.attempt(queue.first.is_none()) {
            TakeOutcome::Got(taken) => return Some(Hand { place: HandPlace::Cpu { seat: number, taken } }),
            TakeOutcome::Above(taken) => {
                queue.first = Some(First { seat: number, taken });
                self.publish(queue);
                return Some(Hand { place: HandPlace::First });
            }
            TakeOutcome::NotNow => {}
        }
        self.books.cancel();
        None
    }

    /// Waits in the queue until it is this run's turn. One thread of the run sleeps on the table, the others on that one.
    fn take_patiently(&self) -> Hand {
        let mut queue = lock(&self.queue);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut patience = LOOK_FIRST;
        let hand = loop {
            let Some((_, seat)) = self.seat() else { break None };
            // Publishing wakes for those who listen; what happens after it ends the sleep.
            let published = self.publish(&queue);
            let moment = seat.moment();
            if let Some(hand) = self.attempt(&mut queue) {
                break Some(hand);
            }
            queue = self.wait_for_a_change(queue, published, moment, &mut patience);
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.publish(&queue);
        drop(queue);
        // The next one tries, and watches the table if need be.
        self.changed.notify_one();
        // Of two hands that came back at once, both may have woken this run. After the row says what it still waits for.
        self.seat().inspect(|(_, seat)| seat.pass_on());
        hand.unwrap_or_else(|| self.take_alone())
    }

    fn take_alone(&self) -> Hand {
        let hand = self.alone().take();
        self.books.note_taken(u32::MAX);
        hand
    }

    fn wait_for_a_change<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        published: u32,
        moment: SleepMoment,
        patience: &mut Duration,
    ) -> MutexGuard<'a, Queue> {
        let Some((_, seat)) = self.seat() else { return queue };
        // Whose row waits for nothing is woken by nobody but this run's own givers.
        if queue.is_watched || published == 0 {
            return wait(&self.changed, queue);
        }
        queue.is_watched = true;
        drop(queue);
        seat.sleep(moment, seat.until_own_look(*patience));
        *patience = (*patience * 2).min(sleep::ROUND);
        if seat.moment() == moment {
            // Somebody died, or time is up.
            seat.reap_others();
        }
        self.look_after_table();
        let mut queue = lock(&self.queue);
        queue.is_watched = false;
        queue
    }

    /// Tells the table how many hands this run waits for, those beyond its own bounds not counted. Says the number.
    fn publish(&self, queue: &Queue) -> u32 {
        let Some((number, seat)) = self.seat() else { return 0 };
        let room = self.most().saturating_sub(self.books.out());
        let wanted = self.waiting.load(Ordering::SeqCst).saturating_add(self.wished.load(Ordering::SeqCst));
        let waiting = wanted.min(room);
        seat.publish(waiting, queue.first.is_some_and(|first| first.is_above() && first.seat == number));
        waiting
    }

    /// Once in a while: is the table still the one that others use? If not, joins its successor.
    fn look_after_table(&self) {
        let now_ms = now_ms();
        // ORDER: Relaxed: two threads that look at the same time do no harm.
        if now_ms < self.next_check_ms.load(Ordering::Relaxed) {
            return;
        }
        self.next_check_ms.store(now_ms + TABLE_CHECK_MS, Ordering::Relaxed);
        if let Some((_, seat)) = self.seat()
            && seat.is_table_still_there()
        {
            self.publish_progress(seat);
            self.look_for_external_programs(seat);
        } else if let Some((number, _)) = self.seat() {
            self.move_on(number);
        }
    }

    /// Says in the row how far the run is, where it has said how that is found out.
    fn publish_progress(&self, seat: &Seat) {
        if let Some(progress) = lock(&self.once_a_second.meter).read(now_ms()) {
            seat.publish_progress(&progress);
        }
    }

    fn move_on(&self, from: usize) {
        let queue = lock(&self.queue);
        if self.current.load(Ordering::Acquire) != from {
            return;
        }
        let mut entry = self.shared.entry(&self.request);
        // What has changed since it came goes with it.
        entry.useful_width = self.useful_width.load(Ordering::SeqCst);
        entry.standing = Standing { is_set_aside: false, ..self.seat_numbered(from).standing() };
        let joined = self.shared.open_anew().and_then(|table| Seat::claim(table, entry, self.shared.death_word_thread));
        let next = match (joined, self.seats.get(from + 1)) {
            (Ok(seat), Some(free)) => {
                let seat = seat.preferring(&self.shared.surroundings.topology);
                let _nobody_else_moves = free.set(seat);
                from + 1
            }
            (Ok(_), None) => SEATS,
            (Err(error), _) => {
                self.shared.go_alone(&error);
                SEATS
            }
        };
        // ORDER: Release pairs with the Acquire of `seat`.
        self.current.store(next, Ordering::Release);
        self.publish(&queue);
        self.changed.notify_all();
    }

    /// Finds a CPU for the first hand if it runs above capacity and one has come free.
    fn settle_first(&self) {
        let mut queue = lock(&self.queue);
        let Some(above) = queue.first.filter(|first| first.is_above()) else { return };
        if let Some(taken) = self.seat_numbered(above.seat).take_for_above() {
            queue.first = Some(First { taken, ..above });
            self.publish(&queue);
            self.seat_numbered(above.seat).give_back(above.taken);
        }
    }

    fn give_back_to(&self, seat: usize, taken: Taken) {
        if !self.seat_numbered(seat).give_back(taken) {
            // ORDER: SeqCst for uniformity: this happens once in a stop.
            self.books.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn give_back_inherited(&self, number: usize) {
        let is_ours = self.inherited_lease().is_some_and(|seat| {
            let is_ours = self.inheritance.give_back(seat, number);
            // A thread of ours may sleep on the table, where nothing has changed.
            seat.wake_own();
            is_ours
        });
        if !is_ours {
            // ORDER: SeqCst for uniformity: this happens once in a stop or death.
            self.books.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn give_back_first(&self) {
        let mut queue = lock(&self.queue);
        if let Some(first) = queue.first.take() {
            self.give_back_to(first.seat, first.taken);
            if first.is_above() {
                self.seat_numbered(first.seat).publish(0, false);
                // No CPU came free, so nobody wakes for a thread of ours that sleeps on the table; the next first hand is its.
                self.seat_numbered(first.seat).wake_own();
            }
        }
        self.publish(&queue);
    }

    /// The seat and the CPU of a hand, as they stand now.
    fn whereabouts(&self, hand: &Hand) -> (Option<usize>, Option<Taken>) {
        match hand.place {
            HandPlace::Counted
            | HandPlace::Outset
            | HandPlace::Inherited { .. }
            | HandPlace::Beside { .. }
            | HandPlace::ImplicitSlot
            | HandPlace::Slot { .. } => (None, None),
            HandPlace::Cpu { seat, taken } => (Some(seat), Some(taken)),
            HandPlace::First => {
                lock(&self.queue).first.map_or((None, None), |first| (Some(first.seat), Some(first.taken)))
            }
        }
    }
}

impl Lease for Member {
    fn take(&self) -> Hand {
        self.take_quickly().unwrap_or_else(|| self.take_patiently())
    }

    fn try_take(&self) -> Option<Hand> {
        self.take_quickly().or_else(|| {
            let mut queue = lock(&self.queue);
            match self.seat() {
                // What is asked for has to be in the row: entitlement goes by it.
                Some((_, seat)) => {
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                    self.publish(&queue);
                    let hand = self.attempt(&mut queue);
                    self.waiting.fetch_sub(1, Ordering::SeqCst);
                    self.publish(&queue);
                    // Who gave a hand back meanwhile may have woken this run, which does not wait.
                    seat.pass_on();
                    hand
                }
                None => self.alone().try_take().inspect(|_| {
                    self.books.note_taken(u32::MAX);
                }),
            }
        })
    }

    fn give_back(&self, hand: Hand) {
        match hand.place {
            HandPlace::Cpu { seat, taken } => self.give_back_to(seat, taken),
            HandPlace::First => self.give_back_first(),
            HandPlace::Inherited { number } => self.give_back_inherited(number),
            HandPlace::Counted
            | HandPlace::Outset
            | HandPlace::Beside { .. }
            | HandPlace::ImplicitSlot
            | HandPlace::Slot { .. } => {
                self.alone().give_back(hand);
            }
        }
        self.books.note_returned();
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // Under the lock: a thread that has just looked in vain is then asleep and hears it.
            let queue = lock(&self.queue);
            self.changed.notify_one();
            drop(queue);
        }
    }

    fn must_return(&self, hand: &Hand) -> bool {
        if hand.place == HandPlace::Counted {
            return self.alone().must_return(hand);
        }
        self.look_after_table();
        if let HandPlace::Inherited { number } = hand.place {
            return self
                .inherited_lease()
                .is_none_or(|seat| seat.is_paused() || !self.inheritance.is_ours(seat, number));
        }
        if hand.place == HandPlace::First {
            self.settle_first();
        }
        let (number, taken) = self.whereabouts(hand);
        let Some((current, seat)) = self.seat() else { return true };
        if number != Some(current) || taken.is_some_and(|taken| !seat.is_held(taken)) {
            return true;
        }
        // What was inherited is there to be used first: others get the one that it stands in for.
        let stands_in = || {
            seat.is_anybody_hungry()
                && self.inherited_lease().is_some_and(|inherited_lease| self.inheritance.has_idle(inherited_lease))
        };
        seat.must_return(taken) || self.books.out() > self.most() || stands_in()
    }

    /// At once where the hand would come soon, else in turn: a thread that is started while others compute wants a CPU before it can wait.
    fn may_grow(&self) -> bool {
        let Some((_, seat)) = self.seat() else { return true };
        if seat.is_calm() || self.inherited_lease().is_some() {
            return true;
        }
        // ORDER: Relaxed: two threads that ask at once hire in turn all the same.
        let (now_ms, refused_ms) = (now_ms(), self.refused_ms.load(Ordering::Relaxed));
        if now_ms == refused_ms {
            return false;
        }
        let may = seat.may_hold_one_more() || (refused_ms != 0 && seat.had_its_turn(refused_ms, now_ms));
        self.refused_ms.store(if may { 0 } else { now_ms }, Ordering::Relaxed);
        may
    }

    fn books(&self) -> HandBooks {
        self.books.both()
    }

    fn lease_token(&self, hands: &[&Hand]) -> Option<LeaseToken> {
        let (current, seat) = self.seat()?;
        let passed = |hand: &&Hand| match hand.place {
            HandPlace::Inherited { number } => self.inherited_lease().map(|_| self.inheritance.passed(number)),
            _ => match self.whereabouts(hand) {
                (Some(number), Some(taken)) if number == current => Some(PassedHand { taken, lent: None }),
                _ => None,
            },
        };
        let hands: Vec<PassedHand> = hands.iter().filter_map(passed).collect();
        (!hands.is_empty()).then(|| LeaseToken { table: seat.table_number(), hands })
    }

    fn inherited(&self) -> usize {
        self.inheritance.count()
    }

    fn show_progress(&self, source: ProgressSource) {
        lock(&self.once_a_second.meter).begin(source, now_ms());
        self.note_progress();
    }

    fn note_progress(&self) {
        self.seat().inspect(|(_, seat)| self.publish_progress(seat));
    }

    fn set_useful_width(&self, useful_width: usize) {
        let queue = lock(&self.queue);
        self.useful_width.store(width(useful_width), Ordering::SeqCst);
        if let Some((_, seat)) = self.seat() {
            seat.set_useful_width(width(useful_width));
        }
        self.publish(&queue);
        self.changed.notify_all();
    }
}
