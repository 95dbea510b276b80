//! Where time went up to a moment, by owner and call: what every way of measuring ends in, and every way of showing begins
//! with. Pure data and its sums.

use super::names::CALL_RUNNING;
use serde::Serialize;

/// Powers of two of durations that are counted apart.
pub const DURATION_KINDS: usize = 28;

/// What was measured between two moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallSnapshot {
    /// From the beginning to the reading.
    pub elapsed_ns: u64,
    /// Each once.
    pub owners: Vec<OwnerTimes>,
    /// Calls of all other threads on the machine, as far as they paid for the measuring.
    pub bystander_calls: u64,
    /// How many samples were taken, where it was sampled.
    pub samples: u64,
    /// What found no room.
    pub lost: Losses,
}

/// What could not be told apart, or not be seen. Nothing here is missing from the sums unless it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Processes or names that stand together under "others".
    pub owners_merged: u64,
    /// Pairs of owner and call that stand together under "others".
    pub calls_merged: u64,
    /// Threads that are not in the table: their number was too large.
    pub threads_missed: u64,
    /// Events that are not in the table: the kernel did not run a program inside itself.
    pub events_missed: u64,
    /// Returns of threads to a CPU that the kernel's tracepoint did not tell: such a wait is taken to last to the end of its call, and is
    /// missing where it was between calls, or where calls are sampled.
    pub returns_unseen: u64,
}

impl Losses {
    /// Whether everything was seen and told apart.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Who spent the time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOwner {
    /// Everybody that was asked for.
    All,
    /// A process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name, when it was last seen.
        name: String,
    },
    /// A thread.
    Thread {
        /// Its process.
        pid: u32,
        /// Its number.
        thread: u32,
        /// Its name, when it was last seen.
        name: String,
    },
    /// All processes of a name.
    Name(String),
    /// All processes of a control group.
    Group {
        /// Its number.
        number: u64,
        /// Its path, where it still exists.
        path: Option<String>,
    },
    /// Those that found no room of their own.
    Others,
}

/// One owner's time. `life_ns` is the sum over its threads of how long each was followed; calls, cut calls and the time
/// between calls make it up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnerTimes {
    /// Who.
    pub who: TimeOwner,
    /// Threads that began to be followed.
    pub threads: u64,
    /// Of them, those that still are.
    pub threads_living: u64,
    /// Time of all threads.
    pub life_ns: u64,
    /// Off the CPU between calls: ready and waiting for one, or for a page.
    pub between_waiting_ns: u64,
    /// What measuring added to the threads' time, outside of their calls; estimated from its cost and the number of calls.
    pub measuring_ns: u64,
    /// In calls that never returned, because the thread ended in them.
    pub cut_ns: u64,
    /// Of it, off the CPU.
    pub cut_waiting_ns: u64,
    /// Samples that met one of its threads.
    pub samples: u64,
    /// Each call once, by number.
    pub calls: Vec<CallTimes>,
}

impl OwnerTimes {
    /// An owner of whom nothing is known yet.
    pub fn new(who: TimeOwner) -> Self {
        Self {
            who,
            threads: 0,
            threads_living: 0,
            life_ns: 0,
            between_waiting_ns: 0,
            measuring_ns: 0,
            cut_ns: 0,
            cut_waiting_ns: 0,
            samples: 0,
            calls: Vec::new(),
        }
    }

    /// Time in calls, those under way and cut short included.
    pub fn in_calls_ns(&self) -> u64 {
        let calls = self.calls.iter().filter(|call| call.number != CALL_RUNNING);
        calls.map(|call| call.total_ns).sum::<u64>() + self.cut_ns
    }

    /// On a CPU, in calls or between them: where looks from outside cannot tell.
    pub fn running_ns(&self) -> u64 {
        self.calls.iter().find(|call| call.number == CALL_RUNNING).map_or(0, |call| call.total_ns)
    }

    /// On a CPU between calls: the program's own work.
    pub fn between_on_cpu_ns(&self) -> u64 {
        let others_ns = self.in_calls_ns() + self.running_ns() + self.between_waiting_ns + self.measuring_ns;
        self.life_ns.saturating_sub(others_ns)
    }

