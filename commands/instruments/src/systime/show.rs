//! The result for people: a line that answers, rows sorted by time that sum to the wall, what stood out, and what the
//! measuring cost.

use super::idle::{divided, idle_waits};
use super::plan::Subject;
use super::source::Made;
use mh_kit::instrument::look::TextLook;
use mh_kit::report::counted;
use observe::calls::measure::SAMPLE_PERIOD_NS;
use observe::calls::names::{call_name, error_name, is_on_descriptor};
use observe::calls::sampled::uncertain_ns;
use observe::calls::snapshot::{CallSnapshot, CallTimes, Losses, OwnerTimes, TimeOwner, duration_end_ns};
use std::time::Duration;
use terminal::{Align, TextTable, Tint, duration, integer, percentage};

/// What is shown.
pub struct Shown {
    /// Whose calls.
    pub subject: Subject,
    /// Whether only some calls were asked for.
    pub is_of_some_calls: bool,
    /// Whether rows have an owner's name.
    pub is_by_owner: bool,
    /// The numbers.
    pub snapshot: CallSnapshot,
    /// How they were made.
    pub made: Made,
}

impl Shown {
    /// Whether no thread was followed.
    pub fn is_nobody(&self) -> bool {
        self.life_ns() == 0
    }

    fn life_ns(&self) -> u64 {
        self.snapshot.owners.iter().map(|owner| owner.life_ns).sum()
    }
}

/// Below this the interval is most of the time on a CPU that it is of.
const SAMPLES_FEW: u64 = 10;

/// LIMIT: rows of what stood out; all of it is in the JSON.
const NOTES_MAX: usize = 5;

/// A row: a call, or what was done between calls.
pub struct TimeRow<'a> {
    owner: &'a OwnerTimes,
    /// The call's name, or what was done instead.
    pub name: String,
    /// All its time.
    pub total_ns: u64,
    /// Of it, off the CPU.
    pub waiting_ns: u64,
    /// None of what was done between calls.
    pub call: Option<&'a CallTimes>,
}

/// How the text is made.
#[derive(Clone, Copy)]
pub struct TextOptions {
    /// Rows of the table; 0 for all.
    pub rows_max: usize,
    /// Whether the durations of each call are spread out.
    pub with_histogram: bool,
    /// Whether each idle wait has a row of its own.
    pub unfolds: bool,
    /// Colour and width.
    pub look: TextLook,
}

/// The whole result.
pub fn text(shown: &Shown, options: &TextOptions) -> String {
    let snapshot = &shown.snapshot;
    let life_ns = shown.life_ns();
    if shown.is_nobody() {
        let text = format!("no process was followed in {}\n{}", time(snapshot.elapsed_ns), cost(shown, 0));
        return options.look.prose(&text);
    }
    let mut rows: Vec<TimeRow<'_>> = snapshot.owners.iter().flat_map(rows_of).collect();
    // By work: what waits is not what keeps a CPU busy. Where work is not known apart, all of it counts.
    let by = |row: &TimeRow<'_>| (row.total_ns.saturating_sub(row.waiting_ns), row.total_ns);
    rows.sort_by(|one, other| by(other).cmp(&by(one)).then_with(|| one.name.cmp(&other.name)));
    let (idle, listed) = divided(rows.iter().collect(), options.unfolds);
    let kept = if options.rows_max == 0 { listed.len() } else { options.rows_max.min(listed.len()) };
    let look = options.look;
    let mut text = look.verdict(Tint::Bold, &headline(shown, life_ns));
    let parts = TableParts { rows: &listed[..kept], left_out: &listed[kept..], idle: &idle };
    text.push_str(&look.table(table(shown, &parts, life_ns)));
    text.push_str(&look.prose(&errors(shown, &rows)));
    text.push_str(&look.prose(&slowest(shown, &rows)));
    if options.with_histogram {
        listed.iter().take(kept).filter_map(|row| row.call).for_each(|call| text.push_str(&histogram(call)));
    }
    text.push('\n');
    text.push_str(&look.prose(&cost(shown, life_ns)));
    text
}

