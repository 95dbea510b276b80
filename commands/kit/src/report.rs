//! Plans, verdicts and forecasts as people and programs read them. The data come from `crew`; nothing is decided here.

use crate::context::Context;
use crate::failure::{Failure, with_causes};
use crate::shared_args::ReportFormat;
use crew::clocks::StageClock;
use crew::forecast::{Forecast, NoForecast, Point};
use crew::measures::{Access, Measures};
use crew::plan::Plan;
use crew::verdict::{Bound, Circumstances, Doubt, NextStep, Verdict, verdict};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;
use terminal::{Align, Delivery, TextOutput, TextTable};

/// A finished run, as the report tells it.
#[derive(Serialize)]
pub struct Finished<'a> {
    /// What was worked on.
    pub subject: &'a str,
    /// Bytes and units.
    pub totals: ReportTotals,
    /// Files that failed, of how many; none where that is told elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// Which way.
    #[serde(skip)]
    pub is_compression: bool,
    /// What was measured.
    pub measures: &'a Measures,
    /// How the producer was kept up with, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<ReportKeptUp>,
    /// Whose hands it worked with, where they were not simply the table's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hands_from: Option<&'static str>,
    /// How wide it was at most, and why, where that depends on what its files lie on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_why: Option<String>,
    /// What an archive's index was good for, in a word, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Members of an archive.
    #[serde(skip)]
    pub members: Option<u64>,
    /// The name of the file that was made.
    #[serde(skip)]
    pub made: Option<String>,
    /// What decides which next step is still open.
    #[serde(skip)]
    pub circumstances: Circumstances,
}

/// Bytes and units of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ReportTotals {
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Members or frames.
    pub units: u64,
    /// Units of them that were decoded as a stream because they do not tell their length.
    pub streamed_units: u64,
}

/// How a producer was kept up with.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReportKeptUp {
    /// For so long the source was not read for want of a slot: the producer waited at most that long.
    pub waited_ns: u64,
    /// The lowest level used.
    pub level_lowest: i32,
    /// The highest.
    pub level_highest: i32,
    /// The mean over plain bytes.
    pub level_mean: f64,
}

/// What did not come out as asked.
#[derive(Clone, Copy, Serialize)]
pub struct Failed {
    /// Files that failed.
    pub files: usize,
    /// Files that were asked for.
    pub of: usize,
}

/// Prints to standard output; a reader that left ends the command silently.
pub fn print(text: &str) -> Result<(), Failure> {
    print_as("mh", text)
}

/// The same, for a command that is named where it fails.
pub fn print_as(command: &'static str, text: &str) -> Result<(), Failure> {
    put(command, text.as_bytes())
}

/// Bytes, names of files among them, to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    put("mh", bytes)
}

fn put(command: &'static str, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = TextOutput::standard();
    match output.put(bytes).and_then(|_| output.finish()) {
        Ok(Delivery::Taken) => Ok(()),
        Ok(Delivery::ReaderGone) => Err(Failure::BrokenPipe),
        Err(error) => {
            let message = format!("write to standard output: {}", with_causes(&error));
            Err(Failure::Environment { command, message })
        }
    }
}

/// Plain data as one JSON object on a line of its own.
pub fn json_line<T: Serialize + ?Sized>(data: &T) -> String {
    serde_json::to_string(data).expect("plain data") + "\n"
}

/// `--explain`.
pub fn show_plan(context: &Context, plan: &Plan, format: Option<ReportFormat>) -> Result<(), Failure> {
    let mut plan = plan.clone();
    if let Some(why) = crate::sharing::why_no_table() {
        plan.choose("cores", "shared with no other run", why);
    }
    if let Some((path, words)) = context.settings.in_words() {
        plan.choose("settings", words, path);
    }
    match format {
        Some(ReportFormat::Json) => print(&json_line(&plan)),
        _ => print(&plan_text(&plan)),
    }
}

fn plan_text(plan: &Plan) -> String {
    let mut table = TextTable::new(&[Align::Left, Align::Left, Align::Left]).indented(2);
    for choice in &plan.choices {
        table.row([&choice.subject, &choice.decision, &choice.reason]);
    }
    format!("plan: {}\n{table}", terminal::printable(&plan.purpose))
}

/// The end of a run: its report, if that was asked for, or a line for those who have seen its progress.
pub fn conclude(context: &Context, finished: &Finished<'_>, report: Option<ReportFormat>, is_verbose: bool) {
    let took = Duration::from_nanos(finished.measures.wall_ns);
    match report {
        Some(format) => show_report(context, finished, format),
        None => crate::progress::summarize(context, took, is_verbose, || summary(finished)),
    }
}

