//! GNU parallel's job log (`--joblog`): a line a job at its end, fields divided by tabs: Seq Host Starttime JobRuntime Send Receive
//! Exitval Signal Command. What it cannot say, and [`crate::journal`] can: that a job has begun, what it used, where it ran.
//! Read back for `--resume`, jobs are known by their command, where GNU parallel looks at Seq alone.

use crate::book::Book;
use crate::journal::{EarlierEnd, JobOutcome, JobRecord, JournalDone, Resume};
use crate::key::JobKey;
use crate::shell_words::{self, Controls};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use sys::reap::How;

/// The first line.
const HEADING: &[u8] = b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/// COMPAT: what GNU parallel writes as Exitval of a job that took too long, and of one whose program is not there.
const TIMED_OUT: i32 = -1;
const NOT_STARTED: i32 = 127;

/// What becomes of a log that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingLog {
    /// It begins anew.
    Replace,
    /// It is added to.
    Append,
}

/// What the commands of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// Words, quoted: nothing in them is a shell's.
    Words,
    /// What a shell reads, known by its text.
    ForShell,
}

/// A job log that is being written.
#[derive(Debug)]
pub struct Joblog {
    book: Book,
}

impl Joblog {
    /// Opens `path` and writes the heading where it is empty; `WouldBlock` says that another run has it, `InvalidData` that what is to be added to is
    /// no such log. A last line that a crash cut off is ended first.
    pub fn open(path: &Path, opening: ExistingLog) -> io::Result<Self> {
        let is_of_log = |line: &[u8]| {
            opening == ExistingLog::Replace || HEADING.strip_suffix(b"\n") == Some(line) || fields(line).is_some()
        };
        let mut book = Book::open(path, &HEADING[..HEADING.len() - 1], is_of_log)?;
        if opening == ExistingLog::Replace {
            book.clear()?;
        }
        if book.length()? == 0 {
            book.put(HEADING)?;
        }
        Ok(Self { book })
    }

    /// Notes how a job ended, with one write. COMPAT: a line a job, so attempts that are followed by others are left out, and so are jobs that
    /// the run ended: whoever reads the log takes each line for a job that is done. Nor is one whose output is lost, or that did not come so far
    /// as to look for its program.
    pub fn end(&mut self, record: &JobRecord<'_>) -> io::Result<()> {
        let is_to_run = match record.outcome {
            JobOutcome::Stopped | JobOutcome::OutputLost => true,
            JobOutcome::NotStarted => !record.lacks_program,
            _ => record.is_tried_again,
        };
        if is_to_run {
            return Ok(());
        }
        let (exit, signal) = match (record.outcome, record.how) {
            (JobOutcome::TimedOut, Some(How::Signal(signal))) => (TIMED_OUT, signal),
            (JobOutcome::TimedOut, _) => (TIMED_OUT, 0),
            (_, Some(How::Exit(code))) => (code, 0),
            (_, Some(How::Signal(signal))) => (0, signal),
            (_, None) => (NOT_STARTED, 0),
        };
        let mut line = format!(
            "{}\t:\t{:.3}\t{:10.3}\t{}\t{}\t{exit}\t{signal}\t",
            record.number, record.began_s, record.wall_s, record.sent_bytes, record.printed_bytes[0]
        )
        .into_bytes();
        match record.text_for_shell {
            // COMPAT: so a line stays one line.
            Some(text) => line.extend(text.iter().map(|&byte| if byte == b'\n' { 0 } else { byte })),
            None => line.extend(shell_words::join(record.words.iter(), Controls::Escaped)),
        }
        line.push(b'\n');
        self.book.put(&line)
    }

    /// Waits until all is on the disk.
    pub fn finish(&self) -> io::Result<()> {
        self.book.finish()
    }
}

/// What the log at `path` says has been done; one that is not there is an empty one.
pub fn read(path: &Path, resume: Resume, commands: Commands) -> io::Result<JournalDone> {
    match File::open(path) {
        Ok(file) => read_from(BufReader::new(file), resume, commands),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(JournalDone::of_commands()),
        Err(error) => Err(error),
    }
}

/// The same from its lines.
pub fn read_from(lines: impl BufRead, resume: Resume, commands: Commands) -> io::Result<JournalDone> {
    let mut done = JournalDone::of_commands();
    for line in lines.split(b'\n') {
        let line = line?;
        if line.is_empty() || HEADING.starts_with(&line) {
            continue;
        }
        match fields(&line) {
            Some((true, command)) => done.add(key(command, commands), EarlierEnd::Succeeded),
            Some((false, command)) if resume == Resume::Ended => done.add(key(command, commands), EarlierEnd::Failed),
            Some(_) => {}
            None => done.lines_unread += 1,
        }
    }
    Ok(done)
}

/// Whether the job of a line succeeded, and its command.
fn fields(line: &[u8]) -> Option<(bool, &[u8])> {
    let fields: Vec<&[u8]> = line.splitn(9, |&byte| byte == b'\t').collect();
    let number = |index: usize| std::str::from_utf8(fields.get(index)?).ok()?.trim().parse::<i64>().ok();
    number(0)?;
    Some((number(6)? == 0 && number(7)? == 0, *fields.get(8)?))
}

