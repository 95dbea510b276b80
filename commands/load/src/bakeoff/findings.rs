//! What the records say: of each load and each figure, every arm's median with its interval, and how it stands beside the baseline. Names of fields are the contract of
//! `--json`; docs/json.md has them.

use super::journal::StartRecord;
use ::load::bakeoff::comparison::{ArmComparison, ArmVerdict, SAMPLES_MIN};
use ::load::statistics::{Bootstrap, IntervalEstimate};
use serde::Serialize;
use std::time::Duration;

/// A figure that is compared.
#[derive(Debug)]
pub struct Measure {
    /// Its key in records and JSON.
    pub key: &'static str,
    /// As people read it.
    pub title: &'static str,
    /// Its unit.
    pub unit: MeasureUnit,
    /// Whether more of it is better; none where that is for the reader to say.
    pub is_more_better: Option<bool>,
    /// Whether the short report has it.
    pub is_first: bool,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureUnit {
    /// Of something, a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number.
    Count,
}

impl MeasureUnit {
    /// A value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::PerSecond if value >= 1000.0 => terminal::integer(value.round() as u64),
            Self::PerSecond | Self::Count => terminal::four_digits(value),
            Self::Seconds => terminal::duration(Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX)),
            Self::Bytes => terminal::bytes(value.max(0.0) as u64),
        }
    }
}

const fn measure(key: &'static str, title: &'static str, unit: MeasureUnit, is_more_better: Option<bool>) -> Measure {
    Measure { key, title, unit, is_more_better, is_first: false }
}

const fn first(measure: Measure) -> Measure {
    Measure { is_first: true, ..measure }
}

/// Of a load on a server.
pub const OF_SERVERS: &[Measure] = &[
    first(measure("transactions_per_s", "transactions a second", MeasureUnit::PerSecond, Some(true))),
    first(measure("response_p50_s", "response time, 50 %", MeasureUnit::Seconds, Some(false))),
    measure("response_p95_s", "response time, 95 %", MeasureUnit::Seconds, Some(false)),
    first(measure("response_p99_s", "response time, 99 %", MeasureUnit::Seconds, Some(false))),
    measure("response_p99.9_s", "response time, 99.9 %", MeasureUnit::Seconds, Some(false)),
    first(measure("cpu_s", "server's CPU time a transaction", MeasureUnit::Seconds, Some(false))),
    measure("switches", "server's switches a transaction", MeasureUnit::Count, Some(false)),
    first(measure("memory_peak_bytes", "server's memory, most", MeasureUnit::Bytes, Some(false))),
    measure("virtual_peak_bytes", "server's address space, most", MeasureUnit::Bytes, None),
    first(measure("failed", "transactions that failed", MeasureUnit::Count, Some(false))),
];

/// Of a run of a command.
pub const OF_COMMANDS: &[Measure] = &[
    first(measure("wall_s", "time", MeasureUnit::Seconds, Some(false))),
    first(measure("cpu_s", "CPU time", MeasureUnit::Seconds, Some(false))),
    measure("user_s", "CPU time in the program", MeasureUnit::Seconds, Some(false)),
    measure("system_s", "CPU time in the kernel", MeasureUnit::Seconds, Some(false)),
    first(measure("memory_peak_bytes", "memory, most of one process", MeasureUnit::Bytes, Some(false))),
];

/// What is compared.
pub struct ComparedArms<'a> {
    /// For the head.
    pub title: &'a str,
    /// Names.
    pub arms: Vec<&'a str>,
    /// Names; of commands one without a name.
    pub loads: Vec<&'a str>,
    /// The arm that the others stand beside.
    pub baseline: usize,
    /// Which figures there are.
    pub measures: &'static [Measure],
}

/// The whole report.
#[derive(Debug, Serialize)]
pub struct BakeoffFindings {
    /// As given.
    pub title: String,
    /// All arms.
    pub arms: Vec<String>,
    /// The one that the others stand beside.
    pub baseline: String,
    /// Starts of all arms.
    pub starts: usize,
    /// How long they took together.
    pub spent_s: f64,
    /// Why no more was measured.
    pub ended: &'static str,
    /// Of each load.
    pub loads: Vec<LoadFindings>,
}

/// Of one load.
#[derive(Debug, Serialize)]
pub struct LoadFindings {
    /// As given.
    pub name: String,
    /// Figures that at least one start has.
    pub measures: Vec<MeasureFindings>,
    /// What kept figures from being there.
    pub notes: Vec<String>,
}

/// Of one figure.
#[derive(Debug, Serialize)]
pub struct MeasureFindings {
    /// Its key.
    pub key: &'static str,
    /// What it is.
    #[serde(skip)]
    pub measure: &'static Measure,
    /// Of each arm, in the order of the arms.
    pub arms: Vec<ArmFindings>,
}

/// Of one arm.
#[derive(Debug, Serialize)]
pub struct ArmFindings {
    /// As given.
    pub name: String,
    /// Of each start that has it.
    pub values: Vec<f64>,
    /// None without values.
    pub median: Option<ReportedInterval>,
    /// Beside the baseline; none for the baseline itself.
    pub beside: Option<BesideBaseline>,
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReportedInterval {
    /// The value.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl From<IntervalEstimate> for ReportedInterval {
    fn from(of: IntervalEstimate) -> Self {
        Self { value: of.value, low: of.low, high: of.high }
    }
}

/// An arm beside the baseline.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BesideBaseline {
    /// As a multiple; none where a value is 0.
    pub ratio: Option<ReportedInterval>,
    /// Its difference.
    pub difference: ReportedInterval,
    /// `more`, `less`, `cannot tell`, `too few`.
    pub finding: &'static str,
}