/// An owner in words.
pub fn who(who: &TimeOwner) -> String {
    match who {
        TimeOwner::All => "all".to_owned(),
        TimeOwner::Process { pid, name } => format!("{name} {pid}"),
        TimeOwner::Thread { pid, thread, name } => format!("{name} {pid}/{thread}"),
        TimeOwner::Name(name) => name.clone(),
        TimeOwner::Group { path: Some(path), .. } => path.clone(),
        TimeOwner::Group { number, path: None } => format!("group {number} (gone)"),
        TimeOwner::Others => "(others)".to_owned(),
    }
}

fn time(nanoseconds: u64) -> String {
    duration(Duration::from_nanos(nanoseconds))
}

fn rows_of(owner: &OwnerTimes) -> Vec<TimeRow<'_>> {
    let row =
        |name: &str, total_ns, waiting_ns| TimeRow { owner, name: name.to_owned(), total_ns, waiting_ns, call: None };
    let mut rows: Vec<TimeRow<'_>> = owner
        .calls
        .iter()
        .map(|call| TimeRow {
            owner,
            name: call_name(call.number),
            total_ns: call.total_ns,
            waiting_ns: call.waiting_ns,
            call: Some(call),
        })
        .collect();
    let between_ns = owner.between_on_cpu_ns() + owner.between_waiting_ns;
    rows.push(row("(between calls)", between_ns, owner.between_waiting_ns));
    if owner.measuring_ns > 0 {
        rows.push(row("(measuring)", owner.measuring_ns, 0));
    }
    if owner.cut_ns > 0 {
        rows.push(row("(cut short by the end)", owner.cut_ns, owner.cut_waiting_ns));
    }
    rows
}

fn headline(shown: &Shown, life_ns: u64) -> String {
    let snapshot = &shown.snapshot;
    let whose = match &shown.subject {
        Subject::All => "all processes".to_owned(),
        Subject::Named(name) => format!("processes named {}", terminal::quote(name)),
        Subject::Process(pid) => format!("process {pid} and its descendants"),
        Subject::Command => "the command and its descendants".to_owned(),
    };
    let threads: u64 = snapshot.owners.iter().map(|owner| owner.threads).sum();
    let plural = if threads == 1 { "" } else { "s" };
    let (threads, elapsed) = (integer(threads), time(snapshot.elapsed_ns));
    format!("{whose}: {}; {threads} thread{plural} in {elapsed}\n", time_in_calls(shown, life_ns))
}

/// How much of the threads' time, as surely as it is known.
fn time_in_calls(shown: &Shown, life_ns: u64) -> String {
    let owners = &shown.snapshot.owners;
    let sum = |of: fn(&OwnerTimes) -> u64| owners.iter().map(of).sum::<u64>();
    let in_calls_ns = sum(OwnerTimes::in_calls_ns);
    let (in_calls, life) = (time(in_calls_ns), time(life_ns));
    let share = percentage(in_calls_ns as f64 / life_ns as f64);
    let calls = if shown.is_of_some_calls { "these system calls" } else { "system calls" };
    match shown.made {
        Made::Exact(_) | Made::Traced { .. } => format!("{in_calls} of {life} in {calls} ({share})"),
        Made::Outside { .. } => {
            let running = time(sum(OwnerTimes::running_ns));
            format!("{in_calls} of {life} waiting in {calls} ({share}), {running} on a CPU, in calls or not")
        }
        Made::Sampled(_) => {
            let of_owner = |owner: &OwnerTimes| uncertain_ns(owner, owner.calls.iter().map(|call| call.samples).sum());
            let uncertain = time(owners.iter().map(of_owner).sum());
            let samples = shown.snapshot.samples;
            let few =
                if samples < SAMPLES_FEW { format!(": too few samples ({samples}) for more") } else { String::new() };
            format!("{in_calls} +- {uncertain} of {life} in {calls} ({share}){few}")
        }
    }
}

