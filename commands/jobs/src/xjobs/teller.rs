//! What a run tells while it goes: errors always, starts and ends when asked for, in our words or in xjobs'.

use super::ask::AtTerminal;
use super::plan::Job;
use super::{Called, NAME, XjobsArgs, old_name};
use jobs::Variables;
use jobs::halt::Halt;
use jobs::journal::JobOutcome;
use jobs::run::{EventMoment, FinishedRun, ForegroundTurn, JobEnd, JobQuestion, JobView, Observer, RunEvent};
use jobs::shell_words::{self, Controls};
use jobs::start::StartFault;
use jobs::tree::Survivor;
use mh_kit::context::Context;
use mh_kit::failure::with_causes;
use mh_kit::report::seconds_text;
use rustix::process::Pid;
use sys::reap::How;
use terminal::{KeptMessages, Messages, Verbosity};

/// LIMIT: a command in a message; longer ones are cut.
const COMMAND_LETTERS_MAX: usize = 1000;

/// Tells what happens.
pub struct JobTeller {
    /// Those of the run, which go where the errors of jobs go.
    messages: Messages,
    kept: KeptMessages,
    /// Those on which progress is shown.
    around: Messages,
    list_name: String,
    called: Called,
    level: u8,
    shows_usage: bool,
    shows_total: bool,
    /// Which of both streams go to the terminal on which progress is shown.
    pub shares_terminal: [bool; 2],
}

/// Whether the end has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing yet.
    Nothing,
    /// In xjobs' way.
    InOldWords,
}

impl JobTeller {
    /// At the level that was asked for: errors alone, unless called by the old name.
    pub fn new(context: &Context, job: &Job, args: &XjobsArgs) -> Self {
        let (messages, kept) = context.messages.kept();
        Self {
            messages,
            kept,
            around: context.messages.clone(),
            list_name: job.list_name.clone(),
            called: job.called,
            level: args.verbosity.unwrap_or(1),
            shows_usage: !args.no_usage,
            shows_total: args.total_time,
            shares_terminal: [false; 2],
        }
    }

    /// Says what the run has not come to say.
    pub fn say_the_rest(&self) {
        self.around.pass_on(&self.kept);
    }

    /// The end of a run.
    pub fn finish(&self, ran: &FinishedRun) -> Told {
        if self.shows_total {
            let seconds = ran.measures.wall_ns as f64 / 1e9;
            let text = format!("{} jobs in {seconds:.3} sec.", ran.measures.starts);
            self.around.in_words_of_others(Verbosity::Quiet, &text);
        }
        if self.called == Called::OldName { Told::InOldWords } else { Told::Nothing }
    }

    /// Says it at once.
    pub fn error(&self, fragment: &str) {
        if self.level >= 1 {
            self.messages.error(NAME, fragment, &[]);
        }
    }

    fn tell_not_started(&self, job: &JobView<'_>, fault: &StartFault) {
        let hints: Vec<String> = remedy(job.words, fault).into_iter().collect();
        if self.level >= 1 {
            let fragment = format!("start job {}: {}: {}", job.number, command(job), with_causes(fault));
            self.messages.error(NAME, &fragment, &hints);
        }
    }

    fn in_old_words(&self, text: &str) {
        self.messages.in_words_of_others(Verbosity::Quiet, text);
    }

    fn tell_end(&self, job: &JobView<'_>, end: &JobEnd) {
        if self.level >= 3 {
            self.in_old_words(&old_name::ended(job.number, job.words, end, self.shows_usage));
        } else if end.outcome != JobOutcome::Ok && self.level >= 1 && self.called == Called::Mh {
            if end.outcome == JobOutcome::Stopped {
                let text = format!("job {} was stopped: {}", job.number, command(job));
                return self.messages.conclusion(NAME, &text);
            }
            if let Some(words) = end_words(job, end) {
                self.messages.conclusion(NAME, &words);
            }
        }
    }

    /// Jobs that start daemons are no error, so it is a detail.
    fn tell_survivors(&self, survivors: &[Survivor]) {
        if self.level < 4 {
            return;
        }
        let named = |survivor: &Survivor| match survivor.job {
            Some(job) => format!("{} ({}, of job {job})", survivor.name, survivor.pid),
            None => format!("{} ({})", survivor.name, survivor.pid),
        };
        let names: Vec<String> = survivors.iter().map(named).collect();
        self.messages
            .conclusion(NAME, &format!("processes that jobs have left behind still run: {}", names.join(", ")));
    }