    /// Each call took so much longer because it was measured: that is not the program's own work.
    pub fn take_off_measuring(&mut self, added_to_a_call_ns: f64) {
        let ended: u64 = self.calls.iter().map(|call| call.ended).sum();
        self.measuring_ns = ((ended as f64 * added_to_a_call_ns) as u64).min(self.between_on_cpu_ns());
    }

    /// Other calls than those wanted become part of the time between calls.
    pub fn keep(&mut self, is_wanted: impl Fn(u32) -> bool) {
        let others = self.calls.iter().filter(|call| !is_wanted(call.number));
        self.between_waiting_ns += others.map(|call| call.waiting_ns).sum::<u64>();
        self.calls.retain(|call| is_wanted(call.number));
    }

    /// Takes back what was added to each call, `added_ns` at most, as far as the threads had no time for it.
    pub fn close(&mut self, added_ns: u64) {
        let ended: u64 = self.calls.iter().map(|call| call.ended).sum();
        let excess_ns = (self.in_calls_ns() + self.between_waiting_ns).saturating_sub(self.life_ns);
        let share = (excess_ns as f64 / ended.max(1) as f64).min(added_ns as f64);
        for call in &mut self.calls {
            let back_ns = (share * call.ended as f64).ceil() as u64;
            call.total_ns -= back_ns.min(call.total_ns.saturating_sub(call.waiting_ns));
        }
    }

    /// The row of a call, made when there is none.
    pub fn call(&mut self, number: u32) -> &mut CallTimes {
        match self.calls.binary_search_by_key(&number, |call| call.number) {
            Ok(index) => &mut self.calls[index],
            Err(index) => {
                self.calls.insert(index, CallTimes::new(number));
                &mut self.calls[index]
            }
        }
    }
}

/// One call of one owner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTimes {
    /// Its number; [`super::names::call_name`] knows its name.
    pub number: u32,
    /// How many have ended; 0 where it was sampled.
    pub ended: u64,
    /// How often a sample met it on a CPU.
    pub samples: u64,
    /// How often a thread left its CPU in it, where it was sampled.
    pub waits: u64,
    /// How many were under way.
    pub under_way: u64,
    /// Time in those up to the reading.
    pub under_way_ns: u64,
    /// Time in all of them, those under way included.
    pub total_ns: u64,
    /// Of it, off the CPU: asleep, or ready and waiting for a CPU.
    pub waiting_ns: u64,
    /// Errors by number, most frequent first; number 0 stands for others.
    pub errors: Vec<(u16, u64)>,
    /// How many ended within 64 ns times the powers of two.
    pub durations: [u64; DURATION_KINDS],
    /// The longest.
    pub slowest: Option<Slowest>,
}

impl CallTimes {
    fn new(number: u32) -> Self {
        Self {
            number,
            ended: 0,
            samples: 0,
            waits: 0,
            under_way: 0,
            under_way_ns: 0,
            total_ns: 0,
            waiting_ns: 0,
            errors: Vec::new(),
            durations: [0; DURATION_KINDS],
            slowest: None,
        }
    }

    /// Of those that have ended.
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.saturating_sub(self.under_way_ns).checked_div(self.ended)
    }

    /// One more that is under way, for so long up to now.
    pub fn add_under_way(&mut self, time_ns: u64) {
        self.under_way += 1;
        self.under_way_ns += time_ns;
        self.total_ns += time_ns;
    }

    /// All errors together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }

    /// Adds errors of a kind.
    pub fn add_errors(&mut self, number: u16, count: u64) {
        match self.errors.iter_mut().find(|(known, _)| *known == number) {
            Some((_, known)) => *known += count,
            None => self.errors.push((number, count)),
        }
    }

    /// The duration that `share` (0 to 1) of the ended calls stay below: the upper end of its power of two.
    pub fn duration_below_ns(&self, share: f64) -> Option<u64> {
        let wanted = (self.ended as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let kind = self.durations.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(duration_end_ns(kind))
    }
}

/// Where the durations of a kind end, in nanoseconds.
pub fn duration_end_ns(kind: usize) -> u64 {
    128 << kind
}