/// `--report`: on standard error, since standard output may be data.
pub fn show_report(context: &Context, finished: &Finished<'_>, format: ReportFormat) {
    let verdict = verdict(finished.measures, &finished.circumstances);
    let text = match format {
        ReportFormat::Text => report_text(finished, &verdict),
        ReportFormat::Json => report_json(finished, &verdict),
    };
    context.messages.report(&text);
}

#[derive(Serialize)]
struct JsonReport<'a> {
    #[serde(flatten)]
    finished: &'a Finished<'a>,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

fn report_json(finished: &Finished<'_>, verdict: &Verdict) -> String {
    json_line(&JsonReport { finished, verdict })
}

/// `41.2 GB -> 13.9 GB (66.2 % smaller)`.
pub fn sizes(totals: &ReportTotals, is_compression: bool) -> String {
    let (from, to) = (totals.bytes_in, totals.bytes_out);
    if from == to {
        return terminal::bytes(from);
    }
    let change = match is_compression {
        true if from > 0 && to <= from => format!(" ({} smaller)", terminal::percentage(1.0 - to as f64 / from as f64)),
        true if from > 0 => format!(" ({} larger)", terminal::percentage(to as f64 / from as f64 - 1.0)),
        _ => String::new(),
    };
    format!("{} -> {}{change}", terminal::bytes(from), terminal::bytes(to))
}

/// LIMIT: columns of a summary: of a terminal of the usual width.
const SUMMARY_COLUMNS: usize = 79;

/// `db.export: 41.2 GB -> 15.7 GB (61.8 % smaller), db.export.zst, in 33.4 s, 1.23 GB/s`, without the name of what was made if that is too long.
fn summary(finished: &Finished<'_>) -> String {
    let members = finished.members.map_or(String::new(), |members| format!(", {}", counted(members, "member")));
    let line = |subject: &str, made: &str| headline(subject, finished, made) + &members;
    let made = finished.made.as_ref().map_or(String::new(), |name| format!(", {name},"));
    let whole = line(finished.subject, &made);
    if terminal::columns(&whole) <= SUMMARY_COLUMNS {
        return whole;
    }
    const SHORTEST_SUBJECT: usize = 12;
    let room = SUMMARY_COLUMNS.saturating_sub(terminal::columns(&line("", ""))).max(SHORTEST_SUBJECT);
    line(&terminal::shorten_middle(finished.subject, room), "")
}

/// The first line of a report.
fn headline(subject: &str, finished: &Finished<'_>, made: &str) -> String {
    let seconds = finished.measures.wall_ns as f64 / 1e9;
    let plain = if finished.is_compression { finished.totals.bytes_in } else { finished.totals.bytes_out };
    // What was read and written of files that failed says nothing about how well they can be packed.
    let (change, failed) = match finished.failed {
        Some(Failed { files, of }) => (false, format!("; {files} of {} failed", counted(of as u64, "file"))),
        None => (finished.is_compression, String::new()),
    };
    format!(
        "{subject}: {}{made} in {}, {}{failed}",
        sizes(&finished.totals, change),
        seconds_text(seconds),
        terminal::rate(plain as f64 / seconds.max(1e-9)),
    )
}

fn report_text(finished: &Finished<'_>, verdict: &Verdict) -> String {
    let measures = finished.measures;
    let mut text =
        format!("{}\n\nwhere the time went\n{}", headline(finished.subject, finished, ""), stage_table(measures));
    writeln!(text, "{}", bound_sentence(verdict, measures)).expect("writing to a string");
    if let Some(kept) = &finished.kept_up {
        writeln!(text, "{}", kept_sentence(kept, measures, &finished.totals, finished.failed.as_ref()))
            .expect("writing to a string");
    }
    if let Some(why) = &finished.width_why {
        writeln!(text, "{why}.").expect("writing to a string");
    }
    if let Some(whose) = finished.hands_from {
        writeln!(text, "its hands were {whose}.").expect("writing to a string");
    }
    if let Some(index) = &finished.index {
        writeln!(text, "its index: {index}.").expect("writing to a string");
    }
    if let Some(outlook) = outlook(verdict) {
        writeln!(text, "{outlook}").expect("writing to a string");
    }
    if let Some(step) = &verdict.next_step {
        writeln!(text, "hint: {}", hint(step)).expect("writing to a string");
    }
    text
}

