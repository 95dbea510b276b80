//! The run folder: bench/runs/<date>-<machine>/ with README.md (machine, versions, tables), raw.csv (every run) and plots.

use super::forecast::{Checked, ERROR_MAX, median};
use super::measure::Run;
use super::{Measured, Rival, plot};
use crate::workspace::root;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Collects rows and writes them at the end.
pub struct Recorder {
    suite: String,
    quick: bool,
    source_name: &'static str,
    folder: PathBuf,
    load_before: String,
    table: String,
    forecasts: String,
    left_out: Vec<String>,
    raw: String,
    bars: Vec<plot::Bar>,
    missed: usize,
}

/// Medians of a tool's runs.
struct Summary {
    wall_s: f64,
    wall_s_min: f64,
    wall_s_max: f64,
    cpu_s: f64,
    memory_mb: f64,
    output_bytes: u64,
}

fn summary(runs: &[Run]) -> Summary {
    let of = |figure: fn(&Run) -> f64| median(&mut runs.iter().map(figure).collect::<Vec<_>>());
    let walls = || runs.iter().map(|run| run.wall_s);
    Summary {
        wall_s: of(|run| run.wall_s),
        wall_s_min: walls().fold(f64::INFINITY, f64::min),
        wall_s_max: walls().fold(0.0, f64::max),
        cpu_s: of(|run| run.cpu_s),
        memory_mb: of(|run| run.memory_kib as f64) / 1000.0,
        output_bytes: runs.first().map_or(0, |run| run.output_bytes),
    }
}

