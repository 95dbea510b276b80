//! Jobs that have been read and not started: in the list's order, behind barriers, behind the jobs they name in `after`.
//! Starts nothing and knows no clock. A name in `after` must stand earlier in the list, so there are no circles.

use crate::spec::Spec;
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
    Barrier,
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
pub(crate) enum Next {
    /// This.
    Job(Pending),
    /// This never: the job it names failed, or there is none of that name before it.
    Refused(Pending, String),
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
    first: VecDeque<Pending>,
    held: Vec<Pending>,
    names: HashMap<String, Named>,
    jobs: usize,
    barriers_passed: u64,
}

impl Queue {
    pub fn push(&mut self, spec: Spec, since_ns: u64) {
        if let Some(id) = spec.more.as_ref().and_then(|more| more.id.clone()) {
            self.names.insert(id, Named::Open);
        }
        self.jobs += 1;
        self.entries.push_back(Entry::Job(Pending { spec, failures: 0, since_ns }));
    }

    pub fn push_barrier(&mut self) {
        self.entries.push_back(Entry::Barrier);
    }

    pub fn try_again(&mut self, pending: Pending) {
        self.jobs += 1;
        self.first.push_back(pending);
    }

    /// Jobs and barriers that wait.
    pub fn len(&self) -> usize {
        usize::from(self.aside.is_some()) + self.first.len() + self.held.len() + self.entries.len()
    }

