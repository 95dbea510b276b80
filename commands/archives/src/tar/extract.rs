//! `mh tar -x`: what is restored and what may be replaced, decided from the options; what is told, in archive order.

mod asking;
mod backup;
mod to_command;

use super::archive::{self, Opened, Way};
use super::checkpoints::{CheckpointWay, Checkpoints};
use super::chosen::{Chosen, not_found, wants_attributes};
use super::index;
use super::list::{quoted, rules};
use super::member_lines::MemberLines;
use super::messages;
use super::questions::MemberQuestions;
use super::warnings::{Wish, warn};
use super::words::{BlockNumbers, LongLines, with_slash};
use super::{FAILED, TarArgs, Workers, could_not, memory, progress, totals};
use ::archive::extract::{Choice as Taking, Chooser, Event, Extraction, Feed, SlicePace, extract};
use ::archive::member::{Kind, Member};
use ::archive::operation::Operation;
use ::archive::packed::as_one;
use ::archive::place::in_progress::Unfinished;
use ::archive::place::{
    Choice, DirectoriesChanged, DirectoryLinks, Existing, Manner, PlaceError, Reach, Restore, Root,
};
use ::archive::read::{Defect, Note, ReadError, Reader, Step};
use ::archive::source::Source;
use crew::measures::Measures;
use crew::pipeline::Staffing;
use crew::plan::Plan;
use crew::tally::Tally;
use crew::verdict::Circumstances;
use mh_kit::context::Context;
use mh_kit::descriptors::directory_descriptors;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::ReportTotals;
use mh_kit::report::{self, Finished};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terminal::StandardStream;

/// Extracts.
pub fn run(context: &mut Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let mut opened = archive::open(args)?;
    let chosen = Chosen::new(args, top_level(args)?)?;
    let index_used = index::narrow(args, &mut opened, &chosen);
    let width = super::width(context, args);
    let placing = super::workers_on(context, args, &places(args, &opened));
    let plan = plan(context, args, &opened, width, &placing);
    if args.shared.explain {
        report::show_plan(context, &plan, args.shared.report)?;
        return Ok(Outcome::Done);
    }
    chosen.wanted.lock().enter_directories(args)?;
    if args.to_stdout || args.to_command.is_some() {
        index::report(context, args, index_used.as_ref());
        return to_stdout(context, args, opened, chosen, width);
    }
    into_tree(
        context,
        args,
        opened,
        chosen,
        Planned { width, placing, plan: &plan, index: index::word(index_used.as_ref()) },
    )
}

/// Where files are made, and where hands read an archive at offsets.
fn places(args: &TarArgs, opened: &Opened) -> Vec<PathBuf> {
    let target = args.choice.directory.iter().fold(PathBuf::from("."), |directory, below| directory.join(below));
    let archive = args.archive().map(Path::to_owned).filter(|_| matches!(opened.way, Way::AtOffsets(..)));
    std::iter::once(target).chain(archive).collect()
}

fn plan(context: &Context, args: &TarArgs, opened: &Opened, width: usize, placing: &Workers) -> Plan {
    let size = opened.total_bytes.map_or("size unknown".to_owned(), terminal::bytes);
    let mut plan = Plan::new(format!("extract {} ({size})", opened.name));
    let (how, why) = opened.explain();
    plan.choose("read", how, why);
    plan.choose("extract", format!("up to {}", placing.shown), &*placing.why);
    plan.choose("order", "the archive's, for each path", "what depends on an earlier member waits for it");
    plan.choose("directories", "modes and times last", "a mode may deny access, and each file changes a time");
    let room = memory::room(context, args);
    let fitting = memory::extracting(room, placing.most, opened.packed());
    let mut held_bytes = fitting.held_bytes;
    let mut why = format!("{} of 1 MiB", report::counted(fitting.slots.given as u64, "block"));
    if let Some(facts) = opened.packed() {
        let (decoder, unit_bytes) = memory::decoding(room, width, facts);
        held_bytes += decoder.held_bytes;
        why += &format!(
            ", and {} of up to {}",
            report::counted(decoder.slots.given as u64, "unit"),
            terminal::bytes(unit_bytes)
        );
    }
    plan.choose("memory", format!("{} of {} allowed", terminal::bytes(held_bytes), terminal::bytes(room)), why);
    mh_kit::sharing::explain(&mut plan);
    plan
}

