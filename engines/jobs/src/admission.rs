//! Whether memory lets a job start: pure rules, simulated in `admission/simulated.rs`.
//! The sum of what running jobs are expected to need stays within the cap. What has never been seen is taken for its share of the
//! cap, so a run of unknown jobs is as wide as it would be without this. A job that fits nowhere starts when nothing runs.

#[cfg(test)]
mod simulated;

use crate::classes::{Classes, JobClass};
use std::collections::HashMap;

/// Memory pressure above which nothing more starts, and the one below which it does again: shares of the time in which some
/// task waited for memory (PSI `some`). Between them it stays as it was, so that starts do not flutter.
const BRAKED_FROM: f64 = 0.20;
const FREED_FROM: f64 = 0.05;

/// What the machine offers just now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weather {
    /// What can be had without swapping; none where nobody says.
    pub available_bytes: Option<u64>,
    /// Share of the time since the last look in which some task waited for memory.
    pub pressure: f64,
}

/// Why a job does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionRefusal {
    /// It does not fit beside those that run; the next end may change that.
    Full,
    /// The machine is short of memory, whoever has it; time may change that.
    Short,
}

/// What a job counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It said so itself.
    Stated(u64),
    /// What its class needs.
    Learnt(JobClass),
}

/// The books of memory.
#[derive(Debug)]
pub struct MemoryAdmission {
    cap_bytes: u64,
    width: usize,
    stated_bytes: u64,
    running: HashMap<JobClass, usize>,
    count: usize,
    is_braked: bool,
    weather: Weather,
}

impl MemoryAdmission {
    /// Nothing runs.
    pub fn new(cap_bytes: u64, width: usize) -> Self {
        Self {
            cap_bytes,
            width: width.max(1),
            stated_bytes: 0,
            running: HashMap::new(),
            count: 0,
            is_braked: false,
            weather: Weather::default(),
        }
    }