/// The longest of an owner's calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slowest {
    /// How long.
    pub duration_ns: u64,
    /// Whose: process.
    pub pid: u32,
    /// Whose: thread.
    pub thread: u32,
    /// Its first argument; for many calls a descriptor.
    pub first_argument: u64,
    /// What that descriptor was when it was looked up, soon after.
    pub path: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_calls_is_between_them() {
        let mut owner =
            OwnerTimes { life_ns: 1000, between_waiting_ns: 100, cut_ns: 50, ..OwnerTimes::new(TimeOwner::All) };
        owner.call(3).total_ns = 400;
        owner.call(1).total_ns = 200;
        assert_eq!(owner.calls.iter().map(|call| call.number).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((owner.in_calls_ns(), owner.between_on_cpu_ns()), (650, 250));
        owner.call(1).total_ns = 5000;
        assert_eq!(owner.between_on_cpu_ns(), 0, "a torn reading is not a huge number");
    }

    #[test]
    fn running_is_neither_in_calls_nor_between_them_where_nobody_can_tell() {
        let mut owner = OwnerTimes { life_ns: 1000, between_waiting_ns: 100, ..OwnerTimes::new(TimeOwner::All) };
        (owner.call(3).total_ns, owner.call(CALL_RUNNING).total_ns) = (200, 700);
        assert_eq!((owner.in_calls_ns(), owner.running_ns(), owner.between_on_cpu_ns()), (200, 700, 0));
    }

    #[test]
    fn what_measuring_took_is_no_work_of_the_program() {
        let mut owner = OwnerTimes { life_ns: 1000, between_waiting_ns: 100, ..OwnerTimes::new(TimeOwner::All) };
        (owner.call(3).total_ns, owner.call(3).ended) = (400, 10);
        owner.take_off_measuring(20.0);
        assert_eq!((owner.measuring_ns, owner.between_on_cpu_ns()), (200, 300));
        let mut short = OwnerTimes { measuring_ns: 0, ..owner };
        short.take_off_measuring(1e9);
        assert_eq!((short.measuring_ns, short.between_on_cpu_ns()), (500, 0));
    }

    #[test]
    fn only_what_was_added_to_calls_is_taken_back_and_only_what_there_was_no_time_for() {
        let mut owner = OwnerTimes { life_ns: 1000, between_waiting_ns: 100, ..OwnerTimes::new(TimeOwner::All) };
        for (number, ended, total_ns, waiting_ns) in [(1, 10, 600, 0), (3, 5, 450, 440)] {
            let call = owner.call(number);
            (call.ended, call.total_ns, call.waiting_ns) = (ended, total_ns, waiting_ns);
        }
        let totals = |owner: &OwnerTimes| owner.calls.iter().map(|call| call.total_ns).collect::<Vec<_>>();
        let mut little = owner.clone();
        little.close(5);
        assert_eq!(totals(&little), [550, 440], "five each, but no wait is shortened");
        owner.close(100);
        assert_eq!(totals(&owner), [500, 440], "150 for 15 calls");
        owner.life_ns = 2000;
        owner.close(100);
        assert_eq!(totals(&owner), [500, 440], "there was time");
    }

    #[test]
    fn durations_are_bounded_by_powers_of_two() {
        let mut call = CallTimes::new(0);
        assert_eq!(call.duration_below_ns(0.5), None);
        call.durations[0] = 90;
        call.durations[3] = 10;
        call.ended = 100;
        assert_eq!(call.duration_below_ns(0.5), Some(128));
        assert_eq!(call.duration_below_ns(0.99), Some(1024));
    }

    #[test]
    fn a_call_under_way_is_not_in_the_mean() {
        let mut call = CallTimes::new(0);
        call.add_under_way(1000);
        assert_eq!((call.total_ns, call.mean_ns()), (1000, None));
        (call.ended, call.total_ns) = (2, call.total_ns + 20);
        assert_eq!((call.under_way, call.mean_ns()), (1, Some(10)));
    }

    #[test]
    fn errors_of_a_kind_are_added_up() {
        let mut call = CallTimes::new(0);
        [(9, 5), (2, 1), (9, 2)].into_iter().for_each(|(number, count)| call.add_errors(number, count));
        assert_eq!((call.errors.clone(), call.error_count()), (vec![(9, 7), (2, 1)], 8));
    }
}