/// Rows of the table: those that are shown, and those that are a line together.
struct TableParts<'a> {
    rows: &'a [&'a TimeRow<'a>],
    left_out: &'a [&'a TimeRow<'a>],
    idle: &'a [&'a TimeRow<'a>],
}

fn table(shown: &Shown, parts: &TableParts<'_>, life_ns: u64) -> TextTable {
    let TableParts { rows, left_out, idle } = *parts;
    let mut aligns = vec![Align::Right; 7];
    aligns.extend([Align::Left, Align::Left]);
    let mut table = TextTable::new(&aligns).dropping(&[6, 5, 4]);
    let is_counted = matches!(shown.made, Made::Exact(_) | Made::Traced { .. });
    let counted: [&str; 4] =
        if is_counted { ["CALLS", "ERRORS", "MEAN", "MAX"] } else { ["+-", "SAMPLES", "WAITS", "MAX WAIT"] };
    let mut heading = vec!["TIME", "%", "WAITING"];
    heading.extend(counted);
    heading.push("CALL");
    if shown.is_by_owner {
        heading.push("OF");
    }
    table.row(heading);
    let sums = |rows: &[&TimeRow<'_>]| {
        let sum = |of: fn(&TimeRow<'_>) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
        [sum(|row| row.total_ns), sum(|row| row.waiting_ns)]
    };
    let (idle_ns, left_out_ns, rows_ns) = (sums(idle), sums(left_out), sums(rows));
    let mut parts: Vec<u64> = rows.iter().map(|row| row.total_ns).collect();
    parts.extend([idle_ns[0], left_out_ns[0]]);
    let shares = closing_thousandths(&parts, life_ns);
    for (row, share) in rows.iter().zip(&shares) {
        let mut cells = times(shown, *share, [row.total_ns, row.waiting_ns]).to_vec();
        cells.extend(if is_counted { counts(row) } else { samples(shown, row) });
        cells.push(row.name.clone());
        if shown.is_by_owner {
            cells.push(who(&row.owner.who));
        }
        table.row(cells);
    }
    let mut sum = |share: u64, ns: [u64; 2], name: String| {
        let mut cells = times(shown, share, ns).to_vec();
        cells.extend(<[String; 4]>::default());
        cells.push(name);
        table.row(cells);
    };
    if !idle.is_empty() {
        sum(shares[rows.len()], idle_ns, idle_waits(idle));
    }
    if !left_out.is_empty() {
        let plural = if left_out.len() == 1 { "" } else { "s" };
        sum(shares[rows.len() + 1], left_out_ns, format!("({} more row{plural})", left_out.len()));
    }
    let whole_ns = [0, 1].map(|at| rows_ns[at] + idle_ns[at] + left_out_ns[at]);
    sum(shares.iter().sum(), whole_ns, "sum: the threads' whole time".to_owned());
    table
}

/// The parts in thousandths of the whole, rounded so that they make up the rounded sum: rounded one by one they might come to 100.1 %.
/// Where the most is cut off, one more is given (largest remainders).
fn closing_thousandths(parts: &[u64], whole: u64) -> Vec<u64> {
    let whole = u128::from(whole.max(1));
    let scaled = |part: u64| u128::from(part) * 1000;
    let sum: u128 = parts.iter().copied().map(scaled).sum();
    let mut thousandths: Vec<u64> =
        parts.iter().map(|part| u64::try_from(scaled(*part) / whole).unwrap_or(u64::MAX)).collect();
    let given: u128 = thousandths.iter().copied().map(u128::from).sum();
    let missing = usize::try_from(((sum + whole / 2) / whole).saturating_sub(given)).unwrap_or(0);
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by_key(|at| std::cmp::Reverse(scaled(parts[*at]) % whole));
    by_remainder.into_iter().take(missing).for_each(|at| thousandths[at] += 1);
    thousandths
}

/// Time, its share in thousandths, and the part of it that was waiting, where that is known.
fn times(shown: &Shown, thousandths: u64, [total_ns, waiting_ns]: [u64; 2]) -> [String; 3] {
    let share = format!("{}.{}", thousandths / 10, thousandths % 10);
    let is_known = !matches!(shown.made, Made::Traced { .. });
    [time(total_ns), share, if is_known { time(waiting_ns) } else { "-".to_owned() }]
}

/// Calls, errors, mean, longest.
fn counts(row: &TimeRow<'_>) -> [String; 4] {
    let Some(call) = row.call else { return Default::default() };
    let mean = call.mean_ns().map_or_else(|| "-".to_owned(), time);
    let under_way = if call.under_way > 0 { format!("+{}", call.under_way) } else { String::new() };
    [
        format!("{}{under_way}", integer(call.ended)),
        integer(call.error_count()),
        mean,
        call.slowest.as_ref().map_or_else(|| "-".to_owned(), |slowest| time(slowest.duration_ns)),
    ]
}

/// Half the interval of the time on a CPU, samples, waits, longest wait; from outside nobody sees when a wait begins.
fn samples(shown: &Shown, row: &TimeRow<'_>) -> [String; 4] {
    let Some(call) = row.call else { return Default::default() };
    if matches!(shown.made, Made::Outside { .. }) {
        return ["-".to_owned(), integer(call.samples), "-".to_owned(), "-".to_owned()];
    }
    [
        time(uncertain_ns(row.owner, call.samples)),
        integer(call.samples),
        integer(call.waits),
        call.slowest.as_ref().map_or_else(|| "-".to_owned(), |slowest| time(slowest.duration_ns)),
    ]
}

fn errors(shown: &Shown, rows: &[TimeRow<'_>]) -> String {
    let mut failing: Vec<&TimeRow<'_>> =
        rows.iter().filter(|row| row.call.is_some_and(|call| call.error_count() > 0)).collect();
    failing.sort_by_key(|row| std::cmp::Reverse(row.call.map_or(0, CallTimes::error_count)));
    let mut text = String::new();
    for row in failing.iter().take(NOTES_MAX) {
        let kinds = row.call.map_or(&[][..], |call| &call.errors);
        let kinds: Vec<String> =
            kinds.iter().map(|(number, count)| format!("{} {}", integer(*count), error_name(*number))).collect();
        let of = if shown.is_by_owner {
            format!(" of {}", terminal::printable(&who(&row.owner.who)))
        } else {
            String::new()
        };
        text.push_str(&format!("errors: {}{of}: {}\n", row.name, kinds.join(", ")));
    }
    with_gap(text)
}

fn slowest(shown: &Shown, rows: &[TimeRow<'_>]) -> String {
    let word = if matches!(shown.made, Made::Exact(_) | Made::Traced { .. }) { "slowest" } else { "longest wait" };
    let mut calls: Vec<(&CallTimes, &str)> = rows
        .iter()
        .filter_map(|row| Some((row.call?, row.name.as_str())))
        .filter(|(call, _)| call.slowest.as_ref().is_some_and(|slowest| slowest.path.is_some()))
        .collect();
    calls.sort_by_key(|(call, _)| std::cmp::Reverse(call.slowest.as_ref().map(|slowest| slowest.duration_ns)));
    let mut text = String::new();
    for (call, name) in calls.iter().take(NOTES_MAX).filter(|(call, _)| is_on_descriptor(call.number)) {
        let Some(slowest) = &call.slowest else { continue };
        let path = terminal::quote_text(slowest.path.as_deref().unwrap_or_default());
        let took = time(slowest.duration_ns);
        text.push_str(&format!(
            "{word}: {name} {took} on {path} (descriptor {}, process {})\n",
            slowest.first_argument, slowest.pid
        ));
    }
    with_gap(text)
}

fn with_gap(text: String) -> String {
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Each power of two that occurs, as a bar.
fn histogram(call: &CallTimes) -> String {
    let most = call.durations.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    /// Columns of the longest bar.
    const BAR: f64 = 40.0;
    let mut table = TextTable::new(&[Align::Right, Align::Right, Align::Left]).indented(2);
    let first = call.durations.iter().position(|count| *count > 0).unwrap_or(0);
    let last = call.durations.iter().rposition(|count| *count > 0).unwrap_or(0);
    for kind in first..=last {
        let count = call.durations[kind];
        let bar = "#".repeat((count as f64 / most as f64 * BAR).ceil() as usize);
        let border = if kind + 1 == call.durations.len() {
            format!(">= {}", time(duration_end_ns(kind - 1)))
        } else {
            format!("< {}", time(duration_end_ns(kind)))
        };
        table.row([border, integer(count), bar]);
    }
    format!("\n{}:\n{table}", call_name(call.number))
}

/// How it was measured, what that cost, and what is missing.
fn cost(shown: &Shown, life_ns: u64) -> String {
    let snapshot = &shown.snapshot;
    let calls: u64 = snapshot.owners.iter().flat_map(|owner| &owner.calls).map(|call| call.ended).sum();
    let mut text = match shown.made {
        Made::Exact(cost) => {
            let measuring_ns = snapshot.owners.iter().map(|owner| owner.measuring_ns).sum();
            let others_ns = snapshot.bystander_calls as f64 * cost.bystander_ns;
            format!(
                "measured exactly, in the kernel (BPF). Cost, measured here: {:.0} ns a call (the shortest call took {:.0}, now \
                 {:.0}): an estimated {} of their {}.\nOther processes: {:.0} ns a call, {} calls, {}.\n",
                cost.measured_ns,
                cost.call_ns,
                cost.call_ns + cost.measured_ns,
                time(measuring_ns),
                time(life_ns),
                cost.bystander_ns,
                integer(snapshot.bystander_calls),
                time(others_ns as u64),
            )
        }
        Made::Sampled(cost) => format!(
            "waits measured in the kernel (BPF), time on a CPU by {} samples, {} a second a CPU; +- is for 95 % confidence.\n\
             Cost, measured here: {:.0} ns a sample, {:.2} % of a CPU; {:.0} ns a call. --exact counts every call.\n",
            integer(snapshot.samples),
            1_000_000_000 / SAMPLE_PERIOD_NS,
            cost.sample_ns,
            cost.sample_ns / SAMPLE_PERIOD_NS as f64 * 100.0,
            cost.measured_ns,
        ),
        Made::Traced { call_cost_ns } => format!(
            "counted by stopping at every call, no rights; work and waiting cannot be separated. Cost, measured here on \
             another program: {} a call, {} of their {}; times are those of calls that are stopped at.\n",
            time(call_cost_ns),
            traced_share(call_cost_ns.saturating_mul(calls), life_ns),
            time(life_ns),
        ),
        Made::Outside { own_cpu_ns, unreadable } => format!(
            "looked at from outside, no rights: {} looks at threads; a running thread's call is not seen, nor processes that \
             live below 0.2 s.\nCost: the threads' none, ours {} of CPU time.{}\n",
            integer(snapshot.samples),
            time(own_cpu_ns),
            if unreadable > 0 {
                format!(" {} of other users could not be looked at.", counted(unreadable, "thread"))
            } else {
                String::new()
            },
        ),
    };
    if matches!(shown.made, Made::Exact(_) | Made::Sampled(_)) {
        text.push_str(&losses(&snapshot.lost));
    }
    text
}

/// A program whose calls are stopped at more cheaply than those of the trial has not lost more than it had.
fn traced_share(cost_ns: u64, life_ns: u64) -> String {
    match cost_ns <= life_ns {
        true => format!("by that an estimated {}", time(cost_ns)),
        false => format!("by that {}, which cannot be: theirs were cheaper, and cost less than all", time(cost_ns)),
    }
}

/// What could not be seen or separated, a line each.
pub fn losses(lost: &Losses) -> String {
    let mut text = String::new();
    if lost.events_missed > 0 || lost.threads_missed > 0 {
        let (events, threads) = (counted(lost.events_missed, "event"), counted(lost.threads_missed, "thread"));
        text.push_str(&format!("NOT in the table: {events} and {threads}\n"));
    }
    if lost.owners_merged > 0 || lost.calls_merged > 0 {
        let (owners, calls) = (counted(lost.owners_merged, "owner"), counted(lost.calls_merged, "call"));
        text.push_str(&format!("the table is full: {owners} and {calls} are counted under (others)\n"));
    }
    if lost.returns_unseen > 0 {
        let returns = integer(lost.returns_unseen);
        text.push_str(&format!(
            "{returns} returns of threads to a CPU were not seen: these waits are estimates, or missing\n"
        ));
    }
    if text.is_empty() { "Nothing was lost.\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::calls::measure::MeasuringCost;
    use observe::calls::names::call_number;
    use observe::calls::snapshot::Slowest;

    fn shown(made: Made) -> Shown {
        let mut owner = OwnerTimes {
            life_ns: 10_000_000,
            between_waiting_ns: 1_000_000,
            threads: 2,
            ..OwnerTimes::new(TimeOwner::All)
        };
        owner.measuring_ns = 200_000;
        let call = owner.call(call_number("close").expect("there"));
        (call.ended, call.total_ns, call.waiting_ns) = (1000, 6_000_000, 500_000);
        call.durations[6] = 1000;
        call.errors = vec![(9, 990)];
        let path = Some("/tmp/a\u{1b}b".to_owned());
        call.slowest = Some(Slowest { duration_ns: 9000, pid: 7, thread: 8, first_argument: 3, path });
        let snapshot = CallSnapshot { elapsed_ns: 5_000_000, owners: vec![owner], ..CallSnapshot::default() };
        Shown { subject: Subject::Named("jobs".into()), is_of_some_calls: false, is_by_owner: false, snapshot, made }
    }

    fn options(rows_max: usize, with_histogram: bool) -> TextOptions {
        TextOptions { rows_max, with_histogram, unfolds: false, look: TextLook::PLAIN }
    }

    #[test]
    fn idle_waits_are_one_line_behind_the_work_and_the_sum_stays() {
        let mut shown = shown(Made::Exact(COST));
        let owner = &mut shown.snapshot.owners[0];
        owner.life_ns += 900_000_000;
        for (name, total_ns, waiting_ns) in
            [("poll", 500_000_000, 499_000_000), ("futex", 390_000_000, 389_900_000), ("fsync", 10_000_000, 9_000_000)]
        {
            let call = owner.call(call_number(name).expect("there"));
            (call.ended, call.total_ns, call.waiting_ns) = (3, total_ns, waiting_ns);
        }
        let folded = text(&shown, &options(0, false));
        assert!(folded.contains("  (idle waits: poll, futex)\n"), "{folded}");
        let order = ["close\n", "fsync\n", "(idle waits", "sum:"].map(|word| folded.find(word));
        assert!(order.is_sorted() && order.iter().all(Option::is_some), "{folded}");
        assert!(folded.contains("890 ms   97.8"), "{folded}");
        let unfolded = text(&shown, &TextOptions { unfolds: true, ..options(0, false) });
        assert!(unfolded.contains("poll\n") && !unfolded.contains("idle waits"), "{unfolded}");
        let last = |text: &str| text.lines().find(|line| line.contains("sum:")).map(str::to_owned);
        assert_eq!(
            last(&folded).map(|line| line.split_whitespace().collect::<String>()),
            last(&unfolded).map(|line| line.split_whitespace().collect::<String>())
        );
    }

    const COST: MeasuringCost =
        MeasuringCost { call_ns: 100.0, measured_ns: 200.0, bystander_ns: 90.0, correction_ns: 0, sample_ns: 2000.0 };

    #[test]
    fn rows_are_sorted_and_close_and_the_cost_is_told() {
        let text = text(&shown(Made::Exact(COST)), &options(0, true));
        assert!(
            text.starts_with("processes named 'jobs': 6 ms of 10 ms in system calls (60.0 %); 2 threads in 5 ms\n"),
            "{text}"
        );
        let order =
            ["close\n", "(between calls)", "(measuring)", "sum: the threads' whole time"].map(|word| text.find(word));
        assert!(order.is_sorted() && order.iter().all(Option::is_some), "{text}");
        assert!(text.contains("errors: close: 990 EBADF\n") && text.contains("200 us of their 10 ms"), "{text}");
        assert!(text.contains("< 8.19 us  1,000  ####"), "{text}");
        assert!(text.contains("Nothing was lost.\n") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn shares_make_up_the_whole() {
        let of = |parts: &[u64]| closing_thousandths(parts, parts.iter().sum());
        assert_eq!(of(&[5217, 2667, 1837, 279]), [522, 267, 183, 28]);
        assert_eq!(of(&[1, 1, 1]), [334, 333, 333]);
        assert_eq!(of(&[u64::MAX / 4, u64::MAX / 4, u64::MAX / 2]), [250, 250, 500]);
        // What was not attributed stays missing, and what is too much stays.
        assert_eq!(closing_thousandths(&[500, 400], 1000), [500, 400]);
        assert_eq!(closing_thousandths(&[700, 400], 1000), [700, 400]);
        assert_eq!((closing_thousandths(&[0, 0], 0), closing_thousandths(&[], 9)), (vec![0, 0], vec![]));
        let hundred_and_one: Vec<u64> = (1..=101).collect();
        assert_eq!(of(&hundred_and_one).iter().sum::<u64>(), 1000);
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut shown = shown(Made::Exact(COST));
        shown.snapshot.lost = Losses { owners_merged: 3, events_missed: 2, returns_unseen: 7, ..Losses::default() };
        let text = text(&shown, &options(1, false));
        assert!(text.contains("NOT in the table: 2 events and 0 threads\n"), "{text}");
        assert!(
            text.contains("3 owners and 0 calls are counted under (others)\n") && text.contains("(2 more rows)"),
            "{text}"
        );
        assert!(text.contains("7 returns of threads to a CPU were not seen: these waits are estimates, or missing\n"));
        assert!(!text.contains("Nothing was lost"));
    }

    #[test]
    fn each_way_of_measuring_names_itself() {
        for (made, words) in [
            (Made::Sampled(COST), "2000 ns a sample, 0.02 % of a CPU"),
            (Made::Traced { call_cost_ns: 9000 }, "9 us a call, by that an estimated 9 ms of their 10 ms"),
            (
                Made::Traced { call_cost_ns: 90_000 },
                "90 us a call, by that 90 ms, which cannot be: theirs were cheaper, and cost less than all of their 10 ms",
            ),
            (Made::Outside { own_cpu_ns: 1, unreadable: 1 }, " 1 thread of other users could not be looked at."),
        ] {
            let text = text(&shown(made), &options(0, false));
            assert!(text.contains(words), "{text}");
        }
        let some = Shown { is_of_some_calls: true, ..shown(Made::Exact(COST)) };
        assert!(
            text(&some, &options(0, false)).contains(": 6 ms of 10 ms in these system calls (60.0 %);"),
            "not in all calls"
        );
        let nobody = Shown { snapshot: CallSnapshot::default(), ..shown(Made::Exact(COST)) };
        assert!(text(&nobody, &options(0, false)).starts_with("no process was followed in 0 "));
    }
}
