//! What `mh cp`, `mh rm` and `mh mv` have in common: hands, progress, lines in GNU's words, questions, the report.
//! Knows no option of any of them.

pub mod choices;

use clap::{Arg, Command};
use crew::budget::progress::{ProgressUnit, WorkDone};
use crew::budget::{Brief, Joined, Lease, Priority, Request, Waiting};
use crew::clocks::{Clocks, StageClock};
use crew::measures::{Access, Measures, Slots};
use crew::scatter::Scattered;
use crew::verdict::{Circumstances, Verdict, verdict};
use files::staged_file::Unfinished;
use files::survey::Survey;
use mh_kit::command_line;
use mh_kit::context::{Context, HeldSignals, LastActs, signal_failure};
use mh_kit::descriptors::hands_for_descriptors;
use mh_kit::entry::LinkProfile;
use mh_kit::failure::{Failure, with_causes};
use mh_kit::outset::Outset;
use mh_kit::progress::{self, Total};
use mh_kit::report::{bound_sentence, counted, hint, json_line, outlook, seconds_text};
use mh_kit::shared_args::{ReportFormat, SharedArgs};
use mh_kit::sharing::{self, Shared};
use mh_kit::width::{self, Bound};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::signals::{BROKEN_PIPE, die_by};
use terminal::{
    Align, Delivery, Messages, Progress, ProgressSample, StandardStream, TextDestination, TextOutput, TextTable,
    Verbosity, printable, quote,
};
use transfer::tally::{Counts, Tally};

/// COMPAT: the old tools end with 1 when a command line is wrong, and have no short options for help and the version (`rm -rh`).
pub const LINK: LinkProfile = LinkProfile {
    usage_code: |_error| 1,
    has_short_help: false,
    version: concat!("(GNU coreutils) 9.1 (compatible; manyhands ", env!("CARGO_PKG_VERSION"), ")"),
    abbreviates: true,
    ..LinkProfile::NEW
};

/// What of the shared options is not as it is elsewhere: short names that the old tools have a meaning of their own for (`cp -p`, `cp -T`) go, and a limit
/// of memory is refused.
pub fn fitted(command: Command) -> Command {
    let refuse =
        |_: &str| Err::<u64, _>("what is held does not grow with what there is to do: there is nothing to limit");
    command
        .mut_arg("hands", |hands: Arg| hands.short_alias(None))
        .mut_arg("memory", |memory: Arg| memory.hide(true).value_parser(refuse))
        .mut_args(|arg| match arg.get_help_heading() {
            Some("Cores and memory") => arg.help_heading("Cores"),
            _ => arg,
        })
}

/// Speaks as the old tool does, under the name that the program was called by.
pub struct Words {
    /// `mh rm`, or `rm` under that name.
    pub program: String,
    messages: Messages,
    /// One line of output, or one question with its answer, at a time.
    turn: Mutex<Said>,
    unfinished: Unfinished,
    last_acts: LastActs,
}

/// What is said on standard output.
struct Said {
    output: TextOutput<StandardStream>,
    /// Whether somebody looks: then lines do not wait for others.
    is_watched: bool,
    failure: Option<io::Error>,
}

impl Said {
    /// Whether somebody still reads, as far as is known.
    fn line(&mut self, text: &[u8]) -> Delivery {
        let flushed = |said: &mut Self, delivery| if said.is_watched { said.output.flush() } else { Ok(delivery) };
        let written = self.output.line(text).and_then(|delivery| flushed(self, delivery));
        written.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            Delivery::Taken
        })
    }
}

impl Words {
    /// For a command.
    pub fn new(context: &Context) -> Self {
        let is_watched = TextDestination::of(&io::stdout()) == TextDestination::Terminal;
        let said = Said { output: TextOutput::standard(), is_watched, failure: None };
        Self {
            program: context.program.clone(),
            messages: context.messages.clone(),
            turn: Mutex::new(said),
            unfinished: context.unfinished.clone(),
            last_acts: context.last_acts.clone(),
        }
    }

    /// A line on standard error.
    pub fn say(&self, text: &str) {
        self.messages.in_words_of_others(Verbosity::Silent, &format!("{}: {text}", self.program));
    }

    /// Asks on standard error and reads the answer from standard input. No answer is no; that nothing could be asked is told by [`Words::finish`].
    pub fn asks(&self, text: &str) -> bool {
        let mut turn = self.turn();
        self.messages.make_room();
        let question = format!("{}: {}? ", self.program, printable(text));
        let asked = StandardStream::Error.write_all(question.as_bytes());
        let mut answer = String::new();
        let answered = match asked {
            Ok(()) => io::stdin().lock().read_line(&mut answer).is_ok(),
            Err(error) => {
                turn.failure.get_or_insert(error);
                false
            }
        };
        self.messages.take_room_back();
        answered && answer.starts_with(['y', 'Y'])
    }

