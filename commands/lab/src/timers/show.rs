//! What was measured, for people and as comma-separated values. Pure.

use super::Report;
use lab::spread::Spread;
use lab::timers::counters::Counters;
use lab::timers::waits::{Busy, WaitOutcome, keeps_the_tick};
use mh_kit::instrument::look::TextLook;
use std::fmt::Write;
use std::time::Duration;
use terminal::{Align, TextTable, Tint};

/// The whole text: verdict, machine, waits, coarse calls, clocks, counters.
pub fn as_text(report: &Report, look: TextLook) -> String {
    let mut text = look.verdict(Tint::Bold, &verdict(report));
    text.push_str(&look.prose(&surroundings(report)));
    for busy in [Busy::Others, Busy::All] {
        let rows: Vec<&WaitOutcome> = report.waits.iter().filter(|waited| waited.machine == busy).collect();
        if !rows.is_empty() {
            write!(text, "\n{}{}", heading(busy), look.table(waits_table(&rows, report.tick_ns)))
                .expect("writing to a string");
        }
    }
    write!(text, "\ncalls that may keep a coarser clock\n{}", look.table(coarse_table(report)))
        .expect("writing to a string");
    write!(text, "\nclocks, and what one read costs\n{}", look.table(clocks_table(report)))
        .expect("writing to a string");
    write!(text, "\n{}", look.prose(&counters_text(report.counters.as_ref()))).expect("writing to a string");
    text
}

fn heading(busy: Busy) -> &'static str {
    match busy {
        Busy::Others => "waits, late by (us), machine as it is\n",
        Busy::All => "waits, late by (us), a spinning thread on every CPU\n",
    }
}

/// What a person came for: the common ways to wait, and what a smaller slack would change.
fn verdict(report: &Report) -> String {
    let mut parts = Vec::new();
    for call in ["poll", "clock_nanosleep"] {
        let of_call = |waited: &&WaitOutcome| waited.call == call && waited.machine == Busy::Others;
        let mut rows = report.waits.iter().filter(of_call).filter_map(|waited| Some((waited, waited.late?)));
        let Some((first, late)) = rows.next() else { continue };
        let mut part = format!("{call} told {} takes {}", span(first.told_ns), took(first.told_ns, late));
        if let Some((finest, late)) = rows.min_by_key(|(waited, _)| waited.slack_ns) {
            let with = format!(", {} with a timer slack of {}", took(finest.told_ns, late), span(finest.slack_ns));
            part.push_str(&with);
        }
        parts.push(part);
    }
    if parts.is_empty() { String::new() } else { parts.join("; ") + "\n" }
}

fn took(told_ns: u64, late: Spread) -> String {
    span(told_ns.saturating_add_signed(late.p50_ns))
}

fn span(nanoseconds: u64) -> String {
    terminal::duration(Duration::from_nanos(nanoseconds))
}

fn surroundings(report: &Report) -> String {
    let plural = if report.cpus == 1 { "" } else { "s" };
    let source = report.clock_source.as_deref().unwrap_or("not known");
    let others = match report.others_runnable {
        Some(0) => "no other thread could run when it began".to_owned(),
        Some(1) => "1 other thread could run when it began".to_owned(),
        Some(count) => format!("{} other threads could run when it began", terminal::integer(count)),
        None => "how busy it is is not known".to_owned(),
    };
    format!(
        "{} CPU{plural}, clock source {}, tick {}, timer slack {}; {others}\n",
        report.cpus,
        terminal::printable(source),
        span(report.tick_ns),
        span(report.slack_ns)
    )
}

fn waits_table(rows: &[&WaitOutcome], tick_ns: u64) -> TextTable {
    let has_cpus = rows.iter().any(|waited| waited.cpu.is_some());
    let number = [Align::Right; 8];
    let mut aligns = vec![Align::Left];
    aligns.extend(number);
    aligns.push(Align::Left);
    if has_cpus {
        aligns.insert(0, Align::Right);
    }
    // On a narrow terminal the remark matters more than how many rounds there were.
    let first = usize::from(has_cpus);
    let mut table = TextTable::new(&aligns).indented(2).dropping(&[first + 8, first + 7, first + 3]);
    let titles = ["CALL", "TOLD", "SLACK", "MIN", "P50", "P99", "MAX", "EARLY", "ROUNDS"];
    table.row(has_cpus.then_some("CPU").into_iter().chain(titles));
    for waited in rows {
        let cpu = waited.cpu.map(|cpu| cpu.to_string());
        table.row(cpu.into_iter().chain(wait_cells(waited, tick_ns)));
    }
    table
}