    fn tell_turn(&self, job: &JobView<'_>, turn: ForegroundTurn) {
        let text = match turn {
            // COMPAT: jobs of xjobs have the terminal without a word.
            ForegroundTurn::Now if self.called == Called::OldName => return,
            ForegroundTurn::Now => "has the terminal until it ends",
            ForegroundTurn::Later => "waits for the terminal, which another job has until it ends",
            ForegroundTurn::InBackground => {
                "waits for the terminal, which runs in the background have not; fg brings it here"
            }
        };
        if self.level >= 1 {
            self.messages.conclusion(NAME, &format!("job {} {text}: {}", job.number, command(job)));
        }
    }

    fn tell_stopping(&self, running: usize, now: bool, rule: Option<Halt>) {
        let jobs = mh_kit::report::counted(running as u64, "job");
        if self.level >= 1 && running > 0 {
            let why = rule.map(|rule| format!("--halt {rule} is met; ")).unwrap_or_default();
            let what = match now {
                true => format!("{why}ending {jobs}"),
                false => format!("{why}no more jobs start; {jobs} still running (the next interrupt ends them)"),
            };
            self.messages.conclusion(NAME, &what);
        }
    }
}

/// How a job failed; none where that has been said otherwise.
fn end_words(job: &JobView<'_>, end: &JobEnd) -> Option<String> {
    let again = if end.is_tried_again { "; it is tried again" } else { "" };
    let how = match (end.outcome, end.ended.how) {
        (JobOutcome::TimedOut, _) => {
            format!("it took longer than it may, {}", seconds_text(end.wall.as_secs_f64()))
        }
        (JobOutcome::OutputLost, _) => return None,
        (_, How::Exit(code)) => format!("exit code {code}"),
        (_, How::Signal(signal)) => format!("ended by signal {signal}"),
    };
    Some(format!("job {} failed: {}: {how}{again}", job.number, command(job)))
}

/// The words about a job that fails, for whoever says them elsewhere, and its number.
pub fn failure_words(event: &RunEvent<'_>) -> Option<(u64, String)> {
    match event {
        RunEvent::Ended(job, end) if !matches!(end.outcome, JobOutcome::Ok | JobOutcome::Stopped) => {
            Some((job.number, end_words(job, end)?))
        }
        RunEvent::NotStarted(number, words, fault) => {
            let job = JobView { number: *number, words, attempt: 1 };
            Some((*number, format!("could not start job {number}: {}: {}", command(&job), with_causes(*fault))))
        }
        _ => None,
    }
}

/// What only a shell can do, and people write before a command.
const OF_SHELLS: &[&[u8]] =
    &[b"cd", b"export", b"source", b".", b"ulimit", b"umask", b"eval", b"for", b"if", b"while", b"set"];