    /// A line on standard output. Where nobody reads any more the process ends, as a signal would end it; what else comes of it is told by
    /// [`Words::finish`].
    pub fn shows(&self, text: &str) {
        self.shows_line(printable(text).as_bytes());
    }

    /// The same of a line whose bytes stay as they are, unless a terminal shows them.
    pub fn shows_bytes(&self, line: &[u8]) {
        let is_watched = self.turn().is_watched;
        let text = if is_watched {
            printable(&String::from_utf8_lossy(line)).into_owned().into_bytes()
        } else {
            line.to_vec()
        };
        self.shows_line(&text);
    }

    fn shows_line(&self, text: &[u8]) {
        let delivery = self.turn().line(text);
        if delivery == Delivery::ReaderGone {
            let _no_new_ones = self.unfinished.remove_all_and_hold();
            self.last_acts.perform();
            die_by(BROKEN_PIPE);
        }
    }

    /// The end of everything said on standard output.
    pub fn finish(&self) -> Result<(), Failure> {
        let mut said = self.turn();
        match said.failure.take().map_or_else(|| said.output.flush(), Err) {
            Ok(Delivery::Taken) => Ok(()),
            Ok(Delivery::ReaderGone) => Err(Failure::BrokenPipe),
            // COMPAT: GNU's words.
            Err(error) => {
                let text = format!("{}: write error: {}", self.program, with_causes(&error));
                Err(Failure::InWordsOfOthers { text, code: 1 })
            }
        }
    }

    fn turn(&self) -> MutexGuard<'_, Said> {
        self.turn.lock()
    }
}

/// A path as messages show it.
pub fn shown(path: &[u8]) -> String {
    quote(OsStr::from_bytes(path))
}

/// A wrong command line in the words of the old tools, with their exit code. Under our own name the hint is that of all commands.
pub fn usage(context: &Context, message: &str) -> Failure {
    let program = &context.program;
    let help = match context.has_own_name() {
        true => format!("  hint: {}", command_line::shows_options(program)),
        false => format!("Try '{program} --help' for more information."),
    };
    Failure::InWordsOfOthers { text: format!("{program}: {message}\n{help}"), code: 1 }
}

/// Hands of a run.
pub struct Hands<'a> {
    /// The most.
    pub width: usize,
    /// Where they come from.
    pub lease: Brief<Box<dyn Fn() -> Joined + Send + Sync + 'a>>,
    joined: Arc<OnceLock<Began>>,
    _signals: Arc<HeldSignals>,
}

/// How a run takes part in a budget.
struct Began {
    budget: Shared,
    width: usize,
    why: String,
}

impl Hands<'_> {
    /// Whose they were, where that is worth a line.
    pub fn from(&self) -> Option<&'static str> {
        self.joined.get()?.budget.hands_from(&self.lease)
    }

    /// What was measured, with the width that it turned out to have: one, where it was over before it took part in a budget.
    pub fn told(&self, measured: Scattered) -> Scattered {
        Scattered { width: self.joined.get().map_or(1, |began| began.width), ..measured }
    }

    /// How wide it was at most, and why.
    pub fn why(&self) -> String {
        let brief = || width::sentence("1 hand", "over before a second one could help");
        self.joined.get().map_or_else(brief, |began| began.why.clone())
    }
}

/// Sets up signals and hands for a run. `bound` is asked once it has lasted: whether another number of workers than hands are allowed makes it fastest.
pub fn hands<'a>(
    context: &'a Context,
    shared: &'a SharedArgs,
    what: String,
    outset: Outset,
    bound: impl Fn() -> Option<Bound> + Send + Sync + 'a,
) -> Result<Hands<'a>, Failure> {
    let signals = Arc::new(context.hold_signals().map_err(signal_failure)?);
    let allowed = shared.hands_asked().or_else(|| machine::allowed_cpus(&context.host).ok()).unwrap_or(1);
    if outset == Outset::Lasts {
        signals.attend().map_err(signal_failure)?;
    }
    // A brief run has nothing on other machines: it will not become wider.
    let looked = (outset == Outset::Lasts).then(&bound);
    let width = looked.as_ref().and_then(Option::as_ref).map_or(allowed, |bound| bound.workers);
    let width = width.min(hands_for_descriptors());
    let joined = Arc::new(OnceLock::new());
    let (later_signals, later_joined) = (Arc::clone(&signals), Arc::clone(&joined));
    let join = move || {
        // Where no thread can be had, a signal ends the process at once, as it would have ended a brief run.
        let _no_thread = later_signals.attend();
        let allowed = shared.hands_asked().unwrap_or_else(|| context.machine.hands_allowed());
        let bound = looked.clone().unwrap_or_else(&bound);
        let workers_a_hand = bound.as_ref().map_or(1, |bound| bound.workers_a_hand);
        let workers = width.min(bound.as_ref().map_or(allowed, |bound| bound.workers)).max(1);
        let useful_width = workers.div_ceil(workers_a_hand);
        let (priority, weight) = (shared.priority().class(), shared.weight());
        let began = later_joined.get_or_init(|| {
            let budget = sharing::budget(context, useful_width, priority);
            Began { budget, width: workers, why: why_width(context, shared, workers, bound.as_ref()) }
        });
        let lease = began.budget.budget.lease(Request { priority, weight, useful_width, what: what.clone() });
        let lease: Box<dyn Lease> =
            if workers_a_hand > 1 { Box::new(Waiting::on(lease, workers_a_hand)) } else { lease };
        Joined { lease, may_grow: workers > 1 }
    };
    let lease = Brief::new(Box::new(join) as Box<dyn Fn() -> Joined + Send + Sync + 'a>);
    // Lower classes may have to wait for their first hand.
    if outset == Outset::Lasts || shared.priority().class() < Priority::Normal {
        signals.attend().map_err(signal_failure)?;
        lease.join_now();
    }
    Ok(Hands { width, lease, joined, _signals: signals })
}