    /// Jobs at once, when that changes.
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(1);
    }

    /// Takes in what the machine says.
    pub fn note_weather(&mut self, weather: Weather) {
        self.is_braked = weather.pressure >= if self.is_braked { FREED_FROM } else { BRAKED_FROM };
        self.weather = weather;
    }

    /// What a job is expected to need. The unknown get their share, and never more than the cap.
    pub fn expected_bytes(&self, need: Need, classes: &Classes) -> u64 {
        match need {
            Need::Stated(bytes) => bytes,
            Need::Learnt(class) => match classes.known(class).peak.nearly_most() {
                Some(bytes) => bytes as u64,
                None => self.cap_bytes / self.width as u64,
            },
        }
    }

    /// The bytes that a job is expected to need, and the cap, if the cap is less.
    pub fn excess(&self, need: Need, classes: &Classes) -> Option<[u64; 2]> {
        let expected = self.expected_bytes(need, classes);
        (expected > self.cap_bytes).then_some([expected, self.cap_bytes])
    }

    /// What all that run are expected to need, by what is known now.
    pub fn held_bytes(&self, classes: &Classes) -> u64 {
        let of_class = |(class, count): (&JobClass, &usize)| {
            self.expected_bytes(Need::Learnt(*class), classes).saturating_mul(*count as u64)
        };
        self.running.iter().map(of_class).fold(self.stated_bytes, u64::saturating_add)
    }

    /// Whether a job may start.
    pub fn judge(&self, need: Need, classes: &Classes) -> Result<(), AdmissionRefusal> {
        // With nothing running there is nothing to wait for.
        if self.count == 0 {
            return Ok(());
        }
        let expected = self.expected_bytes(need, classes);
        let is_guess = matches!(need, Need::Learnt(class) if classes.known(class).peak.count() == 0);
        if self.held_bytes(classes).saturating_add(expected) > self.cap_bytes {
            return Err(AdmissionRefusal::Full);
        }
        let lacks = self.weather.available_bytes.is_some_and(|available| !is_guess && available < expected);
        if self.is_braked || lacks { Err(AdmissionRefusal::Short) } else { Ok(()) }
    }

    /// A job has started.
    pub fn begin(&mut self, need: Need) {
        self.count += 1;
        match need {
            Need::Stated(bytes) => self.stated_bytes = self.stated_bytes.saturating_add(bytes),
            Need::Learnt(class) => *self.running.entry(class).or_default() += 1,
        }
    }

    /// A job has ended.
    pub fn end(&mut self, need: Need) {
        self.count -= 1;
        match need {
            Need::Stated(bytes) => self.stated_bytes = self.stated_bytes.saturating_sub(bytes),
            Need::Learnt(class) => {
                let left = self.running.get_mut(&class).map_or(0, |count| {
                    *count -= 1;
                    *count
                });
                if left == 0 {
                    self.running.remove(&class);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(peaks: &[u64]) -> (Classes, Need) {
        let mut classes = Classes::default();
        let class = classes.class("a");
        peaks.iter().for_each(|peak| classes.note(class, Some(*peak), 1.0));
        (classes, Need::Learnt(class))
    }

    #[test]
    fn known_jobs_start_until_the_sum_is_full() {
        let (classes, need) = known(&[40, 40]);
        let mut admission = MemoryAdmission::new(100, 8);
        for _ in 0..2 {
            assert_eq!(admission.judge(need, &classes), Ok(()));
            admission.begin(need);
        }
        assert_eq!(
            (admission.held_bytes(&classes), admission.judge(need, &classes)),
            (80, Err(AdmissionRefusal::Full))
        );
        assert_eq!(admission.judge(Need::Stated(20), &classes), Ok(()));
        admission.end(need);
        assert_eq!(admission.judge(need, &classes), Ok(()));
    }

    #[test]
    fn unknown_jobs_fill_the_width_and_no_more() {
        let (classes, need) = known(&[]);
        let mut admission = MemoryAdmission::new(100, 3);
        for _ in 0..3 {
            assert_eq!(admission.judge(need, &classes), Ok(()));
            admission.begin(need);
        }
        assert_eq!(admission.judge(need, &classes), Err(AdmissionRefusal::Full));
    }

    #[test]
    fn what_is_learnt_counts_for_those_that_run_too() {
        let (mut classes, need) = known(&[]);
        let mut admission = MemoryAdmission::new(100, 10);
        (0..4).for_each(|_| admission.begin(need));
        assert_eq!(admission.held_bytes(&classes), 40);
        let Need::Learnt(class) = need else { panic!("it is learnt") };
        classes.note(class, Some(30), 1.0);
        assert_eq!(
            (admission.held_bytes(&classes), admission.judge(need, &classes)),
            (120, Err(AdmissionRefusal::Full))
        );
    }

    #[test]
    fn a_job_above_the_cap_runs_alone() {
        let classes = Classes::default();
        let mut admission = MemoryAdmission::new(100, 2);
        assert_eq!(admission.judge(Need::Stated(1000), &classes), Ok(()));
        assert_eq!(admission.excess(Need::Stated(1000), &classes), Some([1000, 100]));
        assert_eq!(admission.excess(Need::Stated(100), &classes), None);
        admission.begin(Need::Stated(1000));
        assert_eq!(admission.judge(Need::Stated(1), &classes), Err(AdmissionRefusal::Full));
    }

    #[test]
    fn pressure_brakes_until_it_has_nearly_gone() {
        let classes = Classes::default();
        let mut admission = MemoryAdmission::new(100, 2);
        let weather = |pressure| Weather { available_bytes: Some(50), pressure };
        let mut judged = |pressure, bytes| {
            admission.note_weather(weather(pressure));
            admission.count = 1;
            admission.judge(Need::Stated(bytes), &classes)
        };
        assert_eq!(judged(0.19, 1), Ok(()));
        assert_eq!(judged(0.20, 1), Err(AdmissionRefusal::Short));
        assert_eq!(judged(0.10, 1), Err(AdmissionRefusal::Short));
        assert_eq!(judged(0.04, 1), Ok(()));
        assert_eq!(judged(0.10, 1), Ok(()));
        assert_eq!(judged(0.0, 51), Err(AdmissionRefusal::Short));
    }
}
