//! The run directory: bench/runs/<date>-<machine>/ with README.md (machine, versions, tables), raw.csv (every run) and a plot.
//! Written at the end, beside older ones of the same day, never over them. Measures and judges nothing.

use super::forecast::{Checked, ERROR_MAX};
use super::judge::{Ratio, Summary, judge};
use super::keep_up::{self, Poured};
use super::measure::{Run, Tool, Verify};
use super::{Case, Measured, Rival, corpus, machine, plot, sizes};
use std::path::{Path, PathBuf};
use xtask::workspace::root;

/// What a suite says about itself.
pub struct About {
    pub suite: String,
    /// The command that repeats it.
    pub command_line: String,
    /// How it measures, behind the command.
    pub how: &'static str,
    /// The rivals' versions, a line each.
    pub rivals: String,
    /// What is worked on.
    pub corpora: String,
}

/// Collects rows and writes them at the end.
pub struct Recorder {
    about: About,
    load_before: String,
    table: String,
    peaks: String,
    forecasts: String,
    producers: String,
    left_out: Vec<String>,
    failures: Vec<String>,
    raw: String,
    bars: Vec<plot::Bar>,
    points: Vec<sizes::Point>,
    missed: usize,
}

/// A comparison as the table shows it.
struct Comparison {
    ratio: Ratio,
    /// Target and verdict.
    target: String,
}

impl Recorder {
    pub fn begin(about: About) -> Self {
        Self {
            about,
            load_before: machine::load(),
            table: String::new(),
            peaks: String::new(),
            forecasts: String::new(),
            producers: String::new(),
            left_out: Vec::new(),
            failures: Vec::new(),
            raw: "case,corpus,tool,round,wall_s,user_s,system_s,memory_kib,output_bytes\n".to_owned(),
            bars: Vec::new(),
            points: Vec::new(),
            missed: 0,
        }
    }

