//! One run of one tool as a fresh process: wall time here, CPU time and memory from time(1), output size from its file.
//! Does not compare anything but bytes.

use super::files::same::Same;
use super::undo::shell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A tool with its arguments and its ends.
#[derive(Clone)]
pub struct Tool {
    /// As the table shows it.
    pub name: String,
    pub arguments: Vec<String>,
    /// What must be installed: the program itself, also where a shell or xargs runs it.
    pub program: String,
    /// Standard input from a file.
    pub stdin: Option<PathBuf>,
    /// Standard output into `output`, or to the consumer.
    pub stdout: bool,
    /// The file or the tree that it writes.
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
    pub user_s: f64,
    pub system_s: f64,
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
    /// Every output unpacks to the file beside it; the command unpacks all of them, one behind the other.
    PackedEach { unpack: Vec<String>, plain: Vec<PathBuf> },
    /// A tree has been copied.
    Tree(Same),
    /// GNU tar finds no difference between an archive and the tree NAME below a directory, and as many members as the tree has entries.
    Archive { archive: PathBuf, below: PathBuf, name: String },
    /// The output has been removed.
    Gone,
    /// Nothing is left to look at: that it ended well is all.
    Exit,
}

impl Tool {
    pub fn new(name: &str, arguments: &[&str], output: &Path) -> Self {
        Self {
            name: name.to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            program: arguments[0].to_owned(),
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
            let status = status.map_err(|error| format!("could not prepare {}: {error}", self.name))?;
            if !status.success() {
                return Err(format!("could not prepare {}: {script} ended with {status}", self.name));
            }
        }
        // Beside the output: what removes the outputs of an interrupted bench removes these too.
        let directory = self.output.parent().unwrap_or(Path::new("."));
        let file =
            || tempfile::NamedTempFile::new_in(directory).map_err(|error| format!("could not make a file: {error}"));
        let (figures, errors) = (file()?, file()?);
        let begin = Instant::now();
        let children = self.start(figures.path(), errors.path())?;
        // All of them, also behind one that failed: none may be left running beside the next tool.
        let ends: Vec<_> = children.into_iter().map(|mut child| child.wait()).collect();
        let wall_s = begin.elapsed().as_secs_f64();
        for status in ends {
            let status = status.map_err(|error| format!("could not wait for {}: {error}", self.name))?;
            if !status.success() {
                let said = std::fs::read_to_string(errors.path()).unwrap_or_default();
                return Err(format!("{} ended with {status}: {}", self.name, said.trim()));
            }
        }
        let (user_s, system_s, memory_kib) = read_figures(figures.path())?;
        // A tree has no size: sizes are compared, and how large a directory is says nothing.
        let size = |path: &PathBuf| path.metadata().map_or(0, |found| if found.is_file() { found.len() } else { 0 });
        let sizes = self.outputs().map(size);
        Ok(Run { wall_s, user_s, system_s, memory_kib, output_bytes: sizes.sum() })
    }