impl Recorder {
    pub fn begin(suite: &str, quick: bool, source_name: &'static str) -> Result<Self, String> {
        let date = first_line("date", &["-u", "+%Y-%m-%d"]);
        let suffix = if quick { "-quick" } else { "" };
        let folder = root().join(format!("bench/runs/{date}-{}{suffix}", machine_name()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("could not make {}: {error}", folder.display()))?;
        Ok(Self {
            suite: suite.to_owned(),
            quick,
            source_name,
            folder,
            load_before: load(),
            table: String::new(),
            forecasts: String::new(),
            left_out: Vec::new(),
            raw: "case,corpus,tool,round,wall_s,cpu_s,memory_kib,output_bytes\n".to_owned(),
            bars: Vec::new(),
            missed: 0,
        })
    }

    /// Adds a case: one line for us and one for each rival.
    pub fn row(&mut self, measured: &Measured) -> Result<(), String> {
        let case = &measured.case;
        let tools = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool));
        for (tool, runs) in tools.zip(&measured.runs) {
            for (round, run) in runs.iter().enumerate() {
                let Run { wall_s, cpu_s, memory_kib, output_bytes } = run;
                writeln!(
                    self.raw,
                    "\"{}\",{},\"{}\",{round},{wall_s:.4},{cpu_s:.2},{memory_kib},{output_bytes}",
                    case.name, case.corpus, tool.name
                )
                .map_err(|error| error.to_string())?;
            }
        }
        let ours = summary(&measured.runs[0]);
        self.line(&case.name, case.corpus, &case.ours.name, &ours, None);
        for (rival, runs) in case.rivals.iter().zip(&measured.runs[1..]) {
            let theirs = summary(runs);
            let mut pairs: Vec<f64> =
                measured.runs[0].iter().zip(runs).map(|(ours, theirs)| ours.wall_s / theirs.wall_s).collect();
            let ratio = median(&mut pairs);
            let verdict = self.judge(rival, ratio, &ours, &theirs);
            self.line("", "", &rival.tool.name, &theirs, Some((ratio, verdict)));
            self.bars.push(plot::Bar {
                name: format!("{}, {} / {}", case.name, case.corpus, rival.tool.name),
                ratio,
                must: rival.must,
            });
        }
        Ok(())
    }

    fn judge(&mut self, rival: &Rival, ratio: f64, ours: &Summary, theirs: &Summary) -> String {
        let Some(must) = rival.must else { return "-".to_owned() };
        let is_small_enough = ours.output_bytes as f64 <= theirs.output_bytes as f64 * 1.01;
        let verdict = if !is_small_enough {
            "missed: our output is larger".to_owned()
        } else if rival.aim.is_some_and(|aim| ratio <= aim) {
            "aim met".to_owned()
        } else if ratio <= must {
            "met".to_owned()
        } else {
            "**missed**".to_owned()
        };
        self.missed += usize::from(verdict.contains("missed"));
        format!("<= {must:.2}: {verdict}")
    }

    fn line(&mut self, case: &str, corpus: &str, tool: &str, summary: &Summary, against: Option<(f64, String)>) {
        let Summary { wall_s, wall_s_min, wall_s_max, cpu_s, memory_mb, output_bytes } = summary;
        let (ratio, verdict) =
            against.map_or((String::new(), String::new()), |(ratio, verdict)| (format!("**{ratio:.2}**"), verdict));
        let line = format!(
            "| {case} | {corpus} | {tool} | {wall_s:.3} ({wall_s_min:.3}-{wall_s_max:.3}) | {cpu_s:.2} | {memory_mb:.0} | {output_bytes} | {ratio} | {verdict} |\n"
        );
        print!("  {line}");
        self.table.push_str(&line);
    }

    pub fn forecast(&mut self, checked: Checked) {
        let error = checked.error();
        let verdict = if error.abs() <= ERROR_MAX { "met" } else { "**missed**" };
        self.missed += usize::from(error.abs() > ERROR_MAX);
        let Checked { name, one_core_s, expected_s, measured_s } = checked;
        let line = format!(
            "| {name} | {one_core_s:.3} | {expected_s:.3} | {measured_s:.3} | {:+.1} % | {verdict} |\n",
            error * 100.0
        );
        print!("  {line}");
        self.forecasts.push_str(&line);
    }

    pub fn left_out(&mut self, name: &str, reason: &str) {
        println!("{name}: left out: {reason}");
        self.left_out.push(format!("{name}: {reason}"));
    }

    /// Writes the folder.
    pub fn finish(self) -> Result<(), String> {
        let write = |name: &str, text: &str| {
            let path = self.folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
        };
        write("raw.csv", &self.raw)?;
        write("README.md", &self.readme())?;
        plot::ratios(&self.folder.join("ratios.svg"), &self.bars)?;
        println!("{} targets missed; written to {}", self.missed, self.folder.display());
        Ok(())
    }

    fn readme(&self) -> String {
        let versions: String = [
            ("pigz", &["--version"][..]),
            ("zstd", &["--version"]),
            ("gzip", &["--version"]),
            ("igzip", &["--version"]),
            ("bgzip", &["--version"]),
            ("libdeflate-gzip", &["-V"]),
        ]
        .iter()
        .map(|(program, arguments)| format!("- {program}: {}\n", first_line(program, arguments)))
        .collect();
        let left_out: String = self.left_out.iter().map(|reason| format!("- {reason}\n")).collect();
        let left_out = if left_out.is_empty() { "- nothing\n".to_owned() } else { left_out };
        let quick = if self.quick { " --quick" } else { "" };
        format!(
            "# Bench {suite}, {machine}\n\n\
             Repeat with `cargo xtask bench {suite}{quick}`. Every run is in raw.csv. Wall times are medians (min-max) in seconds of fresh\n\
             processes, ours and the rivals' in turn, round by round; CPU seconds and peak memory (MB) from time(1); outputs in memory\n\
             (tmpfs), verified before and after timing. The ratio is the median over rounds of our wall time to the rival's; a row counts\n\
             as met only where our output is at most 1 % larger.\n\n\
             - source: the first 512 MiB of {source_name} (64 with --quick); mixed: programs, documents and generated records, half as much\n- machine: {machine}, {cpu}\n- kernel: {kernel}\n- load before: {before}, after: {after}\n{versions}\n\
             ![ratios](ratios.svg)\n\n\
             | case | corpus | tool | wall s | CPU s | MB | output bytes | ours/rival | target |\n|---|---|---|---|---|---|---|---|---|\n{table}\n\
             ## Forecast of a run on one core, held against two\n\n\
             | case | one core s | expected of two s | measured s | error | within 15 % |\n|---|---|---|---|---|---|\n{forecasts}\n\
             ## Left out\n\n{left_out}",
            suite = self.suite,
            source_name = self.source_name,
            machine = machine_name(),
            cpu = cpu_model(),
            kernel = first_line("uname", &["-r"]).split('-').next().unwrap_or_default(),
            before = self.load_before,
            after = load(),
            table = self.table,
            forecasts = self.forecasts,
        )
    }
}

/// `2cpu-epyc`: never the host's name.
fn machine_name() -> String {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let model = cpu_model().to_lowercase();
    let known = ["epyc", "xeon", "ryzen", "core", "graviton", "ampere"];
    let family = known.iter().find(|family| model.contains(**family)).unwrap_or(&"cpu");
    format!("{count}cpu-{family}")
}

fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map_or("unknown".to_owned(), |line| line.trim_start_matches([' ', '\t', ':']).to_owned())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().next().unwrap_or("not installed").trim().to_owned()
}