/// The directory of `--one-top-level`: as given, or the archive's name without its endings.
pub fn top_level(args: &TarArgs) -> Result<Option<Vec<u8>>, Failure> {
    let Some(given) = &args.one_top_level else { return Ok(None) };
    if !given.is_empty() {
        return Ok(Some(given.as_bytes().to_vec()));
    }
    let name = args.archive().and_then(Path::file_name).map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    let end = [&b".tar."[..], b".tgz", b".taz", b".tbz", b".txz", b".tzst", b".tlz", b".tar"]
        .iter()
        .filter_map(|ending| name.windows(ending.len()).rposition(|window| window == *ending))
        .min();
    match end {
        Some(end) if end > 0 => Ok(Some(name[..end].to_vec())),
        _ => Err(super::usage("--one-top-level cannot derive a name from the archive's; give it one".to_owned())),
    }
}

/// LIMIT: directories that a hand keeps open. Archives go directory by directory; more would cost descriptors and save nothing.
const OPEN_DIRECTORIES_MAX: usize = 48;

fn manner(args: &TarArgs, width: usize) -> Manner {
    let is_root = files::acts_as_root();
    let umask = rustix::process::umask(rustix::fs::Mode::empty()).as_raw_mode();
    let keeps_modes = (args.preserve_permissions || is_root) && !args.no_same_permissions && !args.untrusted;
    let keeps_owner = (args.metadata.same_owner || is_root) && !args.metadata.no_same_owner && !args.untrusted;
    let existing = match () {
        () if args.existing.keep_old_files => Existing::Refuse,
        () if args.existing.skip_old_files => Existing::Skip,
        () if args.existing.keep_newer_files => Existing::KeepNewer,
        () if args.existing.overwrite => Existing::Overwrite,
        () if args.existing.no_overwrite_dir => Existing::ReplaceButKeepDirectories,
        () if args.existing.unlink_first => Existing::Unlink,
        () => Existing::Replace,
    };
    Manner {
        existing,
        restore: Restore {
            owner: Choice::when(keeps_owner),
            set_id: Choice::when(keeps_modes),
            times: Choice::when(!args.touch),
            attributes: Choice::when(wants_attributes(args)),
            lists: Choice::when(args.extended.acls),
            labels: Choice::when(args.extended.selinux),
        },
        umask: if keeps_modes { 0 } else { umask },
        umask_of_others: umask,
        directory_links: match () {
            () if args.existing.keep_directory_symlink => DirectoryLinks::Keep,
            () if args.walk.dereference => DirectoryLinks::KeepAndRestore,
            () => DirectoryLinks::Replace,
        },
        backup: None,
        unlinks_trees: args.existing.recursive_unlink,
        follows_listings: super::incremental::is_wanted(args),
        open_directories: (directory_descriptors() / (2 * width)).clamp(1, OPEN_DIRECTORIES_MAX),
    }
}

/// What is told while members come, and what is counted.
pub struct Teller<'a> {
    context: &'a Context,
    args: &'a TarArgs,
    told: parking_lot::Mutex<Told>,
}

struct Told {
    lines: MemberLines,
    long: LongLines,
    checkpoints: Option<Checkpoints>,
    members: u64,
    failed: u64,
}

impl<'a> Teller<'a> {
    /// Has told nothing so far.
    pub fn new(context: &'a Context, args: &'a TarArgs) -> Self {
        let (lines, long) = (MemberLines::on_stdout(), LongLines::new(args));
        let told = Told { lines, long, checkpoints: None, members: 0, failed: 0 };
        Self { context, args, told: parking_lot::Mutex::new(told) }
    }

    /// As the options say: where its lines go, and what is done at checkpoints.
    fn of_extraction(context: &'a Context, args: &'a TarArgs) -> Result<Self, Failure> {
        let teller = Self::new(context, args);
        {
            let mut told = teller.told.lock();
            told.lines = MemberLines::of(args, MemberLines::on_stdout)?;
            told.checkpoints = Checkpoints::new(args, CheckpointWay::Read)?;
        }
        Ok(teller)
    }

    /// Whether something was told that makes the run a failure.
    pub fn has_failed(&self) -> bool {
        self.told.lock().failed > 0
    }

