//! Jobs that have been read and not started: in the list's order, behind barriers, behind the jobs they name in `after`.
//! Starts nothing and knows no clock. Names in `after` are looked up once, when the job is read, among those that stand before it: so
//! there are no circles, and nothing depends on how far the list has been read.

use crate::spec::Spec;
use crate::start::StartFault;
use std::collections::{HashMap, VecDeque};

/// A job that waits.
#[derive(Debug)]
pub(crate) struct Pending {
    pub spec: Spec,
    /// Attempts that have failed.
    pub failures: u32,
    /// When it could have started, in nanoseconds since the run began.
    pub since_ns: u64,
}

#[derive(Debug)]
enum Entry {
    Job(Pending),
    After(Box<Waiting>),
    Barrier,
}

/// A job that waits for others.
#[derive(Debug)]
struct Waiting {
    pending: Pending,
    /// The numbers of the jobs in its `after`, name by name; none where no earlier job has the name.
    needed: Vec<Option<u64>>,
}

/// How a named job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Open,
    Succeeded,
    Failed,
}

/// What can be started next.
#[derive(Debug)]
pub(crate) enum NextJob {
    /// This.
    Job(Pending),
    /// This never: a job it names failed, or there is none of that name before it.
    Refused(Pending, StartFault),
    /// Nothing until a running job has ended.
    Blocked,
    /// Nothing is here.
    Empty,
}

/// LIMIT: jobs that may pass one for which there is not enough memory; then it is waited for, so it never starves.
pub(crate) const PASSED_MAX: usize = 16;

/// Jobs that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// One for which there was not enough memory.
    aside: Option<Pending>,
    /// Jobs that have been taken since it was set aside.
    passed: usize,
    entries: VecDeque<Entry>,
    /// Jobs that may start before all others: released by others, or to be tried again.
    first: VecDeque<Entry>,
    held: Vec<Waiting>,
    /// The last job of each name.
    names: HashMap<String, u64>,
    /// How each job that has a name stands, by its number.
    named: HashMap<u64, Named>,
    jobs: usize,
    barriers_passed: u64,
}

impl Queue {
    pub fn push(&mut self, spec: Spec, since_ns: u64) {
        let more = spec.more.as_deref();
        let after = more.map_or(&[][..], |more| &more.after);
        let needed: Vec<Option<u64>> = after.iter().map(|name| self.names.get(name).copied()).collect();
        if let Some(id) = more.and_then(|more| more.id.clone()) {
            self.names.insert(id, spec.number);
            self.named.insert(spec.number, Named::Open);
        }
        self.jobs += 1;
        let pending = Pending { spec, failures: 0, since_ns };
        self.entries.push_back(match needed.is_empty() {
            true => Entry::Job(pending),
            false => Entry::After(Box::new(Waiting { pending, needed })),
        });
    }

    /// One barrier behind another says nothing new, so there are never more of them than jobs, and one.
    pub fn push_barrier(&mut self) {
        if !matches!(self.entries.back(), Some(Entry::Barrier)) {
            self.entries.push_back(Entry::Barrier);
        }
    }

    pub fn try_again(&mut self, pending: Pending) {
        self.jobs += 1;
        self.first.push_back(Entry::Job(pending));
    }

    /// Jobs that wait. A barrier behind the last of them keeps nobody waiting.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Drops all of them; their numbers.
    pub fn clear(&mut self) -> Vec<u64> {
        let (first, entries) = (std::mem::take(&mut self.first), std::mem::take(&mut self.entries));
        let queued = first.into_iter().chain(entries).filter_map(|entry| match entry {
            Entry::Job(pending) => Some(pending),
            Entry::After(waiting) => Some(waiting.pending),
            Entry::Barrier => None,
        });
        let held = std::mem::take(&mut self.held).into_iter().map(|waiting| waiting.pending);
        let all = queued.chain(held).chain(self.aside.take());
        self.jobs = 0;
        all.map(|pending| pending.spec.number).collect()
    }

    /// Takes what can be started next, while `running` jobs run.
    pub fn next(&mut self, running: usize) -> NextJob {
        if self.aside.is_some() && self.passed >= PASSED_MAX {
            return NextJob::Blocked;
        }
        let next = self.next_behind(running + usize::from(self.aside.is_some()));
        match next {
            NextJob::Job(_) => self.passed += 1,
            NextJob::Empty if self.aside.is_some() => return NextJob::Blocked,
            _ => {}
        }
        next
    }

