//! The run directory of the xjobs suite: README.md with the tables, raw.csv with every run. Judges by `judge`; measures nothing.

use super::Taken;
use super::races::{Judged, Race};
use crate::judge::{Ratio, Summary, Target, judge, median};
use crate::measure::Run;
use crate::{machine, record};
use std::path::Path;

/// Something that was looked at, and what it must be.
#[derive(Clone)]
pub struct Figure {
    what: String,
    value: f64,
    unit: &'static str,
    at_most: Option<f64>,
}

impl Figure {
    pub fn at_most(what: &str, value: f64, unit: &'static str, most: f64) -> Self {
        Self { what: what.to_owned(), value, unit, at_most: Some(most) }
    }

    pub fn informs(what: &str, value: f64, unit: &'static str) -> Self {
        Self { what: what.to_owned(), value, unit, at_most: None }
    }
}

/// Collects rows and writes them at the end.
pub struct Sheet {
    /// Where it was installed, to be asked for its version.
    rust_parallel: String,
    command_line: String,
    load_before: String,
    races: String,
    own: String,
    figures: String,
    left_out: Vec<String>,
    failures: Vec<String>,
    raw: String,
    missed: usize,
}

const RACES: &str =
    "| list | runner | rounds | wall s | us a job | CPU s | MB | ratio of medians | median ratio | target | verdict |
|---|---|---|---|---|---|---|---|---|---|---|
";

const OWN: &str = "## CPU time of the runner itself

Seen by the last job of the list, which adds up all processes between itself and the bench (guards and shells too); jobs are programs
without a dynamic linker.

| list | runner | rounds | us a job | above the floor | MB | target | verdict |
|---|---|---|---|---|---|---|---|
";

const FIGURES: &str = "## Looked at from beside

| what | of | measured | must be at most | verdict |
|---|---|---|---|---|
";

const HOW: &str = "Every run is in raw.csv. Width 2. Wall times are medians (min-max) of fresh processes, ours and
the rivals' in turn, round by round; CPU seconds (the jobs' too) and peak memory (MB, the largest process) from time(1). Before timing each runner has run a list
whose jobs leave marks, and every job had left one; printed output is looked through after each run. Ratios are our wall time to
the rival's: of the medians, and the median over rounds; a target is met only where both meet it.
";

impl Sheet {
    pub fn begin(command_line: String, rust_parallel: String) -> Self {
        Self {
            rust_parallel,
            command_line,
            load_before: machine::load(),
            races: String::new(),
            own: String::new(),
            figures: String::new(),
            left_out: Vec::new(),
            failures: Vec::new(),
            raw: "list,runner,round,wall_s,user_s,system_s,memory_kib,own_cpu_us_a_job\n".to_owned(),
            missed: 0,
        }
    }

    /// Ours first, then each rival.
    pub fn race(&mut self, race: &Race, all: &[Vec<Taken>]) {
        let runners: Vec<(&str, Option<Target>)> = std::iter::once((race.ours.name.as_str(), None))
            .chain(race.rivals.iter().map(|rival| (rival.runner.name.as_str(), Some(rival.target))))
            .collect();
        for ((name, _), taken) in runners.iter().zip(all) {
            for (round, Taken { run, own }) in taken.iter().enumerate() {
                let Run { wall_s, user_s, system_s, memory_kib, .. } = run;
                let own = own.map_or(String::new(), |own| format!("{:.2}", own.cpu_ns / 1000.0 / race.jobs as f64));
                self.raw.push_str(&format!(
                    "\"{}\",\"{name}\",{round},{wall_s:.4},{user_s:.2},{system_s:.2},{memory_kib},{own}\n",
                    race.name
                ));
            }
        }
        match race.judged {
            Judged::Wall => self.walls(race, &runners, all),
            Judged::OwnCpu { above_us_max, above_us_aim } => {
                self.own_cpu(race, &runners, all, Target::must(above_us_max).aim(above_us_aim));
            }
        }
        if let Some(most) = race.memory_mb_max {
            let runs: Vec<Run> = all[0].iter().map(|taken| taken.run).collect();
            self.figure(
                &race.name,
                &Figure::at_most("peak memory, jobs included", Summary::of(&runs).memory_mb, "MB", most),
            );
        }
    }