/// The remedy for a job that could not be started: a whole command line in one word is for a shell.
fn remedy(words: &Variables, fault: &StartFault) -> Option<String> {
    let is_missing = match fault {
        StartFault::NotFound(_) => true,
        StartFault::Run { cause, .. } => cause.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    let program = words.iter().next()?;
    if is_missing && OF_SHELLS.contains(&program) {
        let word = String::from_utf8_lossy(program).into_owned();
        return Some(format!("{word} is a word of shells: --shell '{word} ...'"));
    }
    let is_line = program.iter().any(|byte| b" \t|&;<>()$`*?".contains(byte));
    (is_missing && is_line).then(|| "a command line in one word needs a shell: --shell before it runs one".to_owned())
}

/// A job's words as they can be typed again.
fn command(job: &JobView<'_>) -> String {
    let line = String::from_utf8_lossy(&shell_words::join(job.words.iter(), Controls::Escaped)).into_owned();
    match line.char_indices().nth(COMMAND_LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

impl Observer for JobTeller {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started(job, pid) if self.level >= 3 => {
                self.in_old_words(&old_name::started(job.number, pid.as_raw_nonzero().get(), job.words));
            }
            RunEvent::Started(..) | RunEvent::Concluded(_) => {}
            RunEvent::Ended(job, end) => self.tell_end(job, end),
            RunEvent::NotStarted(number, words, fault) => {
                self.tell_not_started(&JobView { number: *number, words, attempt: 1 }, fault);
            }
            RunEvent::OutputLost(job, error) => {
                self.error(&format!(
                    "keep all output of job {}: {}: {}",
                    job.number,
                    command(job),
                    with_causes(*error)
                ));
            }
            RunEvent::NotDelivered(job, error) => {
                let (number, command) = (job.number, command(job));
                self.error(&format!("write all output of job {number}: {command}: {}", with_causes(*error)));
            }
            RunEvent::BadLine(fault) => {
                self.error(&format!("read {}: {}; nothing behind it was read", self.list_name, with_causes(*fault)));
            }
            RunEvent::BadInput(error) => self.error(&format!("read {}: {}", self.list_name, with_causes(*error))),
            RunEvent::BadOutput(error) => {
                self.error(&format!("write output of jobs: {}; no more jobs start", with_causes(*error)));
            }
            RunEvent::BadJournal(error) => {
                self.error(&format!("write the journal: {}; no more jobs start", with_causes(*error)));
            }
            RunEvent::Interrupted(job) => {
                let number = job.number;
                let text =
                    format!("job {number} had begun when an earlier run ended; it is run again: {}", command(job));
                self.messages.conclusion(NAME, &text);
            }
            RunEvent::RunsAlone { job, expected_bytes, cap_bytes } if self.level >= 1 && self.called == Called::Mh => {
                let [expected, cap] = [*expected_bytes, *cap_bytes].map(terminal::bytes);
                let text = format!(
                    "job {} is expected to need {expected} of memory, more than the {cap} for all jobs; such jobs run alone: {}",
                    job.number,
                    command(job)
                );
                self.messages.warning(NAME, &text, &[]);
            }
            RunEvent::RunsAlone { .. } => {}
            RunEvent::Stopping { running, now, rule, .. } => self.tell_stopping(*running, *now, *rule),
            RunEvent::StillRun(survivors) => self.tell_survivors(survivors),
            RunEvent::WantsTerminal(job, turn) => self.tell_turn(job, *turn),
            RunEvent::Width(width) => self.messages.detail(NAME, &format!("{width} jobs at once from now on")),
        }
    }

    fn passes_output(&mut self, moment: EventMoment, streams: [bool; 2]) {
        let is_shared = (0..streams.len()).any(|stream| streams[stream] && self.shares_terminal[stream]);
        match moment {
            EventMoment::Before if is_shared => self.around.make_room(),
            EventMoment::Within if is_shared => self.around.take_room_back(),
            EventMoment::After if is_shared => self.around.show_progress_again(),
            _ => {}
        }
    }

    fn take_messages(&mut self) -> Vec<u8> {
        self.kept.take()
    }

    fn ask(&mut self, job: JobView<'_>) -> Option<Box<dyn JobQuestion>> {
        Some(Box::new(AtTerminal::about(&command(&job))?))
    }

    fn heading(&mut self, job: JobView<'_>, pid: Pid) -> Option<Vec<u8>> {
        (self.level >= 3).then(|| old_name::heading(job.number, pid.as_raw_nonzero().get(), job.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(typed: &[&str]) -> Variables {
        let mut words = Variables::default();
        typed.iter().try_for_each(|word| words.push(word.as_bytes())).expect("no NUL");
        words
    }

    #[test]
    fn a_command_line_in_one_word_is_sent_to_a_shell() {
        let not_found = StartFault::NotFound("x".to_owned());
        let remedy = |typed: &[&str], fault| remedy(&words(typed), fault).unwrap_or_default();
        assert!(remedy(&["gzip -c a > b"], &not_found).contains("--shell"));
        assert_eq!(remedy(&["gzip", "a b"], &not_found), "", "a program that is not there");
        assert_eq!(remedy(&["cd", "a"], &not_found), "cd is a word of shells: --shell 'cd ...'");
        assert_eq!(remedy(&["gzip -c a"], &StartFault::Unnoted), "");
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(remedy(&["d/x; ls"], &StartFault::Run { program: "d".to_owned(), cause }).contains("--shell"));
    }

    #[test]
    fn failures_can_be_pasted_into_a_shell() {
        let words = words(&["sh", "-c", "exit 3", "it's", "a\nb"]);
        let job = JobView { number: 1, words: &words, attempt: 1 };
        assert_eq!(command(&job), r"sh -c 'exit 3' 'it'\''s' $'a\nb'");
    }
}