    /// Takes what comes behind the one that is set aside, which counts as running.
    fn next_behind(&mut self, running: usize) -> NextJob {
        loop {
            match self.first.pop_front().or_else(|| self.entries.pop_front()) {
                None if self.held.is_empty() => return NextJob::Empty,
                None => return NextJob::Blocked,
                Some(Entry::Barrier) => {
                    if running > 0 || !self.held.is_empty() {
                        self.entries.push_front(Entry::Barrier);
                        return NextJob::Blocked;
                    }
                    self.barriers_passed += 1;
                }
                Some(Entry::Job(pending)) => {
                    self.jobs -= 1;
                    return NextJob::Job(pending);
                }
                Some(Entry::After(waiting)) => match self.fault(&waiting) {
                    None if self.is_open(&waiting) => self.held.push(*waiting),
                    fault => {
                        self.jobs -= 1;
                        return match fault {
                            Some(fault) => NextJob::Refused(waiting.pending, fault),
                            None => NextJob::Job(waiting.pending),
                        };
                    }
                },
            }
        }
    }

    /// Sets a job aside for which there is not enough memory, so that smaller ones may pass. One at a time: a second one comes
    /// back to the caller.
    pub fn set_aside(&mut self, pending: Pending) -> Result<(), Pending> {
        if self.aside.is_some() {
            return Err(pending);
        }
        (self.aside, self.passed) = (Some(pending), 0);
        self.jobs += 1;
        Ok(())
    }

    /// Puts the one that was set aside back where it was.
    pub fn keep_aside(&mut self, pending: Pending) {
        self.aside = Some(pending);
        self.jobs += 1;
    }

    pub fn has_one_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// Takes the job that is set aside.
    pub fn take_aside(&mut self) -> Option<Pending> {
        let pending = self.aside.take()?;
        self.jobs -= 1;
        Some(pending)
    }

    /// Puts a job back that could not be started now; it comes next, or behind those before it in the list that came back too.
    pub fn put_back(&mut self, pending: Pending) {
        self.passed = self.passed.saturating_sub(1);
        self.jobs += 1;
        let stands_before =
            |entry: &Entry| matches!(entry, Entry::Job(other) if other.spec.number < pending.spec.number);
        let place = self.first.iter().take_while(|entry| stands_before(entry)).count();
        self.first.insert(place, Entry::Job(pending));
    }

    /// Notes how a named job ended, and releases those that waited for it: they could start from now on.
    pub fn settle(&mut self, number: u64, is_success: bool, now_ns: u64) {
        self.named.insert(number, if is_success { Named::Succeeded } else { Named::Failed });
        let mut index = 0;
        while index < self.held.len() {
            if self.fault(&self.held[index]).is_none() && self.is_open(&self.held[index]) {
                index += 1;
            } else {
                let mut released = self.held.remove(index);
                released.pending.since_ns = now_ns;
                self.first.push_back(Entry::After(Box::new(released)));
            }
        }
    }

    /// Whether a job that it waits for has not ended.
    fn is_open(&self, waiting: &Waiting) -> bool {
        waiting.needed.iter().flatten().any(|number| self.named.get(number) == Some(&Named::Open))
    }

    /// Why it can never start: the first of its names that failed or is no earlier job's.
    fn fault(&self, waiting: &Waiting) -> Option<StartFault> {
        let more = waiting.pending.spec.more.as_deref()?;
        more.after.iter().zip(&waiting.needed).find_map(|(name, number)| match number {
            Some(number) if self.named.get(number) == Some(&Named::Failed) => Some(StartFault::After(name.clone())),
            Some(_) => None,
            None if more.id.as_ref() == Some(name) => Some(StartFault::AfterItself(name.clone())),
            None => Some(StartFault::AfterUnknown(name.clone())),
        })
    }

