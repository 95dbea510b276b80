//! What the suite runs: our binary, the floor and the jobs (C, compiled here), the runners of today, lists of numbers.
//! Knows how each runner is told width, utility and list; measures nothing.

use std::path::{Path, PathBuf};
use xtask::workspace::{self, has_program};

/// At once; every rival gets the same.
pub const WIDTH: usize = 2;

const FLOOR: &str = include_str!("../../jobs/floor.c");
const JOB: &str = include_str!("../../jobs/job.c");

/// Everything that is run.
pub struct Programs {
    directory: PathBuf,
    pub ours: String,
    pub floor: String,
    /// A job that starts like any program, and one without a dynamic linker, beside which a runner's own work shows.
    pub job: String,
    pub static_job: String,
    pub rust_parallel: String,
}

/// A job runner with its way to be told what to do.
#[derive(Clone)]
pub struct Runner {
    pub name: String,
    /// What must be installed.
    pub program: String,
    options: Vec<String>,
    feeding: Feeding,
}

/// How a runner gets the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeding {
    /// A number a line, on standard input.
    Lines,
    /// Behind `--`, all of them.
    Arguments,
    /// As a count.
    Count,
}

/// What a job has seen of its runner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    pub cpu_ns: f64,
    pub peak_kib: u64,
}

impl Own {
    /// `nanoseconds kibibytes`
    pub fn parse(text: &str) -> Option<Self> {
        let (cpu_ns, peak_kib) = text.trim().split_once(' ')?;
        Some(Self { cpu_ns: cpu_ns.parse().ok()?, peak_kib: peak_kib.parse().ok()? })
    }
}

impl Programs {
    /// Where all would be; nothing is made.
    pub fn named(ours: &Path, directory: &Path) -> Self {
        let path = |name: &str| directory.join(name).to_string_lossy().into_owned();
        Self {
            ours: ours.to_string_lossy().into_owned(),
            floor: path("floor"),
            job: path("job"),
            static_job: path("job-static"),
            rust_parallel: "rust-parallel".to_owned(),
            directory: directory.to_owned(),
        }
    }

    /// Compiles what is ours to compile; what cannot be had is missed row by row.
    pub fn make(ours: &Path, directory: &Path) -> Result<Self, String> {
        let mut programs = Self::named(ours, directory);
        for (name, source) in [("floor.c", FLOOR), ("job.c", JOB)] {
            let path = directory.join(name);
            std::fs::write(&path, source).map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        let source = |name: &str| directory.join(name).to_string_lossy().into_owned();
        workspace::run("cc", &["-O2", "-o", &programs.floor, &source("floor.c")])?;
        workspace::run("cc", &["-O2", "-o", &programs.job, &source("job.c")])?;
        workspace::run("cc", &["-O2", "-static", "-o", &programs.static_job, &source("job.c")])?;
        if !has_program("rust-parallel") {
            programs.rust_parallel = installed_rust_parallel()?;
        }
        Ok(programs)
    }

    /// A file in the suite's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn floor(&self) -> Runner {
        Runner { feeding: Feeding::Count, ..runner("C loop", &self.floor, "") }
    }

    pub fn ours(&self, options: &str) -> Runner {
        runner(&format!("mh xjobs -j2 {options}"), &self.ours, &format!("xjobs -j{WIDTH} {options}"))
    }

    pub fn xargs(&self) -> Runner {
        runner("xargs -P2 -n1", "xargs", &format!("-P{WIDTH} -n1"))
    }

    pub fn xjobs(&self, options: &str) -> Runner {
        runner(&format!("xjobs -v0 {options}"), "xjobs", &format!("-j{WIDTH} -v0 {options}"))
    }

    pub fn moreutils(&self) -> Runner {
        Runner { feeding: Feeding::Arguments, ..runner("moreutils parallel", "parallel.moreutils", "-j 2") }
    }

    pub fn rust_parallel(&self, options: &str) -> Runner {
        runner(&format!("rust-parallel {options}"), &self.rust_parallel, &format!("-j {WIDTH} {options}"))
    }

    pub fn gnu_parallel(&self) -> Runner {
        runner("GNU parallel --group", "parallel", &format!("-j{WIDTH} --group"))
    }
}

fn runner(name: &str, program: &str, options: &str) -> Runner {
    Runner {
        name: name.trim().to_owned(),
        program: program.to_owned(),
        options: options.split_whitespace().map(str::to_owned).collect(),
        feeding: Feeding::Lines,
    }
}

impl Runner {
    /// Its command line for `count` jobs of `utility`.
    pub fn words(&self, utility: &str, count: usize) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        words.extend(self.options.iter().cloned());
        match self.feeding {
            Feeding::Lines => words.push(utility.to_owned()),
            Feeding::Count => words.extend([WIDTH.to_string(), count.to_string(), utility.to_owned()]),
            Feeding::Arguments => {
                words.extend([utility.to_owned(), "--".to_owned()]);
                words.extend((1..=count).map(|number| number.to_string()));
            }
        }
        words
    }
}

/// Built once, kept beside what cargo builds. Without a network, or with a compiler that it does not like, it is missing.
fn installed_rust_parallel() -> Result<String, String> {
    let root = release_directory()?.join("bench-tools");
    let program = root.join("bin/rust-parallel");
    if !program.is_file() {
        println!("=== cargo install rust-parallel");
        let root = root.to_string_lossy();
        let _left_out_by_name = workspace::run("cargo", &["install", "--quiet", "--root", &root, "rust-parallel"]);
    }
    Ok(program.to_string_lossy().into_owned())
}

fn release_directory() -> Result<PathBuf, String> {
    let binary = workspace::release_binary()?;
    Ok(binary.parent().and_then(Path::parent).expect("it stands two directories below").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runner_is_told_utility_and_list_in_its_way() {
        let programs = Programs::named(Path::new("/mh"), Path::new("/d"));
        let line = |runner: Runner| runner.words("u", 2).join(" ");
        assert_eq!(line(programs.floor()), "/d/floor 2 2 u");
        assert_eq!(line(programs.ours("-N")), "/mh xjobs -j2 -N u");
        assert_eq!(line(programs.xargs()), "xargs -P2 -n1 u");
        assert_eq!(line(programs.moreutils()), "parallel.moreutils -j 2 u -- 1 2");
        assert_eq!(programs.xjobs("").name, "xjobs -v0");
    }

    #[test]
    fn what_a_job_saw_is_two_numbers() {
        assert_eq!(Own::parse("1200 34\n"), Some(Own { cpu_ns: 1200.0, peak_kib: 34 }));
        assert_eq!(Own::parse("1200"), None);
    }
}