/// How many workers a run has at most, and why.
fn why_width(context: &Context, shared: &SharedArgs, workers: usize, bound: Option<&Bound>) -> String {
    let why = match (shared.hands_asked(), bound) {
        (Some(_), _) => "asked for".to_owned(),
        (None, Some(bound)) => return width::sentence(&bound.with_workers(workers).shown(), &bound.why),
        (None, None) => format!("{} allowed CPUs", context.machine.hands_allowed()),
    };
    width::sentence(&counted(workers as u64, "hand"), &why)
}

/// Has the table show how far a run is, in entries. Of how many nobody knows before it ends.
pub fn publish(hands: &Hands<'_>, tally: &Arc<Tally>) {
    let tally = Arc::clone(tally);
    let done = move || WorkDone { unit: ProgressUnit::Entries, done: tally.counts().entries, total: None };
    hands.lease.show_progress(Arc::new(done));
}

/// What a progress line calls a run.
pub fn label<'a>(doing: &str, mut paths: impl ExactSizeIterator<Item = &'a [u8]>) -> String {
    match (paths.len(), paths.next()) {
        (1, Some(path)) => format!("{doing} {}", String::from_utf8_lossy(path)),
        (count, _) => format!("{doing} {}", counted(count as u64, "argument")),
    }
}

/// A line that counts entries and bytes while the run goes, of as many as `survey` finds.
pub fn progress(context: &Context, label: String, survey: Option<Survey>, tally: &Arc<Tally>) -> Option<Progress> {
    if !progress::is_shown(context) {
        return None;
    }
    // From here on threads share it.
    sys::own_table::make_room();
    let (tally, mut total, mut done_bytes) = (Arc::clone(tally), Total::of(survey), 0);
    Some(Progress::start(&context.messages, move || {
        let whole = total.look();
        // Between two counters bytes may be missing for a moment.
        done_bytes = tally.bytes_so_far().max(done_bytes);
        ProgressSample {
            label: label.clone(),
            done_bytes,
            total_bytes: whole.map(|whole| whole.bytes),
            done_entries: Some(tally.counts().entries),
            total_entries: whole.map(|whole| whole.entries),
            hands: None,
        }
    }))
}

/// A finished run as the report tells it.
#[derive(Serialize)]
pub struct TreeReport {
    /// `removed`, `copied`.
    pub verb: &'static str,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Whether details were asked for.
    #[serde(skip)]
    pub is_verbose: bool,
    /// What was worked on.
    pub counts: Counts,
    /// What was measured.
    pub measured: Scattered,
    /// What was done by which way, and why: lines of `--report`.
    pub ways: Vec<(String, u64)>,
    /// How wide it was at most, and why.
    pub width_why: String,
    /// Whose hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hands_from: Option<&'static str>,
}

/// `--report`, or a line for those who have seen the progress.
pub fn report(context: &Context, shared: &SharedArgs, finished: &TreeReport) {
    let Some(format) = shared.report else {
        let took = Duration::from_nanos(finished.measured.wall_ns);
        return match finished.dry_run {
            true => {}
            false => progress::summarize(context, took, finished.is_verbose, || summary(finished)),
        };
    };
    let measures = as_measures(finished);
    let circumstances = Circumstances {
        hands_allowed: context.machine.hands_allowed(),
        hands_asked: shared.hands_asked(),
        priority_is_lowered: shared.priority().class() < Priority::Normal,
        library_threads: false,
        others_cpu_ns: 0,
    };
    let verdict = verdict(&measures, &circumstances);
    let text = match format {
        ReportFormat::Text => text(finished, &measures, &verdict),
        ReportFormat::Json => json(finished, &verdict),
    };
    context.messages.report(&text);
}