fn wait_cells(waited: &WaitOutcome, tick_ns: u64) -> Vec<String> {
    let mut cells = vec![waited.call.to_owned(), span(waited.told_ns), span(waited.slack_ns)];
    match (&waited.late, &waited.missing) {
        (Some(late), _) => {
            cells.extend([late.min_ns, late.p50_ns, late.p99_ns, late.max_ns].map(microseconds));
            cells.extend([late.early.to_string(), late.rounds.to_string()]);
            let remark = match waited.own_slack_ns {
                _ if keeps_the_tick(late, tick_ns) => "keeps the tick".to_owned(),
                Some(own_ns) => format!("takes a slack of {}", span(own_ns)),
                None => String::new(),
            };
            cells.push(remark);
        }
        (None, missing) => {
            cells.extend(["-"; 6].map(str::to_owned));
            cells.push(missing.clone().unwrap_or_default());
        }
    }
    cells
}

/// Nanoseconds in microseconds, with three significant digits.
fn microseconds(nanoseconds: i64) -> String {
    let us = nanoseconds as f64 / 1000.0;
    match us.abs() {
        size if size < 9.995 => format!("{us:.2}"),
        size if size < 99.95 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

fn coarse_table(report: &Report) -> TextTable {
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Left]).indented(2);
    table.row(["CALL", "UNIT", "SEEN", ""]);
    for coarse in &report.coarse {
        let seen = coarse.seen_ns.map_or("-".to_owned(), span);
        table.row([coarse.call, &span(coarse.unit_ns), &seen, coarse.how]);
    }
    table
}

fn clocks_table(report: &Report) -> TextTable {
    let mut table =
        TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left]).indented(2);
    table.row(["CLOCK", "READ ns", "BY CALL ns", "RESOLUTION", "STEP SEEN", ""]);
    for clock in &report.clocks {
        table.row([
            clock.clock,
            &format!("{:.1}", clock.read_ns),
            &format!("{:.1}", clock.system_call_ns),
            &span(clock.resolution_ns),
            &clock.step_ns.map_or("-".to_owned(), span),
            if clock.is_read_in_user_mode { "no system call" } else { "a system call each" },
        ]);
    }
    table
}

fn counters_text(counters: Option<&Counters>) -> String {
    let Some(counters) = counters else {
        return "time stamp counters: nothing to compare (one CPU, or none that can be read)\n".to_owned();
    };
    let rate = format!("{:.0} counts a us", counters.counts_per_us);
    let differing: Vec<_> = counters.offsets.iter().filter(|offset| !offset.agrees()).collect();
    let mut text = String::new();
    if differing.is_empty() && !counters.offsets.is_empty() {
        let worst = counters.offsets.iter().map(|offset| offset.high_ns.max(-offset.low_ns)).fold(0.0, f64::max);
        text = format!(
            "time stamp counters: {} of {} CPUs agree with CPU {} as far as can be seen (within {worst:.0} ns), {rate}\n",
            counters.offsets.len(),
            counters.offsets.len() + counters.failed.len(),
            counters.reference
        );
    }
    for offset in differing {
        let (low, high) = (offset.low_ns, offset.high_ns);
        let line = format!(
            "time stamp counters DIFFER: CPU {} is {low:.0} to {high:.0} ns ahead of CPU {}, {rate}\n",
            offset.cpu, counters.reference
        );
        text.push_str(&line);
    }
    if !counters.failed.is_empty() {
        let list: Vec<String> = counters.failed.iter().map(ToString::to_string).collect();
        let line = format!("time stamp counters: no figure for CPU {}: too busy, or switched off\n", list.join(", "));
        text.push_str(&line);
    }
    text
}

