//! The journal of a run: append-only, a JSON object a line, written with one write when a job begins and when it ends, so that
//! it is true after any kill. `--resume` reads it back: jobs are known by their content, not by their number.
//! It is written out to the disk (fdatasync) at the run's end only: a power cut may lose the last lines, a kill none.

pub mod times;

use crate::book::Book;
use crate::key::JobKey;
use crate::made::OwnFileIdentity;
use crate::spec::Spec;
use crate::tree::{Leftover, Spent, Survivor};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use sys::reap::How;
use sys::spawn::Words;

/// How a job came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// Exit code 0, and its output kept.
    Ok,
    /// Another exit code, or a signal.
    Failed,
    /// It took longer than it may.
    TimedOut,
    /// The run was stopped.
    Stopped,
    /// It could not be started.
    NotStarted,
    /// It ended, but its output could not be kept or passed on.
    OutputLost,
}

/// What is known of a job at its end.
#[derive(Clone, Debug)]
pub struct JobRecord<'a> {
    /// Its number in the list.
    pub number: u64,
    /// What it is.
    pub key: JobKey,
    /// The words that ran.
    pub words: &'a Words,
    /// Its command as a job log has it, where a shell runs it.
    pub text_for_shell: Option<&'a [u8]>,
    /// What it asked for.
    pub spec: &'a Spec,
    /// Which attempt this was, from 1.
    pub attempt: u32,
    /// When it began, in seconds since 1970.
    pub began_s: f64,
    /// How long it took.
    pub wall_s: f64,
    /// How long it was ready and had no hand.
    pub waited_s: f64,
    /// How it came out.
    pub outcome: JobOutcome,
    /// How its process ended, if there was one.
    pub how: Option<How>,
    /// What jobs of its kind have in common.
    pub class: &'a str,
    /// What it used, the orphans of its group included that have ended.
    pub spent: Spent,
    /// Whether processes of its group go on.
    pub leaves_processes: bool,
    /// Bytes that it printed: to standard output, to standard error.
    pub printed_bytes: [u64; 2],
    /// Bytes of the block that was its standard input.
    pub sent_bytes: u64,
    /// Whether it is run again.
    pub is_tried_again: bool,
    /// Whether all that it lacks to start is its program.
    pub lacks_program: bool,
}

impl<'a> JobRecord<'a> {
    /// Of a job that was not started. Whoever knows more puts it in.
    pub fn of(spec: &'a Spec, key: JobKey, words: &'a Words) -> Self {
        Self {
            number: spec.number,
            key,
            words,
            text_for_shell: None,
            spec,
            attempt: 1,
            began_s: 0.0,
            wall_s: 0.0,
            waited_s: 0.0,
            outcome: JobOutcome::NotStarted,
            how: None,
            class: "",
            spent: Spent::default(),
            leaves_processes: false,
            printed_bytes: [0; 2],
            sent_bytes: 0,
            is_tried_again: false,
            lacks_program: false,
        }
    }
}

#[derive(Serialize)]
struct EndLine<'a> {
    job: u64,
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    argv: Vec<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Text>,
    attempt: u32,
    began: f64,
    seconds: f64,
    waited_seconds: f64,
    outcome: JobOutcome,
    /// Whether another attempt follows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tried_again: bool,
    class: &'a str,
    exit: Option<i32>,
    signal: Option<i32>,
    #[serde(flatten)]
    spent: SpentFields,
    leaves_processes: bool,
    output_bytes: u64,
}

/// What processes used. Blocks are of 512 bytes, to and from devices; bytes are those of all reads and writes.
#[derive(Serialize)]
struct SpentFields {
    processes: u32,
    user_seconds: f64,
    system_seconds: f64,
    rss_peak_bytes: Option<u64>,
    blocks_in: u64,
    blocks_out: u64,
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    switches_voluntary: u64,
    switches_forced: u64,
}

impl SpentFields {
    fn of(spent: &Spent) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let usage = &spent.usage;
        Self {
            processes: spent.processes,
            user_seconds: seconds(usage.user_ns),
            system_seconds: seconds(usage.system_ns),
            rss_peak_bytes: usage.rss_peak_bytes,
            blocks_in: usage.blocks_in,
            blocks_out: usage.blocks_out,
            read_bytes: spent.moved.map(|moved| moved.read_bytes),
            written_bytes: spent.moved.map(|moved| moved.written_bytes),
            switches_voluntary: usage.switches_voluntary,
            switches_forced: usage.switches_forced,
        }
    }
}

