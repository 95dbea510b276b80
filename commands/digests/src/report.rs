//! What `--report` prints: where the time went, and whether reading or hashing bound the run. Decides nothing; `crew` does.

use crate::hands::RunWidth;
use crate::request::SumRequest;
use crew::budget::Priority;
use crew::clocks::StageClock;
use crew::measures::Measures;
use crew::verdict::{Bound, Circumstances, Verdict, verdict};
use mh_kit::context::Context;
use mh_kit::report::{bound_sentence, counted, hint, json_line, outlook, seconds_text};
use mh_kit::shared_args::ReportFormat;
use mh_kit::width::sentence;
use serde::Serialize;
use terminal::{Align, TextTable};

/// A finished run.
pub struct DigestReport<'a> {
    /// `digested`, `verified`.
    pub verb: &'static str,
    /// Files that were asked for, and those that failed.
    pub files: u64,
    /// See `files`.
    pub failed: u64,
    /// What was measured.
    pub measures: Measures,
    /// How wide it was at most.
    pub width: &'a RunWidth,
    /// Whose hands.
    pub hands_from: Option<&'static str>,
}

/// Prints it, if it was asked for.
pub fn report(context: &Context, request: &SumRequest, finished: &DigestReport<'_>) {
    let Some(format) = request.shared.report else { return };
    let circumstances = Circumstances {
        hands_allowed: context.machine.hands_allowed(),
        hands_asked: request.shared.hands_asked(),
        priority_is_lowered: request.shared.priority().class() < Priority::Normal,
        library_threads: false,
        others_cpu_ns: 0,
    };
    let verdict = verdict(&finished.measures, &circumstances);
    let text = match format {
        ReportFormat::Text => text(finished, &verdict),
        ReportFormat::Json => json(finished, &verdict),
    };
    context.messages.report(&text);
}

fn json(finished: &DigestReport<'_>, verdict: &Verdict) -> String {
    #[derive(Serialize)]
    struct Json<'a> {
        verb: &'static str,
        files: u64,
        failed: u64,
        measures: &'a Measures,
        width: &'a str,
        width_why: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hands_from: Option<&'static str>,
        #[serde(flatten)]
        verdict: &'a Verdict,
    }
    let DigestReport { verb, files, failed, measures, width, hands_from } = finished;
    let (verb, files, failed, hands_from) = (*verb, *files, *failed, *hands_from);
    json_line(&Json { verb, files, failed, measures, width: &width.shown, width_why: &width.why, hands_from, verdict })
}

fn text(finished: &DigestReport<'_>, verdict: &Verdict) -> String {
    let measures = &finished.measures;
    let seconds = measures.wall_ns as f64 / 1e9;
    let failed =
        if finished.failed > 0 { format!(", {} failed", terminal::integer(finished.failed)) } else { String::new() };
    let mut text = format!(
        "{} {}{failed}, {} in {}, {}\n\nwhere the time went\n{}",
        finished.verb,
        counted(finished.files, "file"),
        terminal::bytes(measures.bytes_in),
        seconds_text(seconds),
        terminal::rate(measures.bytes_in as f64 / seconds.max(1e-9)),
        stages(measures)
    );
    text.push_str(&format!("{}\n", bound(verdict, measures)));
    text.push_str(&format!("{}.\n", sentence(&finished.width.shown, &finished.width.why)));
    if let Some(whose) = finished.hands_from {
        text.push_str(&format!("its hands were {whose}.\n"));
    }
    if let Some(line) = outlook(verdict) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(step) = &verdict.next_step {
        text.push_str(&format!("hint: {}\n", hint(step)));
    }
    text
}

/// Hashing in order is the only serial part: there is no output that could bind.
fn bound(verdict: &Verdict, measures: &Measures) -> String {
    match &verdict.bound {
        Bound::Sink { occupied, .. } => format!(
            "bound by hashing in order: it runs on one core for each digest and file, which was occupied for {} of the time.",
            terminal::percentage(*occupied)
        ),
        _ => bound_sentence(verdict, measures),
    }
}

fn stages(measures: &Measures) -> String {
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]).indented(2);
    table.row(["", "busy", "no input", "no output", "no core"]);
    let clocks = &measures.clocks;
    let hands = counted(measures.workers as u64, "hand");
    let rows = [
        ("read".to_owned(), &clocks.read),
        (format!("hash ({hands})"), &clocks.work),
        ("hash in order".to_owned(), &clocks.write),
    ];
    let base = rows.iter().map(|(_, clock)| clock.total_ns()).sum::<u64>().max(1) as f64;
    let share = |nanoseconds: u64| terminal::percentage_whole(nanoseconds as f64 / base);
    for (name, clock) in rows {
        let StageClock { busy_ns, starved_ns, blocked_ns, unstaffed_ns, .. } = *clock;
        table.row([name, share(busy_ns), share(starved_ns), share(blocked_ns), share(unstaffed_ns)]);
    }
    table.to_string()
}