/// A command that cannot be divided into words is known by its text: then no job of ours has it.
fn key(command: &[u8], commands: Commands) -> JobKey {
    // COMPAT: a NUL stands for a line end, and no word has one.
    let command: Vec<u8> = command.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }).collect();
    match shell_words::split(&command).filter(|_| commands == Commands::Words) {
        Some(words) => JobKey::of_command(words.iter().map(Vec::as_slice)),
        None => JobKey::of_command(std::iter::once(command.as_slice())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use crate::tree::Spent;
    use sys::spawn::Words;

    fn words(list: &[&[u8]]) -> Words {
        let mut words = Words::default();
        list.iter().try_for_each(|word| words.push(word)).expect("no NUL");
        words
    }

    fn record<'a>(
        number: u64,
        words: &'a Words,
        spec: &'a Spec,
        outcome: JobOutcome,
        how: Option<How>,
    ) -> JobRecord<'a> {
        JobRecord {
            number,
            key: JobKey::of_command(words.iter()),
            words,
            text_for_shell: None,
            spec,
            attempt: 1,
            began_s: 1_795_271_749.255,
            wall_s: 0.25,
            waited_s: 0.0,
            outcome,
            how,
            class: "",
            spent: Spent::default(),
            leaves_processes: false,
            printed_bytes: [6, 4],
            sent_bytes: 2,
            is_tried_again: false,
            lacks_program: false,
        }
    }

    #[test]
    fn lines_are_gnu_parallels_and_are_read_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let (spec, good, bad, late) =
            (Spec::default(), words(&[b"echo", b"a\n\xff b"]), words(&[b"false"]), words(&[b"sleep", b"9"]));
        let mut log = Joblog::open(&path, ExistingLog::Append).expect("it can be made");
        log.end(&record(1, &good, &spec, JobOutcome::Ok, Some(How::Exit(0)))).expect("written");
        log.end(&record(2, &bad, &spec, JobOutcome::Failed, Some(How::Exit(3)))).expect("written");
        log.end(&record(3, &late, &spec, JobOutcome::TimedOut, Some(How::Signal(15)))).expect("written");
        log.end(&record(4, &good, &spec, JobOutcome::Stopped, Some(How::Exit(0)))).expect("not an end");
        log.end(&record(5, &good, &spec, JobOutcome::OutputLost, Some(How::Exit(0)))).expect("not one to go on from");
        let text = std::fs::read(&path).expect("it is there");
        let expected = [
            HEADING,
            b"1\t:\t1795271749.255\t     0.250\t2\t6\t0\t0\techo $'a\\n\xff b'\n",
            b"2\t:\t1795271749.255\t     0.250\t2\t6\t3\t0\tfalse\n",
            b"3\t:\t1795271749.255\t     0.250\t2\t6\t-1\t15\tsleep 9\n",
        ];
        assert_eq!(text, expected.concat());
        let key = |words: &Words| JobKey::of_command(words.iter());
        let mut done = read(&path, Resume::Ended, Commands::Words).expect("readable");
        assert_eq!(
            [&good, &bad, &late].map(|words| done.takes_out(key(words))),
            [Some(EarlierEnd::Succeeded), Some(EarlierEnd::Failed), Some(EarlierEnd::Failed)]
        );
        let mut done = read(&path, Resume::Succeeded, Commands::Words).expect("readable");
        assert_eq!(
            [&good, &good, &bad].map(|words| done.takes_out(key(words))),
            [Some(EarlierEnd::Succeeded), None, None]
        );
        drop(log);
        drop(Joblog::open(&path, ExistingLog::Replace).expect("it can be emptied"));
        assert_eq!(std::fs::read(&path).expect("it is there"), HEADING);
    }

    #[test]
    fn a_log_of_gnu_parallels_own_is_understood() {
        let text = b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
            1\t:\t1795271752.709\t     0.000\t0\t4\t0\t0\techo 'a'\"'\"'b'\n\
            2\t:\t1795271752.709\t     0.0";
        let mut done = read_from(&text[..], Resume::Ended, Commands::Words).expect("readable");
        assert_eq!(done.lines_unread, 1);
        assert!(done.takes_out(JobKey::of_command([&b"echo"[..], b"a'b"].into_iter())).is_some());
    }

    #[test]
    fn what_a_shell_reads_is_known_by_its_text_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let (spec, words, text) = (Spec::default(), words(&[b"/bin/sh", b"-c", b"x"]), b"echo $a |\nwc");
        let mut log = Joblog::open(&path, ExistingLog::Append).expect("it can be made");
        let ended = record(1, &words, &spec, JobOutcome::Ok, Some(How::Exit(0)));
        log.end(&JobRecord { text_for_shell: Some(text), ..ended }).expect("written");
        assert!(std::fs::read(&path).expect("it is there").ends_with(b"\t0\t0\techo $a |\0wc\n"));
        let taken_out = |text: &[u8]| {
            let mut done = read(&path, Resume::Ended, Commands::ForShell).expect("readable");
            let key = done.key_of(ended.key, &words, Some(text));
            done.takes_out(key)
        };
        assert_eq!(taken_out(text), Some(EarlierEnd::Succeeded));
        assert_eq!(taken_out(b"echo '$a' |\nwc"), None, "the same words, and another command");
    }
}