/// What a job's group used after the job's end.
#[derive(Serialize)]
struct LateLine<'a> {
    late: Option<String>,
    job: u64,
    #[serde(flatten)]
    spent: SpentFields,
    still_run: &'a [Survivor],
}

/// What had left its job's group.
#[derive(Serialize)]
struct StraysLine<'a> {
    strays: &'static str,
    #[serde(flatten)]
    spent: SpentFields,
    still_run: &'a [Survivor],
}

/// Text, or bytes that are none, in hexadecimal.
#[derive(Serialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Bytes { hex: String },
}

fn text(bytes: &[u8]) -> Text {
    match std::str::from_utf8(bytes) {
        Ok(text) => Text::Text(text.to_owned()),
        Err(_) => Text::Bytes { hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect() },
    }
}

#[derive(Serialize)]
struct BeginLine {
    begin: String,
    job: u64,
    /// Files that `>` makes for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    made: Vec<String>,
}

/// A file that `>` on the command line makes for all jobs.
#[derive(Serialize)]
struct MadeLine {
    made: [String; 1],
}

/// What `--resume` needs of a line.
#[derive(Deserialize)]
struct AnyLine {
    begin: Option<String>,
    #[serde(default)]
    job: u64,
    key: Option<String>,
    outcome: Option<String>,
    #[serde(default)]
    tried_again: bool,
    #[serde(default)]
    made: Vec<String>,
}

/// How the lines of a journal begin, each by what it tells; the user may have taken out the first ones.
const BEGINNINGS: [&[u8]; 5] = [b"{\"begin\":", b"{\"made\":[", b"{\"job\":", b"{\"late\":", b"{\"strays\":"];

/// Whether a line is one of a journal, as far as it goes: a crash may have cut it off.
fn is_begun_as_ours(line: &[u8]) -> bool {
    let is_cut_off = |beginning: &&[u8]| line.len() > 1 && beginning.starts_with(line);
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning) || is_cut_off(beginning))
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    book: Book,
}

impl Journal {
    /// Opens `path` to add to it; `WouldBlock` says that another run has it, `InvalidData` that it is no journal. A last line that a crash cut off
    /// is ended first.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { book: Book::open(path, b"{", is_begun_as_ours)? })
    }

    /// Notes that a job is about to begin, and which files it has made.
    pub fn begin(&mut self, key: JobKey, number: u64, made: impl Iterator<Item = OwnFileIdentity>) -> io::Result<()> {
        self.put(&BeginLine { begin: key.text(), job: number, made: made.map(OwnFileIdentity::text).collect() })
    }

    /// Notes a file that has been made for all jobs.
    pub fn made_for_all(&mut self, mark: OwnFileIdentity) -> io::Result<()> {
        self.put(&MadeLine { made: [mark.text()] })
    }

    /// Notes how a job ended.
    pub fn end(&mut self, record: &JobRecord<'_>) -> io::Result<()> {
        let more = record.spec.more.as_ref();
        let (exit, signal) = match record.how {
            Some(How::Exit(code)) => (Some(code), None),
            Some(How::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        self.put(&EndLine {
            job: record.number,
            key: record.key.text(),
            id: more.and_then(|more| more.id.as_deref()),
            argv: record.words.iter().map(text).collect(),
            cwd: more.and_then(|more| more.directory.as_deref()).map(text),
            attempt: record.attempt,
            began: record.began_s,
            seconds: record.wall_s,
            waited_seconds: record.waited_s,
            outcome: record.outcome,
            tried_again: record.is_tried_again,
            class: record.class,
            exit,
            signal,
            spent: SpentFields::of(&record.spent),
            leaves_processes: record.leaves_processes,
            output_bytes: record.printed_bytes.iter().sum(),
        })
    }

    /// Adds a whole line of another run's journal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, line: &[u8]) -> io::Result<()> {
        self.book.put(line)
    }

    /// Notes what a job's group used after its end: when the last of it has ended, or at the end of the run.
    pub fn late(&mut self, leftover: &Leftover, still_run: &[Survivor]) -> io::Result<()> {
        let (late, spent) = (leftover.key.map(JobKey::text), SpentFields::of(&leftover.spent));
        self.put(&LateLine { late, job: leftover.number, spent, still_run })
    }

    /// Notes what was used by processes of which nobody can say whose they were.
    pub fn strays(&mut self, spent: Spent, still_run: &[Survivor]) -> io::Result<()> {
        self.put(&StraysLine { strays: "left their jobs' groups", spent: SpentFields::of(&spent), still_run })
    }

    /// Waits until all is on the disk.
    pub fn finish(&self) -> io::Result<()> {
        self.book.finish()
    }

    fn put(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::other)?;
        bytes.push(b'\n');
        self.book.put(&bytes)
    }
}

