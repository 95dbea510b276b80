//! Places for jobs: the run's hands, and how long the next job waits for as many as it asks for. Reads no clock.

use super::LOOK_AGAIN_AFTER;
use crate::staff::{JobCrew, Staff};
use std::time::Instant;

/// The run's places.
pub(in crate::run) struct Places {
    pub staff: Staff,
    /// Places that the next job lacks, and until when it waits for them.
    lacking: usize,
    patience: Option<Instant>,
}

impl Places {
    pub fn new(staff: Staff) -> Self {
        Self { staff, lacking: 0, patience: None }
    }

    pub fn at_work(&self) -> usize {
        self.staff.at_work()
    }

    pub fn patience(&self) -> Option<Instant> {
        self.patience
    }

    /// Whether those that run leave less of the width than the next job needs.
    pub fn are_all_at_work(&self, width: usize) -> bool {
        // A job that needs several places waits for its own run's others, not for other runs.
        self.at_work() + self.lacking(width).max(1) > width
    }

    /// Places that are useful while `queued` jobs wait.
    pub fn wanted(&self, width: usize, queued: usize) -> usize {
        let (at_work, lacking) = (self.at_work(), self.lacking(width));
        if lacking > 0 && at_work + lacking > width {
            // The next job needs places of those that run: what it would have besides lies idle until then, and others may have it.
            return at_work;
        }
        width.min(at_work + queued.max(lacking))
    }

    /// The width may have become smaller meanwhile.
    fn lacking(&self, width: usize) -> usize {
        self.lacking.min(width)
    }

    /// Places for the next job, as many as it asks for. When it alone is left to run and others have the hands, it waits a moment
    /// and begins with those there are: nobody promises it more than one.
    pub fn take(&mut self, count: usize, any_runs: bool, now: Instant) -> Option<JobCrew> {
        let is_patient = any_runs || self.patience.is_none_or(|until| now < until);
        let crew = self.staff.take(count).or_else(|| if is_patient { None } else { self.staff.take_fewer() });
        (self.lacking, self.patience) = match (&crew, any_runs) {
            (Some(_), _) => (0, None),
            (None, true) => (count, None),
            (None, false) => (count, self.patience.or(Some(now + LOOK_AGAIN_AFTER))),
        };
        crew
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};

    #[test]
    fn a_job_that_is_alone_waits_a_moment_for_all_its_hands_and_begins_with_those_there_are() {
        let (budget, now) = (InProcess::new(2), Instant::now());
        let (priority, weight) = (Priority::Normal, Weight::default());
        let lease = || budget.lease(Request { priority, weight, useful_width: 2, what: "a test".to_owned() });
        let other = lease();
        let theirs = other.take();
        let mut places = Places::new(Staff::new(lease(), 2).expect("a thread and an eventfd"));
        places.staff.want(1);
        while !places.staff.has_idle() {
            places.staff.collect();
            std::thread::yield_now();
        }
        assert!(places.take(2, true, now).is_none() && places.patience().is_none(), "others run: one of them may end");
        assert!(places.take(2, false, now).is_none());
        assert_eq!((places.patience(), places.wanted(2, 0)), (Some(now + LOOK_AGAIN_AFTER), 2));
        assert!(places.take(2, false, now + LOOK_AGAIN_AFTER / 2).is_none());
        let crew = places.take(2, false, now + LOOK_AGAIN_AFTER).expect("one of two");
        assert_eq!((crew.places(), places.patience(), places.are_all_at_work(1)), (1, None, true));
        places.staff.put_back(crew);
        other.give_back(theirs);
        assert!(places.staff.close());
    }
}