    /// Asks, after all earlier reports are printed.
    fn confirm(&self, questions: &MemberQuestions, act: &str, path: &[u8]) -> bool {
        questions.confirm(act, path, &mut self.told.lock().lines)
    }

    /// Tells of it, and counts it.
    pub fn tell(&self, event: Event) {
        let mut told = self.told.lock();
        match event {
            Event::Taken { name, member } => told.taken(self.context, self.args, &name, &member),
            Event::Removed { path } if self.args.verbose > 0 => {
                // COMPAT: GNU tar prints it where it lists members.
                told.lines.line(format!("{}: Deleting {}", self.context.program, quoted(&path)));
            }
            Event::Removed { .. } => {}
            Event::KeptAs { path, kept } if self.args.verbose > 0 => {
                told.lines.line(format!("Renaming {} to {}", quoted(&path), quoted(&kept)));
            }
            Event::KeptAs { .. } => {}
            Event::Label(member) => told.shown(self.args, &member.path, &member),
            Event::Note(note) => told.failed += u64::from(tell_note(self.context, self.args, &note)),
            // COMPAT: what a user may not set, and a file system does not have, is missed and no failure.
            Event::NotPlaced { name, error, .. } if error.operation == Operation::SetAttributes => {
                let why = why(&error, self.args);
                let theirs = messages::of_file(&name, error.operation, None, &theirs_of(&error, why.clone()));
                let ours = format!("{}: {why}", quoted(&name));
                warn(self.context, self.args, "xattr-write", (&theirs, &ours));
            }
            Event::NotPlaced { name, link, error } => {
                told.failed += 1;
                let to = link.as_ref().map_or(String::new(), |link| format!(" as a link to {}", quoted(link)));
                let why = why(&error, self.args);
                let ours = format!("extract {}{to}: {why}", quoted(&name));
                let theirs = messages::of_file(&name, error.operation, link.as_deref(), &theirs_of(&error, why));
                messages::failed(self.context, &theirs, &ours);
            }
            Event::Stays { name, kind } => tell_of_existing(self.context, self.args, &name, kind),
            Event::Refused { name, why } => {
                told.failed += 1;
                let theirs = format!("{}: {why}", messages::plain(&name));
                messages::failed(self.context, &theirs, &format!("extract {}: {why}", quoted(&name)));
            }
            Event::MadeRelative { removed } => {
                messages::made_relative(self.context, &removed);
            }
        }
    }
}

impl Told {
    fn taken(&mut self, context: &Context, args: &TarArgs, name: &[u8], member: &Member) {
        self.members += 1;
        self.reached(context, args, member.header_offset);
        self.shown(args, name, member);
    }

    fn shown(&mut self, args: &TarArgs, name: &[u8], member: &Member) {
        if args.verbose == 0 {
            return;
        }
        let placed = with_slash(&member.path, member.kind);
        // What is only written in another way is shown as it stands.
        let is_same = args.strip_components == 0
            && name.strip_prefix(b"./").is_some_and(|rest| with_slash(rest, member.kind) == placed);
        let is_renamed = args.lists.show_transformed_names && !is_same;
        let name = if is_renamed { &placed } else { name };
        let line = match args.verbose {
            1 => args.quoting.shown(name),
            _ => self.long.line(name, member).into(),
        };
        self.lines.line(BlockNumbers::new(args).passed(member, line));
        // The user sees the outcome of each member before the next question.
        if args.telling.interactive {
            self.lines.flush();
        }
    }

    /// Nothing more comes; of an archive that was read to its `end` and has so many bytes, if that is known.
    fn over(&mut self, context: &Context, args: &TarArgs, (end, bytes): (u64, Option<u64>), is_whole: bool) {
        self.reached(context, args, totals::up_to_end_mark(end));
        let line = BlockNumbers::new(args).end(end, bytes.is_none_or(|bytes| bytes > end));
        line.filter(|_| is_whole).into_iter().for_each(|line| self.lines.line(line));
        self.lines.flush();
    }

    fn reached(&mut self, context: &Context, args: &TarArgs, bytes: u64) {
        args.progress.reach(bytes);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.reach(bytes, context, &mut self.lines);
        }
    }
}

