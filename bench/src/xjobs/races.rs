//! The rows that are raced: ours and rivals run the same list in turn. What is run, how it is known to have run, and what the
//! ratio must be (issue 4, section 2).

use super::Sizes;
use super::programs::{Own, Programs, Runner};
use crate::judge::Target;
use crate::measure::Tool;
use std::path::PathBuf;

/// A list, our runner and its rivals.
pub struct Race {
    pub name: String,
    pub ours: Runner,
    pub rivals: Vec<Rival>,
    pub jobs: usize,
    pub judged: Judged,
    /// LIMIT of our peak memory, where there is one.
    pub memory_mb_max: Option<f64>,
    /// What each job does.
    utility: String,
    /// What leaves marks in its stead in the round that is not timed.
    marking: String,
    work: Work,
    places: Places,
}

pub struct Rival {
    pub runner: Runner,
    pub target: Target,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Judged {
    Wall,
    /// CPU time of the runner itself: ours may be so much above the floor's.
    OwnCpu {
        above_us_max: f64,
        above_us_aim: f64,
    },
}

/// What jobs do besides ending.
#[derive(Clone, Copy)]
enum Work {
    /// Nothing.
    None,
    /// The last one looks at its runner.
    Account,
    /// Each prints so many bytes.
    Print(usize),
}

struct Places {
    list: PathBuf,
    marks: PathBuf,
    account: PathBuf,
    output: PathBuf,
}

/// All races.
pub fn all(programs: &Programs, sizes: Sizes) -> Vec<Race> {
    let must = |runner: Runner, target: Target| Rival { runner, target };
    let faster = |runner: Runner| must(runner, Target::must(1.0));
    let race = |name: &str, ours: Runner, jobs: usize, rivals: Vec<Rival>| Race {
        name: name.to_owned(),
        ours,
        rivals,
        jobs,
        judged: Judged::Wall,
        memory_mb_max: None,
        utility: "/bin/true".to_owned(),
        marking: programs.job.clone(),
        work: Work::None,
        places: Places {
            list: programs.file(&format!("list.{jobs}")),
            marks: programs.file("marks"),
            account: programs.file("account"),
            output: programs.file("output"),
        },
    };
    let Sizes { jobs, printers, printed_bytes, .. } = sizes;
    let discarded = vec![
        must(programs.floor(), Target::must(1.15).aim(1.05)),
        faster(programs.xargs()),
        faster(programs.xjobs("-N")),
        faster(programs.moreutils()),
        faster(programs.rust_parallel("-d all")),
        // And at least 0.87 of the floor's lead over it, which the first target includes.
        faster(programs.gnu_parallel()),
    ];
    let grouped = vec![
        must(programs.floor(), Target::must(1.35).aim(1.2)),
        faster(programs.xjobs("")),
        faster(programs.rust_parallel("")),
    ];
    let own = vec![
        must(programs.floor(), Target::none()),
        must(programs.xargs(), Target::none()),
        must(programs.xjobs("-N"), Target::none()),
        must(programs.moreutils(), Target::none()),
        must(programs.rust_parallel("-d all"), Target::none()),
    ];
    vec![
        race(&format!("{jobs} x true, discarded"), programs.ours("-N"), jobs, discarded),
        race(&format!("{jobs} x true, grouped"), programs.ours(""), jobs, grouped),
        Race {
            judged: Judged::OwnCpu { above_us_max: 10.0, above_us_aim: 5.0 },
            work: Work::Account,
            utility: programs.static_job.clone(),
            ..race(&format!("runner's own CPU, {jobs} jobs"), programs.ours("-N"), jobs, own)
        },
        Race {
            work: Work::Print(printed_bytes),
            memory_mb_max: Some(64.0),
            utility: programs.job.clone(),
            ..race(
                &format!("{printers} jobs print {} MB each", printed_bytes / 1_000_000),
                programs.ours(""),
                printers,
                vec![faster(programs.gnu_parallel())],
            )
        },
    ]
}

/// Marks are checked with fewer jobs than are timed where these are very many.
const MARKED_MAX: usize = 2000;

impl Race {
    /// The command that is timed.
    pub fn tool(&self, runner: &Runner) -> Tool {
        let mut variables = Vec::new();
        match self.work {
            Work::None => {}
            Work::Account => variables.extend([
                format!("BENCH_LAST={}", self.jobs),
                format!("BENCH_ROOT={}", std::process::id()),
                format!("BENCH_ACCOUNT={}", self.places.account.display()),
            ]),
            Work::Print(bytes) => variables.push(format!("BENCH_PRINT={bytes}")),
        }
        let mut tool = self.command(runner, &self.utility, self.jobs, &variables);
        if matches!(self.work, Work::Print(_)) {
            tool.consumer = Some(["sh", "-c", "uniq -c | cut -c1-14"].map(str::to_owned).to_vec());
        }
        tool
    }

    fn command(&self, runner: &Runner, utility: &str, jobs: usize, variables: &[String]) -> Tool {
        let mut words = vec!["env".to_owned()];
        words.extend(variables.iter().cloned());
        words.extend(runner.words(utility, jobs));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut tool = Tool::new(&runner.name, &words, &self.places.output);
        tool.stdin = Some(self.places.list.with_extension(jobs.to_string()));
        tool
    }

    /// Runs a list whose jobs leave marks; an error unless each has left one.
    pub fn verify(&self, runner: &Runner) -> Result<(), String> {
        let jobs = self.jobs.min(MARKED_MAX);
        for count in [jobs, self.jobs] {
            write_list(&self.places.list.with_extension(count.to_string()), count)?;
        }
        let marks = &self.places.marks;
        let _not_there = std::fs::remove_file(marks);
        let tool = self.command(runner, &self.marking, jobs, &[format!("BENCH_MARKS={}", marks.display())]);
        tool.run()?;
        let text = std::fs::read_to_string(marks).map_err(|error| format!("no job has left a mark: {error}"))?;
        let mut numbers: Vec<usize> = text.lines().filter_map(|line| line.parse().ok()).collect();
        numbers.sort_unstable();
        if numbers.into_iter().eq(1..=jobs) { Ok(()) } else { Err("not every job has run once".to_owned()) }
    }

    /// Whether the timed run printed what it should: every job's lines together, and all of them.
    pub fn check(&self, tool: &Tool) -> Result<(), String> {
        let Work::Print(bytes) = self.work else { return Ok(()) };
        let text = std::fs::read_to_string(&tool.output).map_err(|error| format!("no output: {error}"))?;
        let groups: Vec<&str> = text.lines().collect();
        let is_whole = |line: &&&str| line.split_whitespace().next() == Some(&(bytes / 1000).to_string());
        match groups.iter().filter(is_whole).count() {
            whole if whole == self.jobs && groups.len() == self.jobs => Ok(()),
            whole => Err(format!("{whole} of {} jobs' outputs are whole, in {} parts", self.jobs, groups.len())),
        }
    }

    /// What the last job saw of its runner.
    pub fn own(&self) -> Option<Own> {
        matches!(self.work, Work::Account).then_some(())?;
        Own::parse(&std::fs::read_to_string(&self.places.account).ok()?)
    }
}

fn write_list(path: &std::path::Path, count: usize) -> Result<(), String> {
    let text: String = (1..=count).map(|number| format!("{number}\n")).collect();
    std::fs::write(path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
}
