//! What came of each file, in the order of the files, as text or as JSON; the last line, the exit, and the report.

use super::json;
use super::plan::CheckJob;
use super::{InnodbArgs, NAME};
use crew::budget::Priority;
use crew::measures::Measures;
use crew::verdict::{Circumstances, verdict};
use innodb::census::PageCensus;
use innodb::judge::{Field, Mismatch};
use innodb::outcome::{FileDefect, FileOutcome, PageCounts};
use innodb::tablespace::OpenError;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use mh_kit::report::{bound_sentence, counted, hint, json_line, outlook, seconds_text};
use mh_kit::shared_args::ReportFormat;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use sys::signals::{BROKEN_PIPE, die_by};
use terminal::{Align, Delivery, StandardStream, TextOutput, TextTable, integer, printable, quote};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckExit {
    /// No page is corrupt.
    Good,
    /// A page is.
    Corrupt,
    /// None is, as far as is known, but something could not be read.
    Unread,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PageTotals {
    /// Files that were checked.
    pub files: usize,
    /// Those with something corrupt.
    pub corrupt_files: usize,
    /// Names and files that could not be read at all.
    pub failed_files: usize,
    /// Pages by verdict.
    pub counts: PageCounts,
    /// Pages that passed when they were read again.
    pub read_again: u64,
}

/// Prints outcomes as they come, in the order of the files.
pub struct ShownOutcomes<'a> {
    context: &'a Context,
    args: &'a InnodbArgs,
    job: &'a CheckJob,
    turn: Mutex<Turn>,
}

struct Turn {
    next: usize,
    /// Outcomes that came before their turn.
    early: BTreeMap<usize, Result<FileOutcome, OpenError>>,
    totals: PageTotals,
    output: TextOutput<StandardStream>,
    failure: Option<io::Error>,
}

impl<'a> ShownOutcomes<'a> {
    /// For a run.
    pub fn new(context: &'a Context, args: &'a InnodbArgs, job: &'a CheckJob) -> Self {
        let turn = Turn {
            next: 0,
            early: BTreeMap::new(),
            totals: PageTotals { failed_files: job.failed, ..PageTotals::default() },
            output: TextOutput::standard(),
            failure: None,
        };
        Self { context, args, job, turn: Mutex::new(turn) }
    }

    /// Takes what came of a file.
    pub fn file(&self, number: usize, outcome: Result<FileOutcome, OpenError>) {
        let mut turn = self.turn.lock();
        turn.early.insert(number, outcome);
        loop {
            let number = turn.next;
            let Some(outcome) = turn.early.remove(&number) else { return };
            turn.next += 1;
            self.show(&mut turn, &self.job.files[number], outcome);
        }
    }

    fn show(&self, turn: &mut Turn, path: &Path, outcome: Result<FileOutcome, OpenError>) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                turn.totals.failed_files += 1;
                self.context.messages.error(NAME, &format!("check {}: {}", quote(path), with_causes(&error)), &[]);
                return;
            }
        };
        turn.totals.add(&outcome);
        for page in &outcome.unreadable {
            let (number, offset) = (integer(u64::from(page.number)), integer(page.offset));
            let place = format!("read page {number} at byte {offset} of {}", quote(path));
            self.context.messages.error(NAME, &format!("{place}: {}", with_causes(&page.cause)), &[]);
        }
        let text = match self.args.json {
            true => json::file(path, &outcome),
            false => self.text(path, &outcome),
        };
        if !text.is_empty() {
            self.put(turn, &text);
        }
    }

    fn put(&self, turn: &mut Turn, text: &str) {
        let is_seen = self.context.terminals.stdout;
        if is_seen {
            self.context.messages.make_room();
        }
        let put = turn.output.put(text.as_bytes());
        match put.and_then(|delivery| if is_seen { turn.output.flush() } else { Ok(delivery) }) {
            Ok(Delivery::Taken) => {}
            // Nothing was begun that would have to be tidied up.
            Ok(Delivery::ReaderGone) => die_by(BROKEN_PIPE),
            Err(error) => drop(turn.failure.get_or_insert(error)),
        }
        if is_seen {
            self.context.messages.show_progress_again();
        }
    }

    fn text(&self, path: &Path, outcome: &FileOutcome) -> String {
        let name = printable(&path.to_string_lossy()).into_owned();
        let mut text = String::new();
        for page in &outcome.corrupt {
            let (number, offset) = (integer(u64::from(page.number)), integer(page.offset));
            let what: Vec<String> = page.mismatches.iter().map(mismatch_text).collect();
            let kind = page.type_name;
            text.push_str(&format!("{name}: page {number} at byte {offset} ({kind}): {}\n", what.join("; ")));
        }
        let not_listed = outcome.counts.corrupt - outcome.corrupt.len() as u64;
        if not_listed > 0 {
            text.push_str(&format!("{name}: {} more corrupt pages are not listed\n", integer(not_listed)));
        }
        for defect in &outcome.defects {
            text.push_str(&format!("{name}: {}\n", defect_text(defect)));
        }
        let has_news =
            outcome.counts.not_checkable_pages() > 0 || outcome.read_again > 0 || has_no_sound_header(outcome);
        let is_wanted = self.args.verbose || self.args.summary || self.job.files.len() == 1;
        let is_wanted = is_wanted || has_news || outcome.is_corrupt();
        if is_wanted && !self.args.quiet {
            text.push_str(&file_line(&name, outcome));
        }
        if let Some(census) = outcome.census.as_ref().filter(|_| !self.args.quiet) {
            text.push_str(&census_text(census));
        }
        text
    }

    /// The last line, and how the run ends.
    pub fn finish(self) -> Result<CheckExit, Failure> {
        let mut turn = self.turn.lock();
        let exit = turn.totals.exit();
        let totals = turn.totals.clone();
        let last = match self.args.json {
            true => json::totals(&totals),
            false if self.args.quiet => String::new(),
            false => last_text(&totals),
        };
        if !last.is_empty() {
            self.put(&mut turn, &last);
        }
        let finished = match turn.failure.take() {
            Some(error) => Err(error),
            None => turn.output.flush(),
        };
        match finished {
            Ok(Delivery::Taken) => Ok(exit),
            Ok(Delivery::ReaderGone) => Err(Failure::BrokenPipe),
            Err(error) => {
                let text = format!("{NAME}: could not write to standard output: {}", with_causes(&error));
                Err(Failure::InWordsOfOthers { text, code: 2 })
            }
        }
    }
}