/// A cause, in words that say what to do with it where the kernel's do not.
fn why(error: &PlaceError, args: &TarArgs) -> String {
    use rustix::io::Errno;
    let is = |errno: Errno| error.cause.raw_os_error() == Some(errno.raw_os_error());
    match error.operation.is_on_the_way() {
        true if is(Errno::XDEV) => {
            // One that nobody trusts is not to be helped out.
            let hint = if args.untrusted { "" } else { " (-P follows it)" };
            format!("it leads outside the target directory through a link{hint}")
        }
        true if is(Errno::LOOP) && args.untrusted => "a directory of its path is a link (--untrusted)".to_owned(),
        _ => with_causes(error),
    }
}

/// The same behind GNU tar's words for what was tried.
fn theirs_of(error: &PlaceError, why: String) -> String {
    if why == with_causes(error) { with_causes(&error.cause) } else { why }
}

/// Tells of something about the archive; whether it counts as a failure.
pub fn tell_note(context: &Context, args: &TarArgs, note: &Note) -> bool {
    match note {
        Note::PassedOver { offset, path, defect } => {
            let keyword = if matches!(defect, Defect::Ambiguous(_)) { "it is ambiguous" } else { "it is damaged" };
            let at = terminal::integer(*offset);
            let message = format!("read member {} at byte {at}: {keyword}: {defect}", quoted(path));
            context.messages.error(&context.program, &message, &[]);
            true
        }
        Note::Unusable { path, defect, unless_known } => tell_unusable(context, args, path, defect, unless_known),
        Note::Resynchronised { offset } => {
            let message =
                format!("read a header at byte {}: what stands there is none; passed over", terminal::integer(*offset));
            context.messages.error(&context.program, &message, &[]);
            true
        }
        Note::LoneZeroBlock { offset } => {
            let text = format!("a lone zero block at byte {} ends the archive", terminal::integer(*offset));
            let theirs = format!("A lone zero block at {}", offset / 512);
            warn(context, args, "alone-zero-block", (&theirs, &text));
            false
        }
        Note::ReadersDisagree { path, about } => {
            let text = format!("{}: programs read this differently: {about}", quoted(path));
            warn(context, args, "ambiguous", (&text, &text));
            false
        }
        Note::UnknownType { path, type_flag } => {
            let kind = char::from(*type_flag).escape_default();
            let theirs = format!("{}: Unknown file type '{kind}', extracted as normal file", messages::plain(path));
            let ours = format!("{}: of unknown type '{kind}', taken for a file", quoted(path));
            warn(context, args, "unknown-cast", (&theirs, &ours));
            false
        }
    }
}

/// Tells of a name that keeps what is there. COMPAT: GNU tar's words and keywords; skipped members are reported only where every member is.
fn tell_of_existing(context: &Context, args: &TarArgs, name: &[u8], kind: Kind) {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let asks_for_it = args.warning.contains(&Wish::On("existing-file"));
    match () {
        () if args.existing.skip_old_files && (args.verbose > 0 || asks_for_it) => {
            let theirs = format!("{}: skipping existing file", messages::plain(name));
            warn(context, args, "existing-file", (&theirs, &format!("{} exists, and stays", quoted(name))));
        }
        () if args.existing.keep_newer_files && kind != Kind::Directory => {
            let theirs = format!("Current {} is newer or same age", quoted(name));
            warn(context, args, "ignore-newer", (&theirs, &format!("{} is not older, and stays", quoted(name))));
        }
        () => {}
    }
}

/// Tells that a member comes without a value; whether it counts as a failure.
fn tell_unusable(context: &Context, args: &TarArgs, path: &[u8], defect: &Defect, unless_known: &[u8]) -> bool {
    let is_known = match defect {
        Defect::Number("group") => sys::names::group_number,
        _ => sys::names::user_number,
    };
    let is_name_enough = !args.metadata.numeric_owner && !unless_known.is_empty() && is_known(unless_known).is_some();
    if is_name_enough {
        return false;
    }
    // COMPAT: keys that GNU tar does not know it warns of.
    let is_foreign = |key: &str| ["SCHILY.dev", "SUN.", "LIBARCHIVE."].iter().any(|prefix| key.starts_with(prefix));
    if matches!(defect, Defect::Record(key) if is_foreign(key)) {
        let text = format!("{}: {defect}", quoted(path));
        warn(context, args, "unknown-keyword", (&text, &text));
        return false;
    }
    context.messages.error(&context.program, &format!("use a value of {}: {defect}", quoted(path)), &[]);
    true
}