    /// Adds a case that was verified: one line for us and one for each rival.
    pub fn row(&mut self, measured: &Measured) {
        let case = &measured.case;
        let tools = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool));
        for (tool, runs) in tools.zip(&measured.runs) {
            for (round, run) in runs.iter().enumerate() {
                self.raw.push_str(&raw_line(&case.name, case.corpus, &tool.name, round, run));
            }
        }
        self.points.extend(points(measured));
        let rounds = measured.runs[0].len();
        let ours = Summary::of(&measured.runs[0]);
        self.line([&case.name, case.corpus, &case.ours.name, &rounds.to_string()], &ours, None);
        self.peak(case, &measured.runs[0]);
        for (rival, runs) in case.rivals.iter().zip(&measured.runs[1..]) {
            let (theirs, ratio) = (Summary::of(runs), Ratio::of(&measured.runs[0], runs));
            let target = self.target(rival, ratio, &ours, &theirs);
            self.line(["", "", &rival.tool.name, ""], &theirs, Some(Comparison { ratio, target }));
            self.bars.push(plot::Bar {
                name: format!("{}, {} / {}", case.name, case.corpus, rival.tool.name),
                ratio: ratio.worse(),
                must: rival.target.must,
            });
        }
    }

    /// The highest of all rounds, where there is a limit.
    fn peak(&mut self, case: &Case, runs: &[Run]) {
        let Some(most) = case.memory_mb_max else { return };
        let peak_mb = runs.iter().map(|run| run.memory_kib as f64 * 1024.0 / 1e6).fold(0.0, f64::max);
        let is_missed = peak_mb > most;
        self.missed += usize::from(is_missed);
        let verdict = if is_missed { "**missed**" } else { "met" };
        self.peaks.push_str(&format!("| {}, {} | {peak_mb:.1} | {most:.0} | {verdict} |\n", case.name, case.corpus));
    }

    fn target(&mut self, rival: &Rival, ratio: Ratio, ours: &Summary, theirs: &Summary) -> String {
        let verdict = judge(rival.target, ratio, ours, theirs);
        self.missed += usize::from(verdict.is_missed());
        let must = rival.target.must.map(|must| format!("<= {must:.2}")).unwrap_or_default();
        let aim = rival.target.aim.map(|aim| format!(" (aim {aim:.2})")).unwrap_or_default();
        format!("{must}{aim} | {}", verdict.text())
    }

    fn line(&mut self, [case, corpus, tool, rounds]: [&str; 4], summary: &Summary, against: Option<Comparison>) {
        let Summary { wall_s, wall_s_min, wall_s_max, cpu_s, memory_mb, output_bytes } = summary;
        let (ratios, target) = match against {
            Some(Comparison { ratio, target }) => {
                (format!("**{:.2}** | {:.2}", ratio.of_medians, ratio.of_pairs), target)
            }
            None => (" | ".to_owned(), " | ".to_owned()),
        };
        let line = format!(
            "| {case} | {corpus} | {tool} | {rounds} | {wall_s:.3} ({wall_s_min:.3}-{wall_s_max:.3}) | {cpu_s:.2} | {memory_mb:.0} | {output_bytes} | {ratios} | {target} | yes |\n"
        );
        print!("  {line}");
        self.table.push_str(&line);
    }

    pub fn forecast(&mut self, checked: &Checked) {
        for (round, one) in checked.rounds.iter().enumerate() {
            for (tool, wall_s) in
                [("1 core", one.one_core_s), ("2 expected", one.expected_s), ("2 cores", one.measured_s)]
            {
                self.raw.push_str(&format!("\"{}\",source,{tool},{round},{wall_s:.4},,,,\n", checked.name));
            }
        }
        let error = checked.error();
        let is_missed = error.abs() > ERROR_MAX;
        self.missed += usize::from(is_missed);
        let verdict = if is_missed { "**missed**" } else { "met" };
        let middle = checked.middle();
        let line = format!(
            "| {} | {:.3} | {:.3} | {:.3} | {:+.1} % | {verdict} |\n",
            checked.name,
            middle.one_core_s,
            middle.expected_s,
            middle.measured_s,
            error * 100.0
        );
        print!("  {line}");
        self.forecasts.push_str(&line);
    }

    /// A producer and what kept up with it, or did not.
    pub fn poured(&mut self, row: &keep_up::Row, runs: &[Poured]) {
        if runs.is_empty() {
            return;
        }
        for (round, run) in runs.iter().enumerate() {
            self.raw.push_str(&format!(
                "\"{}, blocked {:.3} s of {:.3}\",source,{},{round},{:.4},,,,{}\n",
                row.name, run.blocked_s, run.producing_s, row.tool, run.wall_s, run.packed_bytes
            ));
        }
        let line = row.line(runs);
        print!("  {line}");
        self.producers.push_str(&line);
    }

    /// A case that did not run, or whose output was wrong: the whole bench fails for it, at the end.
    pub fn failed(&mut self, name: &str, corpus: &str, message: &str) {
        println!("  FAILED: {message}");
        let message = message.replace(['\n', '|'], " ");
        self.table.push_str(&format!("| {name} | {corpus} | | | | | | | | | | **failed** | no: {message} |\n"));
        self.failures.push(format!("{name} ({corpus}): {message}"));
    }

    pub fn left_out(&mut self, name: &str, reason: &str) {
        println!("{name}: left out: {reason}");
        self.left_out.push(format!("{name}: {reason}"));
    }

    /// Writes the directory; an error if any case failed.
    pub fn finish(self, suffix: &str) -> Result<(), String> {
        if self.table.is_empty() && self.left_out.is_empty() && self.failures.is_empty() {
            return Err("nothing was measured: no row has that in its name (--list tells them)".to_owned());
        }
        let directory = unused_run(suffix);
        self.write(&directory)?;
        println!("{} targets missed; written to {}", self.missed, directory.display());
        if self.failures.is_empty() { Ok(()) } else { Err(format!("bench failed: {}", self.failures.join("; "))) }
    }

    fn write(&self, directory: &Path) -> Result<(), String> {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("could not make {}: {error}", directory.display()))?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
        };
        write("raw.csv", &self.raw)?;
        write("README.md", &self.readme())?;
        for corpus in [corpus::SOURCE, corpus::MIXED] {
            let of_it: Vec<&sizes::Point> = self.points.iter().filter(|point| is_of(point, corpus)).collect();
            sizes::draw(&directory.join(sizes_name(corpus)), corpus, &of_it)?;
        }
        plot::ratios(&directory.join("ratios.svg"), &self.bars)
    }

    fn readme(&self) -> String {
        let machine = machine::name();
        let facts = format!(
            "- {}\n- machine: {machine}, {}\n- kernel: {}\n- load before: {}, after: {}\n{}",
            self.about.corpora,
            machine::cpu_model(),
            machine::kernel(),
            self.load_before,
            machine::load(),
            self.about.rivals,
        );
        let mut plot = if self.bars.is_empty() { "" } else { "![ratios](ratios.svg)\n\n" }.to_owned();
        for corpus in [corpus::SOURCE, corpus::MIXED] {
            if self.points.iter().any(|point| is_of(point, corpus)) {
                plot += &format!("![wall time against size, {corpus}]({})\n\n", sizes_name(corpus));
            }
        }
        let forecasts =
            if self.forecasts.is_empty() { String::new() } else { format!("{FORECASTS}{}\n", self.forecasts) };
        let producers =
            if self.producers.is_empty() { String::new() } else { format!("{}{}\n", keep_up::TABLE, self.producers) };
        let left_out: String = self.left_out.iter().map(|reason| format!("- {reason}\n")).collect();
        let left_out = if left_out.is_empty() { "- nothing\n".to_owned() } else { left_out };
        let peaks = if self.peaks.is_empty() { String::new() } else { format!("{PEAKS}{}\n", self.peaks) };
        let Self { about: About { suite, command_line, how, .. }, table, .. } = self;
        format!(
            "# Bench {suite}, {machine}\n\nRepeat with `{command_line}`. {how}\n{facts}\n{plot}{TABLE}{table}\n{peaks}{forecasts}{producers}## Left out\n\n{left_out}"
        )
    }
}

