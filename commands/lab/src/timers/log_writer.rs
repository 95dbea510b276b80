//! `mh timers log-writer`: many threads wait for what one announces. Shows what polling costs beside being woken.

use super::failure;
use super::span::parse_span;
use clap::Args;
use lab::timers::log_writer::{Scene, WAYS, WakingOutcome, WakingWay, measure};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use std::time::Duration;
use terminal::{Align, TextTable};

#[derive(Args, Debug)]
pub struct LogWriterArgs {
    /// Threads that wait
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    waiters: u16,
    /// Time between two announcements
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_span)]
    every: Duration,
    /// For how long each way is tried
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_span)]
    time: Duration,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LogWriterArgs) -> Result<Outcome, Failure> {
    let every = args.every.max(Duration::from_micros(1));
    let scene = Scene { waiters: args.waiters.into(), every, time: args.time };
    let mut rows = Vec::with_capacity(WAYS.len());
    for &way in WAYS {
        rows.push(measure(way, scene).map_err(|error| failure("try how waiters learn of an event", &error))?);
    }
    print(&match args.json {
        true => {
            serde_json::json!({ "waiters": scene.waiters, "every_ns": every.as_nanos() as u64, "ways": rows })
                .to_string()
                + "\n"
        }
        false => as_text(&rows, scene),
    })?;
    Ok(Outcome::Done)
}

fn as_text(rows: &[WakingOutcome], scene: Scene) -> String {
    let aligns =
        [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    let mut table = TextTable::new(&aligns).indented(2);
    table.row(["WAITERS", "P50 us", "P99 us", "MAX us", "LOOKS", "CORES", "WRITER us", "EVENTS"]);
    for told in rows {
        let late = |pick: fn(&lab::spread::Spread) -> i64| {
            told.late.as_ref().map_or("-".to_owned(), |late| format!("{:.0}", pick(late) as f64 / 1000.0))
        };
        table.row([
            in_words(told.way),
            late(|late| late.p50_ns),
            late(|late| late.p99_ns),
            late(|late| late.max_ns),
            format!("{:.1}", told.looks_per_event),
            format!("{:.3}", told.waiters_cores),
            format!("{:.1}", told.writer_us_per_event),
            told.events.to_string(),
        ]);
    }
    format!(
        "{} threads wait for an event every {}: how late they see it, and what waiting costs\n{table}\n\
         LOOKS: how often each looked, for an event. CORES: CPU time of all waiters, in cores.\n\
         WRITER us: CPU time of the announcing thread, for an event.\n",
        scene.waiters,
        terminal::duration(scene.every)
    )
}

fn in_words(way: WakingWay) -> String {
    match way {
        WakingWay::Poll { ms } => format!("poll every {ms} ms"),
        WakingWay::Nap { us } => format!("nap {us} us, slack 1 ns"),
        WakingWay::Woken => "are woken".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_that_saw_nothing_have_no_figures() {
        let told = WakingOutcome {
            way: WakingWay::Woken,
            events: 0,
            late: None,
            waiters_cores: 0.0,
            writer_us_per_event: 0.0,
            looks_per_event: 0.0,
        };
        let scene = Scene { waiters: 3, every: Duration::from_millis(10), time: Duration::ZERO };
        let text = as_text(&[told], scene);
        assert!(text.contains("are woken       -       -"), "{text}");
        assert!(text.starts_with("3 threads wait for an event every 10 ms"), "{text}");
    }
}
