//! `mh timers` beside cyclictest (of Debian's rt-tests): both wait by `clock_nanosleep` with an absolute time, in ordinary
//! threads, in turn. They agree when the middles of the quieter half of their rounds differ no more than these rounds among
//! themselves: the noisier half says what else the machine did.

use super::{Due, Line, answer, finish, number};
use crate::BenchArguments;
use crate::judge::median;
use std::path::Path;
use std::process::Command;
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[("cyclictest", "rt-tests")];

/// Waits of one millisecond, as cyclictest's usual interval.
const WAITS: &str = "500";

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    if arguments.list {
        println!("clock_nanosleep abs against cyclictest");
        return Ok(());
    }
    let _named_below = workspace::install(PACKAGES);
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let command = arguments.command_line();
    let how = "Late by, in microseconds: the middle of the medians of the quieter half of the rounds, and from the smallest to the largest of these.";
    if !workspace::has_program("cyclictest") {
        return finish("timers", &command, how, &[], &["cyclictest is not installed".to_owned()]);
    }
    let mut lines = Vec::new();
    for slack in ["1ns", "50us"] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..arguments.rounds() {
            ours.push(our_median_us(&program, slack)?);
            theirs.push(their_median_us(&program, slack)?);
        }
        let (ours, theirs) = (quieter_half(ours), quieter_half(theirs));
        let apart = (median(&ours) - median(&theirs)).abs();
        let spread = width(&ours).max(width(&theirs));
        // LIMIT: cyclictest counts whole microseconds, and reads its clock on the other side of its own bookkeeping.
        let is_met = apart <= spread.max(2.0);
        lines.push(Line {
            name: format!("clock_nanosleep abs, slack {slack}"),
            ours: figures(&ours),
            against: format!("cyclictest {}", figures(&theirs)),
            due: Some(Due { words: "within the spread", is_met }),
        });
    }
    finish("timers", &command, how, &lines, &[])
}

fn quieter_half(mut medians: Vec<f64>) -> Vec<f64> {
    medians.sort_unstable_by(f64::total_cmp);
    medians.truncate(medians.len().div_ceil(2));
    medians
}

fn width(values: &[f64]) -> f64 {
    let (low, high) = bounds(values);
    high - low
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
}

fn figures(values: &[f64]) -> String {
    let (low, high) = bounds(values);
    format!("{:.1} ({low:.1} to {high:.1})", median(values))
}

fn our_median_us(program: &Path, slack: &str) -> Result<f64, String> {
    let arguments = ["timers", "-c", "clock_nanosleep abs", "--wait", "1ms", "--slack", slack, "-n", WAITS, "--json"];
    // The second row is the one with the slack that was asked for.
    Ok(number(&answer(program, &arguments)?, "/waits/1/late/p50_ns")? / 1000.0)
}

/// cyclictest takes the slack that it inherits.
fn their_median_us(program: &Path, slack: &str) -> Result<f64, String> {
    let mut command = Command::new(program);
    command.args(["timers", "run", "--slack", slack, "--", "cyclictest", "--default-system", "--policy=other", "-q"]);
    command.args(["-t1", "-i1000", "-l", WAITS, "-h", "20000"]);
    let output = command.output().map_err(|error| format!("could not run cyclictest: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    median_of_histogram(&text).ok_or_else(|| format!("cyclictest printed no histogram: {text}"))
}

/// Lines of `MICROSECONDS COUNT`.
fn median_of_histogram(text: &str) -> Option<f64> {
    let counts: Vec<(u64, u64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace().map(str::parse);
            Some((words.next()?.ok()?, words.next()?.ok()?))
        })
        .collect();
    let half = counts.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
    let mut seen = 0;
    counts.into_iter().filter(|(_, count)| *count > 0).find_map(|(us, count)| {
        seen += count;
        (seen >= half).then_some(us as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_rounds_are_left_out() {
        assert_eq!(quieter_half(vec![9000.0, 23.0, 24.0, 22.0, 700.0]), [22.0, 23.0, 24.0]);
        assert_eq!(width(&[22.0, 24.0, 23.0]), 2.0);
    }

    #[test]
    fn the_middle_of_a_histogram_is_found() {
        let text = "# Histogram\n000000 000001\n000007 000003\n000900 000001\n# Total: 5\n";
        assert_eq!(median_of_histogram(text), Some(7.0));
        assert_eq!(median_of_histogram("# nothing\n"), None);
    }
}