const PEAKS: &str = "## Our peak memory

| case | MB, highest of all rounds | at most | verdict |
|---|---|---|---|
";

pub const HOW_FILES: &str = "Every run is in raw.csv. Wall times are medians (min-max) in seconds of
fresh processes, each a line of shell, ours and the rivals' in turn, another one first in each round, after a round that is not counted; a row whose rounds take longer than
fifteen seconds has fewer of them, three at least. What a run has made is removed before the next, and what it needs (a tree to be removed; memory that was touched) is made before it, not timed; all data are in memory
(warm), on ext4 written back before each run. CPU seconds and peak memory (MB, the largest process) from time(1). Before timing every tool's result, and ours again after it, is compared
with the tree: names, kinds, bytes and links; modes for `cp -r`, owners and times besides for archives and `cp -a`; an archive by GNU tar's `-d`. Each program's file, ours and the rivals', is dropped
from memory and read again in one go at the beginning. Ratios are our wall time to the rival's: of the medians, and the median over rounds. A target is met only where both ratios meet it and an
archive of ours is at most 1 % larger.
";

/// How the db suite measures.
pub const HOW_DB: &str = "Every run is in raw.csv. Wall times are medians (min-max) in seconds of fresh processes, ours and the rival's in turn, another one first in each round, after a
round that is not counted; CPU seconds and peak memory (MB) are the client's, from time(1). Servers and files are in memory, nothing is synced; each load empties its table first, and indexes are dropped outside of the time. The server does most
of the work, so a busy machine flatters whoever has more connections: run it on a quiet one. Ratios are our wall time to the rival's: of the medians, and the median over rounds. A target is met only
where both ratios meet it.
";