    /// Barriers that have been passed.
    pub fn barriers_passed(&self) -> u64 {
        self.barriers_passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(number: u64, id: Option<&str>, after: &[&str]) -> Spec {
        let mut spec = Spec { number, ..Spec::default() };
        spec.more_mut().id = id.map(str::to_owned);
        spec.more_mut().after = after.iter().map(|name| (*name).to_owned()).collect();
        spec
    }

    fn number(next: NextJob) -> Option<u64> {
        if let NextJob::Job(pending) = next { Some(pending.spec.number) } else { None }
    }

    #[test]
    fn a_barrier_waits_for_all_that_run() {
        let mut queue = Queue::default();
        queue.push(spec(1, None, &[]), 0);
        queue.push_barrier();
        queue.push(spec(2, None, &[]), 0);
        assert_eq!(number(queue.next(0)), Some(1));
        assert!(matches!(queue.next(1), NextJob::Blocked));
        assert_eq!(number(queue.next(0)), Some(2));
        assert!(matches!(queue.next(1), NextJob::Empty));
    }

    #[test]
    fn a_barrier_behind_another_is_the_same_one() {
        let mut queue = Queue::default();
        (0..5).for_each(|_| queue.push_barrier());
        assert_eq!((queue.jobs(), queue.entries.len()), (0, 1));
        queue.push(spec(1, None, &[]), 0);
        (0..5).for_each(|_| queue.push_barrier());
        assert_eq!((number(queue.next(0)), queue.barriers_passed(), queue.entries.len()), (Some(1), 1, 1));
    }

    #[test]
    fn a_job_waits_for_those_it_names_and_others_pass_it() {
        let mut queue = Queue::default();
        queue.push(spec(1, Some("a"), &[]), 0);
        queue.push(spec(2, Some("b"), &["a"]), 0);
        queue.push(spec(3, None, &[]), 0);
        queue.push(spec(4, None, &["b", "a"]), 0);
        assert_eq!((number(queue.next(0)), number(queue.next(1))), (Some(1), Some(3)));
        assert!(matches!(queue.next(2), NextJob::Blocked));
        queue.settle(1, true, 5);
        let NextJob::Job(released) = queue.next(1) else { panic!("it waits no more") };
        assert_eq!((released.spec.number, released.since_ns), (2, 5), "it could not have started before");
        queue.settle(2, false, 0);
        assert!(
            matches!(queue.next(0), NextJob::Refused(pending, StartFault::After(name)) if pending.spec.number == 4 && name == "b")
        );
        assert_eq!(queue.jobs(), 0);
    }

    #[test]
    fn a_bounded_number_of_jobs_pass_one_that_is_set_aside_and_none_a_barrier() {
        let mut queue = Queue::default();
        (1..=PASSED_MAX as u64 + 2).for_each(|number| queue.push(spec(number, None, &[]), 0));
        let NextJob::Job(first) = queue.next(0) else { panic!("there is one") };
        assert!(queue.set_aside(first).is_ok());
        for number in 2..=PASSED_MAX as u64 + 1 {
            assert_eq!(tests::number(queue.next(1)), Some(number));
        }
        assert!(matches!(queue.next(1), NextJob::Blocked));
        assert_eq!(queue.jobs(), 2);
        assert_eq!(queue.take_aside().map(|pending| pending.spec.number), Some(1));
        let NextJob::Job(last) = queue.next(1) else { panic!("there is one") };
        assert!(queue.set_aside(last).is_ok());
        queue.push_barrier();
        queue.push(spec(99, None, &[]), 0);
        assert!(matches!(queue.next(0), NextJob::Blocked), "the one aside stands before the barrier");
        assert_eq!(queue.clear(), [99, 18]);
        assert!(matches!(queue.next(0), NextJob::Empty));
    }

    /// What is refused, in the list's order, when all of it has been read before the first job starts.
    fn refused(list: &[(&str, &[&str])]) -> Vec<String> {
        let mut queue = Queue::default();
        for (number, (id, after)) in list.iter().enumerate() {
            queue.push(spec(number as u64 + 1, Some(id), after), 0);
        }
        let mut told = Vec::new();
        loop {
            match queue.next(0) {
                NextJob::Job(pending) => queue.settle(pending.spec.number, true, 0),
                NextJob::Refused(pending, fault) => {
                    told.push(format!("{}: {fault}", pending.spec.number));
                    queue.settle(pending.spec.number, false, 0);
                }
                NextJob::Blocked => panic!("nothing runs, and nothing can start"),
                NextJob::Empty => return told,
            }
        }
    }

    #[test]
    fn only_jobs_that_stand_before_it_can_be_waited_for() {
        assert_eq!(refused(&[("a", &["a"])]), ["1: 'a' in its after is the job itself"]);
        let circle = ["1: 'b' in its after is no earlier job", "2: 'a', which it waits for, failed"];
        assert_eq!(refused(&[("a", &["b"]), ("b", &["a"])]), circle);
        assert_eq!(
            refused(&[("a", &[]), ("b", &["a", "later"]), ("later", &[])]),
            ["2: 'later' in its after is no earlier job"]
        );
    }

    #[test]
    fn of_jobs_with_the_same_name_the_last_before_it_is_meant() {
        assert!(refused(&[("a", &[]), ("a", &["a"]), ("b", &["a"])]).is_empty());
        let mut queue = Queue::default();
        queue.push(spec(1, Some("a"), &[]), 0);
        queue.push(spec(2, Some("a"), &[]), 0);
        queue.push(spec(3, None, &["a"]), 0);
        assert_eq!((number(queue.next(0)), number(queue.next(1))), (Some(1), Some(2)));
        queue.settle(1, true, 0);
        assert!(matches!(queue.next(1), NextJob::Blocked), "the second of that name runs");
        queue.settle(2, true, 0);
        assert_eq!(number(queue.next(0)), Some(3));
    }
}