/// What was decided before.
struct Planned<'a> {
    /// Hands that it may use: what is packed is unpacked by as many.
    width: usize,
    /// Who reads a plain archive, and makes files.
    placing: Workers,
    plan: &'a Plan,
    /// What the report says of the archive's index.
    index: Option<String>,
}

fn into_tree(
    context: &mut Context,
    args: &TarArgs,
    opened: Opened,
    chosen: Chosen,
    planned: Planned<'_>,
) -> Result<Outcome, Failure> {
    let Planned { width, placing, plan, index } = planned;
    let (name, total_bytes, end) = (opened.name.clone(), opened.total_bytes, Arc::clone(&chosen.end));
    let plain_bytes = total_bytes.filter(|_| matches!(opened.way, Way::AtOffsets(..)));
    // Where names go to several directories, no link may lead from one to another.
    let is_strict = args.untrusted || chosen.wanted.lock().have_targets();
    let reach = match (args.absolute_names, is_strict) {
        (true, _) => Reach::Anywhere,
        (false, true) => Reach::BeneathWithoutLinks,
        (false, false) => Reach::Beneath,
    };
    let root = Root::open(b".", reach).map_err(|error| could_not("open", ".".as_ref(), &error))?;
    let backup = backup::of(args)?;
    let (manner, unfinished, changed) =
        (Manner { backup, ..manner(args, placing.most) }, Unfinished::default(), DirectoriesChanged::default());
    let at_signals = unfinished.clone();
    context.last_acts.add(move || at_signals.remove_all_and_hold());
    let useful_width = if opened.packed().is_some() { width } else { placing.hands(placing.most) };
    let (shared, lease) = super::lease(context, args, useful_width, &plan.purpose);
    let (tally, teller, wanted) =
        (Arc::new(Tally::default()), Teller::of_extraction(context, args)?, Arc::clone(&chosen.wanted));
    let on_event = |event| teller.tell(event);
    let decoder = Arc::new(Tally::default());
    let label = format!("extracting {name}");
    let questions = MemberQuestions::of(args)?;
    let is_quiet = args.verbose == 0 && questions.is_none();
    let may_remove = |path: &[u8]| questions.as_ref().is_none_or(|questions| teller.confirm(questions, "delete", path));
    let shown = is_quiet.then(|| progress::of_reading(context, label, &opened, [&tally, &decoder]));
    let room = memory::room(context, args);
    let fitting = memory::extracting(room, placing.most, opened.packed());
    let staffing = Staffing { width: fitting.width, slots: fitting.slots, lanes_at_once: 1, mode: super::mode(args) };
    let lease = lease.as_ref();
    let (counted, counted_of) = opened.counter(&tally, &decoder);
    lease.show_progress(mh_kit::sharing::bytes_done(counted, counted_of));
    let ((measures, ended), decoding) = opened.with_feed(room, lease, width, &decoder, |feed| {
        let what = Extraction {
            feed: Some(feed).into(),
            rules: rules(args),
            chooser: Some(asking::chooser(chosen, questions.as_ref(), &teller)).into(),
            root: &root,
            manner: &manner,
            pace: if questions.is_some() { SlicePace::OneByOne } else { SlicePace::Gathered },
            may_remove: &may_remove,
            unfinished: &unfinished,
            on_event: &on_event,
            changed: &changed,
            ended: Default::default(),
        };
        let measures = extract(&what, &staffing, &*placing.share_of(lease), &tally);
        let ended = what.ended.lock().take();
        (measures, ended)
    })?;
    let packed_bytes = decoding.as_ref().map(|decoding| decoding.bytes_in);
    let measures = decoding.map_or_else(|| measures.clone(), |decoding| as_one(&measures, &decoding));
    drop(shown);
    let hands_from = shared.hands_from(lease);
    let mut told = teller.told.into_inner();
    let read_bytes = match plain_bytes {
        Some(there) => totals::up_to_end_mark(end.load(Ordering::Relaxed)).min(there),
        None => measures.bytes_in,
    };
    let is_whole = ended.is_none() && !wanted.lock().is_over();
    told.over(context, args, (end.load(Ordering::Relaxed), plain_bytes), is_whole);
    let Told { lines, members, failed, .. } = told;
    let width_why = placing.sentence();
    let ended = Ended { name, measures, error: ended, members, failed, packed_bytes, read_bytes, width_why, index };
    let outcome = ended.show(context, args, hands_from, not_found(&wanted))?;
    lines.finish()?;
    Ok(outcome)
}