/// Which jobs of a journal `--resume` leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// All that have ended.
    Ended,
    /// Those that succeeded (`--resume-failed`).
    Succeeded,
}

/// How a job ended that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierEnd {
    /// Well.
    Succeeded,
    /// Badly: nothing that waits for it may run.
    Failed,
}

/// What jobs are known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KnownBy {
    /// All that makes a job what it is.
    #[default]
    Content,
    /// The words of its command: a log of GNU parallel's has no more.
    Command,
}

/// What an earlier run has done.
#[derive(Debug, Default)]
pub struct JournalDone {
    known_by: KnownBy,
    /// How often each job has ended so that it is left out: well, and badly.
    succeeded: HashMap<JobKey, u32>,
    failed: HashMap<JobKey, u32>,
    /// Which they were that ended badly: one that is run again by another run is the same job.
    failed_numbers: HashSet<(JobKey, u64)>,
    /// Jobs that had begun and whose end is not known: their numbers, since each may have begun several times.
    interrupted: HashMap<JobKey, Vec<u64>>,
    /// Files that `>` made, with the job that they are of, or none for those of all jobs.
    made: HashSet<(Option<JobKey>, OwnFileIdentity)>,
    /// Lines that could not be read: cut off by a crash.
    pub lines_unread: u64,
}

impl JournalDone {
    /// Reads a journal; one that is not there is an empty one.
    pub fn read(path: &Path, resume: Resume) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read_from(BufReader::new(file), resume),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The same from its lines.
    pub fn read_from(lines: impl BufRead, resume: Resume) -> io::Result<Self> {
        let mut done = Self::default();
        for line in lines.split(b'\n') {
            let line = line?;
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice::<AnyLine>(&line) {
                Ok(line) => done.note(&line, resume),
                Err(_cut_off) => done.lines_unread += 1,
            }
        }
        Ok(done)
    }

    fn note(&mut self, line: &AnyLine, resume: Resume) {
        let begun = line.begin.as_deref().and_then(JobKey::parse);
        self.made.extend(line.made.iter().filter_map(|mark| OwnFileIdentity::parse(mark)).map(|mark| (begun, mark)));
        if let Some(key) = begun {
            let begun = self.interrupted.entry(key).or_default();
            if !begun.contains(&line.job) {
                begun.push(line.job);
            }
        }
        let Some(key) = line.key.as_deref().and_then(JobKey::parse) else { return };
        if let Entry::Occupied(mut begun) = self.interrupted.entry(key) {
            // By another number it was known where the list was another.
            let place = begun.get().iter().position(|number| *number == line.job).unwrap_or(0);
            begun.get_mut().remove(place);
            if begun.get().is_empty() {
                begun.remove();
            }
        }
        match line.outcome.as_deref() {
            Some("ok") => {
                self.add(key, EarlierEnd::Succeeded);
                if self.failed_numbers.remove(&(key, line.job))
                    && let Some(count) = self.failed.get_mut(&key)
                {
                    *count -= 1;
                }
            }
            // An attempt that another one follows is no end.
            _ if line.tried_again => {}
            Some("failed" | "timed_out") if resume == Resume::Ended => {
                let is_another = self.failed_numbers.insert((key, line.job));
                *self.failed.entry(key).or_default() += u32::from(is_another);
            }
            // An output that nobody has got is to be made again.
            _ => {}
        }
    }

    /// Whether an earlier attempt of the job made this file, or for all jobs an earlier run.
    pub(crate) fn has_made(&self, key: Option<JobKey>, mark: OwnFileIdentity) -> bool {
        self.made.contains(&(key, mark))
    }

    /// Nothing yet, in a log where jobs are known by their commands.
    pub(crate) fn of_commands() -> Self {
        Self { known_by: KnownBy::Command, ..Self::default() }
    }

    /// Notes that a job has ended and is left out.
    pub(crate) fn add(&mut self, key: JobKey, earlier: EarlierEnd) {
        *self.ended(earlier).entry(key).or_default() += 1;
    }

    fn ended(&mut self, earlier: EarlierEnd) -> &mut HashMap<JobKey, u32> {
        match earlier {
            EarlierEnd::Succeeded => &mut self.succeeded,
            EarlierEnd::Failed => &mut self.failed,
        }
    }