fn stage_table(measures: &Measures) -> String {
    let clocks = &measures.clocks;
    let [read, work, write] = measures.stage_names;
    let hands = counted(measures.workers as u64, "hand");
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]).indented(2);
    table.row(["", "busy", "no input", "no output", "no core"]);
    let in_workers = |access: Access| {
        if access == Access::OwnThread { "" } else { " (in the workers)" }
    };
    let mut rows = vec![
        (format!("{read}{}", in_workers(measures.reading)), &clocks.read),
        (format!("{work} ({hands})"), &clocks.work),
        (format!("{write}{}", in_workers(measures.writing)), &clocks.write),
    ];
    let whole = rows.iter().map(|(_, clock)| clock.total_ns()).sum::<u64>() + clocks.lanes.total_ns();
    if clocks.lanes.total_ns() * 100 > whole {
        rows.push(("open, close".to_owned(), &clocks.lanes));
    }
    // Shares are of the time that the threads which did the stage had: workers share theirs among all stages they do.
    for (name, clock) in rows {
        let base = stage_base(measures, clock);
        let share = |nanoseconds: u64| terminal::percentage_whole(nanoseconds as f64 / base);
        let StageClock { busy_ns, starved_ns, blocked_ns, unstaffed_ns, .. } = *clock;
        table.row([name, share(busy_ns), share(starved_ns), share(blocked_ns), share(unstaffed_ns)]);
    }
    table.to_string()
}

/// The time that shares of a stage are of: a thread's own for the ends of pipes, the workers' for all else.
fn stage_base(measures: &Measures, clock: &StageClock) -> f64 {
    let clocks = &measures.clocks;
    let own_thread = (measures.reading == Access::OwnThread && std::ptr::eq(clock, &clocks.read))
        || (measures.writing == Access::OwnThread && std::ptr::eq(clock, &clocks.write));
    if own_thread {
        return (clock.total_ns() as f64).max(1.0);
    }
    let mut workers = clocks.work.total_ns() + clocks.lanes.total_ns();
    if measures.reading != Access::OwnThread {
        workers += clocks.read.total_ns();
    }
    if measures.writing != Access::OwnThread {
        workers += clocks.write.total_ns();
    }
    (workers as f64).max(1.0)
}

/// A sentence of the report.
pub fn bound_sentence(verdict: &Verdict, measures: &Measures) -> String {
    match &verdict.bound {
        Bound::Source { stage, occupied, waiting } if *waiting >= 0.5 => format!(
            "bound by the source: {stage} was occupied for {} of {}, and waited for its input for {} of that.",
            terminal::percentage(*occupied),
            seconds_text(measures.wall_ns as f64 / 1e9),
            terminal::percentage(*waiting)
        ),
        Bound::Source { stage, occupied, .. } => format!(
            "bound by {stage}: it runs on one core, which was occupied for {} of {}.",
            terminal::percentage(*occupied),
            seconds_text(measures.wall_ns as f64 / 1e9)
        ),
        Bound::Work { stage, hands, busy, of_busy } => format!(
            "bound by {stage}: {} busy {} of the time, {} of that with {stage}.",
            if *hands == 1 { "the one hand was".to_owned() } else { format!("the {hands} hands were") },
            terminal::percentage_whole(*busy),
            terminal::percentage_whole(*of_busy)
        ),
        Bound::Sink { stage, occupied, waiting } => format!(
            "bound by the sink: {stage} was occupied for {} of the time, {} of that waiting for room.",
            terminal::percentage(*occupied),
            terminal::percentage(*waiting)
        ),
        Bound::Unstaffed { share } => format!(
            "bound by too few cores: for {} of their time the workers had none; other programs used them.",
            terminal::percentage(*share)
        ),
        Bound::Cpu { stage, share } => format!(
            "waited for a CPU: {stage} was ready to run and had none for {} of the time; other programs, or other threads of this run, were on them.",
            terminal::percentage(*share)
        ),
        Bound::Asleep { stage, share } => format!(
            "bound by what its work waits for: {stage} was off the CPU for {} of the time and did not wait for one: a disk, a lock, memory, or a host that took the CPU.",
            terminal::percentage(*share)
        ),
        Bound::Memory { share, slots, slots_wanted, hands, hands_wanted } if hands < hands_wanted => format!(
            "bound by memory: room for {hands} of {hands_wanted} hands and {slots} of {slots_wanted} slots; for {} of the time of all these hands they were not there, or waited for a slot.",
            terminal::percentage(*share)
        ),
        Bound::Memory { share, slots, slots_wanted, .. } => format!(
            "bound by memory: {slots} of {slots_wanted} slots; the hands waited for one for {} of their time.",
            terminal::percentage(*share)
        ),
        Bound::CannotTell { reason: Doubt::LibraryThreads } => {
            "no verdict: the codec's library divided the work among its own threads.".to_owned()
        }
        Bound::CannotTell { reason: Doubt::TooShort { wall_ns } } => {
            format!("no verdict: the run took {}, too short to measure.", seconds_text(*wall_ns as f64 / 1e9))
        }
        Bound::CannotTell { reason: Doubt::NothingStandsOut { busy, starved, blocked, unstaffed } } => format!(
            "no verdict: nothing stands out; the workers were busy {}, waited for input {}, for output {} and for a core {} of the time.",
            terminal::percentage(*busy),
            terminal::percentage(*starved),
            terminal::percentage(*blocked),
            terminal::percentage(*unstaffed)
        ),
    }
}

