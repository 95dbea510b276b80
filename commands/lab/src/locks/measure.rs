//! Carries out the plan: round after round, each lock in its turn, until all is done or a signal comes.

use super::plan::{Plan, plan};
use super::{Ended, LocksArgs, LocksReport, NAME, failure};
use lab::locks::advice::advise;
use lab::locks::calibration::Calibration;
use lab::locks::cell::Bench;
use lab::locks::row::Measured;
use lab::locks::scenario::LockTimes;
use machine::{Host, ProcessorTime};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::counted;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::clock_reading::times_user;
use sys::cpu_clock::process_cpu_ns;
use sys::signals::{ENDING, SignalQueue};
use terminal::{Progress, duration_coarse, percentage_whole};

/// Runs shorter than this are over before a line about them is read.
const ANNOUNCED_FROM: Duration = Duration::from_secs(2);

pub(super) fn measure(context: &Context, args: &LocksArgs) -> Result<LocksReport, Failure> {
    let mut signals = SignalQueue::open(ENDING).map_err(|error| failure("hold back signals", &error))?;
    let cpus = machine::allowed_cpu_numbers(&context.host).map_err(|error| failure("count CPUs", &error))?;
    let begin = Instant::now();
    let others = Others::begin(&context.host);
    let calibration =
        Calibration::measure(&context.host, &cpus).map_err(|error| failure("measure PAUSE and sleeping", &error))?;
    let advice = advise(&calibration);
    let plan = plan(args, cpus.len(), &advice);
    if plan.cells.is_empty() {
        let message = "none of these locks has a place in these situations".to_owned();
        return Err(Failure::Usage { command: NAME, message });
    }
    announce(context, args, &plan);
    let times = LockTimes { hold: args.hold, think: args.think };
    let bench = Bench {
        host: context.host.clone(),
        cpus,
        pins: !args.no_pin,
        times,
        window: plan.window,
        holds_min: plan.holds_min,
        calibration,
    };
    let ending = rounds(context, args, &plan, &bench, &mut signals)?;
    let shares_cores = machine::topology(&context.host, &bench.cpus).cores() < bench.cpus.len();
    Ok(LocksReport {
        cpus: bench.cpus.len(),
        shares_cores,
        hold_ns: nanoseconds(args.hold),
        think_ns: nanoseconds(args.think),
        rounds: args.rounds,
        ended: ending.ended,
        rounds_whole: ending.rounds_whole,
        signal: ending.signal,
        took_s: begin.elapsed().as_secs_f64(),
        others_cpus: others.and_then(|others| others.cpus(&context.host)),
        rows: ending.measured.iter().filter_map(|measured| measured.row(&bench)).collect(),
        advice,
        calibration: bench.calibration,
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Says before what a person has to wait for.
fn announce(context: &Context, args: &LocksArgs, plan: &Plan) {
    if plan.is_more_than_given {
        let least = terminal::duration(plan.expected);
        context
            .messages
            .note(NAME, &format!("--seconds is too little: {} take at least {least}", rows_text(args, plan)));
    }
    if context.messages.shows_progress() && plan.expected >= ANNOUNCED_FROM {
        let text = format!(
            "{} in turns: about {}; Ctrl-C ends with what is there",
            rows_text(args, plan),
            duration_coarse(plan.expected)
        );
        context.messages.note(NAME, &text);
    }
}

/// `5 rows, 3 rounds`.
fn rows_text(args: &LocksArgs, plan: &Plan) -> String {
    format!("{}, {}", counted(plan.cells.len() as u64, "row"), counted(args.rounds.into(), "round"))
}

/// How the rounds ended.
struct Ending {
    measured: Vec<Measured>,
    ended: Ended,
    rounds_whole: u16,
    /// Which one ended them.
    signal: Option<i32>,
}

/// LIMIT: a round is not begun that would end later than this after the time that was said before.
const LATE_MAX: f64 = 1.2;

fn rounds(
    context: &Context,
    args: &LocksArgs,
    plan: &Plan,
    bench: &Bench,
    signals: &mut SignalQueue,
) -> Result<Ending, Failure> {
    let state = Arc::new(Mutex::new((0, String::new())));
    let (seen, all) = (Arc::clone(&state), plan.cells.len() * usize::from(args.rounds));
    let expected = plan.expected;
    let progress = Progress::start_lines(&context.messages, move |elapsed| {
        let (done, label) = seen.lock().clone();
        let left = expected.saturating_sub(elapsed);
        let share = percentage_whole(f64::from(done) / all.max(1) as f64);
        vec![format!("{share}  {label}  left {}", duration_coarse(left))]
    });
    let mut measured: Vec<Measured> = plan.cells.iter().map(|cell| Measured::begin(*cell)).collect();
    let begin = Instant::now();
    let ending = |measured, ended, rounds_whole| Ending { measured, ended, rounds_whole, signal: None };
    for round in 1..=args.rounds {
        // As the rounds so far.
        let rounds_with_it = f64::from(round) / f64::from(round - 1).max(1.0);
        if round > 1 && begin.elapsed().mul_f64(rounds_with_it) > plan.expected.mul_f64(LATE_MAX) {
            progress.finish();
            return Ok(ending(measured, Ended::Time, round - 1));
        }
        for one in &mut measured {
            let arrived = signals.take().map_err(|error| failure("read signals", &error))?;
            if let Some(arrived) = arrived.first() {
                progress.finish();
                return Ok(Ending { signal: Some(arrived.signal), ..ending(measured, Ended::Signal, round - 1) });
            }
            let cell = one.cell;
            let threads = cell.threads;
            let label = format!(
                "round {round} of {}  {}, {}, {threads} thread{}",
                args.rounds,
                cell.scenario.name,
                cell.subject.name(),
                if threads == 1 { "" } else { "s" }
            );
            state.lock().1 = label;
            one.go_on(bench).map_err(|error| {
                let operation =
                    format!("measure {} in {} with {threads} threads", cell.subject.name(), cell.scenario.name);
                failure(&operation, &error)
            })?;
            state.lock().0 += 1;
        }
    }
    progress.finish();
    Ok(ending(measured, Ended::Done, args.rounds))
}

/// What other programs do meanwhile.
struct Others {
    begin: Instant,
    busy: ProcessorTime,
    own_ns: u64,
}

impl Others {
    fn begin(host: &Host) -> Option<Self> {
        let busy = machine::processor_time(host).ok()?;
        Some(Self { begin: Instant::now(), busy, own_ns: process_cpu_ns() })
    }

    /// CPUs that they used, and that the hypervisor took.
    fn cpus(&self, host: &Host) -> Option<f64> {
        let now = machine::processor_time(host).ok()?;
        let ticks =
            now.busy_ticks.saturating_sub(self.busy.busy_ticks) + now.steal_ticks.saturating_sub(self.busy.steal_ticks);
        let all_s = ticks as f64 / times_user().1.max(1) as f64;
        let own_s = process_cpu_ns().saturating_sub(self.own_ns) as f64 / 1e9;
        let took_s = self.begin.elapsed().as_secs_f64();
        // Ticks are coarse: what little is below nothing is nothing.
        (took_s > 0.0).then(|| ((all_s - own_s) / took_s).max(0.0))
    }
}
