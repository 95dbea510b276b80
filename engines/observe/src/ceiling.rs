//! Which threads cannot go faster, and why. Pure judgement over two samples; every limit is a constant with its reason.
//! The averages of a machine hide all of this: one thread that uses a whole core is 0.4 % of 256 CPUs.

use crate::groups::Hierarchy;
use crate::model::{Interval, ThreadUsage};
use crate::sample::{HostSample, ProcessIdentity, StatesSeen, ThreadSample};
use crate::source::process_stat::ThreadState;
use crate::split::{Confidence, wilson};
use serde::Serialize;

/// What holds a thread back, most telling first: the order in which verdicts are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// It always runs: only a faster core, or more threads, would help.
    Ceiling,
    /// It could run, and others had the CPUs that it may use.
    Starved,
    /// It could run, and its control group's quota was used up.
    Throttled,
    /// It could run, and the hypervisor ran another guest.
    Stolen,
    /// It waits for a disk.
    IoBound,
}

/// A thread that cannot go faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CeilingFinding {
    /// Why.
    pub limit: Limit,
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its own name.
    pub name: String,
    /// Its process's name.
    pub process: String,
    /// Its process's command line.
    pub command: String,
    /// Share of the time that it was on a CPU, 0 to 1.
    pub on_cpu: f64,
    /// Share of the time that it could run and had no CPU.
    pub waited: f64,
    /// Share of the time that the hypervisor took from the CPU it was on.
    pub stolen: f64,
    /// Share of its time that it waited for a disk.
    pub in_disk_sleep: f64,
    /// The control group whose quota held it back.
    pub group: Option<String>,
    /// The CPU it ran on last.
    pub cpu: Option<u32>,
    /// How long it was watched.
    pub elapsed_ns: u64,
}

/// A thread that could run, or ran, for this share of the time never waited for anything but a CPU. Lower would take loops
/// with short pauses for saturated ones; higher would be lost in the tick, which is 0.4 % of a second.
const ALWAYS: f64 = 0.97;
/// A wait of this share makes a program at least a tenth slower: worth telling. Less is the ordinary noise of a busy machine.
const NOTABLE: f64 = 0.10;
/// A thread that is in disk sleep for half of its time is bound by the disk more than by anything else. Looks must show it with
/// 95 % confidence. Where it never ran four of four do, 18 of 25 do, three of three do not; where it ran for a fifth of its time,
/// seven of the seven that saw it sleep.
const MOSTLY: f64 = 0.5;
/// LIMIT: fewer looks than this do not show that a thread never ran.
const LOOKS_ENOUGH: u32 = 10;
/// A group that was held back in fewer of its periods was not, on the whole.
const PERIODS_SHARE: f64 = 0.05;

/// The threads that cannot go faster; those of one limit together, the busiest first.
pub fn findings(
    interval: &Interval,
    earlier: &HostSample,
    later: &HostSample,
    quota: Option<&Hierarchy>,
) -> Vec<CeilingFinding> {
    let mut findings: Vec<CeilingFinding> =
        interval.threads.iter().filter_map(|usage| judge(usage, earlier, later, quota)).collect();
    findings.sort_by(|one, other| {
        let weight = |finding: &CeilingFinding| finding.on_cpu + finding.waited + finding.in_disk_sleep;
        one.limit.cmp(&other.limit).then_with(|| weight(other).total_cmp(&weight(one))).then(one.tid.cmp(&other.tid))
    });
    findings
}

