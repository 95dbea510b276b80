//! How long jobs took in earlier runs: by what each job is, else by its class. Memory is bounded whatever the journal's length.

use jobs::classes::RunningStatistics;
use jobs::journal::JobOutcome;
use jobs::journal::times::{EndedJob, each_end};
use jobs::key::JobKey;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// LIMIT: jobs that are known one by one, 70 MB of them; those behind them count for their class.
const JOBS_MAX: usize = 1 << 20;

/// LIMIT: classes that are told apart, as many as `jobs::classes` tells apart.
const CLASSES_MAX: usize = 4096;

/// LIMIT: times that a median is of: the last ones, as many as a class's mean remembers.
const RECENT_MAX: usize = 64;

/// Times of jobs that have ended.
#[derive(Debug)]
pub struct JobTimes {
    jobs: HashMap<JobKey, KnownTime>,
    jobs_max: usize,
    classes: HashMap<Box<str>, ClassTimes>,
    all: ClassTimes,
    /// Lines that could not be read: cut off by a crash.
    pub lines_unread: u64,
}

impl Default for JobTimes {
    fn default() -> Self {
        let (jobs, classes) = (HashMap::new(), HashMap::new());
        Self { jobs, jobs_max: JOBS_MAX, classes, all: ClassTimes::default(), lines_unread: 0 }
    }
}

#[derive(Clone, Copy, Debug)]
struct KnownTime {
    seconds: f64,
    succeeded: bool,
}

/// Times of jobs that have something in common. Those that failed count while none has succeeded.
#[derive(Clone, Debug, Default)]
pub struct ClassTimes {
    succeeded: RecentTimes,
    failed: RecentTimes,
}

#[derive(Clone, Debug, Default)]
struct RecentTimes {
    statistics: RunningStatistics,
    last: VecDeque<f64>,
}

impl ClassTimes {
    fn note(&mut self, seconds: f64, succeeded: bool) {
        let times = if succeeded { &mut self.succeeded } else { &mut self.failed };
        times.statistics.note(seconds);
        if times.last.len() == RECENT_MAX {
            times.last.pop_front();
        }
        times.last.push_back(seconds);
    }

    fn counted(&self) -> &RecentTimes {
        if self.succeeded.statistics.count() > 0 { &self.succeeded } else { &self.failed }
    }

    /// How many there are.
    pub fn jobs(&self) -> u64 {
        self.counted().statistics.count()
    }

    /// Their mean, where older ones fade; none of none. Sums of work are made of it.
    pub fn mean_s(&self) -> Option<f64> {
        (self.jobs() > 0).then(|| self.counted().statistics.mean())
    }

    /// The median of the last ones: the time of a job as most are.
    pub fn median_s(&self) -> Option<f64> {
        let mut times: Vec<f64> = self.counted().last.iter().copied().collect();
        times.sort_by(f64::total_cmp);
        let middle = times.len() / 2;
        match times.len() {
            0 => None,
            count if count.is_multiple_of(2) => Some(f64::midpoint(times[middle - 1], times[middle])),
            _ => Some(times[middle]),
        }
    }
}

/// A list's expected times.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEstimates {
    /// Seconds of each job, in the order of the list.
    pub seconds: Vec<f64>,
    /// Jobs that have run before.
    pub by_job: usize,
    /// Jobs of which others of their class have.
    pub by_class: usize,
    /// Jobs of which nothing is known: the mean of all stands for them.
    pub guessed: usize,
}