    /// What a job is known by here: by its key, or by the words that it runs, or by their text where a shell reads it.
    pub(crate) fn key_of(&self, key: JobKey, words: &Words, text_for_shell: Option<&[u8]>) -> JobKey {
        match (self.known_by, text_for_shell) {
            (KnownBy::Content, _) => key,
            (KnownBy::Command, Some(text)) => JobKey::of_command(std::iter::once(text)),
            (KnownBy::Command, None) => JobKey::of_command(words.iter()),
        }
    }

    /// Whether this job has been done, and how it ended: equal jobs are counted, so a line that stands twice runs twice in all. One that failed
    /// and then, run again under the same number, did not has succeeded.
    pub fn takes_out(&mut self, key: JobKey) -> Option<EarlierEnd> {
        [EarlierEnd::Succeeded, EarlierEnd::Failed].into_iter().find(|&earlier| {
            match self.ended(earlier).get_mut(&key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            }
        })
    }

    /// Whether this job had begun and nobody knows how it ended. Asked once for each.
    pub fn was_interrupted(&mut self, key: JobKey) -> bool {
        self.interrupted.get_mut(&key).and_then(Vec::pop).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn spec(words: &[&[u8]]) -> Spec {
        let mut spec = Spec { number: 1, ..Spec::default() };
        words.iter().try_for_each(|word| spec.words.push(word)).expect("no NUL");
        spec
    }

    fn key(spec: &Spec) -> JobKey {
        JobKey::of_command(spec.words.iter())
    }

    fn record<'a>(spec: &'a Spec, outcome: JobOutcome) -> JobRecord<'a> {
        JobRecord {
            number: spec.number,
            key: key(spec),
            words: &spec.words,
            text_for_shell: None,
            spec,
            attempt: 1,
            began_s: 1.5,
            wall_s: 0.25,
            waited_s: 0.0,
            outcome,
            how: Some(How::Exit(0)),
            class: "a",
            spent: Spent::default(),
            leaves_processes: false,
            printed_bytes: [2, 1],
            sent_bytes: 0,
            is_tried_again: false,
            lacks_program: false,
        }
    }

    #[test]
    fn what_is_done_is_known_by_content_and_count() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let (first, second, third) = (spec(&[b"a"]), spec(&[b"b\xff\n"]), spec(&[b"c"]));
        let mut journal = Journal::open(&path).expect("it can be made");
        journal.begin(key(&first), 1, std::iter::empty()).expect("written");
        journal.end(&record(&first, JobOutcome::Ok)).expect("written");
        journal.begin(key(&third), 3, OwnFileIdentity::parse("a7").into_iter()).expect("written");
        journal.end(&record(&second, JobOutcome::Failed)).expect("written");
        drop(journal);
        File::options().append(true).open(&path).expect("there").write_all(b"{\"job\":").expect("written");
        drop(Journal::open(&path).expect("it can be added to"));
        let mut done = JournalDone::read(&path, Resume::Ended).expect("readable");
        assert_eq!(done.lines_unread, 1);
        assert_eq!((done.takes_out(key(&first)), done.takes_out(key(&first))), (Some(EarlierEnd::Succeeded), None));
        assert_eq!((done.takes_out(key(&second)), done.takes_out(key(&third))), (Some(EarlierEnd::Failed), None));
        let mark = OwnFileIdentity::parse("a7").expect("a number");
        let again = JobRecord { is_tried_again: true, ..record(&third, JobOutcome::Failed) };
        Journal::open(&path).and_then(|mut journal| journal.end(&again)).expect("written");
        assert_eq!(JournalDone::read(&path, Resume::Ended).expect("readable").takes_out(key(&third)), None);
        assert!(done.has_made(Some(key(&third)), mark) && !done.has_made(Some(key(&first)), mark));
        assert!(!done.has_made(None, mark));
        assert!(done.was_interrupted(key(&third)) && !done.was_interrupted(key(&first)));
        let mut done = JournalDone::read(&path, Resume::Succeeded).expect("readable");
        assert_eq!((done.takes_out(key(&first)), done.takes_out(key(&second))), (Some(EarlierEnd::Succeeded), None));
        // The same job twice more, then an equal one.
        let of_job = |number, outcome| JobRecord { number, ..record(&second, outcome) };
        for record in [of_job(1, JobOutcome::Failed), of_job(1, JobOutcome::Ok), of_job(2, JobOutcome::Failed)] {
            Journal::open(&path).and_then(|mut journal| journal.end(&record)).expect("written");
        }
        let mut done = JournalDone::read(&path, Resume::Ended).expect("readable");
        let ends = [0; 3].map(|_| done.takes_out(key(&second)));
        assert_eq!(ends, [Some(EarlierEnd::Succeeded), Some(EarlierEnd::Failed), None]);
    }
}