fn judge(
    usage: &ThreadUsage,
    earlier: &HostSample,
    later: &HostSample,
    quota: Option<&Hierarchy>,
) -> Option<CeilingFinding> {
    let thread = later.threads.get(usage.index as usize)?;
    if slept(usage, thread) {
        return None;
    }
    let process = later.process(usage.pid)?;
    let identity = process.identity.as_deref();
    let line = thread.line?;
    let elapsed = usage.elapsed_ns.max(1) as f64;
    // One that was taken to sleep has more in this interval than fits.
    let on_cpu = (usage.cpu.total_ns as f64 / elapsed).min(1.0);
    let waited = if waits_in_secret(usage, thread, earlier, later) { 1.0 } else { usage.wait_ns as f64 / elapsed };
    // Waiting is counted when it ends, also what of it was before the first sample: what it ran leaves no time for that.
    let waited = waited.min((1.0 - on_cpu).max(0.0));
    // Looks are too rare to doubt less than a notable wait.
    let seen = || seen_waiting(usage, thread, earlier, later, on_cpu);
    let waited = if waited >= NOTABLE { waited.min(seen().unwrap_or(1.0)) } else { waited };
    let stolen = stolen_share(line.cpu, earlier, later);
    let off = 1.0 - on_cpu - waited;
    let (in_disk_sleep, in_disk_sleep_least) = disk_sleep(usage, thread.seen, later.machine.looks, off);
    let group = quota.filter(|_| waited >= NOTABLE);
    let group = group.and_then(|quota| throttling_group(identity, quota, earlier, later));
    let limit = match () {
        () if waited >= NOTABLE && group.is_some() => Limit::Throttled,
        () if waited >= NOTABLE => Limit::Starved,
        () if on_cpu + waited + stolen >= ALWAYS && stolen >= NOTABLE => Limit::Stolen,
        () if on_cpu + waited + stolen >= ALWAYS && on_cpu > NOTABLE => Limit::Ceiling,
        () if in_disk_sleep_least >= MOSTLY && !line.is_kernel_thread => Limit::IoBound,
        () => return None,
    };
    Some(CeilingFinding {
        limit,
        pid: usage.pid,
        tid: usage.tid,
        name: thread.name.text(),
        process: identity.map(|identity| identity.name.clone()).unwrap_or_default(),
        command: identity.map(ProcessIdentity::shown).unwrap_or_default(),
        on_cpu,
        waited,
        stolen,
        in_disk_sleep,
        group: group.filter(|_| limit == Limit::Throttled),
        cpu: line.cpu,
        elapsed_ns: usage.elapsed_ns,
    })
}

/// Whether it did nothing and was never seen to want anything. Nearly all of a machine's threads.
fn slept(usage: &ThreadUsage, thread: &ThreadSample) -> bool {
    usage.turns == 0
        && usage.cpu.total_ns == 0
        && usage.wait_ns == 0
        && usage.block_ns == 0
        && thread.seen == StatesSeen::default()
        && !could_run(thread)
}

/// A thread's waiting is counted when it ends: one that could run at both moments and never did has waited all the time.
fn waits_in_secret(usage: &ThreadUsage, thread: &ThreadSample, earlier: &HostSample, later: &HostSample) -> bool {
    if usage.cpu.total_ns > 0 || usage.turns > 0 {
        return false;
    }
    // A sample is not taken again of a process whose clock did not move: looks have seen its threads, if there were any.
    let looks = later.machine.looks;
    let is_seen = looks >= LOOKS_ENOUGH && f64::from(thread.seen.runnable) >= ALWAYS * f64::from(looks);
    is_seen || (could_run(thread) && could_run_before(usage, earlier))
}

/// What looks have seen a thread wait, where some of the waiting that ended may be from before the interval: where it could run at
/// its beginning. None where it could not, or where looks are too few to say.
fn seen_waiting(
    usage: &ThreadUsage,
    thread: &ThreadSample,
    earlier: &HostSample,
    later: &HostSample,
    on_cpu: f64,
) -> Option<f64> {
    let looks = later.machine.looks;
    if looks < LOOKS_ENOUGH || !could_run_before(usage, earlier) {
        return None;
    }
    // One that is on a CPU is runnable, too: looks that cannot have seen what it ran were not at this thread.
    let found = f64::from(thread.seen.runnable.min(looks));
    let looks = f64::from(looks);
    let (_, most) = wilson(found, looks - found, looks, Confidence::Usual);
    (most >= on_cpu).then(|| (found / looks - on_cpu).max(0.0))
}