impl JobTimes {
    /// Reads a journal; one that is not there knows nothing.
    pub fn read(path: &Path) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read_from(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The same from its lines.
    pub fn read_from(lines: impl BufRead) -> io::Result<Self> {
        let mut times = Self::default();
        times.add(lines)?;
        Ok(times)
    }

    /// Learns from the lines of one more journal.
    pub fn add(&mut self, lines: impl BufRead) -> io::Result<()> {
        self.lines_unread += each_end(lines, |end| self.note(&end))?;
        Ok(())
    }

    fn note(&mut self, end: &EndedJob) {
        let succeeded = match end.outcome {
            JobOutcome::Ok => true,
            JobOutcome::Failed | JobOutcome::TimedOut | JobOutcome::OutputLost => false,
            // One that was stopped would have taken longer, nobody knows how long.
            JobOutcome::Stopped | JobOutcome::NotStarted => return,
        };
        self.all.note(end.seconds, succeeded);
        self.note_class(&end.class, end.seconds, succeeded);
        let room = self.jobs.len() < self.jobs_max;
        match self.jobs.get_mut(&end.key) {
            Some(known) if succeeded || !known.succeeded => *known = KnownTime { seconds: end.seconds, succeeded },
            None if room => {
                self.jobs.insert(end.key, KnownTime { seconds: end.seconds, succeeded });
            }
            _ => {}
        }
    }

    fn note_class(&mut self, name: &str, seconds: f64, succeeded: bool) {
        if let Some(class) = self.classes.get_mut(name) {
            class.note(seconds, succeeded);
        } else if self.classes.len() < CLASSES_MAX {
            self.classes.entry(name.into()).or_default().note(seconds, succeeded);
        }
    }

    /// How long a job is expected to take: as long as last time, or as the mean of its class. None if neither is known.
    pub fn expected(&self, key: JobKey, class: &str) -> Option<f64> {
        self.of_job(key).or_else(|| self.of_class(class)?.mean_s())
    }

    fn of_job(&self, key: JobKey) -> Option<f64> {
        self.jobs.get(&key).map(|known| known.seconds)
    }

    /// What is known of a class.
    pub fn of_class(&self, class: &str) -> Option<&ClassTimes> {
        self.classes.get(class)
    }

    /// What is known of all jobs.
    pub fn all(&self) -> &ClassTimes {
        &self.all
    }

    /// Expected times of a whole list, each job by its key and class. None if no job and no class of it is known.
    pub fn estimates<'a>(&self, list: impl Iterator<Item = (JobKey, &'a str)>) -> Option<JobEstimates> {
        let mean = self.all.mean_s()?;
        let mut estimates = JobEstimates { seconds: Vec::new(), by_job: 0, by_class: 0, guessed: 0 };
        for (key, class) in list {
            let (seconds, count) = match (self.of_job(key), self.of_class(class).and_then(ClassTimes::mean_s)) {
                (Some(seconds), _) => (seconds, &mut estimates.by_job),
                (None, Some(seconds)) => (seconds, &mut estimates.by_class),
                (None, None) => (mean, &mut estimates.guessed),
            };
            *count += 1;
            estimates.seconds.push(seconds);
        }
        (estimates.by_job + estimates.by_class > 0).then_some(estimates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> JobKey {
        JobKey::of_command([name.as_bytes()].into_iter())
    }

    fn end(name: &str, class: &str, outcome: JobOutcome, seconds: f64) -> EndedJob {
        EndedJob { key: key(name), class: class.to_owned(), outcome, began_s: 0.0, seconds }
    }

    fn times(ends: &[EndedJob]) -> JobTimes {
        let mut times = JobTimes::default();
        ends.iter().for_each(|end| times.note(end));
        times
    }

    #[test]
    fn the_last_success_counts_and_a_failure_only_without_one() {
        let times = times(&[
            end("a", "x", JobOutcome::Failed, 9.0),
            end("a", "x", JobOutcome::Ok, 1.0),
            end("a", "x", JobOutcome::Ok, 2.0),
            end("a", "x", JobOutcome::TimedOut, 60.0),
            end("b", "y", JobOutcome::Failed, 5.0),
            end("b", "y", JobOutcome::TimedOut, 6.0),
            end("c", "z", JobOutcome::Stopped, 7.0),
            end("c", "z", JobOutcome::NotStarted, 0.0),
        ]);
        assert_eq!(times.expected(key("a"), "x"), Some(2.0));
        assert_eq!(times.expected(key("b"), "y"), Some(6.0));
        assert_eq!(times.expected(key("c"), "z"), None);
        let known = |class: &str| times.of_class(class).map(|known| (known.jobs(), known.mean_s(), known.median_s()));
        assert_eq!(known("x"), Some((2, Some(1.5), Some(1.5))), "successes alone");
        assert_eq!(known("y"), Some((2, Some(5.5), Some(5.5))), "there is nothing else");
    }

    #[test]
    fn a_job_that_is_not_known_is_expected_as_its_class_and_a_list_needs_one_that_is() {
        let times = times(&[
            end("a", "x", JobOutcome::Ok, 1.0),
            end("b", "x", JobOutcome::Ok, 1.0),
            end("c", "x", JobOutcome::Ok, 10.0),
            end("d", "y", JobOutcome::Ok, 4.0),
        ]);
        assert_eq!(times.expected(key("new"), "x"), Some(4.0));
        assert_eq!(times.of_class("x").and_then(ClassTimes::median_s), Some(1.0));
        assert_eq!(times.expected(key("new"), "new"), None);
        let list = [(key("c"), "x"), (key("new"), "y"), (key("new"), "new")];
        let estimates = times.estimates(list.into_iter()).expect("one is known");
        assert_eq!(estimates.seconds, [10.0, 4.0, 4.0]);
        assert_eq!((estimates.by_job, estimates.by_class, estimates.guessed), (1, 1, 1));
        assert_eq!(times.estimates(list.into_iter().skip(2)), None);
        assert_eq!(JobTimes::default().estimates(list.into_iter()), None);
    }

    #[test]
    fn jobs_beyond_the_limit_count_for_their_class() {
        let mut times = JobTimes { jobs_max: 2, ..JobTimes::default() };
        for (number, name) in ["a", "b", "c", "a"].into_iter().enumerate() {
            times.note(&end(name, "x", JobOutcome::Ok, number as f64));
        }
        assert_eq!(times.jobs.len(), 2);
        assert_eq!(times.expected(key("a"), "x"), Some(3.0), "one that is kept is kept up to date");
        assert_eq!(times.expected(key("c"), "x"), Some(1.5));
        for number in 0..CLASSES_MAX + 10 {
            times.note(&end("a", &number.to_string(), JobOutcome::Ok, 1.0));
        }
        assert_eq!(times.classes.len(), CLASSES_MAX);
        assert_eq!(times.all().jobs(), 4 + CLASSES_MAX as u64 + 10);
    }

    #[test]
    fn a_journal_is_read_past_damaged_lines() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        assert!(JobTimes::read(&path).expect("there is none").all().mean_s().is_none());
        let line = |byte: u8, seconds: f64| {
            let key = format!("{byte:02x}").repeat(16);
            format!(r#"{{"job":1,"key":"{key}","class":"a","outcome":"ok","began":1.0,"seconds":{seconds}}}"#)
        };
        std::fs::write(&path, [line(1, 1.0), "{\"job\":1,\"k".to_owned(), line(2, 3.0)].join("\n")).expect("written");
        let times = JobTimes::read(&path).expect("readable");
        assert_eq!((times.all().jobs(), times.all().mean_s(), times.lines_unread), (2, Some(2.0), 1));
    }

    #[test]
    fn a_class_that_changes_is_followed() {
        let mut class = ClassTimes::default();
        (0..1000).for_each(|_| class.note(100.0, true));
        (0..RECENT_MAX).for_each(|_| class.note(10.0, true));
        assert_eq!(class.median_s(), Some(10.0));
        assert!(class.mean_s().is_some_and(|mean| mean < 50.0), "{class:?}");
    }
}
