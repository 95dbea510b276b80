//! Whole runs with a thread a core that starts and waits: each job begins once and ends once, whatever becomes of it, in every order
//! of these threads that 64 of them on this machine's cores come to. The list is read, run and passed on as `mh xjobs` does it.
//! Not here: what only the loop hears, by SIGCHLD, which the other threads of a test program would take.

use crew::budget::{Budget, InProcess, Priority, Request, Weight};
use jobs::classes::Classes;
use jobs::list::{JsonRecords, ListReader, Syntax};
use jobs::record::Utility;
use jobs::run::{
    Asking, Errors, FinishedRun, JobSource, JobTally, MemoryRule, Observer, OutputManner, OutputOrder, RunEvent,
    RunOptions, RunSurroundings, run,
};
use jobs::spec::More;
use jobs::template::{Shell, Template};
use machine::Host;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::signals::{JOB_CONTROL, SignalQueue};
use sys::spawn::Words;

/// How often the start, the end, the failure to start and the conclusion of each job were reported.
#[derive(Default)]
struct Told(HashMap<u64, [u32; 4]>);

impl Observer for Told {
    fn tell(&mut self, event: &RunEvent<'_>) {
        let (number, what) = match event {
            RunEvent::Started(job, _) => (job.number, 0),
            RunEvent::Ended(job, _) => (job.number, 1),
            RunEvent::NotStarted(number, ..) => (*number, 2),
            RunEvent::Concluded(job) => (job.number, 3),
            other => panic!("nothing else happens in these runs: {other:?}"),
        };
        self.0.entry(number).or_default()[what] += 1;
    }
}

fn options(width: usize, order: OutputOrder) -> RunOptions {
    RunOptions {
        width,
        hands: width,
        slots: None,
        queue_max: 1000,
        template: Template::appending(&[], Shell::None),
        defaults: More::default(),
        output: OutputManner::Whole,
        order,
        tag: None,
        errors: Errors::Apart,
        spill_directory: std::env::temp_dir(),
        timeout: None,
        ending: Vec::new(),
        retries: 0,
        delay: Duration::ZERO,
        load_max: None,
        memory_free_bytes: None,
        memory: MemoryRule { cap_bytes: u64::MAX, classes: Classes::default() },
        halt: None,
        asking: Asking::Never,
        path: b"/usr/bin:/bin".to_vec(),
        directory: PathBuf::from("/"),
        environment: Words::default(),
    }
}

/// What came of a list, what was told of its jobs, and what they printed.
fn ran(list: &str, width: usize, order: OutputOrder) -> (FinishedRun, Told, String) {
    let signals = SignalQueue::open(JOB_CONTROL).expect("signalfd");
    let directory = tempfile::tempdir().expect("a directory");
    let paths = ["list", "out", "err"].map(|name| directory.path().join(name));
    std::fs::write(&paths[0], list).expect("writable");
    let made = |path: &PathBuf| Arc::new(OwnedFd::from(File::create(path).expect("writable")));
    let input = OwnedFd::from(File::open(&paths[0]).expect("just written"));
    let syntax = Syntax::Words { lines_per_job: 1, records: JsonRecords::Read };
    let source = JobSource::Stream(ListReader::new(syntax, Utility::InTheList), input);
    let (priority, weight) = (Priority::Normal, Weight::default());
    let request = Request { priority, weight, useful_width: width, what: "a test".to_owned() };
    let host = Host::real();
    let around = RunSurroundings {
        signals: &signals,
        host: &host,
        streams: [made(&paths[1]), made(&paths[2])],
        journal: None,
        joblog: None,
        done: None,
        total: None,
        tally: Arc::new(JobTally::default()),
        watched: None,
    };
    let mut told = Told::default();
    let lease = InProcess::new(width).lease(request);
    let ran = run(options(width, order), source, lease, around, &mut told).expect("it begins");
    signals.close();
    (ran, told, std::fs::read_to_string(&paths[1]).expect("text"))
}

/// Jobs of all kinds in a fixed mixture, a barrier here and there; with how many succeed and fail, and what is printed.
fn mixture(jobs: u64) -> (String, u64, u64, Vec<String>) {
    let (mut list, mut printed, mut failing) = (String::new(), Vec::new(), 0);
    for number in 1..=jobs {
        let line = match number % 7 {
            0 => "false".to_owned(),
            1 => format!("/nowhere/{number}"),
            2 | 3 => format!("echo {number}"),
            4 => "sleep 0.002".to_owned(),
            _ => "true".to_owned(),
        };
        failing += u64::from(number % 7 < 2);
        if line.starts_with("echo") {
            printed.push(number.to_string());
        }
        writeln!(list, "{line}").expect("memory takes it");
        if number % 400 == 0 {
            list.push_str("%%\n");
        }
    }
    (list, jobs - failing, failing, printed)
}

#[test]
fn each_job_begins_and_ends_once_with_any_number_of_spawners() {
    for (width, jobs) in [(2, 1500), (5, 1500), (64, 3000)] {
        let (list, succeeding, failing, printed) = mixture(jobs);
        let (ran, told, mut output) = ran(&list, width, OutputOrder::AsEnded);
        assert_eq!((ran.counts.succeeded, ran.counts.failed, ran.dropped), (succeeding, failing, 0), "width {width}");
        for number in 1..=jobs {
            let expected = if number % 7 == 1 { [0, 0, 1, 1] } else { [1, 1, 0, 1] };
            assert_eq!(told.0.get(&number), Some(&expected), "job {number} at width {width}");
        }
        let mut lines: Vec<String> = std::mem::take(&mut output).lines().map(str::to_owned).collect();
        lines.sort_by_key(|line| line.parse::<u64>().expect("a number"));
        assert_eq!(lines, printed, "width {width}");
    }
}

#[test]
fn outputs_keep_the_order_of_the_list() {
    let (list, _, _, printed) = mixture(1000);
    let (_, _, output) = ran(&list, 16, OutputOrder::AsListed);
    assert_eq!(output.lines().collect::<Vec<_>>(), printed);
}