fn could_run(thread: &ThreadSample) -> bool {
    thread.line.is_some_and(|line| line.state == ThreadState::Runnable)
}

/// Whether it could run when the interval began.
fn could_run_before(usage: &ThreadUsage, earlier: &HostSample) -> bool {
    let before = || {
        let before = earlier.threads_of(earlier.process(usage.pid)?);
        let at = before.binary_search_by_key(&usage.tid, |before| before.tid).ok()?;
        before.get(at)
    };
    before().is_some_and(could_run)
}

/// What the hypervisor took from a CPU since `earlier`; of all CPUs where the thread's own is not known.
fn stolen_share(cpu: Option<u32>, earlier: &HostSample, later: &HostSample) -> f64 {
    let (Some(before), Some(after)) = (&earlier.machine.ticks, &later.machine.ticks) else { return 0.0 };
    let find = |cpus: &[crate::source::machine_stat::CpuTicks]| {
        let at = cpus.binary_search_by_key(&cpu?, |ticks| ticks.cpu).ok()?;
        cpus.get(at).copied()
    };
    let (before, after) = match find(&before.cpus).zip(find(&after.cpus)) {
        Some(both) => both,
        None => (before.all, after.all),
    };
    let stolen = after.steal.saturating_sub(before.steal);
    let used = after.busy().saturating_sub(before.busy()).saturating_add(after.idle.saturating_sub(before.idle));
    let all = stolen.saturating_add(used);
    if all == 0 { 0.0 } else { stolen as f64 / all as f64 }
}

/// Share of the time in disk sleep: by the kernel's own clock where it keeps one, else by looks. The second number is what it is at
/// least, with 95 % confidence.
///
/// For how long a thread was off the CPU and wanted none its clocks say exactly, `off` of its time; looks only have to tell
/// which kind of sleep that was. So one that runs for a fifth of its time is told as surely as one that never does.
fn disk_sleep(usage: &ThreadUsage, seen: StatesSeen, looks: u32, off: f64) -> (f64, f64) {
    let found = f64::from(seen.uninterruptible.min(looks));
    let asleep = f64::from(looks.saturating_sub(seen.runnable)).max(found);
    let looks = f64::from(looks);
    // Where the kernel does not count waiting for a CPU, looks at least have seen it.
    let (_, asleep_most) = wilson(asleep, looks - asleep, looks, Confidence::Usual);
    let off = off.clamp(0.0, asleep_most);
    let least_of = |looks: f64| wilson(found, looks - found, looks, Confidence::Usual).0;
    let by_clock = block_share(usage);
    (by_clock.max(off * found / asleep.max(1.0)), by_clock.max(off * least_of(asleep)).max(least_of(looks)))
}

fn block_share(usage: &ThreadUsage) -> f64 {
    usage.block_ns as f64 / usage.elapsed_ns.max(1) as f64
}

/// The nearest group of a process that its quota held back between two samples.
fn throttling_group(
    identity: Option<&ProcessIdentity>,
    quota: &Hierarchy,
    earlier: &HostSample,
    later: &HostSample,
) -> Option<String> {
    let levels = quota.levels(identity?.group.as_deref()?);
    levels.into_iter().map(|folder| folder.to_string_lossy().into_owned()).find(|folder| {
        let Some(after) = later.machine.throttling.get(folder) else { return false };
        let before = earlier.machine.throttling.get(folder).copied().unwrap_or_default();
        let periods = after.periods.saturating_sub(before.periods);
        let throttled = after.throttled_periods.saturating_sub(before.throttled_periods);
        throttled > 0 && throttled as f64 >= PERIODS_SHARE * periods as f64
    })
}

#[cfg(test)]
mod tests;