impl PageTotals {
    fn add(&mut self, outcome: &FileOutcome) {
        self.files += 1;
        self.corrupt_files += usize::from(outcome.is_corrupt());
        self.counts.add(&outcome.counts);
        self.read_again += outcome.read_again;
    }

    fn exit(&self) -> CheckExit {
        match () {
            () if self.corrupt_files > 0 => CheckExit::Corrupt,
            () if self.failed_files > 0 || self.counts.unreadable > 0 => CheckExit::Unread,
            () => CheckExit::Good,
        }
    }
}

/// `checksum: expected 1c291ca3, found 8f0e2b11`.
pub fn mismatch_text(mismatch: &Mismatch) -> String {
    let Mismatch { field, expected, found } = *mismatch;
    let (expected, found) = (number_text(field, expected), number_text(field, found));
    format!("{}: expected {expected}, found {found}", field.name())
}

/// As people compare it.
pub fn number_text(field: Field, number: u32) -> String {
    if field.is_decimal() { integer(u64::from(number)) } else { format!("{number:08x}") }
}

fn defect_text(defect: &FileDefect) -> String {
    match *defect {
        FileDefect::CutOff { page, bytes, page_bytes } => {
            let (bytes, of) = (integer(bytes), integer(page_bytes));
            format!("cut off: {bytes} of {of} bytes of page {} are there", integer(u64::from(page)))
        }
        FileDefect::PagesMissing { found, expected } => {
            format!("cut off: {} are there, its header says {}", counted(found, "page"), integer(expected))
        }
        FileDefect::NoHeader => "no header: page 0 is all zeros, and other pages are not".to_owned(),
    }
}

/// One line for a file, and one for each reason why pages of it are not checkable.
fn file_line(name: &str, outcome: &FileOutcome) -> String {
    let counts = &outcome.counts;
    let size = match outcome.page_bytes {
        bytes if bytes < outcome.logical_bytes => {
            format!("{} KiB (of {} KiB)", bytes >> 10, outcome.logical_bytes >> 10)
        }
        bytes => format!("{} KiB", bytes >> 10),
    };
    let pages = counted(counts.pages(), "page");
    let mut text = format!("{name}: {pages} of {size}, {}: {}\n", outcome.format, counts_text(counts));
    for (reason, pages) in &counts.not_checkable {
        text.push_str(&format!("  {} not checkable: {}\n", integer(*pages), reason.text()));
    }
    if has_no_sound_header(outcome) {
        text.push_str("  no sound header: page size and format are those that most of its pages agree on\n");
    }
    if outcome.read_again > 0 {
        let pages = counted(outcome.read_again, "page");
        text.push_str(&format!("  {pages} passed when read again: a server was writing\n"));
    }
    text
}

/// A file of zeros has none so far.
fn has_no_sound_header(outcome: &FileOutcome) -> bool {
    !outcome.has_header && outcome.counts.zero < outcome.counts.pages()
}