/// What came of it.
struct Ended {
    name: String,
    measures: Measures,
    error: Option<ReadError>,
    members: u64,
    failed: u64,
    /// Bytes of the archive as it lies there, if a decoder read it.
    packed_bytes: Option<u64>,
    /// Bytes of the archive, plain.
    read_bytes: u64,
    /// How wide it was at most, and why.
    width_why: String,
    index: Option<String>,
}

impl Ended {
    fn show(
        self,
        context: &Context,
        args: &TarArgs,
        hands_from: Option<&'static str>,
        not_found: Vec<Vec<u8>>,
    ) -> Result<Outcome, Failure> {
        // As a report of its creation has them: the archive compressed and not.
        let (bytes_in, bytes_out) = (self.packed_bytes.unwrap_or(self.read_bytes), self.read_bytes);
        let finished = Finished {
            subject: &self.name,
            totals: ReportTotals { bytes_in, bytes_out, units: self.members, streamed_units: 0 },
            failed: None,
            is_compression: false,
            measures: &self.measures,
            kept_up: None,
            hands_from,
            width_why: Some(self.width_why.clone()),
            index: self.index.clone(),
            members: Some(self.members),
            made: None,
            circumstances: Circumstances {
                hands_allowed: context.machine.hands_allowed(),
                hands_asked: args.shared.hands_asked(),
                ..Circumstances::default()
            },
        };
        report::conclude(context, &finished, args.shared.report, args.verbose > 0);
        totals::show(context, args, "read", self.read_bytes);
        for name in &not_found {
            messages::not_found(context, name);
        }
        if self.failed > 0 && self.members > 1 && !messages::is_called_tar(context) {
            let (failed, members) = (report::counted(self.failed, "failure"), report::counted(self.members, "member"));
            context.messages.conclusion(&context.program, &format!("{failed} at {members}"));
        }
        if let Some(error) = self.error {
            return Err(could_not("read", Path::new(&self.name).as_os_str(), &error));
        }
        Ok(if self.failed > 0 || !not_found.is_empty() { FAILED } else { Outcome::Done })
    }
}

/// `-O`: data of regular files, one after another.
fn to_stdout(
    context: &Context,
    args: &TarArgs,
    opened: Opened,
    mut chosen: Chosen,
    width: usize,
) -> Result<Outcome, Failure> {
    let name = opened.name.clone();
    let (_shared, lease) = super::lease(context, args, width, "extract to standard output");
    let (written, _decoding) =
        opened.with_feed(memory::room(context, args), lease.as_ref(), width, &Arc::default(), |feed| {
            write_all(context, args, feed, &mut chosen)
        })?;
    let mut failed = match written {
        Ok(failed) => failed,
        Err(Stopped::Archive(error)) => return Err(could_not("read", Path::new(&name).as_os_str(), &error)),
        Err(Stopped::Failure(failure)) => return Err(failure),
        Err(Stopped::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            return Err(Failure::BrokenPipe);
        }
        Err(Stopped::Output(error)) => return Err(could_not("write to", "standard output".as_ref(), &error)),
    };
    for name in not_found(&chosen.wanted) {
        failed = true;
        messages::not_found(context, &name);
    }
    Ok(if failed { FAILED } else { Outcome::Done })
}

enum Stopped {
    Archive(ReadError),
    Output(std::io::Error),
    Failure(Failure),
}