    /// Jobs that wait.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    pub fn clear(&mut self) -> usize {
        let dropped = self.jobs;
        self.entries.clear();
        self.first.clear();
        self.held.clear();
        self.aside = None;
        self.jobs = 0;
        dropped
    }

    /// Takes what can be started next, while `running` jobs run.
    pub fn next(&mut self, running: usize) -> Next {
        if self.aside.is_some() && self.passed >= PASSED_MAX {
            return Next::Blocked;
        }
        let next = self.next_behind(running + usize::from(self.aside.is_some()));
        match next {
            Next::Job(_) => self.passed += 1,
            Next::Empty if self.aside.is_some() => return Next::Blocked,
            _ => {}
        }
        next
    }

    /// Takes what comes behind the one that is set aside, which counts as running.
    fn next_behind(&mut self, running: usize) -> Next {
        if let Some(pending) = self.first.pop_front() {
            return self.taken(pending);
        }
        loop {
            match self.entries.pop_front() {
                None if self.held.is_empty() => return Next::Empty,
                None => return Next::Blocked,
                Some(Entry::Barrier) => {
                    if running > 0 || !self.held.is_empty() {
                        self.entries.push_front(Entry::Barrier);
                        return Next::Blocked;
                    }
                    self.barriers_passed += 1;
                }
                Some(Entry::Job(pending)) => match self.stand(&pending) {
                    Named::Succeeded => return self.taken(pending),
                    Named::Failed => {
                        let name = self.failed_name(&pending);
                        self.jobs -= 1;
                        return Next::Refused(pending, name);
                    }
                    Named::Open => self.held.push(pending),
                },
            }
        }
    }

    fn taken(&mut self, pending: Pending) -> Next {
        self.jobs -= 1;
        match self.stand(&pending) {
            Named::Failed => {
                let name = self.failed_name(&pending);
                Next::Refused(pending, name)
            }
            _ => Next::Job(pending),
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

    /// Takes the job that is set aside.
    pub fn take_aside(&mut self) -> Option<Pending> {
        let pending = self.aside.take()?;
        self.jobs -= 1;
        Some(pending)
    }

    /// Puts a job back that could not be started now; it comes next.
    pub fn put_back(&mut self, pending: Pending) {
        self.passed = self.passed.saturating_sub(1);
        self.jobs += 1;
        self.first.push_front(pending);
    }

    /// Notes how a named job ended, and releases those that waited for it.
    pub fn settle(&mut self, id: &str, is_success: bool) {
        self.names.insert(id.to_owned(), if is_success { Named::Succeeded } else { Named::Failed });
        let mut index = 0;
        while index < self.held.len() {
            if self.stand(&self.held[index]) == Named::Open {
                index += 1;
            } else {
                self.first.push_back(self.held.remove(index));
            }
        }
    }

    /// How all that a job waits for stands: failed where anything failed or is unknown.
    fn stand(&self, pending: &Pending) -> Named {
        let Some(more) = &pending.spec.more else { return Named::Succeeded };
        let mut stand = Named::Succeeded;
        for name in &more.after {
            match self.names.get(name) {
                Some(Named::Succeeded) => {}
                Some(Named::Open) if more.id.as_ref() != Some(name) => stand = Named::Open,
                _ => return Named::Failed,
            }
        }
        stand
    }

    fn failed_name(&self, pending: &Pending) -> String {
        let mut names = pending.spec.more.iter().flat_map(|more| &more.after);
        let failed = names.find(|name| !matches!(self.names.get(*name), Some(Named::Succeeded | Named::Open)));
        failed.cloned().unwrap_or_default()
    }

    /// Barriers that have been passed.
    pub fn barriers_passed(&self) -> u64 {
        self.barriers_passed
    }

    /// Whether the name is one that has been read.
    pub fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
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

    fn number(next: Next) -> Option<u64> {
        if let Next::Job(pending) = next { Some(pending.spec.number) } else { None }
    }

    #[test]
    fn a_barrier_waits_for_all_that_run() {
        let mut queue = Queue::default();
        queue.push(spec(1, None, &[]), 0);
        queue.push_barrier();
        queue.push(spec(2, None, &[]), 0);
        assert_eq!(number(queue.next(0)), Some(1));
        assert!(matches!(queue.next(1), Next::Blocked));
        assert_eq!(number(queue.next(0)), Some(2));
        assert!(matches!(queue.next(1), Next::Empty));
    }

    #[test]
    fn a_job_waits_for_those_it_names_and_others_pass_it() {
        let mut queue = Queue::default();
        queue.push(spec(1, Some("a"), &[]), 0);
        queue.push(spec(2, Some("b"), &["a"]), 0);
        queue.push(spec(3, None, &[]), 0);
        queue.push(spec(4, None, &["b", "a"]), 0);
        assert_eq!((number(queue.next(0)), number(queue.next(1))), (Some(1), Some(3)));
        assert!(matches!(queue.next(2), Next::Blocked));
        queue.settle("a", true);
        assert_eq!(number(queue.next(1)), Some(2));
        queue.settle("b", false);
        assert!(matches!(queue.next(0), Next::Refused(pending, name) if pending.spec.number == 4 && name == "b"));
        assert_eq!((queue.len(), queue.jobs()), (0, 0));
    }

    #[test]
    fn a_bounded_number_of_jobs_pass_one_that_is_set_aside_and_none_a_barrier() {
        let mut queue = Queue::default();
        (1..=PASSED_MAX as u64 + 2).for_each(|number| queue.push(spec(number, None, &[]), 0));
        let Next::Job(first) = queue.next(0) else { panic!("there is one") };
        assert!(queue.set_aside(first).is_ok());
        for number in 2..=PASSED_MAX as u64 + 1 {
            assert_eq!(tests::number(queue.next(1)), Some(number));
        }
        assert!(matches!(queue.next(1), Next::Blocked));
        assert_eq!((queue.len(), queue.jobs()), (2, 2));
        assert_eq!(queue.take_aside().map(|pending| pending.spec.number), Some(1));
        let Next::Job(last) = queue.next(1) else { panic!("there is one") };
        assert!(queue.set_aside(last).is_ok());
        queue.push_barrier();
        queue.push(spec(99, None, &[]), 0);
        assert!(matches!(queue.next(0), Next::Blocked), "the one aside stands before the barrier");
        assert_eq!(queue.clear(), 2);
        assert!(matches!(queue.next(0), Next::Empty));
    }

    #[test]
    fn a_name_that_has_not_been_read_is_refused() {
        let mut queue = Queue::default();
        queue.push(spec(1, Some("a"), &["a"]), 0);
        queue.push(spec(2, None, &["later"]), 0);
        assert!(matches!(queue.next(0), Next::Refused(..)));
        assert!(matches!(queue.next(0), Next::Refused(_, name) if name == "later"));
    }
}