    fn walls(&mut self, race: &Race, runners: &[(&str, Option<Target>)], all: &[Vec<Taken>]) {
        let runs = |index: usize| all[index].iter().map(|taken| taken.run).collect::<Vec<_>>();
        let ours = runs(0);
        for (index, (name, target)) in runners.iter().enumerate() {
            let theirs = runs(index);
            let summary = Summary::of(&theirs);
            let judged = target.map_or_else(
                || " |  |  | ".to_owned(),
                |target| {
                    let ratio = Ratio::of(&ours, &theirs);
                    let verdict = judge(target, ratio, &Summary::of(&ours), &summary);
                    self.missed += usize::from(verdict.is_missed());
                    let words = target_words(target);
                    format!("**{:.2}** | {:.2} | {words} | {}", ratio.of_medians, ratio.of_pairs, verdict.text())
                },
            );
            let Summary { wall_s, wall_s_min, wall_s_max, cpu_s, memory_mb, .. } = summary;
            let line = format!(
                "| {} | {name} | {} | {wall_s:.3} ({wall_s_min:.3}-{wall_s_max:.3}) | {:.0} | {cpu_s:.2} | {memory_mb:.1} | {judged} |\n",
                if index == 0 { &race.name } else { "" },
                theirs.len(),
                wall_s * 1e6 / race.jobs as f64,
            );
            print!("  {line}");
            self.races.push_str(&line);
        }
    }

    /// The floor is the first rival.
    fn own_cpu(&mut self, race: &Race, runners: &[(&str, Option<Target>)], all: &[Vec<Taken>], target: Target) {
        let us_a_job = |index: usize| {
            let owns: Vec<f64> = all[index].iter().filter_map(|taken| taken.own).map(|own| own.cpu_ns).collect();
            median(&owns) / 1000.0 / race.jobs as f64
        };
        let floor = us_a_job(1);
        for (index, (name, _)) in runners.iter().enumerate() {
            let above = us_a_job(index) - floor;
            let judged = match index {
                0 => {
                    let is_met = target.must.is_none_or(|most| above <= most);
                    self.missed += usize::from(!is_met);
                    let is_aim_met = target.aim.is_some_and(|aim| above <= aim);
                    let verdict = if is_aim_met {
                        "aim met"
                    } else if is_met {
                        "met"
                    } else {
                        "**missed**"
                    };
                    format!("{} us | {verdict}", target_words(target))
                }
                _ => " | -".to_owned(),
            };
            let peaks: Vec<f64> =
                all[index].iter().filter_map(|taken| taken.own).map(|own| own.peak_kib as f64 * 1024.0 / 1e6).collect();
            let line = format!(
                "| {} | {name} | {} | {:.1} | {above:+.1} | {:.1} | {judged} |\n",
                if index == 0 { &race.name } else { "" },
                all[index].len(),
                us_a_job(index),
                median(&peaks),
            );
            print!("  {line}");
            self.own.push_str(&line);
        }
    }

    pub fn figure(&mut self, what: &str, figure: &Figure) {
        let Figure { what: of, value, unit, at_most } = figure;
        // What cannot be measured is no number, and misses.
        let is_met = at_most.map(|most| *value <= most);
        self.missed += usize::from(is_met == Some(false));
        let verdict = is_met.map_or("-", |is_met| if is_met { "met" } else { "**missed**" });
        let most = at_most.map(|most| format!("{most}")).unwrap_or_default();
        let line = format!("| {what} | {of} | {value:.2} {unit} | {most} | {verdict} |\n");
        print!("  {line}");
        self.figures.push_str(&line);
        self.raw.push_str(&format!("\"{what}\",\"{of}, {unit}\",,{value},,,,\n"));
    }

    pub fn left_out(&mut self, name: &str, reason: &str) {
        println!("  {name}: left out: {reason}");
        self.left_out.push(format!("{name}: {reason}"));
    }

    /// The whole bench fails for it, at the end.
    pub fn failed(&mut self, name: &str, message: &str) {
        println!("  FAILED: {message}");
        self.failures.push(format!("{name}: {}", message.replace(['\n', '|'], " ")));
    }

    /// Writes the directory; an error if anything failed.
    pub fn finish(self, suffix: &str) -> Result<(), String> {
        let directory = record::unused_run(suffix);
        self.write(&directory)?;
        println!("{} targets missed; written to {}", self.missed, directory.display());
        if self.failures.is_empty() { Ok(()) } else { Err(format!("bench failed: {}", self.failures.join("; "))) }
    }