/// How the innodb suite measures.
pub const HOW_INNODB: &str = "Every run is in raw.csv. Wall times are medians (min-max) in seconds of fresh processes, ours and innochecksum's in
turn, another one first in each round, after a round that is not counted; CPU seconds and peak memory (MB) from time(1). All files are in memory and were written by a
MariaDB server that has been stopped; every tool must find them sound. Ratios are our wall time to the rival's: of the medians, and the median over rounds. A target is met only where
both ratios meet it.
";

/// How the cluster suite measures.
pub const HOW_CLUSTER: &str = "Every run is in raw.csv. Wall times are medians (min-max) in seconds, from the command to its end, or to the moment when squeue has no element of an array any more; ours and the rivals' in
turn, another one first in each round, after a round that is not counted. Our times contain making and removing the spool. Slurm is real, its four nodes are virtual and share this machine's CPUs. A tenth of a rival's list
stands for the whole where its name says so. The bound and the forecast are sleeps of that length. Ratios are our wall time to the rival's: of the medians, and the median over rounds. A target is met only where both ratios meet it.
";

pub const HOW_TAMP: &str = "Every run is in raw.csv. Wall times are medians (min-max) in seconds of
fresh processes, ours and the rivals' in turn, another one first in each round, after a round that is not counted; a row whose rounds take
longer than five seconds has fewer of them, three at least, and one of half a minute a run has two, both counted and verified; CPU seconds and peak memory (MB) from
time(1); outputs in memory (tmpfs), verified before and after timing. Ratios are our wall time to the rival's: of the medians, and the
median over rounds. A target is met only where both ratios meet it and our output is at most 1 % larger.
";

const TABLE: &str = "| case | corpus | tool | rounds | wall s | CPU s | MB | output bytes | ratio of medians | median ratio | target | verdict | verified |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

const FORECASTS: &str = "## A run on one core's forecast for two, held against two

Medians of interleaved runs, timed from outside.

| case | one core s | expected of two s | measured s | error | within 15 % |
|---|---|---|---|---|---|
";

/// That of the source is the one to look at first.
fn sizes_name(corpus: &str) -> String {
    if corpus == corpus::SOURCE { "sizes.svg".to_owned() } else { format!("sizes-{corpus}.svg") }
}

/// Whether a point is of a corpus or of its beginning.
fn is_of(point: &sizes::Point, corpus: &str) -> bool {
    point.corpus.split('-').next() == Some(corpus)
}

/// A point for each tool, if the case is one of compression at a level.
fn points(measured: &Measured) -> Vec<sizes::Point> {
    let case = &measured.case;
    let (Some((format, level)), Verify::Packed { plain, .. }) = (case.level, &case.verify) else { return Vec::new() };
    let plain_bytes = plain.metadata().map_or(0, |metadata| metadata.len()) as f64;
    let tools = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool));
    let point = |(tool, runs): (&Tool, &Vec<Run>)| {
        let Summary { wall_s, output_bytes, .. } = Summary::of(runs);
        let (tool, corpus) = (tool.name.clone(), case.corpus);
        let (share, gib_s) = (output_bytes as f64 / plain_bytes, wall_s / plain_bytes * f64::from(1 << 30));
        sizes::Point { format, level, corpus, tool, share, gib_s }
    };
    tools.zip(&measured.runs).map(point).filter(|point| point.share.is_finite()).collect()
}

fn raw_line(case: &str, corpus: &str, tool: &str, round: usize, run: &Run) -> String {
    let Run { wall_s, user_s, system_s, memory_kib, output_bytes } = run;
    format!(
        "\"{case}\",{corpus},\"{tool}\",{round},{wall_s:.4},{user_s:.2},{system_s:.2},{memory_kib},{output_bytes}\n"
    )
}