/// The waits, one a line, after a line of names.
pub fn as_csv(report: &Report) -> String {
    let mut text =
        "call,machine,cpu,told_ns,slack_ns,rounds,min_ns,p50_ns,p99_ns,max_ns,early,missing,own_slack_ns\n".to_owned();
    for waited in &report.waits {
        let machine = if waited.machine == Busy::All { "loaded" } else { "as is" };
        let cpu = waited.cpu.map_or(String::new(), |cpu| cpu.to_string());
        let figures = waited.late.map_or(",,,,,".to_owned(), |late| {
            let Spread { rounds, min_ns, p50_ns, p99_ns, max_ns, early } = late;
            format!("{rounds},{min_ns},{p50_ns},{p99_ns},{max_ns},{early}")
        });
        let missing = waited.missing.as_deref().unwrap_or_default().replace(['"', ',', '\n'], " ");
        let WaitOutcome { call, told_ns, slack_ns, .. } = waited;
        let own = waited.own_slack_ns.map_or(String::new(), |own_ns| own_ns.to_string());
        writeln!(text, "{call},{machine},{cpu},{told_ns},{slack_ns},{figures},{missing},{own}")
            .expect("writing to a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::timers::counters::Offset;

    fn waited(call: &'static str, slack_ns: u64, p50_ns: i64) -> WaitOutcome {
        let late = Spread { rounds: 9, min_ns: p50_ns / 2, p50_ns, p99_ns: p50_ns * 2, max_ns: p50_ns * 3, early: 0 };
        let told_ns = if call == "poll" { 1_000_000 } else { 100_000 };
        let own_slack_ns = (call == "poll" && slack_ns == 1).then_some(1_000);
        WaitOutcome {
            call,
            told_ns,
            slack_ns,
            own_slack_ns,
            machine: Busy::Others,
            cpu: None,
            late: Some(late),
            missing: None,
        }
    }

    fn report(waits: Vec<WaitOutcome>) -> Report {
        Report {
            cpus: 2,
            clock_source: Some("tsc\u{1b}".to_owned()),
            clock_sources_available: Vec::new(),
            tick_ns: 4_000_000,
            slack_ns: 50_000,
            wanted_ns: 100_000,
            others_runnable: Some(0),
            waits,
            coarse: Vec::new(),
            clocks: Vec::new(),
            counters: None,
        }
    }

    #[test]
    fn the_first_line_says_what_waits_take_and_what_slack_changes() {
        let missing = WaitOutcome { late: None, missing: Some("not, here".to_owned()), ..waited("timerfd", 1, 0) };
        let coarse = waited("recv SO_RCVTIMEO", 1, 7_000_000);
        let report = report(vec![waited("poll", 50_000, 58_000), waited("poll", 1, 4_000), coarse, missing]);
        let text = as_text(&report, TextLook::PLAIN);
        let first = text.lines().next().expect("a verdict");
        assert_eq!(first, "poll told 1 ms takes 1.06 ms, 1.00 ms with a timer slack of 1 ns", "{text}");
        assert!(text.contains("keeps the tick") && text.contains("not, here") && !text.contains('\u{1b}'), "{text}");
        let csv = as_csv(&report);
        let columns = |line: &str| line.split(',').count();
        assert_eq!(csv.lines().map(columns).collect::<Vec<_>>(), [13; 5], "{csv}");
        assert!(text.contains("takes a slack of 1 us") && csv.contains(",0,,1000\n"), "{text}{csv}");
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([1_234, 52_340, 1_203_400, -400].map(microseconds), ["1.23", "52.3", "1203", "-0.40"]);
    }

    #[test]
    fn counters_that_differ_are_said_aloud() {
        let offset = |cpu, low_ns, high_ns| Offset { cpu, low_ns, high_ns };
        let offsets = vec![offset(1, -40.0, 60.0), offset(2, 500.0, 700.0)];
        let counters = Counters { reference: 0, counts_per_us: 2400.0, offsets, failed: vec![3] };
        let text = counters_text(Some(&counters));
        assert!(text.starts_with("time stamp counters DIFFER: CPU 2 is 500 to 700 ns ahead of CPU 0"), "{text}");
        assert!(text.contains("no figure for CPU 3"), "{text}");
    }
}