    fn write(&self, directory: &Path) -> Result<(), String> {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("could not make {}: {error}", directory.display()))?;
        for (name, text) in [("raw.csv", &self.raw), ("README.md", &self.readme())] {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn readme(&self) -> String {
        let machine = machine::name();
        let facts = format!(
            "- machine: {machine}, {}\n- kernel: {}\n- load before: {}, after: {}\n{}- rust-parallel: {}\n",
            machine::cpu_model(),
            machine::kernel(),
            self.load_before,
            machine::load(),
            machine::versions(RUNNERS),
            machine::first_line(&self.rust_parallel, &["--version"]),
        );
        let table = |head: &str, lines: &str| if lines.is_empty() { String::new() } else { format!("{head}{lines}\n") };
        let listed = |lines: &[String]| match lines {
            [] => "- nothing\n".to_owned(),
            lines => lines.iter().map(|line| format!("- {line}\n")).collect(),
        };
        format!(
            "# Bench xjobs, {machine}\n\nRepeat with `{}`. {HOW}\n{facts}\n{}{}{}## Left out\n\n{}\n## Failed\n\n{}",
            self.command_line,
            table(RACES, &self.races),
            table(OWN, &self.own),
            table(FIGURES, &self.figures),
            listed(&self.left_out),
            listed(&self.failures),
        )
    }
}

/// Programs that tell their version.
const RUNNERS: &[(&str, &[&str])] = &[
    ("xargs", &["--version"]),
    ("dpkg-query", &["--show", "xjobs"]),
    ("dpkg-query", &["--show", "moreutils"]),
    ("parallel", &["--version"]),
    ("cc", &["--version"]),
    ("ldd", &["--version"]),
];

fn target_words(target: Target) -> String {
    let must = target.must.map(|must| format!("<= {must:.2}")).unwrap_or_default();
    let aim = target.aim.map(|aim| format!(" (aim {aim:.2})")).unwrap_or_default();
    must + &aim
}

#[cfg(test)]
mod tests {
    use super::super::programs::{Own, Programs};
    use super::super::{QUICK, races};
    use super::*;

    fn taken(wall_s: f64, cpu_ns: f64) -> Vec<Taken> {
        let run = Run { wall_s, user_s: 0.5, system_s: 0.5, memory_kib: 4000, output_bytes: 0 };
        vec![Taken { run, own: Some(Own { cpu_ns, peak_kib: 4000 }) }; 2]
    }

    #[test]
    fn a_run_directory_has_every_run_and_every_verdict() {
        let programs = Programs::named(Path::new("/mh"), Path::new("/d"));
        let mut sheet = Sheet::begin("cargo xtask bench xjobs".to_owned(), "/nowhere".to_owned());
        let races = races::all(&programs, QUICK);
        let per_job = races[2].jobs as f64 * 1000.0;
        let rivals = |wall_s: f64, own_us: f64, count: usize| vec![taken(wall_s, own_us * per_job); count];
        for (race, ours) in races.iter().zip([taken(1.1, 0.0), taken(2.0, 0.0), taken(1.0, 64.0 * per_job)]) {
            let all: Vec<_> = std::iter::once(ours).chain(rivals(1.0, 50.0, race.rivals.len())).collect();
            sheet.race(race, &all);
        }
        sheet.figure("wake-ups", &Figure::at_most("all", 0.0, "a second", 0.0));
        sheet.figure("wake-ups", &Figure::at_most("all", f64::NAN, "a second", 0.0));
        sheet.failed("a list", "its output\nis not | whole");
        let directory = tempfile::tempdir().expect("a directory");
        sheet.write(directory.path()).expect("it can be written");
        let readme = std::fs::read_to_string(directory.path().join("README.md")).expect("it is there");
        assert!(readme.contains("| **1.10** | 1.10 | <= 1.15 (aim 1.05) | met |"), "{readme}");
        assert!(readme.contains("| **2.00** | 2.00 | <= 1.35 (aim 1.20) | **missed** |"), "{readme}");
        assert!(readme.contains("| 64.0 | +14.0 | 4.1 | <= 10.00 (aim 5.00) us | **missed** |"), "{readme}");
        assert!(readme.contains("| 0.00 a second | 0 | met |") && readme.contains("NaN a second | 0 | **missed** |"));
        assert!(readme.contains("- a list: its output is not   whole"), "{readme}");
        let cells = |line: &&str| line.matches('|').count();
        assert!(readme.lines().filter(|line| line.contains("x true")).all(|line| cells(&line) == 12), "{readme}");
        let raw = std::fs::read_to_string(directory.path().join("raw.csv")).expect("it is there");
        assert!(
            raw.lines()
                .all(|line| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>() == 7)
        );
    }
}
