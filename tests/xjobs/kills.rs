//! The runner killed at every step and resumed: each job has run exactly once, or is named. Steps are the writes of the journal:
//! as soon as its nth line is there, runner or guard is killed; and moments in between, by time.

use super::ends::start;
use super::{stdout, xjobs};
use crate::place::{Place, child_of, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::program::Exit;
use testkit::random::Random;

/// What each job does: leaves a mark, takes a moment, leaves another.
const SCRIPT: &str = "echo begin $1 >> log; sleep 0.00$(($1 % 4)); echo end $1 >> log; exit $(($1 % 5 == 0))";

const JOBS: usize = 12;

/// When a round is killed.
#[derive(Clone, Copy, Debug)]
enum When {
    /// As soon as the journal has so many lines more.
    Lines(usize),
    /// After this time.
    After(Duration),
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Guard,
    Runner,
}

fn lines(place: &Place, name: &str) -> usize {
    if place.has(name) { place.read(name).iter().filter(|&&byte| byte == b'\n').count() } else { 0 }
}

/// Runs until it is killed or ends by itself.
fn round(place: &Place, arguments: &[&str], list: &str, when: When, victim: Victim) {
    let before = lines(place, "j");
    let mut running = start(place, arguments, list);
    let begun = Instant::now();
    let guard = i32::try_from(running.child.id()).expect("a number");
    let mut runner = None;
    let is_time = || match when {
        When::Lines(count) => lines(place, "j") >= before + count,
        When::After(time) => begun.elapsed() >= time,
    };
    while !is_time() && running.child.try_wait().expect("it can be asked").is_none() {
        runner = runner.or_else(|| child_of(guard));
    }
    runner = runner.or_else(|| child_of(guard));
    let process = if victim == Victim::Guard { Some(guard) } else { runner };
    if running.child.try_wait().expect("it can be asked").is_none()
        && let Some(process) = process.and_then(Pid::from_raw)
    {
        let _it_may_have_ended = kill_process(process, Signal::KILL);
    }
    running.end();
    // Without its guard it ends its jobs by itself, and tells so.
    if let Some(runner) = runner {
        wait_until("the runner is gone", || !Path::new(&format!("/proc/{runner}")).exists());
    }
}

/// Kills one run after the other at the given moments, then lets one finish, and counts.
fn killed_at(moments: impl Iterator<Item = (When, Victim)>) {
    let place = Place::new();
    let list: String = (0..JOBS).map(|number| format!("{number}\n")).collect();
    let arguments = ["-j3", "--journal", "j", "--resume", "sh", "-c", SCRIPT, "sh"];
    moments.for_each(|(when, victim)| round(&place, &arguments, &list, when, victim));
    let last = xjobs(&place, &arguments, &list);
    let text = |name: &str| String::from_utf8(place.read(name)).expect("text");
    let told = if place.has("said") { text("said") } else { String::new() } + &said(&last);
    let (log, journal) = (text("log"), text("j"));
    for number in 0..JOBS {
        let began = log.lines().filter(|line| *line == format!("begin {number}")).count();
        let ends = journal.lines().filter(|line| is_end(line, number)).count();
        assert_eq!(ends, 1, "job {number} has come to one end\n{journal}");
        assert!(began >= 1, "job {number} has run");
        let named = told.lines().filter(|line| names(line, number)).count();
        assert!(began <= 1 + named, "job {number} ran {began} times and was named {named} times\n{told}\n{journal}");
    }
    let nothing = xjobs(&place, &arguments, &list);
    assert_eq!((stdout(&nothing), nothing.exit), (String::new(), Exit::Code(0)));
    assert_eq!(text("log"), log, "nothing is left to do");
}

/// Whether a line tells that the job had begun and has no end, or that it was ended with its run.
fn names(line: &str, number: usize) -> bool {
    let job = format!("job {} ", number + 1);
    let had_begun = line.contains(&job) && line.contains("had begun when an earlier run ended");
    had_begun || (line.contains(&job) && line.contains(&format!("{job}was stopped: ")))
}

/// An end that counts: not that of a job that the end of its run cut off.
fn is_end(line: &str, number: usize) -> bool {
    let is_of = line.starts_with(&format!("{{\"job\":{},", number + 1));
    is_of && (line.contains("\"outcome\":\"ok\"") || line.contains("\"outcome\":\"failed\""))
}

#[test]
fn killed_after_each_line_of_the_journal() {
    for step in 1..=2 * JOBS {
        let victim = if step % 2 == 0 { Victim::Guard } else { Victim::Runner };
        killed_at(std::iter::once((When::Lines(step), victim)));
    }
}

#[test]
fn killed_again_and_again_after_few_lines() {
    for count in 1..=4 {
        let moments =
            (0..12).map(|round| (When::Lines(count), if round % 2 == 0 { Victim::Runner } else { Victim::Guard }));
        killed_at(moments);
    }
}

#[test]
fn killed_at_random_moments() {
    let mut random = Random::seeded(4);
    for _ in 0..8 {
        let moments: Vec<_> = (0..5)
            .map(|_| {
                let time = Duration::from_micros(random.below(30_000) as u64);
                (When::After(time), if random.below(2) == 0 { Victim::Runner } else { Victim::Guard })
            })
            .collect();
        killed_at(moments.into_iter());
    }
}

#[test]
#[ignore = "takes minutes: the long tier"]
fn killed_at_a_thousand_random_moments() {
    let mut random = Random::seeded(5);
    for _ in 0..200 {
        let moments: Vec<_> =
            (0..5).map(|_| (When::After(Duration::from_micros(random.below(40_000) as u64)), Victim::Runner)).collect();
        killed_at(moments.into_iter());
    }
}
