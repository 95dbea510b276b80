//! What jobs of a kind have needed so far: peak size and time, by class, from this run and from the journal of earlier ones.
//! A class is the program with its template: what all jobs of a `mh xjobs UTILITY` have in common, or the program's name where
//! each line brings its own. Pure statistics; decides nothing.

use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// LIMIT: classes that are told apart; what comes after them shares one.
const CLASSES_MAX: usize = 4096;

/// LIMIT: so much of a journal's end is read to learn from it, some 2500 jobs: what was last is most like what comes.
const LEARNT_BYTES_MAX: u64 = 1 << 20;

/// From here on older samples fade: a class that changes is followed.
const SAMPLES_MAX: f64 = 64.0;

/// A class, by its place among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobClass(u32);

/// All classes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    names: HashMap<Box<str>, JobClass>,
    known: Vec<KnownClass>,
}

/// What is known of a class.
#[derive(Clone, Debug, Default)]
pub struct KnownClass {
    name: Box<str>,
    /// Its jobs' peak sizes in bytes.
    pub peak: RunningStatistics,
    /// Their times in seconds.
    pub seconds: RunningStatistics,
}

/// Count, mean and spread of a quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningStatistics {
    count: u64,
    mean: f64,
    variance: f64,
    largest: f64,
}

impl RunningStatistics {
    /// Takes in a value.
    pub fn note(&mut self, value: f64) {
        self.count += 1;
        let weight = 1.0 / (self.count as f64).min(SAMPLES_MAX);
        let off = value - self.mean;
        self.mean += weight * off;
        // Welford's recurrence, as a mean of squares so that it can fade.
        self.variance = (1.0 - weight) * (self.variance + weight * off * off);
        self.largest = self.largest.max(value);
    }

    /// Values seen.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, 0 where there are none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation.
    pub fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }

    /// What the next one will hardly exceed: two deviations above the mean, but no more than was ever seen.
    pub fn nearly_most(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.mean + 2.0 * self.deviation()).min(self.largest))
    }
}

/// What is learnt from a line of the journal.
#[derive(Deserialize)]
struct PastJob {
    class: String,
    outcome: String,
    seconds: f64,
    rss_peak_bytes: Option<u64>,
}

impl Classes {
    /// Learns from the end of a journal; one that is not there teaches nothing.
    pub fn learn(path: &Path) -> io::Result<Self> {
        let mut classes = Self::default();
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(classes),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LEARNT_BYTES_MAX)))?;
        let mut bytes = Vec::new();
        file.take(LEARNT_BYTES_MAX).read_to_end(&mut bytes)?;
        // A first line that is cut is no JSON; other kinds of lines have no class.
        let lines = bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<PastJob>(line).ok());
        for job in lines.filter(|job| job.outcome == "ok") {
            let class = classes.class(&job.class);
            classes.note(class, job.rss_peak_bytes, job.seconds);
        }
        Ok(classes)
    }

    /// The class of that name.
    pub fn class(&mut self, name: &str) -> JobClass {
        if let Some(class) = self.names.get(name) {
            return *class;
        }
        if self.known.len() >= CLASSES_MAX {
            return JobClass(CLASSES_MAX as u32 - 1);
        }
        let class = JobClass(self.known.len() as u32);
        self.known.push(KnownClass { name: name.into(), ..KnownClass::default() });
        self.names.insert(name.into(), class);
        class
    }

    /// What is known of a class by that name, if it has been met.
    pub fn find(&self, name: &str) -> Option<&KnownClass> {
        self.names.get(name).map(|class| self.known(*class))
    }

    /// Its name.
    pub fn name(&self, class: JobClass) -> &str {
        &self.known(class).name
    }

    /// What is known of a class.
    pub fn known(&self, class: JobClass) -> &KnownClass {
        &self.known[class.0 as usize]
    }

    /// Takes in a job that succeeded: others end early, and teach too little. Its peak is not always known.
    pub fn note(&mut self, class: JobClass, peak_bytes: Option<u64>, seconds: f64) {
        let known = &mut self.known[class.0 as usize];
        if let Some(bytes) = peak_bytes {
            known.peak.note(bytes as f64);
        }
        known.seconds.note(seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn equal_values_are_expected_again_and_spread_ones_nearly_at_their_largest() {
        let mut sample = RunningStatistics::default();
        assert_eq!((sample.nearly_most(), sample.count()), (None, 0));
        for _ in 0..5 {
            sample.note(7.0);
        }
        assert_eq!((sample.nearly_most(), sample.mean(), sample.deviation()), (Some(7.0), 7.0, 0.0));
        let mut spread = RunningStatistics::default();
        [1.0, 3.0, 1.0, 3.0].into_iter().for_each(|value| spread.note(value));
        assert!((spread.mean() - 2.0).abs() < 1e-9 && (spread.deviation() - 1.0).abs() < 1e-9);
        assert_eq!(spread.nearly_most(), Some(3.0));
    }

    #[test]
    fn a_class_that_changes_is_followed() {
        let mut sample = RunningStatistics::default();
        (0..1000).for_each(|_| sample.note(100.0));
        (0..500).for_each(|_| sample.note(10.0));
        assert!(sample.mean() < 11.0, "{}", sample.mean());
        assert!(sample.nearly_most().is_some_and(|most| most < 20.0));
    }

    #[test]
    fn a_journal_teaches_what_its_last_jobs_needed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        assert!(Classes::learn(&path).expect("there is none").find("a").is_none());
        let mut file = File::create(&path).expect("it is new");
        for (class, outcome, peak) in [("a", "ok", 100), ("a", "failed", 9), ("a", "ok", 100), ("b", "ok", 7)] {
            let line = format!(r#"{{"class":"{class}","outcome":"{outcome}","seconds":2.0,"rss_peak_bytes":{peak}}}"#);
            writeln!(file, "{line}\n{{\"begin\":\"x\",\"job\":1}}\ncut off").expect("written");
        }
        let classes = Classes::learn(&path).expect("readable");
        let known = classes.find("a").expect("it was met");
        assert_eq!((known.peak.count(), known.peak.mean(), known.seconds.mean()), (2, 100.0, 2.0));
        assert_eq!(classes.find("b").map(|known| known.peak.mean()), Some(7.0));
    }

    #[test]
    fn too_many_classes_share_the_last_one() {
        let mut classes = Classes::default();
        let last = (0..CLASSES_MAX + 10).map(|number| classes.class(&number.to_string())).last();
        assert_eq!(last, Some(JobClass(CLASSES_MAX as u32 - 1)));
        assert_eq!(classes.known.len(), CLASSES_MAX);
    }
}
