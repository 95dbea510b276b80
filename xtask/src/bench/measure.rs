//! One run of one tool as a fresh process: wall time here, CPU time and memory from time(1), output size from its file.
//! Does not compare anything but bytes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A tool with its arguments and its ends.
#[derive(Clone)]
pub struct Tool {
    /// As the table shows it.
    pub name: String,
    pub arguments: Vec<String>,
    /// Standard input from a file.
    pub stdin: Option<PathBuf>,
    /// Standard output into `output`, or to the consumer.
    pub stdout: bool,
    /// The file that it writes.
    pub output: PathBuf,
    /// Other outputs, counted together with `output`.
    pub more_outputs: Vec<PathBuf>,
    /// A program that feeds it through a pipe.
    pub producer: Option<Vec<String>>,
    /// A program that takes what it writes through a pipe and writes it to `output`.
    pub consumer: Option<Vec<String>>,
    /// Shell commands before each run, not timed.
    pub before: Option<String>,
}

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub wall_s: f64,
    pub cpu_s: f64,
    pub memory_kib: u64,
    pub output_bytes: u64,
}

/// How an output is verified.
#[derive(Clone)]
pub enum Verify {
    /// It is packed: this command unpacks it to standard output, which must equal the plain file.
    Packed { unpack: Vec<String>, plain: PathBuf },
    /// It is plain and must equal this file.
    Plain(PathBuf),
    /// Every output unpacks to the file beside it.
    PackedEach { unpack: Vec<String>, plain: Vec<PathBuf> },
}

impl Tool {
    pub fn new(name: &str, arguments: &[&str], output: &Path) -> Self {
        Self {
            name: name.to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            stdin: None,
            stdout: false,
            output: output.to_owned(),
            more_outputs: Vec::new(),
            producer: None,
            consumer: None,
            before: None,
        }
    }

    pub fn into_stdout(mut self) -> Self {
        self.stdout = true;
        self
    }

    /// Runs it once.
    pub fn run(&self) -> Result<Run, String> {
        self.clean_up();
        if let Some(script) = &self.before {
            let status = Command::new("sh").args(["-c", script]).status();
            status.map_err(|error| format!("could not prepare {}: {error}", self.name))?;
        }
        let figures = tempfile::NamedTempFile::new().map_err(|error| format!("could not make a file: {error}"))?;
        let begin = Instant::now();
        let mut children = self.start(figures.path())?;
        for child in &mut children {
            let status = child.wait().map_err(|error| format!("could not wait for {}: {error}", self.name))?;
            if !status.success() {
                return Err(format!("{} ended with {status}", self.name));
            }
        }
        let wall_s = begin.elapsed().as_secs_f64();
        let (cpu_s, memory_kib) = read_figures(figures.path())?;
        let sizes = self.outputs().map(|path| path.metadata().map_or(0, |metadata| metadata.len()));
        Ok(Run { wall_s, cpu_s, memory_kib, output_bytes: sizes.sum() })
    }

    fn start(&self, figures: &Path) -> Result<Vec<Child>, String> {
        let error = |error| format!("could not run {}: {error}", self.name);
        let mut children = Vec::new();
        let mut timed = Command::new("/usr/bin/time");
        timed.args(["-q", "-f", "%U %S %M", "-o"]).arg(figures).args(&self.arguments).stderr(Stdio::null());
        timed.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(producer) = &self.producer {
            let mut child = command(producer).stdout(Stdio::piped()).spawn().map_err(error)?;
            timed.stdin(child.stdout.take().expect("it is piped"));
            children.push(child);
        } else if let Some(file) = &self.stdin {
            timed.stdin(File::open(file).map_err(error)?);
        }
        if self.consumer.is_some() {
            timed.stdout(Stdio::piped());
        } else if self.stdout {
            timed.stdout(File::create(&self.output).map_err(error)?);
        }
        let mut child = timed.spawn().map_err(error)?;
        let stdout = child.stdout.take();
        children.push(child);
        if let (Some(consumer), Some(stdout)) = (&self.consumer, stdout) {
            let output = File::create(&self.output).map_err(error)?;
            children.push(command(consumer).stdin(stdout).stdout(output).spawn().map_err(error)?);
        }
        Ok(children)
    }

    /// Checks what the last run wrote.
    pub fn verify(&self, how: &Verify, run: &Run) -> Result<(), String> {
        if run.output_bytes == 0 {
            return Err("it wrote nothing".to_owned());
        }
        match how {
            Verify::Plain(plain) => same(Command::new("cat").arg(&self.output), plain),
            Verify::Packed { unpack, plain } => same(command(unpack).arg(&self.output), plain),
            Verify::PackedEach { unpack, plain } => {
                self.outputs().zip(plain).try_for_each(|(packed, plain)| same(command(unpack).arg(packed), plain))
            }
        }
    }

    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.output).chain(&self.more_outputs)
    }

    /// Removes what it wrote.
    pub fn clean_up(&self) {
        for path in self.outputs() {
            let _not_there = std::fs::remove_file(path);
        }
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Whether a command's output equals a file.
fn same(command: &mut Command, plain: &Path) -> Result<(), String> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("could not verify: {error}"))?;
    let stdout = child.stdout.take().expect("it is piped");
    let compared = Command::new("cmp").arg("-s").arg("-").arg(plain).stdin(stdout).status();
    let unpacked = child.wait().map_err(|error| format!("could not verify: {error}"))?;
    let equal = compared.map_err(|error| format!("could not verify: {error}"))?.success();
    if equal && unpacked.success() { Ok(()) } else { Err("its output is not the input".to_owned()) }
}

/// `user system kibibytes`
fn read_figures(path: &Path) -> Result<(f64, u64), String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("could not read the figures of time(1): {error}"))?;
    let mut words = text.split_whitespace();
    let mut next = || words.next().and_then(|word| word.parse::<f64>().ok());
    match (next(), next(), next()) {
        (Some(user), Some(system), Some(memory)) => Ok((user + system, memory as u64)),
        _ => Err(format!("time(1) said {text:?}; is the package time installed?")),
    }
}