/// `300 good, 200 zero, 76 free`.
fn counts_text(counts: &PageCounts) -> String {
    let all = [
        (counts.good, "good"),
        (counts.zero, "zero"),
        (counts.free, "free"),
        (counts.doublewrite, "in the doublewrite area"),
        (counts.not_checkable_pages(), "not checkable"),
        (counts.unreadable, "unreadable"),
        (counts.corrupt, "corrupt"),
    ];
    let there = all.iter().filter(|(pages, _)| *pages > 0);
    let parts: Vec<String> = there.map(|(pages, what)| format!("{} {what}", integer(*pages))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// The verdict on the whole run.
fn last_text(totals: &PageTotals) -> String {
    let (counts, files) = (&totals.counts, counted(totals.files as u64, "file"));
    let pages = counted(counts.pages(), "page");
    let failed = match totals.failed_files {
        0 => String::new(),
        failed => format!("; {} could not be checked", counted(failed as u64, "file")),
    };
    let verdict = match totals.exit() {
        CheckExit::Corrupt => format!("corrupt: {} of {files}", integer(totals.corrupt_files as u64)),
        _ if totals.files == 0 => return format!("nothing was checked{failed}\n"),
        CheckExit::Unread => "no page that was read is corrupt".to_owned(),
        CheckExit::Good if counts.not_checkable_pages() > 0 => {
            format!("not corrupt, but {} not checkable", counted(counts.not_checkable_pages(), "page"))
        }
        CheckExit::Good => "good".to_owned(),
    };
    format!("{verdict}: {pages} in {files}: {}{failed}\n", counts_text(counts))
}

fn census_text(census: &PageCensus) -> String {
    let mut types = TextTable::new(&[Align::Right, Align::Left]).indented(2);
    types.row(["PAGES", "TYPE"]);
    for (name, pages) in &census.types {
        types.row([integer(*pages).as_str(), name]);
    }
    let mut text = types.to_string();
    if !census.indexes.is_empty() {
        let right = Align::Right;
        let mut indexes = TextTable::new(&[right; 6]).indented(2);
        indexes.row(["INDEX", "PAGES", "LEAVES", "LEVELS", "RECORDS", "DATA"]);
        for (id, index) in &census.indexes {
            let [pages, leaves, records] = [index.pages, index.leaves, index.records].map(integer);
            let (levels, data) = (index.levels.to_string(), terminal::bytes(index.data_bytes));
            indexes.row([id.to_string(), pages, leaves, levels, records, data]);
        }
        text.push_str(&indexes.to_string());
    }
    if census.indexes_unknown > 0 {
        let pages = counted(census.indexes_unknown, "index page");
        text.push_str(&format!("  {pages} more, of unknown indexes: encrypted, or beyond the limit of indexes\n"));
    }
    text
}

/// `--report`.
pub fn report(context: &Context, args: &InnodbArgs, job: &CheckJob, measures: &Measures, hands_from: Option<&str>) {
    #[derive(Serialize)]
    struct Json<'a> {
        subject: &'a str,
        measures: &'a Measures,
        width_why: &'a str,
        hands_from: Option<&'a str>,
        #[serde(flatten)]
        verdict: crew::verdict::Verdict,
    }
    let Some(format) = args.shared.report else { return };
    let circumstances = Circumstances {
        hands_allowed: context.machine.hands_allowed(),
        hands_asked: args.shared.hands_asked(),
        priority_is_lowered: args.shared.priority().class() < Priority::Normal,
        library_threads: false,
        others_cpu_ns: 0,
    };
    let verdict = verdict(measures, &circumstances);
    if format == ReportFormat::Json {
        let width_why = &job.width_why;
        let json = Json { subject: &job.label, measures, width_why, hands_from, verdict };
        context.messages.report(&json_line(&json));
        return;
    }
    let seconds = measures.wall_ns as f64 / 1e9;
    let (bytes, rate) = (measures.bytes_in, measures.bytes_in as f64 / seconds.max(1e-9));
    let (bytes, rate) = (terminal::bytes(bytes), terminal::rate(rate));
    let mut text = format!("{}: {bytes} in {}, {rate}\n", job.label, seconds_text(seconds));
    text.push_str(&clock_text(measures));
    text.push_str(&format!("{}\n{}.\n", bound_sentence(&verdict, measures), job.width_why));
    if let Some(whose) = hands_from {
        text.push_str(&format!("its hands were {whose}.\n"));
    }
    if let Some(line) = outlook(&verdict) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(step) = &verdict.next_step {
        text.push_str(&format!("hint: {}\n", hint(step)));
    }
    context.messages.report(&text);
}

/// Where the workers' time went.
fn clock_text(measures: &Measures) -> String {
    let clocks = &measures.clocks;
    let whole = [&clocks.read, &clocks.work, &clocks.write, &clocks.lanes].map(|clock| clock.total_ns());
    let whole = (whole.iter().sum::<u64>() as f64).max(1.0);
    let share = |nanoseconds: u64| terminal::percentage_whole(nanoseconds as f64 / whole);
    let right = Align::Right;
    let mut table = TextTable::new(&[Align::Left, right, right, right, right]).indented(2);
    table.row(["", "busy", "no input", "no output", "no core"]);
    let hands = counted(measures.workers as u64, "hand");
    for (name, clock) in
        [(format!("read and check ({hands})"), &clocks.work), ("open, close".to_owned(), &clocks.lanes)]
    {
        let crew::clocks::StageClock { busy_ns, starved_ns, blocked_ns, unstaffed_ns, .. } = *clock;
        table.row([name, share(busy_ns), share(starved_ns), share(blocked_ns), share(unstaffed_ns)]);
    }
    format!("\nwhere the time went\n{table}")
}