fn write_all(context: &Context, args: &TarArgs, mut feed: Feed, chosen: &mut Chosen) -> Result<bool, Stopped> {
    let mut output = StandardStream::Output;
    let mut reader = Reader::new(rules(args), &feed);
    let mut failed = false;
    let mut buffer = vec![0; 256 << 10];
    let mut beside = Beside::new(args).map_err(Stopped::Failure)?;
    loop {
        let mut member = match reader.next(&mut feed).map_err(Stopped::Archive)? {
            Step::Member(member) => member,
            Step::Note(note) => {
                failed |= tell_note(context, args, &note);
                continue;
            }
            Step::End => {
                beside.end(reader.end_offset(), feed.position() > reader.end_offset());
                feed.drain().map_err(Stopped::Archive)?;
                break;
            }
        };
        let teller = Teller::new(context, args);
        let mut name = member.path.clone();
        if member.kind == Kind::Directory && !name.ends_with(b"/") {
            name.push(b'/');
        }
        let taking = chosen.choose(&mut member, &mut |event| teller.tell(event));
        failed |= teller.told.into_inner().failed > 0;
        match taking {
            Taking::Take => {}
            Taking::PassOver => continue,
            Taking::Stop => break,
        }
        output.flush().map_err(Stopped::Output)?;
        if !beside.announce(&name, &member, chosen.told_place(&member)) || member.kind != Kind::Regular {
            continue;
        }
        let Some(command) = &args.to_command else {
            copy_data(&mut feed, &member, &mut buffer, &mut output)?;
            continue;
        };
        let run = to_command::FileCommand { context, args, command };
        failed |= run.with(&name, &member, |input| copy_data(&mut feed, &member, &mut buffer, input))?;
    }
    output.flush().map_err(Stopped::Output)?;
    totals::show_read(context, args, &reader, &feed);
    Ok(failed)
}

/// Lines and questions beside data: standard output is for what is in the files.
struct Beside<'a> {
    args: &'a TarArgs,
    lines: MemberLines,
    long: LongLines,
    questions: Option<MemberQuestions>,
}

impl<'a> Beside<'a> {
    fn new(args: &'a TarArgs) -> Result<Self, Failure> {
        let usual = if args.to_command.is_some() { MemberLines::on_stdout } else { MemberLines::on_stderr };
        let (lines, long) = (MemberLines::of(args, usual)?, LongLines::new(args));
        Ok(Self { args, lines, long, questions: MemberQuestions::of(args)? })
    }

    /// Whether a member that goes to `place` is taken; its line is out then.
    fn announce(&mut self, name: &[u8], member: &Member, place: &[u8]) -> bool {
        if self.questions.as_ref().is_some_and(|questions| !questions.confirm("extract", place, &mut self.lines)) {
            return false;
        }
        let line = match self.args.verbose {
            0 => return true,
            1 => self.args.quoting.shown(name),
            _ => self.long.line(name, member).into(),
        };
        self.lines.line(BlockNumbers::new(self.args).passed(member, line));
        self.lines.flush();
        true
    }

    fn end(&mut self, at: u64, has_mark: bool) {
        let line = BlockNumbers::new(self.args).end(at, has_mark);
        line.into_iter().for_each(|line| self.lines.line(line));
        self.lines.flush();
    }
}

/// Data of a member, holes as zeros.
fn copy_data(feed: &mut Feed, member: &Member, buffer: &mut [u8], output: &mut impl Write) -> Result<(), Stopped> {
    let whole = [::archive::member::Extent { offset: 0, bytes: member.stored_bytes }];
    let extents = member.sparse.as_deref().unwrap_or(&whole);
    let mut at = 0;
    for extent in extents {
        zeros(extent.offset - at, output)?;
        let mut left = extent.bytes;
        while left > 0 {
            let count = left.min(buffer.len() as u64) as usize;
            let offset = feed.position();
            let read = feed.read(&mut buffer[..count]);
            let read = read.map_err(|cause| Stopped::Archive(ReadError::Read { offset, cause }))?;
            if read < count {
                return Err(Stopped::Archive(ReadError::Truncated { offset: member.header_offset }));
            }
            output.write_all(&buffer[..count]).map_err(Stopped::Output)?;
            left -= count as u64;
        }
        at = extent.offset + extent.bytes;
    }
    zeros(member.size.saturating_sub(at), output)
}

fn zeros(count: u64, output: &mut impl Write) -> Result<(), Stopped> {
    let copied = std::io::copy(&mut std::io::Read::take(std::io::repeat(0), count), output);
    copied.map(drop).map_err(Stopped::Output)
}

#[cfg(test)]
mod tests;