/// All values of one figure, of one load, of one arm.
pub fn values(records: &[StartRecord], arm: usize, load: usize, key: &str) -> Vec<f64> {
    let of_arm = records.iter().filter(|record| record.arm == arm);
    of_arm.filter_map(|record| record.loads.get(load)?.values.get(key).copied()).collect()
}

impl BakeoffFindings {
    /// What `records` say.
    pub fn of(compared: &ComparedArms<'_>, records: &[StartRecord], ended: &'static str) -> Self {
        let bootstrap = Bootstrap::default();
        let load = |(index, name): (usize, &&str)| LoadFindings {
            name: (*name).to_owned(),
            measures: compared
                .measures
                .iter()
                .filter_map(|measure| of_measure(compared, records, index, measure, &bootstrap))
                .collect(),
            notes: notes(compared, records, index),
        };
        Self {
            title: compared.title.to_owned(),
            arms: compared.arms.iter().map(|name| (*name).to_owned()).collect(),
            baseline: compared.arms.get(compared.baseline).copied().unwrap_or_default().to_owned(),
            starts: records.len(),
            spent_s: records.iter().map(|record| record.took_s).sum(),
            ended,
            loads: compared.loads.iter().enumerate().map(load).collect(),
        }
    }
}

/// None where no start has the figure, or where it counts what never happened.
fn of_measure(
    compared: &ComparedArms<'_>,
    records: &[StartRecord],
    load: usize,
    measure: &'static Measure,
    bootstrap: &Bootstrap,
) -> Option<MeasureFindings> {
    let samples: Vec<Vec<f64>> = (0..compared.arms.len()).map(|arm| values(records, arm, load, measure.key)).collect();
    if samples.iter().all(|sample| sample.iter().all(|value| *value == 0.0)) {
        return None;
    }
    let baseline = samples.get(compared.baseline)?.clone();
    let arm = |(index, values): (usize, Vec<f64>)| {
        let comparison = ArmComparison::of(&baseline, &values, bootstrap).filter(|_| index != compared.baseline);
        let is_few = values.len() < SAMPLES_MIN || baseline.len() < SAMPLES_MIN;
        ArmFindings {
            name: compared.arms[index].to_owned(),
            median: bootstrap.median(&values).map(ReportedInterval::from),
            beside: comparison.map(|comparison| beside(&comparison, is_few)),
            values,
        }
    };
    Some(MeasureFindings { key: measure.key, measure, arms: samples.into_iter().enumerate().map(arm).collect() })
}

fn beside(comparison: &ArmComparison, is_few: bool) -> BesideBaseline {
    BesideBaseline {
        ratio: comparison.ratio.map(ReportedInterval::from),
        difference: comparison.difference.into(),
        finding: match comparison.finding {
            _ if is_few => "too few",
            ArmVerdict::More => "more",
            ArmVerdict::Less => "less",
            ArmVerdict::CannotTell => "cannot tell",
        },
    }
}

/// Each note once, with the arm and how often it was so.
fn notes(compared: &ComparedArms<'_>, records: &[StartRecord], load: usize) -> Vec<String> {
    let mut counted = std::collections::BTreeMap::<(usize, &str), usize>::new();
    for record in records {
        if let Some(note) = record.loads.get(load).and_then(|load| load.note.as_deref()) {
            *counted.entry((record.arm, note)).or_default() += 1;
        }
    }
    counted
        .into_iter()
        .map(|((arm, note), count)| {
            format!("{}, {}: {note}", compared.arms[arm], mh_kit::report::counted(count as u64, "start"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::journal::LoadRecord;
    use super::*;

    fn record(arm: usize, wall_s: f64) -> StartRecord {
        let values = [("wall_s".to_owned(), wall_s), ("user_s".to_owned(), 0.0)].into();
        StartRecord { arm, took_s: 1.0, loads: vec![LoadRecord { values, ..LoadRecord::default() }] }
    }

    fn findings(records: &[StartRecord]) -> BakeoffFindings {
        let compared =
            ComparedArms { title: "t", arms: vec!["a", "b"], loads: vec![""], baseline: 0, measures: OF_COMMANDS };
        BakeoffFindings::of(&compared, records, "narrow")
    }

    #[test]
    fn each_arm_has_its_values_and_all_but_the_baseline_a_multiple() {
        let records: Vec<_> =
            (0..6).flat_map(|index| [record(0, 1.0 + f64::from(index) / 100.0), record(1, 2.0)]).collect();
        let found = findings(&records);
        let [time] = &found.loads[0].measures[..] else { panic!("time alone: what is always 0 is left out") };
        assert_eq!((found.starts, found.spent_s), (12, 12.0));
        assert!(time.arms[0].beside.is_none());
        let beside = time.arms[1].beside.expect("it stands beside the first");
        assert_eq!(beside.finding, "more");
        assert!(beside.ratio.is_some_and(|ratio| ratio.low > 1.9 && ratio.high < 2.01), "{beside:?}");
    }

    #[test]
    fn three_starts_are_too_few() {
        let records: Vec<_> = (0..3).flat_map(|_| [record(0, 1.0), record(1, 2.0)]).collect();
        assert_eq!(
            findings(&records).loads[0].measures[0].arms[1].beside.map(|beside| beside.finding),
            Some("too few")
        );
        assert!(findings(&[]).loads[0].measures.is_empty());
    }
}