/// A directory for a run of today on this machine.
pub fn unused_run(suffix: &str) -> PathBuf {
    unused(&root().join("bench/runs"), &format!("{}-{}{suffix}", machine::date(), machine::name()))
}

/// The name, or the name with the first number that is free.
pub fn unused(directory: &Path, name: &str) -> PathBuf {
    let is_free = |path: &PathBuf| !path.join("README.md").exists();
    let numbered = (2..).map(|number| directory.join(format!("{name}-{number}")));
    std::iter::once(directory.join(name)).chain(numbered).find(is_free).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::super::forecast::Round;
    use super::super::judge::Target;
    use super::*;

    fn about() -> About {
        About {
            suite: "tamp".to_owned(),
            command_line: "cargo xtask bench tamp".to_owned(),
            how: HOW_TAMP,
            rivals: "- zstd: 1.5\n".to_owned(),
            corpora: "source: x".to_owned(),
        }
    }

    fn measured() -> Measured {
        let tool = |name: &str| Tool::new(name, &["true"], Path::new("/nowhere"));
        let rival = |name, target| Rival { tool: tool(name), target };
        let rivals = vec![rival("theirs", Target::must(0.6).aim(0.3)), rival("other", Target::none())];
        let verify = Verify::Plain(PathBuf::new());
        let case = Case { memory_mb_max: Some(1.0), ..Case::new("gz -6", "source", tool("mh"), rivals, verify) };
        let run = |wall_s| vec![Run { wall_s, user_s: 1.0, system_s: 0.0, memory_kib: 2000, output_bytes: 10 }; 2];
        Measured { case, runs: vec![run(1.0), run(2.0), run(0.5)] }
    }

    #[test]
    fn a_run_directory_has_every_row_every_run_and_a_plot() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut recorder = Recorder::begin(about());
        recorder.row(&measured());
        let round = Round { one_core_s: 4.0, expected_s: 2.5, measured_s: 2.0 };
        recorder.forecast(&Checked { name: "forecast".into(), rounds: vec![round] });
        recorder.left_out("throttled", "no loop device");
        assert_eq!(recorder.missed, 2, "the forecast is 25 % off, and more memory was taken");
        recorder.write(directory.path()).expect("it can be written");
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect("it is there");
        assert_eq!(read("raw.csv").lines().count(), 1 + 6 + 3);
        let readme = read("README.md");
        assert!(readme.contains("| **0.50** | 0.50 | <= 0.60 (aim 0.30) | met | yes |"), "{readme}");
        assert!(readme.contains("| **2.00** | 2.00 |  | - | yes |"), "{readme}");
        assert!(readme.contains("| gz -6, source | 2.0 | 1 | **missed** |"), "{readme}");
        assert!(readme.contains("+25.0 %") && readme.contains("- throttled: no loop device"), "{readme}");
        assert!(read("ratios.svg").contains("gz -6, source / theirs"));
    }

    #[test]
    fn every_line_of_the_table_has_the_same_cells() {
        let mut recorder = Recorder::begin(about());
        recorder.row(&measured());
        recorder.failed("zst -3", "mixed", "its output\nis not | the input");
        let cells = |line: &str| line.matches('|').count();
        assert!(recorder.table.lines().all(|line| cells(line) == 14), "{}", recorder.table);
        assert!(TABLE.lines().all(|line| cells(line) == 14));
        assert_eq!(recorder.failures.len(), 1);
    }

    #[test]
    fn a_run_is_never_written_over_another() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(unused(directory.path(), "a"), directory.path().join("a"));
        std::fs::create_dir(directory.path().join("a")).expect("a directory");
        assert_eq!(unused(directory.path(), "a"), directory.path().join("a"), "an empty one is not a run");
        std::fs::write(directory.path().join("a/README.md"), "").expect("a file");
        assert_eq!(unused(directory.path(), "a"), directory.path().join("a-2"));
    }
}