/// `kept up: the producer waited 0.3 s of 41.2 s (0.7 %); levels 1 to 9, mean 6.2; 7.4 x smaller`.
fn kept_sentence(kept: &ReportKeptUp, measures: &Measures, totals: &ReportTotals, failed: Option<&Failed>) -> String {
    let share = kept.waited_ns as f64 / measures.wall_ns.max(1) as f64;
    // LIMIT: what `--keep-up` promises.
    let begin = if share <= 0.05 { "kept up" } else { "did not keep up" };
    let smaller = match failed {
        Some(_) => String::new(),
        None => format!("; {:.1} x smaller", totals.bytes_in as f64 / totals.bytes_out.max(1) as f64),
    };
    format!(
        "{begin}: the producer waited {} of {} ({}); levels {} to {}, mean {:.1}{smaller}",
        seconds_text(kept.waited_ns as f64 / 1e9),
        seconds_text(measures.wall_ns as f64 / 1e9),
        terminal::percentage(share),
        kept.level_lowest,
        kept.level_highest,
        kept.level_mean
    )
}

/// The report's sentence about other numbers of cores: a forecast, or the reason why there is none.
pub fn outlook(verdict: &Verdict) -> Option<String> {
    match (&verdict.forecast, &verdict.no_forecast) {
        (Some(forecast), _) => Some(forecast_sentence(forecast)),
        (None, Some(NoForecast::Contended { share })) => Some(format!(
            "no forecast: other programs took the cores for {} of the run's time.",
            terminal::percentage_whole(*share)
        )),
        (None, Some(NoForecast::Nothing) | None) => None,
    }
}

fn forecast_sentence(forecast: &Forecast) -> String {
    let points: Vec<String> = forecast.points.iter().map(point_text).collect();
    let buys = terminal::percentage_whole(forecast.one_more_core_saves);
    let end = match (forecast.pays_until_cores, forecast.then_bound_by) {
        (Some(cores), Some(stage)) => {
            format!("; from {} nothing is gained, then {stage} binds", counted(cores as u64, "core"))
        }
        _ => String::new(),
    };
    format!("one more core buys about {buys}. Expected: {}{end}.", points.join(", "))
}

/// `1 core 3.6 to 3.9 s`, `2 cores 1.88 s (measured)`.
fn point_text(point: &Point) -> String {
    let cores = counted(point.cores as u64, "core");
    if point.measured {
        return format!("{cores} {} (measured)", seconds_text(point.seconds));
    }
    format!("{cores} {}", range_text(&seconds_text(point.seconds_least), &seconds_text(point.seconds_most)))
}

/// `3.6 to 3.9 s`, `980 ms to 1.04 s`: the unit once, if it is the same.
pub fn range_text(least: &str, most: &str) -> String {
    match (least.rsplit_once(' '), most.rsplit_once(' ')) {
        _ if least == most => most.to_owned(),
        // A time of two units has a blank in front of the first one.
        (Some((number, unit)), Some((other, same)))
            if unit == same && !number.contains(' ') && !other.contains(' ') =>
        {
            format!("{number} to {most}")
        }
        _ => format!("{least} to {most}"),
    }
}

/// A sentence of the report.
pub fn hint(step: &NextStep) -> String {
    match step {
        NextStep::AllowMoreHands { asked, allowed } => {
            format!("--hands {asked} held it back; {allowed} cores are allowed")
        }
        NextStep::AllowMoreMemory { slots_wanted, slots, hands, hands_wanted } if hands < hands_wanted => format!(
            "a larger --memory SIZE gives room for {hands_wanted} hands instead of {hands}, {slots_wanted} slots instead of {slots}"
        ),
        NextStep::AllowMoreMemory { slots_wanted, slots, .. } => {
            format!("a larger --memory SIZE gives room for {slots_wanted} slots instead of {slots}")
        }
        NextStep::RaisePriority => "--priority was lowered; normal gets more of the cores".to_owned(),
        NextStep::ReadFromFile => "read from a file: a pipe is read on one core".to_owned(),
        NextStep::WriteToFile => "write to a file: a pipe is written on one core".to_owned(),
    }
}