    fn start(&self, figures: &Path, errors: &Path) -> Result<Vec<Child>, String> {
        let error = |error| format!("could not run {}: {error}", self.name);
        let mut children = Vec::new();
        let mut timed = Command::new("/usr/bin/time");
        timed.args(["-q", "-f", "%U %S %M", "-o"]).arg(figures).args(&self.arguments);
        timed.stderr(File::create(errors).map_err(error)?);
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
    pub fn verify(&self, how: &Verify, run: Run) -> Result<(), String> {
        let is_file = !matches!(how, Verify::Tree(_) | Verify::Archive { .. } | Verify::Gone | Verify::Exit);
        if is_file && run.output_bytes == 0 {
            return Err("it wrote nothing".to_owned());
        }
        match how {
            Verify::Tree(same) => same.check(),
            Verify::Archive { archive, below, name } => is_archive_of(archive, below, name),
            Verify::Gone if self.output.symlink_metadata().is_ok() => Err("it is still there".to_owned()),
            Verify::Gone | Verify::Exit => Ok(()),
            Verify::Plain(plain) => same(Command::new("cat").arg(&self.output), plain),
            Verify::Packed { unpack, plain } => same(command(unpack).arg(&self.output), plain),
            Verify::PackedEach { unpack, plain } => same_each(command(unpack).args(self.outputs()), plain),
        }
    }

    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.output).chain(&self.more_outputs)
    }

    /// Removes what it wrote.
    pub fn clean_up(&self) {
        for path in self.outputs() {
            let _not_there = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
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

fn is_archive_of(archive: &Path, below: &Path, name: &str) -> Result<(), String> {
    let (archive, below) = (archive.display(), below.display());
    shell(&format!("tar -d -f '{archive}' -C '{below}'"))?;
    let counts = format!("tar -t -f '{archive}' | wc -l && find '{below}/{name}' | wc -l");
    let said = shell(&counts)?;
    let mut counts = said.split_whitespace();
    if counts.next() == counts.next() {
        Ok(())
    } else {
        Err(format!("{archive} has not as many members as {name}: {said}"))
    }
}

/// Whether a command's output equals these files, one behind the other.
fn same_each(command: &mut Command, plain: &[PathBuf]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("could not verify: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut stdout = child.stdout.take().expect("it is piped");
    for path in plain {
        let expected = std::fs::read(path).map_err(failed)?;
        let mut unpacked = Vec::with_capacity(expected.len());
        (&mut stdout).take(expected.len() as u64).read_to_end(&mut unpacked).map_err(failed)?;
        if unpacked != expected {
            drop(stdout);
            let _ends_by_the_closed_pipe = child.wait();
            return Err(format!("what unpacks is not {}", path.display()));
        }
    }
    let behind = std::io::copy(&mut stdout, &mut std::io::sink()).map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    if status.success() && behind == 0 { Ok(()) } else { Err("its output is not the input".to_owned()) }
}

/// `user system kibibytes`, on the last line: time(1) puts a complaint above it.
fn read_figures(path: &Path) -> Result<(f64, f64, u64), String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("could not read the figures of time(1): {error}"))?;
    let mut words = text.lines().last().unwrap_or_default().split_whitespace();
    let mut next = || words.next().and_then(|word| word.parse::<f64>().ok());
    match (next(), next(), next()) {
        (Some(user_s), Some(system_s), Some(memory_kib)) => Ok((user_s, system_s, memory_kib as u64)),
        _ => Err(format!("time(1) said {text:?}; is the package time installed?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_fed_and_drained_through_pipes() {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().join("out");
        let words = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut tool = Tool::new("tr", &["tr", "a", "b"], &out);
        tool.producer = Some(words("echo aaa"));
        tool.consumer = Some(words("tr b c"));
        let run = tool.run().expect("it runs");
        assert_eq!(std::fs::read_to_string(&out).expect("it is there"), "ccc\n");
        assert_eq!(run.output_bytes, 4);
        assert!(run.memory_kib > 0);
    }

    #[test]
    fn a_preparation_that_fails_is_told() {
        let mut tool = Tool::new("true", &["true"], Path::new("/nowhere"));
        tool.before = Some("exit 4".to_owned());
        assert!(tool.run().expect_err("it is not prepared").contains("exit 4"));
    }

    #[test]
    fn packed_outputs_are_unpacked_and_compared() {
        let directory = tempfile::tempdir().expect("a directory");
        let (plain, out) = (directory.path().join("plain"), directory.path().join("out"));
        std::fs::write(&plain, "text").expect("a file");
        let mut tool = Tool::new("gzip", &["gzip", "-c"], &out).into_stdout();
        tool.stdin = Some(plain.clone());
        let run = tool.run().expect("gzip is there");
        let unpack = vec!["gzip".to_owned(), "-dc".to_owned()];
        let verify = Verify::Packed { unpack, plain: plain.clone() };
        assert_eq!(tool.verify(&verify, run), Ok(()));
        std::fs::write(&plain, "other").expect("a file");
        assert!(tool.verify(&verify, run).is_err());
    }

    #[test]
    fn many_outputs_are_compared_one_by_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).expect("a file");
            directory.path().join(name)
        };
        let plain = [file("a", "one"), file("b", "two, longer")];
        let compare = |files: &[&PathBuf]| same_each(Command::new("cat").args(files), &plain);
        assert_eq!(compare(&[&plain[0], &plain[1]]), Ok(()));
        assert!(compare(&[&plain[1], &plain[0]]).is_err(), "in another order");
        assert!(compare(&[&plain[0]]).is_err(), "one too few");
        assert!(compare(&[&plain[0], &plain[1], &plain[0]]).is_err(), "one too many");
    }

    #[test]
    fn an_archive_is_held_against_its_tree() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("tree")).expect("a directory");
        std::fs::write(directory.path().join("tree/file"), "text").expect("a file");
        let archive = directory.path().join("archive");
        shell(&format!("tar -C '{0}' -cf '{1}' tree", directory.path().display(), archive.display()))
            .expect("tar is there");
        let (tool, below) = (Tool::new("tar", &["true"], &archive), directory.path().to_owned());
        let verify = Verify::Archive { archive, below, name: "tree".to_owned() };
        let run = tool_run();
        assert_eq!(tool.verify(&verify, run), Ok(()));
        std::fs::write(directory.path().join("tree/more"), "text").expect("a file");
        assert!(tool.verify(&verify, run).expect_err("one is not in it").contains("as many"));
        std::fs::remove_file(directory.path().join("tree/more")).expect("it was there");
        std::fs::write(directory.path().join("tree/file"), "next").expect("a file");
        assert!(tool.verify(&verify, run).is_err());
    }

    #[test]
    fn a_tree_is_removed_and_seen_to_be_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().join("out");
        std::fs::create_dir_all(out.join("inner")).expect("directories");
        let tool = Tool::new("rm", &["true"], &out);
        assert!(tool.verify(&Verify::Gone, tool_run()).is_err());
        tool.clean_up();
        assert_eq!(tool.verify(&Verify::Gone, tool_run()), Ok(()));
    }

    fn tool_run() -> Run {
        Run { wall_s: 1.0, user_s: 1.0, system_s: 0.0, memory_kib: 1, output_bytes: 0 }
    }

    #[test]
    fn figures_stand_on_the_last_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "Command terminated by signal 9\n1.25 0.50 2048\n").expect("it can be written");
        assert_eq!(read_figures(file.path()), Ok((1.25, 0.5, 2048)));
        std::fs::write(file.path(), "").expect("it can be written");
        assert!(read_figures(file.path()).is_err());
    }
}