/// A tree's run as the verdict knows runs: all of it is work of the workers, there is no source and no sink.
fn as_measures(finished: &TreeReport) -> Measures {
    let measured = &finished.measured;
    Measures {
        wall_ns: measured.wall_ns,
        reading: Access::AtOffsets,
        writing: Access::AtOffsets,
        stage_names: ["list", "the tree", "write"],
        width: measured.width,
        workers: measured.workers,
        slots: Slots { given: measured.width, wanted: measured.width, hands_wanted: measured.width },
        chunks: measured.tasks,
        lanes: 1,
        bytes_in: finished.counts.bytes,
        bytes_out: finished.counts.bytes,
        clocks: Clocks { work: measured.clock, ..Clocks::default() },
        process_cpu_ns: measured.process_cpu_ns,
        divided_turns: None,
    }
}

fn json(finished: &TreeReport, verdict: &Verdict) -> String {
    #[derive(Serialize)]
    struct Json<'a> {
        #[serde(flatten)]
        finished: &'a TreeReport,
        #[serde(flatten)]
        verdict: &'a Verdict,
    }
    json_line(&Json { finished, verdict })
}

/// `copied 84,001 entries, 1.36 GB in 3.4 s, 400 MB/s, 24,705 entries/s`.
fn summary(finished: &TreeReport) -> String {
    let seconds = (finished.measured.wall_ns as f64 / 1e9).max(1e-9);
    let rate = match finished.counts.bytes {
        0 => String::new(),
        bytes => format!(" {},", terminal::rate(bytes as f64 / seconds)),
    };
    done(finished, "") + &rate + &entry_rate(finished)
}

/// The first line of a report.
fn headline(finished: &TreeReport) -> String {
    let directories = format!(" ({})", counted(finished.counts.directories, "directory"));
    done(finished, &directories) + &entry_rate(finished)
}

fn entry_rate(finished: &TreeReport) -> String {
    let seconds = (finished.measured.wall_ns as f64 / 1e9).max(1e-9);
    format!(" {} entries/s", terminal::integer((finished.counts.entries as f64 / seconds) as u64))
}

/// What was done, and in what time.
fn done(finished: &TreeReport, directories: &str) -> String {
    let counts = &finished.counts;
    let entries = counted(counts.entries - counts.left, "entry");
    let left =
        if counts.left > 0 { format!(", {} left as they were", terminal::integer(counts.left)) } else { String::new() };
    let failed =
        if counts.failed > 0 { format!(", {} failed", terminal::integer(counts.failed)) } else { String::new() };
    let would_have = if finished.dry_run { "would have " } else { "" };
    let bytes = if counts.bytes > 0 { format!(", {}", terminal::bytes(counts.bytes)) } else { String::new() };
    let seconds = seconds_text(finished.measured.wall_ns as f64 / 1e9);
    format!("{would_have}{} {entries}{directories}{bytes}{left}{failed} in {seconds},", finished.verb)
}

fn text(finished: &TreeReport, measures: &Measures, verdict: &Verdict) -> String {
    let measured = &finished.measured;
    let mut text = headline(finished) + "\n";
    for (way, count) in &finished.ways {
        text.push_str(&format!("  {:>9}  {way}\n", terminal::integer(*count)));
    }
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]).indented(2);
    // Off the CPU within a task is not "no output" here: a hand waits there for what it reads, too.
    table.row(["", "busy", "disk, lock", "no task", "no core"]);
    let StageClock { busy_ns, starved_ns, blocked_ns, unstaffed_ns, .. } = measured.clock;
    let base = (measured.clock.total_ns() as f64).max(1.0);
    let share = |nanoseconds: u64| terminal::percentage_whole(nanoseconds as f64 / base);
    let hands = counted(measured.workers as u64, "hand");
    table.row([hands, share(busy_ns), share(blocked_ns), share(starved_ns), share(unstaffed_ns)]);
    text.push_str(&format!("\nwhere the time went\n{table}"));
    let tasks = counted(measured.tasks, "task");
    text.push_str(&format!("{tasks}, {} of them taken over by another hand\n", terminal::integer(measured.stolen)));
    text.push_str(&format!("{}.\n", finished.width_why));
    text.push_str(&format!("{}\n", bound_sentence(verdict, measures)));
    if let Some(whose) = finished.hands_from {
        text.push_str(&format!("its hands were {whose}.\n"));
    }
    if let Some(outlook) = outlook(verdict) {
        text.push_str(&format!("{outlook}\n"));
    }
    if let Some(step) = &verdict.next_step {
        text.push_str(&format!("hint: {}\n", hint(step)));
    }
    text
}

/// An error without the number that Rust appends.
pub fn cause(error: &io::Error) -> String {
    with_causes(error)
}