/// `1 core`, `64 cores`.
pub fn counted(count: u64, noun: &str) -> String {
    let count_text = terminal::integer(count);
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("{count_text} {noun}"),
        (_, Some(stem)) => format!("{count_text} {stem}ies"),
        (_, None) => format!("{count_text} {noun}s"),
    }
}

/// A time in seconds, as people read it.
pub fn seconds_text(seconds: f64) -> String {
    terminal::duration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(cores: usize, least: f64, most: f64) -> Point {
        Point { cores, seconds: most, seconds_least: least, seconds_most: most, measured: least == most }
    }

    #[test]
    fn expectations_are_ranges_and_the_run_itself_is_none() {
        let forecast = Forecast {
            points: vec![point(1, 3.61, 3.88), point(2, 1.88, 1.88), point(4, 0.949, 1.04), point(8, 61.0, 75.0)],
            trusted_to_cores: 8,
            pays_until_cores: None,
            then_bound_by: None,
            one_more_core_saves: 0.312,
        };
        let expected = "one more core buys about 31 %. Expected: 1 core 3.61 to 3.88 s, 2 cores 1.88 s (measured), \
                        4 cores 949 ms to 1.04 s, 8 cores 1 min 01 s to 1 min 15 s.";
        assert_eq!(forecast_sentence(&forecast), expected);
    }

    #[test]
    fn a_refused_forecast_says_why() {
        let verdict = |no_forecast| Verdict {
            bound: Bound::Unstaffed { share: 0.4 },
            next_step: None,
            forecast: None,
            no_forecast,
        };
        let contended = outlook(&verdict(Some(NoForecast::Contended { share: 0.401 })));
        assert_eq!(
            contended.as_deref(),
            Some("no forecast: other programs took the cores for 40 % of the run's time.")
        );
        assert_eq!(outlook(&verdict(None)), None, "the run was too short");
    }

    #[test]
    fn what_is_neither_smaller_nor_larger_has_one_size() {
        let totals = |bytes_in, bytes_out| ReportTotals { bytes_in, bytes_out, ..ReportTotals::default() };
        assert_eq!(sizes(&totals(718_090_240, 718_090_240), true), "718 MB");
        assert_eq!(sizes(&totals(1000, 300), true), "1 kB -> 300 B (70.0 % smaller)");
    }

    #[test]
    fn a_summary_fits_the_usual_terminal() {
        let measures = Measures {
            wall_ns: 33_400_000_000,
            reading: Access::AtOffsets,
            writing: Access::AtOffsets,
            stage_names: ["read", "compress", "write"],
            width: 2,
            workers: 2,
            slots: crew::measures::Slots { given: 4, wanted: 4, hands_wanted: 2 },
            chunks: 9,
            lanes: 1,
            bytes_in: 0,
            bytes_out: 0,
            clocks: crew::clocks::Clocks::default(),
            process_cpu_ns: 0,
            divided_turns: None,
        };
        let of = |subject: &str, made: Option<&str>, members: Option<u64>| {
            summary(&Finished {
                subject,
                totals: ReportTotals { bytes_in: 41_200_000_000, bytes_out: 15_700_000_000, ..ReportTotals::default() },
                failed: None,
                is_compression: members.is_none(),
                measures: &measures,
                kept_up: None,
                hands_from: None,
                width_why: None,
                index: None,
                members,
                made: made.map(str::to_owned),
                circumstances: Circumstances::default(),
            })
        };
        let summary_of = |subject: &str, made: Option<&str>| of(subject, made, None);
        let extracted = of("a.tar.zst", None, Some(7));
        assert_eq!(extracted, "a.tar.zst: 41.2 GB -> 15.7 GB in 33.4 s, 470 MB/s, 7 members", "both sizes");
        assert_eq!(
            summary_of("db", Some("db.zst")),
            "db: 41.2 GB -> 15.7 GB (61.9 % smaller), db.zst, in 33.4 s, 1.23 GB/s"
        );
        let cut = summary_of("the-export-of-the-database.sql", Some("the-export-of-the-database.sql.zst"));
        assert_eq!(terminal::columns(&cut), SUMMARY_COLUMNS);
        assert!(
            cut.starts_with("the-export") && cut.contains(".sql: 41.2 GB -> 15.7 GB (61.9 % smaller) in "),
            "{cut}"
        );
    }
}
