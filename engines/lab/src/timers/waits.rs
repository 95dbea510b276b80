//! Waits again and again by one call under one timer slack, and takes the time.

use crate::pinned::stay_on;
use crate::spread::Spread;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};
use sys::error_text::message;
use sys::timed_wait::{Method, Slack, Unit, share_of_time};

/// How often, and for how long at most.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Waits to be timed.
    pub rounds: usize,
    /// LIMIT: a row that has taken this long ends with the rounds it has.
    pub time_max: Duration,
}

/// Which CPUs have something else to do meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Busy {
    /// Those that others use.
    #[serde(rename = "as is")]
    Others,
    /// Every one: the caller sees to that.
    #[serde(rename = "loaded")]
    All,
}

/// Under what a wait is measured.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What the caller would like to wait for.
    pub wanted: Duration,
    /// The thread's timer slack; none for the one that was inherited.
    pub slack_ns: Option<NonZeroU64>,
    /// The CPU to stay on.
    pub cpu: Option<usize>,
    /// What the row is marked with.
    pub busy: Busy,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitOutcome {
    /// The call.
    pub call: &'static str,
    /// What the call was told, in its unit.
    pub told_ns: u64,
    /// The thread's timer slack.
    pub slack_ns: u64,
    /// The slack that the call takes in its place, where that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_slack_ns: Option<u64>,
    /// Whether the machine was left as it was or kept busy.
    pub machine: Busy,
    /// The CPU that it stayed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// How late the waits ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Spread>,
    /// Why there is no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What a call that counts in `unit` is told when `wanted` is wanted: rounded up, and never nothing.
pub fn told(wanted: Duration, unit: Unit) -> Duration {
    let step_ns = match unit {
        Unit::Seconds => 1_000_000_000,
        Unit::Milliseconds => 1_000_000,
        Unit::Microseconds => 1_000,
        Unit::Nanoseconds => 1,
    };
    let steps = wanted.as_nanos().div_ceil(step_ns).max(1);
    Duration::from_nanos(u64::try_from(steps * step_ns).unwrap_or(u64::MAX))
}

/// Measures in a thread of its own, so that slack and CPU of the caller stay as they are.
pub fn measure(method: &Method, setting: Setting, effort: Effort) -> WaitOutcome {
    let told = told(setting.wanted, method.unit);
    let work = || run(method, setting, told, effort);
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("waits".to_owned()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_panicked| Err(io::Error::other("its thread ended early")))
    });
    let mut waited = WaitOutcome {
        call: method.name,
        told_ns: u64::try_from(told.as_nanos()).unwrap_or(u64::MAX),
        slack_ns: setting.slack_ns.map_or(0, NonZeroU64::get),
        own_slack_ns: None,
        machine: setting.busy,
        cpu: setting.cpu,
        late: None,
        missing: None,
    };
    match outcome {
        Ok((slack_ns, late)) => {
            waited.slack_ns = slack_ns;
            waited.own_slack_ns = own_slack_ns(method, told).filter(|own_ns| *own_ns > slack_ns);
            waited.late = late;
        }
        Err(error) => waited.missing = Some(message(&error)),
    }
    waited
}

/// What the call takes for slack whatever the thread's is.
fn own_slack_ns(method: &Method, told: Duration) -> Option<u64> {
    if method.slack == Slack::OfThread {
        return None;
    }
    let nice = rustix::process::getpriority_process(None).unwrap_or(0);
    u64::try_from(share_of_time(told, nice).as_nanos()).ok()
}

fn run(method: &Method, setting: Setting, told: Duration, effort: Effort) -> io::Result<(u64, Option<Spread>)> {
    if let Some(cpu) = setting.cpu {
        stay_on(cpu)?;
    }
    if let Some(slack_ns) = setting.slack_ns {
        super::set_own_slack(slack_ns)?;
    }
    let mut wait = (method.prepare)()?;
    let told_ns = i64::try_from(told.as_nanos()).unwrap_or(i64::MAX);
    let mut late_ns = Vec::with_capacity(effort.rounds);
    let begin = Instant::now();
    // The first wait pays for what is touched for the first time: microseconds. A wait that fills the row is not made twice for them.
    if told < effort.time_max {
        wait(told)?;
    }
    while late_ns.len() < effort.rounds && (late_ns.is_empty() || begin.elapsed() < effort.time_max) {
        let before_ns = now_ns();
        wait(told)?;
        late_ns.push(now_ns() - before_ns - told_ns);
    }
    Ok((super::own_slack_ns(), Spread::of(late_ns)))
}

fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// LIMIT: of fewer waits the smallest lateness may be a load's.
const ROUNDS_THAT_JUDGE: usize = 5;

/// Whether a wait keeps the kernel's tick: judged by the smallest lateness, which no load can make smaller.
pub fn keeps_the_tick(late: &Spread, tick_ns: u64) -> bool {
    late.rounds >= ROUNDS_THAT_JUDGE && i64::try_from(tick_ns / 2).is_ok_and(|half| late.min_ns >= half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_whole_units() {
        let wanted = Duration::from_nanos(100_001);
        assert_eq!(told(wanted, Unit::Nanoseconds), wanted);
        assert_eq!(told(wanted, Unit::Microseconds), Duration::from_micros(101));
        assert_eq!(told(wanted, Unit::Milliseconds), Duration::from_millis(1));
        assert_eq!(told(Duration::ZERO, Unit::Milliseconds), Duration::from_millis(1));
        assert_eq!(told(wanted, Unit::Seconds), Duration::from_secs(1));
    }

    #[test]
    fn a_row_ends_with_its_rounds_or_its_time() {
        let method = sys::timed_wait::METHODS.iter().find(|method| method.name == "nanosleep").expect("listed");
        let setting = Setting {
            wanted: Duration::from_micros(50),
            slack_ns: NonZeroU64::new(777),
            cpu: None,
            busy: Busy::Others,
        };
        let waited = measure(method, setting, Effort { rounds: 5, time_max: Duration::from_secs(60) });
        let late = waited.late.expect("measured");
        assert_eq!((late.rounds, late.early, waited.slack_ns), (5, 0, 777));
        assert!(late.min_ns >= 0 && late.min_ns <= late.p50_ns && late.p99_ns <= late.max_ns);
        assert_eq!(waited.own_slack_ns, None, "a sleep has the thread's slack");
        let hasty = measure(method, setting, Effort { rounds: 1 << 20, time_max: Duration::ZERO });
        assert_eq!(hasty.late.expect("one at least").rounds, 1);
    }

    #[test]
    fn polls_own_slack_is_told_where_it_is_more_than_the_threads() {
        let poll = sys::timed_wait::METHODS.iter().find(|method| method.name == "poll").expect("listed");
        let own_slack_ns = |slack_ns| {
            let wanted = Duration::from_millis(1);
            let setting = Setting { wanted, slack_ns: NonZeroU64::new(slack_ns), cpu: None, busy: Busy::Others };
            measure(poll, setting, Effort { rounds: 1, time_max: Duration::from_secs(60) }).own_slack_ns
        };
        // A thousandth; more where the tests give way.
        assert!(own_slack_ns(1).is_some_and(|own_ns| own_ns == 1_000 || own_ns == 5_000));
        assert_eq!(own_slack_ns(50_000), None);
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let setting = Setting { wanted: Duration::from_micros(50), slack_ns: None, cpu: Some(8_000), busy: Busy::All };
        let effort = Effort { rounds: 1, time_max: Duration::from_secs(1) };
        let waited = measure(&sys::timed_wait::METHODS[0], setting, effort);
        assert!(waited.late.is_none() && waited.missing.is_some());
        assert_eq!(message(&io::Error::from_raw_os_error(22)), "Invalid argument");
    }

    #[test]
    fn a_tick_is_told_from_a_load() {
        let late = |min_ns| Spread { rounds: 9, min_ns, p50_ns: 9_000_000, p99_ns: 0, max_ns: 0, early: 0 };
        assert!(keeps_the_tick(&late(3_900_000), 4_000_000));
        assert!(!keeps_the_tick(&late(52_000), 4_000_000));
        assert!(!keeps_the_tick(&Spread { rounds: 1, ..late(17_967_000) }, 4_000_000), "one wait may meet a load");
    }
}
